//! What a campaign leaves on disk: findings, corpus, and how far it got. Each file is written whole or not at all, and a
//! finding the moment it was made, so that nothing that ends the process takes one with it.
//!
//! ```text
//! DIR/campaign.json                 what is fuzzed, from which seed, how far
//! DIR/corpus/ERA-TRANSPORT/N.json   inputs that reached something new
//! DIR/findings/ID/finding.json      the finding with its smallest input
//! DIR/findings/ID/case.yaml         the same as a case script
//! DIR/findings/ID/trace.jsonl       what went over the wire
//! ```

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use fs_err as fs;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{finding::Finding, input::Input};

const STATE: &str = "campaign.json";
/// Files of a corpus that are read; more belong to several campaigns.
const MOST_READ: usize = 20_000;
/// A file that a person or a campaign wrote is never greater.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

/// How far a campaign got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub version: u32,
    /// The target's name, secrets replaced.
    pub target: String,
    pub seed: u64,
    /// How often it was begun or gone on with: each time other choices are made.
    pub rounds: u64,
    pub inputs: u64,
    pub requests: u64,
    pub seconds: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{path} is no {what}: {error}\n  mend it, or move it away")]
    Format { path: PathBuf, what: &'static str, error: serde_json::Error },
    #[error(
        "{path} is of version {found}, and this mcp-conform reads version {known}\n  use the newer one, or another --out"
    )]
    Version { path: PathBuf, found: u32, known: u32 },
    #[error("{0} holds a campaign already\n  go on with it by --resume, or give another --out")]
    Taken(PathBuf),
    #[error("{path} holds a campaign against {other}\n  give another --out")]
    Other { path: PathBuf, other: String },
    #[error("{0} holds no campaign\n  name the folder that `mcp-conform fuzz` wrote, or begin one without --resume")]
    Nothing(PathBuf),
}

/// The folder of a campaign.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Findings that could not be written, to be tried again.
    unwritten: Mutex<Vec<(String, Files)>>,
}

impl Store {
    /// A folder for a new campaign, or that of an earlier one. It has to take files now, before the campaign begins.
    pub fn open(dir: &Path, target: &str, seed: u64, resume: bool) -> Result<(Self, State), StoreError> {
        let path = dir.join(STATE);
        let old: Option<State> = match fs::metadata(&path) {
            Ok(_) => Some(read(&path, "campaign")?),
            Err(_) => None,
        };
        let state = match (old, resume) {
            (Some(_), false) => return Err(StoreError::Taken(dir.to_owned())),
            (None, true) => return Err(StoreError::Nothing(dir.to_owned())),
            (Some(old), true) if old.version != super::finding::VERSION => {
                return Err(StoreError::Version { path, found: old.version, known: super::finding::VERSION });
            }
            (Some(old), true) if old.target != target => {
                return Err(StoreError::Other { path: dir.to_owned(), other: old.target });
            }
            (Some(old), true) => State { rounds: old.rounds + 1, ..old },
            (None, false) => State {
                version: super::finding::VERSION,
                target: target.to_owned(),
                seed,
                rounds: 0,
                inputs: 0,
                requests: 0,
                seconds: 0.0,
            },
        };
        for folder in ["findings", "corpus"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        let store = Self { dir: dir.to_owned(), unwritten: Mutex::default() };
        store.note(&state)?;
        Ok((store, state))
    }

    /// The folder of a campaign as it is; nothing is written to it.
    pub fn at(dir: &Path) -> Result<(Self, State), StoreError> {
        let path = dir.join(STATE);
        if !path.is_file() {
            return Err(StoreError::Nothing(dir.to_owned()));
        }
        let state: State = read(&path, "campaign")?;
        if state.version != super::finding::VERSION {
            return Err(StoreError::Version { path, found: state.version, known: super::finding::VERSION });
        }
        Ok((Self { dir: dir.to_owned(), unwritten: Mutex::default() }, state))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn note(&self, state: &State) -> Result<(), StoreError> {
        self.write(STATE, &json(state))
    }

    /// The findings of earlier rounds.
    pub fn findings(&self) -> Result<Vec<Finding>, StoreError> {
        findings(&self.dir.join("findings"))
    }

    /// Inputs of the corpus of one place.
    pub fn corpus(&self, place: &str) -> Result<Vec<Input>, StoreError> {
        inputs(&self.dir.join("corpus").join(place))
    }

    pub fn keep(&self, place: &str, name: &str, input: &Input) -> Result<(), StoreError> {
        fs::create_dir_all(self.dir.join("corpus").join(place))?;
        self.write(&format!("corpus/{place}/{name}.json"), &json(input))
    }

    /// Writes a finding with its script and its trace. What cannot be written is kept, and tried again with the next one.
    pub fn add(&self, finding: &Finding, script: &str, trace: &[u8]) {
        let files = vec![
            ("case.yaml".to_owned(), script.as_bytes().to_vec()),
            ("trace.jsonl".to_owned(), trace.to_vec()),
            // Last: whoever sees it sees the others.
            ("finding.json".to_owned(), json(finding)),
        ];
        let mut unwritten = self.unwritten();
        unwritten.retain(|(id, _)| *id != finding.id);
        unwritten.push((finding.id.clone(), files));
        drop(unwritten);
        // Told at the end of the campaign, if it still fails then.
        let _ = self.write_rest();
    }

    /// Tries again what could not be written so far. What still cannot be, and why.
    pub fn write_rest(&self) -> Result<(), (Vec<String>, StoreError)> {
        let mut failed = None;
        let mut unwritten = self.unwritten();
        unwritten.retain(|(id, files)| match self.write_all(id, files) {
            Ok(()) => false,
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        match failed {
            Some(error) => Err((unwritten.iter().map(|(id, _)| id.clone()).collect(), error)),
            None => Ok(()),
        }
    }

    /// Takes back a finding that turned out to be none.
    pub fn remove(&self, id: &str) {
        self.unwritten().retain(|(other, _)| other != id);
        // Where it was never written there is nothing to remove.
        let _ = fs::remove_dir_all(self.dir.join("findings").join(id));
    }

    fn unwritten(&self) -> MutexGuard<'_, Vec<(String, Files)>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, id: &str, files: &Files) -> Result<(), StoreError> {
        fs::create_dir_all(self.dir.join("findings").join(id))?;
        for (name, bytes) in files {
            self.write(&format!("findings/{id}/{name}"), bytes)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        let beside = path.with_extension(format!("tmp{}", std::process::id()));
        let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &path));
        if written.is_err() {
            // Half a file is worth nothing.
            let _ = fs::remove_file(&beside);
        }
        Ok(written?)
    }
}

/// The findings in a folder, by name.
pub fn findings(dir: &Path) -> Result<Vec<Finding>, StoreError> {
    let mut out = Vec::new();
    for folder in entries(dir)? {
        let path = folder.join("finding.json");
        if path.is_file() {
            let finding: Finding = read(&path, "finding")?;
            if finding.version != super::finding::VERSION {
                let (found, known) = (finding.version, super::finding::VERSION);
                return Err(StoreError::Version { path, found, known });
            }
            out.push(finding);
        }
    }
    Ok(out)
}

/// The inputs in a folder and in its subfolders, by name; none where there is no folder.
pub fn inputs(dir: &Path) -> Result<Vec<Input>, StoreError> {
    let mut out = Vec::new();
    if !dir.exists() {
        return Ok(out);
    }
    for path in entries(dir)? {
        if path.is_dir() {
            out.extend(inputs(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            out.push(read::<Input>(&path, "input of the fuzzer")?.mended());
        }
        if out.len() >= MOST_READ {
            break;
        }
    }
    Ok(out)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut out: Vec<PathBuf> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Result<_, io::Error>>()?;
    out.sort();
    Ok(out)
}

fn read<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, StoreError> {
    if fs::metadata(path)?.len() > LARGEST {
        let error = io::Error::other(format!("{} is greater than any {what}", path.display()));
        return Err(error.into());
    }
    let text = fs::read(path)?;
    serde_json::from_slice(&text).map_err(|error| StoreError::Format { path: path.to_owned(), what, error })
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // These types hold nothing that JSON has no form for.
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

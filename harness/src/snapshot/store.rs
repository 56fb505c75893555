//! The folder of a record, written whole or not at all.
//!
//! ```text
//! DIR/snapshots.json           the server's name, and the digest of each view: what does not fit was not written by us
//! DIR/2025-11-25-stdio.json    a view
//! DIR/redactions.toml          the user's, and never part of a digest
//! DIR/.new/                    a record that is being written
//! ```
//!
//! All files are written to `.new` first, the index last: with it the new record is whole, and whatever ends the process from
//! then on, the next one moves the rest. Without it what stands there is worth nothing.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use sha2::{Digest as _, Sha256};

use super::{
    doc::{self, object, text},
    rule_file::{self, RuleFile, RuleFileError},
    view::{self, ReadError, View},
};
use crate::wire::Json;

const INDEX: &str = "snapshots.json";
const STAGED: &str = ".new";
/// A view of more is no file to be read by anyone.
const LARGEST: u64 = 512 * 1024 * 1024;

/// What a folder holds.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// As the server calls itself.
    pub server: Option<String>,
    pub views: Vec<View>,
}

/// A folder of snapshots.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{} holds no record\n  make one: mcp-conform snapshot record, with the same server", .0.display())]
    Nothing(PathBuf),
    #[error("{} is no folder\n  name another one by --dir", .0.display())]
    NoFolder(PathBuf),
    #[error("{} {reason}\n  restore it from version control (git restore), or record anew: mcp-conform snapshot record --force", .path.display())]
    Format { path: PathBuf, reason: String },
    #[error(
        "{} is not as mcp-conform wrote it: it was edited or merged by hand, or only a part of a record is there\n  \
         restore the folder from version control (git restore), or record anew: mcp-conform snapshot record --force; what is \
         not to be compared belongs in {}",
        .0.display(), rule_file::FILE
    )]
    Altered(PathBuf),
    #[error(
        "{} belongs to the record and is not there\n  \
         restore it from version control (git restore), or record anew: mcp-conform snapshot record --force",
        .0.display()
    )]
    Missing(PathBuf),
    #[error(
        "{} does not belong to the record\n  move it away, or record anew: mcp-conform snapshot record --force",
        .0.display()
    )]
    Stray(PathBuf),
    #[error(
        "{} is of version {found}, and this mcp-conform reads version {}\n  \
         use the one that wrote it, or record anew: mcp-conform snapshot record --force",
        .path.display(), view::VERSION
    )]
    Version { path: PathBuf, found: String },
    #[error(
        "{} is the record of {recorded}, and this server calls itself {now}\n  \
         give it a folder of its own by --dir; if it was renamed, record anew: mcp-conform snapshot record --force",
        .dir.display()
    )]
    OtherServer { dir: PathBuf, recorded: String, now: String },
    #[error(
        "{} has a record of {views} already\n  \
         compare with it: mcp-conform snapshot check; take what changed: accept; write it anew: record --force",
        .dir.display()
    )]
    Taken { dir: PathBuf, views: String },
    #[error(transparent)]
    Rules(#[from] RuleFileError),
}

impl Store {
    pub fn at(dir: &Path) -> Result<Self, StoreError> {
        if dir.exists() && !dir.is_dir() {
            return Err(StoreError::NoFolder(dir.to_owned()));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Sees that the folder takes files, before anything is started.
    pub fn prepare(&self) -> Result<(), StoreError> {
        fs::create_dir_all(&self.dir)?;
        let proof = self.dir.join(".mcp-conform");
        fs::write(&proof, "")?;
        fs::remove_file(&proof)?;
        Ok(())
    }

    pub fn rules(&self) -> Result<RuleFile, StoreError> {
        let path = self.dir.join(rule_file::FILE);
        match fs::metadata(&path) {
            Ok(_) => Ok(RuleFile::parse(&path, self.read(&path)?)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RuleFile::default()),
            Err(error) => Err(error.into()),
        }
    }

    /// The record; nothing where there is none.
    pub fn load(&self) -> Result<Option<Recorded>, StoreError> {
        self.finish()?;
        let path = self.dir.join(INDEX);
        let views = self.views_there()?;
        if !path.exists() {
            return match views.into_iter().next() {
                Some(stray) => Err(StoreError::Stray(self.dir.join(stray))),
                None => Ok(None),
            };
        }
        let known = index(&self.read(&path)?).map_err(|error| wrong(&path, error))?;
        if let Some(stray) = views.into_iter().find(|file| !known.views.iter().any(|(name, _)| name == file)) {
            return Err(StoreError::Stray(self.dir.join(stray)));
        }
        let mut views = Vec::new();
        for (name, digest) in known.views {
            let path = self.dir.join(&name);
            if !view::is_view(&name) {
                return Err(wrong(&self.dir.join(INDEX), ReadError::Format(format!("names a file {name:?}"))));
            }
            if !path.exists() {
                return Err(StoreError::Missing(path));
            }
            let text = self.read(&path)?;
            let view = View::of_text(&text);
            // Of a later version everything may be different, the digest as well.
            if let Err(error @ ReadError::Version(_)) = view {
                return Err(wrong(&path, error));
            }
            if digest != digest_of(&text) {
                return Err(StoreError::Altered(path));
            }
            views.push(view.map_err(|error| wrong(&path, error))?);
        }
        Ok(Some(Recorded { server: known.server, views }))
    }

    /// The record that has to be there.
    pub fn need(&self) -> Result<Recorded, StoreError> {
        self.load()?.ok_or_else(|| StoreError::Nothing(self.dir.clone()))
    }

    /// Refuses a server that calls itself otherwise.
    pub fn is_of(&self, recorded: &Recorded, now: Option<&str>) -> Result<(), StoreError> {
        match (&recorded.server, now) {
            (Some(recorded), Some(now)) if recorded != now => {
                Err(StoreError::OtherServer { dir: self.dir.clone(), recorded: recorded.clone(), now: now.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to write over views that are there.
    pub fn is_free<'a>(&self, views: impl IntoIterator<Item = &'a View>) -> Result<(), StoreError> {
        let views: Vec<String> = views.into_iter().map(View::title).collect();
        match views.is_empty() {
            true => Ok(()),
            false => Err(StoreError::Taken { dir: self.dir.clone(), views: views.join(", ") }),
        }
    }

    /// Writes a record in the place of the old one, and the rules where there are new ones.
    pub fn write(&self, recorded: &Recorded, rules: Option<&str>) -> Result<(), StoreError> {
        fs::create_dir_all(&self.dir)?;
        let staged = self.dir.join(STAGED);
        // What a process left that was ended before its record was whole.
        if staged.exists() {
            fs::remove_dir_all(&staged)?;
        }
        fs::create_dir(&staged)?;
        let mut views = Vec::new();
        for view in &recorded.views {
            let text = view.to_text();
            put(&staged.join(view.file()), &text)?;
            views.push((view.file(), doc::text(digest_of(&text))));
        }
        if let Some(rules) = rules {
            put(&staged.join(rule_file::FILE), rules)?;
        }
        let mut members =
            vec![("mcp-conform".to_owned(), text("snapshots")), ("version".to_owned(), view::number(view::VERSION))];
        members.extend(recorded.server.as_ref().map(|server| ("server".to_owned(), text(server.as_str()))));
        members.push(("views".to_owned(), object(views)));
        // Written beside and moved: with it all is whole.
        let beside = staged.join("index");
        put(&beside, &doc::pretty_text(&object(members)))?;
        fs::rename(&beside, staged.join(INDEX))?;
        self.finish()
    }

    /// Moves a whole new record to its place. Each step can be done again.
    fn finish(&self) -> Result<(), StoreError> {
        let staged = self.dir.join(STAGED);
        let index_path = staged.join(INDEX);
        if !index_path.exists() {
            return Ok(());
        }
        let known = index(&self.read(&index_path)?).map_err(|error| wrong(&index_path, error))?;
        let names = known.views.iter().map(|(name, _)| name.as_str()).filter(|name| view::is_view(name));
        for name in names.chain([rule_file::FILE]) {
            if staged.join(name).exists() {
                fs::rename(staged.join(name), self.dir.join(name))?;
            }
        }
        for gone in self.views_there()?.iter().filter(|file| !known.views.iter().any(|(name, _)| name == *file)) {
            fs::remove_file(self.dir.join(gone))?;
        }
        fs::rename(&index_path, self.dir.join(INDEX))?;
        fs::remove_dir_all(&staged)?;
        Ok(())
    }

    /// Files that are views by their names.
    fn views_there(&self) -> Result<Vec<String>, StoreError> {
        if !self.dir.exists() {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if view::is_view(&name) {
                out.push(name);
            }
        }
        out.sort();
        Ok(out)
    }

    fn read(&self, path: &Path) -> Result<String, StoreError> {
        let format = |reason: &str| StoreError::Format { path: path.to_owned(), reason: reason.to_owned() };
        if fs::metadata(path)?.len() > LARGEST {
            return Err(format("is greater than any snapshot"));
        }
        String::from_utf8(fs::read(path)?).map_err(|_| format("is no text"))
    }
}

struct Index {
    server: Option<String>,
    views: Vec<(String, String)>,
}

fn index(text: &str) -> Result<Index, ReadError> {
    let json = view::read(text)?;
    if json.get("mcp-conform").and_then(Json::as_str) != Some("snapshots") {
        return Err(ReadError::Format("it is no index of snapshots".to_owned()));
    }
    view::version(&json)?;
    let views = json.get("views").and_then(Json::as_object);
    let views = views.ok_or_else(|| ReadError::Format("it names no views".to_owned()))?;
    let view =
        |member: &crate::wire::Member| (member.name.to_string(), member.value.as_str().unwrap_or_default().to_owned());
    let server = json.get("server").and_then(Json::as_str).map(str::to_owned);
    Ok(Index { server, views: views.iter().map(view).collect() })
}

fn wrong(path: &Path, error: ReadError) -> StoreError {
    match error {
        ReadError::Version(found) => StoreError::Version { path: path.to_owned(), found },
        ReadError::Format(reason) => {
            StoreError::Format { path: path.to_owned(), reason: format!("cannot be used: {reason}") }
        }
    }
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    // The index must not be there before what it names.
    file.sync_all()
}

/// Line ends are those of the machine, where a version control writes them so.
fn digest_of(text: &str) -> String {
    let digest = Sha256::digest(text.replace("\r\n", "\n").as_bytes());
    digest.iter().fold("sha256:".to_owned(), |out, byte| format!("{out}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use mcp_conform_schemas::Revision;

    use super::*;
    use crate::{snapshot::view::Kept, trace::Transport};

    fn view(transport: Transport, answer: &str) -> View {
        let kept = Kept {
            name: "tools/list".to_owned(),
            method: "tools/list".to_owned(),
            params: None,
            answer: Json::parse(answer.as_bytes()).unwrap(),
        };
        View { revision: Revision::V2025_11_25, transport, answers: vec![kept] }
    }

    fn recorded(views: Vec<View>) -> Recorded {
        Recorded { server: Some("s".to_owned()), views }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(&dir.path().join("snapshots")).unwrap();
        (dir, store)
    }

    fn error(store: &Store) -> String {
        store.need().unwrap_err().to_string()
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_replaced_whole() {
        let (_dir, store) = store();
        assert!(error(&store).contains("holds no record\n  make one"));
        let both =
            recorded(vec![view(Transport::Stdio, r#"{"result":{"x":1.0}}"#), view(Transport::Http, r#"{"error":{}}"#)]);
        store.write(&both, Some("# rules\n")).unwrap();
        let read = store.need().unwrap();
        let texts = |recorded: &Recorded| recorded.views.iter().map(View::to_text).collect::<Vec<_>>();
        assert_eq!((texts(&read), read.server.as_deref()), (texts(&both), Some("s")));
        store.write(&recorded(vec![view(Transport::Http, "{}")]), None).unwrap();
        assert_eq!(store.need().unwrap().views.len(), 1);
        assert_eq!(std::fs::read_to_string(store.dir.join(rule_file::FILE)).unwrap(), "# rules\n");
        let left: Vec<_> = std::fs::read_dir(&store.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }

    /// Whatever ends the process, the record is the old one or the new one.
    #[test]
    fn a_process_that_ends_while_it_writes_leaves_the_old_record_or_the_new_one() {
        let old = recorded(vec![view(Transport::Stdio, r#"{"result":"old"}"#)]);
        let new =
            recorded(vec![view(Transport::Stdio, r#"{"result":"new"}"#), view(Transport::Http, r#"{"result":"new"}"#)]);
        let files = |store: &Store| -> Vec<(String, String)> {
            let entries = std::fs::read_dir(&store.dir).unwrap().map(|entry| entry.unwrap().path());
            entries
                .map(|path| {
                    (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap())
                })
                .collect()
        };
        let (_one, first) = store();
        first.write(&new, None).unwrap();
        let of_new = files(&first);
        // So many of the moves were made when it ended; with -1 the index was not staged yet.
        for moved in -1..=3_i32 {
            let (_two, store) = store();
            store.write(&old, None).unwrap();
            let staged = store.dir.join(STAGED);
            std::fs::create_dir(&staged).unwrap();
            let (index, views): (Vec<_>, Vec<_>) = of_new.iter().partition(|(name, _)| name == INDEX);
            for (at, (name, text)) in views.iter().copied().chain(index).enumerate() {
                let is_index = name == INDEX;
                if is_index && moved < 0 {
                    continue;
                }
                let place = if i32::try_from(at).unwrap() < moved { &store.dir } else { &staged };
                std::fs::write(place.join(name), text).unwrap();
            }
            let expected = if moved < 0 { &old } else { &new };
            let read = store.need().unwrap();
            assert_eq!(read.views.len(), expected.views.len(), "{moved}");
            assert_eq!(read.views[0].to_text(), expected.views[0].to_text(), "{moved}");
        }
    }

    #[test]
    fn what_was_not_written_by_us_is_told_with_the_way_out() {
        let spoilt = |spoil: &dyn Fn(&Path)| {
            let (_dir, store) = store();
            store.write(&recorded(vec![view(Transport::Stdio, r#"{"result":{"a":"b"}}"#)]), None).unwrap();
            spoil(&store.dir);
            let error = error(&store);
            assert!(error.contains("\n  ") && error.contains("--force"), "{error}");
            error
        };
        let file = "2025-11-25-stdio.json";
        let edit = |name: &'static str, from: &'static str, to: &'static str| {
            spoilt(&|dir| {
                let path = dir.join(name);
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.contains(from));
                std::fs::write(path, text.replace(from, to)).unwrap();
            })
        };
        assert!(edit(file, "\"b\"", "\"c\"").contains("is not as mcp-conform wrote it"));
        assert!(edit(file, "\"version\": 1", "\"version\": 2").contains("is of version 2"));
        assert!(edit(INDEX, "\"version\": 1", "\"version\": 9").contains("is of version 9"));
        assert!(edit(INDEX, "snapshots\",", "snapshots").contains("cannot be used: line 2 is no JSON"));
        assert!(edit(INDEX, file, "../evil.json").contains("does not belong to the record"));
        let cut = spoilt(&|dir| {
            let text = std::fs::read_to_string(dir.join(file)).unwrap();
            std::fs::write(dir.join(file), &text[..text.len() / 2]).unwrap();
        });
        assert!(cut.contains("only a part of a record"), "{cut}");
        assert!(spoilt(&|dir| std::fs::remove_file(dir.join(file)).unwrap()).contains("is not there"));
        assert!(spoilt(&|dir| std::fs::remove_file(dir.join(INDEX)).unwrap()).contains("does not belong"));
        let stray = spoilt(&|dir| {
            std::fs::copy(dir.join(file), dir.join("2026-07-28-http.json")).unwrap();
        });
        assert!(stray.contains("2026-07-28-http.json does not belong"), "{stray}");
    }

    #[test]
    fn line_ends_of_another_machine_are_no_change() {
        let (_dir, store) = store();
        store.write(&recorded(vec![view(Transport::Stdio, r#"{"result":{"a":"b"}}"#)]), None).unwrap();
        let path = store.dir.join("2025-11-25-stdio.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace('\n', "\r\n")).unwrap();
        assert!(store.need().is_ok());
    }

    #[test]
    fn another_server_and_a_record_that_is_there_are_refused() {
        let (_dir, store) = store();
        let known = recorded(vec![view(Transport::Stdio, "{}")]);
        assert!(store.is_of(&known, Some("s")).is_ok() && store.is_of(&known, None).is_ok());
        let other = store.is_of(&known, Some("t")).unwrap_err().to_string();
        assert!(other.contains("is the record of s, and this server calls itself t"), "{other}");
        let taken = store.is_free(&known.views).unwrap_err().to_string();
        assert!(taken.contains("a record of 2025-11-25 over stdio already"), "{taken}");
        assert!(Store::at(&std::env::current_exe().unwrap()).is_err());
    }
}

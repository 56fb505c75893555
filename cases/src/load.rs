//! Where scripts come from: embedded in the binary, or a folder of the user's.
//!
//! [`suite`] is the embedded suite, parsed once; [`load_dir`] reads a folder. Both refuse an id that stands twice.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    ast::{Case, Source},
    diagnostic::Diagnostic,
    parse::{node::MAX_BYTES, parse},
};

/// Why a folder of scripts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{} cannot be read: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} is no UTF-8 text: the byte at offset {offset} is at fault", .path.display())]
    NotUtf8 { path: PathBuf, offset: usize },
    #[error("{} is bigger than {MAX_BYTES} bytes, the most that a script can have", .path.display())]
    TooBig { path: PathBuf },
    #[error("{} holds no scripts (*.yaml)", .path.display())]
    Empty { path: PathBuf },
    #[error("{} is nested too deeply, or holds too many files", .path.display())]
    TooMany { path: PathBuf },
    /// Faults of scripts, in the order of the files.
    #[error("{} in the scripts", count(.0.len()))]
    Scripts(Vec<Diagnostic>),
}

/// What a list of cases shows of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    pub id: &'static str,
    pub title: &'static str,
    pub revisions: &'static [&'static str],
}

struct Embedded {
    name: &'static str,
    text: &'static str,
    heading: Heading,
}

/// The embedded scripts, sorted by name.
pub fn embedded() -> impl Iterator<Item = Source> {
    EMBEDDED.iter().map(|script| Source { name: script.name.into(), text: script.text.into() })
}

/// The headings of the embedded suite in its order, without parsing a script.
pub fn headings() -> impl Iterator<Item = Heading> {
    EMBEDDED.iter().map(|script| script.heading)
}

/// The embedded suite, parsed once.
pub fn suite() -> &'static [Case] {
    static SUITE: OnceLock<Vec<Case>> = OnceLock::new();
    SUITE.get_or_init(|| match parse_all(embedded()) {
        Ok(cases) => cases,
        // The scripts are part of the binary and a test parses them, so this cannot be met by a user.
        Err(faults) => unreachable!(
            "an embedded script is broken: {}",
            faults.first().map(ToString::to_string).unwrap_or_default()
        ),
    })
}

/// Every `*.yaml` below a folder, or the one file that `path` names.
pub fn load_dir(path: &Path) -> Result<Vec<Case>, LoadError> {
    let mut files = Vec::new();
    let is_dir = fs::metadata(path).map_err(|error| LoadError::Unreadable { path: path.to_owned(), error })?.is_dir();
    if is_dir {
        collect(path, 0, &mut files)?;
    } else {
        files.push(path.to_owned());
    }
    if files.is_empty() {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    files.sort();
    let sources = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    parse_all(sources).map_err(LoadError::Scripts)
}

/// Parses scripts and holds their ids against each other.
pub fn parse_all(sources: impl IntoIterator<Item = Source>) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let (mut cases, mut faults) = (Vec::new(), Vec::new());
    for source in sources {
        match parse(source) {
            Ok(case) => cases.push(case),
            Err(found) => faults.extend(found),
        }
    }
    let mut first: BTreeMap<&str, &Case> = BTreeMap::new();
    for case in &cases {
        match first.get(case.id.as_str()) {
            Some(before) => faults.push(
                Diagnostic::error(&case.source, case.id.span, format!("two cases have the id `{}`", case.id.node))
                    .note("the other one stands here", before.id.span, &before.source)
                    .help("an id stands for one case, in every file of the suite"),
            ),
            None => {
                first.insert(&case.id, case);
            }
        }
    }
    if faults.is_empty() { Ok(cases) } else { Err(faults) }
}

static EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/scripts.rs"));

/// A folder of scripts is small; a link to the root of a disk is not.
const MAX_FILES: usize = 10_000;
const MAX_DEPTH: usize = 16;

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let unreadable = |error| LoadError::Unreadable { path: folder.to_owned(), error };
    if depth > MAX_DEPTH {
        return Err(LoadError::TooMany { path: folder.to_owned() });
    }
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() {
            collect(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(LoadError::TooMany { path: folder.to_owned() });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Source, LoadError> {
    let unreadable = |error| LoadError::Unreadable { path: path.to_owned(), error };
    let file = File::open(path).map_err(unreadable)?;
    // A pipe or a device would never end.
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is no file")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(LoadError::TooBig { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| LoadError::NotUtf8 { path: path.to_owned(), offset: error.utf8_error().valid_up_to() })?;
    Ok(Source { name: path.display().to_string().into(), text: text.into() })
}

fn count(faults: usize) -> String {
    match faults {
        1 => "one fault".to_owned(),
        more => format!("{more} faults"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_scripts_are_sound_and_named_after_their_ids() {
        let cases = parse_all(embedded()).unwrap_or_else(|faults| {
            panic!("{}", faults.iter().map(|fault| fault.render(false)).collect::<Vec<_>>().join("\n\n"))
        });
        for case in &cases {
            let file = case.source.name.rsplit('/').next().unwrap_or_default();
            assert_eq!(file, format!("{}.yaml", case.id.node));
            assert!(case.about.is_some(), "{} says nothing about itself", case.id.node);
        }
        assert!(embedded().map(|source| source.name).is_sorted());
        for (heading, case) in headings().zip(&cases) {
            let revisions: Vec<&str> = case.revisions.iter().map(|revision| revision.as_str()).collect();
            assert_eq!((heading.id, heading.title), (&*case.id.node, &*case.title));
            assert_eq!(heading.revisions, revisions, "{}", heading.id);
        }
        assert_eq!(headings().count(), cases.len());
    }

    #[test]
    fn an_id_that_stands_twice_names_both_files() {
        let text = "id: a\ntitle: T\nrevisions: [2025-11-25]\nsteps:\n  - drop_connection\n";
        let source = |name: &str| Source { name: name.into(), text: text.into() };
        let faults = parse_all([source("one.yaml"), source("two.yaml")]).expect_err("the id stands twice");
        insta::assert_snapshot!(faults[0].render(false));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(matches!(load_dir(&folder.path().join("none")), Err(LoadError::Unreadable { .. })));
        assert!(matches!(load_dir(folder.path()), Err(LoadError::Empty { .. })));
        fs::write(folder.path().join("a.yaml"), b"id: \xff").expect("a file");
        let error = load_dir(folder.path()).expect_err("no UTF-8");
        assert!(error.to_string().contains("offset 4"), "{error}");
        fs::write(folder.path().join("a.yaml"), vec![b'#'; MAX_BYTES + 1]).expect("a file");
        assert!(matches!(load_dir(folder.path()), Err(LoadError::TooBig { .. })));
    }
}

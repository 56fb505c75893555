//! What to start: [`CommandSpec`], and why it could not be started: [`StartError`].

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Component, Path, PathBuf},
};

use thiserror::Error;

/// A command, split into words; no shell ever sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSpec {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Added to the environment that the server inherits from us.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: Option<PathBuf>,
}

/// A command line that cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    #[error("the server command is empty")]
    Empty,
    #[error("the server command has a quote that is not closed, or ends in a backslash")]
    Quotes,
}

impl CommandSpec {
    pub fn new(program: impl Into<OsString>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Splits a line into words as a POSIX shell would; `NAME=VALUE` words before the program set its environment.
    pub fn parse(line: &str) -> Result<Self, CommandError> {
        // A backslash quotes in a shell but separates folders on Windows, where nobody writes it to quote.
        let line = if cfg!(windows) { line.replace('\\', "\\\\") } else { line.to_owned() };
        let mut words = shlex::split(&line).ok_or(CommandError::Quotes)?.into_iter().peekable();
        let mut env = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
            env.push((name.into(), value.into()));
            words.next();
        }
        let program = words.next().filter(|program| !program.is_empty()).ok_or(CommandError::Empty)?;
        Ok(Self { program: program.into(), args: words.map(Into::into).collect(), env, cwd: None })
    }
}

/// Quoted so that [`CommandSpec::parse`] and a shell read the same command; the environment and the folder are left out.
impl fmt::Display for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, word) in std::iter::once(&self.program).chain(&self.args).enumerate() {
            let word = word.to_string_lossy();
            let separator = if at == 0 { "" } else { " " };
            match shlex::try_quote(&word) {
                Ok(quoted) => write!(f, "{separator}{quoted}")?,
                Err(_) => write!(f, "{separator}{word:?}")?,
            }
        }
        Ok(())
    }
}

/// The command could not be started; nothing ran.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{program}` {kind}")]
pub struct StartError {
    pub program: String,
    pub kind: StartErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StartErrorKind {
    #[error("was not found{}", suggestion(.hint.as_ref()))]
    NotFound { hint: Option<String> },
    #[error("exists, but the interpreter that its first line names was not found")]
    InterpreterNotFound,
    #[error("cannot be started in `{0}`, which is no folder")]
    NoSuchFolder(String),
    #[error("may not be executed (permission denied){}", suggestion(.hint.as_ref()))]
    PermissionDenied { hint: Option<String> },
    #[error("is a directory, not a program")]
    IsDirectory,
    #[error("is not in a format that this system can execute")]
    NotExecutable,
    #[error("was not started, because the run is being ended")]
    Interrupted,
    #[error("could not be started: {0}")]
    Other(String),
}

impl StartError {
    /// Finds out what a failed start meant.
    pub(super) fn explain(spec: &CommandSpec, error: &io::Error) -> Self {
        /// Linux and the BSDs agree on the number of `ENOEXEC`.
        const NO_EXEC: i32 = 8;
        /// `ERROR_BAD_EXE_FORMAT`.
        const BAD_EXE: i32 = 193;

        let here = spec.cwd.clone().or_else(|| env::current_dir().ok()).unwrap_or_default();
        let file = here.join(&spec.program);
        let path = Path::new(&spec.program);
        let mut parts = path.components();
        // `.` and `/` are folders, too, and no names to look up.
        let has_folder = !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        let kind = if let Some(cwd) = spec.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            StartErrorKind::NoSuchFolder(cwd.display().to_string())
        } else if has_folder && file.is_dir() {
            StartErrorKind::IsDirectory
        } else {
            match error.kind() {
                io::ErrorKind::NotFound if has_folder && file.is_file() => StartErrorKind::InterpreterNotFound,
                io::ErrorKind::NotFound => StartErrorKind::NotFound { hint: did_you_mean(spec, &file, has_folder) },
                io::ErrorKind::PermissionDenied if has_folder => {
                    StartErrorKind::PermissionDenied { hint: with_interpreter(&spec.program) }
                }
                // A search on PATH reports one unreadable folder as if the program itself were forbidden.
                io::ErrorKind::PermissionDenied => {
                    StartErrorKind::PermissionDenied { hint: did_you_mean(spec, &file, has_folder) }
                }
                _ => match error.raw_os_error() {
                    Some(NO_EXEC) if cfg!(unix) => StartErrorKind::NotExecutable,
                    Some(BAD_EXE) if cfg!(windows) => StartErrorKind::NotExecutable,
                    _ => StartErrorKind::Other(error.to_string()),
                },
            }
        };
        Self { program: spec.program.to_string_lossy().into_owned(), kind }
    }
}

fn suggestion(hint: Option<&String>) -> String {
    hint.map(|hint| format!("; did you mean `{hint}`?")).unwrap_or_default()
}

fn did_you_mean(spec: &CommandSpec, file: &Path, has_folder: bool) -> Option<String> {
    if has_folder {
        return None;
    }
    if file.is_file() {
        return with_interpreter(&spec.program).or_else(|| Some(format!("./{}", spec.program.to_string_lossy())));
    }
    // `--server "'cmd args'"` and `-- "cmd args"`: a whole line in one word.
    let program = spec.program.to_str()?;
    program.contains(char::is_whitespace).then(|| program.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// How a script that is not executable is usually started.
fn with_interpreter(program: &OsStr) -> Option<String> {
    let interpreter = match Path::new(program).extension()?.to_str()? {
        "cjs" | "js" | "mjs" => "node",
        "py" => "python3",
        "rb" => "ruby",
        "sh" => "sh",
        "ts" => "npx tsx",
        _ => return None,
    };
    Some(format!("{interpreter} {}", program.to_string_lossy()))
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let valid = |c: char| c == '_' || c.is_ascii_alphanumeric();
    (!first.is_ascii_digit() && name.chars().all(valid)).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_a_shell_splits() {
        let spec = CommandSpec::parse(r#"node "my server.js" --flag='a b' $HOME | x"#).unwrap();
        assert_eq!(spec.program, "node");
        assert_eq!(spec.args, ["my server.js", "--flag=a b", "$HOME", "|", "x"]);
        assert_eq!(CommandSpec::parse(&spec.to_string()).unwrap(), spec);
    }

    #[test]
    fn leading_assignments_set_the_environment() {
        let spec = CommandSpec::parse("TOKEN='a b' _X= server A=B").unwrap();
        assert_eq!(spec.program, "server");
        assert_eq!(spec.args, ["A=B"]);
        assert_eq!(spec.env, [("TOKEN".into(), "a b".into()), ("_X".into(), "".into())]);
    }

    #[test]
    fn refuses_what_is_no_command() {
        for line in ["", "   ", "A=B", "''"] {
            assert_eq!(CommandSpec::parse(line), Err(CommandError::Empty), "{line:?}");
        }
        for line in ["'a", "a \"b", "a\\"] {
            assert_eq!(CommandSpec::parse(line), Err(CommandError::Quotes), "{line:?}");
        }
    }
}

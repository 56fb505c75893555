//! [`Cli`] runs the real binary in a folder of its own and looks that nothing of it is left.

use std::{
    ffi::OsStr,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-conform");

/// Nothing here takes as long, however slow the machine.
pub(crate) const BOUND: Duration = Duration::from_secs(90);
/// Every process of a test has this variable, and with it a value that no other test has.
const MARKER: &str = "MCP_CONFORM_TEST_MARKER";

/// Deadlines that a dead server is soon given up by.
pub(crate) const SHORT: [&str; 4] = ["--timeout", "1", "--patience", "0.02"];

/// The binary, about to be run.
pub(crate) struct Cli {
    folder: TempDir,
    marker: String,
    variables: Vec<(String, String)>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Cli {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let marker = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self { folder: tempfile::tempdir().unwrap(), marker, variables: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the working folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    pub(crate) fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(BINARY);
        self.place(command.args(args));
        command
    }

    /// A line for the shell, for what only a shell does.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        self.place(command.args(["-c", line]));
        command
    }

    fn place(&self, command: &mut Command) {
        command
            .current_dir(self.folder())
            .env("NO_COLOR", "1")
            .env("HOME", self.folder())
            .env(MARKER, &self.marker)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    /// Runs it to its end, in bounded time, and sees that it left nothing behind.
    pub(crate) fn run(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
        let child = self.command(args).spawn().unwrap();
        self.finish(child)
    }

    /// `run` with a server command, or another target, and short deadlines.
    pub(crate) fn judge(&self, target: &[&str]) -> Ran {
        self.run(["run"].iter().chain(&SHORT).chain(target))
    }

    /// Waits for the end of what [`command`](Self::command) started.
    pub(crate) fn finish(&self, mut child: Child) -> Ran {
        let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
        let Ok(stdout) = stdout.recv_timeout(BOUND) else {
            child.kill().unwrap();
            panic!("it hangs: {}", stderr.recv().unwrap_or_default());
        };
        let stderr = stderr.recv_timeout(BOUND).unwrap();
        let ran = Ran { code: child.wait().unwrap().code(), stdout, stderr };
        assert_eq!(self.left(), Vec::<String>::new(), "processes that are left");
        ran
    }

    /// The processes that carry our marker.
    fn left(&self) -> Vec<String> {
        let wanted = format!("{MARKER}={}", self.marker);
        let mut found = Vec::new();
        // Elsewhere nobody can look into the environment of another process.
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(String::from_utf8_lossy(&line).replace('\0', " "));
            }
        }
        found
    }
}

impl Ran {
    /// The exit code, and a line of each text somewhere in what was told.
    #[track_caller]
    pub(crate) fn is(self, code: i32, told: &[&str]) -> Self {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        // Lines are folded at the width of the page.
        let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(self.code, Some(code), "{all}");
        for text in told {
            assert!(flat.contains(text), "{text:?} is not in {all}");
        }
        assert!(!flat.contains("panicked"), "{all}");
        self
    }

    /// Wrong usage: told on standard error alone, in a few lines.
    #[track_caller]
    pub(crate) fn refused(self, told: &[&str]) {
        let ran = self.is(2, told);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.starts_with("error"), "{}", ran.stderr);
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

/// A port on which nobody listens.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// The reference server as a command line.
pub(crate) fn reference(args: &str) -> String {
    format!("{BINARY} reference-server -- {args}")
}

//! `mcp-conform doctor`: whether this machine and the configuration can do what a run needs.

use std::{
    io::Read as _,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use mcp_conform_reports::{model::TargetStatus, target, text};
use serde::Serialize;

use super::{
    args::{DoctorArgs, RunArgs, TextFormat},
    config,
    error::UsageError,
    judge_server::perform,
    output::print,
    plan::plan,
};

/// What a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// Open files that a run with many processes needs.
const FILES: u64 = 1024;

/// Programs that servers are started by, or that something of ours uses, and what for.
const PROGRAMS: [(&str, &str); 8] = [
    ("node", "servers in JavaScript"),
    ("npx", "servers from npm"),
    ("python3", "servers in Python"),
    ("uv", "servers from PyPI by uvx"),
    ("docker", "servers in containers"),
    ("curl", "shell lines that show a finding over HTTP"),
    ("sh", "shell lines that show a finding"),
    ("chromium", "the test of our HTML pages; nothing else"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Ok,
    /// Not there, and not needed by every server.
    Note,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    name: String,
    state: State,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Finding {
    fn ok(name: &str, what: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Ok, what: what.into(), help: None }
    }

    fn note(name: &str, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Note, what: what.into(), help: Some(help.into()) }
    }

    fn fail(name: &str, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: State::Fail, what: what.into(), help: Some(help.into()) }
    }
}

pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8, UsageError> {
    let mut found = vec![machine(), loopback(), files(), temporary()];
    found.extend(PROGRAMS.iter().map(|(name, use_of)| program(name, use_of)));
    found.extend(configured(args));
    let failed = found.iter().any(|finding| finding.state == State::Fail);
    match args.format {
        TextFormat::Json => {
            let mut text = serde_json::to_string_pretty(&found).unwrap_or_default();
            text.push('\n');
            print(&text)?
        }
        TextFormat::Text => print(&shown(&found))?,
    };
    Ok(u8::from(failed))
}

fn shown(found: &[Finding]) -> String {
    let width = found.iter().map(|finding| finding.name.len()).max().unwrap_or_default();
    let mut out = String::new();
    for finding in found {
        let word = match finding.state {
            State::Ok => "ok  ",
            State::Note => "note",
            State::Fail => "FAIL",
        };
        out.push_str(&format!("{word}  {:width$}  {}\n", finding.name, text::clean(&finding.what)));
        if let Some(help) = &finding.help {
            out.push_str(&format!("{:1$}{2}\n", "", width + 8, text::clean(help)));
        }
    }
    let count = |state| found.iter().filter(|finding| finding.state == state).count();
    let failed = count(State::Fail);
    out.push_str(&match failed {
        0 => "\nNothing stands in the way of a run.\n".to_owned(),
        _ => format!("\n{} to mend.\n", text::plural(failed as u64, "thing")),
    });
    out
}

fn machine() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let version = env!("CARGO_PKG_VERSION");
    let (system, chip) = (std::env::consts::OS, std::env::consts::ARCH);
    Finding::ok("machine", format!("mcp-conform {version} on {system} {chip}, {}", text::plural(cores as u64, "core")))
}

/// HTTP servers are reached, and ours is served, over the loopback address.
fn loopback() -> Finding {
    let tried = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| {
        let address = listener.local_addr()?;
        TcpStream::connect_timeout(&address, PATIENCE)
    });
    match tried {
        Ok(_) => Finding::ok("loopback", "a port of 127.0.0.1 can be opened and reached"),
        Err(error) => Finding::fail("loopback", error.to_string(), "servers over HTTP, and run --demo, need 127.0.0.1"),
    }
}

#[cfg(unix)]
fn files() -> Finding {
    match nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) if soft < FILES => {
            let help = format!("a run with many processes may need {FILES}: ulimit -n {FILES}, or --jobs 4");
            Finding::note("open files", format!("at most {soft}"), help)
        }
        Ok((soft, _)) => Finding::ok("open files", format!("at most {soft}")),
        Err(error) => Finding::note("open files", error.to_string(), "the limit is not known"),
    }
}

#[cfg(not(unix))]
fn files() -> Finding {
    Finding::ok("open files", "no limit of the system's")
}

fn temporary() -> Finding {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("mcp-conform-doctor-{}", std::process::id()));
    match std::fs::write(&file, "").and_then(|()| std::fs::remove_file(&file)) {
        Ok(()) => Finding::ok("temporary", format!("{} can be written to", folder.display())),
        Err(error) => {
            let what = format!("{}: {error}", folder.display());
            Finding::fail("temporary", what, "replay needs it: name another folder by TMPDIR")
        }
    }
}

fn program(name: &str, use_of: &str) -> Finding {
    let missing = |why: &str| Finding::note(name, why, format!("only for {use_of}"));
    let argument = if name == "sh" { ["-c", "echo a POSIX shell"].as_slice() } else { ["--version"].as_slice() };
    let started =
        Command::new(name).args(argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return missing("not found"),
        Err(error) => return missing(&error.to_string()),
    };
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => break None,
        }
    };
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return missing("there, and does not tell its version");
    };
    let mut told = String::new();
    if let Some(out) = child.stdout.take() {
        let _ = out.take(4096).read_to_string(&mut told);
    }
    let first = text::bounded(told.lines().next().unwrap_or_default().trim(), 80);
    if status.success() { Finding::ok(name, first) } else { missing("there, and does not start") }
}

/// The configuration, and each server in it.
fn configured(args: &DoctorArgs) -> Vec<Finding> {
    let (file, names) = match config::server_names(args.config.as_deref()) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let help = "mcp-conform init writes one; flags do as well";
            return vec![Finding::note("configuration", format!("no {} here", config::FILE), help)];
        }
        Err(error) => {
            let told = error.to_string();
            let (what, help) = told.split_once("\n  ").unwrap_or((&told, "mend the file"));
            return vec![Finding::fail("configuration", what, help)];
        }
    };
    let servers = text::plural(names.len() as u64, "server");
    let mut out = vec![Finding::ok("configuration", format!("{} names {servers}", file.display()))];
    out.extend(names.iter().map(|name| server(args, &file, name)));
    out
}

/// Whether a server can be judged: it is started or reached, and asked for nothing that has an effect.
fn server(args: &DoctorArgs, file: &Path, name: &str) -> Finding {
    let label = format!("server {name}");
    let run = || -> Result<_, UsageError> {
        let mut run = RunArgs::of_config(args.config.clone().map(|_| file.to_owned()), name);
        run.quiet = true;
        run.tools = vec!["none".to_owned()];
        run.case = vec!["ping".to_owned()];
        let mut run = config::resolve(&run)?;
        run.revision = Vec::new();
        run.report = Vec::new();
        run.trace = None;
        run.max_time = Some(60.0);
        let options = plan(&run)?;
        perform(&run, options, None)
    };
    match run() {
        Ok(report) if report.target.status == TargetStatus::Ok => {
            let versions: Vec<&str> =
                report.revisions.iter().filter(|it| it.supported).map(|it| it.revision.as_str()).collect();
            Finding::ok(&label, format!("answers, and supports {}", versions.join(", ")))
        }
        Ok(report) => {
            let (what, way_out) = target::explain(report.target.status);
            Finding::fail(&label, what, report.target.message.as_deref().unwrap_or(way_out))
        }
        Err(error) => {
            let told = error.to_string();
            let (what, help) = told.split_once("\n  ").unwrap_or((&told, "mend its entry"));
            Finding::fail(&label, what, help)
        }
    }
}

impl RunArgs {
    /// What `run --config FILE --name NAME` would be.
    fn of_config(config: Option<PathBuf>, name: &str) -> Self {
        Self { config, name: Some(name.to_owned()), ..Self::default() }
    }
}

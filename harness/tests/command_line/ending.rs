//! How a run ends: signals, limits of time, and what the exit code says.

use std::{
    fs::OpenOptions,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Child,
    sync::mpsc,
};

use nix::{
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, mkfifo},
};

use crate::fixture::{BINARY, BOUND, Cli, reference};

/// A case that waits for an answer that does not come; `mcp-conform-waits` is seen by the server when it begins.
pub(crate) const WAITS: &str = "\
id: waits
title: An answer that takes very long
revisions: [2025-11-25, 2026-07-28]
steps:
  - send: {method: tools/list, params: {cursor: mcp-conform-waits}, as: call}
  - await: {message: {method: notifications/mcp-conform-never}, within: 10m}
";

/// A server behind a pipe that copies what it reads into a named pipe, for the test to see.
struct Watched {
    cli: Cli,
    pipe: PathBuf,
}

impl Watched {
    fn new() -> Self {
        let cli = Cli::new();
        let pipe = cli.folder().join("seen");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        cli.file("waits.yaml", WAITS);
        Self { cli, pipe }
    }

    /// Starts a run that plays one case and then the one that waits.
    fn start(&self, more: &[&str]) -> Child {
        let pipe = self.pipe.to_str().unwrap();
        let script = format!("tee {pipe} | {BINARY} reference-server --");
        let args = ["run", "--jobs", "1", "--cases", "waits.yaml", "--case", "tools-list-bogus-cursor", "--case"];
        let server = ["--", "/bin/sh", "-c", &script];
        let args = args.iter().chain(&["waits", "--revision", "2025-11-25"]).chain(more).chain(&server);
        self.cli.command(args).spawn().unwrap()
    }

    /// Until the case that waits has begun.
    fn waits(&self) {
        seen(&self.pipe, "mcp-conform-waits");
    }
}

/// Reads the pipe until the text comes by, and goes on reading, so that no server is held up.
pub(crate) fn seen(pipe: &Path, wanted: &'static str) {
    // Open for both, so that it never ends, however many servers write to it and go.
    let pipe = OpenOptions::new().read(true).write(true).open(pipe).unwrap();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if line.contains(wanted) {
                let _ = send.send(());
            }
        }
    });
    receive.recv_timeout(BOUND).unwrap_or_else(|_| panic!("{wanted} was never sent"));
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn an_interrupted_run_reports_what_it_has() {
    for name in [Signal::SIGINT, Signal::SIGTERM] {
        let watched = Watched::new();
        let child = watched.start(&["--report", "json:out.json"]);
        watched.waits();
        signal(&child, name);
        watched.cli.finish(child).is(130, &["What was judged until then stands", "1 passed", "Exit code 130"]);
        let report = watched.cli.json("out.json");
        assert_eq!(report["interrupted"], "interrupted");
        let checks: Vec<&str> =
            report["results"].as_array().unwrap().iter().map(|result| result["check"].as_str().unwrap()).collect();
        assert!(checks.contains(&"tools-list-bogus-cursor"), "{checks:?}");
    }
}

#[test]
fn an_interrupt_before_anything_answered_has_a_report_too() {
    let cli = Cli::new();
    let pipe = cli.folder().join("seen");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let script = format!("trap '' INT TERM; tee {} | while read -r line; do :; done", pipe.display());
    let child = cli.command(["run", "--", "/bin/sh", "-c", &script]).spawn().unwrap();
    seen(&pipe, "jsonrpc");
    signal(&child, Signal::SIGINT);
    cli.finish(child).is(130, &["Exit code 130"]);
}

#[test]
fn a_limit_of_time_ends_the_run_like_an_interrupt() {
    let cli = Cli::new();
    cli.file("waits.yaml", WAITS);
    let server = reference("");
    let ran = cli.run(["run", "--server", &server, "--cases", "waits.yaml", "--case", "waits", "--max-time", "2"]);
    ran.is(130, &["--max-time passed", "Exit code 130"]);
}

#[test]
fn the_first_failure_ends_a_fast_run_as_a_finding() {
    let cli = Cli::new();
    cli.file("waits.yaml", WAITS);
    let server = reference("--fault stdout-banner");
    let args = ["run", "--server", &server, "--cases", "waits.yaml", "--case", "waits", "--case", "stdout"];
    let ran = cli.run(args.iter().chain(&["--fail-fast"]));
    ran.is(1, &["FAIL", "--fail-fast ended the run at the first failure", "Exit code 1"]);
}

#[test]
fn what_counts_is_for_the_user_to_say() {
    let cli = Cli::new();
    let code = |fault: &str, case: &str, fail_on: &str| {
        let server = reference(&format!("--fault {fault}"));
        cli.run(["run", "--server", &server, "--case", case, "--fail-on", fail_on]).code
    };
    let failure = |fail_on| code("stdout-banner", "stdout", fail_on);
    assert_eq!((failure("fail"), failure("warn"), failure("never")), (Some(1), Some(1), Some(0)));
    let warning = |fail_on| code("bogus-cursor-as-first-page", "tools-list-bogus-cursor", fail_on);
    assert_eq!((warning("fail"), warning("warn"), warning("never")), (Some(0), Some(1), Some(0)));
}

#[test]
fn more_unverified_than_allowed() {
    let cli = Cli::new();
    let server = reference("");
    let ran = cli.run(["run", "--server", &server, "--tools", "none", "--max-unverified", "0"]);
    ran.is(4, &["Exit code 4", "--max-unverified"]);
}

#[test]
fn a_revision_asked_for_and_not_supported_is_a_finding() {
    let cli = Cli::new();
    let server = reference("--eras legacy");
    let case = ["--case", "tools-list-bogus-cursor"];
    cli.run(["run", "--server", &server, "--revision", "2026-07-28"].iter().chain(&case)).is(1, &["not supported"]);
    cli.run(["run", "--server", &server, "--revision", "2025-11-25"].iter().chain(&case)).is(0, &["supported"]);
    cli.run(["run", "--server", &server].iter().chain(&case)).is(0, &["not supported"]);
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let watched = Watched::new();
    let child = watched.start(&[]);
    watched.waits();
    signal(&child, Signal::SIGINT);
    signal(&child, Signal::SIGINT);
    watched.cli.finish(child).is(130, &[]);
}

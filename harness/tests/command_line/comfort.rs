//! What makes life easier: `doctor`, `completions`, `man`, `run --watch`, and outputs that stay the same.

use std::{
    fs,
    io::{BufReader, Read},
    sync::mpsc,
};

use crate::fixture::{BOUND, Cli, reference};

#[test]
fn the_machine_is_looked_at() {
    let cli = Cli::new();
    cli.run(["doctor"]).is(0, &["loopback", "open files", "no mcp-conform.toml here", "Nothing stands in the way"]);
    let shown = cli.run(["doctor", "--format", "json"]).is(0, &[]).stdout;
    let found: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(found.as_array().unwrap().iter().any(|it| it["name"] == "loopback" && it["state"] == "ok"));
    let nowhere = Cli::new().with("TMPDIR", "/no/such/folder");
    nowhere.run(["doctor"]).is(1, &["FAIL temporary", "TMPDIR", "1 thing to mend"]);
}

#[test]
fn each_server_of_the_configuration_is_looked_at() {
    let cli = Cli::new();
    let server = |name: &str, command: &str| format!("[servers.{name}]\ncommand = \"{command}\"\n");
    let sound = server("good", &reference(""));
    cli.file("mcp-conform.toml", &sound);
    cli.run(["doctor"]).is(0, &["ok server good", "answers, and supports 2024-11-05", "2026-07-28"]);
    cli.file(
        "mcp-conform.toml",
        &format!("{sound}{}[servers.far]\nurl = \"http://127.0.0.1:1/mcp\"\n", server("gone", "no-such-server")),
    );
    cli.run(["doctor"])
        .is(1, &["ok server good", "FAIL server gone", "was not found", "FAIL server far", "2 things to mend"]);
    cli.file("mcp-conform.toml", "[run]\ntimuot = 3\n");
    cli.run(["doctor"]).is(1, &["FAIL configuration", "mcp-conform.toml:2", "did you mean timeout?"]);
}

#[test]
fn completions_and_pages_know_every_flag() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let shown = cli.run(["completions", shell]).is(0, &[]).stdout;
        assert!(shown.contains("max-unverified") && shown.contains("replay"), "{shell}");
    }
    cli.run(["completions", "bsh"]).refused(&["bash"]);
    // bash reads what is for it.
    cli.file("complete.sh", &cli.run(["completions", "bash"]).stdout);
    let ran = cli.finish(cli.shell("bash -n complete.sh").spawn().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let page = cli.run(["man"]).is(0, &[]).stdout;
    assert!(
        page.contains(".TH mcp-conform 1") && page.contains("replay") && !page.contains("reference\\-server"),
        "{page}"
    );
    let page = cli.run(["man", "run"]).is(0, &[]).stdout;
    assert!(page.contains("max\\-unverified"), "{page}");
    cli.run(["man", "rnu"]).refused(&["rnu is no command", "did you mean run?"]);
}

/// Every help is there, says something, and fits a terminal.
#[test]
fn every_command_has_a_help() {
    let cli = Cli::new();
    let whole = cli.run(["--help"]).is(0, &[]).stdout;
    let listed = whole.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let of_its_own = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names: Vec<&str> =
        listed.lines().filter(of_its_own).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let help = cli.run([name, "--help"]).is(0, &["Usage: mcp-conform"]).stdout;
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
    cli.run(["exlpain", "x"]).refused(&["explain"]);
}

/// What a child says, read beside the test, so that no wait is without an end.
struct Told {
    bytes: mpsc::Receiver<u8>,
    seen: String,
}

impl Told {
    fn of(out: impl Read + Send + 'static) -> Self {
        let (send, bytes) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(out).bytes().map_while(Result::ok).try_for_each(|byte| send.send(byte))
        });
        Self { bytes, seen: String::new() }
    }

    /// Waits for a text behind what was waited for before.
    fn wait_for(&mut self, wanted: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(wanted) {
            let byte = self.bytes.recv_timeout(BOUND);
            assert!(byte.is_ok(), "{wanted:?} does not come: {}{seen}", self.seen);
            seen.extend(byte.ok().map(char::from));
        }
        self.seen.push_str(&seen);
        seen
    }
}

#[test]
fn a_server_that_changes_is_judged_again() {
    let cli = Cli::new();
    let script = |fault: &str| format!("exec {}\n", reference(fault));
    cli.file("server.sh", &script("--fault id-number-from-string"));
    let args = ["run", "--watch", "--server", "sh server.sh", "--case", "ids-echoed", "--quiet"];
    let mut child = cli.command(args).spawn().unwrap();
    let mut told = Told::of(child.stdout.take().unwrap());
    told.wait_for("Watching server.sh. Ctrl-C ends.");
    cli.file("server.sh", &script(""));
    let again = told.wait_for("fail -> pass: base-response-id-echoes-request by ids-echoed, 2025-11-25, stdio on 12");
    assert!(again.contains("server.sh changed: judging again"), "{again}");
    told.wait_for("Watching server.sh. Ctrl-C ends.");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(child.id().try_into().unwrap()),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    let ran = cli.finish(child);
    assert_eq!(ran.code, Some(0), "the code of the last run: {}{}", told.seen, ran.stderr);
}

#[test]
fn what_cannot_be_watched_is_told() {
    let cli = Cli::new();
    let watch = |more: &[&str]| cli.run(["run", "--watch"].iter().chain(more));
    watch(&["--url", "http://127.0.0.1:1/mcp"]).refused(&["nothing of the server can be watched", "--watch-path src"]);
    let path = ["--url", "http://127.0.0.1:1/mcp", "--watch-path", "nowhere"];
    watch(&path).refused(&["--watch-path nowhere", "does not exist"]);
    cli.run(["run", "--demo", "--watch-path", "."]).refused(&["--watch"]);
}

/// Two runs of one server tell the same in the same order, apart from times and counts of what runs side by side.
#[test]
fn two_runs_make_the_same_report() {
    let cli = Cli::new();
    let report = || {
        let server = reference("--fault bogus-cursor-as-first-page");
        cli.run(["run", "--server", &server, "--case", "tools-*", "--report", "json:out.json", "--quiet"]);
        let mut report = cli.json("out.json");
        report["cost"] = serde_json::Value::Null;
        report["started"] = serde_json::Value::Null;
        report["times"] = serde_json::Value::Null;
        for result in report["results"].as_array_mut().unwrap() {
            // Ids count over conversations that run side by side.
            result["evidence"] = serde_json::Value::Null;
            result["occasions"] = serde_json::Value::Null;
            if result["verdict"] == "pass" {
                result["message"] = serde_json::Value::Null;
            }
        }
        serde_json::to_string_pretty(&report).unwrap()
    };
    assert_eq!(report(), report());
    let folder = fs::read_dir(cli.folder()).unwrap().count();
    assert_eq!(folder, 1, "nothing but the report is written");
}

//! `mcp-conform fuzz` as a user runs it.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    fixture::{BINARY, Cli, free_port, reference},
    repro::{findings, path, steady},
};

const QUICK: [&str; 8] = ["--revision", "2025-11-25", "--tools", "none", "--jobs", "1", "--for", "60s"];

fn broken() -> String {
    reference("--fault id-stringified")
}

#[test]
fn a_finding_ends_with_one_and_is_played_again() {
    let cli = Cli::new();
    let server = broken();
    let args =
        [&["fuzz", "--server", &server, "--max-findings", "1", "--report", "json:out.json"][..], &QUICK].concat();
    let ran = cli.run(&args);
    ran.is(1, &["base-response-id-type-preserved", "Exit code 1"]);
    let report = cli.json("out.json");
    assert_eq!(report["summary"]["fail"], 1);
    assert_eq!(report["tool"]["name"], "mcp-conform fuzz");
    let replay = |server: &str| {
        let line =
            ["fuzz", "replay", "mcp-conform-fuzz", "--server", server, "--revision", "2025-11-25", "--tools", "none"];
        cli.run(line)
    };
    replay(&server).is(1, &["seen in 5 of 5 attempts"]);
    replay(&reference("")).is(0, &["not seen in 5 attempts"]);
    // A folder is for one campaign, until it is gone on with.
    cli.run(&args).refused(&["holds a campaign already", "--resume"]);
    let resumed = [&["fuzz", "--server", &server, "--resume", "--max-inputs", "20"][..], &QUICK].concat();
    cli.run(&resumed).is(1, &["base-response-id-type-preserved"]);
}

/// What takes two messages and what takes one, over both transports, shown without us. That they are found is not left to
/// chance: the corpus holds what shows them.
#[test]
fn the_shell_line_of_a_finding_shows_it() {
    const PICK: &str = r#"{"era":"modern","steps":[{"wait":true,"act":{"request":{"method":"tools/call",
        "params":{"name":"pick","arguments":{"colour":"RED","count":1}},"forbidden":"arguments"}}}]}"#;
    const DISCOVER: &str = r#"{"era":"legacy","steps":[{"wait":true,"act":{"request":{"method":"server/discover"}}},
        {"wait":true,"act":{"request":{"method":"ping"}}}]}"#;
    for (bug, input, revision, transport) in
        [("modern-sticks", DISCOVER, "2025-11-25", "stdio"), ("enum-case-blind", PICK, "2026-07-28", "http")]
    {
        let cli = Cli::new().with("PATH", &path());
        let server = reference(&format!("--bug {bug}"));
        let port = free_port();
        let (serve, url) = (format!("{server} --transport http --port {port}"), format!("http://127.0.0.1:{port}/mcp"));
        let target =
            if transport == "http" { vec!["--serve", &serve, "--url", &url] } else { vec!["--server", &server] };
        std::fs::create_dir(cli.folder().join("inputs")).unwrap();
        cli.file("inputs/one.json", input);
        let limits =
            ["--revision", revision, "--jobs", "1", "--for", "50s", "--max-findings", "1", "--corpus", "inputs"];
        cli.run([&["fuzz", "--report", "json:out.json"][..], &target, &limits].concat()).is(1, &[]);
        let report = cli.json("out.json");
        let finding = findings(&report)[0];
        let received = finding["evidence"]["received"]["text"].as_str().unwrap();
        let line = finding["evidence"]["by_hand"].as_str().unwrap();
        let shown = cli.finish(cli.shell(line).spawn().unwrap()).stdout;
        let (wanted, shown) = (steady(received), steady(&shown));
        assert!(shown.contains(&wanted), "{bug}: {wanted}\nis not in\n{shown}\n{line}");
    }
}

#[test]
fn a_campaign_without_findings_says_so() {
    let cli = Cli::new();
    let done = cli.run(["fuzz", "--demo", "--max-inputs", "20"]).is(0, &["No findings", "Exit code 0"]);
    assert!(!done.stdout.contains("Nothing was judged"), "{}", done.stdout);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let cli = Cli::new();
    let server = broken();
    let refused = |args: &[&str], told: &[&str]| {
        cli.run([&["fuzz", "--server", &server][..], args].concat()).refused(told);
    };
    refused(&["--for", "never"], &["is no time", "8h"]);
    refused(&["--trace", "x"], &["--trace is for mcp-conform run"]);
    refused(&["--max-time", "3"], &["give --for"]);
    refused(&["--baseline", "x"], &["--baseline is for mcp-conform run"]);
    refused(&["--corpus", "nowhere"], &["is no folder"]);
    std::fs::create_dir(cli.folder().join("scripts")).unwrap();
    cli.file("scripts/one.yaml", "id: one\n");
    refused(&["--corpus", "scripts"], &["holds no inputs of the fuzzer", "--cases"]);
    refused(&["--max-findings", "0"], &["give 1 or more"]);
    refused(&["--resume"], &["holds no campaign"]);
    cli.run(["fuzz", "replay", "nowhere", "--server", &server]).refused(&["holds no campaign"]);
}

/// Whatever ends the process, what was found stands on disk.
#[cfg(unix)]
#[test]
fn a_kill_takes_no_finding_with_it() {
    let cli = Cli::new();
    let server = broken();
    let args = [&["fuzz", "--server", &server][..], &QUICK].concat();
    let mut child = Command::new(BINARY)
        .args(&args)
        .current_dir(cli.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let findings = cli.folder().join("mcp-conform-fuzz/findings");
    let found = || {
        let folders = std::fs::read_dir(&findings).ok()?;
        folders.flatten().map(|folder| folder.path().join("finding.json")).find(|path| path.is_file())
    };
    let since = Instant::now();
    while found().is_none() && since.elapsed() < Duration::from_secs(50) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found().is_some());
    let resumed = [&["fuzz", "--server", &server, "--resume", "--max-findings", "1"][..], &QUICK].concat();
    cli.run(&resumed).is(1, &["base-response-id-type-preserved"]);
}

/// A limit on the size of files fails a write as a full disk does, in the midst of a campaign.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_no_campaign_and_hides_no_finding() {
    let cli = Cli::new();
    let server = broken();
    // Two blocks of 512 bytes hold how far the campaign is, and no finding.
    let limited = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, BINARY, "fuzz", "--server", &server, "--max-findings", "1"]).args(QUICK);
    let ran = command.current_dir(cli.folder()).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1), "{told}");
    // The report breaks its lines where it likes.
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "could not be written to mcp-conform-fuzz/findings, and stands only here";
    assert!(told.contains("base-response-id-type-preserved") && told.contains(words), "{told}");
    // Nothing half written stands in the way of the next campaign.
    let resumed = [&["fuzz", "--server", &server, "--resume", "--max-findings", "1"][..], &QUICK].concat();
    cli.run(&resumed).is(1, &["base-response-id-type-preserved"]);
    assert!(cli.folder().join("mcp-conform-fuzz/findings").read_dir().unwrap().next().is_some());
}

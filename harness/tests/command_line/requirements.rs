//! `run --requirements`: what a frozen set does not have is told and does not fail.

use crate::fixture::{Cli, reference};

#[test]
fn sets_are_listed() {
    let cli = Cli::new();
    let ran = cli.run(["list", "--requirements"]).is(0, &["2025-11-25@1.0", "2026-07-28@1.0", "requirements"]);
    assert!(!ran.stdout.contains("Rules:"));
    let ran = cli.run(["list", "--requirements", "--format", "json"]).is(0, &[]);
    let sets: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(sets[0]["requirements"].as_array().unwrap().len() > 100);
}

#[test]
fn an_unknown_set_is_told_with_those_that_there_are() {
    let cli = Cli::new();
    let with = |sets: &[&str], told: &[&str]| {
        let flags = sets.iter().flat_map(|set| ["--requirements", set]);
        cli.run(["run", "--server", "x"].into_iter().chain(flags)).refused(told);
    };
    with(&["2026-07-28@1.O"], &["is no requirement set", "did you mean 2026-07-28@1.0?", "2025-11-25@1.0"]);
    with(&["latest"], &["there are 2025-11-25@1.0"]);
}

#[test]
fn what_is_in_the_set_fails_as_ever() {
    let cli = Cli::new();
    let server = reference("--fault id-number-from-string");
    let args = ["--server", &server, "--case", "ids-echoed", "--report", "json:out.json"];
    let set = ["--requirements", "2026-07-28@1.0", "--requirements", "2025-11-25@1.0"];
    cli.judge(&[&args[..], &set].concat()).is(1, &["FAIL"]);
    assert_eq!(cli.json("out.json")["requirement_sets"].as_array().unwrap().len(), 2);
    assert_eq!(cli.json("out.json")["summary"]["new"], 0);
}

/// A case of one's own that judges a requirement of the catalogue stands for a check that came after the set.
#[test]
fn a_check_that_came_later_informs() {
    let cli = Cli::new();
    cli.file(
        "later.yaml",
        "id: later\ntitle: A ping is refused\nrevisions: [2025-11-25]\nsteps:\n  \
         - request: {method: ping, expect: refused, requirement: base-response-id-echoes-request, says: it was answered}\n",
    );
    let server = reference("");
    let args = ["--server", &server, "--cases", "later.yaml", "--case", "later", "--report", "junit:out.xml"];
    cli.judge(&args).is(1, &["FAIL"]);
    let set = ["--requirements", "2025-11-25@1.0", "--fail-on", "warn", "--fail-fast"];
    let told =
        ["NEW 1", "new: the check later is not in 2025-11-25@1.0", "Exit code 0", "is new to the requirement set"];
    cli.judge(&[&args[..], &set].concat()).is(0, &told);
    assert!(cli.read("out.xml").contains("<skipped message=\"new: the check later is not"));
}

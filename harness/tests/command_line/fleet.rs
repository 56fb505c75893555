//! `run --fleet` and `--shard`: many servers, each by itself, and runs that several machines share.

use std::collections::BTreeSet;

use nix::{
    sys::{signal::Signal, stat::Mode},
    unistd::mkfifo,
};

use crate::{
    ending::{WAITS, seen, signal},
    fixture::{BINARY, Cli, Ran},
};

const CASE: [&str; 2] = ["--case", "ids-echoed"];

/// A table of the reference server.
fn server(name: &str, args: &str) -> String {
    let args: String = args.split_whitespace().map(|word| format!(", {word:?}")).collect();
    format!("[servers.{name}]\ncommand = [{BINARY:?}, \"reference-server\", \"--\"{args}]\n")
}

fn judge(cli: &Cli, more: &[&str]) -> Ran {
    cli.judge(&[&["--fleet", "fleet.toml"][..], &CASE, more].concat())
}

fn fleet(cli: &Cli, tables: &[String]) {
    cli.file("fleet.toml", &tables.concat());
}

#[test]
fn every_server_is_judged_whatever_becomes_of_the_others() {
    let cli = Cli::new();
    let gone = "[servers.gone]\ncommand = \"no-such-program-anywhere\"\n".to_owned();
    fleet(&cli, &[server("sound", ""), server("broken", "--fault id-number-from-string"), gone]);
    let ran = judge(&cli, &["--report", "json:all.json", "--report", "terminal", "--report", "markdown:all.md"]);
    let told = ["3 servers of fleet.toml", "gone could not be judged: the command could not be started", "Exit code 3"];
    let ran = ran.is(3, &told);
    assert!(ran.stderr.contains("sound: none failed") && ran.stderr.contains("broken: "), "{}", ran.stderr);
    for (name, status) in [("sound", "ok"), ("broken", "ok"), ("gone", "not-found")] {
        let report = cli.json(&format!("mcp-conform-results/{name}.json"));
        assert_eq!(report["target"]["label"], name);
        assert_eq!(report["target"]["status"], status);
    }
    assert_eq!(cli.json("mcp-conform-results/sound.json")["summary"]["fail"], 0);
    assert!(cli.read("mcp-conform-results/matrix.html").contains("MCP conformance of 3 servers"));
    assert_eq!(cli.read("mcp-conform-results/matrix.md"), cli.read("all.md"));
    // The file of all is read like those of each.
    let ran = cli.run(["report", "all.json", "--format", "markdown"]).is(0, &["| broken |", "| sound |"]);
    assert_eq!(ran.stdout, cli.read("all.md"));
    // What is found leads back to a command that a user can type.
    let repro = cli.json("mcp-conform-results/broken.json")["results"][0]["evidence"]["repro"].to_string();
    assert!(repro.contains("--config fleet.toml --name broken"), "{repro}");
}

#[test]
fn the_exit_code_is_that_of_the_worst() {
    let cli = Cli::new();
    fleet(&cli, &[server("sound", ""), server("broken", "--fault id-number-from-string")]);
    judge(&cli, &["--quiet"]).is(1, &["Exit code 1"]);
    judge(&cli, &["--fail-on", "never", "--fleet-jobs", "1", "--results", "out/deep"]).is(0, &["results: out/deep"]);
    assert_eq!(cli.json("out/deep/broken.json")["target"]["status"], "ok");
}

#[test]
fn the_servers_of_a_client_are_a_fleet_and_their_secrets_stay_hidden() {
    let cli = Cli::new();
    let json = format!(
        r#"{{"mcpServers": {{"a/b": {{"command": {BINARY:?}, "args": ["reference-server", "--"],
            "env": {{"API_KEY": "sesame-opens"}}}}}}}}"#
    );
    cli.file("client.json", &json);
    let ran = cli.judge(&[&["--fleet", "client.json"][..], &CASE].concat()).is(0, &["a/b"]);
    let written = cli.read("mcp-conform-results/a_b.json");
    assert!(![&ran.stdout, &ran.stderr, &written].into_iter().any(|text| text.contains("sesame")));
}

#[test]
fn what_is_wrong_is_told_before_anything_starts() {
    let cli = Cli::new();
    let with = |toml: &str, args: &[&str], told: &[&str]| {
        cli.file("fleet.toml", toml);
        judge(&cli, args).refused(told);
        assert!(!cli.folder().join("started").exists(), "a server was started");
    };
    let fine = "[servers.a]\ncommand = \"touch started\"\n";
    with("[servers.a]\ncomand = \"x\"\n", &[], &["fleet.toml:2", "did you mean command?"]);
    with("[run]\n", &[], &["fleet.toml names no server", "[servers.NAME]"]);
    with(&format!("{fine}[servers.b]\ncommand = \"x\"\ncwd = \"nowhere\"\n"), &[], &["b: fleet.toml:5: cwd nowhere"]);
    with(
        &format!("{fine}env = {{ A = \"env:NOT_SET_ANYWHERE\" }}\n"),
        &[],
        &["a: fleet.toml:3: env", "NOT_SET_ANYWHERE is not set"],
    );
    with(fine, &["--report", "junit"], &["does not tell of several servers"]);
    with(fine, &["--config", "x.toml"], &["is a configuration itself"]);
    with(fine, &["--fleet-jobs", "0"], &["give 1 or more"]);
    with(fine, &["--shard", "3/2"], &["write K/N"]);
    with(fine, &["--shard", "1/2", "--baseline", "k.toml", "--baseline-update"], &["one list a shard"]);
    with(fine, &["--server", "x"], &["cannot be used with"]);
    with(fine, &["--report", "json:no/where.json"], &["no/where.json cannot be written"]);
    cli.run(["run", "--fleet", "none.toml"]).refused(&["none.toml cannot be read", "[servers.NAME]"]);
    cli.run(["run", "--results", "x", "--server", "x"]).refused(&["--fleet"]);
}

#[test]
fn shards_of_a_fleet_are_put_together_and_what_is_missing_is_told() {
    let cli = Cli::new();
    fleet(&cli, &[server("a", ""), server("b", ""), server("c", "--fault id-number-from-string")]);
    let one = judge(&cli, &["--shard", "1/2", "--results", "one", "--report", "json:one.json"]);
    one.is(1, &["Part 1 of 2 of the servers of the fleet", "2 servers of"]);
    judge(&cli, &["--shard", "2/2", "--results", "two", "--report", "json:two.json"]).is(0, &["1 server of"]);
    // There are more parts than servers: nothing to do is no failure.
    judge(&cli, &["--shard", "4/4", "--results", "none"]).is(0, &["0 servers of"]);
    let merge = |files: &[&str]| cli.run(["report", "merge"].iter().chain(files));
    merge(&["one.json", "two.json", "-o", "all.json"]).is(0, &[]);
    merge(&["one.json", "two.json", "-o", "all.json", "--fail-on", "fail"]).is(1, &[]);
    assert_eq!(cli.json("all.json")["reports"].as_array().unwrap().len(), 3);
    assert!(cli.json("all.json")["reports"][0].get("shard").is_none());
    merge(&["one/a.json", "one/c.json", "two/b.json", "-o", "all.json"]).is(0, &[]);
    merge(&["one.json"]).refused(&["the result of 1 of 3 servers, of parts 2/2 is missing", "--partial"]);
    merge(&["one/a.json", "two.json"]).refused(&["the result of 1 of 3 servers is missing"]);
    merge(&["one.json", "one/a.json", "two.json"]).refused(&["the server a stands in two of the files"]);
    merge(&["one.json", "--partial", "-o", "some.json"]).is(0, &[]);
    assert!(cli.read("some.json").contains("not all parts of the run are here"));
}

/// The verdicts of a run, without how often something was seen.
fn verdicts(cli: &Cli, file: &str) -> BTreeSet<String> {
    let report = cli.json(file);
    let text = |result: &serde_json::Value| {
        ["check", "requirement", "revision", "transport", "subject", "verdict"]
            .map(|member| result[member].as_str().unwrap().to_owned())
            .join(" ")
    };
    report["results"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn shards_of_the_cases_put_together_are_the_whole_run() {
    let cli = Cli::new();
    cli.file(
        "known.toml",
        "[[known]]\ncheck = \"ids-echoed\"\nreason = \"x\"\n[[known]]\ncheck = \"tools-list-bogus-cursor\"\nreason = \"x\"\n",
    );
    let server = crate::fixture::reference("--fault id-number-from-string");
    let args = ["run", "--server", &server, "--quiet", "--baseline", "known.toml", "--revision", "2025-11-25"];
    let run = |more: &[&str]| cli.run(args.iter().chain(more));
    run(&["--report", "json:whole.json"]).is(1, &["STALE 1"]);
    for part in ["1/2", "2/2"] {
        let file = format!("json:{}.json", part.replace('/', "-"));
        let ran = run(&["--shard", part, "--report", &file]);
        assert!(ran.stdout.contains("of 2 of the cases") && !ran.stdout.contains("STALE"), "{}", ran.stdout);
    }
    let merge = |files: &[&str]| cli.run(["report", "merge", "-o", "merged.json"].iter().chain(files));
    merge(&["2-2.json", "1-2.json"]).is(0, &[]);
    let (whole, merged) = (verdicts(&cli, "whole.json"), verdicts(&cli, "merged.json"));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!(only(&whole, &merged), only(&merged, &whole));
    assert!(whole.len() > 200);
    // What no part could say alone: the line is stale.
    let entries = &cli.json("merged.json")["baseline"]["entries"];
    assert_eq!([&entries[0]["standing"], &entries[1]["standing"]], ["used", "stale"]);
    merge(&["1-2.json"]).refused(&["part 2/2 of", "is missing"]);
    merge(&["1-2.json", "2-2.json", "1-2.json"]).refused(&["part 1/2 of", "stands in two"]);
}

#[test]
fn an_interrupted_fleet_keeps_what_is_done() {
    let cli = Cli::new();
    let pipe = cli.folder().join("seen");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    cli.file("waits.yaml", WAITS);
    let script = format!("tee {} | {BINARY} reference-server --", pipe.display());
    let waits = format!("[servers.b]\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\n");
    fleet(&cli, &[server("a", "--eras modern"), waits, server("c", "")]);
    // The first is done before the second begins; the third never does.
    let args =
        ["run", "--fleet", "fleet.toml", "--fleet-jobs", "1", "--cases", "waits.yaml", "--revision", "2025-11-25"];
    let case = ["--case", "waits", "--case", "tools-list-bogus-cursor", "--jobs", "1"];
    let child = cli.command(args.iter().chain(&case)).spawn().unwrap();
    seen(&pipe, "mcp-conform-waits");
    signal(&child, Signal::SIGINT);
    cli.finish(child).is(130, &["(interrupted)", "Exit code 130"]);
    assert_eq!(cli.json("mcp-conform-results/a.json")["target"]["label"], "a");
    assert_eq!(cli.json("mcp-conform-results/b.json")["interrupted"], "interrupted");
    assert!(!cli.folder().join("mcp-conform-results/c.json").exists());
    assert!(cli.read("mcp-conform-results/matrix.md").contains("of 2 servers"));
}

#[test]
fn a_list_of_known_failures_is_one_for_the_fleet() {
    let cli = Cli::new();
    fleet(&cli, &[server("sound", ""), server("broken", "--fault id-number-from-string")]);
    let known = ["--baseline", "known.toml"];
    judge(&cli, &[&known[..], &["--baseline-update"]].concat()).is(0, &["wrote known.toml", "known, and do"]);
    let written = cli.read("known.toml");
    assert!(written.contains("server = \"broken\"") && !written.contains("sound"), "{written}");
    judge(&cli, &known).is(0, &[]);
    // One server needs the line, the other does not: it is not stale. Nobody needs the second.
    cli.file("known.toml", "[[known]]\ncheck = \"ids-echoed\"\nreason = \"x\"\n");
    judge(&cli, &known).is(0, &[]);
    cli.file("known.toml", "[[known]]\ncheck = \"ids-echoed\"\nserver = \"sound\"\nreason = \"x\"\n");
    judge(&cli, &known).is(1, &["name no failure any more", "known.toml:1 ids-echoed (sound): it passes now"]);
    assert!(cli.read("mcp-conform-results/matrix.md").contains("Stale lines of the baseline (1)"));
}

//! What the reports show to provoke a finding again: the shell line is run, and `replay` is.

use std::path::Path;

use serde_json::Value;

use crate::fixture::{BINARY, Cli, Ran, reference};

/// A text without what a server makes anew each time, and without where it was folded.
pub(crate) fn steady(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace().flat_map(|word| word.split_inclusive(['"', ',', ':', '{', '}'])) {
        let (made, end) = word.split_at(word.trim_end_matches(['"', ',', ':', '{', '}']).len());
        out.push_str(if made.len() >= 16 && made.bytes().any(|byte| byte.is_ascii_digit()) { "#" } else { made });
        out.push_str(end);
    }
    out
}

/// The binary by its name, as a shell line has it.
pub(crate) fn path() -> String {
    let folder = Path::new(BINARY).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

pub(crate) fn findings(report: &Value) -> Vec<&Value> {
    let told = |result: &&Value| matches!(result["verdict"].as_str(), Some("fail" | "warn" | "contested"));
    report["results"].as_array().unwrap().iter().filter(told).collect()
}

/// The line of a finding shows the broken answer without us, over both transports and in both eras.
#[test]
fn the_shell_line_of_a_finding_shows_it() {
    let mut ran = Vec::new();
    for (fault, case) in [
        ("id-number-from-string", "ids-echoed"),
        ("method-header-mismatch-served", "header-method-differs"),
        ("unknown-session-served", "session-*"),
        ("own-state-refused", "round-trip"),
        ("next-page-refused", "tools-list-walk"),
        ("origin-not-checked", "origin-at-initialize"),
        ("replay-every-stream", "stream-begins-and-resumes"),
    ] {
        let cli = Cli::new().with("PATH", &path());
        cli.run(["run", "--demo", "--fault", fault, "--case", case, "--report", "json:out.json"]);
        let report = cli.json("out.json");
        let mut tried = std::collections::BTreeSet::new();
        for finding in findings(&report) {
            let place = (finding["revision"].as_str().unwrap(), finding["transport"].as_str().unwrap());
            let Some(received) = finding["evidence"]["received"]["text"].as_str().filter(|text| !text.is_empty())
            else {
                continue;
            };
            // One of each kind is enough; what did not come is shown by nothing.
            if received.starts_with("(no ") || !tried.insert(place) {
                continue;
            }
            let line = finding["evidence"]["by_hand"].as_str().unwrap();
            assert!(!line.contains(BINARY), "a path of this machine: {line}");
            let Ran { stdout: shown, stderr, .. } = cli.finish(cli.shell(line).spawn().unwrap());
            assert!(!stderr.contains("No such process"), "{stderr}\n{line}");
            for (name, id) in [("mcp-session-id: ", 16), ("last-event-id: ", 1)] {
                let values = line.to_lowercase();
                let literal = values.split(name).skip(1).any(|rest| {
                    let value: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
                    value.len() >= id && value != "6d63702d-636f-4e66-9f72-6d0000000000"
                });
                assert!(!literal, "a {name} of the run that is over: {line}");
            }
            let (wanted, shown) = (steady(received), steady(&shown));
            assert!(shown.contains(&wanted), "{fault}: {wanted}\nis not in\n{shown}\n{line}");
            ran.push((place.0.to_owned(), place.1.to_owned()));
        }
    }
    for revision in ["2025-11-25", "2026-07-28"] {
        for transport in ["stdio", "http"] {
            let count = ran.iter().filter(|place| place.0 == revision && place.1 == transport).count();
            assert!(count >= 2, "{count} lines of {revision} over {transport} were run");
        }
    }
}

#[test]
fn a_finding_of_a_rule_is_found_again_by_its_command() {
    let cli = Cli::new();
    cli.run(["run", "--demo", "--fault", "id-number-from-string", "--case", "ids*", "--report", "json:out.json"]);
    let report = cli.json("out.json");
    let finding = findings(&report).into_iter().find(|finding| finding["check"] == "ids").unwrap().clone();
    let words = shlex::split(finding["evidence"]["repro"].as_str().unwrap()).unwrap();
    let ran = cli.run(&words[1..]);
    ran.is(1, &[finding["requirement"].as_str().unwrap()]);
}

#[test]
fn no_line_holds_a_secret() {
    let cli = Cli::new();
    let server = format!("env API_KEY=sesame-opens-it {}", reference("--fault bogus-cursor-as-first-page"));
    let server = server.trim_start_matches("env ");
    let args = ["run", "--server", server, "--env", "MY_TOKEN=open-barley-now", "--case", "tools-list-bogus-cursor"];
    cli.run(args.into_iter().chain(["--report", "json:out.json"])).is(0, &[]);
    let text = cli.read("out.json");
    assert!(!text.contains("sesame") && !text.contains("barley"));
    let report = cli.json("out.json");
    let line = findings(&report)[0]["evidence"]["by_hand"].as_str().unwrap();
    assert!(line.contains("API_KEY=\"$API_KEY\"") && line.contains("MY_TOKEN=\"$MY_TOKEN\""), "{line}");
    // And where they are given, it runs.
    let cli = cli.with("API_KEY", "other-key").with("MY_TOKEN", "other-token");
    let shown = cli.finish(cli.shell(line).spawn().unwrap()).stdout;
    assert!(shown.contains("\"tools\""), "{shown}");
}

/// The eight digits of the first finding that the file holds.
fn first(cli: &Cli) -> String {
    let listed = cli.run(["replay", "out.json"]).is(2, &["name the finding by its first eight digits"]).stderr;
    listed.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

#[test]
fn a_finding_is_replayed_and_told_when_it_is_gone() {
    let cli = Cli::new();
    let run = ["run", "--demo", "--fault", "bogus-cursor-as-first-page", "--case", "tools-list-bogus-cursor"];
    let page = cli.run(run.iter().chain(&["--report", "json:out.json"])).is(0, &["warnings"]).stdout;
    let key = first(&cli);
    assert!(page.contains(&format!("mcp-conform replay out.json {key}")), "{page}");
    let told = ["replaying", "mcp-conform-never-issued", "<-", "It still shows"];
    cli.run(["replay", "out.json", &key]).is(1, &told);
    // The report of the file names the same command.
    cli.run(["report", "out.json"]).is(0, &[&format!("mcp-conform replay out.json {key}")]);
    let report = cli.json("out.json");
    let stdio = findings(&report).into_iter().find(|finding| finding["transport"] == "stdio").unwrap();
    let listed = cli.run(["replay", "out.json"]).stderr;
    let line = listed.lines().find(|line| line.contains("stdio")).unwrap();
    let stdio_key = line.split_whitespace().next().unwrap();
    let shown = cli.run(["replay", "out.json", stdio_key, "--by-hand"]).is(0, &[]).stdout;
    assert_eq!(shown.trim_end(), stdio["evidence"]["by_hand"].as_str().unwrap());
    let sound = reference("");
    cli.run(["replay", "out.json", stdio_key, "--server", &sound]).is(0, &["It shows no more"]);
    // Another transport cannot show it.
    let gone = cli.run(["replay", "out.json", stdio_key, "--url", "http://127.0.0.1:1/mcp"]);
    gone.is(3, &["refused"]);
    cli.run(["replay", "out.json", stdio_key, "--server", "no-such-server"]).is(3, &["`no-such-server` was not found"]);
}

#[test]
fn what_cannot_be_replayed_is_told_with_the_way_out() {
    let cli = Cli::new();
    cli.run(["replay", "none.json", "12345678"]).refused(&["none.json cannot be read", "run --report json:FILE"]);
    cli.file("other.json", "{\"version\": 99}");
    cli.run(["replay", "other.json", "12345678"]).refused(&["other.json", "99"]);
    let run = ["run", "--server", &reference("--fault bogus-cursor-as-first-page")];
    let more = ["--case", "tools-list-bogus-cursor", "--report", "json:out.json"];
    cli.run(run.iter().copied().chain(more)).is(0, &[]);
    let key = first(&cli);
    let slip = format!("{}{}", &key[..7], if key.ends_with('0') { '1' } else { '0' });
    cli.run(["replay", "out.json", &slip]).refused(&[&format!("no finding {slip}"), &format!("did you mean {key}?")]);
    cli.run(["replay", "out.json", "tools-list-bogus-cursor"]).refused(&["did you mean"]);
    cli.run(["replay", "out.json", "zzz"]).refused(&["it has these", &key]);
    // Secrets that the file does not keep.
    let text = cli.read("out.json");
    cli.file("header.json", &text.replace("mcp-conform run", "mcp-conform run --header authorization=env:VARIABLE"));
    cli.run(["replay", "header.json", &key])
        .refused(&["--header authorization was given by its value", "give it anew"]);
    cli.file("secret.json", &text.replace("mcp-conform run --server '", "mcp-conform run --server 'KEY=<secret:KEY> "));
    cli.run(["replay", "secret.json", &key]).refused(&["holds a secret (KEY)", "--server"]);
    cli.file("newer.json", &text.replace("mcp-conform run", "mcp-conform run --flag-of-tomorrow"));
    cli.run(["replay", "newer.json", &key]).refused(&["cannot be replayed", "--flag-of-tomorrow"]);
    cli.file("case.json", &text.replace("--case tools-list-bogus-cursor", "--case case-of-tomorrow"));
    cli.run(["replay", "case.json", &key]).refused(&["case-of-tomorrow", "matches no case"]);
}

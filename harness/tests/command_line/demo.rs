//! The report of `run --demo` as a person sees it, sound and with a fault.

use std::collections::BTreeSet;

use crate::fixture::Cli;

/// What differs from run to run: times, counts of requests that run side by side, ids, sessions and ports.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    for (differs, shown) in [
        (r"\d+\.\d s", "[time] s"),
        (r"\d+ process starts, \d+ requests", "[starts] process starts, [requests] requests"),
        (r#""id":\d+"#, r#""id":[id]"#),
        (r"mcp-session-id: \w+", "mcp-session-id: [session]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"(mcp-conform|mcp-reference-server) \d+\.\d+\.\d+", "$1 [version]"),
        (r#""version":"\d+\.\d+\.\d+""#, r#""version":"[version]""#),
        // Where a long answer is cut depends on the digits of its id.
        (r#"(\{"jsonrpc":"2.0","id":\[id\],"result":)[^\n]*\(\d+ characters after\)"#, "$1 [result]"),
    ] {
        settings.add_filter(differs, shown);
    }
    settings
}

/// Messages stand on one line again: where they are folded depends on their ids.
fn unfolded(page: &str) -> String {
    let mut out = String::new();
    let mut message = false;
    for line in page.lines() {
        match line.strip_prefix("            ").filter(|_| message) {
            Some(rest) => out.push_str(rest),
            None => {
                message = line.contains("{\"jsonrpc\"");
                out.push_str(if out.is_empty() { "" } else { "\n" });
                out.push_str(line);
            }
        }
    }
    out
}

#[test]
fn sound() {
    // A part of the suite, so that a new case does not change it.
    let args = ["run", "--demo", "--case", "tools-list-bogus-cursor", "--case", "header-method-differs"];
    let ran = Cli::new().run(args);
    settings().bind(|| insta::assert_snapshot!(unfolded(&ran.stdout)));
}

#[test]
fn with_a_fault() {
    let args = ["run", "--demo", "--fault", "method-header-mismatch-served", "--case", "header-method-differs"];
    let ran = Cli::new().run(args);
    settings().bind(|| insta::assert_snapshot!(unfolded(&ran.stdout)));
}

#[test]
fn a_finding_of_a_case_of_ones_own_leads_back_to_it() {
    let cli = Cli::new();
    cli.file(
        "own-ping.yaml",
        "id: own-ping\ntitle: A ping is refused\nabout: It is not.\nrevisions: [2025-11-25]\nsteps:\n  \
         - request: {method: ping, expect: refused, requirement: own/ping, says: a ping was answered}\n",
    );
    let told = "repro mcp-conform run --demo --cases own-ping.yaml --revision 2025-11-25 --case own-ping";
    cli.run(["run", "--demo", "--cases", "own-ping.yaml", "--case", "own-ping"]).is(1, &["a ping was answered", told]);
}

/// A verdict must not hang on what else the machine does: whole runs beside each other come to the same.
#[test]
fn runs_beside_each_other_come_to_the_same() {
    let clis: Vec<Cli> = (0..3).map(|_| Cli::new()).collect();
    let running: Vec<_> = clis
        .iter()
        .map(|cli| cli.command(["run", "--demo", "--report", "json:out.json", "--quiet"]).spawn().unwrap())
        .collect();
    for (cli, child) in clis.iter().zip(running) {
        assert_eq!(cli.finish(child).code, Some(0));
    }
    let verdicts = |cli: &Cli| -> Vec<String> {
        let report = cli.json("out.json");
        let text = |result: &serde_json::Value| {
            // Keys and fingerprints are made of these: they are the same in every run.
            ["check", "requirement", "revision", "transport", "subject", "part", "verdict"]
                .map(|member| result[member].as_str().unwrap_or_default().to_owned())
                .join(" ")
        };
        let mut verdicts: Vec<String> = report["results"].as_array().unwrap().iter().map(text).collect();
        verdicts.sort();
        let places: BTreeSet<String> =
            verdicts.iter().map(|verdict| verdict.rsplit_once(' ').unwrap().0.to_owned()).collect();
        assert_eq!(places.len(), verdicts.len(), "two verdicts have one key");
        verdicts
    };
    let first = verdicts(&clis[0]);
    assert!(first.len() > 1000);
    for cli in &clis[1..] {
        let other = verdicts(cli);
        let only = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter().filter(|verdict| other.binary_search(verdict).is_err()).cloned().collect()
        };
        assert_eq!(only(&first, &other), only(&other, &first));
    }
}

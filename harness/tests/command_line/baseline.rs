//! `run --baseline`: what is listed does not fail, what is not or not any more does, and `--baseline-update` writes it.

use crate::fixture::{Cli, Ran, reference};

const CASE: [&str; 4] = ["--case", "ids-echoed", "--case", "tools-list-bogus-cursor"];

fn judge(cli: &Cli, fault: &str, more: &[&str]) -> Ran {
    let server = reference(&if fault.is_empty() { String::new() } else { format!("--fault {fault}") });
    cli.judge(&[&["--server", &server][..], &CASE, &["--baseline", "known.toml"], more].concat())
}

#[test]
fn what_is_written_makes_the_next_run_green_and_is_stale_once_it_is_mended() {
    let cli = Cli::new();
    judge(&cli, "id-number-from-string", &[]).refused(&["known.toml cannot be read", "--baseline-update writes one"]);
    judge(&cli, "id-number-from-string", &["--baseline-update"]).is(0, &["wrote known.toml", "known: TODO"]);
    let written = cli.read("known.toml");
    assert!(written.contains("/ids-echoed\"") && written.contains("transport = \"stdio\""), "{written}");
    assert!(written.starts_with("# Failures that are known"), "{written}");
    let told = ["known, and do not count.", "still need a reason instead of TODO"];
    judge(&cli, "id-number-from-string", &[]).is(0, &told);
    judge(&cli, "", &[]).is(1, &["STALE", "known.toml:", "it passes now", "--baseline-update", "Exit code 1"]);
    judge(&cli, "", &["--fail-on", "never"]).is(0, &["STALE"]);
    judge(&cli, "", &["--baseline-update"]).is(0, &["0 added, 0 kept,"]);
    let written = cli.read("known.toml");
    assert!(!written.contains("[[known]]") && written.starts_with("# Failures that are known"), "{written}");
    judge(&cli, "", &[]).is(0, &[]);
}

#[test]
fn a_failure_that_is_not_listed_fails() {
    let cli = Cli::new();
    cli.file(
        "known.toml",
        "[[known]]\ncheck = \"pagination-*\"\nreason = \"the cursor is ignored\"\n\n\
         [[known]]\ncheck = \"ids-echoed\"\ntransport = \"http\"\nreason = \"a proxy\"\n",
    );
    judge(&cli, "id-number-from-string", &["--report", "json:out.json"])
        .is(1, &["FAIL", "known.toml:5 ids-echoed (http)", "the run was not over http"]);
    let report = cli.json("out.json");
    assert_eq!(report["summary"]["known"], 0);
    assert_eq!(report["baseline"]["entries"][0]["standing"], "stale");
    assert_eq!(report["baseline"]["entries"][1]["standing"], "open");
    // A warning is known, too, whatever the run fails for.
    judge(&cli, "bogus-cursor-as-first-page", &["--fail-on", "warn"])
        .is(0, &["KNOWN", "known: the cursor is ignored", "2 warnings are known, and do not count."]);
}

#[test]
fn reasons_comments_and_order_stay_when_the_file_is_written_anew() {
    let cli = Cli::new();
    let kept = "# Ours.\n\n# The SDK does it, issue 7.\n[[known]]\ncheck = \"ids-echoed\"  # both of them\nreason = \"the SDK\"\n";
    let stale = "\n# Mended long ago.\n[[known]]\ncheck = \"pagination-*\"\nreason = \"gone\"\n";
    let unknown = "\n[[known]]\ncheck = \"no-such-check\"\nreason = \"renamed\"\n";
    let open = "\n# Only over HTTP.\n[[known]]\ncheck = \"pagination-*\"\ntransport = \"http\"\nreason = \"a proxy\"\n";
    cli.file("known.toml", &format!("{kept}{stale}{unknown}{open}"));
    judge(&cli, "id-number-from-string", &[]).refused(&["known.toml:13: no-such-check matches no check"]);
    judge(&cli, "id-number-from-string", &["--baseline-update"]).is(0, &["0 added, 2 kept, 2 taken out"]);
    assert_eq!(cli.read("known.toml"), format!("{kept}{open}"));
    // What is new comes behind what was there.
    judge(&cli, "bogus-cursor-as-first-page", &["--baseline-update", "--fail-on", "warn"])
        .is(0, &["1 kept, 1 taken out"]);
    let written = cli.read("known.toml");
    assert!(written.starts_with("# Ours.\n\n# Only over HTTP.\n[[known]]"), "{written}");
    assert!(written.find("a proxy") < written.find("TODO"), "{written}");
}

#[test]
fn nothing_is_written_from_a_run_that_was_not_whole() {
    let cli = Cli::new();
    let text = "[[known]]\ncheck = \"ids-echoed\"\nreason = \"mine\"\n";
    cli.file("known.toml", text);
    let args = ["--server", "/bin/false", "--baseline", "known.toml", "--baseline-update"];
    cli.judge(&args).is(3, &["known.toml was not written: a server could not be judged"]);
    assert_eq!(cli.read("known.toml"), text);
    cli.judge(&["--server", "x", "--baseline-update"]).refused(&["--baseline-update has no file", "--baseline "]);
}

#[test]
fn what_is_left_out_of_a_run_is_not_stale() {
    let cli = Cli::new();
    cli.file(
        "known.toml",
        "[[known]]\ncheck = \"tool_names\"\nreason = \"x\"\n[[known]]\ncheck = \"ids-echoed\"\nserver = \"other\"\nreason = \"x\"\n",
    );
    let told = ["OPEN 2", "the run left it out", "it is for another server", "Exit code 0"];
    judge(&cli, "", &[]).is(0, &told);
}

#[test]
fn fail_fast_does_not_stop_at_what_is_known() {
    let cli = Cli::new();
    cli.file("known.toml", "[[known]]\ncheck = \"*\"\nreason = \"all of it\"\n");
    let ran = judge(&cli, "id-number-from-string", &["--fail-fast"]).is(0, &["KNOWN"]);
    assert!(!ran.stdout.contains("--fail-fast ended the run"), "{}", ran.stdout);
    cli.file("known.toml", "[[known]]\ncheck = \"pagination-*\"\nreason = \"x\"\n");
    judge(&cli, "id-number-from-string", &["--fail-fast"]).is(1, &["--fail-fast ended the run"]);
}

#[test]
fn the_configuration_names_it_and_the_server() {
    let cli = Cli::new();
    let fault = "--fault\", \"id-number-from-string";
    let toml = format!(
        "[servers.ours]\ncommand = [{:?}, \"reference-server\", \"--\", \"{fault}\"]\n[run]\nbaseline = \"known.toml\"\n",
        crate::fixture::BINARY
    );
    cli.file("mcp-conform.toml", &toml);
    cli.file("known.toml", "[[known]]\ncheck = \"ids-echoed\"\nserver = \"ours\"\nreason = \"x\"\n");
    cli.judge(&CASE).is(0, &["known: x"]);
}

/// Every finding of a run can stand in a list: what a run tells is what the suite is known to judge.
#[test]
fn whatever_a_run_finds_can_be_listed() {
    let cli = Cli::new();
    let server = reference("--fault stdout-banner");
    let args = ["--server", &server, "--baseline", "known.toml"];
    cli.judge(&[&args[..], &["--baseline-update", "--fail-on", "warn"]].concat()).is(0, &["wrote known.toml"]);
    cli.judge(&[&args[..], &["--fail-on", "warn", "--report", "json:out.json"]].concat()).is(0, &[]);
    // Any verdict of the run, not the broken ones alone, fits a line.
    let report = cli.json("out.json");
    let mut keys: Vec<String> = report["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| format!("{}/{}", result["requirement"].as_str().unwrap(), result["check"].as_str().unwrap()))
        .collect();
    keys.sort();
    keys.dedup();
    assert!(keys.len() > 200);
    let list = keys.iter().map(|key| format!("[[known]]\ncheck = \"{key}\"\nreason = \"x\"\n")).collect::<String>();
    cli.file("all.toml", &list);
    let args = ["--server", "/bin/false", "--baseline", "all.toml"];
    cli.judge(&args).is(3, &["lines of the baseline that could not be checked"]);
}

//! Where reports go, and how they look.

use std::io::{BufRead, BufReader};

use crate::fixture::{BINARY, Cli, reference};

const CASE: [&str; 2] = ["--case", "tools-list-bogus-cursor"];

#[test]
fn the_terminal_report_stays_beside_files() {
    let cli = Cli::new();
    let server = reference("");
    let args = ["run", "--server", &server, "--report", "json:out.json", "--report", "markdown:out.md"];
    cli.run(args.iter().chain(&CASE)).is(0, &["Exit code 0"]);
    let report = cli.json("out.json");
    assert_eq!(report["version"], 1);
    assert_eq!(report["target"]["status"], "ok");
    assert!(cli.read("out.md").contains("2026-07-28"));
    let left: Vec<_> = std::fs::read_dir(cli.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn another_report_takes_standard_output() {
    let cli = Cli::new();
    let server = reference("");
    let ran = cli.run(["run", "--server", &server, "--report", "json"].iter().chain(&CASE));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["version"], 1);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_server_that_cannot_be_judged_has_reports_too() {
    let cli = Cli::new();
    cli.run(["run", "--server", "no-such-server", "--report", "json:out.json"]).is(3, &["was not found"]);
    assert_eq!(cli.json("out.json")["target"]["status"], "not-found");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let cli = Cli::new();
    let server = reference("");
    for args in [vec!["run", "--server", &server, "--verbose"], vec!["list"], vec!["coverage"], vec!["cases", "schema"]]
    {
        let mut child = cli.command(&args).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_ne!(line, "");
        cli.finish(child).is(0, &[]);
    }
}

#[test]
fn a_closed_standard_output_is_no_crash() {
    let cli = Cli::new();
    for args in ["list", "coverage", "run --demo --case tools-list-bogus-cursor", "--help"] {
        let child = cli.shell(&format!("exec {BINARY} {args} >&-")).spawn().unwrap();
        cli.finish(child).is(0, &[]);
    }
}

#[test]
fn quiet_and_verbose() {
    let cli = Cli::new();
    let server = reference("");
    let lines = |flag: &[&str]| {
        let ran = cli.run(["run", "--server", &server].iter().chain(flag).chain(&CASE));
        ran.is(0, &[]).stdout.lines().count()
    };
    let (quiet, plain, verbose) = (lines(&["--quiet"]), lines(&[]), lines(&["--verbose"]));
    assert!(quiet < plain && plain < verbose, "{quiet} {plain} {verbose}");
}

#[test]
fn colour_is_for_terminals() {
    let server = reference("--fault stdout-banner");
    let ran = Cli::new().with("NO_COLOR", "").run(["run", "--server", &server, "--case", "stdout*"]);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    let wanted = Cli::new().with("NO_COLOR", "").with("CLICOLOR_FORCE", "1");
    let ran = wanted.run(["run", "--server", "no-such-server", "--case", "no-such-case"]);
    assert!(ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}

#[test]
fn a_trace_is_judged_as_the_run_was() {
    let cli = Cli::new();
    let server = reference("--fault stdout-banner");
    cli.run(["run", "--server", &server, "--trace", "traces"]).is(1, &["stdio-stdout-only-mcp"]);
    let mut files: Vec<_> =
        std::fs::read_dir(cli.folder().join("traces")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 2, "{files:?}");
    let args = ["judge".into()].into_iter().chain(files.into_iter().map(std::path::PathBuf::into_os_string));
    let told = cli.run(args).is(1, &["stdio-stdout-only-mcp", "stdio-stdout-only-messages"]).stdout;
    let folder = cli.run(["judge", "traces"]).is(1, &["stdio-stdout-only-mcp"]).stdout;
    assert_eq!(folder.lines().count(), told.lines().count());
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_a_report_is_respected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let cli = Cli::new();
    let real = cli.file("real.json", "{}");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real.json", cli.folder().join("link.json")).unwrap();
    let server = reference("");
    let args = ["run", "--server", &server, "--case", "ping", "--report", "json:link.json"];
    assert_eq!(cli.run(args).code, Some(0));
    assert!(cli.folder().join("link.json").is_symlink(), "the link was replaced");
    assert_eq!(cli.json("real.json")["target"]["status"], "ok");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    // A device or a pipe is no place for a report.
    cli.run(["run", "--server", &server, "--report", "json:/dev/null"]).refused(&["/dev/null", "is no file"]);
}

#[test]
fn a_revision_that_was_asked_for_and_is_missing_is_told_everywhere() {
    let cli = Cli::new();
    let server = reference("--eras legacy");
    let args =
        ["--server", &server, "--revision", "2026-07-28", "--report", "json:out.json", "--report", "tap:out.tap"];
    let ran = cli.judge(&args);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("was asked for and is not supported"), "{}", ran.stdout);
    let report = cli.json("out.json");
    assert_eq!(report["summary"]["fail"], 1);
    let repro = report["results"].as_array().unwrap().iter().find(|result| result["verdict"] == "fail").unwrap();
    let repro = repro["evidence"]["repro"].as_str().unwrap();
    assert!(repro.starts_with("mcp-conform run --server ") && repro.ends_with("--revision 2026-07-28"), "{repro}");
    assert!(cli.read("out.tap").contains("not ok"));
    let told = "Exit code 1: a revision that was asked for is missing.";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    // The result file knows how its run ended, and its reports tell it.
    assert!(cli.run(["report", "out.json"]).is(0, &[]).stdout.contains(told));
    assert!(!cli.run(["report", "out.json", "--revision", "2025-11-25"]).is(0, &[]).stdout.contains("Exit code"));
}

/// What fails the run fails it for a reader of tests, too, and is named as what it is.
#[test]
fn a_warning_that_fails_the_run_is_a_failure_in_junit() {
    let cli = Cli::new();
    let fault = "nameless-call-internal-error";
    let args = ["run", "--demo", "--fault", fault, "--case", "params-do-not-fit", "--revision", "2025-11-25"];
    let run = |level: &str| {
        let ran = cli.run(args.into_iter().chain(["--fail-on", level, "--report", "junit:out.xml"]));
        (ran.code, cli.read("out.xml").matches("<failure ").count() > 0, ran.stdout)
    };
    let (code, failed, told) = run("warn");
    assert_eq!((code, failed), (Some(1), true), "{told}");
    assert!(told.contains("this form of the breach counts as a warning at most"), "{told}");
    assert!(told.contains("Exit code 1: something is broken that --fail-on counts.\n"), "{told}");
    let (code, failed, told) = run("fail");
    assert_eq!((code, failed), (Some(0), false), "{told}");
}

//! Wrong usage: told before anything is started, with the way out, and exit code 2.

use crate::fixture::{Cli, reference};

/// A server that would leave a file behind, were it started.
const TELLTALE: &str = "touch started";

#[track_caller]
fn refuses(args: &[&str], told: &[&str]) {
    let cli = Cli::new();
    cli.run(["run"].iter().chain(args)).refused(told);
    assert!(!cli.folder().join("started").exists(), "the server was started");
}

#[test]
fn no_server() {
    refuses(&[], &["no server was named", "--server COMMAND, --url URL, or --demo"]);
}

#[test]
fn two_servers_over_stdio() {
    refuses(&["--server", TELLTALE, "--", "touch", "started"], &["cannot be used with"]);
}

#[test]
fn unknown_names_have_neighbours() {
    let server = ["--server", TELLTALE];
    let with = |flag: &str, value: &str, told: &[&str]| refuses(&[&server[..], &[flag, value]].concat(), told);
    with("--case", "tools-list-bogus", &["matches no case and no rule", "did you mean"]);
    with("--case", "tools[", &["--case tools["]);
    with("--area", "tols", &["is no area of the catalogue", "did you mean tools?"]);
    with("--revision", "2026-07-29", &["is no published revision", "2025-11-25 and 2026-07-28"]);
    with("--revision", "2025-03-26", &["has no requirements of its own", "2025-11-25 and 2026-07-28"]);
    with("--report", "jsn:out", &["unknown report format `jsn`", "did you mean `json`?"]);
    with("--report", "json:", &["json"]);
    with("--fail-on", "fial", &["fail, warn, never"]);
    with("--timout", "3", &["--timeout"]);
    refuses(&["--demo", "--fault", "stdout-baner"], &["did you mean stdout-banner?", "--list-faults"]);
    refuses(&["--demo", "--fault", "zzz"], &["is no fault", "--list-faults"]);
    refuses(&["--fault", "stdout-banner"], &["--demo"]);
}

#[test]
fn values_out_of_range() {
    for (flag, value) in [
        ("--jobs", "0"),
        ("--timeout", "0"),
        ("--timeout", "NaN"),
        ("--timeout", "-1"),
        ("--max-time", "inf"),
        ("--patience", "0"),
        ("--max-unverified", "many"),
        ("--seed", "x"),
    ] {
        refuses(&["--server", TELLTALE, &format!("{flag}={value}")], &[flag]);
    }
}

#[test]
fn targets_that_cannot_be_read() {
    refuses(&["--server", ""], &["the server command is empty"]);
    refuses(&["--server", "touch 'started"], &["a quote that is not closed"]);
    refuses(&["--server", TELLTALE, "--cwd", "nowhere"], &["--cwd nowhere", "name a folder that exists"]);
    refuses(&["--url", "localhost:3000/mcp"], &["write http://HOST:PORT/PATH"]);
    refuses(&["--url", "not an url"], &["write http://HOST:PORT/PATH"]);
    refuses(&["--serve", TELLTALE], &["--url"]);
    let url = ["--url", "https://127.0.0.1:1/mcp"];
    refuses(&[url[0], url[1], "--ca-file", "none.pem"], &["none.pem"]);
}

#[test]
fn settings_that_nothing_uses() {
    let url = "http://127.0.0.1:1/mcp";
    refuses(&["--url", url, "--env", "A=b"], &["--env is for a server that is started here", "leave it out"]);
    refuses(&["--url", url, "--cwd", "."], &["--cwd is for a server that is started here"]);
    refuses(&["--server", TELLTALE, "--header", "A=b"], &["--header is for a server at a --url"]);
    refuses(&["--server", TELLTALE, "--insecure"], &["--insecure is for a server at a --url"]);
}

#[test]
fn pairs_without_a_value() {
    let url = "http://127.0.0.1:1/mcp";
    refuses(&["--url", url, "--header", "Authorization"], &["NAME=VALUE", "NAME=env:VARIABLE"]);
    refuses(&["--url", url, "--header", "a b=c"], &["is no header name"]);
    refuses(&["--url", url, "--header", "A=env:NO_SUCH_VARIABLE"], &["the variable NO_SUCH_VARIABLE is not set"]);
    refuses(&["--url", url, "--header", "A=@none.txt"], &["none.txt cannot be read"]);
    refuses(&["--server", TELLTALE, "--env", "NAME"], &["write --env NAME=VALUE"]);
}

#[test]
fn arguments_of_tools() {
    let with = |value: &str, told: &[&str]| refuses(&["--server", TELLTALE, "--tool-args", value], told);
    with("echo", &["is no TOOL=JSON", "write --tool-args"]);
    with("echo={", &["is no JSON"]);
    with("echo=[1]", &["has to be a JSON object"]);
    with("echo=@none.json", &["none.json cannot be read"]);
}

#[test]
fn outputs_that_cannot_be_written_are_told_before_the_run() {
    let server = ["--server", TELLTALE];
    let with = |args: &[&str], told: &[&str]| refuses(&[&server[..], args].concat(), told);
    with(
        &["--report", "json:nowhere/out.json"],
        &["nowhere/out.json cannot be written", "make the folder nowhere first", "--report another place"],
    );
    with(&["--report", "json:."], &["cannot be written"]);
    with(&["--report", "json", "--report", "markdown"], &["2 reports want standard output", "FORMAT:PATH"]);
    with(&["--report", "json:a", "--report", "markdown:a"], &["two reports want a"]);
    let cli = Cli::new();
    let file = cli.file("file", "");
    with(&["--trace", file.to_str().unwrap()], &["cannot be written", "--trace another place"]);
    with(&["--trace", "/proc"], &["cannot be written"]);
}

#[test]
fn case_files() {
    let cli = Cli::new();
    let server = reference("");
    let run = |path: &str| cli.run(["run", "--server", &server, "--cases", path]);
    run("none").refused(&["none cannot be read", "name a folder that holds scripts"]);
    std::fs::create_dir(cli.folder().join("empty")).unwrap();
    run("empty").refused(&["holds no scripts"]);
    std::fs::write(cli.folder().join("binary.yaml"), b"\xff\xfe").unwrap();
    run("binary.yaml").refused(&["is no UTF-8 text"]);
    cli.file("broken.yaml", "id: mine\ntitle: [\n");
    run("broken.yaml").refused(&["broken.yaml"]);
    let case = |id: &str, step: &str| format!("id: {id}\ntitle: mine\nrevisions: [2025-11-25]\nsteps:\n  - {step}\n");
    cli.file("step.yaml", &case("step", "sned: {method: ping}"));
    run("step.yaml").refused(&["step.yaml", "send"]);
    cli.file("tools-list-bogus-cursor.yaml", &case("tools-list-bogus-cursor", "request: {method: ping}"));
    run("tools-list-bogus-cursor.yaml").refused(&["which stands in", "give the case another id"]);
    cli.file("check.yaml", &case("check", "check: {name: pagination.wlak, judges: {ends: own/ends}}"));
    run("check.yaml").refused(&["there is no check named pagination.wlak", "pagination.walk"]);
    cli.run(["cases", "check", "check.yaml"]).refused(&["there is no check named"]);
    cli.run(["cases", "check", "tools-list-bogus-cursor.yaml"]).refused(&["which stands in the suite"]);
    cli.run(["cases", "check", "none"]).refused(&["none cannot be read"]);
    cli.run(["list", "--cases", "broken.yaml"]).refused(&["broken.yaml"]);
}

#[test]
fn other_commands() {
    let cli = Cli::new();
    cli.run(["explain", "tools-list-bogus"]).refused(&["is no case, rule or requirement", "did you mean"]);
    cli.run(["judge", "none.jsonl"]).refused(&["none.jsonl", "run --trace"]);
    cli.file("text.jsonl", "hello\n");
    cli.run(["judge", "text.jsonl"]).refused(&["text.jsonl", "not a trace of mcp-conform"]);
    std::fs::create_dir(cli.folder().join("empty")).unwrap();
    cli.run(["judge", "empty"]).refused(&["empty", "no trace", "run --trace"]);
    cli.run(["lst"]).refused(&["list"]);
    cli.run(["reference-server", "--", "--fault", "zzz"]).is(2, &["zzz"]);
}

#[test]
fn what_only_a_run_of_the_suite_uses_is_refused_when_fuzzing() {
    let cli = Cli::new();
    for flags in
        [&["--baseline", "x"][..], &["--shard", "1/2"], &["--requirements", "2026-07-28@1.0"], &["--fleet", "x"]]
    {
        let told = format!("{} is for mcp-conform run", flags[0]);
        let server = if flags[0] == "--fleet" { &[][..] } else { &["--server", TELLTALE][..] };
        cli.run(["fuzz"].iter().chain(server).chain(flags)).refused(&[&told]);
    }
}

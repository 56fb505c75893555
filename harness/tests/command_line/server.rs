//! Commands that are no MCP server, or a bad one.

use crate::fixture::{Cli, reference};

fn shell(script: &str) -> [&str; 5] {
    ["--", "/bin/sh", "-c", script, "server"]
}

#[test]
fn a_command_that_does_not_exist() {
    let ran = Cli::new().judge(&["--server", "no-such-server --stdio"]);
    ran.is(3, &["`no-such-server` was not found", "check the spelling"]);
}

#[test]
fn a_folder() {
    Cli::new().judge(&["--server", "/"]).is(3, &["is a directory, not a program", "name the program"]);
}

#[test]
fn a_file_without_the_right_to_be_executed() {
    let cli = Cli::new();
    let path = cli.file("server.js", "");
    cli.judge(&["--server", path.to_str().unwrap()]).is(3, &["may not be executed", "did you mean `node"]);
}

#[test]
fn one_that_exits_at_once() {
    let ran = Cli::new().judge(&shell("echo 'no such module: left-pad' >&2; exit 7"));
    ran.is(3, &["exit status 7", "no such module: left-pad", "run the command by hand"]);
}

#[test]
fn one_that_exits_at_once_in_silence() {
    let ran = Cli::new().judge(&["--server", &reference("--fault exits-at-once")]);
    ran.is(3, &["ended before it answered", "exit status 1"]);
}

#[test]
fn a_banner_and_nothing_else() {
    let ran = Cli::new().judge(&shell("echo Welcome; while read -r line; do :; done"));
    ran.is(3, &["prints what is no MCP message", "`Welcome`", "| stdout: Welcome"]);
}

#[test]
fn a_banner_before_a_server_that_works_is_a_finding() {
    let server = reference("--fault stdout-banner");
    let ran = Cli::new().run(["run", "--server", &server, "--case", "stdout*", "--case", "tools-list-bogus-cursor"]);
    ran.is(1, &["stdio-stdout-only-messages", "stdio-stdout-only-mcp"]);
}

#[test]
fn one_that_wants_configuration() {
    let ran = Cli::new().judge(&["--server", &reference("--fault wants-configuration")]);
    ran.is(3, &["REFERENCE_API_KEY is not set", "--env NAME=VALUE", "| exit status 2"]);
}

#[test]
fn one_that_wants_arguments() {
    let ran = Cli::new().judge(&shell("echo 'Usage: server DIRECTORY' >&2; exit 2"));
    ran.is(3, &["seems to want configuration", "`Usage: server DIRECTORY`", "give arguments"]);
}

#[test]
fn one_that_never_answers() {
    let ran = Cli::new().judge(&shell("while read -r line; do :; done"));
    ran.is(3, &["gave no answer within", "raise --start-timeout"]);
}

#[test]
fn one_that_floods_standard_error() {
    let ran = Cli::new().judge(&shell("yes 'still starting' >&2"));
    ran.is(3, &["gave no answer within", "| stderr: still starting"]);
}

#[test]
fn a_flood_beside_answers_does_no_harm() {
    let ran = Cli::new().run(["run", "--server", &reference("--fault stderr-flood"), "--case", "tools-list-*"]);
    ran.is(0, &["2025-11-25 supported", "2026-07-28 supported"]);
}

#[test]
fn half_a_message_and_death() {
    let ran = Cli::new().judge(&["--server", &reference("--fault half-message-then-exit")]);
    ran.is(3, &["ended before it answered", "run the command by hand"]);
}

#[test]
fn an_endless_line() {
    let ran = Cli::new().judge(&shell("exec tr '\\0' x </dev/zero"));
    ran.is(3, &["what came back is not MCP"]);
}

#[test]
fn one_that_repeats_its_input() {
    Cli::new().judge(&["--server", "cat"]).is(3, &["what we send comes straight back"]);
}

#[test]
fn one_that_speaks_json_but_not_mcp() {
    let script =
        r#"while read -r line; do echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}'; done"#;
    Cli::new().judge(&shell(script)).is(3, &["not MCP"]);
}

#[test]
fn one_that_ignores_the_end_of_its_input_and_sigterm() {
    let ran = Cli::new().judge(&shell("trap '' TERM; while :; do sleep 1; done"));
    ran.is(3, &["gave no answer within"]);
}

#[test]
fn one_that_leaves_children_behind() {
    let script = "(trap '' TERM; exec sleep 300) & setsid sleep 300 & while read -r line; do :; done";
    Cli::new().judge(&shell(script)).is(3, &["gave no answer within"]);
}

#[test]
fn one_that_seems_to_serve_http() {
    let ran =
        Cli::new().judge(&shell("echo 'listening on http://127.0.0.1:3000/mcp' >&2; while read -r line; do :; done"));
    ran.is(3, &["seems to serve HTTP", "--url http://127.0.0.1:3000/mcp"]);
}

#[test]
fn a_working_folder_and_variables_reach_the_server() {
    let cli = Cli::new();
    let script = "echo \"in $PWD as $NAME\" >&2; exit 1";
    let folder = cli.folder().join("inner");
    std::fs::create_dir(&folder).unwrap();
    let mut args = vec!["--cwd", "inner", "--env", "NAME=value"];
    args.extend(shell(script));
    cli.judge(&args).is(3, &["inner as value"]);
}

/// A server that ends after each answer ends after odd ones, too: that breaks one thing, not everything that is asked.
#[test]
fn one_that_ends_after_its_first_answer() {
    let cli = Cli::new();
    cli.file(
        "frail.sh",
        r#"read -r line
id=$(printf '%s' "$line" | sed 's/.*"id":\([^,]*\),.*/\1/')
case "$line" in
*server/discover*) printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}\n' "$id" ;;
*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
esac
"#,
    );
    let ran = cli.judge(&["--server", "sh frail.sh", "--report", "json:out.json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let report = cli.json("out.json");
    let results = report["results"].as_array().unwrap();
    let told = |verdict: &str, text: &str| {
        results
            .iter()
            .filter(|result| result["verdict"] == verdict && result["message"].as_str().unwrap().contains(text))
            .count()
    };
    assert_eq!(told("fail", "the end of the process"), 0, "its end is taken for an answer");
    assert!(told("not-verified", "ends after ordinary requests") > 0);
    assert!(told("fail", "before it answered the request") > 0, "that it ends is told");
}

/// How long a tool works is its own business. That it was never answered is told, by its name and never as a pass.
#[test]
fn one_whose_tool_is_never_answered() {
    let cli = Cli::new();
    cli.file(
        "hangs.sh",
        r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
case "$line" in
*'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
*'"tools/list"'*) result='{"tools":[{"name":"sleeper","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
*'"ping"'*) result='{}' ;;
*'"tools/call"'*) continue ;;
*) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
esac
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#,
    );
    let ran = cli.judge(&["--server", "sh hangs.sh", "--case", "ping", "--report", "json:out.json"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = cli.json("out.json");
    let told: Vec<_> = report["results"].as_array().unwrap().iter().filter(|it| it["subject"] == "sleeper").collect();
    assert!(
        told.iter().any(|it| it["verdict"] == "not-verified" && it["requirement"] == "base-response-one-per-request")
    );
    assert!(told.iter().all(|it| it["verdict"] != "pass"), "{told:?}");
    assert!(report["omissions"].to_string().contains("too slow"), "{}", report["omissions"]);
}

//! Servers that shake hands as they should and go wrong when a tool is called, or before they are up.

use serde_json::Value;

use crate::fixture::{Cli, Ran};

/// A server of one tool, `echo`, with what it does at a call and before anything else.
fn judged(cli: &Cli, before: &str, call: &str, args: &[&str]) -> Ran {
    let script = r#"BEFORE
while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
case "$line" in
*'"initialize"'*) result='{"protocolVersion":"VERSION","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
*'"tools/list"'*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
*'"ping"'*) result='{}' ;;
*'"tools/call"'*) CALL ;;
*) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
esac
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    let version = if before.starts_with("# 2025-06-18") { "2025-06-18" } else { "2025-11-25" };
    cli.file("s.sh", &script.replace("BEFORE", before).replace("CALL", call).replace("VERSION", version));
    let given = ["run", "--server", "sh s.sh", "--report", "json:out.json", "--report", "terminal"];
    cli.run(given.iter().chain(args))
}

fn results(report: &Value, verdict: &str) -> Vec<(String, String)> {
    let text = |result: &Value, member: &str| result[member].as_str().unwrap_or_default().to_owned();
    let results = report["results"].as_array().unwrap().iter().filter(|result| result["verdict"] == verdict);
    results.map(|result| (text(result, "requirement"), text(result, "message"))).collect()
}

const SOUND: &str = r#"result='{"content":[{"type":"text","text":"hello"}]}'"#;

#[test]
fn one_that_dies_of_every_call_is_told_once_by_its_end() {
    let cli = Cli::new();
    let ran =
        judged(&cli, "", "exit 3", &["--case", "params-do-not-fit", "--case", "unknown-tool", "--case", "answers"]);
    ran.is(
        1,
        &["the process ended (exit status 3) before it answered the request tools/call", "got the end of the process"],
    );
    let report = cli.json("out.json");
    let failed = results(&report, "fail");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].0, "base-response-one-per-request");
    let open = results(&report, "not-verified");
    assert!(
        open.iter().any(|(_, message)| message.contains("when its tools are called as they should be")),
        "{open:?}"
    );
    assert!(!report["omissions"].to_string().contains("made-up arguments"), "{}", report["omissions"]);
}

#[test]
fn an_answer_beyond_our_limits_is_told_and_proves_nothing() {
    let cli = Cli::new();
    let huge = r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; head -c 17000000 /dev/zero | tr '\0' x; printf '"}]}}\n'; continue"#;
    let ran = judged(&cli, "", huge, &["--case", "params-do-not-fit", "--case", "unknown-tool"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = cli.json("out.json");
    assert!(report["notes"].to_string().contains("got an answer beyond our limits (16777216 bytes were read)"));
    let open = results(&report, "not-verified");
    for requirement in ["errors-invalid-params-32602", "tools-unknown-tool-protocol-error"] {
        let told =
            |(id, message): &&(String, String)| id == requirement && message.contains("an answer beyond our limits");
        assert!(open.iter().any(|it| told(&it)), "{requirement}: {open:?}");
    }
}

#[test]
fn one_that_closes_stdout_and_goes_on_is_not_called_slow() {
    let ran = judged(&Cli::new(), "exec >&-; while read -r line; do :; done", SOUND, &[]);
    ran.is(3, &["closed its standard output"]);
}

#[test]
fn the_start_has_a_deadline_of_its_own() {
    let cli = Cli::new();
    let ran = judged(&cli, "exec sleep 600", SOUND, &["--start-timeout", "0.2"]);
    ran.is(3, &["gave no answer within", "raise --start-timeout"]);
}

#[test]
fn one_of_an_older_revision_is_told_what_it_was_judged_by() {
    let ran = judged(&Cli::new(), "# 2025-06-18", SOUND, &["--case", "ping"]);
    ran.is(0, &["judged by those requirements of 2025-11-25 that were in force in 2025-06-18"]);
}

#[test]
fn a_tool_that_is_not_there_is_told_with_the_one_that_was_meant() {
    let cli = Cli::new();
    let args = ["--case", "ping", "--tools", "ecoh,no*", "--tool-args", "eco={}", "--tool-args", "echo={}"];
    judged(&cli, "", SOUND, &args).is(
        0,
        &["--tools ecoh: no tool is called so; did you mean echo?", "--tools no*: no tool", "--tool-args eco: no tool"],
    );
    assert!(!cli.json("out.json")["notes"].to_string().contains("--tool-args echo"));
}

//! `snapshot`, as a user works with it: record, change the server, check, review, accept, diff.

use crate::fixture::{Cli, Ran, reference};

/// The tools that only read, and no calls that take their time.
const READS: [&str; 2] = ["--tools", "echo"];

fn snapshot(cli: &Cli, command: &str, server: &str, more: &[&str]) -> Ran {
    cli.run(["snapshot", command, "--server", server].iter().chain(&READS).chain(more))
}

#[test]
fn what_changed_is_told_taken_and_told_no_more() {
    let cli = Cli::new();
    let (server, other) = (reference(""), reference("--fault tool-title-null"));
    snapshot(&cli, "check", &server, &[]).refused(&["snapshots holds no record", "mcp-conform snapshot record"]);
    let recorded = snapshot(&cli, "record", &server, &["--yes"]);
    recorded
        .is(0, &["Recorded mcp-reference-server in snapshots", "2026-07-28 over stdio", "leaf values are masked ("]);
    snapshot(&cli, "check", &server, &[]).is(0, &["answers as recorded"]);
    let told = [
        "the definition of the tool fail changed since it was recorded",
        "/title + null",
        "2 differences: 2 in a definition",
    ];
    snapshot(&cli, "check", &other, &[]).is(1, &told);
    let json = snapshot(&cli, "check", &other, &["--format", "json"]).is(1, &[]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["differences"][0]["in"], "definition");
    assert_eq!(json["differences"][0]["subject"], "tool fail");
    assert_eq!(json["differences"][0]["change"], "added");
    snapshot(&cli, "review", &other, &[]).refused(&["standard input is no terminal", "accept --only GLOB"]);
    // One revision first, the other one then.
    let first = snapshot(&cli, "accept", &other, &["--only", "2025-11-25-stdio/*"]);
    first.is(1, &["Took 1 difference into snapshots, and left 1"]);
    snapshot(&cli, "check", &other, &[]).is(1, &["2026-07-28 over stdio", "1 difference"]);
    snapshot(&cli, "accept", &other, &[]).is(0, &["Took 1 difference"]);
    snapshot(&cli, "check", &other, &[]).is(0, &[]);
    snapshot(&cli, "check", &server, &[]).is(1, &["- null"]);
    snapshot(&cli, "record", &other, &["--yes"]).refused(&["has a record of 2025-11-25 over stdio", "record --force"]);
}

#[test]
fn a_record_that_cannot_be_used_is_told_with_the_way_out_and_recorded_anew() {
    let cli = Cli::new();
    let server = reference("");
    let only = ["--revision", "2026-07-28", "--dir", "kept"];
    let with = |command: &str, more: &[&str]| snapshot(&cli, command, &server, &[&only, more].concat());
    with("record", &["--yes"]).is(0, &[]);
    let file = "kept/2026-07-28-stdio.json";
    cli.file(file, &cli.read(file).replace("Says what it was told.", "Says nothing."));
    with("check", &[]).refused(&["is not as mcp-conform wrote it", "edited or merged by hand", "record --force"]);
    with("record", &["--yes", "--force"]).is(0, &[]);
    with("check", &[]).is(0, &[]);
    let proposed = cli.read("kept/redactions.toml");
    cli.file("kept/redactions.toml", "[[redaction]]\nregexp = \"x\"\n");
    with("check", &[]).refused(&["redactions.toml:2", "unknown field `regexp`", "did you mean regex?"]);
    cli.file("kept/redactions.toml", "\n[[redaction]]\npointer = \"x\"\n");
    with("check", &[]).refused(&["redactions.toml:2", "is no JSON Pointer"]);
    // A rule that is added hides what it names, and makes nothing else differ; one that is taken away shows what it hid.
    cli.file("kept/redactions.toml", "");
    with("check", &[]).is(1, &["tools/call ask_page", "‹varies›"]);
    let more = "[[redaction]]\nanswer = \"tools/list\"\npointer = \"/result/tools/*/title\"\n";
    cli.file("kept/redactions.toml", &format!("{proposed}\n{more}"));
    with("check", &[]).is(0, &[]);
    let other = reference("--fault tool-title-null");
    snapshot(&cli, "check", &other, &only).is(1, &["/title"]);
    with("check", &["--report", "json:x"]).refused(&["--report is for mcp-conform run", "--format json"]);
    with("check", &["--only", "["]).refused(&["--only ["]);
    let nobody = "no-such-program-of-anyone";
    snapshot(&cli, "check", nobody, &only).is(3, &["nothing was asked over stdio"]);
}

#[test]
fn revisions_and_transports_are_held_against_each_other() {
    let cli = Cli::new();
    let server = reference("");
    snapshot(&cli, "record", &server, &["--yes"]).is(0, &[]);
    let between = |sides: &str| cli.run(["snapshot", "diff", "--between", sides]);
    let told = ["2025-11-25 over stdio against 2026-07-28 over stdio", "taken out by rule", "resultType ("];
    let differ = between("2025-11-25..2026-07-28").is(1, &told).stdout;
    assert!(!differ.contains("ttlMs\n") && !differ.contains("serverInfo\n"), "{differ}");
    between("stdio..http").refused(&["there is nothing to compare", "2025-11-25 over stdio, 2026-07-28 over stdio"]);
    between("stdio").refused(&["is no pair of sides", "2025-11-25..2026-07-28"]);
    let live = cli.run([
        "snapshot",
        "diff",
        "--between",
        "stdio..http",
        "--demo",
        "--tools",
        "echo",
        "--revision",
        "2026-07-28",
    ]);
    live.is(0, &["2026-07-28 over stdio against 2026-07-28 over http", "0 differences in"]);
}

#[test]
fn a_case_of_ones_own_keeps_answers() {
    let cli = Cli::new();
    std::fs::create_dir(cli.folder().join("cases")).unwrap();
    cli.file(
        "cases/my-greeting.yaml",
        "id: my-greeting\ntitle: The greeting stays\nabout: >\n  Kept.\nrevisions: [2025-11-25]\nsteps:\n  \
         - request: {method: tools/call, params: {name: echo, arguments: {text: hello}}, as: call}\n  \
         - snapshot: {of: call, name: the greeting}\n",
    );
    let server = reference("");
    let more = ["--cases", "cases", "--revision", "2025-11-25"];
    snapshot(&cli, "record", &server, &[&more[..], &["--yes"]].concat()).is(0, &[]);
    assert!(cli.read("snapshots/2025-11-25-stdio.json").contains("\"case my-greeting: the greeting\""));
    snapshot(&cli, "check", &server, &more).is(0, &[]);
    let script = cli.read("cases/my-greeting.yaml").replace("hello", "good-bye");
    cli.file("cases/my-greeting.yaml", &script);
    snapshot(&cli, "check", &server, &more).is(1, &["case my-greeting: the greeting", "- \"hello\" + \"good-bye\""]);
}

/// A glob that means nothing compares nothing, and counts are those of what was compared.
#[test]
fn only_names_what_is_there() {
    let cli = Cli::new();
    let server = reference("");
    let one = ["--revision", "2026-07-28"];
    let with = |command: &str, more: &[&str]| snapshot(&cli, command, &server, &[&one, more].concat());
    with("record", &["--yes"]).is(0, &["Recorded as errors", "made-up arguments were not accepted", "--tool-args"]);
    for command in ["check", "accept"] {
        with(command, &["--only", "nothing *"]).refused(&["--only", "names no answer", "there are", "server/discover"]);
        let slip = with(command, &["--only", "tools/lst"]);
        slip.refused(&["names no answer", "did you mean \"tools/list\"?"]);
        with(command, &["--only", "tools/list", "--only", "nothing"]).refused(&["nothing"]);
        with(command, &["--only", "2025-11-25-stdio/*"]).refused(&["names no answer"]);
    }
    with("check", &["--only", "tools/call write_note"]).refused(&["names only what was not asked", "readOnlyHint"]);
    with("check", &["--only", "tools/list"]).is(0, &["name it 1 answer as recorded"]);
    with("check", &["--only", "2026-07-28-stdio/resources/read *"]).is(0, &["answers as recorded"]);
    let other = reference("--fault tool-title-null");
    snapshot(&cli, "check", &other, &["--revision", "2026-07-28", "--only", "prompts/*"]).is(0, &[]);
    // A revision that is served and was not recorded.
    let new = snapshot(&cli, "check", &server, &[]);
    new.is(1, &["2025-11-25 over stdio", "was not recorded (", "--only '2025-11-25-stdio/*'", "--revision"]);
}

/// A server in a few lines of shell, whose answers are those that are given.
#[cfg(unix)]
fn scripted(cli: &Cli, name: &str, tools: &str, text: &str) -> String {
    let script = format!(
        "while read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         case \"$line\" in\n\
         *'\"initialize\"'*) r='{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{\"tools\":{{}}}},\"serverInfo\":{{\"name\":\"s\",\"version\":\"1\"}}}}';;\n\
         *'\"tools/list\"'*) r='{{\"tools\":[{tools}]}}';;\n\
         *'\"tools/call\"'*) r='{text}';;\n\
         *) [ -n \"$id\" ] && printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}\\n' \"$id\"; continue;;\n\
         esac\n\
         printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" \"$r\"\n\
         done\n"
    );
    cli.file(name, &script);
    format!("sh {name}")
}

#[cfg(unix)]
#[test]
fn what_came_went_or_only_stands_elsewhere_is_called_so() {
    let tool = |name: &str| {
        format!(
            "{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}},\"annotations\":{{\"readOnlyHint\":true}}}}"
        )
    };
    let cli = Cli::new();
    let text = "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}";
    let first = scripted(&cli, "first.sh", &tool("a"), text);
    let run = |command: &str, server: &str, more: &[&str]| {
        cli.run(["snapshot", command, "--server", server].iter().chain(more))
    };
    run("record", &first, &["--yes"]).is(0, &[]);
    let more = scripted(&cli, "more.sh", &format!("{},{}", tool("a"), tool("extra")), text);
    run("check", &more, &[]).is(1, &["tools/list: the tool extra is new since it was recorded"]);
    run("accept", &more, &[]).is(0, &[]);
    run("check", &first, &[]).is(1, &["tools/list: the tool extra is gone since it was recorded"]);
    // The order of members is no difference, is told, and is taken.
    let turned = scripted(
        &cli,
        "turned.sh",
        &format!("{},{}", tool("a"), tool("extra")),
        "{\"content\":[{\"text\":\"x\",\"type\":\"text\"}]}",
    );
    let told = ["Only the order of members changed", "tools/call a, tools/call extra", "accept takes the new order"];
    run("check", &turned, &[]).is(0, &told);
    let json = run("check", &turned, &["--format", "json"]).is(0, &[]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["memberOrder"][0]["answer"], "tools/call a");
    let file = "snapshots/2025-11-25-stdio.json";
    let before = cli.read(file);
    run("accept", &turned, &["--only", "tools/list"]).is(0, &["Nothing differs"]);
    assert_eq!(cli.read(file), before);
    run("accept", &turned, &[]).is(0, &["Took the order of members of 2 answers into snapshots"]);
    assert!(cli.read(file).contains("\"text\": \"x\",\n            \"type\": \"text\""), "{}", cli.read(file));
    let quiet = run("check", &turned, &[]).is(0, &[]).stdout;
    assert!(!quiet.contains("order of members"), "{quiet}");
    // Rules that do nothing are told.
    let rules = "[[redaction]]\npointer = \"/result/nowhere\"\n\n[[redaction]]\nanswer = \"tools/cal *\"\npointer = \"/result\"\n";
    cli.file("snapshots/redactions.toml", rules);
    let idle = ["Rules without effect", "redactions.toml:1: nothing in the answers", "redactions.toml:4: no answer is"];
    run("check", &turned, &[]).is(0, &idle);
    run("record", &turned, &["--force"]).is(0, &idle);
    cli.file("snapshots/redactions.toml", "[[redaction]]\nregex = ''\n");
    run("check", &turned, &[]).refused(&["redactions.toml:1", "regex is empty"]);
}

/// What we set in the environment of a server makes none of its answers vary.
#[cfg(target_os = "linux")]
#[test]
fn our_mark_makes_no_answer_vary() {
    let cli = Cli::new();
    let tool = "{\"name\":\"env\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}}";
    let text = "{\"content\":[{\"type\":\"text\",\"text\":\"MCP_CONFORM_PROCESS='\"$MCP_CONFORM_PROCESS\"', HOME\"}]}";
    let server = scripted(&cli, "env.sh", tool, text);
    let recorded = cli.run(["snapshot", "record", "--server", &server]).is(0, &["process 1"]);
    assert!(!recorded.stdout.contains("Asked twice"), "{}", recorded.stdout);
    cli.run(["snapshot", "check", "--server", &server]).is(0, &["answers as recorded"]);
}

//! The configuration, a client's file, and `init`.

use crate::fixture::{BINARY, Cli, reference};

#[test]
fn the_only_server_of_the_configuration_is_judged() {
    let cli = Cli::new();
    let toml = format!(
        "[servers.main]\ncommand = [\"{BINARY}\", \"reference-server\", \"--\", \"--fault\", \"id-number-from-string\"]\n\
         [run]\ncases = []\nreports = [\"json:out.json\"]\n[profiles.mild]\nfail-on = \"never\"\n"
    );
    cli.file("mcp-conform.toml", &toml);
    assert_eq!(cli.judge(&["--case", "ids-echoed"]).code, Some(1));
    let report = cli.json("out.json");
    assert_eq!(report["target"]["status"], "ok");
    let repros = report["results"].as_array().unwrap().iter().filter_map(|result| result["evidence"]["repro"].as_str());
    // The configuration names the server.
    assert!(
        repros.clone().count() > 0 && repros.into_iter().all(|line| line.starts_with("mcp-conform run --revision "))
    );
    assert_eq!(cli.judge(&["--case", "ids-echoed", "--profile", "mild"]).code, Some(0), "the profile is milder");
    // What is typed wins.
    assert_eq!(cli.judge(&["--case", "ids-echoed", "--profile", "mild", "--fail-on", "fail"]).code, Some(1));
    assert_eq!(cli.judge(&["--case", "ids-echoed", "--server", &reference("")]).code, Some(0));
    cli.run(["run", "--no-config"]).refused(&["no server was named"]);
}

#[test]
fn what_is_wrong_in_the_configuration_is_told_with_the_way_out() {
    let with = |toml: &str, args: &[&str], told: &[&str]| {
        let cli = Cli::new();
        cli.file("mcp-conform.toml", toml);
        cli.run(["run"].iter().chain(args)).refused(told);
    };
    with("[run]\n\ntimeuot = 3\n", &[], &["mcp-conform.toml:3", "unknown field `timeuot`", "did you mean timeout?"]);
    with("[servers.a]\nurl = 3\n", &[], &["mcp-conform.toml:2"]);
    with("[run\n", &[], &["mcp-conform.toml:1"]);
    with("[servers.a]\ncommand = \"x\"\n[servers.b]\nurl = \"http://x\"\n", &[], &["2 servers", "--name: a, b"]);
    with("[servers.main]\ncommand = \"x\"\n", &["--name", "mian"], &["mcp-conform.toml", "did you mean main?"]);
    with("[profiles.night]\n", &["--profile", "nihgt"], &["did you mean night?"]);
    with("[servers.a]\ncommand = \"\"\n", &[], &["mcp-conform.toml:2: command"]);
    with("[servers.a]\ncommand = \"x\"\nargs = []\n", &[], &["mcp-conform.toml:3", "arguments stand in command"]);
    with("[servers.a]\ncommand = \"x\"\n[run]\ntimeout = -3\n", &[], &["mcp-conform.toml:4: timeout -3: is no time"]);
    with("[run]\ntimeout = 3\n[servers.a]\ncommand = \"x\"\n", &["--timeout=-3"], &["--timeout -3: is no time"]);
    with(
        "[run]\nreports = [\"jsn:x\"]\n[servers.a]\ncommand = \"x\"\n",
        &[],
        &["mcp-conform.toml:2: reports", "jsn", "json"],
    );
    let cli = Cli::new();
    cli.run(["run", "--config", "none.toml"]).refused(&["none.toml cannot be read"]);
    cli.run(["run", "--profile", "night"]).refused(&["there is none", "init"]);
}

#[test]
fn a_server_of_a_client_is_judged_and_its_secrets_stay_hidden() {
    let cli = Cli::new();
    let json = format!(
        r#"{{"mcpServers": {{"ours": {{"command": "{BINARY}", "args": ["reference-server", "--"],
            "env": {{"API_KEY": "sesame-opens"}}}}, "other": {{"url": "http://127.0.0.1:1/mcp"}}}}}}"#
    );
    cli.file("client.json", &json);
    cli.run(["run", "--from", "client.json"]).refused(&["2 servers", "other, ours"]);
    cli.run(["run", "--from", "client.json", "--name", "our"]).refused(&["did you mean ours?"]);
    let args = ["--from", "client.json", "--name", "ours", "--case", "ping", "--report", "json:out.json"];
    let ran = cli.judge(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("sesame") && !cli.read("out.json").contains("sesame"));
    cli.file("client.json", r#"{"mcpServers": {"a": {"comand": "x"}}}"#);
    cli.run(["run", "--from", "client.json"]).refused(&["neither command nor url", "mcpServers"]);
    cli.file("client.json", "[1]");
    cli.run(["run", "--from", "client.json"]).refused(&["there is no mcpServers"]);
}

#[test]
fn what_the_user_answers_is_what_the_server_gets() {
    let cli = Cli::new();
    let answer = r#"elicitation/create={"action": "accept", "content": {"name": "Ada-of-the-test"}}"#;
    let server = reference("");
    let args = ["--server", &server, "--tools", "all", "--answer", answer, "--case", "round-trip", "--trace", "traces"];
    assert_eq!(cli.judge(&args).code, Some(0));
    let traces = std::fs::read_dir(cli.folder().join("traces")).unwrap();
    let said = traces.flatten().any(|file| std::fs::read_to_string(file.path()).unwrap().contains("Ada-of-the-test"));
    assert!(said);
}

#[test]
fn init_writes_what_run_reads_and_nothing_over_what_is_there() {
    let cli = Cli::new();
    cli.run(["init"]).refused(&["no terminal", "--server COMMAND"]);
    assert_eq!(cli.run(["init", "--server", &reference(""), "--tools", "none", "--workflow"]).code, Some(0));
    assert!(cli.read(".github/workflows/mcp-conform.yml").contains("mcp-conform/mcp-conform@"));
    let ran = cli.judge(&["--case", "ping"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    cli.run(["init", "--server", "x"]).refused(&["is there already", "--force"]);
    let unsound = |flag: &str, text: &str| cli.run(["init", "--force", "--yes", flag, text]);
    unsound("--tools", "get[*").refused(&["--tools get[*", "write a glob"]);
    unsound("--server", "node \"oops'").refused(&["--server"]);
    unsound("--server", "").refused(&["--server"]);
    assert!(cli.read("mcp-conform.toml").contains("reference-server"), "nothing was written over");
    assert_eq!(cli.run(["init", "--url", "http://127.0.0.1:1/mcp", "--force"]).code, Some(0));
    assert!(cli.read("mcp-conform.toml").contains("url = \"http://127.0.0.1:1/mcp\""));
    let shown = cli.run(["init", "--print", "--server", "say \"hi\" C:\\x"]);
    assert!(shown.stdout.contains("hi"), "{}", shown.stdout);
}

/// Every line that the file proposes as a comment is one that the reader knows.
#[test]
fn the_proposals_of_init_are_sound() {
    let cli = Cli::new();
    for target in [["--server", "x y"], ["--url", "http://127.0.0.1:1/mcp"]] {
        let shown = cli.run(["init", "--print", target[0], target[1]]).stdout;
        let whole: String = shown
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.contains(" = ") && !rest.contains(". ") => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert!(whole.contains("\ntool-args.search") && whole.contains("\nreports = "), "{whole}");
        cli.file("mcp-conform.toml", &whole);
        let ran = cli.run(["run", "--name", "nobody"]);
        ran.refused(&["--name nobody: does not stand in mcp-conform.toml"]);
    }
}

#[test]
fn what_clients_write_for_a_variable_is_filled_in() {
    let cli = Cli::new().with("FAULT_OF_MINE", "id-number-from-string").with("KEY_OF_MINE", "sesame-opens");
    let with = |value: &str| {
        let json = format!(
            r#"{{"mcpServers": {{"ours": {{"command": "{BINARY}", "args": ["reference-server", "--", "--fault", "{value}"],
                "env": {{"PLAIN": "${{KEY_OF_MINE}}"}}}}}}}}"#
        );
        cli.file("client.json", &json);
        cli.judge(&["--from", "client.json", "--case", "ids-echoed", "--report", "json:out.json"])
    };
    for value in ["${FAULT_OF_MINE}", "${env:FAULT_OF_MINE}", "${NOWHERE_SET:-id-number-from-string}"] {
        with(value).is(1, &["the id did not come back as it was"]);
        assert!(!cli.read("out.json").contains("sesame"));
    }
    with("${NOWHERE_SET}").refused(&["client.json", "the variable NOWHERE_SET of ${NOWHERE_SET} is not set"]);
    with("${input:key}").refused(&["${input:key} is filled in by the client", "write the value in its place"]);
}

#[test]
fn values_of_the_wrong_kind_are_told_in_words_of_the_file() {
    let with = |toml: &str, told: &[&str]| {
        let cli = Cli::new();
        cli.file("mcp-conform.toml", toml);
        let ran = cli.run(["run"]);
        assert!(!ran.stderr.contains("untagged") && !ran.stderr.contains("variant"), "{}", ran.stderr);
        ran.refused(told);
    };
    with("[servers.a]\ncommand = 3\n", &["mcp-conform.toml:2", "a command is a text, or a list of texts"]);
    with("[servers.a]\ncommand = \"x\"\ntools = 3\n", &["mcp-conform.toml:3", "a text, or a list of texts"]);
    with("[run]\nfail-on = \"wran\"\n", &["mcp-conform.toml:2", "unknown value `wran`", "did you mean warn?"]);
}

#[test]
fn init_shows_all_that_it_would_write_and_takes_no_other_scheme() {
    let cli = Cli::new();
    let shown = cli.run(["init", "--print", "--workflow", "--server", "x"]).is(0, &[]).stdout;
    assert!(shown.contains("[servers.main]") && shown.contains(".github/workflows") && shown.contains("runs-on:"));
    cli.run(["init", "--url", "ftp://host/x"]).refused(&["ftp is no scheme", "https://"]);
    assert_eq!(std::fs::read_dir(cli.folder()).unwrap().count(), 0, "nothing was written");
}

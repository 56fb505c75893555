//! What the user keeps secret is in nothing that we write, even when the server sends it back.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

use crate::fixture::{Cli, Ran, SHORT};

const SECRET: &str = "hunter2-hunter2";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Nowhere, but in the files that the test itself made.
fn nowhere(cli: &Cli, ran: &Ran, but: &[&str]) {
    assert!(!ran.stdout.contains(SECRET), "{}", ran.stdout);
    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    let mut count = 0;
    for path in files(cli.folder()) {
        if but.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        count += 1;
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(SECRET), "{}: {text}", path.display());
    }
    assert!(count >= 3, "two reports and traces");
}

const WRITES: [&str; 6] = ["--report", "json:out.json", "--report", "markdown:out.md", "--trace", "traces"];

/// A server over stdio that tells its environment on both pipes.
const TELLS: &str = "env; env >&2; while read -r line; do printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"%s\"}}\\n' \"$API_KEY\"; done";

#[test]
fn variables_of_the_server() {
    let cli = Cli::new().with("HIDDEN", SECRET);
    let pairs = [format!("API_KEY={SECRET}"), "PLAIN=env:HIDDEN".to_owned(), "FROM_FILE=@secret.txt".to_owned()];
    cli.file("secret.txt", &format!("{SECRET}\n"));
    for pair in &pairs {
        let args = ["run"].iter().chain(&SHORT).chain(&WRITES);
        let ran = cli.run(args.chain(&["--env", pair, "--", "/bin/sh", "-c", TELLS]));
        assert!(ran.stdout.contains("<secret:") || ran.code != Some(2), "{}", ran.stdout);
        nowhere(&cli, &ran, &["secret.txt"]);
    }
}

#[test]
fn variables_within_the_command() {
    let cli = Cli::new();
    let server = format!("API_KEY={SECRET} sh -c 'echo my key is $API_KEY >&2; exit 1'");
    let ran = cli.run(["run"].iter().chain(&SHORT).chain(&WRITES).chain(&["--server", &server]));
    let ran = ran.is(3, &["<secret:API_KEY>"]);
    nowhere(&cli, &ran, &[]);
}

#[test]
fn headers() {
    use std::io::{Read, Write};
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.extend(byte);
            }
            let body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":{:?}}}}}",
                String::from_utf8_lossy(&head)
            );
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\nx-echo: {SECRET}\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let cli = Cli::new().with("HIDDEN", &format!("Bearer {SECRET}"));
    for header in ["Authorization=env:HIDDEN", &format!("X-Api-Key={SECRET}")] {
        let ran = cli.run(["run"].iter().chain(&SHORT).chain(&WRITES).chain(&["--url", &url, "--header", header]));
        assert_ne!(ran.code, Some(2), "{}", ran.stderr);
        nowhere(&cli, &ran, &[]);
    }
}

#[test]
fn a_repro_line_names_where_the_secret_comes_from() {
    let cli = Cli::new().with("HIDDEN", SECRET);
    let server = crate::fixture::reference("--fault bogus-cursor-as-first-page");
    let args = ["run", "--server", &server, "--env", "A_TOKEN=env:HIDDEN", "--env", "B=c", "--case", "tools-list-b*"];
    // Without a result file the terminal shows the command itself.
    cli.run(args).is(0, &["--env 'A_TOKEN=env:HIDDEN' --env 'B=c'"]);
    let ran = cli.run(args.iter().chain(&WRITES)).is(0, &["mcp-conform replay"]);
    assert!(cli.read("out.json").contains("--env 'A_TOKEN=env:HIDDEN' --env 'B=c'"));
    nowhere(&cli, &ran, &[]);
}

#[test]
fn a_credential_in_the_url_is_refused_without_repeating_it() {
    let cli = Cli::new();
    let ran = cli.run(["run", "--url", &format!("http://user:{SECRET}@127.0.0.1:1/mcp")]);
    assert!(!ran.stderr.contains(SECRET));
    ran.refused(&["holds a credential", "--header 'Authorization=env:VARIABLE'"]);
}

#[test]
fn arguments_queries_and_variables_of_a_file() {
    let cli = Cli::new();
    let server = format!("/bin/sh -c 'echo $0 $* >&2; exit 1' --api-key {SECRET}");
    let ran = cli.run(["run"].iter().chain(&SHORT).chain(&WRITES).chain(&["--server", &server]));
    nowhere(&cli, &ran, &[]);
    let url = format!("http://127.0.0.1:9/mcp?access_token={SECRET}");
    let ran = cli.run(["run"].iter().chain(&SHORT).chain(&WRITES).chain(&["--url", &url]));
    assert!(!ran.stdout.contains(SECRET), "{}", ran.stdout);
    // A repro line names the file, whatever its variables are called.
    let server = crate::fixture::reference("");
    let words: Vec<String> = server.split(' ').map(|word| format!("{word:?}")).collect();
    let toml = format!(
        "[servers.main]\ncommand = [{}]\nenv = {{ DSN = \"{SECRET}\", CITY = \"{SECRET}x\" }}\n",
        words.join(", ")
    );
    cli.file("mcp-conform.toml", &toml);
    let ran = cli.run(["run"].iter().chain(&SHORT).chain(&WRITES).chain(&["--case", "ids-*", "--verbose"]));
    assert!(ran.code.is_some());
    nowhere(&cli, &ran, &["mcp-conform.toml"]);
}

/// What is replaced in every message must be no word of the protocol.
#[test]
fn short_values_with_telling_names_are_no_secrets() {
    let cli = Cli::new();
    let server = crate::fixture::reference("");
    let args = ["--env", "AUTH_KIND=json", "--env", "USE_TOKEN=true", "--server", &server, "--case", "ids-*"];
    let ran = cli.judge(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

//! URLs behind which there is no MCP server, or one that cannot be judged.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use crate::fixture::{BINARY, Cli, Ran, SHORT, free_port};

/// Answers each request with the same bytes (nothing: holds the connection); ends with the test.
fn answering(answer: &'static str) -> String {
    serving(move |head| if head.is_empty() { String::new() } else { answer.to_owned() })
}

fn serving(answer: impl Fn(&str) -> String + Send + Clone + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || converse(stream, &answer));
        }
    });
    format!("http://127.0.0.1:{port}/mcp")
}

fn converse(mut stream: TcpStream, answer: &impl Fn(&str) -> String) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        head.extend(byte);
    }
    let text = answer(&String::from_utf8_lossy(&head));
    if text.is_empty() || stream.write_all(text.as_bytes()).is_err() {
        // Held until the other side goes.
        let _ = stream.read_to_end(&mut head);
        return;
    }
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut head);
}

fn judge(url: &str) -> Ran {
    Cli::new().judge(&["--url", url])
}

#[test]
fn a_port_that_nobody_listens_at() {
    let port = free_port();
    judge(&format!("http://127.0.0.1:{port}/mcp")).is(3, &["connection refused", "--serve COMMAND"]);
}

#[test]
fn a_web_page() {
    let url = answering("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>hello</html>");
    judge(&url).is(3, &["serves a web page (HTTP 200)", "check the path of --url"]);
}

#[test]
fn nothing_at_the_path() {
    let url = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    judge(&url).is(3, &["no MCP endpoint at this path", "HTTP 404"]);
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    let url = answering(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/other\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n",
    );
    judge(&url).is(3, &["redirects (HTTP 307) to http://127.0.0.1:1/other", "give it as --url"]);
}

#[test]
fn a_credential_is_wanted() {
    let url = answering(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    );
    judge(&url).is(3, &["wants authorization (HTTP 401)", "--header 'Authorization=Bearer"]);
}

#[test]
fn the_old_transport_alone() {
    let url = serving(|head| {
        if head.starts_with("GET") {
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
             event: endpoint\ndata: /messages?session=1\n\n"
                .to_owned()
        } else {
            "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
        }
    });
    judge(&url).is(3, &["only the HTTP+SSE transport of 2024-11-05", "/mcp in place of /sse"]);
}

#[test]
fn the_old_transport_of_the_reference_server() {
    let port = free_port();
    let serve = format!("{BINARY} reference-server -- --transport http --port {port} --old-transport");
    let url = format!("http://127.0.0.1:{port}/mcp");
    let patient = ["run", "--timeout", "1", "--serve", &serve, "--url", &url];
    Cli::new().run(patient).is(3, &["only the HTTP+SSE transport of 2024-11-05"]);
}

#[test]
fn a_connection_that_says_nothing() {
    judge(&answering("")).is(3, &["took the connection but gave no answer"]);
}

#[test]
fn an_answer_that_breaks_off() {
    let url = answering("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"jsonrpc\"");
    judge(&url).is(3, &["NOT JUDGED"]);
}

#[test]
fn no_http_at_all() {
    judge(&answering("SSH-2.0-OpenSSH_9.9\r\n")).is(3, &["is it an HTTP server"]);
}

#[test]
fn json_that_is_no_mcp() {
    let url = answering(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n\
         {\"ok\":true}",
    );
    judge(&url).is(3, &["with no MCP message"]);
}

#[test]
fn a_command_for_an_url_that_exits_or_does_not_listen() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let ran = Cli::new().judge(&["--serve", "sh -c 'echo no config >&2; exit 4'", "--url", &url]);
    ran.is(3, &["exit status 4"]);
    let ran = Cli::new().judge(&["--serve", "sh -c 'while :; do sleep 1; done'", "--url", &url]);
    ran.is(3, &["check the host and port of --url"]);
}

#[test]
fn one_of_two_targets_that_cannot_be_judged_is_no_success() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let server = crate::fixture::reference("");
    let args = ["--server", &server, "--url", &url, "--case", "tools-list-bogus-cursor"];
    let ran = Cli::new().run(["run"].iter().chain(&SHORT[..2]).chain(&args));
    ran.is(3, &["over http: could not connect"]);
}

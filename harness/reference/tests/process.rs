//! The real binary: what only a process can show, sound and broken.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-reference-server"));
    command.args(args).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary starts")
}

async fn ask(child: &mut Child, text: &str) {
    let input = child.stdin.as_mut().expect("the input is open");
    // A process that has ended reads nothing, which is what some of the tests are about.
    let _ = input.write_all(format!("{text}\n").as_bytes()).await;
}

/// Closes the input and gives the exit code and all output.
async fn end(mut child: Child) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    drop(child.stdin.take());
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("the process ends").expect("it was started");
    (output.status.code(), output.stdout, output.stderr)
}

async fn conversation(args: &[&str]) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let mut child = start(args);
    ask(&mut child, DISCOVER).await;
    end(child).await
}

#[tokio::test]
async fn a_sound_process_answers_and_ends() {
    let (code, stdout, stderr) = conversation(&[]).await;
    let answer: Value = serde_json::from_slice(&stdout).expect("one line of JSON");
    assert_eq!((code, &answer["id"], stderr.len()), (Some(0), &json!(1), 0));
}

#[tokio::test]
async fn broken_processes_end_as_their_faults_say() {
    let (code, stdout, _) = conversation(&["--fault", "exits-at-once"]).await;
    assert_eq!((code, stdout.len()), (Some(1), 0));
    let (code, stdout, stderr) = conversation(&["--fault", "wants-configuration"]).await;
    assert_eq!((code, stdout.len(), stderr.is_empty()), (Some(2), 0, false));
    let mut child = start(&["--fault", "exits-at-foreign-id"]);
    ask(&mut child, DISCOVER).await;
    ask(&mut child, &DISCOVER.replace("\"id\":1", "\"id\":\"é\"")).await;
    let (code, stdout, _) = end(child).await;
    assert_eq!((code, stdout.iter().filter(|byte| **byte == b'\n').count()), (Some(1), 1));
    let (code, stdout, _) = conversation(&["--fault", "half-message-then-exit"]).await;
    assert_eq!((code, stdout.contains(&b'\n')), (Some(1), false));
    let (code, stdout, _) = conversation(&["--fault", "stdout-banner"]).await;
    assert_eq!((code, stdout.first()), (Some(0), Some(&b'm')));
    let (code, _, stderr) = conversation(&["--fault", "stderr-flood"]).await;
    assert_eq!((code, stderr.len()), (Some(0), 1024 * 1024));
    let (code, stdout, _) = conversation(&["--fault", "huge-message"]).await;
    assert_eq!((code, stdout.len() > 64 * 1024 * 1024), (Some(0), true));
    let (code, stdout, _) = conversation(&["--fault", "never-answers"]).await;
    assert_eq!((code, stdout.len()), (Some(0), 0));
    let (code, _, stderr) = conversation(&["--fault", "no-such-fault"]).await;
    assert_eq!((code, stderr.is_empty()), (Some(2), false));
}

#[tokio::test]
async fn stubborn_processes_outlive_their_input() {
    for fault in ["ignores-eof", "lingers-after-eof", "spins-after-eof", "ignores-sigterm"] {
        let mut child = start(&["--fault", fault]);
        ask(&mut child, DISCOVER).await;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).await.expect("text");
        drop(child.stdin.take());
        // Real time has to pass here: that nothing happens is the point.
        assert!(timeout(Duration::from_millis(200), child.wait()).await.is_err(), "{fault}");
        child.kill().await.expect("the process is there");
    }
}

#[tokio::test]
async fn an_endless_line_goes_on_until_nobody_reads() {
    let mut child = start(&["--fault", "endless-line"]);
    ask(&mut child, DISCOVER).await;
    let mut output = child.stdout.take().expect("piped");
    let mut read = vec![0; 1024 * 1024];
    timeout(PATIENCE, output.read_exact(&mut read)).await.expect("in time").expect("more than a mebibyte");
    assert!(!read.contains(&b'\n'));
    child.kill().await.expect("the process is there");
}

#[tokio::test]
async fn http_is_served_on_the_port_that_is_named() {
    let mut child = start(&["--transport", "http", "--port", "0"]);
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).await.expect("text");
    let port = line.trim().strip_prefix("listening on http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/mcp"));
    let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("the port is open");
    stream.write_all(b"GET /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.expect("written");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("in time").expect("text");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    child.kill().await.expect("the process is there");
}

#[tokio::test]
async fn the_faults_are_listed() {
    let (code, stdout, _) = end(start(&["--list-faults", "--format", "json"])).await;
    let rows: Vec<Value> = serde_json::from_slice(&stdout).expect("a list");
    assert_eq!((code, rows.len()), (Some(0), mcp_reference_server::faults().len()));
    assert!(rows.iter().all(|row| row["breaks"][0]["id"].is_string() || row["tier"] == "T2"));
    let (code, stdout, _) = end(start(&["--list-faults"])).await;
    assert_eq!((code, stdout.split(|byte| *byte == b'\n').count() - 1), (Some(0), rows.len()));
}

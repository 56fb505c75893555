//! HTTP servers that a command starts, and what is said of those that do not serve.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    net::{TcpListener, TcpStream},
    sync::Arc,
    time::Duration,
};

use mcp_conform::{
    process::{self, CommandSpec},
    trace::{Body, DEFAULT_BUDGET, Recorder, Secrets},
    transport::{Grace, ServeError, Served, Stdio, diagnose, diagnose_serve},
    wire,
};
use mcp_conform_reports::model::TargetStatus;
use url::Url;

const PATIENCE: Duration = Duration::from_secs(20);

fn recorder() -> Recorder {
    Recorder::new(Arc::new(Secrets::default()), wire::Limits::default(), DEFAULT_BUDGET)
}

fn shell(script: &str) -> CommandSpec {
    CommandSpec::new("/bin/sh", ["-c", script])
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn url(port: u16) -> Url {
    Url::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap()
}

/// Not a test: the server that the others start, when they ask this program for it.
#[test]
#[ignore = "a server for the other tests"]
fn listener() {
    let Ok(port) = std::env::var("LISTENER_PORT") else { return };
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    println!("listening");
    while listener.accept().is_ok() {}
}

#[tokio::test]
async fn a_server_is_awaited_and_ended_with_its_tree() {
    let port = free_port();
    let program = std::env::current_exe().unwrap();
    let mut command = CommandSpec::new("/bin/sh", ["-c", r#"echo booting; "$0" "$@" & wait"#]);
    command.args.push(program.into());
    command.args.extend(["--ignored", "--exact", "listener", "--nocapture"].map(Into::into));
    command.env.push(("LISTENER_PORT".into(), port.to_string().into()));
    let served = Served::start(&command, &url(port), PATIENCE, recorder()).await.unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(process::living().contains(&served.pid()));
    let (recorder, pid) = (served.recorder().clone(), served.pid());
    let exit = served.end(Grace { term: PATIENCE, ..Grace::default() }).await.unwrap();
    assert_eq!(exit.signal, Some(15));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(!process::living().contains(&pid));
    let events = recorder.events(0);
    let printed: Vec<u8> = events
        .iter()
        .flat_map(|event| if let Body::Stderr(bytes) = &event.body { bytes.to_vec() } else { Vec::new() })
        .collect();
    assert!(String::from_utf8_lossy(&printed).contains("booting"));
    assert!(matches!(events.last().unwrap().body, Body::Drained));
}

#[tokio::test]
async fn an_early_exit_is_noticed_at_once() {
    let recorder = recorder();
    let command = shell("echo 'API_KEY is required' >&2; exit 2");
    let error =
        Served::start(&command, &url(free_port()), Duration::from_secs(3600), recorder.clone()).await.unwrap_err();
    assert!(matches!(&error, ServeError::Exited { exit, .. } if exit.code == Some(2)), "{error}");
    let diagnosis = diagnose_serve(&error, &recorder.events(0));
    assert_eq!(diagnosis.status, TargetStatus::NeedsConfiguration);
    assert_eq!(diagnosis.evidence, ["exit status 2", "stderr: API_KEY is required"]);
}

#[tokio::test]
async fn a_server_that_never_listens_is_ended() {
    let recorder = recorder();
    let command = shell("echo still waking up >&2; exec sleep 1000");
    let error =
        Served::start(&command, &url(free_port()), Duration::from_millis(200), recorder.clone()).await.unwrap_err();
    assert!(matches!(error, ServeError::NotListening { .. }), "{error}");
    let diagnosis = diagnose_serve(&error, &recorder.events(0));
    assert_eq!(diagnosis.status, TargetStatus::Unreachable);
    assert!(diagnosis.message.contains("--patience"), "{}", diagnosis.message);
    assert!(recorder.events(0).iter().any(|event| matches!(event.body, Body::Exited(_))));
}

#[tokio::test]
async fn a_port_that_is_taken_is_not_judged() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let recorder = recorder();
    let url = url(listener.local_addr().unwrap().port());
    let error = Served::start(&shell("exec sleep 1000"), &url, PATIENCE, recorder.clone()).await.unwrap_err();
    assert!(matches!(error, ServeError::Taken(_)), "{error}");
    assert!(recorder.is_empty(), "nothing was started");
}

#[tokio::test]
async fn a_missing_command_is_told_like_any_other() {
    let command = CommandSpec::new("no-such-program-anywhere", [""; 0]);
    let error = Served::start(&command, &url(free_port()), PATIENCE, recorder()).await.unwrap_err();
    assert_eq!(diagnose_serve(&error, &[]).status, TargetStatus::NotFound);
}

#[tokio::test]
async fn real_processes_are_diagnosed_from_their_trace() {
    for (script, status) in [
        ("echo 'usage: server DIR' >&2; exit 2", TargetStatus::NeedsConfiguration),
        ("echo oops >&2; exit 1", TargetStatus::Exited),
        ("kill -SEGV $$", TargetStatus::Exited),
    ] {
        let server = Stdio::start(&shell(script), recorder(), Default::default()).unwrap();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let exited =
            |event: &Arc<_>| matches!(mcp_conform::trace::Event::clone(event).body, Body::Exited(_)).then_some(());
        server.recorder().wait(0, deadline, exited).await.unwrap();
        server.end(Grace::default()).await;
        assert_eq!(diagnose(&server.recorder().events(0)).unwrap().status, status, "{script}");
    }
}

//! The stdio transport against real processes and servers in memory, well-behaved and hostile.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use mcp_conform::{
    process::{self, CommandSpec, Signal, StartErrorKind},
    trace::{Body, DEFAULT_BUDGET, Direction, Event, Exit, Intent, LineEnd, Recorder, Secrets},
    transport::{EndedBy, Ending, Grace, Limits, Stdio, WriteError},
    wire,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    sync::mpsc,
};

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

fn recorder(budget: usize) -> Recorder {
    Recorder::new(Arc::new(Secrets::default()), wire::Limits::default(), budget)
}

fn shell(script: &str) -> CommandSpec {
    CommandSpec::new("/bin/sh", ["-c", script])
}

fn start(script: &str) -> Stdio {
    start_with(script, Limits::default(), DEFAULT_BUDGET)
}

fn start_with(script: &str, limits: Limits, budget: usize) -> Stdio {
    Stdio::start(&shell(script), recorder(budget), limits).unwrap()
}

/// Generous where the server is expected to go, short where it is not.
fn grace(eof: Duration, term: Duration) -> Grace {
    Grace { eof, term, kill: PATIENCE }
}

fn patient() -> Grace {
    grace(PATIENCE, PATIENCE)
}

async fn seen<T>(recorder: &Recorder, matches: impl Fn(&Body) -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    recorder.wait(0, deadline, |event| matches(&event.body)).await.expect("the event comes")
}

fn lines(recorder: &Recorder, direction: Direction) -> Vec<String> {
    let line = |event: &Arc<Event>| match &event.body {
        Body::Line(line) if line.direction == direction => Some(String::from_utf8_lossy(&line.frame.raw).into_owned()),
        _ => None,
    };
    recorder.events(0).iter().filter_map(line).collect()
}

fn limit(recorder: &Recorder) -> Option<String> {
    recorder.events(0).iter().find_map(|event| match &event.body {
        Body::Limit { what } => Some(what.clone()),
        _ => None,
    })
}

fn orphans(recorder: &Recorder) -> Vec<u32> {
    let pids = |event: &Arc<Event>| if let Body::Orphans { pids } = &event.body { pids.clone() } else { Vec::new() };
    recorder.events(0).iter().flat_map(pids).collect()
}

fn alive(pid: u32) -> bool {
    // A zombie is dead: only its parent has not looked.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

fn assert_whole(recorder: &Recorder) {
    let events = recorder.events(0);
    assert!(matches!(events.last().unwrap().body, Body::Drained), "{:?}", events.last());
    assert_eq!(events.iter().filter(|event| matches!(event.body, Body::Drained)).count(), 1);
}

async fn pid_line(server: &Stdio) -> u32 {
    seen(server.recorder(), |body| match body {
        Body::Line(line) if line.direction == Direction::In => std::str::from_utf8(&line.frame.raw).ok()?.parse().ok(),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn an_echo_server_ends_at_eof() {
    let server = start("exec cat");
    for at in 0..100 {
        server.send(Bytes::from(format!("{{\"id\":{at}}}")), Intent::default()).await.unwrap();
    }
    let ending = server.end(patient()).await;
    assert_eq!(ending.exited_by, EndedBy::Eof);
    assert_eq!(ending.exit, Some(Exit { code: Some(0), signal: None }));
    let recorder = server.recorder();
    let sent = lines(recorder, Direction::Out);
    assert_eq!(sent.len(), 100);
    assert_eq!(lines(recorder, Direction::In), sent);
    assert_whole(recorder);
    let position = |wanted: fn(&Body) -> bool| recorder.events(0).iter().position(|event| wanted(&event.body)).unwrap();
    assert_eq!(position(|body| matches!(body, Body::Started { .. })), 0);
    assert!(position(|b| matches!(b, Body::StdinClosed)) < position(|b| matches!(b, Body::Exited(_))));
    position(|body| matches!(body, Body::StdoutEnded));
    assert!(orphans(recorder).is_empty());
    assert_eq!(server.end(patient()).await, ending, "a second call tells the same");
    assert_eq!(server.send(Bytes::from_static(b"{}"), Intent::default()).await, Err(WriteError::Closed));
}

#[tokio::test]
async fn line_ends_are_kept_apart() {
    let server = start(r"printf 'a\r\nb\n\nc\rd\n'; printf half");
    server.end(patient()).await;
    let of = |event: &Arc<Event>| match &event.body {
        Body::Line(line) => Some((String::from_utf8_lossy(&line.frame.raw).into_owned(), line.end)),
        _ => None,
    };
    let lines: Vec<_> = server.recorder().events(0).iter().filter_map(of).collect();
    let expected =
        [("a", LineEnd::CrLf), ("b", LineEnd::Lf), ("", LineEnd::Lf), ("c\rd", LineEnd::Lf), ("half", LineEnd::Eof)];
    assert_eq!(lines, expected.map(|(text, end)| (text.to_owned(), end)));
}

#[tokio::test]
async fn an_exit_of_its_own_is_told_apart() {
    let server = start("echo bye >&2; exit 3");
    seen(server.recorder(), |body| matches!(body, Body::Exited(_)).then_some(())).await;
    assert!(!server.is_open());
    let ending = server.end(patient()).await;
    assert_eq!(ending.exited_by, EndedBy::Itself);
    assert_eq!(ending.exit, Some(Exit { code: Some(3), signal: None }));
    seen(server.recorder(), |body| matches!(body, Body::Stderr(text) if text == "bye\n").then_some(())).await;
}

#[tokio::test]
async fn term_ends_what_ignores_eof() {
    let server = start("echo ready; sleep 1000 & wait");
    seen(server.recorder(), |body| matches!(body, Body::Line(_)).then_some(())).await;
    let ending = server.end(grace(SHORT, PATIENCE)).await;
    assert_eq!(ending.exited_by, EndedBy::Term);
    assert_eq!(ending.exit, Some(Exit { code: None, signal: Some(15) }));
    assert!(orphans(server.recorder()).is_empty(), "the group got the signal too");
}

#[tokio::test]
async fn kill_ends_what_ignores_term() {
    let server = start("trap '' TERM; echo ready; while :; do sleep 1000; done");
    seen(server.recorder(), |body| matches!(body, Body::Line(_)).then_some(())).await;
    let ending = server.end(grace(SHORT, SHORT)).await;
    assert_eq!(ending.exited_by, EndedBy::Kill);
    assert_eq!(ending.exit, Some(Exit { code: None, signal: Some(9) }));
    assert_whole(server.recorder());
}

#[tokio::test]
async fn a_signal_of_ours_is_recorded_and_named() {
    let server = start("exec cat");
    // A shell of `-c` catches the signal and loses it with `exec`: what comes back says that cat is there.
    server.send(Bytes::from_static(b"{\"id\":1}"), Intent::default()).await.unwrap();
    let back = |body: &Body| matches!(body, Body::Line(line) if line.direction == Direction::In).then_some(());
    seen(server.recorder(), back).await;
    server.signal(Signal::Interrupt);
    let exit =
        seen(server.recorder(), |body| if let Body::Exited(exit) = body { Some(exit.clone()) } else { None }).await;
    assert_eq!(exit.signal, Some(2));
    assert_eq!(server.end(patient()).await.exited_by, EndedBy::Term);
    seen(server.recorder(), |body| matches!(body, Body::Signalled { name: "SIGINT" }).then_some(())).await;
}

#[tokio::test]
async fn an_endless_line_ends_bounded() {
    let wire = wire::Limits { bytes: 64 * 1024, ..wire::Limits::default() };
    let limits = Limits { wire, dropped: 1024 * 1024, ..Limits::default() };
    let server = start_with("exec tr '\\0' x < /dev/zero", limits, DEFAULT_BUDGET);
    seen(server.recorder(), |body| matches!(body, Body::Exited(_)).then_some(())).await;
    let ending = server.end(patient()).await;
    assert_eq!(ending.exited_by, EndedBy::Kill);
    assert!(limit(server.recorder()).unwrap().contains("a line of more than"));
    assert!(lines(server.recorder(), Direction::In).iter().all(|line| line.len() <= 64 * 1024));
    assert_whole(server.recorder());
}

#[tokio::test]
async fn an_endless_stream_of_lines_ends_bounded() {
    let server = start_with("exec yes '{\"jsonrpc\":\"2.0\"}'", Limits::default(), 1024 * 1024);
    seen(server.recorder(), |body| matches!(body, Body::Exited(_)).then_some(())).await;
    server.end(patient()).await;
    assert!(limit(server.recorder()).unwrap().contains("more output than"));
    assert!(server.recorder().len() < 20_000);
    assert_whole(server.recorder());
}

#[tokio::test]
async fn a_flood_of_stderr_blocks_nothing() {
    let server = start("head -c 20000000 /dev/zero | tr '\\0' e >&2; echo done; exec cat >/dev/null");
    seen(server.recorder(), |body| matches!(body, Body::Line(line) if line.frame.raw == "done").then_some(())).await;
    server.end(patient()).await;
    let kept: usize = server
        .recorder()
        .events(0)
        .iter()
        .map(|event| if let Body::Stderr(bytes) = &event.body { bytes.len() } else { 0 })
        .sum();
    assert!(kept <= process::STDERR_HEAD + process::STDERR_TAIL + 16 * 1024, "{kept}");
    assert!(limit(server.recorder()).unwrap().contains("bytes of stderr were not kept"));
}

#[tokio::test]
async fn a_server_that_does_not_read_never_blocks() {
    let limits = Limits { write: SHORT, ..Limits::default() };
    let server = start_with("exec sleep 1000", limits, DEFAULT_BUDGET);
    let message = Bytes::from(vec![b'x'; 1024 * 1024]);
    assert_eq!(server.send(message.clone(), Intent::default()).await, Err(WriteError::Stalled));
    let before = server.recorder().len();
    assert_eq!(server.send(message, Intent::default()).await, Err(WriteError::Stalled));
    assert_eq!(server.recorder().len(), before, "what was not handed over is not recorded");
    let ending = server.end(grace(SHORT, PATIENCE)).await;
    assert_eq!(ending.exited_by, EndedBy::Term);
    let events = server.recorder().events(0);
    let position = |wanted: fn(&Body) -> bool| events.iter().position(|event| wanted(&event.body)).unwrap();
    let closed = position(|body| matches!(body, Body::StdinClosed));
    assert!(
        closed < position(|body| matches!(body, Body::Signalled { .. })),
        "it had its grace after the end of stdin"
    );
    assert_whole(server.recorder());
}

#[tokio::test]
async fn a_hanging_write_does_not_hide_the_eof() {
    // It reads nothing for a while, and ends at the end of stdin: that the last message was never taken is our matter.
    let server = start("echo ready; sleep 0.3; exec cat >/dev/null");
    seen(server.recorder(), |body| matches!(body, Body::Line(_)).then_some(())).await;
    let message = Bytes::from(vec![b'x'; 1024 * 1024]);
    let given_up = tokio::time::timeout(Duration::from_millis(20), server.send(message, Intent::default())).await;
    assert!(given_up.is_err());
    assert_eq!(server.end(patient()).await.exited_by, EndedBy::Eof);
}

#[tokio::test]
async fn a_descendant_that_left_the_group_is_reaped_and_reported() {
    process::become_subreaper();
    // The one in between ends at once, so that nothing but the mark tells whose the last one is.
    let script = "setsid sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $!' & wait; exec cat >/dev/null";
    let (server, other) = (start(script), start(script));
    let (orphan, untouched) = (pid_line(&server).await, pid_line(&other).await);
    let limits_settle = Instant::now();
    let ending = server.end(patient()).await;
    assert_eq!(ending.exited_by, EndedBy::Eof);
    assert_eq!(orphans(server.recorder()), [orphan]);
    assert!(!std::fs::exists(format!("/proc/{orphan}")).unwrap(), "killed and reaped");
    assert!(limits_settle.elapsed() < PATIENCE);
    assert_whole(server.recorder());

    assert!(alive(untouched), "another server's descendant is not ours to end");
    assert!(other.is_open());
    other.end(patient()).await;
    assert_eq!(orphans(other.recorder()), [untouched]);
    assert!(!alive(untouched));
}

#[tokio::test]
async fn a_child_that_ends_a_little_later_is_no_orphan() {
    let server = start("(sleep 0.1; echo late) & exec cat >/dev/null");
    let ending = server.end(patient()).await;
    assert_eq!(ending.exited_by, EndedBy::Eof);
    assert!(orphans(server.recorder()).is_empty());
    assert_eq!(lines(server.recorder(), Direction::In), ["late"], "stdout is read to its end");
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_is_ended() {
    let limits = Limits { settle: SHORT, ..Limits::default() };
    let server = start_with("sleep 1000 & echo $!; exec cat >/dev/null", limits, DEFAULT_BUDGET);
    let child = pid_line(&server).await;
    server.end(patient()).await;
    assert_eq!(orphans(server.recorder()), [child]);
    assert!(limit(server.recorder()).is_none(), "the pipes came to their end");
    assert_whole(server.recorder());
}

#[tokio::test]
async fn a_dropped_server_is_killed_with_its_children() {
    // Without the mark, the child is known by its parent alone.
    let server = start("setsid env -i sleep 1000 >/dev/null 2>&1 & echo $!; exec sleep 1000");
    let (child, leader) = (pid_line(&server).await, server.pid().unwrap());
    let recorder = server.recorder().clone();
    drop(server);
    seen(&recorder, |body| matches!(body, Body::Exited(_)).then_some(())).await;
    while alive(child) || alive(leader) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn start_errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, executable: bool| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
            .unwrap();
    };
    file("server", "#!/bin/sh\n", true);
    file("server.py", "print()", false);
    file("interpreted", "#!/no/such/interpreter\n", true);
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let fail = |program: &str| {
        let spec = CommandSpec { cwd: Some(folder.path().to_owned()), ..CommandSpec::new(program, [""; 0]) };
        Stdio::start(&spec, recorder(DEFAULT_BUDGET), Limits::default()).unwrap_err()
    };
    let not_found = |hint: &str| StartErrorKind::NotFound { hint: Some(hint.to_owned()) };
    assert_eq!(fail("no-such-program-anywhere").kind, StartErrorKind::NotFound { hint: None });
    assert_eq!(fail("server").to_string(), "`server` was not found; did you mean `./server`?");
    assert_eq!(fail("server.py").kind, not_found("python3 server.py"));
    assert_eq!(fail("node server.js").kind, not_found("node server.js"));
    assert_eq!(
        fail("./server.py").kind,
        StartErrorKind::PermissionDenied { hint: Some("python3 ./server.py".to_owned()) }
    );
    assert_eq!(fail("./folder").kind, StartErrorKind::IsDirectory);
    assert_eq!(fail("./interpreted").kind, StartErrorKind::InterpreterNotFound);
    let spec = CommandSpec { cwd: Some("/no/such/folder".into()), ..shell("true") };
    let error = Stdio::start(&spec, recorder(DEFAULT_BUDGET), Limits::default()).unwrap_err();
    assert_eq!(error.kind, StartErrorKind::NoSuchFolder("/no/such/folder".to_owned()));
}

/// A server in memory: our transport, and its ends of the pipes.
fn in_memory() -> (Stdio, tokio::io::DuplexStream, tokio::io::DuplexStream, mpsc::UnboundedReceiver<Signal>) {
    let (stdin, server_in) = duplex(64);
    let (server_out, stdout) = duplex(64);
    let (signals, received) = mpsc::unbounded_channel();
    let never = std::future::pending::<Exit>();
    let server = Stdio::over_signalled(stdin, stdout, never, signals, recorder(DEFAULT_BUDGET), Limits::default());
    (server, server_in, server_out, received)
}

#[tokio::test(start_paused = true)]
async fn a_deaf_server_in_memory_costs_no_time() {
    let (server, _server_in, _server_out, mut signals) = in_memory();
    let grace = Grace { eof: Duration::from_secs(10), term: Duration::from_secs(20), kill: Duration::from_secs(30) };
    let since = tokio::time::Instant::now();
    let Ending { exited_by, exit, waited } = server.end(grace).await;
    assert_eq!((exited_by, exit, waited), (EndedBy::Kill, None, Duration::from_secs(60)));
    assert!(since.elapsed() < Duration::from_secs(70));
    assert_eq!((signals.recv().await, signals.recv().await), (Some(Signal::Terminate), Some(Signal::Kill)));
    assert_whole(server.recorder());
}

#[tokio::test(start_paused = true)]
async fn a_server_in_memory_that_knows_term() {
    let (stdin, _server_in) = duplex(64);
    let (_server_out, stdout) = duplex(64);
    let (signals, mut received) = mpsc::unbounded_channel();
    let exit = async move {
        while received.recv().await != Some(Signal::Terminate) {}
        Exit { code: Some(143), signal: None }
    };
    let server = Stdio::over_signalled(stdin, stdout, exit, signals, recorder(DEFAULT_BUDGET), Limits::default());
    let ending = server.end(Grace::default()).await;
    assert_eq!((ending.exited_by, ending.waited), (EndedBy::Term, Grace::default().eof));
}

#[tokio::test(start_paused = true)]
async fn split_writes_arrive_in_pieces_and_in_order() {
    let (server, mut server_in, _server_out, _signals) = in_memory();
    let bytes = Bytes::from_static(b"{\"a\":1}\n{\"b\":2}\n");
    let reading = async {
        let (mut buffer, mut pieces) = ([0; 64], Vec::<Vec<u8>>::new());
        while pieces.concat().len() < 18 {
            let count = server_in.read(&mut buffer).await.unwrap();
            pieces.push(buffer[..count].to_vec());
        }
        pieces
    };
    let writing = async {
        server.write_raw(bytes.clone(), &[3, 2, 10, 99]).await.unwrap();
        server.send(Bytes::from_static(b"c"), Intent::default()).await.unwrap();
    };
    let (pieces, ()) = tokio::join!(reading, writing);
    assert_eq!(pieces[..3], [b"{\"a".to_vec(), b"\":1}\n{\"".to_vec(), b"b\":2}\n".to_vec()]);
    assert_eq!(pieces[3..].concat(), b"c\n");
    let raw = |body: &Body| matches!(body, Body::Line(line) if line.raw && line.intent.wrong == [""]);
    assert!(raw(&server.recorder().events(0)[0].body));
}

#[tokio::test(start_paused = true)]
async fn a_message_torn_by_the_server_is_one_line() {
    let (server, _server_in, mut server_out, _signals) = in_memory();
    for piece in [&b"{\"id\":"[..], b"1}", b"\n{", b"}\n"] {
        server_out.write_all(piece).await.unwrap();
        server_out.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(server_out);
    seen(server.recorder(), |body| matches!(body, Body::StdoutEnded).then_some(())).await;
    assert_eq!(lines(server.recorder(), Direction::In), ["{\"id\":1}", "{}"]);
}

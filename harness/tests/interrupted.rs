//! Ending everything at once, as an interrupted run does: alone in its program, because it ends every server of it.

#![cfg(target_os = "linux")]

use std::{sync::Arc, time::Duration};

use mcp_conform::{
    process::{self, CommandSpec, StartErrorKind},
    trace::{Body, DEFAULT_BUDGET, Direction, Recorder, Secrets},
    transport::{EndedBy, Grace, Limits, Stdio},
    wire,
};

const SCRIPT: &str = "trap '' TERM; setsid sleep 1000 >/dev/null 2>&1 & echo $!; while :; do sleep 1000; done";

#[tokio::test]
async fn end_all_leaves_nothing_behind() {
    process::become_subreaper();
    let before = process::starts();
    let mut servers = Vec::new();
    for _ in 0..3 {
        let recorder = Recorder::new(Arc::new(Secrets::default()), wire::Limits::default(), DEFAULT_BUDGET);
        let command = CommandSpec::new("/bin/sh", ["-c", SCRIPT]);
        servers.push(Stdio::start(&command, recorder, Limits::default()).unwrap());
    }
    assert_eq!(process::starts(), before + 3);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let mut pids = Vec::new();
    for server in &servers {
        let line = |event: &Arc<_>| {
            let event: &mcp_conform::trace::Event = event;
            let Body::Line(line) = &event.body else { return None };
            (line.direction == Direction::In).then(|| String::from_utf8_lossy(&line.frame.raw).parse::<u32>().unwrap())
        };
        pids.push(server.recorder().wait(0, deadline, line).await.unwrap());
        pids.push(server.pid().unwrap());
    }
    process::end_all().await;
    for pid in pids {
        assert!(!std::fs::exists(format!("/proc/{pid}")).unwrap(), "{pid} is left");
    }
    for server in &servers {
        let ending = server.end(Grace::default()).await;
        assert_eq!(ending.exit.unwrap().signal, Some(9));
        assert_eq!(ending.exited_by, EndedBy::Kill, "by us, not by itself");
    }
    assert!(process::living().is_empty());
    let recorder = servers[0].recorder().clone();
    let late = Stdio::start(&CommandSpec::new("/bin/sh", ["-c", SCRIPT]), recorder, Limits::default()).unwrap_err();
    assert_eq!(late.kind, StartErrorKind::Interrupted, "a run that is being ended starts nothing");
}

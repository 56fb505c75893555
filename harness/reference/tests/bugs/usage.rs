//! What a real process uses: memory and descriptors that grow with each repetition, and do not in a sound one.

use std::process::Stdio;

use mcp_reference_server::{Bug, BugInfo, Era, bugs};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::common::{initialize_params, meta_with};
use crate::witnesses::subscription;

const TIMES: usize = 30;

struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    era: Era,
}

impl Process {
    async fn start(bug: Option<&BugInfo>, era: Era) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-reference-server"));
        if let Some(bug) = bug {
            command.args(["--bug", bug.name]);
        }
        command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let input = child.stdin.take().expect("the input is open");
        let output = BufReader::new(child.stdout.take().expect("the output is open")).lines();
        let mut process = Self { child, input, output, era };
        if era == Era::Legacy {
            let params = initialize_params("2025-11-25", json!({}));
            process.put(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
            process.until(&json!(0)).await;
            process.put(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        process
    }

    async fn put(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("the process reads");
    }

    async fn send(&mut self, id: usize, method: &str, mut params: Value) {
        if self.era == Era::Modern {
            params["_meta"] = meta_with(json!({}));
        }
        self.put(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn acknowledged(&mut self) {
        while let Ok(Some(line)) = self.output.next_line().await {
            if line.contains("subscriptions/acknowledged") {
                return;
            }
        }
        panic!("the subscription is not acknowledged");
    }

    async fn until(&mut self, id: &Value) {
        while let Ok(Some(line)) = self.output.next_line().await {
            if serde_json::from_str::<Value>(&line).is_ok_and(|message| message.get("id") == Some(id)) {
                return;
            }
        }
        panic!("{id} is not answered");
    }

    /// Repeats what the bug is about, and gives resident kilobytes and open descriptors before and after.
    async fn repeat(mut self, bug: Bug) -> ((u64, usize), (u64, usize)) {
        let mut before = (0, 0);
        for id in 1..=2 * TIMES {
            match bug {
                Bug::CancelledCallsKept => {
                    self.send(id, "tools/call", json!({"name": "slow", "arguments": {"stepMs": 60_000}})).await;
                    let params = json!({"requestId": id});
                    self.put(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
                }
                _ => {
                    let (method, params) = subscription(self.era);
                    self.send(id, method, params).await;
                    if self.era == Era::Modern {
                        self.acknowledged().await;
                        let params = json!({"requestId": id});
                        self.put(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                            .await;
                    }
                }
            }
            self.send(1000 + id, "tools/list", json!({})).await;
            self.until(&json!(1000 + id)).await;
            if id == TIMES {
                before = self.usage();
            }
        }
        let after = self.usage();
        drop(self.input);
        self.child.wait().await.expect("the process ends");
        (before, after)
    }

    fn usage(&self) -> (u64, usize) {
        let id = self.child.id().expect("the process runs");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size is told");
        let resident = resident.trim().trim_end_matches(" kB").parse().expect("the size is a number");
        (resident, std::fs::read_dir(format!("/proc/{id}/fd")).expect("the process runs").count())
    }
}

#[tokio::test]
async fn memory_and_descriptors_grow_with_the_bug_alone() {
    for info in bugs().iter().filter(|info| super::is_measured(info)) {
        for era in info.eras {
            for had in [None, Some(info)] {
                let (before, after) = Process::start(had, *era).await.repeat(info.bug).await;
                let grown = match info.bug {
                    // A megabyte each; a tenth of that may be anything.
                    Bug::CancelledCallsKept => after.0.saturating_sub(before.0) > TIMES as u64 * 100,
                    _ => after.1 >= before.1 + TIMES,
                };
                assert_eq!(grown, had.is_some(), "{} in {era:?}: {before:?}, then {after:?}", info.name);
            }
        }
    }
}

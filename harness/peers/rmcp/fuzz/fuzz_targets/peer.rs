//! The server on rmcp, fuzzed in this process: libFuzzer sees the coverage of the server and of the SDK, and mcp-conform says
//! what to send and what is wrong.
//!
//! `cargo +nightly fuzz run peer` in `harness/peers/rmcp`; what it finds lies in `fuzz/artifacts`, and
//! `cargo +nightly fuzz run peer FILE` shows it again.
#![no_main]

use std::sync::LazyLock;

use mcp_conform::fuzz::{Target, in_memory};
use rmcp::ServiceExt;
use rmcp_peer::Peer;

/// What `harness/peers/expected/rmcp-stdio.json` tells of this server already.
const KNOWN: [&str; 0] = [];

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let server = in_memory(|stdin, stdout| async {
        match Peer::new().serve((stdin, stdout)).await {
            Ok(running) => running.waiting().await.map_or(1, |_| 0),
            Err(_) => 1,
        }
    });
    Target::new(server).and_then(|target| target.allowing(KNOWN)).expect("the server serves")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET.run(data));

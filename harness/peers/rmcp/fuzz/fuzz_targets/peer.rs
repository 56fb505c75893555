//! The server on rmcp, fuzzed in this process: libFuzzer sees the coverage of the server and of the SDK, and mcp-conform says
//! what to send and what is wrong.
//!
//! `cargo +nightly fuzz run -s none peer` in `harness/peers/rmcp`; what it finds lies in `fuzz/artifacts`, and the same with the
//! name of such a file shows it again. With the address sanitizer, which is for unsafe code, it is many times slower.
#![no_main]

use std::sync::LazyLock;

use mcp_conform::fuzz::{Target, in_memory};
use rmcp::ServiceExt;
use rmcp_peer::Peer;

/// What was found and is true: until the first request besides `server/discover`, rmcp gives up serving at any notification,
/// and a server written as its documentation shows exits. A panic stops libFuzzer nonetheless.
const KNOWN: [&str; 1] = ["own/fuzz-death"];

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

//! Coverage-guided fuzzing of lines of stdout and the JSON-RPC messages in them; the properties are those of
//! [`mcp_conform::wire::fuzzing::jsonrpc_line_one`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::wire::fuzzing::jsonrpc_line_one(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::wire::fuzzing::jsonrpc_line_one(&[]);
}

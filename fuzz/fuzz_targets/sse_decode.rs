//! Coverage-guided fuzzing of event streams; the properties are those of
//! [`mcp_conform::wire::fuzzing::sse_decode_one`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::wire::fuzzing::sse_decode_one(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::wire::fuzzing::sse_decode_one(&[]);
}

//! Coverage-guided fuzzing of HTTP answers as a server may write them; the properties are those of [`mcp_conform::fuzzing::http_answer`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::http_answer(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::http_answer(&[]);
}

//! Coverage-guided fuzzing of trace files; the properties are those of [`mcp_conform::fuzzing::trace_file`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::trace_file(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::trace_file(&[]);
}

//! Coverage-guided fuzzing of the answering driver against a server that asks for anything; the properties are those of [`mcp_conform::fuzzing::mrtr_round_trip`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::mrtr_round_trip(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::mrtr_round_trip(&[]);
}

//! Coverage-guided fuzzing of the patterns of cases against a second reading of them; the properties are those of [`mcp_conform::fuzzing::matcher`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::matcher(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::matcher(&[]);
}

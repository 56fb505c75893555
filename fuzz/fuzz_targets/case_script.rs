//! Coverage-guided fuzzing of case scripts; the properties are those of [`mcp_conform::fuzzing::case_script`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::case_script(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::case_script(&[]);
}

//! Coverage-guided fuzzing of schemas and what is generated from them; the properties are those of [`mcp_conform::fuzzing::schema_generate`].
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_conform::fuzzing::schema_generate(data));

/// Lets ordinary builds and lints cover the target.
#[cfg(not(fuzzing))]
fn main() {
    mcp_conform::fuzzing::schema_generate(&[]);
}

//! The binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_reference_server::main_with_args(std::env::args_os())
}

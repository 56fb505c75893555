//! The `mcp-conform` binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_conform::cli::main()
}

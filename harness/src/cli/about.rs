//! `mcp-conform completions` and `mcp-conform man`: made from the command line itself, so that they never lag behind.

use clap_complete::Shell;

use super::{error::UsageError, misfits::command_line, output::print};

pub(crate) fn completions(shell: Shell) -> Result<u8, UsageError> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command_line(), "mcp-conform", &mut out);
    print(&String::from_utf8_lossy(&out))
}

/// The page of the whole, or of one command.
pub(crate) fn man(of: Option<&str>) -> Result<u8, UsageError> {
    let mut whole = command_line();
    whole.build();
    let command = match of {
        None => whole,
        Some(name) => {
            let shown = || whole.get_subcommands().filter(|command| !command.is_hide_set());
            let found = shown().find(|command| command.get_name() == name);
            found.cloned().ok_or_else(|| {
                let known: Vec<&str> = shown().map(clap::Command::get_name).collect();
                let help = match mcp_conform_cases::nearest(name, known.iter().copied()).first() {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known are {}", known.join(", ")),
                };
                UsageError::Other(format!("{name} is no command of mcp-conform\n  {help}"))
            })?
        }
    };
    let mut out = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut out)
        .map_err(|error| UsageError::Other(format!("the page could not be made: {error}")))?;
    print(&String::from_utf8_lossy(&out))
}

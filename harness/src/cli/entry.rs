//! From the command line to the exit code.

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::FromArgMatches as _;

use super::{
    about,
    args::{Cli, Command},
    doctor::doctor,
    error::UsageError,
    explain::explain,
    fuzz::fuzz_server,
    init::init,
    judge_server::judge_server,
    misfits::command_line,
    replay::replay,
    report::report,
    requirements, show,
    snapshot::snapshot,
    validate::validate,
};

/// Exit code for wrong usage.
const USAGE: u8 = 2;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let mut line = command_line();
    let read = line
        .try_get_matches_from_mut(std::env::args_os())
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    let cli = match read.map_err(|error| error.format(&mut line)) {
        Ok(cli) => cli,
        Err(error) => {
            let usage = error.use_stderr();
            // A closed terminal is no reason for another exit code.
            let _ = error.print();
            return ExitCode::from(if usage { USAGE } else { 0 });
        }
    };
    let done = match &cli.command {
        Command::ReferenceServer { args } => {
            let args = std::iter::once(OsString::from("mcp-reference-server")).chain(args.iter().cloned());
            return mcp_reference_server::main_with_args(args);
        }
        Command::Run(args) => judge_server(args),
        Command::Fuzz(args) => fuzz_server(args),
        Command::Snapshot { command } => snapshot(command),
        Command::Report(args) => report(args),
        Command::Replay(args) => replay(args),
        Command::Init(args) => init(args),
        Command::List(args) if args.requirements => requirements::list(args.format),
        Command::List(args) => show::list(args),
        Command::Explain(args) => explain(args),
        Command::Cases { command } => show::cases(command),
        Command::Judge { files, format } => show::judge(files, *format),
        Command::Validate(args) => validate(args),
        Command::Doctor(args) => doctor(args),
        Command::Completions { shell } => about::completions(*shell),
        Command::Man { command } => about::man(command.as_deref()),
        Command::Coverage { format, cases } => show::coverage(cases, *format),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tell(&error);
            ExitCode::from(USAGE)
        }
    }
}

fn tell(error: &UsageError) {
    let mut out = anstream::stderr().lock();
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // Where standard error is closed there is nobody to tell.
    let _ = match error {
        // Diagnostics of scripts bring their own head.
        UsageError::Cases(text) if text.starts_with("error") || text.contains("\u{1b}[") => writeln!(out, "{text}"),
        other => writeln!(out, "{style}error{style:#}: {other}"),
    };
}

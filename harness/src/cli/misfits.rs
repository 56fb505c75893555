//! Flags of `run` that mean nothing to other commands: refused there, as they would be ignored, and not shown in their help.

use clap::CommandFactory as _;

use super::{
    args::{Cli, RunArgs},
    error::UsageError,
};

/// A flag, whether it was given, and what to do instead.
type Misfit = (&'static str, bool, &'static str);

const LEAVE: &str = "leave it out";

/// What decides of a run of the suite alone.
fn everywhere(args: &RunArgs) -> Vec<Misfit> {
    vec![
        ("fleet", args.fleet.is_some(), LEAVE),
        ("fleet-jobs", args.fleet_jobs.is_some(), LEAVE),
        ("results", args.results.is_some(), LEAVE),
        ("shard", args.shard.is_some(), LEAVE),
        ("baseline", args.baseline.is_some(), LEAVE),
        ("baseline-update", args.baseline_update, LEAVE),
        ("requirements", !args.requirements.is_empty(), LEAVE),
        ("watch", args.watch, LEAVE),
        ("watch-path", !args.watch_path.is_empty(), LEAVE),
    ]
}

fn of_snapshots(args: &RunArgs) -> Vec<Misfit> {
    let mut out = everywhere(args);
    out.extend([
        ("report", !args.report.is_empty(), "give --format json"),
        ("trace", args.trace.is_some(), LEAVE),
        ("area", !args.area.is_empty(), LEAVE),
        ("jobs", args.jobs.is_some(), "leave it out: one question is asked at a time"),
        ("max-time", args.max_time.is_some(), LEAVE),
        ("fail-fast", args.fail_fast, LEAVE),
        ("fail-on", args.fail_on.is_some(), "leave it out: every difference counts"),
        ("max-unverified", args.max_unverified.is_some(), LEAVE),
    ]);
    out
}

fn of_fuzzing(args: &RunArgs) -> Vec<Misfit> {
    let mut out = everywhere(args);
    out.extend([
        ("trace", args.trace.is_some(), "leave it out: each finding has its trace beside it"),
        ("max-time", args.max_time.is_some(), "give --for"),
        ("fail-fast", args.fail_fast, "give --max-findings 1"),
    ]);
    out
}

pub(super) fn for_snapshots(args: &RunArgs) -> Result<(), UsageError> {
    refused(of_snapshots(args))
}

pub(super) fn for_fuzzing(args: &RunArgs) -> Result<(), UsageError> {
    refused(of_fuzzing(args))
}

fn refused(misfits: Vec<Misfit>) -> Result<(), UsageError> {
    match misfits.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, instead)) => {
            Err(UsageError::Other(format!("--{flag} is for mcp-conform run alone\n  {instead}")))
        }
        None => Ok(()),
    }
}

/// The command line, in whose help each command shows what it takes.
pub(super) fn command_line() -> clap::Command {
    /// Taken, as they do no harm, and without meaning here.
    const SILENT: [&str; 2] = ["quiet", "verbose"];
    let names = |misfits: Vec<Misfit>| misfits.into_iter().map(|(flag, ..)| flag).collect::<Vec<_>>();
    let none = RunArgs::default();
    let (snapshots, fuzzing) = (names(of_snapshots(&none)), names(of_fuzzing(&none)));
    let hidden = |mut command: clap::Command, flags: &[&str]| {
        let ids: Vec<clap::Id> = command
            .get_arguments()
            .filter(|arg| arg.get_long().is_some_and(|long| flags.contains(&long)))
            .map(|arg| arg.get_id().clone())
            .collect();
        for id in ids {
            command = command.mut_arg(id, |arg| arg.hide(true));
        }
        command
    };
    Cli::command()
        .mut_subcommand("snapshot", |command| {
            command.mut_subcommands(|command| hidden(command, &[&snapshots[..], &SILENT].concat()))
        })
        .mut_subcommand("fuzz", |command| {
            hidden(command, &fuzzing).mut_subcommands(|command| hidden(command, &fuzzing))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_shows_what_is_taken() {
        let shown = |path: &[&str]| {
            let mut command = command_line();
            command.build();
            let mut command = &mut command;
            for name in path {
                command = command.find_subcommand_mut(name).unwrap();
            }
            command.render_long_help().to_string()
        };
        for path in [&["snapshot", "record"][..], &["snapshot", "check"], &["snapshot", "diff"]] {
            let help = shown(path);
            for (flag, ..) in of_snapshots(&RunArgs::default()) {
                assert!(!help.contains(&format!("--{flag} ")), "{path:?} shows --{flag}");
            }
            assert!(help.contains("--tool-args ") && help.contains("--server "), "{help}");
        }
        for path in [&["fuzz"][..], &["fuzz", "replay"]] {
            let help = shown(path);
            for (flag, ..) in of_fuzzing(&RunArgs::default()) {
                assert!(!help.contains(&format!("--{flag} ")), "{path:?} shows --{flag}");
            }
            assert!(help.contains("--jobs "), "{help}");
        }
        assert!(shown(&["run"]).contains("--trace "));
    }
}

//! `mcp-conform report`: result files become any format, later and elsewhere.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use mcp_conform_reports::{
    exit::{Exit, Policy, decide},
    html, join, json, markdown, matrix,
    model::{Report, Summary},
    parts,
    render::{Detail, Format, Options},
    terminal,
};

use super::{
    args::{FailOn, ReportArgs, ReportCommand},
    error::UsageError,
    judge_server::fail_on,
    output,
    plan::quoted,
};

pub(crate) fn report(args: &ReportArgs) -> Result<u8, UsageError> {
    match &args.command {
        Some(ReportCommand::Merge { files, output, partial, fail_on }) => {
            merge(files, output.as_deref(), *partial, *fail_on)
        }
        Some(ReportCommand::Schema) => {
            output::write(None, "output", Options::default(), |_, out| out.write_all(json::SCHEMA.as_bytes()))?;
            Ok(0)
        }
        None => render(args),
    }
}

fn render(args: &ReportArgs) -> Result<u8, UsageError> {
    if args.files.is_empty() {
        return Err(UsageError::Other("no result file was named\n  name what run --report json:FILE wrote".to_owned()));
    }
    if let Some(path) = &args.output {
        output::check_writable(path, "output")?;
    }
    let mut reports = Vec::new();
    for file in &args.files {
        reports.append(&mut read(file)?);
    }
    if args.files.len() > 1 {
        // Files of one server are one report, as report merge makes of them.
        reports = join::join(reports);
    }
    for revision in &args.revision {
        if !reports.iter().any(|report| report.revisions.iter().any(|known| known.revision == *revision)) {
            let help = "name one that the result file tells of";
            return Err(UsageError::flag("revision", revision, "is in no result file", help));
        }
    }
    if !args.revision.is_empty() {
        reports.iter_mut().for_each(|report| narrow(report, &args.revision));
    }
    // Several servers make no page for a terminal; Markdown reads well on one.
    let default = || if reports.len() > 1 && !args.support { Format::markdown() } else { Format::terminal() };
    let format = args.format.unwrap_or_else(default);
    let detail = match (args.quiet, args.verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Verbose,
        _ => Detail::Normal,
    };
    // Commands that play a finding again name the file that it stands in.
    let result = match (args.files.as_slice(), reports.as_slice()) {
        ([file], [_]) => Some(quoted(&file.to_string_lossy())),
        _ => None,
    };
    // A part of the results earns no code of its own, nor do several servers here.
    let exit = match reports.as_slice() {
        [one] if args.revision.is_empty() && one.shard.is_none() => {
            one.policy.as_ref().map(|policy| decide(one, policy))
        }
        _ => None,
    };
    let options = Options { detail, result, exit, ..Options::default() };
    let name = format.renderer().name();
    type Render<'a> = Box<dyn FnOnce(&Options, &mut dyn Write) -> io::Result<()> + 'a>;
    let render: Render<'_> = match (args.support, reports.as_slice(), name) {
        (false, [one], _) => Box::new(move |options, out| format.renderer().render(one, options, out)),
        (true, [one], "terminal") => Box::new(move |options, out| terminal::support::write(one, options, out)),
        (true, [one], "markdown") => Box::new(move |_, out| markdown::support::write(one, out)),
        (true, [one], "html") => Box::new(move |options, out| html::support::write(one, options, out)),
        (true, [one], "json") => Box::new(move |_, out| json::support(one, out)),
        (true, [_], _) => return Err(misfit(name, "the support report is told", "terminal, markdown, html and json")),
        (true, ..) => {
            let help = "name one result file; without --support several make a matrix";
            return Err(UsageError::Other(format!("--support tells of one server\n  {help}")));
        }
        (false, many, "html") => Box::new(move |_, out| html::matrix::write(many, out)),
        (false, many, "markdown") => Box::new(move |_, out| matrix::markdown(many, out)),
        (false, many, "json") => Box::new(move |_, out| matrix::json(many, out)),
        (false, ..) => return Err(misfit(name, "several servers are told", "html, markdown and json")),
    };
    output::write(args.output.as_deref(), "output", options, render)?;
    Ok(0)
}

fn misfit(format: &str, what: &str, formats: &str) -> UsageError {
    UsageError::Other(format!("--format {format}: {what} in {formats}\n  give --format one of these"))
}

fn merge(files: &[PathBuf], path: Option<&Path>, partial: bool, level: Option<FailOn>) -> Result<u8, UsageError> {
    if let Some(path) = path {
        output::check_writable(path, "output")?;
    }
    let mut reports = Vec::new();
    for file in files {
        reports.append(&mut read(file)?);
    }
    if let Err(error) = parts::check(&reports)
        && !partial
    {
        let help = "name the files of all parts, each once; --partial joins what is there";
        return Err(UsageError::Other(format!("{error}\n  {help}")));
    }
    let merged = join::join(reports);
    output::write(path, "output", Options::default(), |_, out| join::write(&merged, out))?;
    let Some(level) = level else { return Ok(0) };
    let policy = Policy { fail_on: fail_on(Some(level)), ..Policy::default() };
    let exits = merged.iter().map(|report| decide(report, &policy));
    Ok(exits.min().unwrap_or(Exit::Unjudged).code())
}

pub(super) fn read(path: &Path) -> Result<Vec<Report>, UsageError> {
    let file = File::open(path).map_err(|error| UsageError::Unreadable {
        path: path.to_owned(),
        error,
        help: "name what run --report json:FILE wrote".to_owned(),
    })?;
    join::read_from(file).map_err(|error| {
        UsageError::Other(format!("{}: {error}\n  name what run --report json:FILE wrote", path.display()))
    })
}

/// Leaves what the chosen revisions have.
fn narrow(report: &mut Report, revisions: &[String]) {
    report.results.retain(|result| revisions.contains(&result.revision));
    report.revisions.retain(|support| revisions.contains(&support.revision));
    report.requirements.retain(|info| revisions.contains(&info.revision));
    report.features.retain(|coverage| revisions.contains(&coverage.revision));
    report.summary = Summary::of(&report.results);
}

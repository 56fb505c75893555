//! `mcp-conform replay`: one finding of a result file, played again by its own repro command.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use mcp_conform_cases::nearest;
use mcp_conform_reports::{
    exit::{self, Exit, Policy},
    key,
    model::{CheckResult, Report, TargetStatus, Verdict},
    render::{Detail, Options},
    terminal::Terminal,
    text,
};

use super::{
    args::{Cli, Command, ReplayArgs, RunArgs},
    config,
    error::UsageError,
    judge_server::perform,
    output,
    plan::plan,
    report, wire,
};

/// Findings that are listed where none, or an unknown one, was named.
const LISTED: usize = 30;

pub(crate) fn replay(args: &ReplayArgs) -> Result<u8, UsageError> {
    let reports = report::read(&args.file)?;
    let finding = find(args, &reports)?;
    if args.by_hand {
        let Some(line) = &finding.evidence.by_hand else {
            let help =
                "several connections, a signal or more than a line holds take part in it; replay it without --by-hand";
            return Err(UsageError::Other(format!("no shell line can show this finding\n  {help}")));
        };
        output::print(&format!("{line}\n"))?;
        return Ok(0);
    }
    let mut run = command(finding)?;
    adapt(&mut run, args);
    secrets_are_there(&run, finding)?;
    let run = config::resolve(&run)?;
    let kept = Kept::new(args.trace.as_deref())?;
    let run =
        RunArgs { trace: Some(kept.folder.clone()), report: Vec::new(), fail_on: None, max_unverified: None, ..run };
    let options = plan(&run)?;
    output::print(&format!("replaying {}\n", line_of(finding)))?;
    let report = perform(&run, options, None)?;
    if report.target.status != TargetStatus::Ok || report.interrupted.is_some() {
        let exit =
            exit::decide(&report, &Policy { fail_on: exit::FailOn::Never, max_unverified: None, asked: Vec::new() });
        let options = Options { detail: Detail::Quiet, exit: Some(exit), ..Options::default() };
        let renderer: &dyn mcp_conform_reports::render::Renderer = &Terminal;
        output::write(None, "output", options, |options, out| renderer.render(&report, options, out))?;
        return Ok(exit.code());
    }
    let again = again(&report, finding);
    output::print(&shown(&kept.folder, &run, finding, again.as_ref())?)?;
    let (exit, text) = outcome(finding, again.as_ref());
    output::print(&text)?;
    Ok(exit.code())
}

/// The finding that was named, or why there is none.
fn find<'a>(args: &ReplayArgs, reports: &'a [Report]) -> Result<&'a CheckResult, UsageError> {
    let file = args.file.display();
    let all: Vec<&CheckResult> =
        reports.iter().flat_map(|report| &report.results).filter(|result| key::is_finding(result.verdict)).collect();
    let listed = || {
        let mut lines: Vec<String> = all.iter().map(|result| line_of(result)).collect();
        lines.dedup();
        let left = lines.len().saturating_sub(LISTED);
        lines.truncate(LISTED);
        if left > 0 {
            lines.push(format!("and {left} more, see mcp-conform report {file}"));
        }
        lines.join("\n  ")
    };
    if all.is_empty() {
        let help = "there is nothing to replay";
        return Err(UsageError::Other(format!("{file} holds no finding\n  {help}")));
    }
    let Some(wanted) = &args.finding else {
        return Err(UsageError::Other(format!("name the finding by its first eight digits:\n  {}", listed())));
    };
    let mut found = all.iter().filter(|result| key::of(result) == *wanted);
    let Some(finding) = found.next() else {
        let known: Vec<String> = all.iter().map(|result| key::of(result)).collect();
        // Who names the requirement or the check wants the findings under it.
        let by_name = all.iter().find(|result| result.requirement == *wanted || result.check == *wanted);
        let near = by_name.map(|result| key::of(result));
        let near =
            near.or_else(|| nearest(wanted, known.iter().map(String::as_str)).first().map(|near| (*near).to_owned()));
        return Err(UsageError::Other(match near {
            Some(near) => format!("{file} has no finding {wanted}\n  did you mean {near}?"),
            None => format!("{file} has no finding {wanted}\n  it has these:\n  {}", listed()),
        }));
    };
    let servers =
        reports.iter().filter(|report| report.results.iter().any(|result| key::of(result) == *wanted)).count();
    if servers > 1 {
        let help = "name the result file of one server";
        return Err(UsageError::Other(format!("{file} has {wanted} of {servers} servers\n  {help}")));
    }
    // Files of before parts were told apart have several under one name: any of them is played by the same case.
    Ok(finding)
}

/// A finding in one line.
fn line_of(result: &CheckResult) -> String {
    let subject = if result.subject.is_empty() { String::new() } else { format!(" on {}", result.subject) };
    let line = format!(
        "{}  {} {} by {}, {}, {}{subject}",
        key::of(result),
        result.verdict.as_str(),
        result.requirement,
        result.check,
        result.revision,
        result.transport
    );
    text::clean(&text::bounded(&line, 300))
}

/// The arguments of the run that found it, with the case alone.
fn command(finding: &CheckResult) -> Result<RunArgs, UsageError> {
    let unusable = |why: &str| {
        let help = "judge the server again with this version: mcp-conform run … --report json:FILE";
        UsageError::Other(format!("the finding cannot be replayed: {why}\n  {help}"))
    };
    let repro =
        finding.evidence.repro.as_deref().ok_or_else(|| unusable("the result file says not how it was found"))?;
    let words = shlex::split(repro).ok_or_else(|| unusable("its command is no command line"))?;
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Run(run) }) => Ok(*run),
        Ok(_) => Err(unusable("its command is no run")),
        Err(error) => {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            Err(unusable(&format!("its command is not understood ({})", first.trim_start_matches("error: "))))
        }
    }
}

/// Another server, and what was given anew.
fn adapt(run: &mut RunArgs, args: &ReplayArgs) {
    if args.server.is_some() || args.url.is_some() {
        run.demo = false;
        run.fault = None;
        run.name = None;
        run.from = None;
        run.command = Vec::new();
        run.no_config = true;
        run.config = None;
        run.server.clone_from(&args.server);
        run.url.clone_from(&args.url);
        run.serve.clone_from(&args.serve);
        if args.server.is_none() {
            run.env = Vec::new();
            run.cwd = None;
        }
        if args.url.is_none() {
            run.header = Vec::new();
            run.ca_file = None;
            run.insecure = false;
        }
    }
    let replace = |known: &mut Vec<String>, given: &[String]| {
        let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        known.retain(|pair| !given.iter().any(|other| name(other) == name(pair)));
        known.extend_from_slice(given);
    };
    replace(&mut run.env, &args.env);
    replace(&mut run.header, &args.header);
    run.timeout = args.timeout.or(run.timeout);
    run.start_timeout = args.start_timeout.or(run.start_timeout);
    run.patience = args.patience.or(run.patience);
}

/// A result file keeps no secret: what it replaced has to be given anew.
fn secrets_are_there(run: &RunArgs, finding: &CheckResult) -> Result<(), UsageError> {
    let missing = |what: &str, help: String| Err(UsageError::Other(format!("{what}\n  {help}")));
    // The name that a repro line writes where a value was given by hand.
    for (flag, pairs) in [("header", &run.header), ("env", &run.env)] {
        for pair in pairs {
            if let Some((name, "env:VARIABLE")) = pair.split_once('=') {
                let what = format!("--{flag} {name} was given by its value, which no result file keeps");
                return missing(&what, format!("give it anew: --{flag} {name}=env:SOME_VARIABLE, or =@FILE"));
            }
        }
    }
    let words = run.server.iter().chain(&run.serve).chain(&run.url).cloned();
    let words = words.chain(run.command.iter().map(|word| word.to_string_lossy().into_owned()));
    for word in words {
        if let Some((_, rest)) = word.split_once("<secret:") {
            let name = rest.split('>').next().unwrap_or_default();
            let flag = if finding.transport == "http" { "url" } else { "server" };
            let what = format!("the target holds a secret ({}), which no result file keeps", text::clean(name));
            return missing(&what, format!("give it anew: --{flag} …"));
        }
    }
    Ok(())
}

/// The folder of the traces: gone when the wire was shown, unless it was asked for.
struct Kept {
    folder: PathBuf,
    remove: bool,
}

impl Kept {
    fn new(asked: Option<&Path>) -> Result<Self, UsageError> {
        match asked {
            Some(folder) => Ok(Self { folder: folder.to_owned(), remove: false }),
            None => {
                let folder = std::env::temp_dir().join(format!("mcp-conform-replay-{}", std::process::id()));
                let unwritable = |error| UsageError::Unwritable { path: folder.clone(), flag: "trace", error };
                // It must be new: a folder that somebody laid there is not ours to write to and to remove.
                std::fs::create_dir(&folder).map_err(unwritable)?;
                Ok(Self { folder, remove: true })
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.remove {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The same finding in the new report, the gravest first. A part that is not there was not found as it was: then the
/// whole stands for it, of which a rule tells when nothing is broken.
fn again(report: &Report, finding: &CheckResult) -> Option<CheckResult> {
    let gravest = |same: fn(&CheckResult) -> String| {
        let same = report.results.iter().filter(|result| same(result) == same(finding));
        same.min_by_key(|result| result.verdict).cloned()
    };
    gravest(key::place).or_else(|| gravest(key::whole))
}

/// The wire of the conversations in which it was played.
fn shown(
    folder: &Path,
    run: &RunArgs,
    finding: &CheckResult,
    again: Option<&CheckResult>,
) -> Result<String, UsageError> {
    let cases: Vec<&str> = run.case.iter().map(String::as_str).collect();
    let traced = again.and_then(|result| result.evidence.trace.as_ref()).map(|trace| trace.file.as_str());
    let mut out = String::new();
    for (name, events) in wire::conversations(folder)? {
        let played = cases.iter().any(|case| wire::has_case(&events, case));
        let here = played && name.contains(&format!("-{}.", finding.transport));
        if here || traced == Some(&name) {
            let cases: &[&str] = if played { &cases } else { &[] };
            out.push_str(&format!(
                "\nconversation {}\n{}",
                name.trim_end_matches(".jsonl"),
                wire::show(&events, cases)
            ));
        }
    }
    Ok(out)
}

fn outcome(finding: &CheckResult, again: Option<&CheckResult>) -> (Exit, String) {
    let place = format!("{} over {}", finding.revision, finding.transport);
    let message = |result: &CheckResult| text::clean(&text::bounded(&result.message, 600));
    match again {
        Some(result) if key::is_finding(result.verdict) => {
            (Exit::Findings, format!("\nIt still shows ({}, {place}): {}\n", result.verdict.as_str(), message(result)))
        }
        Some(result) if result.verdict == Verdict::Pass => {
            (Exit::Clean, format!("\nIt shows no more: {} holds in {place}.\n", finding.requirement))
        }
        Some(result) => {
            (Exit::Unjudged, format!("\nIt could not be provoked ({}): {}\n", result.verdict.as_str(), message(result)))
        }
        None => {
            let subject = if finding.subject.is_empty() { String::new() } else { format!(" on {}", finding.subject) };
            let what = format!("{}{subject} was not judged in {place} this time", finding.requirement);
            (Exit::Unjudged, format!("\nIt could not be provoked: {}.\n", text::clean(&text::bounded(&what, 400))))
        }
    }
}

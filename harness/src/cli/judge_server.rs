//! `mcp-conform run`: progress, Ctrl-C, reports and the exit code.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcp_conform_cases::ast::Case;
use mcp_conform_reports::{
    exit::{self, Exit, Policy},
    model::{CheckResult, Evidence, Report, RequirementInfo, Shard, ShardKind, Summary, Target, TargetStatus, Verdict},
    render::{self, Detail, Options, ReportSpec},
};
use tokio::sync::watch;

use super::{
    args::{FailOn, RunArgs},
    baseline::{self, REVISION_ASKED_FOR},
    config,
    error::UsageError,
    fleet::judge_fleet,
    output,
    plan::{plan, quoted},
    requirements::Sets,
    shard::Part,
    watch::watch_server,
};
use crate::{
    coverage::features,
    process,
    repro::Repro,
    rules,
    run::{Control, DIFFER, Excused, Progress, RunOptions, run},
};

pub(crate) fn judge_server(args: &RunArgs) -> Result<u8, UsageError> {
    if args.watch {
        return watch_server(args);
    }
    if let Some(file) = &args.fleet {
        return judge_fleet(args, file);
    }
    // clap does not ask for what conflicts with something that is there.
    for (flag, given) in [("results", args.results.is_some()), ("fleet-jobs", args.fleet_jobs.is_some())] {
        if given {
            return Err(UsageError::Other(format!("--{flag} is for the servers of a --fleet\n  leave it out")));
        }
    }
    judge_once(args).map(|(_, code)| code)
}

/// One run with its reports, and its exit code.
pub(super) fn judge_once(args: &RunArgs) -> Result<(Report, u8), UsageError> {
    let args = &config::resolve(args)?;
    judge_resolved(args).map_err(|error| args.origins.place(error))
}

fn judge_resolved(args: &RunArgs) -> Result<(Report, u8), UsageError> {
    let mut options = plan(args)?;
    let cases = options.cases.clone();
    let shard = divide(args, &mut options)?;
    let sets = Sets::chosen(&args.requirements)?;
    let known = known(args, &cases)?;
    options.excused = excused(args, &options, &sets, known.as_ref());
    let specs = specs(&args.report)?;
    for spec in &specs {
        if let Some(path) = &spec.path {
            output::check_writable(path, "report")?;
        }
    }
    let mut report = perform(args, options, last_run(&specs))?;
    report.target.label.clone_from(&args.label);
    report.shard = shard;
    if shard.is_some() {
        // What a rule saw over one transport alone in this part, it may have seen over both in the whole.
        let is_rule = |name: &str| rules::rules().iter().any(|rule| rule.name == name);
        report.results.retain(|result| !(result.message.starts_with(DIFFER) && is_rule(&result.check)));
    }
    sets.mark(&mut report);
    if let Some(known) = known {
        hold_against(&mut report, known, args, &cases)?;
    }
    let fail_on = fail_on(args.fail_on);
    let policy = Policy { fail_on, max_unverified: args.max_unverified, asked: args.revision.clone() };
    let exit = exit::decide(&report, &policy);
    report.policy = Some(policy);
    write_reports(&specs, &report, args, exit)?;
    Ok((report, exit.code()))
}

/// How long the run took whose result file this one will replace.
fn last_run(specs: &[ReportSpec]) -> Option<Duration> {
    // Only a bar on a terminal asks for it.
    if !io::stderr().is_terminal() {
        return None;
    }
    let path = result_file(specs)?;
    let report = mcp_conform_reports::json::read_from(std::fs::File::open(path).ok()?).ok()?;
    Duration::try_from_secs_f64(report.cost.took_s).ok().filter(|time| !time.is_zero())
}

/// The file that keeps the whole result.
fn result_file(specs: &[ReportSpec]) -> Option<&PathBuf> {
    specs.iter().filter(|spec| spec.format.renderer().name() == "json").find_map(|spec| spec.path.as_ref())
}

/// The run itself, with progress and Ctrl-C.
pub(super) fn perform(args: &RunArgs, options: RunOptions, last: Option<Duration>) -> Result<Report, UsageError> {
    process::become_subreaper();
    process::begin();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| UsageError::Other(format!("the runtime could not be started: {error}")))?;
    let bar = progress_bar(args.quiet);
    let (stop, stopped) = watch::channel(None);
    let cases = options.cases.clone();
    let repro = options.repro.clone();
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut report = runtime.block_on(async {
        tokio::spawn(interrupts(stop));
        let shown = bar.clone();
        let progress = Arc::new(move |progress: Progress| show_progress(&shown, &progress, last));
        run(options, Control { progress, stop: stopped }).await
    });
    bar.finish_and_clear();
    // Blocked reads of standard input or a name look-up must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    report.started = Some(started);
    report.features = features(&cases.iter().map(Arc::as_ref).collect::<Vec<_>>());
    tell_missing(&mut report, &args.revision, &repro);
    Ok(report)
}

pub(crate) fn fail_on(level: Option<FailOn>) -> exit::FailOn {
    match level.unwrap_or(FailOn::Fail) {
        FailOn::Fail => exit::FailOn::Fail,
        FailOn::Warn => exit::FailOn::Warn,
        FailOn::Never => exit::FailOn::Never,
    }
}

/// Leaves the cases of one part. The rules look at what they see in every part.
fn divide(args: &RunArgs, options: &mut RunOptions) -> Result<Option<Shard>, UsageError> {
    let Some(text) = &args.shard else { return Ok(None) };
    let part: Part = text.parse()?;
    let chosen = |case: &&Arc<Case>| options.case_filter.is_empty() || options.case_filter.is_match(&case.id.node);
    let chosen: Vec<Arc<Case>> = options.cases.iter().filter(chosen).cloned().collect();
    let own: BTreeSet<String> = part.of_cases(chosen.iter().map(Arc::as_ref)).into_iter().map(str::to_owned).collect();
    options.cases.retain(|case| own.contains(&case.id.node));
    Ok(Some(part.shard(ShardKind::Cases, chosen.len())))
}

/// The known failures, checked before anything is started.
fn known(args: &RunArgs, cases: &[Arc<Case>]) -> Result<Option<baseline::File>, UsageError> {
    let Some(path) = &args.baseline else {
        if args.baseline_update {
            return Err(baseline::nothing_to_write());
        }
        return Ok(None);
    };
    if args.baseline_update && args.shard.is_some() {
        let help = "update with a run of all cases, without --shard";
        return Err(UsageError::Other(format!("--baseline-update would write one list a shard\n  {help}")));
    }
    if args.baseline_update {
        output::check_writable(path, "baseline")?;
    }
    // Not those of a part: a line may name a case of another one.
    baseline::File::load(path, cases, args.baseline_update).map(Some)
}

/// What --fail-fast does not stop at. The name that the server gives itself is not known yet.
fn excused(args: &RunArgs, options: &RunOptions, sets: &Sets, known: Option<&baseline::File>) -> Excused {
    let target = Target {
        status: TargetStatus::Ok,
        name: options.name.clone(),
        label: args.label.clone(),
        server: None,
        transports: Vec::new(),
        message: None,
        evidence: Vec::new(),
    };
    let listed = known.map(|known| known.excused(target));
    let sets = sets.clone();
    Excused(Arc::new(move |result| {
        sets.excuse(result).is_some() || listed.as_ref().is_some_and(|Excused(listed)| listed(result))
    }))
}

/// Excuses what is known, writes the list anew where that was asked for, and tells of lines that are needed no more.
fn hold_against(
    report: &mut Report,
    mut known: baseline::File,
    args: &RunArgs,
    cases: &[Arc<Case>],
) -> Result<(), UsageError> {
    known.mark(report)?;
    report.summary = Summary::of(&report.results);
    // The list is one for the whole fleet, which tells what is stale.
    if args.in_fleet {
        return Ok(());
    }
    let found = |result: &CheckResult| result.counted() == Some(Verdict::Fail);
    let stopped = args.fail_fast && report.results.iter().any(found);
    let partial = match report.shard {
        Some(_) => Some("one part of the cases was judged"),
        None => stopped.then_some("the run ended at its first failure"),
    };
    if let (true, Some(path)) = (args.baseline_update, &args.baseline) {
        match baseline::unfit(std::slice::from_ref(report)) {
            Some(why) => report.notes.push(format!("{} was not written: {why}", path.display())),
            None => {
                let (new, change) = known.update(std::slice::from_ref(report), args.fail_on, partial, cases)?;
                baseline::tell(path, &change, args.quiet);
                known = new;
                known.mark(report)?;
            }
        }
    }
    report.notes.extend(known.note());
    report.baseline = Some(known.settled(std::slice::from_ref(report), partial)?);
    report.summary = Summary::of(&report.results);
    Ok(())
}

/// A revision that was asked for by name and is not supported is a finding, in every report.
fn tell_missing(report: &mut Report, asked: &[String], repro: &Repro) {
    if report.target.status != TargetStatus::Ok || report.interrupted.is_some() {
        return;
    }
    for revision in asked {
        let Some(support) = report.revisions.iter().find(|support| support.revision == *revision && !support.supported)
        else {
            continue;
        };
        let transport = report.target.transports.first().cloned().unwrap_or_default();
        report.results.push(CheckResult {
            check: REVISION_ASKED_FOR.to_owned(),
            requirement: exit::REVISION_SUPPORTED.to_owned(),
            revision: revision.clone(),
            transport,
            verdict: Verdict::Fail,
            level: "MUST".to_owned(),
            subject: String::new(),
            part: None,
            message: format!("{revision} was asked for and is not supported: {}", support.how),
            evidence: Evidence {
                repro: revision.parse().ok().map(|revision| repro.command(revision, [])),
                ..Evidence::default()
            },
            occasions: 1,
            mild: None,
            fix: Some(format!("Serve {revision}, or leave out --revision {revision}.")),
            verify_with: None,
            excuse: None,
        });
        report.requirements.push(RequirementInfo {
            id: exit::REVISION_SUPPORTED.to_owned(),
            revision: revision.clone(),
            level: "MUST".to_owned(),
            grade: "fail".to_owned(),
            area: "own".to_owned(),
            text: "The server supports the revision that --revision asks for.".to_owned(),
            link: String::new(),
        });
    }
    report.summary = Summary::of(&report.results);
    mcp_conform_reports::order::sort(report);
}

/// The reports that were asked for, and the terminal's unless another one takes standard output.
pub(super) fn specs(asked: &[ReportSpec]) -> Result<Vec<ReportSpec>, UsageError> {
    let mut specs = asked.to_vec();
    let to_stdout = specs.iter().filter(|spec| spec.path.is_none()).count();
    if to_stdout > 1 {
        let help = "give all but one of them a file: --report FORMAT:PATH";
        return Err(UsageError::Other(format!("{to_stdout} reports want standard output\n  {help}")));
    }
    for (at, spec) in specs.iter().enumerate() {
        if let Some(path) = &spec.path
            && specs.iter().take(at).any(|other| other.path.as_ref() == Some(path))
        {
            let help = "give each a file of its own";
            return Err(UsageError::Other(format!("two reports want {}\n  {help}", path.display())));
        }
    }
    if to_stdout == 0 {
        specs.insert(0, ReportSpec { format: render::Format::terminal(), path: None });
    }
    Ok(specs)
}

/// Every report that was asked for.
pub(super) fn write_reports(
    specs: &[ReportSpec],
    report: &Report,
    args: &RunArgs,
    exit: Exit,
) -> Result<(), UsageError> {
    let detail = match (args.quiet, args.verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Verbose,
        _ => Detail::Normal,
    };
    // Commands that play a finding again name the file that it stands in.
    let result = result_file(specs).map(|path| quoted(&path.to_string_lossy()));
    for spec in specs {
        let options = Options { detail, exit: Some(exit), result: result.clone(), ..Options::default() };
        let renderer = spec.format.renderer();
        output::write(spec.path.as_deref(), "report", options, |options, out| renderer.render(report, options, out))?;
    }
    Ok(())
}

fn progress_bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:30}] {pos}/{len} {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn show_progress(bar: &ProgressBar, progress: &Progress, last: Option<Duration>) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    let left = match time_left(progress, bar.elapsed(), last) {
        Some(left) => format!(", about {} s left", left.as_secs().max(1)),
        None => String::new(),
    };
    bar.set_message(format!("{}{left}", progress.what));
}

/// What is left by the last run, as long as this one is no slower; else by what is done, once that says something.
fn time_left(progress: &Progress, elapsed: Duration, last: Option<Duration>) -> Option<Duration> {
    /// The part of the cases that has to be done before it is judged by.
    const TELLING: f64 = 0.1;
    if progress.total == 0 || progress.done >= progress.total {
        return None;
    }
    let done = progress.done as f64 / progress.total as f64;
    if let Some(left) = last.and_then(|last| last.checked_sub(elapsed)).filter(|left| !left.is_zero()) {
        return Some(left);
    }
    (done >= TELLING).then(|| elapsed.mul_f64((1.0 - done) / done))
}

/// The first Ctrl-C (or TERM) ends the run with a report; the second ends at once.
pub(super) async fn interrupts(stop: watch::Sender<Option<String>>) {
    let Some(mut signals) = Signals::new() else { return };
    signals.next().await;
    stop.send_replace(Some("interrupted".to_owned()));
    signals.next().await;
    process::end_all().await;
    #[expect(clippy::exit, reason = "the second Ctrl-C: nothing more is to be said")]
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

/// What asks the run to end. Made once, so that no signal falls between two waits.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Nothing where the system gives no handler: then a signal simply ends the process.
    pub(crate) fn new() -> Option<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt()).ok()?;
        let terminate = signal(SignalKind::terminate()).ok()?;
        Some(Self { interrupt, terminate })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> Option<Self> {
        Some(Self)
    }

    pub(crate) async fn next(&mut self) {
        // Without a handler there is nothing to wait for; the run ends by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_last_run_or_of_what_is_done() {
        let seconds = Duration::from_secs;
        let at = |done| Progress { done, total: 100, what: String::new() };
        assert_eq!(time_left(&at(1), seconds(2), None), None, "too early to tell");
        assert_eq!(time_left(&at(50), seconds(10), None), Some(seconds(10)));
        assert_eq!(time_left(&at(1), seconds(2), Some(seconds(30))), Some(seconds(28)));
        assert_eq!(time_left(&at(50), seconds(40), Some(seconds(30))), Some(seconds(40)), "slower than the last one");
        assert_eq!(time_left(&at(100), seconds(40), None), None);
    }
}

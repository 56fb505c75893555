//! `mcp-conform fuzz`: a campaign against a server, and its findings once more.

use std::{
    io::{self, IsTerminal, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mcp_conform_reports::{
    exit::{self, Exit},
    model::Report,
};
use tokio::sync::watch;

use super::{
    args::{FuzzArgs, FuzzCommand, RunArgs},
    config,
    error::UsageError,
    judge_server::{fail_on, interrupts, specs, write_reports},
    misfits::for_fuzzing,
    output,
    plan::plan,
};
use crate::{
    fuzz::{Finding, FuzzControl, FuzzError, FuzzOptions, Status, fuzz, inputs, replay},
    process,
};

/// Attempts by which a finding is confirmed.
const CONFIRM: u32 = 5;

pub(crate) fn fuzz_server(args: &FuzzArgs) -> Result<u8, UsageError> {
    if let Some(FuzzCommand::Replay { dir, run }) = &args.command {
        return replay_findings(dir, run);
    }
    let run = config::resolve(&args.run)?;
    let options = options(args, &run)?;
    let specs = specs(&run.report)?;
    for spec in &specs {
        if let Some(path) = &spec.path {
            output::check_writable(path, "report")?;
        }
    }
    let out = options.out.clone();
    let shown = status(run.quiet);
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let found = move |finding: &Finding| {
        let mut err = anstream::stderr().lock();
        let _ = writeln!(
            err,
            "\r\u{1b}[Kfound {}: {} ({} messages, seen {} of {})",
            finding.id, finding.message, finding.messages, finding.seen, finding.attempts
        );
    };
    let found: Arc<dyn Fn(&Finding) + Send + Sync> = if run.quiet { Arc::new(|_| ()) } else { Arc::new(found) };
    let outcome = block_on(shown, found, teller(run.verbose), |control| fuzz(options, control))?;
    if !run.quiet && io::stderr().is_terminal() {
        let _ = write!(anstream::stderr(), "\r\u{1b}[K");
    }
    let mut report: Report = outcome.report;
    report.started = Some(started);
    report.notes.push(format!("digest of the inputs: {}", outcome.digest));
    if !outcome.findings.is_empty() {
        let dir = out.join("findings").display().to_string();
        report.notes.push(format!("each finding has a case script, its trace and its smallest input in {dir}"));
    }
    mcp_conform_reports::order::sort(&mut report);
    let exit = decide(&report, &run);
    let policy = exit::Policy { fail_on: fail_on(run.fail_on), ..exit::Policy::default() };
    // A campaign that found nothing is clean, a run that judged nothing is not: whoever reads the file must not mix them.
    if exit::decide(&report, &policy) == exit {
        report.policy = Some(policy);
    }
    write_reports(&specs, &report, &run, exit)?;
    Ok(exit.code())
}

/// Interrupted or not, what counts is what was found; a night that was cut short and found nothing says so.
fn decide(report: &Report, run: &RunArgs) -> Exit {
    let fail_on = fail_on(run.fail_on);
    let counts = |verdict| match fail_on {
        exit::FailOn::Fail => verdict == mcp_conform_reports::model::Verdict::Fail,
        exit::FailOn::Warn => crate::fuzz::counts_as_finding(verdict),
        exit::FailOn::Never => false,
    };
    match &report.interrupted {
        _ if report.results.iter().any(|result| counts(result.verdict)) => Exit::Findings,
        Some(_) => Exit::Interrupted,
        None => Exit::Clean,
    }
}

fn replay_findings(dir: &Path, run: &RunArgs) -> Result<u8, UsageError> {
    let run = config::resolve(run)?;
    let mut options = base(&run)?;
    options.out = dir.to_owned();
    let replayed = block_on(Arc::new(|_| ()), Arc::new(|_: &Finding| ()), teller(run.verbose), |control| {
        replay(dir, options, control)
    })?;
    let mut out = anstream::stdout().lock();
    let mut still = false;
    let written: io::Result<()> = replayed.iter().try_for_each(|it| {
        let (finding, word) = (
            &it.finding,
            match it.seen {
                None => "not served any more".to_owned(),
                Some((0, attempts)) => format!("not seen in {attempts} attempts"),
                Some((seen, attempts)) => format!("seen in {seen} of {attempts} attempts"),
            },
        );
        still |= it.seen.is_some_and(|(seen, _)| seen > 0);
        writeln!(out, "{word:>26}  {}: {}", finding.id, finding.message)
    });
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(UsageError::Other(format!("standard output: {error}")));
        }
        _ => {}
    }
    Ok(if still { Exit::Findings } else { Exit::Clean }.code())
}

fn options(args: &FuzzArgs, run: &RunArgs) -> Result<FuzzOptions, UsageError> {
    let mut options = base(run)?;
    options.time = args.time;
    if args.max_findings == Some(0) {
        return Err(UsageError::flag("max-findings", "0", "nothing would be looked for", "give 1 or more"));
    }
    options.max_findings = args.max_findings;
    options.max_inputs = args.max_inputs;
    options.out.clone_from(&args.out);
    for dir in &args.corpus {
        if !dir.is_dir() {
            let shown = dir.display().to_string();
            return Err(UsageError::flag("corpus", shown, "is no folder", "name a folder with inputs of the fuzzer"));
        }
        let found = inputs(dir).map_err(|error| UsageError::Other(error.to_string()))?;
        if found.is_empty() {
            let remedy = "name a folder such as the `corpus` of a campaign; case scripts are given by --cases";
            return Err(UsageError::flag("corpus", dir.display().to_string(), "holds no inputs of the fuzzer", remedy));
        }
    }
    options.corpus.clone_from(&args.corpus);
    options.resume = args.resume;
    options.rss_limit = args.rss_limit.saturating_mul(1024 * 1024);
    Ok(options)
}

fn base(run: &RunArgs) -> Result<FuzzOptions, UsageError> {
    for_fuzzing(run)?;
    let plan = plan(run)?;
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let jobs = match run.jobs {
        Some(0) => return Err(UsageError::flag("jobs", "0", "nothing would run", "give 1 or more")),
        Some(jobs) => jobs.min(64),
        None => cores.min(8),
    };
    Ok(FuzzOptions {
        run: plan,
        time: None,
        max_findings: None,
        max_inputs: None,
        jobs,
        out: std::path::PathBuf::new(),
        corpus: Vec::new(),
        resume: false,
        rss_limit: 2048 * 1024 * 1024,
        confirm: CONFIRM,
    })
}

fn block_on<T, F>(
    status: Arc<dyn Fn(Status) + Send + Sync>,
    found: Arc<dyn Fn(&Finding) + Send + Sync>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    work: impl FnOnce(FuzzControl) -> F,
) -> Result<T, UsageError>
where
    F: Future<Output = Result<T, FuzzError>>,
{
    process::become_subreaper();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| UsageError::Other(format!("the runtime could not be started: {error}")))?;
    let (stop, stopped) = watch::channel(None);
    let done = runtime.block_on(async {
        tokio::spawn(interrupts(stop));
        work(FuzzControl { status, found, tell, stop: stopped }).await
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    done.map_err(|error| UsageError::Other(error.to_string()))
}

/// With --verbose, a line for whatever is looked into.
fn teller(verbose: bool) -> Arc<dyn Fn(&str) + Send + Sync> {
    if !verbose {
        return Arc::new(|_| ());
    }
    Arc::new(|what| {
        let what: String = what.chars().take(400).collect();
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(anstream::stderr().lock(), "{what}");
    })
}

/// A line on the terminal that is written over each second, or a line a minute elsewhere.
fn status(quiet: bool) -> Arc<dyn Fn(Status) + Send + Sync> {
    if quiet {
        return Arc::new(|_| ());
    }
    let terminal = io::stderr().is_terminal();
    let last: Mutex<Option<(Instant, u64)>> = Mutex::default();
    Arc::new(move |status: Status| {
        const MINUTE: Duration = Duration::from_secs(60);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if !terminal && last.is_some_and(|(at, _)| at.elapsed() < MINUTE) {
            return;
        }
        let rate = match *last {
            Some((at, before)) => {
                (status.requests.saturating_sub(before)) as f64 / at.elapsed().as_secs_f64().max(0.001)
            }
            None => status.requests as f64 / status.elapsed.as_secs_f64().max(0.001),
        };
        *last = Some((Instant::now(), status.requests));
        let looking = status.looking_into.as_ref().map(|what| format!("  looking into {what}")).unwrap_or_default();
        let line = format!(
            "{:>6.0} s  {rate:.0} messages/s  {} inputs  {} states  {} kept  {} findings{looking}",
            status.elapsed.as_secs_f64(),
            status.inputs,
            status.states,
            status.corpus,
            status.findings
        );
        let line: String = line.chars().take(110).collect();
        let mut err = anstream::stderr().lock();
        // Where standard error is closed there is nobody to tell.
        let _ =
            if terminal { write!(err, "\r\u{1b}[K{line}").and_then(|()| err.flush()) } else { writeln!(err, "{line}") };
    })
}

/// A time such as `90s`, `10m` or `8h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text} is no time: write a number with s, m or h, such as 8h");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let number: f64 = number.trim().parse().map_err(|_| bad())?;
    let factor = match unit {
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(bad()),
    };
    let seconds = number * factor;
    if seconds.is_finite() && seconds > 0.0 && seconds < 1e8 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("8h"), Ok(Duration::from_secs(28_800)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("20"), Ok(Duration::from_secs(20)));
        for text in ["", "h", "-1s", "0s", "3 weeks", "1e99h", "nan"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}

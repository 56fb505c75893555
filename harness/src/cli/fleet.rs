//! `run --fleet FILE`: many servers, some at a time, each judged by a run of its own in a process of its own.
//!
//! A process each, because a run ends everything that it started, and because a server that brings one run down must not
//! cost the others theirs. What is started is what a user could type: `run --config FILE --name NAME`.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use mcp_conform_cases::ast::Case;
use mcp_conform_reports::{
    exit::{Exit, Policy, decide},
    html, join,
    json::{self, Json},
    matrix,
    model::{Report, ShardKind, Summary},
    render::{Options, Renderer},
    terminal,
};
use tokio::sync::watch;

use super::{
    args::RunArgs,
    baseline, config,
    error::UsageError,
    judge_server::{Signals, fail_on, specs},
    output,
    plan::{self, plan},
    shard::Part,
};

/// Where results go when no folder was named.
const RESULTS: &str = "mcp-conform-results";
/// How long members of a fleet may take to write what they have, once they were told to end.
const ENDING: Duration = Duration::from_secs(30);

/// One server of the fleet.
#[derive(Clone)]
struct Member {
    name: String,
    /// The stem of its files, unlike that of any other.
    stem: String,
    command: Vec<OsString>,
}

/// How the run of a member ended.
struct Ended {
    member: Member,
    exit: Exit,
    report: Option<Report>,
    /// What it said where it left no result.
    said: String,
}

pub(crate) fn judge_fleet(args: &RunArgs, file: &Path) -> Result<u8, UsageError> {
    let names = config::names(file)?;
    let kind = config::is_client(file)?;
    if !kind && (args.config.is_some() || args.no_config) {
        let help = "leave out --config and --no-config: the settings stand in the [run] of the fleet";
        return Err(UsageError::Other(format!("{} is a configuration itself\n  {help}", file.display())));
    }
    let part = args.shard.as_deref().map(str::parse::<Part>).transpose()?;
    if part.is_some() && args.baseline_update {
        let help = "update the whole fleet's at once, without --shard";
        return Err(UsageError::Other(format!("--baseline-update would write one list a shard\n  {help}")));
    }
    let specs = specs(&args.report)?;
    for spec in &specs {
        if !["terminal", "html", "markdown", "json"].contains(&spec.format.renderer().name()) {
            let help = "give terminal, html, markdown or json; mcp-conform report makes the others of one result";
            let name = spec.format.renderer().name();
            return Err(UsageError::flag("report", name, "does not tell of several servers", help));
        }
        if let Some(path) = &spec.path {
            output::check_writable(path, "report")?;
        }
    }
    let folder = args.results.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    let total = names.len();
    let names: Vec<String> = match part {
        Some(part) => names.into_iter().enumerate().filter(|(at, _)| part.has(*at)).map(|(_, name)| name).collect(),
        None => names,
    };
    std::fs::create_dir_all(&folder).map_err(|error| UsageError::Unwritable {
        path: folder.clone(),
        flag: "results",
        error,
    })?;
    let mut stems = BTreeSet::new();
    let mut members = Vec::new();
    let mut resolved = None;
    for name in names {
        let stem = stem(&name, &mut stems);
        // Everything is checked for every server before anything is started.
        let mut own = RunArgs { name: Some(name.clone()), trace: None, ..args.clone() };
        own.fleet = None;
        match kind {
            true => own.from = Some(file.to_owned()),
            false => own.config = Some(file.to_owned()),
        }
        let own = config::resolve(&own)?;
        let trace = args.trace.clone().or(own.trace.clone()).map(|dir| dir.join(&stem));
        plan(&RunArgs { trace: None, ..own.clone() }).map_err(|error| UsageError::Other(format!("{name}: {error}")))?;
        let result = folder.join(format!("{stem}.json"));
        output::check_writable(&result, "results")?;
        let command = command(args, file, kind, &name, trace.as_deref(), &result);
        members.push(Member { name, stem, command });
        resolved.get_or_insert(own);
    }
    let cases = plan::cases(&args.cases.dirs)?;
    let known = match resolved.as_ref().and_then(|own| own.baseline.as_ref()) {
        Some(path) => Some((path.clone(), baseline::File::load(path, &cases, args.baseline_update)?)),
        None if args.baseline_update => return Err(baseline::nothing_to_write()),
        None => None,
    };
    let own = resolved.unwrap_or_else(|| args.clone());
    let (ended, interrupted) = run(&members, &folder, args)?;
    let mut reports: Vec<Report> = Vec::new();
    let mut exits: Vec<Exit> = Vec::new();
    let mut problems = Vec::new();
    for ended in ended {
        match ended.report {
            Some(report) => reports.push(report),
            None => {
                exits.push(ended.exit);
                problems.push((ended.member.name, ended.said));
            }
        }
    }
    let shard = part.map(|part| part.shard(ShardKind::Servers, total));
    for report in &mut reports {
        report.shard = shard;
    }
    let fail_on = own.fail_on;
    if let Some((path, known)) = known {
        hold_against(&mut reports, known, &path, args, &own, &cases, !problems.is_empty() || interrupted)?;
    }
    for report in &mut reports {
        let policy =
            Policy { fail_on: self::fail_on(fail_on), max_unverified: own.max_unverified, asked: own.revision.clone() };
        exits.push(decide(report, &policy));
        report.policy = Some(policy);
        let stem = members.iter().find(|member| report.target.label.as_ref() == Some(&member.name)).map(|m| &m.stem);
        if let Some(stem) = stem {
            let path = folder.join(format!("{stem}.json"));
            output::write(Some(&path), "results", Options::default(), |options, out| {
                Json.render(report, options, out)
            })?;
        }
    }
    if interrupted {
        exits.push(Exit::Interrupted);
    }
    // An empty shard is no failure: there are more parts than servers.
    let exit = exits.into_iter().min().unwrap_or(Exit::Clean);
    let summary = terminal::fleet::Fleet { file: file.display().to_string(), problems, shard, exit };
    let write = |path: Option<&Path>, name: &str| {
        output::write(path, "report", Options { exit: Some(exit), ..Options::default() }, |options, out| match name {
            "html" => html::matrix::write(&reports, out),
            "markdown" => matrix::markdown(&reports, out),
            "json" => join::write(&reports, out),
            _ => terminal::fleet::write(&reports, &summary, options, out),
        })
    };
    write(Some(&folder.join("matrix.html")), "html")?;
    write(Some(&folder.join("matrix.md")), "markdown")?;
    for spec in &specs {
        write(spec.path.as_deref(), spec.format.renderer().name())?;
    }
    if !args.quiet {
        tell(&format!("results: {}", folder.display()));
    }
    Ok(exit.code())
}

/// The list of known failures is one for the whole fleet: a line is stale where no server needs it.
fn hold_against(
    reports: &mut [Report],
    mut known: baseline::File,
    path: &Path,
    args: &RunArgs,
    own: &RunArgs,
    cases: &[Arc<Case>],
    missing: bool,
) -> Result<(), UsageError> {
    for report in reports.iter_mut() {
        known.mark(report)?;
    }
    let partial = match reports.first().and_then(|report| report.shard) {
        Some(_) => Some("one shard of the fleet was judged"),
        None if missing => Some("not every server of the fleet has a result"),
        None => args.fail_fast.then_some("the servers may have been left at their first failure"),
    };
    if args.baseline_update {
        match baseline::unfit(reports).or(missing.then_some("not every server of the fleet has a result")) {
            Some(why) => tell(&format!("{} was not written: {why}", path.display())),
            None => {
                let (new, change) = known.update(reports, own.fail_on, partial, cases)?;
                baseline::tell(path, &change, args.quiet);
                known = new;
                for report in reports.iter_mut() {
                    known.mark(report)?;
                }
            }
        }
    }
    let settled = known.settled(reports, partial)?;
    for report in reports {
        report.notes.extend(known.note());
        report.baseline = Some(settled.clone());
        report.summary = Summary::of(&report.results);
    }
    Ok(())
}

/// Runs the members; what they left is theirs, and those that were not begun when the run was interrupted are left out.
fn run(members: &[Member], folder: &Path, args: &RunArgs) -> Result<(Vec<Ended>, bool), UsageError> {
    let broken = |error| UsageError::Other(format!("the runtime could not be started: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(broken)?;
    let own = std::env::current_exe()
        .map_err(|error| UsageError::Other(format!("the path of this binary cannot be found: {error}")))?;
    let jobs = match args.fleet_jobs {
        Some(0) => return Err(UsageError::flag("fleet-jobs", "0", "nothing would run", "give 1 or more")),
        Some(jobs) => jobs.min(256),
        None => std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
    };
    let (stop, stopped) = watch::channel(0_u8);
    let ended = runtime.block_on(async {
        tokio::spawn(async move {
            let Some(mut signals) = Signals::new() else { return };
            loop {
                signals.next().await;
                stop.send_modify(|count| *count = count.saturating_add(1));
            }
        });
        let running = members.iter().enumerate().map(|(at, member)| {
            let (own, stopped) = (own.clone(), stopped.clone());
            async move {
                if *stopped.borrow() > 0 {
                    return None;
                }
                let ended = member_run(&own, member, folder, stopped).await;
                if !args.quiet {
                    tell(&format!("{}/{} {}", at + 1, members.len(), line(&ended)));
                }
                Some(ended)
            }
        });
        stream::iter(running).buffered(jobs).filter_map(std::future::ready).collect::<Vec<_>>().await
    });
    let interrupted = *stopped.borrow() > 0;
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok((ended, interrupted))
}

async fn member_run(own: &Path, member: &Member, folder: &Path, mut stopped: watch::Receiver<u8>) -> Ended {
    let result = folder.join(format!("{}.json", member.stem));
    let failed = |said: String| Ended { member: member.clone(), exit: Exit::Bug, report: None, said };
    // What an earlier run left must not be taken for what this one found.
    if let Err(error) = std::fs::remove_file(&result)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return failed(format!("{} cannot be replaced: {error}", result.display()));
    }
    let mut command = tokio::process::Command::new(own);
    command.args(&member.command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    // In a group of its own a member is interrupted by us alone, and once: a terminal would tell each of them, too.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("its run could not be started: {error}")),
    };
    let mut stderr = child.stderr.take();
    let said = tokio::spawn(async move {
        const MOST: u64 = 64 * 1024;
        let mut text = Vec::new();
        if let Some(pipe) = stderr.as_mut() {
            use tokio::io::AsyncReadExt;
            // More is read and dropped, so that nobody waits for us.
            let _ = (&mut *pipe).take(MOST).read_to_end(&mut text).await;
            let _ = tokio::io::copy(pipe, &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut told = 0;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            changed = stopped.changed() => {
                let wanted = *stopped.borrow_and_update();
                if changed.is_err() || wanted == told {
                    // Nobody is left who could interrupt.
                    break child.wait().await;
                }
                told = wanted;
                end(&child);
                if told > 1 {
                    break tokio::time::timeout(ENDING, child.wait()).await.unwrap_or_else(|_| Err(std::io::Error::other("it did not end")));
                }
            }
        }
    };
    let said = said.await.unwrap_or_default();
    let code = status.ok().and_then(|status| status.code());
    let report = std::fs::File::open(&result).ok().and_then(|file| json::read_from(file).ok());
    let exit =
        code.and_then(Exit::of_code).filter(|exit| report.is_some() || *exit != Exit::Clean).unwrap_or(Exit::Bug);
    Ended { member: member.clone(), exit, report, said: said.trim().to_owned() }
}

/// Asks the run of a member to report what it has and to end.
#[cfg(unix)]
fn end(child: &tokio::process::Child) {
    use nix::{sys::signal, unistd::Pid};
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        // It may have ended by itself meanwhile.
        let _ = signal::kill(Pid::from_raw(pid), signal::Signal::SIGTERM);
    }
}

/// Where there are no process groups of this kind, the console has told the members already.
#[cfg(not(unix))]
fn end(_: &tokio::process::Child) {}

/// What is started for a member: nothing that a user could not type, and no value of a file on the command line.
fn command(
    args: &RunArgs,
    file: &Path,
    client: bool,
    name: &str,
    trace: Option<&Path>,
    result: &Path,
) -> Vec<OsString> {
    let mut out: Vec<OsString> = vec!["run".into()];
    let mut put = |flag: &str, value: &std::ffi::OsStr| {
        let mut word = OsString::from(format!("--{flag}="));
        word.push(value);
        out.push(word);
    };
    put(if client { "from" } else { "config" }, file.as_os_str());
    put("name", name.as_ref());
    let mut report = OsString::from("json:");
    report.push(result);
    put("report", &report);
    if let Some(dir) = trace {
        put("trace", dir.as_os_str());
    }
    for (flag, path) in [
        ("config", args.config.as_ref()),
        ("cwd", args.cwd.as_ref()),
        ("ca-file", args.ca_file.as_ref()),
        ("baseline", args.baseline.as_ref()),
    ] {
        if let Some(path) = path {
            put(flag, path.as_os_str());
        }
    }
    for dir in &args.cases.dirs {
        put("cases", dir.as_os_str());
    }
    let number = |value: Option<String>| value.into_iter().collect::<Vec<_>>();
    for (flag, values) in [
        ("profile", args.profile.iter().cloned().collect()),
        ("env", args.env.clone()),
        ("header", args.header.clone()),
        ("revision", args.revision.clone()),
        ("case", args.case.clone()),
        ("area", args.area.clone()),
        ("tools", args.tools.clone()),
        ("tool-args", args.tool_args.clone()),
        ("answer", args.answer.clone()),
        ("requirements", args.requirements.clone()),
        ("jobs", number(args.jobs.map(|value| value.to_string()))),
        ("timeout", number(args.timeout.map(|value| value.to_string()))),
        ("start-timeout", number(args.start_timeout.map(|value| value.to_string()))),
        ("max-time", number(args.max_time.map(|value| value.to_string()))),
        ("patience", number(args.patience.map(|value| value.to_string()))),
        ("seed", number(args.seed.map(|value| value.to_string()))),
        ("max-unverified", number(args.max_unverified.map(|value| value.to_string()))),
        ("fail-on", number(args.fail_on.map(|level| level.as_str().to_owned()))),
    ] {
        for value in values {
            put(flag, value.as_ref());
        }
    }
    for (flag, given) in [
        ("insecure", args.insecure),
        ("fail-fast", args.fail_fast),
        ("no-config", args.no_config),
        ("baseline-update", args.baseline_update),
        ("quiet", true),
        ("in-fleet", true),
    ] {
        if given {
            out.push(format!("--{flag}").into());
        }
    }
    out
}

/// A name that every file system takes, unlike those before it whatever their case.
fn stem(name: &str, taken: &mut BTreeSet<String>) -> String {
    const MOST: usize = 80;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut base: String = name.chars().take(MOST).map(plain).collect();
    if base.is_empty() || base.starts_with(['.', '-']) {
        base.insert(0, '_');
    }
    let mut stem = base.clone();
    let mut number = 1;
    while !taken.insert(stem.to_lowercase()) {
        number += 1;
        stem = format!("{base}-{number}");
    }
    stem
}

/// One line on how a member ended.
fn line(ended: &Ended) -> String {
    let name = &ended.member.name;
    match &ended.report {
        Some(report) => format!("{name}: {}", terminal::fleet::gist(report)),
        None => format!("{name}: no result: {}", ended.said.lines().next().unwrap_or("its run ended without a word")),
    }
}

fn tell(line: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{}", mcp_conform_reports::text::clean(line));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::args::Cli;

    /// A flag that is added to `run` is passed on, or left out on purpose.
    #[test]
    fn every_flag_reaches_the_members() {
        let args: Vec<OsString> = [
            "mcp-conform",
            "run",
            "--fleet=f",
            "--profile=p",
            "--env=A=b",
            "--cwd=.",
            "--header=A=b",
            "--ca-file=c",
            "--insecure",
            "--revision=r",
            "--case=c",
            "--area=a",
            "--cases=d",
            "--tools=none",
            "--tool-args=t={}",
            "--answer=m={}",
            "--jobs=1",
            "--timeout=1",
            "--start-timeout=1",
            "--max-time=1",
            "--patience=1",
            "--fail-fast",
            "--seed=1",
            "--fail-on=warn",
            "--max-unverified=1",
            "--baseline=b",
            "--baseline-update",
            "--requirements=r",
            "--trace=t",
        ]
        .map(OsString::from)
        .into();
        let cli = <Cli as clap::Parser>::try_parse_from(args).unwrap();
        let super::super::args::Command::Run(run) = cli.command else { panic!("no run") };
        let line = |run: &RunArgs, client| {
            let words = command(run, Path::new("f"), client, "n", Some(Path::new("t")), Path::new("r.json"));
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let with_config = RunArgs { config: Some("c".into()), ..(*run).clone() };
        let passed: BTreeSet<String> =
            [line(&run, false), line(&with_config, true), line(&RunArgs { no_config: true, ..(*run).clone() }, true)]
                .concat()
                .into_iter()
                .filter_map(|word| Some(word.strip_prefix("--")?.split('=').next()?.to_owned()))
                .collect();
        let not = "server url serve demo fault fleet fleet-jobs results shard verbose watch watch-path help"
            .split(' ')
            .collect::<Vec<_>>();
        let command = Cli::command();
        let known = command.find_subcommand("run").unwrap().get_arguments().filter_map(|arg| arg.get_long());
        for flag in known.filter(|flag| !not.contains(flag)) {
            assert!(passed.contains(flag), "--{flag} does not reach the members of a fleet");
        }
    }

    #[test]
    fn files_of_members_are_told_apart_and_stay_in_the_folder() {
        let mut taken = BTreeSet::new();
        let mut stem = |name: &str| stem(name, &mut taken);
        assert_eq!([stem("a"), stem("A"), stem("a/b"), stem("a b")], ["a", "A-2", "a_b", "a_b-2"]);
        assert_eq!([stem("../x"), stem(""), stem("-r")], ["_.._x", "_", "_-r"]);
    }
}

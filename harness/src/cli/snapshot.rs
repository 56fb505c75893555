//! `mcp-conform snapshot`: what a server answers is kept, compared, looked through and taken.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_conform_cases::ast::Case;
use mcp_conform_reports::{
    exit::Exit,
    text::{clean, plural},
};
use tokio::sync::watch;

use super::{
    args::{RunArgs, SnapshotCommand, TextFormat},
    config::{self, broken_with},
    differences::{self, apart},
    error::UsageError,
    judge_server::interrupts,
    misfits::for_snapshots,
    only::Only,
    output,
    plan::{own_cases, plan},
};
use crate::{
    process,
    run::{RunOptions, not_accepted},
    snapshot::{
        Finding, Idle, Proposal, Recorded, Rules, Shares, Sides, Store, StoreError, TakeError, Taken, View, What,
        between, compare, proposals, take,
    },
    trace::Transport,
    wire::JsonKind,
};

/// So long after the first time it is asked again: what counts seconds has gone on.
const APART: Duration = Duration::from_millis(1100);

pub(crate) fn snapshot(command: &SnapshotCommand) -> Result<u8, UsageError> {
    let done = match command {
        SnapshotCommand::Record { place, force, yes, run } => record(&place.dir, run, *force, *yes),
        SnapshotCommand::Check { place, only, format, run } => check(&place.dir, run, only, *format),
        SnapshotCommand::Review { place, only, run } => review(&place.dir, run, only),
        SnapshotCommand::Accept { place, only, run } => accept(&place.dir, run, only),
        SnapshotCommand::Diff { place, between, format, run } => diff(&place.dir, run, *between, *format),
    };
    match done {
        Ok(exit) => Ok(exit.code()),
        Err(Trouble::Usage(error)) => Err(error),
        Err(Trouble::Store(error)) => Err(of_store(error)),
        Err(Trouble::Interrupted) => Ok(Exit::Interrupted.code()),
        Err(Trouble::Server(error)) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            // Where standard error is closed there is nobody to tell.
            let _ = writeln!(anstream::stderr(), "{style}error{style:#}: {}", clean_lines(&error.to_string()));
            Ok(Exit::Unavailable.code())
        }
    }
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Server(#[from] TakeError),
    #[error("interrupted")]
    Interrupted,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Usage(UsageError::Other(format!("the terminal: {error}")))
    }
}

/// A server to ask, and the record to hold it against.
struct Job {
    options: RunOptions,
    own: Vec<Arc<Case>>,
    store: Store,
    rules: Rules,
    /// Where in the file of rules each of the user's begins.
    lines: Vec<usize>,
}

impl Job {
    fn new(dir: &Path, typed: &RunArgs) -> Result<Self, Trouble> {
        for_snapshots(typed)?;
        let run = config::resolve(typed)?;
        let options = plan(&run)?;
        let own = own_cases(&run.cases.dirs)?.into_iter().map(Arc::new);
        let chosen = |case: &Arc<Case>| options.case_filter.is_empty() || options.case_filter.is_match(&case.id.node);
        let own = own.filter(chosen).collect();
        let store = Store::at(dir)?;
        let file = store.rules()?;
        let rules = Rules::with(file.rules);
        Ok(Self { options, own, store, rules, lines: file.lines })
    }

    /// Whether a view is one that is asked for here.
    fn within(&self, view: &View) -> bool {
        let over = match view.transport {
            Transport::Http => self.options.http.is_some(),
            Transport::Stdio => self.options.stdio.is_some(),
        };
        over && self.options.revisions.contains(&view.revision)
    }

    /// Asks once what was recorded, and holds the server to its name.
    fn ask(&self, recorded: &Recorded) -> Result<Vec<Taken>, Trouble> {
        let taken = block_on(async { Ok(take(&self.options, &self.own, &self.rules, &recorded.views).await?) })?;
        let named = taken.iter().find_map(|taken| taken.server.as_deref());
        self.store.is_of(recorded, named)?;
        Ok(taken)
    }

    /// The user's rules that had no effect, each as a line.
    fn idle(&self, dir: &Path) -> Vec<String> {
        let file = dir.join(crate::snapshot::REDACTIONS);
        let line = |(at, idle): (usize, Idle)| {
            let what = match idle {
                Idle::NoAnswer => "no answer is called so",
                Idle::Nothing => "nothing in the answers is what it masks",
            };
            format!("{}:{}: {what}", file.display(), self.lines.get(at).copied().unwrap_or_default())
        };
        self.rules.idle().into_iter().map(line).collect()
    }

    /// Tools that did not take the arguments that were made up for them.
    fn not_reached(&self, taken: &[Taken]) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for kept in taken.iter().flat_map(|taken| &taken.view.answers).filter(|kept| kept.method == "tools/call") {
            let failed = kept.answer.get("error").is_some()
                || kept.answer.pointer("/result/isError").is_some_and(|is| matches!(is.kind, JsonKind::Bool(true)));
            let name = kept.params.as_ref().and_then(|params| params.get("name")?.as_str());
            let Some(name) = name.filter(|name| failed && !self.options.tool_args.contains_key(*name)) else {
                continue;
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| not_accepted(&names))
    }

    /// The record, masked as what is asked now: a rule that was added since counts for both.
    fn recorded(&self) -> Result<Recorded, Trouble> {
        let mut recorded = self.store.need()?;
        recorded.views.iter_mut().for_each(|view| self.rules.view(view));
        Ok(recorded)
    }
}

fn record(dir: &Path, typed: &RunArgs, force: bool, yes: bool) -> Result<Exit, Trouble> {
    let mut job = Job::new(dir, typed)?;
    let old = match job.store.load() {
        // What cannot be used is what --force is for.
        Err(_) if force => None,
        other => other?,
    };
    let mut old = old.unwrap_or_default();
    if !force {
        job.store.is_free(old.views.iter().filter(|view| job.within(view)))?;
    }
    old.views.retain(|view| !job.within(view));
    job.store.prepare()?;
    let (first, second) = block_on(async {
        let began = Instant::now();
        let first = take(&job.options, &job.own, &job.rules, &[]).await?;
        let views: Vec<View> = first.iter().map(|taken| taken.view.clone()).collect();
        tokio::time::sleep(APART.saturating_sub(began.elapsed())).await;
        let second = take(&job.options, &job.own, &job.rules, &views).await?;
        Ok((first, second))
    })?;
    let server = first.iter().find_map(|taken| taken.server.clone());
    if !old.views.is_empty() {
        job.store.is_of(&old, server.as_deref())?;
    }
    let second: Vec<View> = second.into_iter().map(|taken| taken.view).collect();
    let mut views: Vec<View> = first.iter().map(|taken| taken.view.clone()).collect();
    let proposed = proposals(&views, &second);
    let masked = choose(&proposed, yes)?;
    let rule_file = job.store.rules()?;
    let text = (!masked.is_empty()).then(|| rule_file.and(&masked));
    let idle = job.idle(dir);
    if let Some(text) = &text {
        let file = crate::snapshot::RuleFile::parse(Path::new(crate::snapshot::REDACTIONS), text.clone());
        job.rules = Rules::with(file.map_err(StoreError::from)?.rules);
        views.iter_mut().for_each(|view| job.rules.view(view));
    }
    let mut out = anstream::stdout();
    let named = server.as_deref().map_or_else(|| "the server".to_owned(), clean);
    writeln!(out, "Recorded {named} in {}", dir.display())?;
    for view in &views {
        writeln!(out, "  {}  {}", view.title(), plural(view.answers.len() as u64, "answer"))?;
    }
    let shares = Shares::of(&views);
    writeln!(out, "{}", differences::shares(&shares))?;
    if !masked.is_empty() {
        let file = dir.join(crate::snapshot::REDACTIONS);
        writeln!(out, "{} added to {}", plural(masked.len() as u64, "rule"), file.display())?;
    }
    tell_unsteady(&views, &mut out)?;
    let not_kept: Vec<_> = first.iter().flat_map(|taken| taken.not_kept.clone()).collect();
    differences::not_asked(&not_kept, &mut out)?;
    if let Some(what) = job.not_reached(&first) {
        writeln!(
            out,
            "Recorded as errors\n  {}\n    to reach them: record --force --tool-args NAME=JSON",
            clean(&what)
        )?;
    }
    differences::idle(&idle, &mut out)?;
    let mut all = old.views;
    all.extend(views);
    all.sort_by_key(|view| (view.revision, view.file()));
    job.store.write(&Recorded { server: server.or(old.server), views: all }, text.as_deref())?;
    Ok(Exit::Clean)
}

/// Definitions that do not stay the same while they are recorded: a host that asked once would not know.
fn tell_unsteady(views: &[View], out: &mut dyn Write) -> io::Result<()> {
    let mut told = false;
    for view in views {
        for kept in &view.answers {
            let Some(first) = kept.repeats().and_then(|first| view.answer(first)) else { continue };
            if !std::mem::replace(&mut told, true) {
                writeln!(out, "Definitions that do not stay the same from one time to the next")?;
            }
            writeln!(out, "  {}: {}", view.title(), clean(&kept.name))?;
            for difference in crate::snapshot::differences(&first.answer, &kept.answer) {
                writeln!(out, "    {}", differences::in_a_line(&difference))?;
            }
        }
    }
    Ok(())
}

/// Which of the proposed rules are to be added.
fn choose(proposed: &[Proposal], yes: bool) -> Result<Vec<Proposal>, Trouble> {
    if proposed.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = anstream::stdout();
    writeln!(out, "Asked twice, the server gave two answers in {}:", plural(proposed.len() as u64, "place"))?;
    let asks = !yes && io::stdin().is_terminal();
    if !asks {
        proposed.iter().try_for_each(|proposal| tell_proposal(proposal, &mut out))?;
        writeln!(out)?;
    }
    if yes {
        return Ok(proposed.to_vec());
    }
    if !asks {
        let help = format!(
            "look at them, and add rules for all of them by --yes, or others by hand to {}",
            crate::snapshot::REDACTIONS
        );
        let text =
            format!("what varies would differ in every check, and nobody can be asked; nothing was written\n  {help}");
        return Err(UsageError::Other(text).into());
    }
    let mut taken = Vec::new();
    let mut all = false;
    for proposal in proposed {
        tell_proposal(proposal, &mut out)?;
        if !all {
            match question("Mask it?", "y yes, n no, a all, q quit", &mut io::stdin().lock(), &mut out)? {
                Reply::Yes => {}
                Reply::No => continue,
                Reply::All => all = true,
                Reply::Quit => return Err(Trouble::Interrupted),
            }
        }
        taken.push(proposal.clone());
    }
    Ok(taken)
}

fn tell_proposal(proposal: &Proposal, out: &mut dyn Write) -> io::Result<()> {
    let place = proposal.pointer.as_deref().map(|pointer| format!(" {}", clean(pointer))).unwrap_or_default();
    let definition = if proposal.definition { ", in a definition" } else { "" };
    writeln!(out, "  {}{place}: {}{definition}", clean(&proposal.answer), proposal.reason)?;
    if let Some((first, second)) = &proposal.seen {
        let (first, second) = apart(first, second);
        writeln!(out, "    {first} and then {second}")?;
    }
    Ok(())
}

fn check(dir: &Path, typed: &RunArgs, only: &[String], format: TextFormat) -> Result<Exit, Trouble> {
    let only = Only::new(only)?;
    let job = Job::new(dir, typed)?;
    let recorded = job.recorded()?;
    let taken = job.ask(&recorded)?;
    let asked = || recorded.views.iter().filter(|view| job.within(view));
    only.means(asked(), &taken)?;
    let chosen = |finding: &Finding| only.takes(finding, asked().chain(taken.iter().map(|taken| &taken.view)));
    let compared = compare(&recorded.views, &taken, &|view| job.within(view), &mut |_| false);
    let findings: Vec<Finding> = compared.findings.into_iter().filter(|finding| chosen(finding)).collect();
    let reordered: Vec<Finding> = compared.reordered.into_iter().filter(|finding| chosen(finding)).collect();
    let not_kept: Vec<_> = taken.iter().flat_map(|taken| taken.not_kept.clone()).collect();
    let exit = if findings.is_empty() { Exit::Clean } else { Exit::Findings };
    if format == TextFormat::Json {
        output::print(&differences::json(&findings, &reordered, &not_kept))?;
        return Ok(exit);
    }
    let mut notes = Vec::new();
    differences::not_asked(&not_kept, &mut notes)?;
    let aside: Vec<String> = recorded.views.iter().filter(|view| !job.within(view)).map(View::title).collect();
    if !aside.is_empty() {
        writeln!(notes, "Recorded and not asked here: {}", aside.join(", "))?;
    }
    differences::reordered(&reordered, &mut notes)?;
    differences::idle(&job.idle(dir), &mut notes)?;
    if !notes.is_empty() {
        writeln!(notes)?;
    }
    let mut out = anstream::stdout();
    let told = differences::tell(&findings, &mut out).and_then(|()| {
        out.write_all(&notes)?;
        match findings.is_empty() {
            true => {
                let views: Vec<View> = taken.iter().map(|taken| only.of(&taken.view)).collect();
                let answers: usize = views.iter().map(|view| view.answers.len()).sum();
                writeln!(out, "{} as recorded", plural(answers as u64, "answer"))?;
                writeln!(out, "{}", differences::shares(&Shares::of(&views)))
            }
            false => {
                writeln!(out, "{}", differences::summary(&findings))?;
                writeln!(out, "If they are meant to be: mcp-conform snapshot review, or accept, with the same server")
            }
        }
    });
    closed_is_fine(told)?;
    Ok(exit)
}

fn accept(dir: &Path, typed: &RunArgs, only: &[String]) -> Result<Exit, Trouble> {
    let only = Only::new(only)?;
    take_into(dir, typed, &only, true, &mut |_| Ok(Reply::Yes))
}

fn review(dir: &Path, typed: &RunArgs, only: &[String]) -> Result<Exit, Trouble> {
    let only = Only::new(only)?;
    if !io::stdin().is_terminal() {
        let help = "look at the differences by check, take them by accept, or some of them by accept --only GLOB";
        return Err(UsageError::Other(format!("nobody can be asked: standard input is no terminal\n  {help}")).into());
    }
    let mut out = anstream::stdout();
    take_into(dir, typed, &only, false, &mut |finding| look_at(finding, &mut io::stdin().lock(), &mut out))
}

/// Shows one difference and asks what becomes of it.
fn look_at(finding: &Finding, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<Reply, Trouble> {
    writeln!(out)?;
    differences::tell(std::slice::from_ref(finding), out)?;
    question("Take it?", "y take, n leave, a take this and all that follow, q leave the rest", input, out)
}

/// Takes differences into the record, as the answers to them are; `order`: and another order of members without asking.
fn take_into(
    dir: &Path,
    typed: &RunArgs,
    only: &Only,
    order: bool,
    decide: &mut dyn FnMut(&Finding) -> Result<Reply, Trouble>,
) -> Result<Exit, Trouble> {
    let job = Job::new(dir, typed)?;
    let recorded = job.recorded()?;
    job.store.prepare()?;
    let asked = job.ask(&recorded)?;
    let known = || recorded.views.iter().filter(|view| job.within(view));
    only.means(known(), &asked)?;
    let mut decision = Decision::default();
    let mut reordered = 0;
    let compared = compare(&recorded.views, &asked, &|view| job.within(view), &mut |finding| {
        if !only.takes(finding, known().chain(asked.iter().map(|taken| &taken.view))) {
            return false;
        }
        if matches!(finding.what, What::MemberOrder) {
            reordered += usize::from(order);
            return order;
        }
        decision.on(|| decide(finding))
    });
    if let Some(trouble) = decision.trouble {
        return Err(trouble);
    }
    let mut views = compared.merged;
    views.sort_by_key(|view| (view.revision, view.file()));
    let server = asked.iter().find_map(|taken| taken.server.clone()).or(recorded.server);
    let mut out = anstream::stdout();
    if decision.taken + reordered > 0 {
        job.store.write(&Recorded { server, views }, None)?;
    }
    let left = compared.findings.len() - decision.taken;
    if reordered > 0 {
        let answers = plural(reordered as u64, "answer");
        closed_is_fine(writeln!(out, "Took the order of members of {answers} into {}", dir.display()))?;
    }
    let told = match (compared.findings.len(), left) {
        (0, _) if reordered > 0 => Ok(()),
        (0, _) => writeln!(out, "Nothing differs from the record"),
        (_, 0) => writeln!(out, "Took {} into {}", plural(decision.taken as u64, "difference"), dir.display()),
        _ => writeln!(
            out,
            "Took {} into {}, and left {left}",
            plural(decision.taken as u64, "difference"),
            dir.display()
        ),
    };
    closed_is_fine(told)?;
    Ok(if left == 0 { Exit::Clean } else { Exit::Findings })
}

/// Replies to one difference after another.
#[derive(Default)]
struct Decision {
    all: bool,
    done: bool,
    taken: usize,
    trouble: Option<Trouble>,
}

impl Decision {
    fn on(&mut self, ask: impl FnOnce() -> Result<Reply, Trouble>) -> bool {
        if self.done {
            return false;
        }
        let taken = self.all
            || match ask() {
                Ok(Reply::Yes) => true,
                Ok(Reply::No) => false,
                Ok(Reply::All) => {
                    self.all = true;
                    true
                }
                Ok(Reply::Quit) => {
                    self.done = true;
                    false
                }
                Err(trouble) => {
                    self.done = true;
                    self.trouble = Some(trouble);
                    false
                }
            };
        self.taken += usize::from(taken);
        taken
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
    All,
    Quit,
}

/// Asks until there is an answer; the end of the input is none, and leaves the rest.
fn question(what: &str, help: &str, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<Reply, Trouble> {
    loop {
        write!(out, "{what} [y/n/a/q] ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(Reply::Quit);
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Reply::Yes),
            "n" | "no" => return Ok(Reply::No),
            "a" | "all" => return Ok(Reply::All),
            "q" | "quit" => return Ok(Reply::Quit),
            _ => writeln!(out, "  {help}")?,
        }
    }
}

fn diff(dir: &Path, typed: &RunArgs, sides: Sides, format: TextFormat) -> Result<Exit, Trouble> {
    let named = typed.server.is_some()
        || typed.url.is_some()
        || typed.demo
        || typed.name.is_some()
        || typed.from.is_some()
        || !typed.command.is_empty();
    let views: Vec<View> = if named {
        let job = Job::new(dir, typed)?;
        let known = job.store.load()?.unwrap_or_default();
        job.ask(&Recorded { server: None, ..known })?.into_iter().map(|taken| taken.view).collect()
    } else {
        for_snapshots(typed)?;
        let store = Store::at(dir)?;
        let rules = Rules::with(store.rules()?.rules);
        let mut views = store.need()?.views;
        views.iter_mut().for_each(|view| rules.view(view));
        views
    };
    let pairs = between(&views, sides);
    if pairs.is_empty() {
        let there: Vec<String> = views.iter().map(View::title).collect();
        let help = "both sides have to be there: record over both transports, or name a server that serves both";
        let text = format!("there is nothing to compare: there is only {}\n  {help}", there.join(", "));
        return Err(UsageError::Other(text).into());
    }
    let differ =
        pairs.iter().any(|pair| !(pair.differences.is_empty() && pair.only_one.is_empty() && pair.only_two.is_empty()));
    if format == TextFormat::Json {
        output::print(&differences::pairs_json(&pairs))?;
    } else {
        let mut out = anstream::stdout();
        closed_is_fine(pairs.iter().try_for_each(|pair| differences::tell_pair(pair, &mut out)))?;
    }
    Ok(if differ { Exit::Findings } else { Exit::Clean })
}

fn of_store(error: StoreError) -> UsageError {
    use crate::snapshot::RuleFileError;
    match error {
        StoreError::Rules(RuleFileError::Toml { path, text, error }) => {
            let otherwise =
                "the README of mcp-conform shows a sound one, and so does the head of a file that record wrote";
            broken_with(&path, &text, &error, otherwise)
        }
        other => UsageError::Other(other.to_string()),
    }
}

/// A pager that was closed has seen enough.
fn closed_is_fine(written: io::Result<()>) -> Result<(), Trouble> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(UsageError::Other(format!("standard output: {error}")).into())
        }
        _ => Ok(()),
    }
}

fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Runs until it is done or interrupted; what was begun then is ended.
fn block_on<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    process::become_subreaper();
    process::begin();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| UsageError::Other(format!("the runtime could not be started: {error}")))?;
    let (stop, mut stopped) = watch::channel(None);
    let done = runtime.block_on(async {
        tokio::spawn(interrupts(stop));
        tokio::select! {
            done = work => done,
            _ = stopped.wait_for(Option::is_some) => {
                process::end_all().await;
                Err(Trouble::Interrupted)
            }
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_asked_for_until_there_is_one() {
        let asked = |text: &str| {
            let mut out = Vec::new();
            let reply = question("Take it?", "the help", &mut text.as_bytes(), &mut out).unwrap();
            (reply, String::from_utf8(out).unwrap())
        };
        assert_eq!(asked("y\n").0, Reply::Yes);
        assert_eq!(asked("N\n").0, Reply::No);
        assert_eq!(asked("").0, Reply::Quit);
        let (reply, told) = asked("what\nall\n");
        assert_eq!(reply, Reply::All);
        assert_eq!(told.matches("the help").count(), 1);
    }

    #[test]
    fn all_takes_what_follows_and_quit_leaves_it() {
        let taken = |replies: &[Reply]| {
            let mut decision = Decision::default();
            let mut replies = replies.iter();
            (0..4).map(|_| decision.on(|| Ok(*replies.next().unwrap()))).collect::<Vec<_>>()
        };
        assert_eq!(taken(&[Reply::No, Reply::All]), [false, true, true, true]);
        assert_eq!(taken(&[Reply::Yes, Reply::Quit]), [true, false, false, false]);
    }
}

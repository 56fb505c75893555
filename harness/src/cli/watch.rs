//! `mcp-conform run --watch`: judges again whenever a file of the server changes, and tells what that changed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use mcp_conform_reports::{
    key,
    model::{CheckResult, Report, Verdict},
    text,
};

use super::{
    args::RunArgs,
    config,
    error::UsageError,
    judge_server::{Signals, judge_once},
    output::print,
    plan::plan,
};
use crate::conversation::StdioTarget;

/// How often the files are looked at; they must then hold still for as long, because a build writes many.
const INTERVAL: Duration = Duration::from_millis(300);
/// Files that are looked at.
const MOST_FILES: usize = 20_000;
/// Folders that a build or a package manager fills: what the server is made of stands elsewhere.
const PASSED_OVER: [&str; 5] = ["__pycache__", "node_modules", "target", "venv", "dist-info"];
/// Verdicts that are told as changed.
const MOST_CHANGES: usize = 40;

/// Runs until Ctrl-C; the exit code is that of the last run.
pub(super) fn watch_server(args: &RunArgs) -> Result<u8, UsageError> {
    let files = watched(args)?;
    if files.is_empty() {
        let help = "name the files or folders that it is made of: --watch-path src";
        return Err(UsageError::Other(format!("nothing of the server can be watched\n  {help}")));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| UsageError::Other(format!("the runtime could not be started: {error}")))?;
    let mut before = state(&files);
    let (mut last, mut code) = judge_once(args)?;
    while last.interrupted.as_deref() != Some("interrupted") {
        let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        print(&format!("\nWatching {}. Ctrl-C ends.\n", text::list(shown.iter().map(String::as_str), 4)))?;
        let Some((changed, now)) = runtime.block_on(change(&files, &before)) else { break };
        before = now;
        print(&format!("\n{} changed: judging again\n\n", text::clean(&changed.display().to_string())))?;
        // A server that is being rebuilt may not be there for a moment: that ends nothing.
        match judge_once(args) {
            Ok((report, new)) => {
                print(&changes(&last, &report))?;
                (last, code) = (report, new);
            }
            Err(error) => {
                print(&format!("{error}\n"))?;
            }
        }
    }
    Ok(code)
}

/// The command's own file, the files among its arguments, and what the user names.
fn watched(args: &RunArgs) -> Result<Vec<PathBuf>, UsageError> {
    let mut files = Vec::new();
    for path in &args.watch_path {
        if !path.exists() {
            let help = "name a file or a folder of the server";
            return Err(UsageError::flag("watch-path", path.display().to_string(), "does not exist", help));
        }
        files.push(path.clone());
    }
    let options = plan(&config::resolve(args)?)?;
    let stdio = match &options.stdio {
        Some(StdioTarget::Process(spec)) => Some(spec),
        Some(StdioTarget::Memory(_)) | None => None,
    };
    let serve = options.http.as_ref().and_then(|http| http.serve.as_ref());
    for spec in stdio.into_iter().chain(serve) {
        let folder = spec.cwd.clone().unwrap_or_default();
        let words = std::iter::once(&spec.program).chain(&spec.args);
        // A program on the path is the system's; a word that is a file here is the server's.
        files.extend(words.map(|word| folder.join(word)).filter(|file| file.is_file()));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

type State = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

fn state(files: &[PathBuf]) -> State {
    let mut state = State::new();
    files.iter().for_each(|file| look(file, &mut state));
    state
}

fn look(path: &Path, state: &mut State) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if state.len() >= MOST_FILES {
        return;
    }
    if metadata.is_file() {
        state.insert(path.to_owned(), (metadata.modified().ok(), metadata.len()));
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A link to a folder may lead back to it.
        let link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !link && !name.starts_with('.') && !PASSED_OVER.contains(&name.as_ref()) {
            look(&entry.path(), state);
        }
    }
}

/// A file that changed, and how all of them stand when they hold still again; nothing at Ctrl-C.
async fn change(files: &[PathBuf], before: &State) -> Option<(PathBuf, State)> {
    let looking = async {
        let mut last = before.clone();
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = state(files);
            let still = now == last;
            last = now;
            if let (true, Some(file)) = (still, differs(before, &last)) {
                return (file, last);
            }
        }
    };
    match Signals::new() {
        Some(mut signals) => tokio::select! {
            changed = looking => Some(changed),
            () = signals.next() => None,
        },
        None => Some(looking.await),
    }
}

fn differs(before: &State, now: &State) -> Option<PathBuf> {
    let changed = now.iter().find(|(file, state)| before.get(*file) != Some(*state)).map(|(file, _)| file.clone());
    changed.or_else(|| before.keys().find(|file| !now.contains_key(*file)).cloned())
}

/// What a run came to otherwise than the one before it.
fn changes(before: &Report, now: &Report) -> String {
    let verdicts = |report: &Report| -> BTreeMap<String, (Verdict, String)> {
        let mut out: BTreeMap<String, (Verdict, String)> = BTreeMap::new();
        for result in &report.results {
            let entry = out.entry(key::place(result)).or_insert_with(|| (result.verdict, name(result)));
            entry.0 = entry.0.min(result.verdict);
        }
        out
    };
    let (old, new) = (verdicts(before), verdicts(now));
    let mut lines = Vec::new();
    for (place, (verdict, name)) in &new {
        let was = old.get(place).map(|(verdict, _)| *verdict);
        let told = key::is_finding(*verdict) || was.is_some_and(key::is_finding);
        if told && was != Some(*verdict) {
            let was = was.map_or("not judged", Verdict::as_str);
            lines.push(format!("  {was} -> {}: {name}", verdict.as_str()));
        }
    }
    for (_, (verdict, name)) in
        old.iter().filter(|(place, (verdict, _))| key::is_finding(*verdict) && !new.contains_key(*place))
    {
        lines.push(format!("  {} -> not judged: {name}", verdict.as_str()));
    }
    if lines.is_empty() {
        return "\nNo verdict changed.\n".to_owned();
    }
    let left = lines.len().saturating_sub(MOST_CHANGES);
    lines.truncate(MOST_CHANGES);
    if left > 0 {
        lines.push(format!("  and {left} more"));
    }
    format!("\nChanged since the run before:\n{}\n", lines.join("\n"))
}

fn name(result: &CheckResult) -> String {
    let subject = if result.subject.is_empty() { String::new() } else { format!(" on {}", result.subject) };
    let name =
        format!("{} by {}, {}, {}{subject}", result.requirement, result.check, result.revision, result.transport);
    text::clean(&text::bounded(&name, 200))
}

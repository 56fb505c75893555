//! The file of known failures: read with clear errors, held against a run, and written anew.
//!
//! What a line means is in `mcp_conform_reports::baseline`; here is only the file, `[[known]]` tables in TOML.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_conform_cases::{ast::Case, nearest};
use mcp_conform_reports::{
    baseline::{self, Known},
    exit::REVISION_SUPPORTED,
    model::{Baseline, BaselineEntry, Report, Standing, Target, TargetStatus, Verdict},
    render::Options,
};
use mcp_conform_schemas::Revision;
use serde::Deserialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{args::FailOn, config, error::UsageError, output};
use crate::{coverage::coverage, run::Excused};

/// The check of a revision that was asked for by name and is not supported.
pub(crate) const REVISION_ASKED_FOR: &str = "revision-asked-for";
/// The reason of lines that `--baseline-update` wrote.
const TODO: &str = "TODO";
const HEAD: &str = "\
# Failures that are known and do not fail a run. What is not listed does, and so does a line that is needed no more.
#
# check      a check, a requirement, or REQUIREMENT/CHECK as reports name them; a glob
# reason     why it is known
# revision, transport (stdio or http), server (a glob over its names), subject (a glob): where it is known; left out: everywhere

";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    #[serde(default)]
    known: Vec<toml::Spanned<Line>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Line {
    check: String,
    subject: Option<String>,
    server: Option<String>,
    revision: Option<String>,
    transport: Option<String>,
    reason: Option<String>,
}

/// A list of known failures, checked.
pub(crate) struct File {
    path: PathBuf,
    text: String,
    entries: Vec<BaselineEntry>,
    /// Lines that name nothing of the suite: an error, except where the list is written anew.
    unknown: Vec<UsageError>,
}

/// What a new list has that the old one had not, and the other way round.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) added: usize,
    pub(crate) kept: usize,
    pub(crate) removed: usize,
}

impl File {
    /// Reads and checks the list. One that is to be written need not be there.
    pub(crate) fn load(path: &Path, cases: &[Arc<Case>], update: bool) -> Result<Self, UsageError> {
        let text = match config::read_bounded(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && update => HEAD.to_owned(),
            Err(error) => {
                let help = "name another file by --baseline; --baseline-update writes one".to_owned();
                return Err(UsageError::Unreadable { path: path.to_owned(), error, help });
            }
        };
        let file = Self::parse(path, text, cases)?;
        match file.unknown.into_iter().next() {
            Some(error) if !update => Err(error),
            _ => Ok(Self { unknown: Vec::new(), ..file }),
        }
    }

    fn parse(path: &Path, text: String, cases: &[Arc<Case>]) -> Result<Self, UsageError> {
        let document: Document = toml::from_str(&text).map_err(|error| {
            let help = "each known failure is a table: [[known]], check = \"…\", reason = \"…\"";
            config::broken_with(path, &text, &error, help)
        })?;
        let names = names(cases);
        let mut entries: Vec<BaselineEntry> = Vec::new();
        let mut unknown = Vec::new();
        for line in document.known {
            let number = text.get(..line.span().start).unwrap_or_default().matches('\n').count() + 1;
            let entry = checked(path, number, line.into_inner())?;
            if let Some(same) = entries.iter().find(|known| same_place(known, &entry)) {
                let text = format!("stands in line {} already", same.line);
                return Err(wrong(path, &entry, &text, "take one of them out"));
            }
            if !means_something(path, &entry, &names)? {
                unknown.push(nothing(path, &entry, &names));
            }
            entries.push(entry);
        }
        Ok(Self { path: path.to_owned(), text, entries, unknown })
    }

    /// Excuses what is listed.
    pub(crate) fn mark(&self, report: &mut Report) -> Result<(), UsageError> {
        baseline::mark(report, &self.entries).map_err(|error| self.bad_glob(&error))
    }

    /// Whether a failure of a server is listed: for a run that stops at the first that is not.
    pub(crate) fn excused(&self, target: Target) -> Excused {
        let entries = self.entries.clone();
        Excused(Arc::new(move |result| baseline::lists(&entries, &target, result).unwrap_or_default()))
    }

    /// What the reports say of each line. `partial` tells why no line can be stale.
    pub(crate) fn settled(&self, reports: &[Report], partial: Option<&str>) -> Result<Baseline, UsageError> {
        let mut entries = self.entries.clone();
        baseline::settle(reports, &mut entries, partial).map_err(|error| self.bad_glob(&error))?;
        Ok(Baseline { file: self.path.display().to_string(), entries })
    }

    /// The note of a report on lines whose reason was never written.
    pub(crate) fn note(&self) -> Option<String> {
        let count = self.entries.iter().filter(|entry| entry.reason == TODO).count();
        let need = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        let verb = if count == 1 { "needs" } else { "need" };
        (count > 0).then(|| format!("{need} of {} still {verb} a reason instead of {TODO}", self.path.display()))
    }

    /// Writes the list anew from what was found: lines that are needed stay as they are, with their comments. Returns the
    /// new list.
    pub(crate) fn update(
        self,
        reports: &[Report],
        fail_on: Option<FailOn>,
        partial: Option<&str>,
        cases: &[Arc<Case>],
    ) -> Result<(Self, Change), UsageError> {
        let stands = self.settled(reports, partial)?;
        let names = names(cases);
        let mut document: DocumentMut = self.text.parse().map_err(|error: toml_edit::TomlError| {
            UsageError::Other(format!("{}: {}", self.path.display(), error.message()))
        })?;
        let mut change = Change::default();
        // Where there is no table, comments stand behind everything; they belong before what is written now.
        let mut before = if document.iter().next().is_none() {
            let head = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing("");
            head
        } else {
            String::new()
        };
        let tables = document.entry("known").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        // `known = [{…}]` is the same to a reader and cannot be added to with comments.
        if !tables.is_array_of_tables() {
            let owned = std::mem::take(tables);
            *tables = owned.into_array_of_tables().map_or_else(|other| other, Item::ArrayOfTables);
        }
        let Some(tables) = tables.as_array_of_tables_mut() else {
            let help = "write each known failure as a table of its own: [[known]]";
            return Err(UsageError::Other(format!("{}: known is no list of tables\n  {help}", self.path.display())));
        };
        for (index, entry) in stands.entries.iter().enumerate().rev() {
            if entry.standing == Standing::Stale || !means_something(&self.path, entry, &names)? {
                // What stands above the first line, with a blank line between, is about the whole file.
                if index == 0
                    && let Some(prefix) = tables.get(0).and_then(|table| table.decor().prefix()?.as_str())
                    && let Some((head, _)) = prefix.rsplit_once("\n\n")
                {
                    before = format!("{head}\n\n");
                }
                tables.remove(index);
                change.removed += 1;
            } else {
                change.kept += 1;
            }
        }
        if change.removed > 0
            && let Some(first) = tables.get_mut(0)
        {
            let own = first.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().trim_start();
            let prefix = format!("{}{own}", std::mem::take(&mut before));
            first.decor_mut().set_prefix(prefix);
        }
        let mut new = BTreeSet::new();
        for report in reports {
            // Between servers of a fleet a line has to say which one it means.
            let server = if reports.len() > 1 { report.target.label.clone() } else { None };
            for result in report.results.iter().filter(|result| result.excuse.is_none()) {
                let wanted = result.verdict == Verdict::Fail
                    || (result.verdict == Verdict::Warn && fail_on == Some(FailOn::Warn));
                if wanted {
                    let key = baseline::key(&result.check, &result.requirement);
                    new.insert((server.clone(), key, result.revision.clone(), result.transport.clone()));
                }
            }
        }
        for (server, check, revision, transport) in new {
            let mut table = Table::new();
            table.insert("check", value(globset::escape(&check)));
            if let Some(server) = server {
                table.insert("server", value(globset::escape(&server)));
            }
            table.insert("revision", value(revision));
            table.insert("transport", value(transport));
            table.insert("reason", value(TODO));
            let first = change.kept + change.added == 0;
            table.decor_mut().set_prefix(if first { std::mem::take(&mut before) } else { "\n".to_owned() });
            tables.push(table);
            change.added += 1;
        }
        if !before.is_empty() {
            document.set_trailing(before);
        }
        let text = document.to_string();
        output::write(Some(&self.path), "baseline", Options::default(), |_, out| out.write_all(text.as_bytes()))?;
        Ok((Self::parse(&self.path, text, cases)?, change))
    }

    fn bad_glob(&self, error: &globset::Error) -> UsageError {
        UsageError::Other(format!("{}: {error}\n  write a glob such as `tools-*`", self.path.display()))
    }
}

/// `--baseline-update` without a file.
pub(crate) fn nothing_to_write() -> UsageError {
    let help = "name the file: --baseline mcp-conform-known.toml, or baseline in the [run] of mcp-conform.toml";
    UsageError::Other(format!("--baseline-update has no file to write\n  {help}"))
}

/// Why the list must not be written from these reports.
pub(crate) fn unfit(reports: &[Report]) -> Option<&'static str> {
    if reports.iter().any(|report| report.interrupted.is_some()) {
        return Some("the run was interrupted");
    }
    reports.iter().any(|report| report.target.status != TargetStatus::Ok).then_some("a server could not be judged")
}

/// What the suite can say: a check, and a requirement that it judges in a revision.
struct Name {
    check: String,
    requirement: String,
    revision: String,
}

impl Name {
    fn fits(&self, known: &Known<'_>, entry: &BaselineEntry) -> bool {
        known.names(&self.check, &self.requirement)
            && entry.revision.as_ref().is_none_or(|revision| *revision == self.revision)
    }
}

fn names(cases: &[Arc<Case>]) -> Vec<Name> {
    let cases: Vec<&Case> = cases.iter().map(Arc::as_ref).collect();
    let mut out: Vec<Name> = coverage(&cases)
        .checks
        .into_iter()
        .flat_map(|check| {
            check.requirements.into_iter().filter_map(move |key| {
                let (revision, requirement) = key.split_once('/')?;
                let (revision, requirement) = (revision.to_owned(), requirement.to_owned());
                Some(Name { check: check.id.clone(), requirement, revision })
            })
        })
        .collect();
    out.extend(Revision::JUDGED.iter().map(|revision| Name {
        check: REVISION_ASKED_FOR.to_owned(),
        requirement: REVISION_SUPPORTED.to_owned(),
        revision: revision.to_string(),
    }));
    out
}

fn known<'a>(path: &Path, entry: &'a BaselineEntry) -> Result<Known<'a>, UsageError> {
    Known::new(entry).map_err(|error| wrong(path, entry, &error.to_string(), "write a glob such as `tools-*`"))
}

/// Whether a line names something of the suite.
fn means_something(path: &Path, entry: &BaselineEntry, names: &[Name]) -> Result<bool, UsageError> {
    let known = known(path, entry)?;
    Ok(names.iter().any(|name| name.fits(&known, entry)))
}

fn same_place(a: &BaselineEntry, b: &BaselineEntry) -> bool {
    let place = |entry: &BaselineEntry| {
        let BaselineEntry { check, subject, server, revision, transport, .. } = entry.clone();
        (check, subject, server, revision, transport)
    };
    place(a) == place(b)
}

fn checked(path: &Path, number: usize, line: Line) -> Result<BaselineEntry, UsageError> {
    let Line { check, subject, server, revision, transport, reason } = line;
    let entry = BaselineEntry {
        line: number as u64,
        check,
        subject,
        server,
        revision,
        transport,
        reason: reason.unwrap_or_default().trim().to_owned(),
        ..BaselineEntry::default()
    };
    if entry.reason.is_empty() {
        let help = "write why it fails and may: reason = \"…\"";
        return Err(wrong(path, &entry, "has no reason", help));
    }
    let judged: Vec<String> = Revision::JUDGED.iter().map(ToString::to_string).collect();
    for (key, given, known) in [
        ("revision", &entry.revision, judged.as_slice()),
        ("transport", &entry.transport, &["stdio".to_owned(), "http".to_owned()][..]),
    ] {
        if let Some(given) = given
            && !known.contains(given)
        {
            let help = match nearest(given, known.iter().map(String::as_str)).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known are {}", known.join(" and ")),
            };
            return Err(wrong(path, &entry, &format!("{key} {given} is not judged"), &help));
        }
    }
    known(path, &entry)?;
    Ok(entry)
}

fn nothing(path: &Path, entry: &BaselineEntry, names: &[Name]) -> UsageError {
    let all = names.iter().flat_map(|name| [name.check.as_str(), name.requirement.as_str()]);
    let elsewhere = BaselineEntry { revision: None, ..entry.clone() };
    let elsewhere = entry.revision.is_some()
        && Known::new(&elsewhere).is_ok_and(|known| names.iter().any(|name| name.fits(&known, &elsewhere)));
    let last = entry.check.split('/').next_back().unwrap_or_default();
    let help = match (elsewhere, nearest(&entry.check, all.clone()).first().or(nearest(last, all).first())) {
        (true, _) => "it is judged in another revision".to_owned(),
        (_, Some(near)) => format!("did you mean {near}? --baseline-update takes such lines out"),
        (_, None) => {
            "mcp-conform list and coverage show what there is; --baseline-update takes such lines out".to_owned()
        }
    };
    wrong(path, entry, "matches no check and no requirement that is judged", &help)
}

fn wrong(path: &Path, entry: &BaselineEntry, what: &str, help: &str) -> UsageError {
    UsageError::Other(format!("{}:{}: {} {what}\n  {help}", path.display(), entry.line, entry.check))
}

/// What was written, for standard error.
pub(crate) fn tell(path: &Path, change: &Change, quiet: bool) {
    if quiet {
        return;
    }
    let Change { added, kept, removed } = change;
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "wrote {}: {added} added, {kept} kept, {removed} taken out", path.display());
}

#[cfg(test)]
mod tests {
    use mcp_conform_cases::suite;

    use super::*;

    fn cases() -> Vec<Arc<Case>> {
        suite().iter().cloned().map(Arc::new).collect()
    }

    fn error(text: &str) -> String {
        let parsed = File::parse(Path::new("known.toml"), text.to_owned(), &cases());
        match parsed {
            Err(error) => error.to_string(),
            Ok(file) => file.unknown.first().map(ToString::to_string).unwrap_or_default(),
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_the_way_out() {
        let line = "[[known]]\ncheck = \"ping\"\n";
        for (text, told) in [
            (line.to_owned(), &["known.toml:1: ping has no reason", "reason = "][..]),
            (format!("{line}reason = \" \"\n"), &["has no reason"]),
            (format!("{line}reson = \"x\"\n"), &["known.toml:3", "unknown field `reson`", "did you mean reason?"]),
            ("\n[[knwon]]\n".to_owned(), &["known.toml:2", "did you mean known?"]),
            ("[[known]]\nreason = \"x\"\n".to_owned(), &["missing field `check`", "[[known]]"]),
            (format!("{line}reason = \"x\"\nrevision = \"2026-07-29\"\n"), &["did you mean 2026-07-28?"]),
            (format!("{line}reason = \"x\"\ntransport = \"pipe\"\n"), &["known are stdio and http"]),
            ("[[known]]\ncheck = \"a[\"\nreason = \"x\"\n".to_owned(), &["known.toml:1: a[", "write a glob"]),
            (
                "[[known]]\ncheck = \"ids-ecoed\"\nreason = \"x\"\n".to_owned(),
                &["matches no check and no requirement", "did you mean ids-echoed?"],
            ),
            (
                "[[known]]\ncheck = \"zzz*\"\nreason = \"x\"\n".to_owned(),
                &["matches no check and no requirement", "mcp-conform list"],
            ),
        ] {
            let error = error(&text);
            for part in told {
                assert!(error.contains(part), "{part:?} is not in {error:?}, which tells of {text}");
            }
        }
        let twice = format!("{line}reason = \"x\"\n").repeat(2);
        assert!(error(&twice).contains("known.toml:4: ping stands in line 1 already"), "{}", error(&twice));
        assert_eq!(error(&format!("{line}reason = \"x\"\n")), "");
        assert_eq!(error("[[known]]\ncheck = \"own/revision-supported\"\nreason = \"x\"\n"), "");
    }
}

//! Known failures: [`mark`] excuses what a list names, [`settle`] tells of each line whether it is needed still.
//!
//! Reading and writing the file is the caller's; what is known of a line goes into the report, so that every format can
//! tell it and joined parts can be held against the list again.

use globset::{Glob, GlobMatcher};

use crate::model::{BaselineEntry, CheckResult, Excuse, ExcuseKind, Report, Standing, Target, TargetStatus, Verdict};
use crate::text;

/// A line that can be held against results.
pub struct Known<'a> {
    entry: &'a BaselineEntry,
    check: GlobMatcher,
    subject: Option<GlobMatcher>,
    server: Option<GlobMatcher>,
}

impl<'a> Known<'a> {
    /// Fails when one of the globs is none; the error names it.
    pub fn new(entry: &'a BaselineEntry) -> Result<Self, globset::Error> {
        let glob = |text: &String| Glob::new(text).map(|glob| glob.compile_matcher());
        Ok(Self {
            entry,
            check: glob(&entry.check)?,
            subject: entry.subject.as_ref().map(glob).transpose()?,
            server: entry.server.as_ref().map(glob).transpose()?,
        })
    }

    /// Whether the line can mean anything that this check says of this requirement.
    pub fn names(&self, check: &str, requirement: &str) -> bool {
        [check, requirement, &key(check, requirement)].into_iter().any(|name| self.check.is_match(name))
    }

    /// By the name in a configuration, the one that the server gives itself (with or without its version), or the
    /// command or URL.
    fn means(&self, target: &Target) -> bool {
        let Some(glob) = &self.server else { return true };
        let own = target.server.as_deref();
        let bare = own.and_then(|name| Some(name.rsplit_once(' ')?.0));
        let names = [target.label.as_deref(), own, bare, Some(target.name.as_str())];
        names.into_iter().flatten().any(|name| glob.is_match(name))
    }

    fn matches(&self, result: &CheckResult) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        same(&self.entry.revision, &result.revision)
            && same(&self.entry.transport, &result.transport)
            && self.names(&result.check, &result.requirement)
            && self.subject.as_ref().is_none_or(|glob| glob.is_match(&result.subject))
    }
}

/// How a line names one check of one requirement.
pub fn key(check: &str, requirement: &str) -> String {
    format!("{requirement}/{check}")
}

/// Excuses what is broken and listed. Our own faults are never excused.
pub fn mark(report: &mut Report, entries: &[BaselineEntry]) -> Result<(), globset::Error> {
    let known = compiled(entries)?;
    let known: Vec<_> = known.iter().filter(|known| known.means(&report.target)).collect();
    for result in report.results.iter_mut().filter(|result| is_broken(result)) {
        if let Some(known) = known.iter().find(|known| known.matches(result)) {
            let reason = known.entry.reason.clone();
            result.excuse = Some(Excuse { kind: ExcuseKind::Known, reason, counts_as: None });
        }
    }
    Ok(())
}

/// Whether what is broken is listed.
pub fn lists(entries: &[BaselineEntry], target: &Target, result: &CheckResult) -> Result<bool, globset::Error> {
    Ok(compiled(entries)?.iter().any(|known| known.means(target) && known.matches(result)))
}

/// Tells of each line whether the reports need it still. `partial` says why lines cannot be stale here.
pub fn settle(reports: &[Report], entries: &mut [BaselineEntry], partial: Option<&str>) -> Result<(), globset::Error> {
    let told: Vec<_> = compiled(entries)?.iter().map(|known| stand(known, reports, partial)).collect();
    for (entry, (standing, results, why)) in entries.iter_mut().zip(told) {
        (entry.standing, entry.results, entry.why) = (standing, results, why);
    }
    Ok(())
}

fn compiled(entries: &[BaselineEntry]) -> Result<Vec<Known<'_>>, globset::Error> {
    entries.iter().map(Known::new).collect()
}

fn is_broken(result: &CheckResult) -> bool {
    matches!(result.verdict, Verdict::Fail | Verdict::Warn)
}

fn stand(known: &Known<'_>, reports: &[Report], partial: Option<&str>) -> (Standing, u64, String) {
    let meant: Vec<&Report> = reports.iter().filter(|report| known.means(&report.target)).collect();
    let results: Vec<&CheckResult> =
        meant.iter().flat_map(|report| &report.results).filter(|result| known.matches(result)).collect();
    let broken = results.iter().filter(|result| is_broken(result)).count() as u64;
    if broken > 0 {
        return (Standing::Used, broken, format!("{} broken still", text::plural(broken, "result")));
    }
    let open = |why: String| (Standing::Open, 0, why);
    if meant.is_empty() {
        return open("it is for another server".to_owned());
    }
    for report in &meant {
        if let Some(why) = &report.interrupted {
            return open(format!("the run was interrupted: {why}"));
        }
        if report.target.status != TargetStatus::Ok {
            return open("the server could not be judged".to_owned());
        }
    }
    if let Some(why) = partial {
        return open(why.to_owned());
    }
    let of = |wanted: &[Verdict]| results.iter().find(|result| wanted.contains(&result.verdict));
    // What was broken may be just what could not be judged this time.
    if let Some(result) = of(&[Verdict::NotVerified, Verdict::HarnessError]) {
        return open(format!("{} could not be judged: {}", result.requirement, result.message));
    }
    if let Some(result) = of(&[Verdict::Contested, Verdict::Advice]) {
        return (Standing::Stale, 0, format!("it is no failure any more: {}", result.verdict.as_str()));
    }
    if of(&[Verdict::Pass]).is_some() {
        return (Standing::Stale, 0, "it passes now".to_owned());
    }
    if let Some(result) = of(&[Verdict::NotApplicable]) {
        return open(format!("it does not apply: {}", result.message));
    }
    open(left_out(known.entry, &meant))
}

/// Why nothing was seen of what a line names.
fn left_out(entry: &BaselineEntry, meant: &[&Report]) -> String {
    let ran = |transport: &str| meant.iter().any(|report| report.target.transports.iter().any(|ran| ran == transport));
    let judged =
        |revision: &str| meant.iter().any(|report| report.results.iter().any(|result| result.revision == revision));
    match (&entry.transport, &entry.revision) {
        (Some(transport), _) if !ran(transport) => format!("the run was not over {transport}"),
        (_, Some(revision)) if !judged(revision) => format!("{revision} was not judged"),
        _ => "the run left it out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_check_a_requirement_or_both() {
        let names = |glob: &str, check: &str, requirement: &str| {
            let entry = BaselineEntry { check: glob.to_owned(), ..BaselineEntry::default() };
            Known::new(&entry).expect("a glob").names(check, requirement)
        };
        for glob in ["ping-answered", "ping", "ping-answered/ping", "pi*", "ping-*/p?ng"] {
            assert!(names(glob, "ping", "ping-answered"), "{glob}");
        }
        for glob in ["pong", "ping-answered/pong", "ping/ping-answered", "ing"] {
            assert!(!names(glob, "ping", "ping-answered"), "{glob}");
        }
        assert!(names("own/*", "mine", "own/mine"));
    }
}

//! A result as lines of plain text, for the formats that have one field for all of it.

use std::collections::BTreeMap;

use crate::excerpt;
use crate::model::{Baseline, BaselineEntry, CheckResult, Excerpt, Excuse, Report, RequirementInfo, Standing};
use crate::text;

/// Characters of a message.
pub(crate) const MESSAGE: usize = 1_000;
/// Characters of a command to be copied.
const COMMAND: usize = 4_000;
/// A shell line is whole or of no use.
const BY_HAND: usize = 20_000;
/// Columns and rows of an excerpt.
const COLUMNS: usize = 100;
const ROWS: usize = 8;
/// Lines of an excerpt's head.
const HEAD: usize = 12;

/// What each result is called in a list of all, in the order of `results`: no two names are the same. A part is named
/// where the rest does not tell a result from another, a number where nothing does.
pub(crate) fn names(results: &[&CheckResult]) -> Vec<String> {
    let mut count: BTreeMap<(&str, String), u32> = BTreeMap::new();
    for result in results {
        *count.entry((&result.revision, name(result))).or_default() += 1;
    }
    let mut seen: BTreeMap<(&str, String), u32> = BTreeMap::new();
    let called = results.iter().map(|result| {
        let mut called = name(result);
        let alone = count.get(&(result.revision.as_str(), called.clone())).is_none_or(|count| *count < 2);
        if let Some(part) = result.part.as_deref().filter(|_| !alone) {
            called.push_str(&text::clean(&format!(", {}", text::bounded(part, 200))));
        }
        let number = seen.entry((&result.revision, called.clone())).or_default();
        *number += 1;
        if *number > 1 {
            called.push_str(&format!(" ({number})"));
        }
        called
    });
    called.collect()
}

/// The requirement, what was judged, over which transport and by what.
fn name(result: &CheckResult) -> String {
    let mut name = text::bounded(&result.requirement, 200);
    if !result.subject.is_empty() {
        name.push_str(&format!(" [{}]", text::bounded(&result.subject, 200)));
    }
    name.push_str(&format!(" over {} by {}", text::bounded(&result.transport, 40), text::bounded(&result.check, 200)));
    text::clean(&name)
}

pub(crate) fn message(result: &CheckResult) -> String {
    text::clean(&text::bounded(&result.message, MESSAGE))
}

/// Why something was not judged, and the flag that would judge it.
pub(crate) fn open(result: &CheckResult) -> String {
    match &result.verify_with {
        Some(flag) => format!("{} (to verify: {})", message(result), text::clean(&text::bounded(flag, MESSAGE))),
        None => message(result),
    }
}

/// What a line of the baseline names.
pub(crate) fn entry(entry: &BaselineEntry) -> String {
    let parts = [&entry.revision, &entry.transport, &entry.server, &entry.subject];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    let places = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{}{places}", entry.check)
}

/// Why a line of the baseline fails the run, in one cleaned line.
pub(crate) fn stale(file: &str, entry: &BaselineEntry) -> String {
    let line = format!("{file}:{} {}: {}", entry.line, self::entry(entry), entry.why);
    text::clean(&text::bounded(&line, MESSAGE))
}

/// The lines of the baseline that fail the run.
pub(crate) fn stales(report: &Report) -> Vec<String> {
    let of =
        |baseline: &Baseline| baseline.standing(Standing::Stale).map(|entry| stale(&baseline.file, entry)).collect();
    report.baseline.as_ref().map(of).unwrap_or_default()
}

/// Everything that mends or proves a finding, one cleaned line each.
pub(crate) fn lines(report: &Report, result: &CheckResult) -> Vec<String> {
    let mut out = Vec::new();
    let mut put = |label: &str, text: &str, limit: usize| {
        if !text.is_empty() {
            out.push(format!("{label:<9} {}", text::clean(&text::bounded(text, limit))));
        }
    };
    if let Some(info) = report.requirement(&result.requirement, &result.revision) {
        put(&result.level, &info.text, MESSAGE);
        put("see", link(info).unwrap_or_default(), COMMAND);
    }
    put("found", &result.message, MESSAGE);
    put("mild", result.mild.as_deref().unwrap_or_default(), MESSAGE);
    put("counts", &result.excuse.as_ref().map(Excuse::told).unwrap_or_default(), MESSAGE);
    for (label, shown) in exchange(result) {
        let mut label = label;
        for line in shown.head.iter().take(HEAD) {
            put(label, line, 300);
            label = "";
        }
        let layout = excerpt::layout(shown, COLUMNS, ROWS);
        for row in &layout.rows {
            put(label, &row.text, usize::MAX);
            label = "";
            put("", row.carets.trim_end(), usize::MAX);
        }
        put("", &layout.rest, MESSAGE);
    }
    put("fix", result.fix.as_deref().unwrap_or_default(), MESSAGE);
    put("repro", result.evidence.repro.as_deref().unwrap_or_default(), COMMAND);
    put("by hand", result.evidence.by_hand.as_deref().unwrap_or_default(), BY_HAND);
    if let Some(trace) = &result.evidence.trace {
        put("trace", &format!("{}, event {}", text::bounded(&trace.file, 300), trace.event), MESSAGE);
    }
    out
}

/// The pieces of the exchange that are there, as they are told.
pub(crate) fn exchange(result: &CheckResult) -> impl Iterator<Item = (&'static str, &Excerpt)> {
    let evidence = &result.evidence;
    [("control", &evidence.control), ("sent", &evidence.sent), ("received", &evidence.received)]
        .into_iter()
        .filter_map(|(label, excerpt)| Some((label, excerpt.as_ref()?)))
}

/// The link of a requirement, if it is one that nothing can hide in: a result file may hold anything.
pub(crate) fn link(info: &RequirementInfo) -> Option<&str> {
    let link = info.link.as_str();
    let plain = link.starts_with("https://")
        && link.len() < 500
        && link.chars().all(|c| c.is_ascii_alphanumeric() || "/:.-_#?=%~".contains(c));
    plain.then_some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(link: &str) -> RequirementInfo {
        let empty = String::new;
        RequirementInfo {
            id: empty(),
            revision: empty(),
            level: empty(),
            grade: empty(),
            area: empty(),
            text: empty(),
            link: link.to_owned(),
        }
    }

    #[test]
    fn only_plain_links_are_links() {
        assert!(link(&info("https://modelcontextprotocol.io/specification/2026-07-28/basic/index#x")).is_some());
        assert!(link(&info("javascript:alert(1)")).is_none());
        assert!(link(&info("https://x/) ![y](https://z")).is_none());
    }
}

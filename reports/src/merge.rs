//! The same thing found many times, told once.
//!
//! [`merge_findings`] gathers what was found under one requirement over revisions, transports and subjects;
//! [`merge_by_reason`] gathers what was not judged by why it was not. Both borrow from the report and keep every result.

use std::collections::BTreeMap;

use crate::model::{CheckResult, Excuse, Report, RequirementInfo, Verdict};
use crate::order;

/// One requirement with one verdict, wherever it was found.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    pub verdict: Verdict,
    pub requirement: &'a str,
    pub level: &'a str,
    /// Why it does not count.
    pub excuse: Option<&'a Excuse>,
    /// Text and link for each revision in which it was found; empty when the report does not hold them.
    pub infos: Vec<&'a RequirementInfo>,
    /// The ways in which it shows, one a check and message.
    pub variants: Vec<Variant<'a>>,
}

impl<'a> Finding<'a> {
    pub fn text(&self) -> Option<&'a str> {
        self.infos.first().map(|info| info.text.as_str())
    }

    pub fn results(&self) -> impl Iterator<Item = &'a CheckResult> {
        self.variants.iter().flat_map(|variant| variant.results.iter().copied())
    }

    /// The fix, where all variants share one.
    pub fn fix(&self) -> Option<&'a str> {
        let mut fixes = self.results().map(|result| result.fix.as_deref());
        let first = fixes.next().flatten()?;
        fixes.all(|fix| fix == Some(first)).then_some(first)
    }
}

/// One message of one check, with every place where it was seen. Never empty.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// The result that shows most: the first one with an exchange as its evidence.
    pub shown: &'a CheckResult,
    pub results: Vec<&'a CheckResult>,
}

impl<'a> Variant<'a> {
    pub fn revisions(&self) -> Vec<&'a str> {
        distinct(self.results.iter().map(|result| result.revision.as_str()))
    }

    pub fn transports(&self) -> Vec<&'a str> {
        distinct(self.results.iter().map(|result| result.transport.as_str()))
    }

    /// What was judged, without the server as a whole.
    pub fn subjects(&self) -> Vec<&'a str> {
        distinct(self.results.iter().map(|result| result.subject.as_str()))
    }
}

/// What was not judged for one reason.
#[derive(Clone, Debug)]
pub struct Reason<'a> {
    pub message: &'a str,
    /// The flag or setting that would judge it.
    pub verify_with: Option<&'a str>,
    pub results: Vec<&'a CheckResult>,
}

impl<'a> Reason<'a> {
    pub fn requirements(&self) -> Vec<&'a str> {
        distinct(self.results.iter().map(|result| result.requirement.as_str()))
    }
}

/// Every result that says something about the server or about us, merged; the gravest first, then by area, requirement
/// and check.
pub fn merge_findings(report: &Report) -> Vec<Finding<'_>> {
    merge(report, |verdict| {
        matches!(verdict, Verdict::Fail | Verdict::HarnessError | Verdict::Warn | Verdict::Contested | Verdict::Advice)
    })
}

/// The results of the verdicts that `wanted` names, merged by requirement.
pub fn merge(report: &Report, wanted: impl Fn(Verdict) -> bool) -> Vec<Finding<'_>> {
    let infos: BTreeMap<_, _> =
        report.requirements.iter().map(|info| ((info.id.as_str(), info.revision.as_str()), info)).collect();
    let mut findings: Vec<(Finding<'_>, Variants<'_>)> = Vec::new();
    let mut places = BTreeMap::new();
    for result in order::sorted(report) {
        if !wanted(result.verdict) {
            continue;
        }
        let info = infos.get(&(result.requirement.as_str(), result.revision.as_str())).copied();
        // Two revisions may have worded one requirement differently: then each is told on its own.
        let text = info.map(|info| info.text.as_str());
        let key = (
            result.verdict,
            result.requirement.as_str(),
            result.level.as_str(),
            text,
            result.excuse.as_ref().map(Excuse::told),
        );
        let place = *places.entry(key).or_insert_with(|| {
            let finding = Finding {
                verdict: result.verdict,
                requirement: &result.requirement,
                level: &result.level,
                excuse: result.excuse.as_ref(),
                infos: Vec::new(),
                variants: Vec::new(),
            };
            findings.push((finding, Variants::new()));
            findings.len() - 1
        });
        let Some((finding, variants)) = findings.get_mut(place) else { continue };
        if let Some(info) = info
            && !finding.infos.iter().any(|known| known.revision == info.revision)
        {
            finding.infos.push(info);
        }
        let variant = *variants.entry((result.check.as_str(), shape(result))).or_insert_with(|| {
            finding.variants.push(Variant { shown: result, results: Vec::new() });
            finding.variants.len() - 1
        });
        if let Some(variant) = finding.variants.get_mut(variant) {
            if !has_exchange(variant.shown) && has_exchange(result) {
                variant.shown = result;
            }
            variant.results.push(result);
        }
    }
    let mut findings: Vec<_> = findings.into_iter().map(|(finding, _)| finding).collect();
    findings.sort_by_key(|finding| {
        let area = finding.infos.first().map(|info| info.area.as_str()).unwrap_or_default();
        (finding.verdict, finding.excuse.is_some(), area, finding.requirement)
    });
    findings
}

/// The results of one verdict by what their message gives as the reason; what the user can change first, then the
/// reason with the most results.
pub fn merge_by_reason(report: &Report, verdict: Verdict) -> Vec<Reason<'_>> {
    let mut reasons: Vec<Reason<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    for result in order::sorted(report) {
        if result.verdict != verdict {
            continue;
        }
        let key = (result.message.as_str(), result.verify_with.as_deref());
        let place = *places.entry(key).or_insert_with(|| {
            reasons.push(Reason { message: key.0, verify_with: key.1, results: Vec::new() });
            reasons.len() - 1
        });
        if let Some(reason) = reasons.get_mut(place) {
            reason.results.push(result);
        }
    }
    reasons.sort_by_key(|reason| (reason.verify_with.is_none(), std::cmp::Reverse(reason.results.len())));
    reasons
}

/// Where the variant of a check and a shape of message stands.
type Variants<'a> = BTreeMap<(&'a str, String), usize>;

fn has_exchange(result: &CheckResult) -> bool {
    result.evidence.sent.is_some() || result.evidence.received.is_some()
}

/// The message without the subject's name, so that ten tools with one fault read as one.
fn shape(result: &CheckResult) -> String {
    let (message, subject) = (result.message.as_str(), result.subject.as_str());
    if subject.is_empty() {
        return message.to_owned();
    }
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    let mut last = None;
    while let Some((before, after)) = rest.split_once(subject) {
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        out.push_str(before);
        if joined(before.chars().next_back().or(last)) || joined(after.chars().next()) {
            out.push_str(subject);
        } else {
            // A character that no message holds, so that no other message has this shape by chance.
            out.push('\u{0}');
        }
        last = subject.chars().next_back();
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Each item once, in the order of first sight, without empty ones.
fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    items.filter(|item| !item.is_empty() && seen.insert(*item)).collect()
}

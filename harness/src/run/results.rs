//! From verdicts of cases and observations of rules to the results of a report.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mcp_conform_cases::{Catalogue, Contested, Grade, Row};
use mcp_conform_reports::model::{CheckResult, ContestedInfo, Evidence, RequirementInfo, Verdict};
use mcp_conform_schemas::Revision;

use crate::{
    repro::Repro,
    rules::{self, Observation, Outcome, Violation},
    script::{CaseVerdict, Sources, Word, evidence},
    trace::{Event, Transport},
};

/// Where a verdict was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub revision: Revision,
    /// The version that ruled: an older legacy one switches off what came later.
    pub version: Revision,
    pub transport: Transport,
}

/// Begins the message of a requirement whose breach is told under another one, whose name follows.
pub const TOLD_UNDER: &str = "what breaks it here is told under ";

/// Distinct violations of one requirement that become results of their own; more are counted in the last.
const MOST_VIOLATIONS: usize = 10;

/// The verdict that the catalogue makes of a breach.
fn graded(row: &Row) -> Verdict {
    match row.grade {
        Grade::Fail => Verdict::Fail,
        Grade::Warn => Verdict::Warn,
        Grade::Advice | Grade::None | Grade::Tolerance => Verdict::Advice,
    }
}

/// The verdicts of one case with what tells those apart that are on one requirement and subject.
pub(super) fn told_apart(verdicts: Vec<CaseVerdict>) -> Vec<(Option<String>, CaseVerdict)> {
    let mut count: BTreeMap<(String, String), u32> = BTreeMap::new();
    for verdict in &verdicts {
        *count.entry((verdict.requirement.clone(), verdict.subject.clone())).or_default() += 1;
    }
    let mut seen: BTreeMap<(String, String, String), u32> = BTreeMap::new();
    let told = verdicts.into_iter().map(|verdict| {
        let (requirement, subject) = (verdict.requirement.clone(), verdict.subject.clone());
        if count.get(&(requirement.clone(), subject.clone())).is_none_or(|count| *count < 2) {
            return (None, verdict);
        }
        let number = seen.entry((requirement, subject, verdict.step.clone())).or_default();
        *number += 1;
        (Some(numbered(&format!("step {}", verdict.step), *number)), verdict)
    });
    told.collect()
}

/// What is like another gets a number.
fn numbered(name: &str, number: u32) -> String {
    if number < 2 { name.to_owned() } else { format!("{name}, {number}") }
}

/// What kind of violation a message tells of: without numbers and without what it quotes, which differ from run to run.
fn kind_of(message: &str) -> String {
    const LONGEST: usize = 100;
    let mut out = String::new();
    let mut quote: Option<char> = None;
    for c in message.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '`') => quote = Some(c),
            None if c.is_ascii_digit() => {}
            None => out.push(c),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect()
}

/// Why a breach of what a keyword demands only warns.
fn mild(row: &Row, verdict: Verdict) -> Option<String> {
    if verdict != Verdict::Warn || !row.level.as_str().starts_with("MUST") {
        return None;
    }
    let why = match (row.grade, row.provenance) {
        (Grade::Fail, _) => "this form of the breach counts as a warning at most",
        (_, "derived") => "the specification implies it, and does not say it with a keyword",
        (_, "declarative") => "the specification states it as a fact, without a keyword",
        (_, "lower-case") => "the specification writes the keyword in lower case",
        (_, "no keyword") => "the specification says it without a keyword",
        (_, "schema comment") => "only a comment of the schema says it",
        (_, "outside" | "rfc") => "it stands in another specification, which this one refers to",
        (_, "jsonrpc") => "JSON-RPC says it without a keyword",
        _ => "what is seen from outside does not prove it",
    };
    Some(format!("{why} (mcp-conform explain {}/{})", row.revision, row.id))
}

/// One result out of a case's verdict.
pub(super) fn of_case(check: &str, place: Place, verdict: CaseVerdict, verify_with: Option<String>) -> CheckResult {
    let row = Catalogue::get().row(&verdict.requirement, place.revision);
    let in_force = row.is_none_or(|row| row.since <= place.version);
    let (outcome, message) = match verdict.word {
        _ if !in_force => {
            let since = row.map_or(place.revision, |row| row.since);
            (Verdict::NotApplicable, format!("in force since {since}, and {} was negotiated", place.version))
        }
        // A user's own requirement has no row: what breaks it fails.
        Word::Broken => (row.map_or(Verdict::Fail, graded), verdict.message),
        Word::Warned => (row.map_or(Verdict::Warn, |row| graded(row).max(Verdict::Warn)), verdict.message),
        Word::Contested => (Verdict::Contested, verdict.message),
        Word::Harness => (Verdict::HarnessError, verdict.message),
        Word::NotVerified => (Verdict::NotVerified, verdict.message),
        Word::Pass => (Verdict::Pass, verdict.message),
    };
    result(check, &verdict.requirement, place, row, outcome, message, verdict.subject, verdict.evidence, verify_with)
}

/// A requirement that the target's design, the transport or the flags rule out, or that could not be provoked.
pub(super) fn left_out(
    check: &str,
    requirement: &str,
    place: Place,
    verdict: Verdict,
    reason: String,
    verify_with: Option<String>,
) -> CheckResult {
    let row = Catalogue::get().row(requirement, place.revision);
    result(check, requirement, place, row, verdict, reason, String::new(), Evidence::default(), verify_with)
}

#[expect(clippy::too_many_arguments, reason = "the members of one result, named at each call by their types")]
fn result(
    check: &str,
    requirement: &str,
    place: Place,
    row: Option<&Row>,
    verdict: Verdict,
    message: String,
    subject: String,
    evidence: Evidence,
    verify_with: Option<String>,
) -> CheckResult {
    let told = matches!(verdict, Verdict::Fail | Verdict::Warn | Verdict::Advice);
    CheckResult {
        check: check.to_owned(),
        requirement: requirement.to_owned(),
        revision: place.revision.to_string(),
        transport: place.transport.as_str().to_owned(),
        verdict,
        level: row.map_or("MUST", |row| row.level.as_str()).to_owned(),
        subject,
        part: None,
        message,
        evidence,
        occasions: 1,
        mild: row.and_then(|row| mild(row, verdict)),
        fix: told.then(|| row.and_then(Row::remedy).map(str::to_owned)).flatten(),
        verify_with,
        excuse: None,
    }
}

/// Observations of the rules over all conversations of one place.
#[derive(Debug, Default)]
pub(super) struct RuleTally {
    /// By rule and requirement.
    seen: BTreeMap<(&'static str, &'static str), Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    occasions: u64,
    broken: Vec<(String, Outcome, Evidence, u64)>,
    more: u64,
    /// Broken by bytes that break a requirement that says more about them, and told there.
    under: Option<&'static str>,
}

impl RuleTally {
    /// Adds what the rules saw in one conversation. Returns what of failure grade was broken, by rule and requirement.
    pub(super) fn add(
        &mut self,
        observations: Vec<Observation>,
        events: &[Arc<Event>],
        trace_file: Option<&str>,
        repro: &Repro,
    ) -> Vec<(&'static str, &'static str)> {
        let mut failed = Vec::new();
        for observation in observations {
            let seen = self.seen.entry((observation.rule, observation.requirement)).or_default();
            seen.occasions += observation.occasions;
            let row = Catalogue::get().row(observation.requirement, observation.revision);
            for violation in observation.violations {
                if violation.under.is_some() {
                    seen.under = violation.under;
                    continue;
                }
                if matches!(violation.outcome, Outcome::Broken) && row.is_some_and(|r| r.grade == Grade::Fail) {
                    failed.push((observation.rule, observation.requirement));
                }
                seen.add((observation.rule, observation.revision), violation, events, trace_file, repro);
            }
        }
        failed
    }

    /// One pass, or one result a distinct violation, for each requirement of the rules; not verified without an occasion.
    /// What belongs to a capability that is not declared is not applicable then, as it is for a case that needs it.
    pub(super) fn results(
        self,
        place: Place,
        capable: &dyn Fn(&str) -> bool,
        wanted: &dyn Fn(&str, &Row) -> bool,
    ) -> Vec<CheckResult> {
        let mut out = Vec::new();
        for info in rules::rules() {
            let names: BTreeSet<&'static str> = info
                .requirements
                .iter()
                .filter(|(_, revision)| *revision == place.revision)
                .map(|(id, _)| *id)
                .collect();
            for requirement in names {
                let Some(row) = Catalogue::get().row(requirement, place.revision) else { continue };
                if !wanted(info.name, row) || !row.applies_to(cases_transport(place.transport)) {
                    continue;
                }
                let seen = self.seen.get(&(info.name, requirement));
                let lacking = capability(row, place.version).filter(|path| !capable(path));
                out.extend(rule_results(info.name, requirement, place, row, (seen, lacking)));
            }
        }
        out
    }
}

impl Seen {
    fn add(
        &mut self,
        (rule, revision): (&str, Revision),
        violation: Violation,
        events: &[Arc<Event>],
        trace_file: Option<&str>,
        repro: &Repro,
    ) {
        let kind = violation.outcome;
        if let Some(known) = self.broken.iter_mut().find(|(m, k, ..)| *m == violation.message && *k == kind) {
            known.3 += 1;
            return;
        }
        if self.broken.len() >= MOST_VIOLATIONS {
            self.more += 1;
            return;
        }
        let sources = Sources {
            sent: violation.related,
            received: Some(violation.event),
            control: None,
            pointer: violation.pointer,
            span: violation.span,
        };
        let case = violation.step.as_ref().map(|step| step.case.as_str()).filter(|case| !case.is_empty());
        // The rule is named, too: a run of some cases judges by them alone.
        let command = repro.command(revision, case.into_iter().chain([rule]));
        let mut evidence = evidence(events, &sources, command, repro.by_hand(events, &sources, &[]));
        evidence.trace = trace_file
            .map(|file| mcp_conform_reports::model::TraceRef { file: file.to_owned(), event: violation.event });
        self.broken.push((violation.message, kind, evidence, 1));
    }
}

/// The server's capability whose features the rows of an area are about.
fn capability(row: &Row, version: Revision) -> Option<&'static str> {
    match row.area {
        "tools" => Some("tools"),
        "resources" => Some("resources"),
        "prompts" => Some("prompts"),
        "logging" => Some("logging"),
        "tasks" => Some("tasks"),
        // Before that it had no name, and might be served all the same.
        "completion" if version >= Revision::V2025_03_26 => Some("completions"),
        _ => None,
    }
}

/// What was seen of a requirement, and the capability that would bring it and is not declared.
fn rule_results(
    rule: &str,
    requirement: &str,
    place: Place,
    row: &Row,
    (seen, lacking): (Option<&Seen>, Option<&str>),
) -> Vec<CheckResult> {
    let make = |verdict, message, evidence, occasions| {
        let mut result = result(rule, requirement, place, Some(row), verdict, message, String::new(), evidence, None);
        result.occasions = occasions;
        result
    };
    if row.since > place.version {
        let message = format!("in force since {}, and {} was negotiated", row.since, place.version);
        return vec![make(Verdict::NotApplicable, message, Evidence::default(), 0)];
    }
    let Some(seen) = seen.filter(|seen| seen.occasions > 0 || !seen.broken.is_empty()) else {
        if let Some(path) = lacking {
            let message = format!("the server does not declare the capability {path}");
            return vec![make(Verdict::NotApplicable, message, Evidence::default(), 0)];
        }
        let message = "no message of the kind that this is about came".to_owned();
        return vec![make(Verdict::NotVerified, message, Evidence::default(), 0)];
    };
    if let (true, Some(other)) = (seen.broken.is_empty(), seen.under) {
        let message = format!("{TOLD_UNDER}{other}");
        return vec![make(Verdict::NotVerified, message, Evidence::default(), seen.occasions)];
    }
    if seen.broken.is_empty() {
        let message = format!("seen {} times, never broken", seen.occasions);
        return vec![make(Verdict::Pass, message, Evidence::default(), seen.occasions)];
    }
    let mut out = Vec::new();
    let parts = parts_of(&seen.broken.iter().map(|(message, ..)| message.as_str()).collect::<Vec<_>>());
    for (index, ((message, kind, evidence, count), part)) in seen.broken.iter().zip(parts).enumerate() {
        let more = if index + 1 == seen.broken.len() { seen.more } else { 0 };
        let mut message = message.clone();
        if *count > 1 {
            message.push_str(&format!(" ({count} times)"));
        }
        if more > 0 {
            message.push_str(&format!(" (and {more} more of other kinds)"));
        }
        let verdict = match kind {
            Outcome::Broken => graded(row),
            Outcome::Warning => graded(row).max(Verdict::Warn),
            Outcome::Contested(item) => {
                message.push_str(&format!(" (contested: {item})"));
                Verdict::Contested
            }
        };
        out.push(CheckResult { part: Some(part), ..make(verdict, message, evidence.clone(), seen.occasions) });
    }
    out
}

/// The kinds of some violations, in their order. Those of one kind are numbered by their messages: which was seen first
/// differs from run to run.
fn parts_of(messages: &[&str]) -> Vec<String> {
    let number = |message: &str| {
        let kind = kind_of(message);
        let before = messages.iter().filter(|other| **other < message && kind_of(other) == kind).count();
        numbered(&kind, u32::try_from(before + 1).unwrap_or(u32::MAX))
    };
    messages.iter().map(|message| number(message)).collect()
}

/// The open questions that contested results name, once each.
pub(crate) fn contested_infos(results: &[CheckResult]) -> Vec<ContestedInfo> {
    let contested = || results.iter().filter(|result| result.verdict == Verdict::Contested);
    let infos = Contested::all().iter().map(|contested| ContestedInfo {
        item: format!("C{}", contested.item),
        title: contested.title.to_owned(),
        text: contested.text.replace("**", "").replace('`', ""),
    });
    infos.filter(|info| contested().any(|result| info.is_named_in(&result.message))).collect()
}

/// The requirements that occur in results, once each.
pub(crate) fn requirement_infos(results: &[CheckResult]) -> Vec<RequirementInfo> {
    let keys: BTreeSet<(&str, &str)> = results.iter().map(|r| (r.revision.as_str(), r.requirement.as_str())).collect();
    keys.into_iter()
        .filter_map(|(revision, id)| {
            let row = Catalogue::get().row(id, revision.parse().ok()?)?;
            Some(RequirementInfo {
                id: id.to_owned(),
                revision: revision.to_owned(),
                level: row.level.to_string(),
                grade: row.grade.to_string(),
                area: row.area.to_owned(),
                text: row.requirement.to_owned(),
                link: row.link(),
            })
        })
        .collect()
}

pub(super) fn cases_transport(transport: Transport) -> mcp_conform_cases::ast::Transport {
    match transport {
        Transport::Http => mcp_conform_cases::ast::Transport::Http,
        Transport::Stdio => mcp_conform_cases::ast::Transport::Stdio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_an_undeclared_capability_is_not_applicable() {
        let place = |version| Place { revision: Revision::V2025_11_25, version, transport: Transport::Stdio };
        let of = |version, capable: &dyn Fn(&str) -> bool| {
            let results = RuleTally::default().results(place(version), capable, &|_, row| row.area == "completion");
            results.into_iter().map(|result| result.verdict).collect::<BTreeSet<_>>()
        };
        let newest = Revision::V2025_11_25;
        assert_eq!(of(newest, &|_| true), BTreeSet::from([Verdict::NotVerified]));
        assert_eq!(of(newest, &|path| path != "completions"), BTreeSet::from([Verdict::NotApplicable]));
        // The capability is younger than the method.
        assert!(of(Revision::V2024_11_05, &|_| false).contains(&Verdict::NotVerified));
    }

    fn said(requirement: &str, subject: &str, step: &str) -> CaseVerdict {
        CaseVerdict {
            requirement: requirement.to_owned(),
            word: Word::Pass,
            subject: subject.to_owned(),
            step: step.to_owned(),
            message: String::new(),
            evidence: Evidence::default(),
        }
    }

    #[test]
    fn verdicts_on_one_requirement_and_subject_are_told_apart_by_their_step() {
        let verdicts = vec![
            said("a", "", "1"),
            said("a", "", "3.1"),
            said("a", "", "3.1"),
            said("a", "tool", "3.1"),
            said("b", "", "3.1"),
        ];
        let parts: Vec<Option<String>> = told_apart(verdicts).into_iter().map(|(part, _)| part).collect();
        let part = |text: &str| Some(text.to_owned());
        assert_eq!(parts, [part("step 1"), part("step 3.1"), part("step 3.1, 2"), None, None]);
    }

    #[test]
    fn violations_are_told_apart_by_their_kind_whichever_was_seen_first() {
        let kinds = |messages: &[&str]| parts_of(messages);
        assert_eq!(kinds(&["id 17 came twice", "`a` is no id"]), ["id came twice", "is no id"]);
        assert_eq!(kinds(&["id 18 came twice"]), ["id came twice"]);
        let (there, back) = (kinds(&["x 1", "x 2"]), kinds(&["x 2", "x 1"]));
        assert_eq!((there[0].as_str(), there[1].as_str()), ("x", "x, 2"));
        assert_eq!((back[0].as_str(), back[1].as_str()), ("x, 2", "x"));
    }

    #[test]
    fn a_must_that_only_warns_says_why() {
        let row = |id| Catalogue::get().row(id, Revision::V2025_11_25).expect("a row");
        let why = |id, verdict| mild(row(id), verdict).unwrap_or_default();
        assert!(why("errors-invalid-params-32602", Verdict::Warn).starts_with("this form of the breach"));
        assert!(why("resources-read-missing-uri", Verdict::Warn).starts_with("JSON-RPC says it"));
        assert_eq!(why("errors-invalid-params-32602", Verdict::Fail), "");
        assert_eq!(why("resources-not-found-32002", Verdict::Warn), "", "a SHOULD warns by itself");
    }

    #[test]
    fn an_open_question_is_explained_where_it_is_named() {
        let place =
            Place { revision: Revision::V2025_11_25, version: Revision::V2025_11_25, transport: Transport::Stdio };
        let told = |verdict, message: &str| left_out("c", "r", place, verdict, message.to_owned(), None);
        let infos = contested_infos(&[
            told(Verdict::Contested, "it may be so (C30)"),
            told(Verdict::Contested, "or so (contested: C5)"),
            told(Verdict::NotVerified, "C7"),
        ]);
        assert_eq!(infos.iter().map(|info| info.item.as_str()).collect::<Vec<_>>(), ["C5", "C30"]);
        assert!(infos.iter().all(|info| !info.title.is_empty() && !info.text.is_empty()));
    }
}

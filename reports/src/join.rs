//! Result files put together: [`join`] makes one report of several of one server, as the parts of a CI matrix leave them,
//! and [`write`] and [`read_from`] hold reports of several servers in one file.
//!
//! Two reports are of one server when their target has one name and the server gives itself one name. Every part folds
//! the rules, so that a requirement may be judged in one and have had no occasion in another: what was judged stands.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::baseline;
use crate::json::{self, ReadError};
use crate::model::{CheckResult, CheckTime, Report, Summary, TargetStatus, VERSION, Verdict};
use crate::order;
use crate::parts::{self, PartsError};

/// Reports of several servers in one file.
#[derive(Serialize)]
struct Fleet<'a> {
    version: u32,
    reports: &'a [Report],
}

/// The reports, one a server, in the order of first sight.
pub fn join(reports: Vec<Report>) -> Vec<Report> {
    let whole = parts::check(&reports);
    let mut out: Vec<Report> = Vec::new();
    for report in reports {
        let same = |known: &&mut Report| {
            let (a, b) = (&known.target, &report.target);
            a.name == b.name && a.server == b.server && a.label == b.label
        };
        match out.iter_mut().find(same) {
            Some(known) => add(known, report),
            None => out.push(report),
        }
    }
    for report in &mut out {
        report.summary = Summary::of(&report.results);
        order::sort(report);
    }
    resettle(&mut out, whole.err());
    out
}

/// What was a part is one no more; a list of known failures that every part was held against is held against the whole.
fn resettle(reports: &mut [Report], incomplete: Option<PartsError>) {
    let mut done: Vec<String> = Vec::new();
    for index in 0..reports.len() {
        let Some(Some(baseline)) = reports.get(index).map(|report| report.baseline.clone()) else { continue };
        let parts = reports.get(index).is_some_and(|report| report.shard.is_some());
        if !parts || done.contains(&baseline.file) {
            continue;
        }
        let same = |report: &&Report| report.baseline.as_ref().is_some_and(|other| other.file == baseline.file);
        let meant: Vec<Report> = reports.iter().filter(same).cloned().collect();
        let mut settled = baseline.clone();
        let partial = incomplete.as_ref().map(|_| "not all parts of the run are there");
        // Globs that were read once are read again.
        if baseline::settle(&meant, &mut settled.entries, partial).is_ok() {
            for report in reports.iter_mut().filter(|report| same(&&**report)) {
                report.baseline = Some(settled.clone());
            }
        }
        done.push(baseline.file);
    }
    for report in reports.iter_mut().filter(|report| report.shard.is_some()) {
        match &incomplete {
            Some(error) => report.notes.push(format!("not all parts of the run are here: {error}")),
            None => report.shard = None,
        }
    }
}

/// One report as a result file, several as a file that [`read_from`] takes apart.
pub fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    match reports {
        [one] => serde_json::to_writer_pretty(&mut *out, one)?,
        reports => serde_json::to_writer_pretty(&mut *out, &Fleet { version: VERSION, reports })?,
    }
    out.write_all(b"\n")
}

/// Reads a result file, or one with several.
pub fn read_from(source: impl Read) -> Result<Vec<Report>, ReadError> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        reports: Option<Vec<&'a serde_json::value::RawValue>>,
    }
    let bytes = json::bounded(source, json::MAX_BYTES)?;
    let parts: Option<Parts<'_>> = serde_json::from_slice(&bytes).ok();
    match parts.and_then(|parts| parts.reports) {
        Some(parts) => {
            // The version of the file is that of its parts, each of which is checked.
            parts.into_iter().map(|part| json::read(part.get().as_bytes())).collect()
        }
        None => Ok(vec![json::read(&bytes)?]),
    }
}

fn add(report: &mut Report, other: Report) {
    report.results = settled(std::mem::take(&mut report.results), other.results);
    for support in other.revisions {
        match report.revisions.iter_mut().find(|known| known.revision == support.revision) {
            None => report.revisions.push(support),
            Some(known) => {
                if support.supported && !known.supported {
                    known.supported = true;
                    known.how = support.how;
                }
                push_new(&mut known.transports, support.transports);
            }
        }
    }
    report.revisions.sort_by(|a, b| a.revision.cmp(&b.revision));
    push_new(&mut report.target.transports, other.target.transports);
    if report.target.status == TargetStatus::Ok {
        report.target.status = other.target.status;
        report.target.message = other.target.message;
        report.target.evidence = other.target.evidence;
    }
    for info in other.requirements {
        if report.requirement(&info.id, &info.revision).is_none() {
            report.requirements.push(info);
        }
    }
    for info in other.contested {
        if !report.contested.iter().any(|known| known.item == info.item) {
            report.contested.push(info);
        }
    }
    for time in other.times {
        let same = |known: &&mut CheckTime| {
            known.check == time.check && known.revision == time.revision && known.transport == time.transport
        };
        match report.times.iter_mut().find(same) {
            Some(known) => known.seconds += time.seconds,
            None => report.times.push(time),
        }
    }
    for coverage in other.features {
        match report.features.iter_mut().find(|k| k.feature == coverage.feature && k.revision == coverage.revision) {
            None => report.features.push(coverage),
            Some(known) => known.judged = known.judged.max(coverage.judged),
        }
    }
    // What one part saw is there.
    report.not_offered.retain(|known| other.not_offered.contains(known));
    // Parts that were to be failed for different things are failed for none of them as a whole.
    if report.policy != other.policy {
        report.policy = None;
    }
    push_new(&mut report.requirement_sets, other.requirement_sets);
    if report.baseline.is_none() {
        report.baseline = other.baseline;
    }
    push_new(&mut report.omissions, other.omissions);
    push_new(&mut report.notes, other.notes);
    let (cost, more) = (&mut report.cost, other.cost);
    cost.process_starts = cost.process_starts.saturating_add(more.process_starts);
    cost.requests = cost.requests.saturating_add(more.requests);
    cost.waited_s += more.waited_s;
    // Parts run side by side.
    cost.took_s = cost.took_s.max(more.took_s);
    report.started = match (report.started.take(), other.started) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    if report.interrupted.is_none() {
        report.interrupted = other.interrupted;
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

type Key = (String, String, String, String, String);

fn grouped(results: Vec<CheckResult>) -> BTreeMap<Key, Vec<CheckResult>> {
    let mut groups: BTreeMap<Key, Vec<CheckResult>> = BTreeMap::new();
    for result in results {
        let key = (
            result.revision.clone(),
            result.requirement.clone(),
            result.check.clone(),
            result.subject.clone(),
            result.transport.clone(),
        );
        groups.entry(key).or_default().push(result);
    }
    groups
}

/// What two reports say. What stands in one of them alone stays as it is there, and what both judged is one row.
fn settled(known: Vec<CheckResult>, other: Vec<CheckResult>) -> Vec<CheckResult> {
    let (known, mut other) = (grouped(known), grouped(other));
    let mut out = Vec::new();
    for (key, group) in known {
        out.extend(settle(group, other.remove(&key).unwrap_or_default()));
    }
    out.extend(other.into_values().flatten());
    out
}

/// Two reports on one check, requirement and subject: findings stay, each once; beside any verdict, what was not judged
/// goes, and beside a finding what passed; of passes the one that saw most stays.
fn settle(known: Vec<CheckResult>, other: Vec<CheckResult>) -> Vec<CheckResult> {
    if known.is_empty() || other.is_empty() {
        return [known, other].concat();
    }
    let rank = |result: &CheckResult| match result.verdict {
        Verdict::NotApplicable => 0,
        Verdict::NotVerified => 1,
        Verdict::Pass => 2,
        _ => 3,
    };
    // A part is held against the same part; what has none there against all that is said.
    let outdone = |result: &CheckResult, by: &[CheckResult]| {
        let part = by.iter().filter(|other| other.part.is_some() && other.part == result.part);
        match part.map(rank).max() {
            Some(best) => rank(result) < best,
            None => by.iter().map(rank).min().is_some_and(|least| rank(result) < least),
        }
    };
    let left = |side: &[CheckResult], by: &[CheckResult]| -> Vec<CheckResult> {
        side.iter().filter(|result| !outdone(result, by)).cloned().collect()
    };
    let (mut kept, more) = (left(&known, &other), left(&other, &known));
    // Each row answers one of the other report, so that two that are alike in one report stay two.
    let mut open: Vec<usize> = (0..kept.len()).collect();
    for result in more {
        let like = |known: &CheckResult| {
            known.verdict == result.verdict
                && known.part == result.part
                && (rank(known) < 3 || known.part.is_some() || known.message == result.message)
        };
        let found = open.iter().position(|at| kept.get(*at).is_some_and(like));
        match found.map(|at| open.remove(at)).and_then(|at| kept.get_mut(at)) {
            Some(known) if known.occasions >= result.occasions => {}
            Some(known) => *known = result,
            None => kept.push(result),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use crate::model::Evidence;

    use super::*;

    fn result(verdict: Verdict, part: Option<&str>, message: &str, occasions: u64) -> CheckResult {
        CheckResult {
            check: "c".to_owned(),
            requirement: "r".to_owned(),
            revision: "2025-11-25".to_owned(),
            transport: "stdio".to_owned(),
            verdict,
            level: "MUST".to_owned(),
            subject: String::new(),
            part: part.map(str::to_owned),
            message: message.to_owned(),
            evidence: Evidence::default(),
            occasions,
            mild: None,
            fix: None,
            verify_with: None,
            excuse: None,
        }
    }

    fn told(known: &[CheckResult], other: &[CheckResult]) -> Vec<(Verdict, u64)> {
        let both = settled(known.to_vec(), other.to_vec());
        both.into_iter().map(|result| (result.verdict, result.occasions)).collect()
    }

    #[test]
    fn what_one_report_says_alone_stays_as_it_is() {
        let alike = [result(Verdict::Pass, None, "a result", 1), result(Verdict::Pass, None, "a result", 1)];
        assert_eq!(told(&alike, &[]).len(), 2);
        assert_eq!(told(&alike, &alike).len(), 2, "the same file twice");
        let mixed = [result(Verdict::Contested, None, "x", 1), result(Verdict::Pass, None, "a result", 1)];
        assert_eq!(told(&mixed, &mixed).len(), 2);
    }

    #[test]
    fn a_row_of_a_rule_is_one_whatever_each_part_saw() {
        let seen = |times: u64| result(Verdict::Pass, None, &format!("seen {times} times"), times);
        assert_eq!(told(&[seen(3)], &[seen(8)]), [(Verdict::Pass, 8)]);
        let open = result(Verdict::NotVerified, None, "nothing came", 0);
        assert_eq!(told(std::slice::from_ref(&open), &[seen(8)]), [(Verdict::Pass, 8)]);
        let broken = |message: &str| result(Verdict::Warn, Some("kind"), message, 2);
        assert_eq!(told(&[broken("x (2 times)")], &[broken("x")]), [(Verdict::Warn, 2)]);
        assert_eq!(told(&[seen(3)], &[broken("x")]), [(Verdict::Warn, 2)], "what broke in one part is broken");
        let other = result(Verdict::Warn, Some("another"), "y", 1);
        assert_eq!(told(&[broken("x")], &[other]).len(), 2);
    }

    #[test]
    fn a_part_is_held_against_the_same_part() {
        let step = |verdict, part| result(verdict, Some(part), "m", 1);
        let known = [step(Verdict::Fail, "step 1"), step(Verdict::Pass, "step 2")];
        let other = [step(Verdict::Pass, "step 1"), step(Verdict::Pass, "step 2")];
        let verdicts: Vec<Verdict> = told(&known, &other).into_iter().map(|(verdict, _)| verdict).collect();
        assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);
    }
}

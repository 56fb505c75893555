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
        report.results = settled(std::mem::take(&mut report.results));
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
    report.results.extend(other.results);
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

/// What several parts say of one check, requirement and subject: findings stay, each once; beside any verdict, what was
/// not judged goes; of passes the one that saw most stays.
fn settled(results: Vec<CheckResult>) -> Vec<CheckResult> {
    type Key = (String, String, String, String, String);
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
    groups.into_values().flat_map(settle).collect()
}

fn settle(group: Vec<CheckResult>) -> Vec<CheckResult> {
    let rank = |verdict| match verdict {
        Verdict::NotApplicable => 0,
        Verdict::NotVerified => 1,
        Verdict::Pass => 2,
        _ => 3,
    };
    let best = group.iter().map(|result| rank(result.verdict)).max().unwrap_or_default();
    let mut kept: Vec<CheckResult> = Vec::new();
    for result in group.into_iter().filter(|result| rank(result.verdict) == best) {
        let same = |known: &&mut CheckResult| known.verdict == result.verdict && known.message == result.message;
        match kept.iter_mut().find(same) {
            Some(known) if known.occasions >= result.occasions => {}
            Some(known) => *known = result,
            None => kept.push(result),
        }
    }
    kept
}

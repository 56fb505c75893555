//! SARIF 2.1.0 for code scanning: [`Sarif`].
//!
//! Only findings are results: code scanning shows every result as an alert, a pass too. The counts of all verdicts are a
//! property of the run. A rule is a requirement of one revision, with its text, its link and the remedy as help.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::exit;
use crate::key;
use crate::model::{CheckResult, Excuse, ExcuseKind, Report, RequirementInfo, Summary, TargetStatus, Verdict};
use crate::order;
use crate::plain;
use crate::render::{Options, Renderer};
use crate::target;
use crate::text;

pub struct Sarif;

/// Code scanning takes no more from one run.
const RESULTS: usize = 5_000;

impl Renderer for Sarif {
    fn name(&self) -> &'static str {
        "sarif"
    }

    fn about(&self) -> &'static str {
        "SARIF 2.1.0, for code scanning"
    }

    fn render(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let log = Log {
            schema: "https://json.schemastore.org/sarif-2.1.0.json",
            version: "2.1.0",
            runs: [run(report, options)],
        };
        serde_json::to_writer_pretty(&mut *out, &log)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Value; 1],
}

fn run(report: &Report, options: &Options) -> Value {
    let findings: Vec<&CheckResult> =
        order::sorted(report).into_iter().filter(|result| level(result.verdict).is_some()).collect();
    let mut rules: Vec<Value> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut results = Vec::new();
    let mut prints: BTreeMap<String, u32> = BTreeMap::new();
    for result in findings.iter().take(RESULTS) {
        let index = *places.entry((&result.revision, &result.requirement)).or_insert_with(|| {
            rules.push(rule(report, result));
            rules.len() - 1
        });
        let mut print = fingerprint(result);
        let number = prints.entry(print.clone()).or_default();
        *number += 1;
        if *number > 1 {
            // Only in files of before parts were told apart.
            print.push_str(&format!("#{number}"));
        }
        results.push(one(report, result, index, print));
    }
    let mut notifications = Vec::new();
    if report.target.status != TargetStatus::Ok {
        let (what, way_out) = target::explain(report.target.status);
        let message = report.target.message.as_deref().unwrap_or(way_out);
        notifications.push(notification("error", &format!("{what}. {message}")));
    }
    if let Some(why) = &report.interrupted {
        notifications.push(notification("error", &format!("interrupted: {why}")));
    }
    for line in plain::stales(report) {
        notifications.push(notification("error", &format!("stale line of the baseline: {line}")));
    }
    if findings.len() > RESULTS {
        let left = text::plural((findings.len() - RESULTS) as u64, "finding");
        notifications.push(notification("warning", &format!("{left} more than code scanning takes were left out")));
    }
    let whole = report.interrupted.is_none() && report.target.status == TargetStatus::Ok;
    let mut invocation = json!({
        "executionSuccessful": whole && report.summary.harness_error == 0,
        "toolExecutionNotifications": notifications,
    });
    if let Some(exit) = options.exit
        && let Some(object) = invocation.as_object_mut()
    {
        object.insert("exitCode".to_owned(), exit.code().into());
        object.insert("exitCodeDescription".to_owned(), exit::told(exit, report).into());
    }
    json!({
        "tool": {"driver": {
            "name": text::clean(&text::bounded(&report.tool.name, 80)),
            "semanticVersion": text::clean(&text::bounded(&report.tool.version, 80)),
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules,
        }},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"summary": Summary::of(&report.results), "target": text::clean(&report.target.name)},
    })
}

fn notification(level: &str, message: &str) -> Value {
    json!({"level": level, "message": {"text": text::clean(&text::bounded(message, plain::MESSAGE))}})
}

/// The level of a finding; nothing for what is none.
fn level(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Fail | Verdict::HarnessError => Some("error"),
        Verdict::Warn => Some("warning"),
        Verdict::Contested | Verdict::Advice => Some("note"),
        Verdict::NotVerified | Verdict::NotApplicable | Verdict::Pass => None,
    }
}

fn rule_id(result: &CheckResult) -> String {
    text::clean(&text::bounded(&format!("{}/{}", result.revision, result.requirement), 250))
}

fn rule(report: &Report, result: &CheckResult) -> Value {
    let info = report.requirement(&result.requirement, &result.revision);
    let said = info.map_or(result.requirement.as_str(), |info| info.text.as_str());
    let said = text::clean(&text::bounded(said, plain::MESSAGE));
    let link = info.and_then(plain::link);
    let mut help = said.clone();
    if let Some(fix) = &result.fix {
        help.push_str(&format!("\n\nHow to mend it: {}", text::clean(&text::bounded(fix, plain::MESSAGE))));
    }
    if let Some(link) = link {
        help.push_str(&format!("\n\n{link}"));
    }
    let mut rule = json!({
        "id": rule_id(result),
        "name": text::clean(&text::bounded(&result.requirement, 250)),
        "shortDescription": {"text": said},
        "fullDescription": {"text": said},
        "help": {"text": help},
        "defaultConfiguration": {"level": graded(info)},
        "properties": {
            "tags": ["mcp", text::clean(&text::bounded(info.map_or("own", |info| &info.area), 80))],
            "level": text::clean(&text::bounded(&result.level, 20)),
        },
    });
    if let (Some(link), Some(object)) = (link, rule.as_object_mut()) {
        object.insert("helpUri".to_owned(), link.into());
    }
    rule
}

fn graded(info: Option<&RequirementInfo>) -> &'static str {
    match info.map(|info| info.grade.as_str()) {
        Some("warn") => "warning",
        Some("advice" | "none" | "tolerance") => "note",
        _ => "error",
    }
}

/// What names a finding in every run. Not the message: what a server says of its fault changes from run to run.
fn fingerprint(result: &CheckResult) -> String {
    const LONGEST: usize = 500;
    let place = key::place(result);
    let print = text::clean(&text::bounded(&place, LONGEST));
    // What was cut off may be what tells it from another.
    if place.chars().count() > LONGEST { format!("{print}/{}", key::of(result)) } else { print }
}

fn one(report: &Report, result: &CheckResult, rule: usize, print: String) -> Value {
    // Code scanning wants a file with a line. There is none of the server's that we know; the trace, or a name for what
    // was judged, of which the first line is as good as any.
    let uri = match &result.evidence.trace {
        Some(trace) => uri(&trace.file),
        None => format!("mcp/{}/{}", uri(&result.revision), uri(&result.requirement)),
    };
    let subject = text::clean(&text::bounded(&result.subject, 200));
    let mut message = plain::message(result);
    if let Some(mild) = &result.mild {
        message.push_str(&format!(". Only a warning: {}", text::clean(&text::bounded(mild, plain::MESSAGE))));
    }
    if !subject.is_empty() {
        message.push_str(&format!(" (on {subject})"));
    }
    if let Some(fix) = &result.fix {
        message.push_str(&format!(
            "{} Fix: {}",
            if message.ends_with('.') { "" } else { "." },
            text::clean(&text::bounded(fix, plain::MESSAGE))
        ));
    }
    let place = format!("{} over {}", text::bounded(&result.revision, 40), text::bounded(&result.transport, 40));
    let mut one = json!({
        "ruleId": rule_id(result),
        "ruleIndex": rule,
        // What does not count yet informs; what is known is suppressed below.
        "level": match &result.excuse {
            Some(Excuse { kind: ExcuseKind::New | ExcuseKind::Regraded, counts_as, .. }) => {
                counts_as.and_then(level).or(Some("note"))
            }
            _ => level(result.verdict),
        },
        "message": {"text": message},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
            "logicalLocations": [{"fullyQualifiedName": text::clean(&place), "kind": "module"}],
        }],
        "partialFingerprints": {"mcpConformFinding/v1": print},
        "properties": {
            "verdict": result.verdict.as_str(),
            "check": text::clean(&text::bounded(&result.check, 200)),
            "details": plain::lines(report, result),
        },
    });
    let known = result.excuse.as_ref().filter(|excuse| excuse.kind == ExcuseKind::Known);
    if let (Some(excuse), Some(object)) = (known, one.as_object_mut()) {
        let reason = text::clean(&text::bounded(&excuse.reason, plain::MESSAGE));
        object.insert("suppressions".to_owned(), json!([{"kind": "external", "justification": reason}]));
    }
    one
}

/// A name as a relative URI reference.
fn uri(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in text::bounded(name, 200).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(uri("../a b"), "..%2Fa%20b");
        assert_eq!(uri("javascript:x"), "javascript%3Ax");
    }
}

//! The expected results of servers that we did not write (`peers/expected`): that each finding in them is proven, and that
//! runs of the servers give these findings and no others.
//!
//! `.ci/servers` runs the servers and names the folder of their result files in `MCP_CONFORM_RESULTS`; without it only the
//! expectations themselves are looked at.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use mcp_conform_cases::Catalogue;
use mcp_conform_reports::model::{Report, TargetStatus, Verdict};
use mcp_conform_schemas::Revision;
use serde::Deserialize;

/// What a run of one server over one transport has to find.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The package and its version.
    server: String,
    transport: String,
    status: TargetStatus,
    /// The revisions that it supports, the oldest first.
    revisions: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    verdict: Verdict,
    requirement: String,
    revision: String,
    check: String,
    #[serde(default)]
    subject: String,
    /// The place in the specification.
    link: String,
    /// What was seen on the wire.
    excerpt: String,
    /// Why the verdict is true.
    reason: String,
    /// It depends on chance or on the pace of the machine, so that a run may miss it.
    #[serde(default)]
    sometimes: bool,
}

/// A finding without what changes from run to run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    revision: String,
    verdict: &'static str,
    requirement: String,
    check: String,
    subject: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} by {}", self.revision, self.verdict, self.requirement, self.check)?;
        if self.subject.is_empty() { Ok(()) } else { write!(f, " on {}", self.subject) }
    }
}

fn word(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Fail => Some("fail"),
        Verdict::Warn => Some("warn"),
        _ => None,
    }
}

impl Finding {
    /// What is missing for it to be believed.
    fn lacks(&self) -> Vec<String> {
        const SHORTEST_REASON: usize = 40;
        let mut out = Vec::new();
        if word(self.verdict).is_none() {
            out.push("a verdict of fail or warn".to_owned());
        }
        let row =
            self.revision.parse::<Revision>().ok().and_then(|version| Catalogue::get().row(&self.requirement, version));
        match row {
            None => out.push("a requirement of the catalogue".to_owned()),
            Some(row) if row.link() != self.link => out.push(format!("the link {}", row.link())),
            Some(_) => {}
        }
        if self.check.trim().is_empty() {
            out.push("a check".to_owned());
        }
        if self.excerpt.trim().is_empty() {
            out.push("an excerpt of what was seen".to_owned());
        }
        if self.reason.trim().len() < SHORTEST_REASON {
            out.push("a reason why it is true".to_owned());
        }
        out
    }

    fn key(&self) -> Option<Key> {
        Some(Key {
            revision: self.revision.clone(),
            verdict: word(self.verdict)?,
            requirement: self.requirement.clone(),
            check: self.check.clone(),
            subject: self.subject.clone(),
        })
    }
}

fn keys_of(report: &Report) -> BTreeSet<Key> {
    let key = |result: &mcp_conform_reports::model::CheckResult| {
        Some(Key {
            revision: result.revision.clone(),
            verdict: word(result.verdict)?,
            requirement: result.requirement.clone(),
            check: result.check.clone(),
            subject: result.subject.clone(),
        })
    };
    report.results.iter().filter_map(key).collect()
}

/// How a run differs from what it has to find; nothing if it does not.
fn differences(expected: &Expected, report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    if report.target.status != expected.status {
        out.push(format!("the target is {:?} instead of {:?}", report.target.status, expected.status));
    }
    if !report.target.transports.contains(&expected.transport) {
        out.push(format!("it was not judged over {}", expected.transport));
    }
    let supported: Vec<_> = report.revisions.iter().filter(|it| it.supported).map(|it| it.revision.clone()).collect();
    if supported != expected.revisions {
        out.push(format!("it supports {supported:?} instead of {:?}", expected.revisions));
    }
    let known: BTreeSet<Key> = expected.findings.iter().filter_map(Finding::key).collect();
    let seen = keys_of(report);
    out.extend(seen.difference(&known).map(|key| format!("found and not expected: {key}")));
    let sure: BTreeSet<Key> = expected.findings.iter().filter(|it| !it.sometimes).filter_map(Finding::key).collect();
    out.extend(sure.difference(&seen).map(|key| format!("expected and not found: {key}")));
    let own = report.results.iter().filter(|result| result.verdict == Verdict::HarnessError);
    out.extend(own.map(|result| format!("an error of ours in {}: {}", result.check, result.message)));
    if let Some(reason) = &report.interrupted {
        out.push(format!("the run was interrupted: {reason}"));
    }
    out
}

fn expectations() -> Vec<(String, Expected)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/expected");
    let mut out = Vec::new();
    for entry in fs_err::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs_err::read_to_string(&path).unwrap();
        let expected = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display())).unwrap();
        out.push((name, expected));
    }
    out.sort_by(|a: &(String, _), b| a.0.cmp(&b.0));
    assert!(!out.is_empty(), "there is nothing in {}", folder.display());
    out
}

#[test]
fn every_expected_finding_is_proven() {
    let mut wrong = Vec::new();
    for (name, expected) in expectations() {
        if !name.ends_with(&format!("-{}", expected.transport)) || expected.server.is_empty() {
            wrong.push(format!("{name}: lacks a server, or is not named by its transport"));
        }
        let keys: BTreeSet<Key> = expected.findings.iter().filter_map(Finding::key).collect();
        if keys.len() != expected.findings.len() {
            wrong.push(format!("{name}: a finding stands in it twice"));
        }
        for finding in &expected.findings {
            let lacks = finding.lacks();
            if !lacks.is_empty() {
                wrong.push(format!("{name}: {} lacks {}", finding.requirement, lacks.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_finding_without_proof_is_refused() {
    let bare = r#"{"verdict": "fail", "requirement": "response-id-echo-exact", "revision": "2026-07-28", "check": "ids",
        "link": "", "excerpt": " ", "reason": "it is so"}"#;
    let finding: Finding = serde_json::from_str(bare).unwrap();
    assert_eq!(finding.lacks().len(), 3, "{:?}", finding.lacks());
    let without = bare.replace(r#""link": "","#, "");
    assert!(serde_json::from_str::<Finding>(&without).is_err());
}

#[test]
fn runs_find_what_is_expected_and_nothing_else() {
    let Some(folder) = std::env::var_os("MCP_CONFORM_RESULTS").map(PathBuf::from) else { return };
    let mut wrong = Vec::new();
    let mut judged = 0;
    for (name, expected) in expectations() {
        let path = folder.join(format!("{name}.json"));
        // What could not be installed was said by the script.
        let Ok(text) = fs_err::read_to_string(&path) else { continue };
        let report: Report = serde_json::from_str(&text).unwrap();
        judged += 1;
        wrong.extend(differences(&expected, &report).into_iter().map(|what| format!("{name}: {what}")));
    }
    assert!(judged > 0, "no result file in {}", folder.display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

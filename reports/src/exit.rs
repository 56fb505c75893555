//! The exit codes as documented constants, and which of them a report earns.
//!
//! [`decide`] knows only what a report says; a wrong command line ([`Exit::Usage`]) never gets as far as a report.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{CheckResult, Report, Standing, Summary, TargetStatus, Verdict};
use crate::text;

/// The requirement under which a revision stands that was asked for by name and is not supported.
pub const REVISION_SUPPORTED: &str = "own/revision-supported";

/// How a run ended. When several apply, the first in the order of the variants wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// A frame of ours was wrong, or we crashed.
    Bug,
    /// The command line, the configuration or a case file cannot be used.
    Usage,
    /// The user or a time limit ended the run; what was judged until then is reported.
    Interrupted,
    /// The server could not be judged at all.
    Unavailable,
    /// A requirement is broken, or a revision asked for by name is not supported.
    Findings,
    /// Nothing was judged, or more stayed unverified than allowed.
    Unjudged,
    /// Everything that was judged holds.
    Clean,
}

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Unavailable => 3,
            Self::Unjudged => 4,
            Self::Bug => 5,
            Self::Interrupted => 130,
        }
    }

    pub fn of_code(code: i32) -> Option<Self> {
        let all =
            [Self::Bug, Self::Usage, Self::Interrupted, Self::Unavailable, Self::Findings, Self::Unjudged, Self::Clean];
        all.into_iter().find(|exit| i32::from(exit.code()) == code)
    }

    /// What the code tells, as a sentence without a full stop.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Clean => "nothing is broken that --fail-on counts",
            Self::Findings => {
                "something is broken that --fail-on counts, a revision that was asked for is missing, or a line of the baseline is stale"
            }
            Self::Usage => "the command line, the configuration or a case file cannot be used",
            Self::Unavailable => "the server could not be judged",
            Self::Unjudged => "nothing was judged, or more is unverified than --max-unverified allows",
            Self::Bug => "mcp-conform itself is at fault, please report it",
            Self::Interrupted => "the run was interrupted, the results so far stand",
        }
    }
}

/// The mildest verdict that fails a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    #[default]
    Fail,
    Warn,
    Never,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level `{0}`, known are fail, warn and never")]
pub struct FailOnError(String);

impl FromStr for FailOn {
    type Err = FailOnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "fail" => Ok(Self::Fail),
            "warn" => Ok(Self::Warn),
            "never" => Ok(Self::Never),
            other => Err(FailOnError(other.to_owned())),
        }
    }
}

/// What the user wants a run to be failed for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Policy {
    pub fail_on: FailOn,
    /// More not-verified verdicts than this are no clean run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unverified: Option<u64>,
    /// Revisions asked for by name: one that is not supported is a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
}

/// The exit code that a report earns.
pub fn decide(report: &Report, policy: &Policy) -> Exit {
    let summary = Summary::of(&report.results);
    if summary.harness_error > 0 {
        return Exit::Bug;
    }
    if report.interrupted.is_some() {
        return Exit::Interrupted;
    }
    if report.target.status != TargetStatus::Ok {
        return Exit::Unavailable;
    }
    if !causes(report, policy).is_empty() {
        return Exit::Findings;
    }
    if nothing_judged(&summary) || policy.max_unverified.is_some_and(|limit| unverified(report) > limit) {
        return Exit::Unjudged;
    }
    Exit::Clean
}

/// Whether a result makes the run fail by itself.
pub fn fails(result: &CheckResult, fail_on: FailOn) -> bool {
    match result.counted() {
        Some(Verdict::Fail) => fail_on != FailOn::Never,
        Some(Verdict::Warn) => fail_on == FailOn::Warn,
        _ => false,
    }
}

/// What a code tells of this report, as a sentence without a full stop. It names the causes where the report's own
/// policy gives that code.
pub fn told(exit: Exit, report: &Report) -> String {
    let policy = report.policy.clone().unwrap_or_default();
    if decide(report, &policy) != exit {
        return exit.meaning().to_owned();
    }
    match (exit, policy.max_unverified) {
        (Exit::Findings, _) => {
            let causes = causes(report, &policy);
            match causes.as_slice() {
                [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
                one => one.concat(),
            }
        }
        (Exit::Unjudged, _) if nothing_judged(&Summary::of(&report.results)) => "nothing was judged".to_owned(),
        (Exit::Unjudged, Some(limit)) => {
            let unverified = text::thousands(unverified(report));
            format!("{unverified} are not verified, and --max-unverified allows {}", text::thousands(limit))
        }
        _ => exit.meaning().to_owned(),
    }
}

/// The same of several servers, where the code is that of the worst of them.
pub fn told_of_all(exit: Exit, reports: &[Report]) -> String {
    let earns = |report: &&Report| decide(report, &report.policy.clone().unwrap_or_default()) == exit;
    let told: BTreeSet<String> = reports.iter().filter(earns).map(|report| told(exit, report)).collect();
    if told.is_empty() { exit.meaning().to_owned() } else { told.into_iter().collect::<Vec<_>>().join("; ") }
}

/// Everything that makes a run one with findings, each as a sentence.
fn causes(report: &Report, policy: &Policy) -> Vec<&'static str> {
    let missing = policy.asked.iter().any(|asked| {
        let supported = report.revisions.iter().any(|support| support.revision == *asked && support.supported);
        let excused = |result: &CheckResult| {
            result.requirement == REVISION_SUPPORTED && result.revision == *asked && result.excuse.is_some()
        };
        !supported && !report.results.iter().any(excused)
    });
    let stale = report.baseline.as_ref().is_some_and(|known| known.standing(Standing::Stale).next().is_some());
    // A missing revision is a result, too: it is told once.
    let own = |result: &CheckResult| missing && result.requirement == REVISION_SUPPORTED;
    let broken = report.results.iter().any(|result| fails(result, policy.fail_on) && !own(result));
    let applies = policy.fail_on != FailOn::Never;
    [
        (broken, "something is broken that --fail-on counts"),
        (missing, "a revision that was asked for is missing"),
        (stale, "a line of the baseline is stale"),
    ]
    .into_iter()
    .filter_map(|(is, told)| (is && applies).then_some(told))
    .collect()
}

/// Advice is no judgement: a run that has nothing else has judged nothing.
fn nothing_judged(summary: &Summary) -> bool {
    summary.pass + summary.fail + summary.warn + summary.contested == 0
}

fn unverified(report: &Report) -> u64 {
    report.results.iter().filter(|result| result.counted() == Some(Verdict::NotVerified)).count() as u64
}

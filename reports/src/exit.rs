//! The exit codes as documented constants, and which of them a report earns.
//!
//! [`decide`] knows only what a report says; a wrong command line ([`Exit::Usage`]) never gets as far as a report.

use std::str::FromStr;

use crate::model::{CheckResult, Report, Standing, Summary, TargetStatus, Verdict};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub fail_on: FailOn,
    /// More not-verified verdicts than this are no clean run.
    pub max_unverified: Option<u64>,
    /// Revisions asked for by name: one that is not supported is a finding.
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
    let missing = policy.asked.iter().any(|asked| {
        let supported = report.revisions.iter().any(|support| support.revision == *asked && support.supported);
        let excused = |result: &CheckResult| {
            result.requirement == REVISION_SUPPORTED && result.revision == *asked && result.excuse.is_some()
        };
        !supported && !report.results.iter().any(excused)
    });
    let stale = report.baseline.as_ref().is_some_and(|known| known.standing(Standing::Stale).next().is_some());
    let counts = |verdict| report.results.iter().any(|result| result.counted() == Some(verdict));
    let findings = match policy.fail_on {
        FailOn::Never => false,
        FailOn::Fail => missing || stale || counts(Verdict::Fail),
        FailOn::Warn => missing || stale || counts(Verdict::Fail) || counts(Verdict::Warn),
    };
    if findings {
        return Exit::Findings;
    }
    // Advice is no judgement: a run that has nothing else has judged nothing.
    let judged = summary.pass + summary.fail + summary.warn + summary.contested;
    let unverified = report.results.iter().filter(|result| result.counted() == Some(Verdict::NotVerified)).count();
    if judged == 0 || policy.max_unverified.is_some_and(|limit| unverified as u64 > limit) {
        return Exit::Unjudged;
    }
    Exit::Clean
}

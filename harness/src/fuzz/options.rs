//! What is fuzzed, what is told while it goes on, and what comes of it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use mcp_conform_reports::model::{Report, Verdict};
use tokio::sync::watch;

use super::{finding::Finding, store::StoreError};
use crate::run::RunOptions;

/// What is fuzzed, and for how long.
#[derive(Clone, Debug)]
pub struct FuzzOptions {
    /// Target, rules on side effects, deadlines and seed, as of a run.
    pub run: RunOptions,
    pub time: Option<Duration>,
    pub max_findings: Option<usize>,
    pub max_inputs: Option<u64>,
    /// Server processes at a time.
    pub jobs: usize,
    pub out: PathBuf,
    /// Folders with inputs to begin from.
    pub corpus: Vec<PathBuf>,
    pub resume: bool,
    /// Bytes that the server's processes may hold.
    pub rss_limit: u64,
    /// Attempts by which a finding is confirmed.
    pub confirm: u32,
}

/// What goes on.
#[derive(Clone, Debug, Default)]
pub struct Status {
    pub elapsed: Duration,
    pub inputs: u64,
    pub requests: u64,
    pub states: usize,
    pub corpus: usize,
    pub findings: usize,
    pub looking_into: Option<String>,
}

/// How a campaign is watched and stopped.
#[derive(Clone)]
pub struct FuzzControl {
    pub status: Arc<dyn Fn(Status) + Send + Sync>,
    pub found: Arc<dyn Fn(&Finding) + Send + Sync>,
    /// What is looked into and what comes of it, for those who want to follow.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Set to a reason to end the campaign; everything found is kept.
    pub stop: watch::Receiver<Option<String>>,
}

/// What a campaign brought.
#[derive(Clone, Debug)]
pub struct FuzzOutcome {
    pub report: Report,
    pub findings: Vec<Finding>,
    pub status: Status,
    /// The states by name, with how often each was reached.
    pub coverage: BTreeMap<String, u64>,
    /// Suspicions that were not seen again.
    pub not_again: u64,
    /// A digest of every input of every worker, in order: equal for equal seeds against a server that answers alike.
    pub digest: String,
    pub interrupted: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum FuzzError {
    #[error("{0} is no requirement of the catalogue{1}")]
    NoRequirement(String, String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the server serves neither revision, so that there is nothing to fuzz:\n{}", .0.join("\n"))]
    Unserved(Vec<String>),
    #[error("the server cannot be started: {0}")]
    Start(String),
}

/// The verdicts that end a campaign with findings.
pub fn counts_as_finding(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn)
}

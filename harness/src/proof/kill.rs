//! The kill table: each fault of the reference server, the requirements that it breaks, and whether a finding names them.

use std::{collections::BTreeSet, sync::Arc};

use mcp_conform_cases::ast::Case;
use mcp_conform_reports::model::{Report, Verdict};
use mcp_conform_schemas::Revision;
use mcp_reference_server::{Config, FaultInfo, Faults, Transport};
use tokio::sync::watch;

use super::memory::{http_target, stdio_target};
use crate::{
    coverage::coverage,
    repro::Repro,
    run::{Control, RunOptions, TOLD_UNDER, run},
};

/// A requirement of a revision, and the transport over which it was broken.
pub type Findings = BTreeSet<(String, String, &'static str)>;

/// What one fault came to.
#[derive(Clone, Debug)]
pub struct Row {
    pub fault: &'static str,
    /// Requirements that it breaks, that a check names, and that no finding named, by transport.
    pub missed: Findings,
    /// Findings that name another requirement than the broken ones and the listed collateral.
    pub extra: Findings,
    /// Findings that name what is broken.
    pub killed: Findings,
    /// Requirements that no check looks at yet.
    pub open: BTreeSet<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that it breaks is looked at yet.
    Open,
    Killed,
    Survived,
}

impl Row {
    pub fn outcome(&self) -> Outcome {
        match (self.missed.is_empty(), self.killed.is_empty()) {
            (true, true) => Outcome::Open,
            (true, false) => Outcome::Killed,
            (false, _) => Outcome::Survived,
        }
    }
}

/// The cases that prove and are proven, with what they and the rules name.
#[derive(Clone, Debug)]
pub struct Suite {
    cases: Vec<Arc<Case>>,
    named: BTreeSet<(String, String)>,
}

impl Suite {
    pub fn embedded() -> Self {
        Self::new(mcp_conform_cases::suite().to_vec())
    }

    pub fn new(cases: Vec<Case>) -> Self {
        let mut named = BTreeSet::new();
        for check in coverage(&cases.iter().collect::<Vec<_>>()).checks {
            for name in check.requirements {
                if let Some((revision, id)) = name.split_once('/') {
                    named.insert((id.to_owned(), revision.to_owned()));
                }
            }
        }
        Self { cases: cases.into_iter().map(Arc::new).collect(), named }
    }

    /// Every `(id, revision)` that a check names.
    pub fn named(&self) -> &BTreeSet<(String, String)> {
        &self.named
    }

    /// How the reference server is judged: everything may be called.
    pub fn options(&self, config: &Config, transport: Transport) -> RunOptions {
        options(config, transport, self.cases.clone())
    }

    /// Judges the reference server in memory. Needs a Tokio runtime; with a paused clock no wait costs anything.
    pub async fn judge_reference(&self, config: &Config, transport: Transport) -> Report {
        let (_keep, stop) = watch::channel(None);
        run(self.options(config, transport), Control { progress: Arc::new(|_| {}), stop }).await
    }

    /// Judges one fault by everything, over one transport.
    pub async fn judge_fault(&self, info: &FaultInfo, transport: Transport) -> Report {
        let mut config = Config::default();
        if let Some(personality) = info.personality {
            personality(&mut config);
        }
        config.faults = Faults::one(info.fault);
        self.judge_reference(&config, transport).await
    }

    /// The cases that name a requirement which the fault breaks.
    fn own(&self, info: &FaultInfo) -> Self {
        let names_broken = |case: &Case| {
            info.breaks.iter().any(|(id, revision)| {
                revision.parse::<Revision>().is_ok_and(|revision| case.requirement_ids(revision).contains(id))
            })
        };
        let cases = self.cases.iter().filter(|case| names_broken(case)).cloned().collect();
        Self { cases, named: self.named.clone() }
    }

    /// Judges one fault by its own cases and all rules; by everything where that does not find it, because a rule has its
    /// occasions from cases of others.
    pub async fn kill_row(&self, info: &FaultInfo) -> Row {
        let row = self.own(info).cross_row(info).await;
        if row.missed.is_empty() { row } else { self.cross_row(info).await }
    }

    /// Judges one fault by everything over every transport where it shows, and holds the findings against what it breaks.
    pub async fn cross_row(&self, info: &FaultInfo) -> Row {
        let breaks: BTreeSet<(String, String)> = pairs(info.breaks);
        let allowed: BTreeSet<(String, String)> = breaks.union(&pairs(info.collateral)).cloned().collect();
        let (judged, open): (BTreeSet<_>, BTreeSet<_>) =
            breaks.iter().cloned().partition(|pair| self.named.contains(pair));
        let mut row =
            Row { fault: info.name, missed: Findings::new(), extra: Findings::new(), killed: Findings::new(), open };
        if judged.is_empty() {
            return row;
        }
        for transport in info.transports {
            let report = self.judge_fault(info, *transport).await;
            let name = transport_name(*transport);
            let found: BTreeSet<(String, String)> = report
                .results
                .iter()
                .filter(|result| is_finding(result.verdict))
                .map(|result| (result.requirement.clone(), result.revision.clone()))
                .collect();
            // One breach is told once: a requirement whose breach is told under another one is found where that one is.
            let told_under: BTreeSet<(String, String)> = report
                .results
                .iter()
                .filter(|result| {
                    let other = result.message.strip_prefix(TOLD_UNDER);
                    other.is_some_and(|other| found.contains(&(other.to_owned(), result.revision.clone())))
                })
                .map(|result| (result.requirement.clone(), result.revision.clone()))
                .collect();
            for (id, revision) in &judged {
                if !reaches(id, revision, *transport) {
                    continue;
                }
                let key = (id.clone(), revision.clone(), name);
                let pair = (id.clone(), revision.clone());
                if found.contains(&pair) || told_under.contains(&pair) {
                    row.killed.insert(key);
                } else {
                    row.missed.insert(key);
                }
            }
            for (id, revision) in found.difference(&allowed) {
                row.extra.insert((id.clone(), revision.clone(), name));
            }
        }
        row
    }
}

/// A verdict that tells of a breach. Contested is one: the fault shows, though the text leaves it open.
fn is_finding(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Fail | Verdict::Warn | Verdict::Advice | Verdict::Contested | Verdict::HarnessError => true,
        Verdict::NotApplicable | Verdict::NotVerified | Verdict::Pass => false,
    }
}

fn reaches(id: &str, revision: &str, transport: Transport) -> bool {
    let row = revision.parse::<Revision>().ok().and_then(|r| mcp_conform_cases::Catalogue::get().row(id, r));
    let transport = match transport {
        Transport::Http => mcp_conform_cases::ast::Transport::Http,
        Transport::Stdio => mcp_conform_cases::ast::Transport::Stdio,
    };
    row.is_some_and(|row| row.applies_to(transport))
}

fn pairs(list: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    list.iter().map(|(id, revision)| ((*id).to_owned(), (*revision).to_owned())).collect()
}

fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Http => "http",
        Transport::Stdio => "stdio",
    }
}

fn options(config: &Config, transport: Transport, cases: Vec<Arc<Case>>) -> RunOptions {
    let (stdio, http) = match transport {
        Transport::Stdio => (Some(stdio_target(config.clone())), None),
        // The URL is a constant of ours, so there is always a target.
        Transport::Http => (None, http_target(config.clone()).ok()),
    };
    RunOptions {
        jobs: 4,
        repro: Arc::new(Repro { target: "--demo".to_owned(), ..Repro::default() }),
        name: "the reference server in memory".to_owned(),
        ..RunOptions::of_everything(stdio, http, cases)
    }
}

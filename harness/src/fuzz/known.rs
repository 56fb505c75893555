//! What a campaign found, and which suspicions are worth a look.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::Finding,
    oracle::{self, Suspicion},
};

/// Places of one requirement that become findings of their own.
const MOST_OF_A_REQUIREMENT: usize = 4;

/// What was found, and what is being looked into.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) findings: Vec<Finding>,
    keys: BTreeSet<String>,
    of_requirement: BTreeMap<String, usize>,
    pub(super) not_again: u64,
    /// Suspicions by how often they were not seen again; after a few times nothing more is made of them.
    fleeting: BTreeMap<String, u32>,
    /// The same by kind: where a machine is under load, what is a matter of time is not looked into for ever.
    fleeting_kinds: BTreeMap<oracle::Kind, u32>,
    pub(super) looking_into: Vec<String>,
    /// How often a finding was looked into again.
    improved: BTreeMap<String, u32>,
}

impl Known {
    pub(super) fn with(findings: Vec<Finding>) -> Self {
        // What an earlier round had no time to make small is looked for again.
        let settled = findings.iter().filter(|finding| !finding.provisional);
        let keys = settled.map(|finding| finding.key.clone()).collect();
        Self { findings, keys, ..Self::default() }
    }

    /// Takes a suspicion up, unless it is known or enough like it are.
    pub(super) fn take_up(&mut self, suspicion: &Suspicion) -> bool {
        const MOST_FLEETING: u32 = 2;
        let key = suspicion.key();
        if self.tired_of().any(|kind| kind == suspicion.kind) {
            return false;
        }
        if self.keys.contains(&key) || self.fleeting.get(&key).is_some_and(|times| *times >= MOST_FLEETING) {
            return false;
        }
        let count = self.of_requirement.entry(suspicion.requirement.clone()).or_default();
        let own = suspicion.requirement.starts_with("own/");
        if !own && *count >= MOST_OF_A_REQUIREMENT {
            return false;
        }
        *count += 1;
        self.keys.insert(key.clone());
        self.looking_into.push(key);
        true
    }

    /// A finding that is large, or not seen each time, where an input shows the same and may be made smaller.
    pub(super) fn improvable(&mut self, suspicion: &Suspicion, messages: usize) -> Option<Finding> {
        const SMALL: usize = 2;
        const MOST: u32 = 4;
        let key = suspicion.key();
        let finding = self.findings.iter().find(|finding| finding.key == key && !finding.provisional)?;
        let open = finding.is_flaky() || finding.messages > SMALL;
        if !open || suspicion.kind == oracle::Kind::Growth || messages > finding.messages * 8 {
            return None;
        }
        let finding = finding.clone();
        let times = self.improved.entry(key).or_default();
        *times += 1;
        (*times <= MOST).then_some(finding)
    }

    /// Kinds that are a matter of time and were not seen again so often that no more is made of them.
    pub(super) fn tired_of(&self) -> impl Iterator<Item = oracle::Kind> {
        const MOST_OF_A_KIND: u32 = 10;
        let often = self.fleeting_kinds.iter().filter(|(kind, times)| kind.is_of_time() && **times >= MOST_OF_A_KIND);
        often.map(|(kind, _)| *kind)
    }

    /// What was taken up was not seen again.
    pub(super) fn let_go(&mut self, suspicion: &Suspicion) {
        let key = suspicion.key();
        self.keys.remove(&key);
        self.looking_into.retain(|known| *known != key);
        self.not_again += 1;
        *self.fleeting.entry(key).or_default() += 1;
        *self.fleeting_kinds.entry(suspicion.kind).or_default() += 1;
        if let Some(count) = self.of_requirement.get_mut(&suspicion.requirement) {
            *count = count.saturating_sub(1);
        }
    }

    /// What stands for a finding until it is made small and confirmed.
    pub(super) fn note(&mut self, finding: Finding) {
        self.findings.retain(|known| known.key != finding.key);
        self.findings.push(finding);
    }

    pub(super) fn settle(&mut self, finding: Finding) {
        self.looking_into.retain(|known| *known != finding.key);
        self.note(finding);
    }

    /// Findings that are not being looked into any more.
    pub(super) fn settled(&self) -> usize {
        self.findings.iter().filter(|finding| !finding.provisional).count()
    }
}

//! A bug that was found: what breaks, the smallest input that shows it, and how surely.

use std::cmp::Ordering;

use mcp_conform_reports::model::{CheckResult, Evidence, Verdict};
use mcp_conform_schemas::Revision;
use serde::{Deserialize, Serialize};

use super::{
    input::Input,
    oracle::{Kind, Suspicion},
};

/// Version of the files of a finding.
pub(super) const VERSION: u32 = 1;

/// A bug, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub version: u32,
    /// Name of its folder, and of its case.
    pub id: String,
    /// Equal for the same bug.
    pub key: String,
    pub kind: Kind,
    pub requirement: String,
    pub revision: Revision,
    /// `stdio` or `http`.
    pub transport: String,
    /// Id of the rule, or `fuzz`.
    pub check: String,
    pub verdict: Verdict,
    pub message: String,
    pub input: Input,
    /// Messages of the smallest input.
    pub messages: usize,
    /// Messages of the input that showed it first, with what went before it in the same conversation, where that mattered.
    pub messages_at_first: usize,
    /// How often it was seen in so many attempts on a fresh server.
    pub seen: u32,
    pub attempts: u32,
    /// It was seen once, and was not tried again yet.
    pub provisional: bool,
    pub seed: u64,
    /// Inputs of the campaign before it, and seconds.
    pub after_inputs: u64,
    pub after_s: f64,
    /// The fuzzer that goes on with it again.
    pub repro: String,
    #[serde(default)]
    pub evidence: Evidence,
}

impl Finding {
    /// Seen in some attempts and not in others.
    pub fn is_flaky(&self) -> bool {
        self.seen < self.attempts
    }

    /// The same as the result of a run.
    pub fn result(&self) -> CheckResult {
        let rate = if self.provisional {
            " (seen once; the campaign ended before it was tried again)".to_owned()
        } else if self.is_flaky() {
            format!(" (seen in {} of {} attempts)", self.seen, self.attempts)
        } else {
            String::new()
        };
        let row = mcp_conform_cases::Catalogue::get().row(&self.requirement, self.revision);
        let mut evidence = self.evidence.clone();
        evidence.repro = Some(self.repro.clone());
        CheckResult {
            check: self.check.clone(),
            requirement: self.requirement.clone(),
            revision: self.revision.to_string(),
            transport: self.transport.clone(),
            verdict: self.verdict,
            level: row.map_or("MUST", |row| row.level.as_str()).to_owned(),
            subject: self.id.clone(),
            part: None,
            message: format!("{}{rate}", self.message),
            evidence,
            occasions: u64::from(self.attempts),
            mild: None,
            fix: row.and_then(|row| row.remedy()).map(str::to_owned),
            verify_with: None,
            excuse: None,
        }
    }
}

/// A name for a finding: what it is about, and enough of a hash to tell it from others.
pub(super) fn id_of(suspicion: &Suspicion) -> String {
    use sha2::{Digest as _, Sha256};
    let words: String = suspicion
        .requirement
        .trim_start_matches("own/")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(48)
        .collect();
    let digest = Sha256::digest(suspicion.key().as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", words.trim_matches('-'))
}

/// Whether a finding, as how often it was seen in how many attempts and its number of messages, is surer than another one, or
/// as sure and smaller.
pub(super) fn is_better(new: (u32, u32, usize), old: (u32, u32, usize)) -> bool {
    let sure = |(seen, attempts, _): (u32, u32, usize)| u64::from(seen) * 100 / u64::from(attempts.max(1));
    match sure(new).cmp(&sure(old)) {
        Ordering::Greater => true,
        Ordering::Equal => new.2 < old.2,
        Ordering::Less => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_better;

    #[test]
    fn what_is_surer_wins_and_then_what_is_smaller() {
        let (sure, flaky) = ((3, 3, 4), (2, 3, 1));
        assert!(is_better(sure, flaky) && !is_better(flaky, sure), "a small one that comes and goes is worth less");
        assert!(is_better((5, 5, 3), sure) && !is_better(sure, (5, 5, 3)), "all of three is all of five");
        assert!(!is_better(sure, sure), "nothing is written anew for nothing");
        assert!(is_better(flaky, (0, 0, 1)), "one that was never confirmed");
    }
}

//! What a case says, before the catalogue grades it.

use mcp_conform_reports::model::Evidence;

use crate::conversation::Answer;

/// One verdict of a case on one requirement and subject.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseVerdict {
    pub requirement: String,
    pub word: Word,
    /// Loop rounds, outermost first, joined by ` / `; empty for the server as a whole.
    pub subject: String,
    /// The place in the script, without the rounds of loops, which the subject names.
    pub step: String,
    pub message: String,
    pub evidence: Evidence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Fail, warn or advice as the catalogue grades the requirement.
    Broken,
    Contested,
    /// The script itself is at fault.
    Harness,
    NotVerified,
    Pass,
    /// Broken in a form that warns at most.
    Warned,
}

impl Word {
    /// Whether a requirement was seen broken.
    pub fn is_breach(self) -> bool {
        matches!(self, Self::Broken | Self::Warned)
    }
}

/// Everything that one run of a case gave.
#[derive(Debug, Default)]
pub struct CaseOutcome {
    pub verdicts: Vec<CaseVerdict>,
    /// Answers that the script wants kept, by name.
    pub snapshots: Vec<(String, Answer)>,
    /// A conversation that others had used before took part.
    pub shared: bool,
}

//! The counts of a report in words.

use anstyle::Style;

use crate::merge::Finding;
use crate::model::{Summary, Verdict};
use crate::text;

use super::sheet::{self, DIM};

/// The counts of all verdicts; with `findings`, how many requirements stand behind failures and warnings.
pub(super) fn tally(summary: &Summary, findings: &[Finding<'_>]) -> Vec<(Style, String)> {
    let mut pieces: Vec<(Style, String)> = Vec::new();
    for (verdict, count) in summary.counts() {
        // No failures is news; none of the others is.
        if count == 0 && verdict != Verdict::Fail {
            continue;
        }
        if let Some((_, piece)) = pieces.last_mut() {
            piece.push(',');
        }
        let style = if count == 0 { DIM } else { sheet::style(verdict) };
        let mut piece = tally_word(verdict, count);
        let mut broken: Vec<_> =
            findings.iter().filter(|finding| finding.verdict == verdict).map(|finding| finding.requirement).collect();
        broken.dedup();
        if matches!(verdict, Verdict::Fail | Verdict::Warn) && !broken.is_empty() {
            piece.push_str(&format!(" ({})", text::plural(broken.len() as u64, "requirement")));
        }
        pieces.push((style, piece));
    }
    pieces
}

fn tally_word(verdict: Verdict, count: u64) -> String {
    let word = match verdict {
        Verdict::Fail if count == 0 => return "none failed".to_owned(),
        Verdict::Fail => "failed",
        Verdict::HarnessError => return format!("{} of ours", text::plural(count, "fault")),
        Verdict::Warn => return text::plural(count, "warning"),
        Verdict::Contested => "contested",
        Verdict::Advice => "advice",
        Verdict::NotVerified => "not verified",
        Verdict::NotApplicable => "not applicable",
        Verdict::Pass => "passed",
    };
    format!("{} {word}", text::thousands(count))
}

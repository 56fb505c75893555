//! What the terminal report tells of a list of known failures.

use crate::model::{Report, Standing, Verdict};
use crate::plain;
use crate::render::Detail;
use crate::text;

use super::Page;
use super::sheet::{self, BOLD, DIM, PLAIN};

impl Page {
    /// Lines of the baseline that fail the run, and those of which it says nothing.
    pub(super) fn baseline(&mut self, report: &Report) {
        let Some(baseline) = &report.baseline else { return };
        let file = text::bounded(&baseline.file, 200);
        for (standing, style, word, title) in [
            (
                Standing::Stale,
                sheet::style(Verdict::Fail),
                "STALE",
                "lines of the baseline that name no failure any more",
            ),
            (Standing::Open, DIM, "OPEN", "lines of the baseline that could not be checked"),
        ] {
            let entries: Vec<_> = baseline.standing(standing).collect();
            if entries.is_empty() || (standing == Standing::Open && self.detail == Detail::Quiet) {
                continue;
            }
            self.headed(style, word, entries.len(), title);
            for entry in entries.iter().take(self.bounds.findings) {
                let pieces =
                    [(DIM, format!("{file}:{}", entry.line)), (BOLD, text::bounded(&plain::entry(entry), 300))];
                self.sheet.flow(2, "  ", &pieces);
                self.sheet.paragraph(4, PLAIN, &text::bounded(&entry.why, self.bounds.message));
            }
            let left = entries.len().saturating_sub(self.bounds.findings);
            if left > 0 {
                self.sheet.paragraph(2, DIM, &format!("{} more", text::thousands(left as u64)));
            }
            if standing == Standing::Stale {
                self.sheet.paragraph(4, sheet::style(Verdict::Pass), "Take them out, or run with --baseline-update.");
            }
        }
    }
}

//! The end of a run over many servers, for a person: one line a server, what could not be judged, and what is stale.

use std::io::{self, Write};

use crate::exit::{self, Exit};
use crate::matrix::Matrix;
use crate::model::{Report, Shard, Standing, Summary, TargetStatus, Verdict};
use crate::plain;
use crate::render::Options;
use crate::target;
use crate::text;

use super::sheet::{self, BOLD, DIM, PLAIN, Sheet};
use super::tally::tally;

/// What the reports themselves do not say.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub file: String,
    /// Servers that left no result, and what was said instead.
    pub problems: Vec<(String, String)>,
    pub shard: Option<Shard>,
    pub exit: Exit,
}

/// Stale and open lines that are shown.
const LINES: usize = 40;

/// Writes the page.
pub fn write(reports: &[Report], fleet: &Fleet, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut sheet = Sheet::new(options.width, options.styled);
    let matrix = Matrix::of(reports);
    let count = text::plural((reports.len() + fleet.problems.len()) as u64, "server");
    sheet.flow(0, " ", &[(BOLD, count), (PLAIN, "of".to_owned()), (BOLD, text::bounded(&fleet.file, 200))]);
    if let Some(shard) = fleet.shard {
        sheet.paragraph(0, DIM, &shard.told());
    }
    sheet.gap();
    for row in &matrix.servers {
        let pieces = vec![(BOLD, text::bounded(&row.name, 80)), (PLAIN, gist(row.report))];
        sheet.flow(2, "  ", &pieces);
        if !row.revisions.is_empty() {
            sheet.paragraph(4, DIM, &text::bounded(&format!("supports {}", row.revisions.join(", ")), 200));
        }
    }
    for (name, said) in &fleet.problems {
        let said = if said.is_empty() { "its run ended without a word" } else { said };
        sheet.flow(2, "  ", &[(BOLD, text::bounded(name, 80)), (sheet::style(Verdict::Fail), "no result".to_owned())]);
        for line in said.lines().take(8) {
            sheet.paragraph(4, PLAIN, &text::bounded(line.trim(), 600));
        }
    }
    // The list is one for all servers, so that any of them tells it.
    if let Some(baseline) = reports.iter().find_map(|report| report.baseline.as_ref()) {
        for (standing, title) in [
            (Standing::Stale, "Lines of the baseline that name no failure any more"),
            (Standing::Open, "Lines of the baseline that could not be checked"),
        ] {
            let lines: Vec<_> = baseline.standing(standing).collect();
            if lines.is_empty() {
                continue;
            }
            sheet.gap().put(BOLD, title).end();
            for entry in lines.iter().take(LINES) {
                sheet.paragraph(2, PLAIN, &plain::stale(&baseline.file, entry));
            }
            let left = lines.len().saturating_sub(LINES);
            if left > 0 {
                sheet.paragraph(2, DIM, &format!("{} more", text::thousands(left as u64)));
            }
        }
    }
    let summary = Summary::of(reports.iter().flat_map(|report| &report.results));
    sheet.gap();
    sheet.flow(0, " ", &tally(&summary, &[]));
    if let Some(excused) = summary.excused() {
        sheet.paragraph(0, PLAIN, &excused);
    }
    let exit = fleet.exit;
    sheet.paragraph(0, BOLD, &format!("Exit code {}: {}.", exit.code(), exit::told_of_all(exit, reports)));
    out.write_all(sheet.into_string().as_bytes())
}

/// How a server did, in a few words.
pub fn gist(report: &Report) -> String {
    if report.target.status != TargetStatus::Ok {
        let (what, _) = target::explain(report.target.status);
        return format!("could not be judged: {what}");
    }
    let summary = Summary::of(&report.results);
    let mut told = tally(&summary, &[]).into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().join(" ");
    if report.interrupted.is_some() {
        told.push_str(" (interrupted)");
    }
    told
}

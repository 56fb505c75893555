//! The page of several servers: a table of servers by areas, by requirements on demand, and a section for each server
//! with the exchange behind its cells.
//!
//! The standing of every requirement is one letter in a data block, from which the script makes the table of one area:
//! two hundred servers by five hundred requirements would be too many cells to lay out at once.

use std::io::{self, Write};

use askama::Template;
use serde_json::json;

use crate::matrix::{Cell, Matrix, Row};
use crate::model::{Report, TargetStatus, Verdict};
use crate::target;
use crate::text;

use super::entry::{self, Bounds, Entry};
use super::{MESSAGE, Shell, shown, tally, tool, word};

/// What the page holds of a server; its own report has all.
const BOUNDS: Bounds<'_> = Bounds { entries: 100, variants: 3, around: 600, result: None };

/// Writes the page.
pub fn write(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    super::write(&Page::of(&Matrix::of(reports)), out)
}

#[derive(Template)]
#[template(path = "matrix.html")]
struct Page {
    shell: Shell,
    title: String,
    lead: String,
    areas: Vec<String>,
    rows: Vec<RowView>,
    legend: Vec<Mark>,
    data: String,
}

struct RowView {
    id: String,
    name: String,
    target: String,
    revisions: String,
    /// How grave it is, for sorting: failures first, then warnings.
    weight: u64,
    fail: u64,
    warn: u64,
    cells: Vec<Mark>,
    problem: String,
    counts: Vec<(&'static str, String)>,
    entries: Vec<Entry>,
    left: String,
}

/// What stands in a cell.
struct Mark {
    verdict: &'static str,
    text: String,
    said: String,
}

impl Page {
    fn of(matrix: &Matrix<'_>) -> Self {
        let tool = matrix.servers.first().map_or_else(|| "mcp-conform".to_owned(), |row| tool(row.report));
        let script = concat!(include_str!("../../templates/common.js"), include_str!("../../templates/matrix.js"));
        let failing = matrix.servers.iter().filter(|row| row.summary.fail > 0).count() as u64;
        let unjudged = matrix.servers.iter().filter(|row| row.status != TargetStatus::Ok).count() as u64;
        let mut lead = format!("{failing} of {} break a requirement", matrix.servers.len());
        if unjudged > 0 {
            lead.push_str(&format!(", {unjudged} could not be judged"));
        }
        lead.push('.');
        Self {
            shell: Shell::new(tool, script),
            title: format!("MCP conformance of {}", text::plural(matrix.servers.len() as u64, "server")),
            lead,
            areas: matrix.areas.iter().map(|area| shown(area, 80)).collect(),
            rows: matrix.servers.iter().enumerate().map(|(index, row)| view(row, index)).collect(),
            legend: Verdict::ALL
                .into_iter()
                .map(|verdict| Mark {
                    verdict: verdict.as_str(),
                    text: sign(verdict),
                    said: word(verdict).to_lowercase(),
                })
                .collect(),
            data: data(matrix),
        }
    }
}

fn view(row: &Row<'_>, index: usize) -> RowView {
    let id = format!("s{index}");
    let told = |verdict| {
        matches!(verdict, Verdict::Fail | Verdict::HarnessError | Verdict::Warn | Verdict::Contested | Verdict::Advice)
    };
    let (entries, left) = entry::entries(row.report, &format!("{id}-"), told, BOUNDS);
    let problem = if row.status == TargetStatus::Ok {
        String::new()
    } else {
        let (what, way_out) = target::explain(row.status);
        let message = row.report.target.message.as_deref().unwrap_or(way_out);
        shown(&format!("Could not be judged: {what}. {message}"), MESSAGE)
    };
    RowView {
        id,
        name: shown(&row.name, 80),
        target: shown(row.target, 300),
        revisions: shown(&row.revisions.join(", "), 120),
        weight: row.summary.fail.saturating_mul(1_000_000).saturating_add(row.summary.warn),
        fail: row.summary.fail,
        warn: row.summary.warn,
        cells: row.areas.iter().map(|cell| mark(*cell)).collect(),
        problem,
        counts: row
            .summary
            .counts()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| (verdict.as_str(), tally(verdict, count)))
            .collect(),
        entries,
        left: if left > 0 {
            format!("{} only in the report of this server.", text::plural(left, "finding"))
        } else {
            String::new()
        },
    }
}

fn mark(cell: Option<Cell>) -> Mark {
    match cell {
        None => Mark { verdict: "none", text: String::new(), said: "not asked".to_owned() },
        Some(Cell { verdict, count }) => {
            let many = !matches!(verdict, Verdict::Pass | Verdict::NotApplicable | Verdict::NotVerified);
            let text = if many { text::thousands(count) } else { sign(verdict) };
            Mark { verdict: verdict.as_str(), text, said: tally(verdict, count) }
        }
    }
}

/// A verdict as one character: what a cell of one requirement shows.
fn sign(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Fail => "✕",
        Verdict::HarnessError => "‼",
        Verdict::Warn => "!",
        Verdict::Contested => "≠",
        Verdict::Advice => "i",
        Verdict::NotVerified => "?",
        Verdict::NotApplicable => "–",
        Verdict::Pass => "✓",
    };
    sign.to_owned()
}

/// For the table of one area: each requirement, and a letter for its standing with each server.
fn data(matrix: &Matrix<'_>) -> String {
    let requirements = matrix.requirements();
    let letter = |verdict: Option<&Verdict>| match verdict {
        None => '.',
        Some(verdict) => {
            Verdict::ALL.iter().zip("abcdefgh".chars()).find(|(v, _)| *v == verdict).map_or('.', |(_, c)| c)
        }
    };
    let standings: Vec<String> = matrix
        .servers
        .iter()
        .map(|row| requirements.iter().map(|(id, _)| letter(row.requirements.get(id))).collect())
        .collect();
    let verdicts: Vec<_> = Verdict::ALL
        .into_iter()
        .map(
            |verdict| json!({"verdict": verdict.as_str(), "sign": sign(verdict), "said": word(verdict).to_lowercase()}),
        )
        .collect();
    let names: Vec<_> = requirements.iter().map(|(id, area)| [shown(id, 250), shown(area, 80)]).collect();
    let data = json!({"requirements": names, "standings": standings, "verdicts": verdicts}).to_string();
    // Inside a script element only this sign could end the data.
    data.replace('<', "\\u003c")
}

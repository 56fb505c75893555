//! Several results side by side: [`Matrix`], servers by areas and by requirements, sorted by name.
//!
//! Its pages are in `html/matrix.rs` (with the exchange behind each cell) and here ([`markdown`], [`json`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;

use crate::feature;
use crate::markdown::escaped;
use crate::model::{CheckResult, Report, Summary, TargetStatus, Verdict};
use crate::plain;
use crate::text;

#[derive(Debug, Serialize)]
pub struct Matrix<'a> {
    /// Columns of [`Row::areas`].
    pub areas: Vec<&'a str>,
    pub servers: Vec<Row<'a>>,
}

/// One server.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// Unique in the matrix.
    pub name: String,
    pub target: &'a str,
    pub status: TargetStatus,
    /// Revisions that it supports.
    pub revisions: Vec<&'a str>,
    pub summary: Summary,
    /// By area, as [`Matrix::areas`]; none where nothing was asked.
    pub areas: Vec<Option<Cell>>,
    /// The standing of each requirement, as `REVISION/ID`.
    pub requirements: BTreeMap<String, Verdict>,
    #[serde(skip)]
    pub report: &'a Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    pub verdict: Verdict,
    /// Requirements of that verdict.
    pub count: u64,
}

impl<'a> Matrix<'a> {
    pub fn of(reports: &'a [Report]) -> Self {
        let areas: BTreeSet<&str> =
            reports.iter().flat_map(|report| &report.requirements).map(|info| info.area.as_str()).collect();
        let areas: Vec<&str> = areas.into_iter().collect();
        let mut servers: Vec<Row<'a>> = reports.iter().map(|report| row(report, &areas)).collect();
        servers.sort_by(|a, b| (&a.name, a.target).cmp(&(&b.name, b.target)));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for server in &mut servers {
            let count = seen.entry(server.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                server.name.push_str(&format!(" ({count})"));
            }
        }
        Self { areas, servers }
    }

    /// Every requirement that was asked about, with its area.
    pub fn requirements(&self) -> Vec<(String, &'a str)> {
        let all: BTreeSet<(&str, &str, &str)> = self
            .servers
            .iter()
            .flat_map(|server| &server.report.requirements)
            .map(|info| (info.area.as_str(), info.revision.as_str(), info.id.as_str()))
            .collect();
        all.into_iter().map(|(area, revision, id)| (format!("{revision}/{id}"), area)).collect()
    }
}

/// What several results say together: what was judged wins over what was not, and the gravest of it wins.
fn standing(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.into_iter().min_by_key(|verdict| match verdict {
        Verdict::Pass => (1, *verdict),
        Verdict::NotVerified | Verdict::NotApplicable => (2, *verdict),
        _ => (0, *verdict),
    })
}

/// What a verdict says of its area. That nothing of a feature was broken says nothing for it where the run was not over its
/// transport, or the server does not have it.
fn in_area(report: &Report, area: &str, (revision, requirement): (&str, &str), verdict: Verdict) -> Option<Verdict> {
    match feature::of(area, requirement) {
        Some(feature) if verdict == Verdict::Pass && !feature.was_run(report) => None,
        Some(feature) if verdict == Verdict::Pass && feature.is_lacking(report, revision) => {
            Some(Verdict::NotApplicable)
        }
        _ => Some(verdict),
    }
}

fn row<'a>(report: &'a Report, areas: &[&'a str]) -> Row<'a> {
    let mut by_requirement: BTreeMap<(&str, &str), Vec<&CheckResult>> = BTreeMap::new();
    for result in &report.results {
        by_requirement.entry((&result.revision, &result.requirement)).or_default().push(result);
    }
    let mut by_area: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    let mut requirements = BTreeMap::new();
    let area_of: BTreeMap<(&str, &str), &str> = report
        .requirements
        .iter()
        .map(|info| ((info.revision.as_str(), info.id.as_str()), info.area.as_str()))
        .collect();
    for (key, results) in by_requirement {
        let Some(verdict) = standing(results.iter().map(|result| result.verdict)) else { continue };
        requirements.insert(format!("{}/{}", key.0, key.1), verdict);
        if let Some(area) = area_of.get(&key)
            && let Some(verdict) = in_area(report, area, key, verdict)
        {
            by_area.entry(area).or_default().push(verdict);
        }
    }
    let areas = areas.iter().map(|area| {
        let verdicts = by_area.get(area)?;
        let verdict = standing(verdicts.iter().copied())?;
        Some(Cell { verdict, count: verdicts.iter().filter(|known| **known == verdict).count() as u64 })
    });
    Row {
        // In a fleet a server is known by the name that it has there.
        name: report.target.label.as_ref().or(report.target.server.as_ref()).unwrap_or(&report.target.name).clone(),
        target: &report.target.name,
        status: report.target.status,
        revisions: report
            .revisions
            .iter()
            .filter(|support| support.supported)
            .map(|support| support.revision.as_str())
            .collect(),
        summary: Summary::of(&report.results),
        areas: areas.collect(),
        requirements,
        report,
    }
}

/// Rows of the Markdown table: a job summary takes a mebibyte, and nobody reads more.
const ROWS: usize = 300;

/// A table of the servers for a job summary.
pub fn markdown(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let matrix = Matrix::of(reports);
    writeln!(out, "## MCP conformance of {}\n", text::plural(matrix.servers.len() as u64, "server"))?;
    writeln!(out, "| server | revisions | failed | warnings | not verified | passed | broken areas |")?;
    writeln!(out, "|---|---|--:|--:|--:|--:|---|")?;
    for server in matrix.servers.iter().take(ROWS) {
        let broken = server
            .areas
            .iter()
            .zip(&matrix.areas)
            .filter_map(|(cell, area)| cell.filter(|cell| cell.verdict == Verdict::Fail).map(|_| *area));
        let broken = text::list(broken, 8);
        let broken = if server.status == TargetStatus::Ok { broken } else { "could not be judged".to_owned() };
        let counts = &server.summary;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            escaped(&server.name, 80),
            escaped(&server.revisions.join(", "), 120),
            counts.fail,
            counts.warn,
            counts.not_verified,
            counts.pass,
            escaped(&broken, 200)
        )?;
    }
    let left = matrix.servers.len().saturating_sub(ROWS);
    if left > 0 {
        writeln!(out, "\n{} more.", text::thousands(left as u64))?;
    }
    let stale = reports.iter().find(|report| report.baseline.is_some()).map(plain::stales).unwrap_or_default();
    if !stale.is_empty() {
        writeln!(out, "\n### Stale lines of the baseline ({})\n", text::thousands(stale.len() as u64))?;
        for line in stale.iter().take(ROWS) {
            writeln!(out, "- {}", escaped(line, 300))?;
        }
    }
    if let Some(excused) = Summary::of(reports.iter().flat_map(|report| &report.results)).excused() {
        writeln!(out, "\n{excused}")?;
    }
    Ok(())
}

pub fn json(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Matrix::of(reports))?;
    out.write_all(b"\n")
}

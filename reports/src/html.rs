//! Pages for a browser, each one file that holds all that it shows: [`Html`] is the page of a report.
//!
//! The templates escape what they are given for HTML; every text of a server is cleaned and bounded before
//! ([`shown`]). The page's only script is named by its hash in a content security policy, so that nothing else can
//! run even if the escaping had a hole. `html/` holds the parts: entries of a list, the support section, the matrix.

mod entry;
pub mod matrix;
pub mod support;

use std::collections::BTreeSet;
use std::io::{self, Write};

use askama::Template;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use crate::exit;
use crate::model::{CheckResult, Report, Standing, Summary, TargetStatus, Verdict};
use crate::plain;
use crate::render::{Options, Renderer};
use crate::support::{Support, Verified};
use crate::target;
use crate::text;

use entry::{Bounds, Entry};
use support::SupportView;

pub struct Html;

/// Beyond that a page is not read, and the result file has it all.
const BOUNDS: Bounds<'_> = Bounds { entries: 5_000, variants: 12, around: 3_000, result: None };
/// Characters of a message.
const MESSAGE: usize = 1_000;

impl Renderer for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "one page for a browser, with everything in it"
    }

    fn render(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        write(&Page::of(report, options, true), out)
    }
}

fn write(page: &impl Template, out: &mut dyn Write) -> io::Result<()> {
    let text = page.render().map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

/// What every page has.
struct Shell {
    tool: String,
    style: &'static str,
    script: &'static str,
    script_hash: String,
}

impl Shell {
    fn new(tool: String, script: &'static str) -> Self {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
        Self { tool, style: include_str!("../templates/page.css"), script, script_hash: format!("sha256-{hash}") }
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    shell: Shell,
    kind: String,
    server: String,
    target: String,
    alerts: Vec<Alert>,
    counts: Vec<(&'static str, u64)>,
    cards: Vec<Card>,
    older: Vec<Older>,
    /// The list of all results, too; without it the page is the support report.
    full: bool,
    verdicts: Vec<VerdictOption>,
    revisions: Vec<String>,
    areas: Vec<String>,
    entries_list: Vec<Entry>,
    support: SupportView,
    closing: Vec<String>,
}

struct Alert {
    title: String,
    text: String,
    lines: Vec<String>,
}

/// The verdict for one judged revision.
struct Card {
    tone: &'static str,
    revision: String,
    verdict: String,
    how: String,
    parts: Vec<Part>,
    verified: String,
}

struct Part {
    verdict: &'static str,
    count: u64,
    text: String,
}

struct Older {
    revision: String,
    word: &'static str,
    how: String,
}

struct VerdictOption {
    verdict: &'static str,
    word: &'static str,
}

impl Page {
    fn of(report: &Report, options: &Options, full: bool) -> Self {
        let support = Support::of(report);
        let target = &report.target;
        let mut alerts = alerts(report);
        let mut entries_list = Vec::new();
        if full {
            let left;
            (entries_list, left) =
                entry::entries(report, "", |_| true, Bounds { result: options.result.as_deref(), ..BOUNDS });
            if left > 0 {
                alerts.push(Alert {
                    title: "Not everything is here".to_owned(),
                    text: format!("{} are only in the result file.", text::plural(left, "requirement")),
                    lines: Vec::new(),
                });
            }
        }
        let mut areas: Vec<_> = report.requirements.iter().map(|info| shown(&info.area, 80)).collect();
        areas.sort();
        areas.dedup();
        let summary = Summary::of(&report.results);
        let seen = |(verdict, count): (Verdict, u64)| (count > 0).then_some(verdict);
        Self {
            shell: Shell::new(
                tool(report),
                concat!(include_str!("../templates/common.js"), include_str!("../templates/page.js")),
            ),
            kind: kind(report, full),
            server: shown(&support.server, 120),
            target: shown(&target.name, MESSAGE),
            alerts,
            counts: summary.counts().into_iter().map(|(verdict, count)| (verdict.as_str(), count)).collect(),
            cards: cards(&support, report),
            older: older(&support),
            full,
            verdicts: summary
                .counts()
                .into_iter()
                .filter_map(seen)
                .map(|verdict| VerdictOption { verdict: verdict.as_str(), word: word(verdict) })
                .collect(),
            revisions: support.judged.iter().map(|judged| shown(&judged.revision, 40)).collect(),
            areas,
            entries_list,
            support: SupportView::of(&support, report),
            closing: closing(report, options),
        }
    }
}

fn kind(report: &Report, full: bool) -> String {
    let mut out = if full { "MCP conformance" } else { "MCP revision support" }.to_owned();
    if !report.target.transports.is_empty() {
        out.push_str(&shown(&format!(" over {}", report.target.transports.join(" and ")), 80));
    }
    if let Some(day) = report.started.as_deref().and_then(|at| at.get(..10)) {
        out.push_str(&shown(&format!(", {day}"), 40));
    }
    out
}

fn tool(report: &Report) -> String {
    shown(&format!("{} {}", report.tool.name, report.tool.version), 100)
}

fn alerts(report: &Report) -> Vec<Alert> {
    let mut out = Vec::new();
    if report.target.status != TargetStatus::Ok {
        let (what, way_out) = target::explain(report.target.status);
        let skipped = report.target.evidence.len().saturating_sub(40);
        out.push(Alert {
            title: format!("The server could not be judged: {what}"),
            text: shown(report.target.message.as_deref().unwrap_or(way_out), MESSAGE),
            lines: report.target.evidence.iter().skip(skipped).map(|line| shown(line, MESSAGE)).collect(),
        });
    }
    if let Some(shard) = report.shard {
        out.push(Alert { title: "A part of a run".to_owned(), text: shard.told(), lines: Vec::new() });
    }
    let stale = plain::stales(report);
    if !stale.is_empty() {
        out.push(Alert {
            title: "The baseline is stale".to_owned(),
            text: "What these lines name is no failure any more: take them out, or run with --baseline-update."
                .to_owned(),
            lines: stale.into_iter().take(40).collect(),
        });
    }
    if let Some(why) = &report.interrupted {
        out.push(Alert {
            title: "The run was interrupted".to_owned(),
            text: format!("{}. What was judged until then stands.", shown(why.trim_end_matches('.'), MESSAGE)),
            lines: Vec::new(),
        });
    }
    out
}

fn cards(support: &Support, report: &Report) -> Vec<Card> {
    support
        .judged
        .iter()
        .map(|judged| {
            let how = report.revisions.iter().find(|known| known.revision == judged.revision);
            let how = how.map_or_else(String::new, |known| {
                let over = if known.transports.is_empty() {
                    String::new()
                } else {
                    format!(" Seen over {}.", known.transports.join(" and "))
                };
                format!("{}.{over}", known.how.trim_end_matches('.'))
            });
            let summary = &judged.summary;
            let broken = |excused: bool| {
                let failed = |result: &&CheckResult| {
                    result.revision == judged.revision
                        && result.verdict == Verdict::Fail
                        && result.excuse.is_some() == excused
                };
                let failed = report.results.iter().filter(failed);
                failed.map(|result| result.requirement.as_str()).collect::<BTreeSet<_>>().len() as u64
            };
            let (broken, excused) = (broken(false), broken(true));
            let passed = summary.pass + summary.contested;
            let (tone, verdict) = match () {
                () if broken > 0 => ("fail", format!("{} broken", text::plural(broken, "requirement"))),
                () if !judged.supported => ("none", "Not supported".to_owned()),
                () if summary.harness_error > 0 => ("fail", "Not judged to the end".to_owned()),
                () if excused > 0 => (
                    "warn",
                    format!("Nothing broken that counts, {} known or new", text::plural(excused, "requirement")),
                ),
                () if summary.warn > 0 => {
                    ("warn", format!("Nothing broken, {}", text::plural(summary.warn, "warning")))
                }
                () if passed > 0 => ("pass", "Nothing broken".to_owned()),
                () => ("none", "Supported, not judged".to_owned()),
            };
            let parts = summary
                .counts()
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(verdict, count)| Part { verdict: verdict.as_str(), count, text: tally(verdict, count) })
                .collect();
            Card {
                tone,
                revision: shown(&judged.revision, 40),
                verdict,
                how: shown(&how, MESSAGE),
                parts,
                verified: verified(judged.verified),
            }
        })
        .collect()
}

/// How much of what applies is known.
fn verified(verified: Verified) -> String {
    match verified.in_catalogue {
        0 => format!("{}.", verified.told()),
        all => format!("{}; the catalogue has {}.", verified.told(), text::thousands(all)),
    }
}

fn older(support: &Support) -> Vec<Older> {
    let judged = |revision: &str| support.judged.iter().any(|judged| judged.revision == revision);
    support
        .revisions
        .iter()
        .filter(|known| !judged(&known.revision))
        .map(|known| Older {
            revision: shown(&known.revision, 40),
            word: if known.supported { "negotiated" } else { "not negotiated" },
            how: shown(&known.how, 300),
        })
        .collect()
}

fn closing(report: &Report, options: &Options) -> Vec<String> {
    let cost = &report.cost;
    let seconds = |seconds: f64| if seconds.is_finite() && seconds >= 0.0 { seconds } else { 0.0 };
    let mut out: Vec<String> = report.notes.iter().take(40).map(|note| shown(note, MESSAGE)).collect();
    out.push(format!(
        "{}, {}, {:.1} s waited on purpose, {:.1} s in all, seed {}{}",
        text::plural(cost.process_starts, "process start"),
        text::plural(cost.requests, "request"),
        seconds(cost.waited_s),
        seconds(cost.took_s),
        report.tool.seed,
        report.started.as_ref().map(|at| format!(", begun at {}", shown(at, 40))).unwrap_or_default()
    ));
    if !report.requirement_sets.is_empty() {
        let sets = text::list(report.requirement_sets.iter().map(String::as_str), 10);
        out.push(shown(&format!("counted by {sets}"), MESSAGE));
    }
    if let Some(baseline) = &report.baseline {
        for entry in baseline.standing(Standing::Open).take(40) {
            out.push(format!("could not be checked: {}", plain::stale(&baseline.file, entry)));
        }
    }
    out.extend(Summary::of(&report.results).excused());
    out.extend(options.exit.map(|exit| format!("Exit code {}: {}.", exit.code(), exit::told(exit, report))));
    out
}

/// The name of a verdict for a person.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fail => "Failed",
        Verdict::HarnessError => "Our fault",
        Verdict::Warn => "Warning",
        Verdict::Contested => "Contested",
        Verdict::Advice => "Advice",
        Verdict::NotVerified => "Not verified",
        Verdict::NotApplicable => "Not applicable",
        Verdict::Pass => "Passed",
    }
}

/// A count of verdicts.
fn tally(verdict: Verdict, count: u64) -> String {
    match verdict {
        Verdict::Warn => text::plural(count, "warning"),
        Verdict::HarnessError => format!("{} of ours", text::plural(count, "fault")),
        other => format!("{} {}", text::thousands(count), word(other).to_lowercase()),
    }
}

/// A text from outside, fit for a template.
fn shown(text: &str, limit: usize) -> String {
    text::clean(&text::bounded(text, limit))
}

//! JUnit XML for the test pages of CI systems: [`JUnit`].
//!
//! The strict schema of Ant's JUnit task allows a test case one outcome and neither properties nor a warning. So a
//! broken requirement that only warns is a success that says so in the output of its suite, and the counts of all
//! verdicts stand in the properties. That schema also rules out the counts on the root that quick-junit writes, which
//! is why this is written here.
//!
//! A test case is one verdict and has the time of the check that made it; a check makes several. So the time of a suite
//! is that of its checks, each once. A rule only looks on, and has none.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::model::{CheckResult, Report, Summary, TargetStatus, Verdict};
use crate::order;
use crate::plain;
use crate::render::{Options, Renderer};
use crate::target;
use crate::text;

pub struct JUnit;

impl Renderer for JUnit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn about(&self) -> &'static str {
        "JUnit XML, for the test page of a CI system"
    }

    fn render(&self, report: &Report, _options: &Options, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(out, "<testsuites>")?;
        let mut id = 0;
        if report.target.status != TargetStatus::Ok || report.interrupted.is_some() {
            ending(report, out)?;
            id += 1;
        }
        let mut suites: BTreeMap<(&str, &str), Vec<&CheckResult>> = BTreeMap::new();
        for result in order::sorted(report) {
            let info = report.requirement(&result.requirement, &result.revision);
            let area = info.map_or("own", |info| info.area.as_str());
            suites.entry((&result.revision, area)).or_default().push(result);
        }
        for ((revision, area), results) in suites {
            suite(report, revision, area, id, &results, out)?;
            id += 1;
        }
        let stale = plain::stales(report);
        if !stale.is_empty() {
            baseline(report, &stale, id, out)?;
        }
        writeln!(out, "</testsuites>")
    }
}

/// A suite of the lines of the baseline that fail the run.
fn baseline(report: &Report, stale: &[String], id: usize, out: &mut dyn Write) -> io::Result<()> {
    let count = stale.len() as u64;
    open(report, "baseline", "mcp-conform", id, &Counts { tests: count, failures: count, ..Counts::default() }, out)?;
    writeln!(out, "    <properties/>")?;
    for line in stale {
        let line = entities(line);
        writeln!(out, r#"    <testcase name="{line}" classname="mcp-conform.baseline" time="0">"#)?;
        writeln!(out, r#"      <failure message="stale: {line}" type="stale"/>"#)?;
        writeln!(out, "    </testcase>")?;
    }
    close("", out)
}

/// A suite of one case for a run that could not be done, or not to its end.
fn ending(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let counts = Counts { tests: 1, errors: 1, ..Counts::default() };
    open(report, "run", "mcp-conform", 0, &counts, out)?;
    writeln!(out, "    <properties/>")?;
    writeln!(out, r#"    <testcase name="the run" classname="mcp-conform" time="0">"#)?;
    let (what, way_out) = target::explain(report.target.status);
    let (kind, message, body) = match &report.interrupted {
        Some(why) => ("interrupted", format!("interrupted: {why}"), Vec::new()),
        None => {
            let message = format!("{what}. {}", report.target.message.as_deref().unwrap_or(way_out));
            let skipped = report.target.evidence.len().saturating_sub(40);
            ("unavailable", message, report.target.evidence.iter().skip(skipped).map(String::as_str).collect())
        }
    };
    writeln!(out, r#"      <error message="{}" type="{kind}">"#, xml(&message, plain::MESSAGE))?;
    for line in body {
        writeln!(out, "{}", xml(line, plain::MESSAGE))?;
    }
    writeln!(out, "</error>\n    </testcase>")?;
    close("", out)
}

fn suite(
    report: &Report,
    revision: &str,
    area: &str,
    id: usize,
    results: &[&CheckResult],
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = Summary::of(results.iter().copied());
    let failed = results.iter().filter(|result| result.verdict == Verdict::Fail);
    let excused = failed.filter(|result| result.excuse.is_some()).count() as u64;
    let counts = Counts {
        tests: results.len() as u64,
        failures: summary.fail - excused,
        errors: summary.harness_error,
        skipped: summary.not_verified + summary.not_applicable + excused,
        time: 0.0,
    };
    let mut checks: Vec<&CheckResult> = results.to_vec();
    checks.sort_by_key(|result| (&result.check, &result.transport));
    checks.dedup_by_key(|result| (&result.check, &result.transport));
    let time = checks.iter().filter_map(|result| report.time(result)).sum();
    open(report, area, revision, id, &Counts { time, ..counts }, out)?;
    writeln!(out, "    <properties>")?;
    for (verdict, count) in summary.counts() {
        writeln!(out, r#"      <property name="{}" value="{count}"/>"#, verdict.as_str())?;
    }
    writeln!(out, "    </properties>")?;
    let class = format!("{}.{}", xml(revision, 40), xml(area, 80));
    let mut remarks = String::new();
    for result in results {
        let name = xml(&plain::name(result), 1_000);
        let time = seconds(report.time(result).unwrap_or_default());
        write!(out, r#"    <testcase name="{name}" classname="{class}" time="{time}""#)?;
        let message = xml(&result.message, plain::MESSAGE);
        match (result.verdict, &result.excuse) {
            (Verdict::Fail, Some(excuse)) => {
                let lines = plain::lines(report, result).join("\n");
                let excuse = xml(&excuse.told(), plain::MESSAGE);
                remarks.push_str(&format!("{excuse}: {name}\n{}\n\n", entities(&lines)));
                writeln!(out, ">\n      <skipped message=\"{excuse}\"/>\n    </testcase>")?;
            }
            (Verdict::Fail | Verdict::HarnessError, _) => {
                let element = if result.verdict == Verdict::Fail { "failure" } else { "error" };
                let lines = plain::lines(report, result).join("\n");
                writeln!(out, ">\n      <{element} message=\"{message}\" type=\"{}\">", xml(&result.level, 20))?;
                writeln!(out, "{}</{element}>\n    </testcase>", entities(&lines))?;
            }
            (Verdict::NotVerified | Verdict::NotApplicable, _) => {
                let word = if result.verdict == Verdict::NotVerified { "not verified" } else { "not applicable" };
                writeln!(out, ">\n      <skipped message=\"{word}: {message}\"/>\n    </testcase>")?;
            }
            (Verdict::Warn | Verdict::Contested | Verdict::Advice, _) => {
                let lines = plain::lines(report, result).join("\n");
                remarks.push_str(&format!("{}: {name}\n{}\n\n", result.verdict.as_str(), entities(&lines)));
                writeln!(out, "/>")?;
            }
            (Verdict::Pass, _) => writeln!(out, "/>")?,
        }
    }
    close(&remarks, out)
}

#[derive(Default)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    /// In seconds.
    time: f64,
}

fn open(report: &Report, name: &str, package: &str, id: usize, counts: &Counts, out: &mut dyn Write) -> io::Result<()> {
    // The schema wants a time without a zone; a result without one gets the beginning of time rather than today.
    let started = report.started.as_deref().unwrap_or_default();
    let started = started.get(..19).filter(|time| is_time(time)).unwrap_or("1970-01-01T00:00:00");
    let Counts { tests, failures, errors, skipped, time } = counts;
    let time = seconds(*time);
    writeln!(
        out,
        r#"  <testsuite name="{}" package="{}" id="{id}" timestamp="{started}" hostname="localhost" tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}" time="{time}">"#,
        token(name, 80),
        token(package, 40)
    )
}

fn close(remarks: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    <system-out>{remarks}</system-out>\n    <system-err/>\n  </testsuite>")
}

/// To a millisecond, and short where it is none.
fn seconds(time: f64) -> String {
    if time == 0.0 { "0".to_owned() } else { format!("{time:.3}") }
}

/// A name that is never empty.
fn token(name: &str, limit: usize) -> String {
    if name.trim().is_empty() { "unnamed".to_owned() } else { xml(name, limit) }
}

fn is_time(text: &str) -> bool {
    text.chars().zip("0000-00-00T00:00:00".chars()).all(|(c, form)| match form {
        '0' => c.is_ascii_digit(),
        form => c == form,
    })
}

/// Cleaned and bounded: no control character is left, so that XML can hold it.
pub(crate) fn xml(text: &str, limit: usize) -> String {
    entities(&text::clean(&text::bounded(text, limit)))
}

pub(crate) fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

//! JUnit XML for the test pages of CI systems: [`JUnit`].
//!
//! A test case has one outcome and no place for a warning. So what is broken and does not fail the run is a success that
//! says so in its own output, and the counts of all verdicts stand in the properties of a suite. The files hold to the
//! schema of Ant's JUnit task but for two things that every reader knows and that schema lacks: the output of a test
//! case, and the totals on the root.
//!
//! A test case is one verdict, and a check makes several: the first of them has the time of the check, so that the times
//! add up. A rule only looks on, and has none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use crate::exit::{self, FailOn};
use crate::key;
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
        let mut suites: Vec<Suite> = Vec::new();
        if report.target.status != TargetStatus::Ok || report.interrupted.is_some() {
            suites.push(ending(report));
        }
        let results = order::sorted(report);
        let names = plain::names(&results);
        let mut areas: BTreeMap<(&str, &str), Vec<(&CheckResult, &str)>> = BTreeMap::new();
        for (result, name) in results.iter().zip(&names) {
            let info = report.requirement(&result.requirement, &result.revision);
            let area = info.map_or("own", |info| info.area.as_str());
            areas.entry((&result.revision, area)).or_default().push((result, name));
        }
        let mut timed = BTreeSet::new();
        suites.extend(
            areas.into_iter().map(|((revision, area), tests)| suite(report, revision, area, &tests, &mut timed)),
        );
        let stale = plain::stales(report);
        if !stale.is_empty() {
            suites.push(baseline(&stale));
        }
        let mut total = Counts::default();
        suites.iter().for_each(|suite| total.add(&suite.counts));
        writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(out, r#"<testsuites name="mcp-conform" {}>"#, total.attributes())?;
        for (id, suite) in suites.iter().enumerate() {
            suite.write(report, id, out)?;
        }
        writeln!(out, "</testsuites>")
    }
}

/// Test cases as they will stand in the file.
struct Suite {
    name: String,
    package: String,
    counts: Counts,
    properties: Vec<(&'static str, u64)>,
    body: String,
}

impl Suite {
    fn write(&self, report: &Report, id: usize, out: &mut dyn Write) -> io::Result<()> {
        // The schema wants a time without a zone; a result without one gets the beginning of time rather than today.
        let started = report.started.as_deref().unwrap_or_default();
        let started = started.get(..19).filter(|time| is_time(time)).unwrap_or("1970-01-01T00:00:00");
        writeln!(
            out,
            r#"  <testsuite name="{}" package="{}" id="{id}" timestamp="{started}" hostname="localhost" {}>"#,
            token(&self.name, 80),
            token(&self.package, 40),
            self.counts.attributes()
        )?;
        if self.properties.is_empty() {
            writeln!(out, "    <properties/>")?;
        } else {
            writeln!(out, "    <properties>")?;
            for (name, count) in &self.properties {
                writeln!(out, r#"      <property name="{name}" value="{count}"/>"#)?;
            }
            writeln!(out, "    </properties>")?;
        }
        out.write_all(self.body.as_bytes())?;
        writeln!(out, "    <system-out></system-out>\n    <system-err/>\n  </testsuite>")
    }
}

/// A suite of the lines of the baseline that fail the run.
fn baseline(stale: &[String]) -> Suite {
    let count = stale.len() as u64;
    let mut body = String::new();
    for line in stale {
        let line = entities(line);
        body.push_str(&format!(
            "    <testcase name=\"{line}\" classname=\"mcp-conform.baseline\" time=\"0\">\n      \
             <failure message=\"stale: {line}\" type=\"stale\"/>\n    </testcase>\n"
        ));
    }
    let counts = Counts { tests: count, failures: count, ..Counts::default() };
    Suite { name: "baseline".to_owned(), package: "mcp-conform".to_owned(), counts, properties: Vec::new(), body }
}

/// A suite of one case for a run that could not be done, or not to its end.
fn ending(report: &Report) -> Suite {
    let (what, way_out) = target::explain(report.target.status);
    let (kind, message, lines) = match &report.interrupted {
        Some(why) => ("interrupted", format!("interrupted: {why}"), Vec::new()),
        None => {
            let message = format!("{what}. {}", report.target.message.as_deref().unwrap_or(way_out));
            let skipped = report.target.evidence.len().saturating_sub(40);
            ("unavailable", message, report.target.evidence.iter().skip(skipped).map(String::as_str).collect())
        }
    };
    let mut body = "    <testcase name=\"the run\" classname=\"mcp-conform\" time=\"0\">\n".to_owned();
    body.push_str(&format!("      <error message=\"{}\" type=\"{kind}\">\n", xml(&message, plain::MESSAGE)));
    for line in lines {
        body.push_str(&xml(line, plain::MESSAGE));
        body.push('\n');
    }
    body.push_str("</error>\n    </testcase>\n");
    let counts = Counts { tests: 1, errors: 1, ..Counts::default() };
    Suite { name: "run".to_owned(), package: "mcp-conform".to_owned(), counts, properties: Vec::new(), body }
}

/// The results of one area of one revision. `timed` are the checks whose time was told.
fn suite<'a>(
    report: &Report,
    revision: &str,
    area: &str,
    tests: &[(&'a CheckResult, &str)],
    timed: &mut BTreeSet<(&'a str, &'a str, &'a str)>,
) -> Suite {
    let summary = Summary::of(tests.iter().map(|(result, _)| *result));
    let class = format!("{}.{}", xml(revision, 40), xml(area, 80));
    let fail_on = report.policy.as_ref().map(|policy| policy.fail_on).unwrap_or_default();
    let mut counts = Counts::default();
    let mut body = String::new();
    for (result, name) in tests {
        let time = match timed.insert((&result.check, &result.revision, &result.transport)) {
            true => report.time(result).unwrap_or_default(),
            false => 0.0,
        };
        let outcome = Outcome::of(result, fail_on);
        counts.add(&Counts {
            tests: 1,
            failures: u64::from(outcome == Outcome::Failure),
            errors: u64::from(outcome == Outcome::Error),
            skipped: u64::from(outcome == Outcome::Skipped),
            time,
        });
        body.push_str(&format!(
            "    <testcase name=\"{}\" classname=\"{class}\" time=\"{}\"",
            xml(name, 1_000),
            seconds(time)
        ));
        let lines = || entities(&plain::lines(report, result).join("\n"));
        let inner = match outcome {
            Outcome::Success if result.verdict == Verdict::Pass => None,
            Outcome::Success => Some(format!("<system-out>{}\n{}</system-out>", result.verdict.as_str(), lines())),
            Outcome::Failure | Outcome::Error => {
                let element = if outcome == Outcome::Failure { "failure" } else { "error" };
                let message = xml(&result.message, plain::MESSAGE);
                let level = xml(&result.level, 20);
                Some(format!("<{element} message=\"{message}\" type=\"{level}\">\n{}</{element}>", lines()))
            }
            Outcome::Skipped => {
                let excuse = result.excuse.as_ref().filter(|_| key::is_finding(result.verdict));
                let (why, told) = match (excuse, result.verdict) {
                    (Some(excuse), _) => (excuse.told(), format!("<system-out>{}</system-out>", lines())),
                    (None, Verdict::NotVerified) => (format!("not verified: {}", plain::open(result)), String::new()),
                    (None, _) => (format!("not applicable: {}", result.message), String::new()),
                };
                Some(format!("<skipped message=\"{}\"/>{told}", xml(&why, 2 * plain::MESSAGE)))
            }
        };
        match inner {
            None => body.push_str("/>\n"),
            Some(inner) => body.push_str(&format!(">\n      {inner}\n    </testcase>\n")),
        }
    }
    let properties = summary.counts().into_iter().map(|(verdict, count)| (verdict.as_str(), count)).collect();
    Suite { name: area.to_owned(), package: revision.to_owned(), counts, properties, body }
}

/// What a test case can come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure,
    Error,
    Skipped,
}

impl Outcome {
    /// What is broken and counts is a failure even where --fail-on never lets it pass.
    fn of(result: &CheckResult, fail_on: FailOn) -> Self {
        match result.verdict {
            Verdict::HarnessError => Self::Error,
            Verdict::NotVerified | Verdict::NotApplicable => Self::Skipped,
            _ if exit::fails(result, fail_on) || result.counted() == Some(Verdict::Fail) => Self::Failure,
            Verdict::Fail => Self::Skipped,
            Verdict::Warn | Verdict::Contested | Verdict::Advice | Verdict::Pass => Self::Success,
        }
    }
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

impl Counts {
    fn add(&mut self, more: &Self) {
        self.tests += more.tests;
        self.failures += more.failures;
        self.errors += more.errors;
        self.skipped += more.skipped;
        self.time += more.time;
    }

    fn attributes(&self) -> String {
        let Self { tests, failures, errors, skipped, time } = self;
        let time = seconds(*time);
        format!(r#"tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}" time="{time}""#)
    }
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

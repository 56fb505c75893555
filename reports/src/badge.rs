//! A badge for a README: [`Badge`], an SVG with one field for each judged revision.
//!
//! A report that was narrowed to one revision gives the badge of that revision.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::junit::entities;
use crate::model::{CheckResult, Report, Summary, TargetStatus, Verdict};
use crate::render::{Options, Renderer};
use crate::support;
use crate::text;

pub struct Badge;

impl Renderer for Badge {
    fn name(&self) -> &'static str {
        "badge"
    }

    fn about(&self) -> &'static str {
        "an SVG badge for a README"
    }

    fn render(&self, report: &Report, _options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut fields = vec![Field { text: "MCP".to_owned(), colour: "#3b4252" }];
        fields.extend(support::judged(report).into_iter().map(|revision| field(report, revision)));
        if fields.len() == 1 {
            fields.push(Field { text: "not judged".to_owned(), colour: GREY });
        }
        let said = fields.iter().map(|field| entities(&field.text)).collect::<Vec<_>>().join(", ");
        let total: usize = fields.iter().map(Field::width).sum();
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{said}">"#
        )?;
        writeln!(out, "  <title>{said}</title>")?;
        writeln!(out, r#"  <clipPath id="r"><rect width="{total}" height="20" rx="3"/></clipPath>"#)?;
        writeln!(
            out,
            r##"  <g clip-path="url(#r)" fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">"##
        )?;
        let mut at = 0;
        for field in &fields {
            let (width, text) = (field.width(), entities(&field.text));
            writeln!(out, r#"    <rect x="{at}" width="{width}" height="20" fill="{}"/>"#, field.colour)?;
            let room = width - 2 * PADDING;
            writeln!(out, r#"    <text x="{}" y="14" textLength="{room}">{text}</text>"#, at + width / 2)?;
            at += width;
        }
        writeln!(out, "  </g>\n</svg>")
    }
}

const GREEN: &str = "#1a7f37";
const AMBER: &str = "#8a5a00";
const RED: &str = "#b42318";
const GREY: &str = "#5b6472";

const PADDING: usize = 8;

struct Field {
    text: String,
    colour: &'static str,
}

impl Field {
    /// Seven pixels a character are enough in the fonts named; `textLength` evens out the rest.
    fn width(&self) -> usize {
        self.text.chars().count() * 7 + 2 * PADDING
    }
}

fn field(report: &Report, revision: &str) -> Field {
    let summary = Summary::of(report.results.iter().filter(|result| result.revision == revision));
    // Requirements, as the report's head counts them: ten tools with one fault are one thing to mend.
    let broken = |excused: bool| {
        let failed = |result: &&CheckResult| {
            result.revision == revision && result.verdict == Verdict::Fail && result.excuse.is_some() == excused
        };
        report.results.iter().filter(failed).map(|result| result.requirement.as_str()).collect::<BTreeSet<_>>().len()
    };
    let (broken, excused) = (broken(false), broken(true));
    let supported = report.revisions.iter().any(|support| support.revision == revision && support.supported);
    let whole = report.interrupted.is_none() && report.target.status == TargetStatus::Ok;
    let (word, colour) = match () {
        () if broken > 0 => (format!("{broken} broken"), RED),
        () if !supported => ("not supported".to_owned(), GREY),
        () if summary.pass + summary.warn + summary.contested == 0 => ("not judged".to_owned(), GREY),
        // What is not known to be whole is not shown as if it were.
        () if !whole || summary.harness_error > 0 => ("judged in part".to_owned(), AMBER),
        // A badge must not praise what is broken, listed or not.
        () if excused > 0 => (format!("{excused} known or new broken"), AMBER),
        () if summary.warn > 0 => (text::plural(summary.warn, "warning"), AMBER),
        () => ("nothing broken".to_owned(), GREEN),
    };
    Field { text: text::clean(&text::bounded(&format!("{revision} {word}"), 60)), colour }
}

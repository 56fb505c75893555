//! Annotations of GitHub Actions, as workflow commands on standard output: [`GitHub`].
//!
//! A step shows ten errors and ten warnings; one line a finding, the gravest first, and one line with the counts.

use std::io::{self, Write};

use crate::merge::{self, Finding};
use crate::model::{ExcuseKind, Report, Standing, Summary, TargetStatus, Verdict};
use crate::plain;
use crate::render::{Options, Renderer};
use crate::target;
use crate::text;

pub struct GitHub;

/// Annotations of one kind that a step shows.
const SHOWN: usize = 10;

impl Renderer for GitHub {
    fn name(&self) -> &'static str {
        "github"
    }

    fn about(&self) -> &'static str {
        "annotations of a GitHub Actions step"
    }

    fn render(&self, report: &Report, _options: &Options, out: &mut dyn Write) -> io::Result<()> {
        if report.target.status != TargetStatus::Ok {
            let (what, way_out) = target::explain(report.target.status);
            let message = report.target.message.as_deref().unwrap_or(way_out);
            command(out, "error", "the server could not be judged", &format!("{what}. {message}"))?;
        }
        if let Some(why) = &report.interrupted {
            command(out, "error", "the run was interrupted", why)?;
        }
        // One annotation for all of them, at the first: they are few places that a step has.
        let stale = plain::stales(report);
        if let Some(baseline) = report.baseline.as_ref().filter(|_| !stale.is_empty()) {
            let title = format!("{} of {}", text::plural(stale.len() as u64, "stale line"), baseline.file);
            let line = baseline.standing(Standing::Stale).map(|entry| entry.line).min().unwrap_or(1);
            let place = format!("file={},line={line},", property(&text::clean(&text::bounded(&baseline.file, 250))));
            let told = text::list(stale.iter().map(String::as_str), 20);
            command_at(out, "error", &place, &title, &told)?;
        }
        let findings = merge::merge_findings(report);
        for (kind, verdicts) in [("error", &[Verdict::Fail, Verdict::HarnessError][..]), ("warning", &[Verdict::Warn])]
        {
            let counted = |finding: &&Finding<'_>| verdicts.contains(&finding.verdict) && finding.excuse.is_none();
            let of_kind: Vec<_> = findings.iter().filter(counted).collect();
            // The last place is for what has none.
            let shown = if of_kind.len() > SHOWN { SHOWN - 1 } else { SHOWN };
            for finding in of_kind.iter().take(shown) {
                annotate(finding, kind, out)?;
            }
            let left = of_kind.len().saturating_sub(shown);
            if left > 0 {
                let names = text::list(of_kind.iter().skip(shown).map(|finding| finding.requirement), 20);
                command(out, kind, &format!("{} more", text::plural(left as u64, "requirement")), &names)?;
            }
        }
        let summary = Summary::of(&report.results);
        let counts: Vec<String> =
            summary.counts().into_iter().map(|(verdict, count)| format!("{count} {}", verdict.as_str())).collect();
        for kind in [ExcuseKind::Known, ExcuseKind::New, ExcuseKind::Regraded] {
            let of_kind: Vec<_> =
                findings.iter().filter(|finding| finding.excuse.is_some_and(|excuse| excuse.kind == kind)).collect();
            if !of_kind.is_empty() {
                let names = text::list(of_kind.iter().map(|finding| finding.requirement), 20);
                let title = format!("{}, {}", text::plural(of_kind.len() as u64, "requirement"), kind.word());
                command(out, "notice", &title, &names)?;
            }
        }
        let excused = summary.excused().map(|told| format!(". {told}")).unwrap_or_default();
        command(out, "notice", "MCP conformance", &format!("{}{excused}", counts.join(", ")))
    }
}

fn annotate(finding: &Finding<'_>, kind: &str, out: &mut dyn Write) -> io::Result<()> {
    let Some(variant) = finding.variants.first() else { return Ok(()) };
    let mut message = text::bounded(&variant.shown.message, plain::MESSAGE);
    let places = [variant.revisions().join(" and "), variant.transports().join(" and ")].join(" over ");
    message.push_str(&format!("\nwhere: {places}"));
    let subjects = variant.subjects();
    if !subjects.is_empty() {
        message.push_str(&format!("\non: {}", text::list(subjects, 5)));
    }
    if let Some(mild) = &variant.shown.mild {
        message.push_str(&format!("\nonly a warning: {mild}"));
    }
    if let Some(fix) = finding.fix() {
        message.push_str(&format!("\nfix: {fix}"));
    }
    if let Some(link) = finding.infos.first().and_then(|info| plain::link(info)) {
        message.push_str(&format!("\n{link}"));
    }
    command(out, kind, &format!("{} ({})", finding.requirement, finding.level), &message)
}

/// One line. Line feeds of ours are kept in their escaped form, those of a server are spelled out.
fn command(out: &mut dyn Write, kind: &str, title: &str, message: &str) -> io::Result<()> {
    command_at(out, kind, "", title, message)
}

/// The same with properties of a place before the title.
fn command_at(out: &mut dyn Write, kind: &str, place: &str, title: &str, message: &str) -> io::Result<()> {
    let title = property(&text::clean(&text::bounded(title, 250)));
    let lines: Vec<String> =
        message.split('\n').map(|line| data(&text::clean(&text::bounded(line, plain::MESSAGE)))).collect();
    writeln!(out, "::{kind} {place}title={title}::{}", lines.join("%0A"))
}

fn data(text: &str) -> String {
    // The old form of a command is looked for anywhere in a line and cannot be escaped.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").replace("##[", "## [")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_no_command_and_begins_none() {
        let mut out = Vec::new();
        command(&mut out, "error", "a,b:c%0A", "x%0A\r::set-output name=x::y ##[error]z").expect("a vector takes it");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "::error title=a%2Cb%3Ac%250A::x%250A\\x0D::set-output name=x::y ## [error]z\n"
        );
    }
}

//! A short page for a job summary or a pull request: [`Markdown`].
//!
//! It names what is broken and where; the exchanges are in the terminal report and in the result file. Text of the
//! server is escaped, so that it makes no link, no mention, no image and no table cell.

pub mod support;

use std::io::{self, Write};

use crate::exit;
use crate::merge::{self, Finding};
use crate::model::{ExcuseKind, Report, Standing, Summary, TargetStatus, Verdict};
use crate::plain;
use crate::render::{Options, Renderer};
use crate::target;
use crate::text;

pub struct Markdown;

/// Rows of a table, and the fewer that are tried when the page is too long.
const ROWS: [usize; 5] = [100, 40, 15, 5, 1];

/// Bytes of a page. A comment on a pull request takes 65,536 characters, and whoever posts it may add some.
pub const MOST: usize = 60_000;

/// Characters of a message.
const MESSAGE: usize = 300;

impl Renderer for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "a short page for a job summary or a pull request"
    }

    fn render(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut page = String::new();
        for rows in ROWS {
            page = Page { rows }.of(report, options);
            if page.len() <= MOST {
                break;
            }
        }
        // One row a table is small; a page that is not must still not be refused.
        out.write_all(page.get(..page.floor_char_boundary(MOST)).unwrap_or_default().as_bytes())
    }
}

struct Page {
    rows: usize,
}

impl Page {
    fn of(&self, report: &Report, options: &Options) -> String {
        let mut out = Vec::new();
        // A vector takes every write.
        let written = self.write(report, options, &mut out);
        debug_assert!(written.is_ok(), "a vector takes every write");
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        head(report, out)?;
        if report.target.status == TargetStatus::Ok {
            support(report, out)?;
        }
        self.stale(report, out)?;
        let findings = merge::merge_findings(report);
        for (title, verdict) in [
            ("Broken", Verdict::Fail),
            ("Our own fault", Verdict::HarnessError),
            ("Warnings", Verdict::Warn),
            ("Contested", Verdict::Contested),
            ("Advice", Verdict::Advice),
        ] {
            let counted = |finding: &&Finding<'_>| finding.verdict == verdict && finding.excuse.is_none();
            let of_verdict: Vec<_> = findings.iter().filter(counted).collect();
            // What does not fail a run stays folded away.
            let folded = matches!(verdict, Verdict::Contested | Verdict::Advice);
            self.table(title, folded, &of_verdict, out)?;
            if verdict == Verdict::Contested {
                contested(report, &of_verdict, out)?;
            }
        }
        for (title, kind) in [
            ("Known, not counted", ExcuseKind::Known),
            ("New, not counted", ExcuseKind::New),
            ("Counted more mildly", ExcuseKind::Regraded),
        ] {
            let of_kind = |finding: &&Finding<'_>| finding.excuse.is_some_and(|excuse| excuse.kind == kind);
            let of_kind: Vec<_> = findings.iter().filter(of_kind).collect();
            self.table(title, true, &of_kind, out)?;
        }
        self.open(report, out)?;
        self.not_verified(report, out)?;
        if let Some(excused) = Summary::of(&report.results).excused() {
            writeln!(out, "\n{excused}")?;
        }
        if let Some(exit) = options.exit {
            writeln!(out, "\nExit code {}: {}.", exit.code(), exit::told(exit, report))?;
        }
        Ok(())
    }

    /// Lines of the baseline that fail the run.
    fn stale(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let stale = plain::stales(report);
        if !stale.is_empty() {
            writeln!(out, "\n### Stale lines of the baseline ({})\n", text::thousands(stale.len() as u64))?;
            for line in stale.iter().take(self.rows) {
                writeln!(out, "- {}", escaped(line, MESSAGE))?;
            }
            let left = stale.len().saturating_sub(self.rows);
            if left > 0 {
                writeln!(out, "- {} more", text::thousands(left as u64))?;
            }
        }
        Ok(())
    }

    /// Lines of the baseline of which the run says nothing.
    fn open(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let Some(baseline) = &report.baseline else { return Ok(()) };
        let open: Vec<_> = baseline.standing(Standing::Open).collect();
        if open.is_empty() {
            return Ok(());
        }
        let count = text::thousands(open.len() as u64);
        writeln!(out, "\n<details><summary>Lines of the baseline that could not be checked ({count})</summary>\n")?;
        for entry in open.iter().take(self.rows) {
            writeln!(out, "- {}", escaped(&plain::stale(&baseline.file, entry), MESSAGE))?;
        }
        writeln!(out, "\n</details>")
    }

    fn table(&self, title: &str, folded: bool, findings: &[&Finding<'_>], out: &mut dyn Write) -> io::Result<()> {
        if findings.is_empty() {
            return Ok(());
        }
        let title = format!("{title} ({})", text::plural(findings.len() as u64, "requirement"));
        if folded {
            writeln!(out, "\n<details><summary>{title}</summary>\n")?;
        } else {
            writeln!(out, "\n### {title}\n")?;
        }
        writeln!(out, "| requirement | level | where | what was found |")?;
        writeln!(out, "|---|---|---|---|")?;
        for finding in findings.iter().take(self.rows) {
            row(finding, out)?;
        }
        let left = findings.len().saturating_sub(self.rows);
        if left > 0 {
            writeln!(out, "\n{} more in the result file.", text::thousands(left as u64))?;
        }
        if folded { writeln!(out, "\n</details>") } else { Ok(()) }
    }

    fn not_verified(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let reasons = merge::merge_by_reason(report, Verdict::NotVerified);
        if reasons.is_empty() && report.omissions.is_empty() {
            return Ok(());
        }
        let count: usize = reasons.iter().map(|reason| reason.results.len()).sum();
        writeln!(out, "\n<details><summary>Not verified ({})</summary>\n", text::thousands(count as u64))?;
        for reason in reasons.iter().take(self.rows) {
            let flag =
                reason.verify_with.map(|flag| format!(" (to verify: {})", escaped(flag, MESSAGE))).unwrap_or_default();
            writeln!(out, "- {}: {}{flag}", reason.results.len(), escaped(reason.message, MESSAGE))?;
        }
        for omission in report.omissions.iter().take(self.rows) {
            writeln!(out, "- {} (to do it: {})", escaped(&omission.what, MESSAGE), escaped(&omission.flag, MESSAGE))?;
        }
        writeln!(out, "\n</details>")
    }
}

fn head(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let target = &report.target;
    let name = target.server.as_ref().unwrap_or(&target.name);
    writeln!(out, "## MCP conformance of {}\n", escaped(name, 80))?;
    if target.status != TargetStatus::Ok {
        let (what, way_out) = target::explain(target.status);
        let message = escaped(target.message.as_deref().unwrap_or(way_out), 600);
        writeln!(out, "**The server could not be judged: {what}.** {message}\n")?;
        if !target.evidence.is_empty() {
            // Quoted line by line: a code block could be closed by what stands in it.
            let skipped = target.evidence.len().saturating_sub(20);
            for line in target.evidence.iter().skip(skipped) {
                writeln!(out, "> {}<br>", escaped(line.trim_start(), MESSAGE))?;
            }
            writeln!(out)?;
        }
    }
    if let Some(shard) = report.shard {
        writeln!(out, "{}\n", shard.told())?;
    }
    if let Some(why) = &report.interrupted {
        writeln!(out, "**Interrupted:** {}. What was judged until then stands.\n", escaped(why, MESSAGE))?;
    }
    Ok(())
}

fn support(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| revision | supported | failed | warnings | not verified | passed |")?;
    writeln!(out, "|---|---|--:|--:|--:|--:|")?;
    for support in &report.revisions {
        let counts = Summary::of(report.results.iter().filter(|result| result.revision == support.revision));
        let word = if support.supported { "yes" } else { "no" };
        if counts == Summary::default() {
            // Negotiated, and not judged by itself: a nought would read as a verdict.
            writeln!(out, "| {} | {word} | | | | |", escaped(&support.revision, 40))?;
            continue;
        }
        writeln!(
            out,
            "| {} | {word} | {} | {} | {} | {} |",
            escaped(&support.revision, 40),
            counts.fail,
            counts.warn,
            counts.not_verified,
            counts.pass
        )?;
    }
    Ok(())
}

/// What the open questions are about that these findings name.
fn contested(report: &Report, findings: &[&Finding<'_>], out: &mut dyn Write) -> io::Result<()> {
    let results = || findings.iter().flat_map(|finding| finding.results());
    let named = report.contested.iter().filter(|info| results().any(|result| info.is_named_in(&result.message)));
    for (index, info) in named.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        writeln!(out, "{gap}- {} is open: {}", escaped(&info.item, 20), escaped(&info.title, MESSAGE))?;
    }
    Ok(())
}

fn row(finding: &Finding<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(variant) = finding.variants.first() else { return Ok(()) };
    let requirement = escaped(finding.requirement, 120);
    let requirement = match finding.infos.first().and_then(|info| plain::link(info)) {
        Some(link) => format!("[{requirement}]({link})"),
        None => requirement,
    };
    let mut place = variant.revisions();
    place.extend(variant.transports());
    let place = escaped(&place.join(", "), 120);
    let mut found = escaped(&variant.shown.message, MESSAGE);
    let subjects = variant.subjects();
    if !subjects.is_empty() {
        found.push_str(&format!("<br>on {}", escaped(&text::list(subjects, 5), MESSAGE)));
    }
    let others = finding.variants.len() - 1;
    if others > 0 {
        found.push_str(&format!("<br>and in {}", text::plural(others as u64, "other way")));
    }
    if let Some(mild) = &variant.shown.mild {
        found.push_str(&format!("<br>Only a warning: {}", escaped(mild, MESSAGE)));
    }
    if let Some(excuse) = finding.excuse {
        found.push_str(&format!("<br>{}", escaped(&excuse.told(), MESSAGE)));
    }
    if let Some(fix) = finding.fix() {
        found.push_str(&format!("<br>Fix: {}", escaped(fix, MESSAGE)));
    }
    writeln!(out, "| {requirement} | {} | {place} | {found} |", escaped(finding.level, 20))
}

/// A bounded text in which nothing is markup, and which can still be read where nobody renders it.
pub(crate) fn escaped(text: &str, limit: usize) -> String {
    let text = text::clean(&text::bounded(text, limit));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut before = None;
    while let Some(c) = rest.next() {
        let follows = rest.peek().copied();
        let within_word = before.is_some_and(char::is_alphanumeric) && follows.is_some_and(char::is_alphanumeric);
        match c {
            // What HTML, a mention, a formula or an address begins with: no backslash keeps all readers from it.
            '<' | '>' | '&' | '@' | '$' => reference(c, &mut out),
            ':' if follows == Some('/') => reference(c, &mut out),
            '.' if follows.is_some_and(char::is_alphanumeric) && ends_in_www(&out) => reference(c, &mut out),
            '_' if within_word => out.push(c),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' => out.extend(['\\', c]),
            // A list, a rule or a heading at the start of a line.
            '.' | ')' if !out.is_empty() && out.chars().all(|c| c.is_ascii_digit()) => out.extend(['\\', c]),
            '-' | '=' | '+' if out.is_empty() && begins_a_block(c, rest.clone()) => out.extend(['\\', c]),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

fn reference(c: char, out: &mut String) {
    out.push_str(&format!("&#{};", u32::from(c)));
}

/// Whether a sign at the start of a line makes a list or a rule; a flag does neither.
fn begins_a_block(sign: char, mut rest: impl Iterator<Item = char>) -> bool {
    rest.find(|c| *c != sign).is_none_or(char::is_whitespace)
}

/// Whether a dot would make an address of what follows.
fn ends_in_www(text: &str) -> bool {
    let mut last = text.chars().rev();
    last.by_ref().take(3).all(|c| c.eq_ignore_ascii_case(&'w')) && text.len() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_server_is_markup() {
        assert_eq!(
            escaped("<b>@all [x](http://e.com) | `y`\n", 99),
            r"&#60;b&#62;&#64;all \[x\](http&#58;//e.com) \| \`y\`\\x0A"
        );
        assert_eq!(escaped("- a", 99), r"\- a");
        assert_eq!(escaped("1. a", 99), r"1\. a");
        assert_eq!(escaped("1) a", 99), r"1\) a");
        assert_eq!(escaped("+ a", 99), r"\+ a");
        assert_eq!(escaped("---", 99), r"\---");
        assert_eq!(escaped("see WWW.e.com", 99), "see WWW&#46;e.com");
        assert_eq!(escaped("![a](x) _b_ ~~c~~ #1", 99), r"!\[a\](x) \_b\_ \~\~c\~\~ \#1");
    }

    #[test]
    fn what_is_no_markup_stays_as_it_is() {
        assert_eq!(escaped("a well-known id, 1.5 s.", 99), "a well-known id, 1.5 s.");
        assert_eq!(escaped("everything 2.0.0: to do it: --tools all", 99), "everything 2.0.0: to do it: --tools all");
        assert_eq!(escaped("--tools GLOB for some", 99), "--tools GLOB for some");
        assert_eq!(escaped("tools_call(x) = y!", 99), "tools_call(x) = y!");
    }
}

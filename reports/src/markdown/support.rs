//! The support report as a page of Markdown.

use std::io::{self, Write};

use crate::model::{Report, Summary};
use crate::support::{JudgedRevision, Support};
use crate::text;

use super::{MESSAGE, escaped, head};

/// Entries of a list.
const MOST: usize = 60;

/// Writes the page.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let support = Support::of(report);
    head(report, out)?;
    writeln!(out, "### Revisions\n\n| revision | negotiated | how it was found |\n|---|---|---|")?;
    for known in &support.revisions {
        let word = if known.supported { "yes" } else { "no" };
        let over = if known.transports.is_empty() {
            String::new()
        } else {
            format!(", over {}", known.transports.join(" and "))
        };
        let how = escaped(&format!("{}{over}", known.how), MESSAGE);
        writeln!(out, "| {} | {word} | {how} |", escaped(&known.revision, 40))?;
    }
    blockers(&support, out)?;
    for judged in &support.judged {
        features(judged, out)?;
    }
    if !support.deprecated.is_empty() {
        writeln!(out, "\n### Deprecated features in use\n")?;
        for used in &support.deprecated {
            let seen = escaped(&used.seen, MESSAGE);
            writeln!(out, "- **{}** (since {}): {} Seen: {seen}.", used.title, used.since, used.replacement)?;
        }
    }
    unverified(&support, report, out)
}

fn blockers(support: &Support, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n### What stands before full support\n")?;
    if support.blockers.is_empty() {
        let any = support.judged.iter().any(|judged| judged.summary != Summary::default());
        return writeln!(out, "{}", if any { "Nothing that was judged is broken." } else { "Nothing was judged." });
    }
    for (index, blocker) in support.blockers.iter().take(MOST).enumerate() {
        let mends = match blocker.requirements.as_slice() {
            [] => String::new(),
            names => {
                let names = text::list(names.iter().map(String::as_str), 4);
                format!(" ({}, {}: {names})", blocker.verdict.as_str(), text::plural(blocker.results, "result"))
            }
        };
        writeln!(out, "{}. {}{}", index + 1, escaped(&blocker.remedy, MESSAGE), escaped(&mends, MESSAGE))?;
    }
    let left = support.blockers.len().saturating_sub(MOST);
    if left > 0 {
        writeln!(out, "\n{} more in the result file.", text::thousands(left as u64))?;
    }
    Ok(())
}

fn features(judged: &JudgedRevision, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n### Features of {}\n", escaped(&judged.revision, 40))?;
    if judged.summary == Summary::default() {
        let why = if judged.supported { "Nothing was judged." } else { "Not supported, so nothing was judged." };
        return writeln!(out, "{why}");
    }
    writeln!(
        out,
        "| feature | state | failed | warnings | contested | not verified | passed | requirements with a check |"
    )?;
    writeln!(out, "|---|---|--:|--:|--:|--:|--:|--:|")?;
    for row in &judged.features {
        let counts = &row.summary;
        let coverage = match &row.coverage {
            Some(coverage) if coverage.requirements > 0 => format!("{} of {}", coverage.judged, coverage.requirements),
            _ => String::new(),
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {coverage} |",
            row.title,
            row.state.word(),
            counts.fail,
            counts.warn,
            counts.contested,
            counts.not_verified,
            counts.pass
        )?;
    }
    writeln!(out, "\n{}.", judged.verified.told())
}

fn unverified(support: &Support, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if support.unverified.is_empty() && report.omissions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n### What would verify the rest\n")?;
    for left in report.omissions.iter().take(MOST) {
        writeln!(out, "- {}: {}", escaped(&left.flag, MESSAGE), escaped(&left.what, MESSAGE))?;
    }
    for group in support.unverified.iter().take(MOST) {
        let flag = group.flag.as_deref().map_or_else(|| "no flag".to_owned(), |flag| escaped(flag, MESSAGE));
        let reasons = escaped(&text::list(group.reasons.iter().map(String::as_str), 3), MESSAGE);
        writeln!(out, "- {flag}: {} ({reasons})", text::plural(group.results, "result"))?;
    }
    Ok(())
}

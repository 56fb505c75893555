//! The support report for a person at the terminal: [`short`] ends a run, [`write`] tells all of it.

use std::io::{self, Write};

use crate::model::{Report, Summary, Verdict};
use crate::render::Options;
use crate::support::{JudgedRevision, State, Support};
use crate::text;

use super::Page;
use super::sheet::{self, BOLD, DIM, PLAIN};

/// Changes that the short form names.
const SHORT: usize = 3;

/// Writes the support report without the single results.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::begun(report, options);
    told(&mut page, report, usize::MAX);
    page.not_verified(report);
    page.omissions(report);
    page.last(report, options);
    out.write_all(page.sheet.into_string().as_bytes())
}

/// The features of each revision, and what would help most.
pub(super) fn short(page: &mut Page, report: &Report) {
    if !report.results.is_empty() {
        told(page, report, SHORT);
    }
}

fn told(page: &mut Page, report: &Report, most: usize) {
    let support = Support::of(report);
    for judged in &support.judged {
        if judged.summary != Summary::default() {
            features(page, judged, most == SHORT);
        }
    }
    if !support.blockers.is_empty() {
        let most = most.min(page.bounds.findings);
        page.sheet.gap().put(BOLD, "Before full support").end();
        for blocker in support.blockers.iter().take(most) {
            let names = match blocker.requirements.as_slice() {
                [] => "missing".to_owned(),
                [one] => format!("{} {one}", blocker.verdict.as_str()),
                [one, others @ ..] => format!("{} {one} and {} more", blocker.verdict.as_str(), others.len()),
            };
            page.sheet.paragraph(2, PLAIN, &text::bounded(&blocker.remedy, page.bounds.message));
            page.sheet.paragraph(8, DIM, &text::bounded(&names, 200));
        }
        let left = support.blockers.len().saturating_sub(most);
        if left > 0 {
            page.sheet.paragraph(2, DIM, &format!("{} more", text::thousands(left as u64)));
        }
    }
    if !support.deprecated.is_empty() {
        page.sheet.gap().put(BOLD, "Deprecated and in use").end();
        for used in &support.deprecated {
            page.sheet.paragraph(2, PLAIN, &format!("{}. {}", used.title, used.replacement));
        }
    }
}

fn features(page: &mut Page, judged: &JudgedRevision, short: bool) {
    page.sheet.gap();
    let title = format!("Features of {}", text::bounded(&judged.revision, 40));
    let pieces = [(BOLD, title), (DIM, judged.verified.told())];
    page.sheet.flow(0, "  ", &pieces);
    // Of a run of some cases, what it left out is no news.
    let left_out = judged.features.iter().filter(|row| row.state == State::NotJudged).count();
    let part = short && left_out * 2 > judged.features.len();
    for state in [
        State::Broken,
        State::HarnessError,
        State::Warnings,
        State::MetInPart,
        State::Met,
        State::Contested,
        State::NotVerified,
        State::Advice,
        State::NotApplicable,
        State::NotJudged,
        State::NoCheck,
    ] {
        let titles: Vec<&str> = judged.features.iter().filter(|row| row.state == state).map(|row| row.title).collect();
        if titles.is_empty() || part && matches!(state, State::NotJudged | State::NoCheck) {
            continue;
        }
        let style = match state {
            State::Broken | State::HarnessError => sheet::style(Verdict::Fail),
            State::Warnings => sheet::style(Verdict::Warn),
            State::Met | State::MetInPart => sheet::style(Verdict::Pass),
            _ => DIM,
        };
        let told = titles.join(", ");
        page.sheet.paragraph(2, style, &format!("{}: {told}", state.word()));
    }
}

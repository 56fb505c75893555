//! The support report as a page of its own, and as a section of others.

use std::io::{self, Write};

use crate::model::{Report, Verdict};
use crate::render::Options;
use crate::support::{State, Support};
use crate::text;

use super::{MESSAGE, Page, shown, word};

/// Writes the page of a report without the list of its results.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    super::write(&Page::of(report, options, false), out)
}

pub(super) struct SupportView {
    /// Whether there is any verdict.
    pub(super) any: bool,
    pub(super) blockers: Vec<BlockerView>,
    pub(super) omissions: Vec<OmissionView>,
    pub(super) unverified: Vec<UnverifiedView>,
    pub(super) judged: Vec<JudgedView>,
    pub(super) deprecated: Vec<DeprecatedView>,
}

pub(super) struct BlockerView {
    pub(super) verdict: &'static str,
    pub(super) word: &'static str,
    pub(super) remedy: String,
    pub(super) about: String,
}

pub(super) struct OmissionView {
    pub(super) what: String,
    pub(super) flag: String,
}

pub(super) struct UnverifiedView {
    pub(super) flag: String,
    pub(super) count: String,
    pub(super) reasons: String,
    pub(super) requirements: String,
}

pub(super) struct JudgedView {
    pub(super) revision: String,
    pub(super) how: String,
    /// Whether the result file tells how much the checks judge.
    pub(super) covered: bool,
    /// Empty where the revision is not served.
    pub(super) features: Vec<FeatureView>,
}

pub(super) struct FeatureView {
    pub(super) title: &'static str,
    pub(super) state: &'static str,
    pub(super) tone: &'static str,
    /// Failed, warnings, contested, not verified, passed.
    pub(super) counts: [String; 5],
    pub(super) coverage: String,
}

pub(super) struct DeprecatedView {
    pub(super) title: &'static str,
    pub(super) since: &'static str,
    pub(super) seen: String,
    pub(super) replacement: &'static str,
}

/// Blockers and reasons that a page shows.
const MOST: usize = 200;

impl SupportView {
    pub(super) fn of(support: &Support, report: &Report) -> Self {
        let blockers = support.blockers.iter().take(MOST).map(|blocker| BlockerView {
            verdict: blocker.verdict.as_str(),
            word: if blocker.requirements.is_empty() { "Missing" } else { word(blocker.verdict) },
            remedy: shown(&blocker.remedy, MESSAGE),
            about: if blocker.requirements.is_empty() {
                String::new()
            } else {
                let names = text::list(blocker.requirements.iter().map(String::as_str), 4);
                shown(&format!("{}: {names}", text::plural(blocker.results, "result")), MESSAGE)
            },
        });
        let omissions = report.omissions.iter().take(MOST);
        let omissions =
            omissions.map(|left| OmissionView { what: shown(&left.what, MESSAGE), flag: shown(&left.flag, 200) });
        let unverified = support.unverified.iter().take(MOST).map(|group| UnverifiedView {
            flag: shown(group.flag.as_deref().unwrap_or_default(), 200),
            count: text::plural(group.results, "result"),
            reasons: shown(&text::list(group.reasons.iter().map(String::as_str), 3), MESSAGE),
            requirements: shown(&text::list(group.requirements.iter().map(String::as_str), 8), MESSAGE),
        });
        let judged = support.judged.iter().map(|judged| JudgedView {
            revision: shown(&judged.revision, 40),
            how: if judged.supported { "Nothing was judged." } else { "Not supported, so nothing was judged." }
                .to_owned(),
            covered: judged.features.iter().any(|row| row.coverage.is_some()),
            features: if judged.summary.counts().iter().all(|(_, count)| *count == 0) {
                Vec::new()
            } else {
                judged.features.iter().map(feature).collect()
            },
        });
        let deprecated = support.deprecated.iter().map(|used| DeprecatedView {
            title: used.title,
            since: used.since,
            seen: shown(&used.seen, MESSAGE),
            replacement: used.replacement,
        });
        Self {
            any: !report.results.is_empty(),
            blockers: blockers.collect(),
            omissions: omissions.collect(),
            unverified: unverified.collect(),
            judged: judged.collect(),
            deprecated: deprecated.collect(),
        }
    }
}

fn feature(row: &crate::support::FeatureRow) -> FeatureView {
    let count = |verdict: Verdict| {
        let count = row.summary.counts().into_iter().find(|(known, _)| *known == verdict).map_or(0, |(_, count)| count);
        if count == 0 { String::new() } else { text::thousands(count) }
    };
    FeatureView {
        title: row.title,
        state: row.state.word(),
        tone: match row.state {
            State::Broken | State::HarnessError => "fail",
            State::Warnings => "warn",
            State::Met | State::MetInPart => "pass",
            _ => "none",
        },
        counts: [Verdict::Fail, Verdict::Warn, Verdict::Contested, Verdict::NotVerified, Verdict::Pass].map(count),
        coverage: match &row.coverage {
            Some(coverage) if coverage.requirements > 0 => format!("{} of {}", coverage.judged, coverage.requirements),
            _ => String::new(),
        },
    }
}

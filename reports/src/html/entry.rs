//! One requirement with one verdict as an entry of a list, with its proof inside.

use crate::excerpt;
use crate::key;
use crate::merge::{self, Finding, Variant};
use crate::model::{ContestedInfo, Excerpt, Excuse, Report, Verdict};
use crate::plain;
use crate::text;

use super::{MESSAGE, shown, word};

/// How much of a finding a page holds.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    /// Entries of the list.
    pub(super) entries: usize,
    /// Ways in which a finding shows.
    pub(super) variants: usize,
    /// Characters of an excerpt on each side of its caret.
    pub(super) around: usize,
    /// The result file, as a word for a shell.
    pub(super) result: Option<&'a str>,
}

/// Ways of what is no finding, where one is like the other.
const OTHER_VARIANTS: usize = 3;
const NAMES: usize = 12;
/// Characters of a command to be copied.
const COMMAND: usize = 4_000;
/// A shell line is whole or of no use.
const BY_HAND: usize = 20_000;

pub(super) struct Entry {
    pub(super) id: String,
    pub(super) verdict: &'static str,
    pub(super) word: &'static str,
    pub(super) requirement: String,
    pub(super) place: String,
    /// Why it does not count; empty where it does.
    pub(super) excuse: String,
    pub(super) gist: String,
    pub(super) text: String,
    pub(super) level: String,
    pub(super) area: String,
    /// Separated by spaces, for the filter.
    pub(super) revisions: String,
    pub(super) links: Vec<Link>,
    pub(super) variants: Vec<View>,
    pub(super) more: String,
    pub(super) fix: String,
    /// Both readings of the open questions that it names.
    pub(super) contested: Vec<String>,
}

pub(super) struct Link {
    pub(super) href: String,
    pub(super) text: String,
}

/// A way in which it shows.
pub(super) struct View {
    pub(super) found: String,
    /// Why it only warns.
    pub(super) mild: String,
    pub(super) place: String,
    pub(super) subjects: String,
    pub(super) trace: String,
    pub(super) wire: Vec<(&'static str, Shown)>,
    /// Empty where all ways share one.
    pub(super) fix: String,
    pub(super) repro: String,
    pub(super) replay: String,
    pub(super) by_hand: String,
}

/// The entries of the verdicts that are wanted, the gravest first. `prefix` keeps ids apart where a page has several
/// servers. Returns how many were left out, too.
pub(super) fn entries(
    report: &Report,
    prefix: &str,
    wanted: impl Fn(Verdict) -> bool,
    bounds: Bounds<'_>,
) -> (Vec<Entry>, u64) {
    let findings = merge::merge(report, wanted);
    let left = findings.len().saturating_sub(bounds.entries) as u64;
    let shown = findings.iter().take(bounds.entries).enumerate();
    (shown.map(|(index, finding)| entry(report, finding, format!("{prefix}f{index}"), bounds)).collect(), left)
}

fn entry(report: &Report, finding: &Finding<'_>, id: String, bounds: Bounds<'_>) -> Entry {
    let mut revisions: Vec<&str> = finding.results().map(|result| result.revision.as_str()).collect();
    let mut transports: Vec<&str> = finding.results().map(|result| result.transport.as_str()).collect();
    for list in [&mut revisions, &mut transports] {
        list.sort_unstable();
        list.dedup();
    }
    let mut places = vec![revisions.join(", "), transports.join(", ")];
    places.extend(finding.excuse.map(|excuse| excuse.kind.word().to_owned()));
    let links = finding
        .infos
        .iter()
        .filter_map(|info| Some(Link { href: plain::link(info)?.to_owned(), text: shown(&info.revision, 40) }))
        .collect();
    let told = matches!(
        finding.verdict,
        Verdict::Fail | Verdict::HarnessError | Verdict::Warn | Verdict::Contested | Verdict::Advice
    );
    let most = if told { bounds.variants } else { OTHER_VARIANTS };
    let fix = finding.fix();
    let left = finding.variants.len().saturating_sub(most);
    Entry {
        id,
        verdict: finding.verdict.as_str(),
        word: word(finding.verdict),
        requirement: shown(finding.requirement, 200),
        place: shown(&places.join(" · "), 200),
        excuse: shown(&finding.excuse.map(Excuse::told).unwrap_or_default(), MESSAGE),
        gist: gist(finding, told),
        text: shown(finding.text().unwrap_or_default(), MESSAGE),
        level: shown(finding.level, 20),
        area: shown(finding.infos.first().map(|info| info.area.as_str()).unwrap_or_default(), 80),
        revisions: shown(&revisions.join(" "), 200),
        links,
        variants: finding
            .variants
            .iter()
            .take(most)
            .map(|variant| view(variant, told, fix.is_none(), bounds))
            .collect(),
        more: if left > 0 {
            format!("{} in which it shows", text::plural(left as u64, "other way"))
        } else {
            String::new()
        },
        fix: shown(fix.unwrap_or_default(), MESSAGE),
        contested: contested(report, finding),
    }
}

/// The open questions that a contested finding names, with both readings.
fn contested(report: &Report, finding: &Finding<'_>) -> Vec<String> {
    if finding.verdict != Verdict::Contested {
        return Vec::new();
    }
    let named = |info: &&ContestedInfo| finding.results().any(|result| info.is_named_in(&result.message));
    let told = |info: &ContestedInfo| shown(&format!("{}: {}. {}", info.item, info.title, info.text), 2 * MESSAGE);
    report.contested.iter().filter(named).map(told).collect()
}

/// One line that says what it is about without opening it.
fn gist(finding: &Finding<'_>, told: bool) -> String {
    let text = match finding.variants.first() {
        Some(variant) if told || finding.verdict == Verdict::NotVerified => variant.shown.message.as_str(),
        _ => finding.text().unwrap_or_default(),
    };
    shown(text, 220)
}

fn view(variant: &Variant<'_>, told: bool, own_fix: bool, bounds: Bounds<'_>) -> View {
    let result = variant.shown;
    let place =
        [result.check.clone(), variant.revisions().join(" and "), variant.transports().join(" and ")].join(", ");
    let occasions: u64 = variant.results.iter().map(|result| result.occasions).fold(0, u64::saturating_add);
    let mut trace = String::new();
    if let Some(at) = &result.evidence.trace {
        trace = shown(&format!("trace {}, event {}", text::bounded(&at.file, 300), at.event), MESSAGE);
    }
    View {
        found: shown(&result.message, MESSAGE),
        mild: shown(result.mild.as_deref().unwrap_or_default(), MESSAGE),
        place: shown(&format!("{place}, {}", text::plural(occasions, "occasion")), 400),
        subjects: shown(&text::list(variant.subjects(), NAMES), MESSAGE),
        trace,
        wire: plain::exchange(result).map(|(label, excerpt)| (label, Shown::of(excerpt, bounds.around))).collect(),
        fix: if told && own_fix { shown(result.fix.as_deref().unwrap_or_default(), MESSAGE) } else { String::new() },
        repro: shown(result.evidence.repro.as_deref().unwrap_or_default(), COMMAND),
        replay: bounds
            .result
            .and_then(|file| key::replay(file, result))
            .map(|line| shown(&line, COMMAND))
            .unwrap_or_default(),
        by_hand: shown(result.evidence.by_hand.as_deref().unwrap_or_default(), BY_HAND),
    }
}

/// An excerpt around its caret, in three pieces.
pub(super) struct Shown {
    pub(super) head: Vec<String>,
    pub(super) before: String,
    pub(super) caret: bool,
    pub(super) marked: String,
    pub(super) after: String,
    pub(super) rest: String,
}

/// Characters under the caret.
const MARKED: usize = 1_000;
const HEAD: usize = 24;

impl Shown {
    fn of(excerpt: &Excerpt, around: usize) -> Self {
        let total = excerpt.text.chars().count();
        let (start, length) = match excerpt.caret {
            Some((start, length)) => (start.min(total), length.clamp(1, MARKED)),
            None => (0, 0),
        };
        let from = start.saturating_sub(around);
        let piece = |skip: usize, take: usize| {
            excerpt::unbroken(excerpt.text.chars().skip(skip).take(take).collect::<String>().as_str())
        };
        let after = piece(start + length, around);
        let shown_to = (start + length + around).min(total);
        let mut marked = piece(start, length);
        if excerpt.caret.is_some() && marked.is_empty() {
            marked.push_str("(end)");
        }
        let mut before = piece(from, start - from);
        if total == 0 && excerpt.cut == 0 && excerpt.head.is_empty() && excerpt.caret.is_none() {
            before.push_str("(empty)");
        }
        Self {
            head: excerpt.head.iter().take(HEAD).map(|line| shown(line, 500)).collect(),
            before,
            caret: excerpt.caret.is_some(),
            marked,
            after,
            rest: excerpt::rest(from, total - shown_to, excerpt.cut),
        }
    }
}

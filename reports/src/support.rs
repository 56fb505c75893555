//! What a server supports of each revision, what stands between it and full support, and how much of that is known:
//! [`Support`], a fold over a [`Report`] that several formats tell.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::feature::{self, Feature};
use crate::merge;
use crate::model::{CheckResult, FeatureCoverage, Report, RevisionSupport, Summary, Verdict};
use crate::text;

/// The revisions with requirements of their own; the others are only negotiated.
const JUDGED: [&str; 2] = ["2025-11-25", "2026-07-28"];

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Support {
    pub server: String,
    /// Every published revision, the oldest first, as the run found it.
    pub revisions: Vec<RevisionSupport>,
    pub judged: Vec<JudgedRevision>,
    /// What would have to be done, the most blocking first.
    pub blockers: Vec<Blocker>,
    pub deprecated: Vec<DeprecatedUse>,
    /// What applies and was not judged, by the flag that would judge it; what no flag helps comes last.
    pub unverified: Vec<Unverified>,
}

/// One of the revisions that have requirements, feature by feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRevision {
    pub revision: String,
    pub supported: bool,
    pub summary: Summary,
    pub verified: Verified,
    pub features: Vec<FeatureRow>,
}

/// Requirements, not results: ten tools that are asked about one requirement are one here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Requirements that some result did not rule out.
    pub applies: u64,
    /// Of these, those with at least one verdict.
    pub judged: u64,
    /// Requirements of the revision that a client could see broken; 0 where the result file does not tell.
    pub in_catalogue: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureRow {
    pub feature: &'static str,
    pub title: &'static str,
    pub state: State,
    pub summary: Summary,
    /// What the catalogue has of it and what checks judge; none where the result file does not tell.
    pub coverage: Option<FeatureCoverage>,
}

/// What can be said of a feature in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Broken,
    /// Our own fault kept it from being judged.
    HarnessError,
    Warnings,
    /// The server has it, everything that applies was judged, and nothing was broken.
    Met,
    /// What was judged was not broken, and something was not judged or is contested.
    MetInPart,
    /// Nothing passed, and what was seen is contested.
    Contested,
    /// Nothing but advice was given.
    Advice,
    NotVerified,
    /// Ruled out, or the server does not have it.
    NotApplicable,
    /// The revision does not have it.
    NotInRevision,
    /// No check of the suite judges any of it yet.
    NoCheck,
    /// The run left it out, ended before it, or was not over its transport.
    NotJudged,
}

impl State {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::HarnessError => "our own fault",
            Self::Warnings => "warnings",
            Self::Met => "met",
            Self::MetInPart => "met in part",
            Self::Contested => "contested",
            Self::Advice => "advice only",
            Self::NotVerified => "not verified",
            Self::NotApplicable => "not applicable",
            Self::NotInRevision => "not in this revision",
            Self::NoCheck => "no check judges it yet",
            Self::NotJudged => "not judged in this run",
        }
    }
}

/// One change to the server, and what it would mend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blocker {
    pub remedy: String,
    /// The gravest verdict among what it mends.
    pub verdict: Verdict,
    /// `REVISION/ID` of each requirement; empty where a whole revision is missing.
    pub requirements: Vec<String>,
    pub features: Vec<&'static str>,
    /// Results that it would mend.
    pub results: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeprecatedUse {
    pub title: &'static str,
    pub since: &'static str,
    /// What showed that it is in use.
    pub seen: String,
    pub replacement: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unverified {
    pub flag: Option<String>,
    pub results: u64,
    pub requirements: Vec<String>,
    pub reasons: Vec<String>,
}

impl Verified {
    /// How much is known, as a fragment.
    pub fn told(&self) -> String {
        let Self { applies, judged, .. } = self;
        format!(
            "{} of {} requirements that apply and have a check were judged",
            text::thousands(*judged),
            text::thousands(*applies)
        )
    }
}

impl Support {
    pub fn of(report: &Report) -> Self {
        Self {
            server: report.target.server.clone().unwrap_or_else(|| report.target.name.clone()),
            revisions: report.revisions.clone(),
            judged: judged(report).into_iter().map(|revision| judged_revision(report, revision)).collect(),
            blockers: blockers(report),
            deprecated: deprecated(report),
            unverified: unverified(report),
        }
    }
}

/// The revisions of a report that have requirements, in order.
pub fn judged(report: &Report) -> BTreeSet<&str> {
    let announced = report.revisions.iter().map(|support| support.revision.as_str());
    let announced = announced.filter(|revision| JUDGED.contains(revision));
    announced.chain(report.results.iter().map(|result| result.revision.as_str())).collect()
}

/// The feature of a result, where its requirement belongs to one.
pub fn feature_of(report: &Report, result: &CheckResult) -> Option<&'static Feature> {
    let info = report.requirement(&result.requirement, &result.revision)?;
    feature::of(&info.area, &info.id)
}

fn judged_revision(report: &Report, revision: &str) -> JudgedRevision {
    let results: Vec<&CheckResult> = report.results.iter().filter(|result| result.revision == revision).collect();
    let areas: BTreeMap<&str, &str> = report
        .requirements
        .iter()
        .filter(|info| info.revision == revision)
        .map(|info| (info.id.as_str(), info.area.as_str()))
        .collect();
    let mut by_feature: BTreeMap<&str, Vec<&CheckResult>> = BTreeMap::new();
    for result in &results {
        let area = areas.get(result.requirement.as_str()).copied().unwrap_or_default();
        if let Some(feature) = feature::of(area, &result.requirement) {
            by_feature.entry(feature.id).or_default().push(result);
        }
    }
    let features = feature::features()
        .iter()
        .map(|feature| {
            let summary = Summary::of(by_feature.get(feature.id).into_iter().flatten().copied());
            let coverage = report
                .features
                .iter()
                .find(|coverage| coverage.feature == feature.id && coverage.revision == revision)
                .cloned();
            let state = match state(&summary, coverage.as_ref()) {
                // What was found stands, wherever it was found.
                found @ (State::Broken | State::HarnessError | State::Warnings) => found,
                gap @ (State::NotInRevision | State::NoCheck | State::NotJudged) => gap,
                _ if !feature.was_run(report) => State::NotJudged,
                _ if feature.is_lacking(report, revision) => State::NotApplicable,
                state => state,
            };
            FeatureRow { feature: feature.id, title: feature.title, state, summary, coverage }
        })
        .collect();
    JudgedRevision {
        revision: revision.to_owned(),
        supported: report.revisions.iter().any(|support| support.revision == revision && support.supported),
        summary: Summary::of(results.iter().copied()),
        verified: verified(report, revision, &results),
        features,
    }
}

fn state(summary: &Summary, coverage: Option<&FeatureCoverage>) -> State {
    match () {
        () if summary.fail > 0 => State::Broken,
        () if summary.harness_error > 0 => State::HarnessError,
        () if summary.warn > 0 => State::Warnings,
        () if summary.pass > 0 && summary.not_verified + summary.contested > 0 => State::MetInPart,
        () if summary.pass > 0 => State::Met,
        () if summary.contested > 0 => State::Contested,
        () if summary.not_verified > 0 => State::NotVerified,
        () if summary.advice > 0 => State::Advice,
        () if summary.not_applicable > 0 => State::NotApplicable,
        () => match coverage {
            Some(FeatureCoverage { requirements: 0, .. }) => State::NotInRevision,
            Some(FeatureCoverage { judged: 0, .. }) => State::NoCheck,
            // A file without the coverage says nothing of checks.
            _ => State::NotJudged,
        },
    }
}

fn verified(report: &Report, revision: &str, results: &[&CheckResult]) -> Verified {
    let distinct = |wanted: &dyn Fn(Verdict) -> bool| {
        let ids: BTreeSet<&str> =
            results.iter().filter(|result| wanted(result.verdict)).map(|result| result.requirement.as_str()).collect();
        ids.len() as u64
    };
    let open = |verdict| matches!(verdict, Verdict::NotVerified | Verdict::NotApplicable | Verdict::HarnessError);
    Verified {
        applies: distinct(&|verdict| verdict != Verdict::NotApplicable),
        judged: distinct(&|verdict| !open(verdict)),
        in_catalogue: report
            .features
            .iter()
            .filter(|coverage| coverage.revision == revision)
            .map(|coverage| coverage.requirements)
            .sum(),
    }
}

fn blockers(report: &Report) -> Vec<Blocker> {
    let mut out: Vec<Blocker> = Vec::new();
    for support in &report.revisions {
        if !support.supported && JUDGED.contains(&support.revision.as_str()) {
            let entry = if support.revision == JUDGED[1] { "server/discover" } else { "initialize" };
            out.push(Blocker {
                remedy: format!("Serve {}: answer {entry} in it. Now {}.", support.revision, support.how),
                verdict: Verdict::Fail,
                requirements: Vec::new(),
                features: Vec::new(),
                results: 0,
            });
        }
    }
    let missing = out.len();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for result in crate::order::sorted(report) {
        if !matches!(result.verdict, Verdict::Fail | Verdict::Warn) {
            continue;
        }
        let remedy = result.fix.as_deref().unwrap_or(&result.requirement);
        let place = *places.entry(remedy).or_insert_with(|| {
            out.push(Blocker {
                remedy: match &result.fix {
                    Some(fix) => fix.clone(),
                    None => format!("Keep {}.", result.requirement),
                },
                verdict: result.verdict,
                requirements: Vec::new(),
                features: Vec::new(),
                results: 0,
            });
            out.len() - 1
        });
        let Some(blocker) = out.get_mut(place) else { continue };
        blocker.verdict = blocker.verdict.min(result.verdict);
        blocker.results += 1;
        let requirement = format!("{}/{}", result.revision, result.requirement);
        if !blocker.requirements.contains(&requirement) {
            blocker.requirements.push(requirement);
        }
        if let Some(feature) = feature_of(report, result)
            && !blocker.features.contains(&feature.title)
        {
            blocker.features.push(feature.title);
        }
    }
    if let Some(found) = out.get_mut(missing..) {
        found.sort_by_key(|blocker| {
            let weight = (blocker.requirements.len(), blocker.results);
            (blocker.verdict, std::cmp::Reverse(weight))
        });
    }
    out
}

fn deprecated(report: &Report) -> Vec<DeprecatedUse> {
    feature::deprecated()
        .iter()
        .filter_map(|feature| {
            // A pass without an occasion would say that nothing was sent.
            let shows = |result: &&CheckResult| {
                let told =
                    matches!(result.verdict, Verdict::Fail | Verdict::Warn | Verdict::Contested | Verdict::Advice);
                let of_use = result.requirement.starts_with("deprecation-");
                result.revision == feature.revision
                    && feature.seen_by.contains(&result.requirement.as_str())
                    && (told || !of_use && result.verdict == Verdict::Pass && result.occasions > 0)
            };
            let seen = report.results.iter().find(shows)?;
            let seen = match seen.verdict {
                Verdict::Pass => format!("{} was judged on what the server sent", seen.requirement),
                _ => seen.message.clone(),
            };
            Some(DeprecatedUse {
                title: feature.title,
                since: feature.revision,
                seen,
                replacement: feature.replacement,
            })
        })
        .collect()
}

fn unverified(report: &Report) -> Vec<Unverified> {
    let mut out: Vec<Unverified> = Vec::new();
    for reason in merge::merge_by_reason(report, Verdict::NotVerified) {
        let flag = reason.verify_with.map(str::to_owned);
        let place = out.iter().position(|known| known.flag == flag).unwrap_or_else(|| {
            out.push(Unverified { flag, results: 0, requirements: Vec::new(), reasons: Vec::new() });
            out.len() - 1
        });
        let Some(group) = out.get_mut(place) else { continue };
        group.results += reason.results.len() as u64;
        group.reasons.push(reason.message.to_owned());
        for requirement in reason.requirements() {
            if !group.requirements.iter().any(|known| known == requirement) {
                group.requirements.push(requirement.to_owned());
            }
        }
    }
    out
}

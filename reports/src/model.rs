//! The result of a run: what every renderer is a fold over, and the JSON of `--report json:FILE`.
//!
//! [`Report`] is the root. The members named in the result-file contract keep their names within version 1; members may
//! be added. Readers ignore what they do not know.

use serde::{Deserialize, Serialize};

use crate::exit::Policy;
use crate::text;

/// Version of the result file that this crate writes.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    pub version: u32,
    pub tool: Tool,
    pub target: Target,
    pub revisions: Vec<RevisionSupport>,
    pub results: Vec<CheckResult>,
    pub summary: Summary,
    pub cost: Cost,
    /// Texts of the requirements that occur in `results`, once each.
    #[serde(default)]
    pub requirements: Vec<RequirementInfo>,
    /// The open questions that verdicts name, once each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<ContestedInfo>,
    /// How long the checks took that were played.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<CheckTime>,
    /// What was left undone on purpose and the flag that would do it.
    #[serde(default)]
    pub omissions: Vec<Omission>,
    /// Facts worth telling that are no verdicts, such as capabilities seen.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the catalogue and the suite of the run know of each feature.
    #[serde(default)]
    pub features: Vec<FeatureCoverage>,
    /// Features that the server was seen not to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_offered: Vec<NotOffered>,
    /// When the run began, in UTC, as `2026-07-28T12:00:00Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Set when the run ended early; the results so far are whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// The list of known failures that the run was held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Which part of a run this is; what `report merge` put together is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The frozen requirement sets that decided what counts, as `REVISION@RELEASE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirement_sets: Vec<String>,
    /// What the run was to be failed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl Report {
    /// How long the check of a result took; nothing where it only looked on.
    pub fn time(&self, result: &CheckResult) -> Option<f64> {
        let same = |time: &&CheckTime| {
            time.check == result.check && time.revision == result.revision && time.transport == result.transport
        };
        self.times.iter().find(same).map(|time| time.seconds).filter(|time| time.is_finite() && *time >= 0.0)
    }

    /// The text and link of a requirement that occurs in the results.
    pub fn requirement(&self, id: &str, revision: &str) -> Option<&RequirementInfo> {
        self.requirements.iter().find(|info| info.id == id && info.revision == revision)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    pub name: String,
    pub version: String,
    /// Seed of every random choice of the run.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// `ok`, or why the server could not be judged.
    pub status: TargetStatus,
    /// The command line or URL, secrets replaced.
    pub name: String,
    /// What a configuration or a fleet calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Name and version that the server gives of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub transports: Vec<String>,
    /// What happened and the way out, when `status` is not `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Last stderr lines, exit status, HTTP response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TargetStatus {
    Ok,
    /// The command could not be started.
    NotFound,
    /// The process ended before it answered.
    Exited,
    /// Nothing came within the deadline.
    NoAnswer,
    /// What came is not MCP: a banner only, HTML, another protocol.
    NotMcp,
    /// The URL refused the connection or the name did not resolve.
    Unreachable,
    /// 401 or 403 without a credential given.
    NeedsAuth,
    /// The endpoint redirects elsewhere.
    Redirects,
    /// Only the HTTP+SSE transport of 2024-11-05 is served.
    OldTransport,
    /// The server says that it wants configuration (arguments, environment).
    NeedsConfiguration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RevisionSupport {
    pub revision: String,
    pub supported: bool,
    /// How that was found, in a sentence.
    pub how: String,
    /// Transports on which it was seen; empty when not supported.
    #[serde(default)]
    pub transports: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Fail,
    HarnessError,
    Warn,
    Contested,
    Advice,
    NotVerified,
    NotApplicable,
    Pass,
}

impl Verdict {
    /// From the gravest to the mildest.
    pub const ALL: [Self; 8] = [
        Self::Fail,
        Self::HarnessError,
        Self::Warn,
        Self::Contested,
        Self::Advice,
        Self::NotVerified,
        Self::NotApplicable,
        Self::Pass,
    ];

    /// The name in a result file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::HarnessError => "harness-error",
            Self::Warn => "warn",
            Self::Contested => "contested",
            Self::Advice => "advice",
            Self::NotVerified => "not-verified",
            Self::NotApplicable => "not-applicable",
            Self::Pass => "pass",
        }
    }
}

/// One verdict: a requirement, a subject, a revision and a transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// Id of the case or rule.
    pub check: String,
    pub requirement: String,
    pub revision: String,
    /// `stdio` or `http`.
    pub transport: String,
    pub verdict: Verdict,
    /// MUST, MUST NOT, SHOULD, SHOULD NOT, MAY.
    pub level: String,
    /// What was judged: a tool, a near miss, a method; empty for the server as a whole.
    pub subject: String,
    /// Which of several verdicts of one check on one requirement and subject: the step of the case, or the kind of
    /// violation that a rule saw. The same in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub message: String,
    #[serde(default)]
    pub evidence: Evidence,
    /// What occurred so often that it could have been broken (rules), else 1.
    #[serde(default)]
    pub occasions: u64,
    /// Why what the specification's keyword forbids only warns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mild: Option<String>,
    /// How to mend it, in one line; with fail, warn and advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// For not-verified: the flag or setting that would verify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_with: Option<String>,
    /// Why the verdict, which stands, does not count as such for the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excuse: Option<Excuse>,
}

impl CheckResult {
    /// The verdict as it counts for the end of a run; none where it does not count.
    pub fn counted(&self) -> Option<Verdict> {
        self.excuse.as_ref().map_or(Some(self.verdict), |excuse| excuse.counts_as)
    }
}

/// A part of a run that several machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shard {
    /// What was divided.
    pub kind: ShardKind,
    /// From 1.
    pub part: u32,
    pub of: u32,
    /// How many there are in all parts together.
    pub total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ShardKind {
    Cases,
    Servers,
}

impl Shard {
    /// What part it is, as a sentence.
    pub fn told(self) -> String {
        let what = match self.kind {
            ShardKind::Cases => "cases",
            ShardKind::Servers => "servers of the fleet",
        };
        let Self { part, of, .. } = self;
        format!("Part {part} of {of} of the {what}: report merge puts the parts together.")
    }
}

/// Why a verdict does not count as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Excuse {
    pub kind: ExcuseKind,
    pub reason: String,
    /// What it counts as instead; without it, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExcuseKind {
    /// The baseline lists it, with this reason.
    Known,
    /// The chosen requirement set does not have it yet.
    New,
    /// The chosen requirement set has it with a milder grade.
    Regraded,
}

impl ExcuseKind {
    /// As a fragment before the reason.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::New => "new",
            Self::Regraded => "graded more mildly",
        }
    }
}

impl Excuse {
    /// The excuse in one line.
    pub fn told(&self) -> String {
        format!("{}: {}", self.kind.word(), self.reason)
    }
}

/// A list of known failures and what the run says of each of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Baseline {
    pub file: String,
    pub entries: Vec<BaselineEntry>,
}

impl Baseline {
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &BaselineEntry> {
        self.entries.iter().filter(move |entry| entry.standing == standing)
    }
}

/// One known failure. What is left out matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BaselineEntry {
    /// Where it stands in the file.
    pub line: u64,
    /// A glob over check ids, requirement ids, and `REQUIREMENT/CHECK`.
    pub check: String,
    /// A glob over subjects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// A glob over the names of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    pub reason: String,
    #[serde(default)]
    pub standing: Standing,
    /// Results that it excuses.
    #[serde(default)]
    pub results: u64,
    /// Why it stands so.
    #[serde(default)]
    pub why: String,
}

/// What a run says of a line of the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// What it names is broken still.
    Used,
    /// What it names was judged, and nothing of it is broken.
    Stale,
    /// What it names was not judged, or not all of it.
    #[default]
    Open,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Evidence {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Excerpt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Excerpt>,
    /// The accepted control of a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Excerpt>,
    /// A command that provokes it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// A shell line that provokes it again and needs nothing of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
    /// Trace file name and event number, when a trace is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRef>,
}

/// A piece of what went over the wire, as text (unprintable bytes escaped as `\xNN`), with a caret range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Excerpt {
    /// Status and headers, or the SSE event's fields, one a line; empty over stdio.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<String>,
    pub text: String,
    /// Character offset and length in `text` of what is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caret: Option<(usize, usize)>,
    /// Bytes cut from the text.
    #[serde(default)]
    pub cut: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceRef {
    pub file: String,
    pub event: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    pub pass: u64,
    pub fail: u64,
    pub warn: u64,
    pub advice: u64,
    pub contested: u64,
    pub not_applicable: u64,
    pub not_verified: u64,
    pub harness_error: u64,
    /// Of the failures and warnings, those that the baseline lists.
    #[serde(default)]
    pub known: u64,
    /// Of the failures and warnings, those that the chosen requirement set does not have, or grades more mildly.
    #[serde(default)]
    pub new: u64,
}

impl Summary {
    /// Counts the verdicts of `results`.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CheckResult>) -> Self {
        let mut summary = Self::default();
        for result in results {
            *summary.slot(result.verdict) += 1;
            let broken = matches!(result.verdict, Verdict::Fail | Verdict::Warn);
            match result.excuse.as_ref().filter(|_| broken).map(|excuse| excuse.kind) {
                Some(ExcuseKind::Known) => summary.known += 1,
                Some(ExcuseKind::New | ExcuseKind::Regraded) => summary.new += 1,
                None => {}
            }
        }
        summary
    }

    /// What of the broken does not count, in a sentence or two.
    pub fn excused(&self) -> Option<String> {
        let told = |count: u64, what: &str, found: bool| {
            let one = count == 1;
            let (is, does) = if one { ("is", "does") } else { ("are", "do") };
            let so = match (found, one) {
                (false, _) => "",
                (true, true) => " as it stands",
                (true, false) => " as they stand",
            };
            let named = match (self.fail, self.warn) {
                (_, 0) => text::plural(count, "failure"),
                (0, _) => text::plural(count, "warning"),
                _ if count == 1 => "1 failure or warning".to_owned(),
                _ => format!("{} failures or warnings", text::thousands(count)),
            };
            (count > 0).then(|| format!("{named} {is} {what}, and {does} not count{so}."))
        };
        let known = told(self.known, "known", false);
        let new = told(self.new, "new to the requirement set or graded more mildly there", true);
        let parts: Vec<String> = [known, new].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// The verdicts and their counts, the gravest first.
    pub fn counts(&self) -> [(Verdict, u64); 8] {
        [
            (Verdict::Fail, self.fail),
            (Verdict::HarnessError, self.harness_error),
            (Verdict::Warn, self.warn),
            (Verdict::Contested, self.contested),
            (Verdict::Advice, self.advice),
            (Verdict::NotVerified, self.not_verified),
            (Verdict::NotApplicable, self.not_applicable),
            (Verdict::Pass, self.pass),
        ]
    }

    fn slot(&mut self, verdict: Verdict) -> &mut u64 {
        match verdict {
            Verdict::Fail => &mut self.fail,
            Verdict::HarnessError => &mut self.harness_error,
            Verdict::Warn => &mut self.warn,
            Verdict::Contested => &mut self.contested,
            Verdict::Advice => &mut self.advice,
            Verdict::NotVerified => &mut self.not_verified,
            Verdict::NotApplicable => &mut self.not_applicable,
            Verdict::Pass => &mut self.pass,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    pub process_starts: u64,
    pub requests: u64,
    /// Seconds by the clock in which something was waited for on purpose: deadlines that passed, and drains.
    pub waited_s: f64,
    /// Seconds from start to end.
    #[serde(default)]
    pub took_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequirementInfo {
    pub id: String,
    pub revision: String,
    pub level: String,
    pub grade: String,
    pub area: String,
    /// The requirement in our words.
    pub text: String,
    /// The clause on the specification's site.
    pub link: String,
}

/// A clause on which the specification disagrees with itself, or implementers with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContestedInfo {
    /// As messages name it, such as `C18`.
    pub item: String,
    pub title: String,
    /// Both readings, and what is broken all the same.
    pub text: String,
}

impl ContestedInfo {
    /// Whether a message names it, as a word of its own.
    pub fn is_named_in(&self, message: &str) -> bool {
        message.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == self.item)
    }
}

/// The time by the clock that one check took in one revision over one transport. Several run side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckTime {
    pub check: String,
    pub revision: String,
    pub transport: String,
    pub seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Omission {
    pub what: String,
    pub flag: String,
}

/// A feature that the server does not have in a revision, over any transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotOffered {
    /// The id of the feature.
    pub feature: String,
    pub revision: String,
    pub why: String,
}

/// How much of a feature could be judged at all by the suite that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FeatureCoverage {
    /// The id of the feature.
    pub feature: String,
    pub revision: String,
    /// Requirements that a client could see broken.
    pub requirements: u64,
    /// Of these, how many a proven check judges.
    pub judged: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published schema of a result file is made from the types: `UPDATE_SCHEMA=1 cargo test -p mcp-conform-reports`.
    #[test]
    fn the_published_schema_is_that_of_the_model() {
        let mut schema = schemars::schema_for!(Report);
        schema.insert("title".to_owned(), "Result file of mcp-conform, version 1".into());
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/result-1.schema.json");
            std::fs::write(path, text).expect("the schema can be written");
            return;
        }
        assert!(text == crate::json::SCHEMA, "the model changed: UPDATE_SCHEMA=1 writes reports/schema anew");
    }
}

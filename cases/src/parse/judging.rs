//! Judgements: what is seen, and which requirement it meets or breaks.

use super::{
    fields::{Fields, list, shown},
    lower::Lower,
    node::{Kind, Node},
    shape::{CLASSES, ERROR, JUDGEMENT, MESSAGES, OUTCOME, SEE, SEE_IDS, TRANSPORTS, VERDICTS},
};
use crate::{
    ast::{
        Class, Judgement, Outcome, OutcomeVerdict, RequirementRef, See, SeeError, SeeId, SeeMessages, Span, Spanned,
        StatusRange, Transport,
    },
    catalogue::Catalogue,
};

/// Requirements of a user's own cases stand outside the catalogue.
const OWN: &str = "own/";

impl Lower<'_> {
    /// What a step judges: its own `expect` with `requirement`, then the list behind `judge`.
    pub(crate) fn judgements(&mut self, fields: &Fields<'_>) -> Vec<Judgement> {
        let mut judgements = Vec::new();
        match (fields.entry("expect"), fields.entry("requirement")) {
            (None, None) => {
                if let Some(key) = fields.given(&["given", "unless", "says"]).first() {
                    self.report(key.span, format!("`{}` stands here without `expect`", key.name))
                        .help("in a list behind `judge` it belongs to one of its judgements");
                }
            }
            (Some((key, _)), None) => {
                self.report(key.span, "`expect` without `requirement`")
                    .help("every expectation names the requirement that it judges, and so its grade");
            }
            (None, Some((key, _))) => {
                self.report(key.span, "`requirement` without `expect`").help("say what passes, or use `judge`");
            }
            (Some((key, _)), Some(_)) => judgements.extend(self.judgement(fields, key.span)),
        }
        if let Some(node) = fields.value("judge") {
            for item in self.list(node, "a list of judgements").unwrap_or_default() {
                if let Some(fields) = self.fields(item, &JUDGEMENT)
                    && fields.whole
                {
                    judgements.extend(self.judgement(&fields, fields.span));
                }
            }
        }
        judgements
    }

    pub(crate) fn must_judge(&mut self, fields: &Fields<'_>, what: &str) {
        if fields.given(&["expect", "judge", "requirement"]).is_empty() {
            self.report(fields.span, format!("{what} judges nothing"))
                .help("add `expect` and `requirement`, or `judge`");
        }
    }

    fn judgement(&mut self, fields: &Fields<'_>, span: Span) -> Option<Judgement> {
        let given = fields.value("given").map(|node| self.see(node));
        let unless = fields.value("unless").map(|node| self.sentence(node));
        if given.is_some() && unless.is_none() {
            self.report(span, "`given` without `unless`")
                .help("`unless` says why the requirement is not judged when `given` does not hold");
        }
        if let (None, Some((key, _))) = (&given, fields.entry("unless")) {
            self.report(key.span, "`unless` without `given`");
        }
        // A step has no outcomes of its own, only its judgements have.
        let outcomes = if fields.knows("outcomes") { fields.value("outcomes") } else { None };
        let outcomes = match (fields.value("expect"), outcomes) {
            (Some(node), None) => self.see(node).map(|see| {
                let name = "expected".to_owned();
                vec![Outcome { name, see, verdict: OutcomeVerdict::Pass, reason: None }]
            }),
            (None, Some(node)) => self.outcomes(node),
            (Some(_), Some(node)) => {
                self.report(node.span, "`expect` and `outcomes` in one judgement")
                    .help("`expect` stands for a single outcome that passes");
                None
            }
            (None, None) => {
                self.report(span, "the judgement says nothing of what may be seen").help("add `expect` or `outcomes`");
                None
            }
        };
        let requirement = fields.value("requirement").and_then(|node| {
            let contested = outcomes.iter().flatten().any(|outcome| outcome.verdict == OutcomeVerdict::Contested);
            self.requirement(node, contested)
        });
        let says = fields.value("says").map(|node| self.sentence(node));
        Some(Judgement {
            requirement: requirement?,
            given: transpose(given)?,
            unless: transpose(unless)?,
            outcomes: outcomes?,
            says: transpose(says)?,
            span,
        })
    }

    fn outcomes(&mut self, node: &Node) -> Option<Vec<Outcome>> {
        let entries = self.map(node, "a mapping from names to outcomes")?;
        if entries.is_empty() {
            self.report(node.span, "there is no outcome");
        }
        let lowered: Vec<Option<Outcome>> = entries
            .iter()
            .map(|(key, value)| {
                let fields = self.fields(value, &OUTCOME)?;
                let see = fields.value("see").map(|node| self.see(node));
                let verdict = fields.value("verdict").map(|node| self.word(node, VERDICTS, "verdict"));
                let reason = fields.value("reason").map(|node| self.sentence(node));
                let verdict = match verdict?? {
                    "pass" => OutcomeVerdict::Pass,
                    "fail" => OutcomeVerdict::Fail,
                    "warn" => OutcomeVerdict::Warn,
                    "contested" => OutcomeVerdict::Contested,
                    _ => OutcomeVerdict::NotVerified,
                };
                if matches!(verdict, OutcomeVerdict::Contested | OutcomeVerdict::NotVerified) && reason.is_none() {
                    self.report(key.span, format!("the outcome `{}` gives no reason", shown(&key.name)))
                        .help("contested and not-verified say why: add `reason`");
                }
                Some(Outcome { name: key.name.clone(), see: see??, verdict, reason: transpose(reason)? })
            })
            .collect();
        lowered.into_iter().collect()
    }

    /// A catalogue id, or one by revision.
    pub(crate) fn requirement(&mut self, node: &Node, contested: bool) -> Option<RequirementRef> {
        let catalogue = Catalogue::get();
        let by_revision = matches!(node.kind, Kind::Map(_));
        let reference = self.by_revision(node, true, |lower, node| lower.text(node))?;
        for revision in self.revisions.clone() {
            let Some(id) = reference.of(revision) else { continue };
            if let Some(own) = id.node.strip_prefix(OWN) {
                if own.is_empty()
                    || !own.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c))
                {
                    self.report(id.span, format!("`{}` is no name of an own requirement", shown(&id.node)))
                        .help("own/ is followed by lower-case words and hyphens");
                    return None;
                }
                continue;
            }
            let Some(row) = catalogue.resolve(&id.node, revision) else {
                self.unknown_requirement(id, by_revision);
                return None;
            };
            if row.id != id.node {
                self.report(id.span, format!("`{}` was merged into another requirement", id.node))
                    .help(format!("write `{}`", row.id));
                return None;
            }
            if !self.transports.iter().any(|transport| row.applies_to(*transport)) {
                let only = if row.applies_to(Transport::Http) { "http" } else { "stdio" };
                self.report(id.span, format!("`{}` exists over {only}, for which the case is not", row.id))
                    .help(format!("add {only} to `transports`, or judge another requirement"));
                return None;
            }
            if !row.can_be_broken() {
                self.report(id.span, format!("`{}` cannot be broken", row.id)).help(format!(
                    "its grade is {}: {}",
                    row.grade,
                    if row.grade == crate::Grade::None {
                        "it cannot be seen from outside"
                    } else {
                        "it is a liberty of the server"
                    }
                ));
                return None;
            }
            if contested && row.contested.is_empty() {
                self.report(id.span, format!("nothing is contested about `{}` in {revision}", row.id))
                    .help("an outcome can be contested only where the catalogue names the item that leaves it open");
                return None;
            }
        }
        Some(reference)
    }

    fn unknown_requirement(&mut self, id: &Spanned<String>, by_revision: bool) {
        let catalogue = Catalogue::get();
        let elsewhere = catalogue.all(&id.node);
        if let Some(row) = elsewhere.first() {
            let known = row.revision;
            let help = if by_revision || self.revisions.len() == 1 {
                format!("it stands in {known} only")
            } else {
                let other = self.revisions.iter().find(|revision| **revision != known);
                format!(
                    "write one id for each revision, {{{known}: {}, {}: …}}; null judges nothing there",
                    row.id,
                    other.map_or("", |revision| revision.as_str())
                )
            };
            let missing = self.revisions.iter().find(|revision| catalogue.resolve(&id.node, **revision).is_none());
            let missing = missing.map_or("", |revision| revision.as_str());
            self.report(id.span, format!("`{}` is no requirement of {missing}", shown(&id.node))).help(help);
            return;
        }
        let near = catalogue.nearest(&id.node);
        let help = if near.is_empty() {
            "they stand in cases/catalogue/requirements.tsv; requirements of your own begin with own/".to_owned()
        } else {
            format!("did you mean {}?", near.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" or "))
        };
        self.report(id.span, format!("there is no requirement `{}`", shown(&id.node))).help(help);
    }

    pub(crate) fn see(&mut self, node: &Node) -> Option<See> {
        let mut see = See { span: node.span, ..See::default() };
        if matches!(node.kind, Kind::String(_)) {
            see.class = Some(class(self.word(node, CLASSES, "kind of answer")?));
            return Some(see);
        }
        if !matches!(node.kind, Kind::Map(_)) {
            self.report(node.span, format!("expected what is seen, found {}", node.what())).help(format!(
                "write one of {}, or a mapping with {}",
                list(CLASSES),
                list(&SEE.keys.iter().map(|key| key.name).collect::<Vec<_>>())
            ));
            return None;
        }
        let fields = self.fields(node, &SEE)?;
        let faults = self.faults.len();
        if fields.given(&SEE.keys.iter().map(|key| key.name).collect::<Vec<_>>()).is_empty() {
            self.report(node.span, "nothing is asked for").help("whatever comes is written `anything`");
        }
        see.class = fields.value("class").and_then(|node| self.word(node, CLASSES, "kind of answer")).map(class);
        see.result = fields.value("result").and_then(|node| self.matcher(node));
        see.error = fields.value("error").and_then(|node| self.see_error(node));
        see.status = fields.value("status").map(|node| self.statuses(node)).unwrap_or_default();
        see.headers = fields.value("headers").and_then(|node| self.named_matchers(node)).unwrap_or_default();
        see.body = fields.value("body").and_then(|node| self.matcher(node));
        see.id =
            fields.value("id").and_then(|node| self.word(node, SEE_IDS, "way to compare an id")).map(
                |word| match word {
                    "absent" => SeeId::Absent,
                    "null" => SeeId::Null,
                    "rounded" => SeeId::Rounded,
                    _ => SeeId::Same,
                },
            );
        see.messages = fields.value("messages").map(|node| self.see_messages(node)).unwrap_or_default();
        if let Some(node) = fields.value("any_of") {
            let items = self.list(node, "a list of what may be seen").unwrap_or_default();
            see.any_of = items.iter().filter_map(|item| self.see(item)).collect();
        }
        see.not = fields.value("not").and_then(|node| self.see(node)).map(Box::new);
        see.over =
            fields.value("over").and_then(|node| self.word(node, TRANSPORTS, "transport")).map(|word| match word {
                "http" => Transport::Http,
                _ => Transport::Stdio,
            });
        if let (Some((key, _)), true) = (fields.entry("error"), fields.has("result")) {
            self.report(key.span, "an answer has a result or an error, never both")
                .help("alternatives go into `any_of`");
        }
        (self.faults.len() == faults).then_some(see)
    }

    fn see_error(&mut self, node: &Node) -> Option<SeeError> {
        let fields = self.fields(node, &ERROR)?;
        let mut error = SeeError::default();
        if let Some(node) = fields.value("code") {
            error.code = self.one_or_many(node).iter().filter_map(|item| self.integer(item)).collect();
        }
        error.data = fields.value("data").and_then(|node| self.matcher(node));
        error.message = fields.value("message").and_then(|node| self.matcher(node));
        Some(error)
    }

    fn see_messages(&mut self, node: &Node) -> Vec<SeeMessages> {
        let Some(fields) = self.fields(node, &MESSAGES) else { return Vec::new() };
        let mut messages = Vec::new();
        if let Some(like) = fields.value("any").and_then(|node| self.matcher(node)) {
            messages.push(SeeMessages::Any(like));
        }
        if let Some(like) = fields.value("first").and_then(|node| self.matcher(node)) {
            messages.push(SeeMessages::First(like));
        }
        if let Some(like) = fields.value("none").and_then(|node| self.matcher(node)) {
            messages.push(SeeMessages::None(like));
        }
        messages
    }

    fn statuses(&mut self, node: &Node) -> Vec<StatusRange> {
        self.one_or_many(node).iter().filter_map(|item| self.status(item)).collect()
    }

    fn status(&mut self, node: &Node) -> Option<StatusRange> {
        let range = match &node.kind {
            Kind::Number(number) => number
                .as_u64()
                .and_then(|code| u16::try_from(code).ok())
                .map(|code| StatusRange { from: code, to: code }),
            Kind::String(text) => text.split_once('-').and_then(|(from, to)| {
                Some(StatusRange { from: from.trim().parse().ok()?, to: to.trim().parse().ok()? })
            }),
            _ => None,
        };
        let sound = range.filter(|range| (100..=999).contains(&range.from) && (range.from..=999).contains(&range.to));
        if sound.is_none() {
            self.report(node.span, "this is no HTTP status")
                .help("write a number such as 400, or a range such as \"400-499\"");
        }
        sound
    }
}

fn class(word: &str) -> Class {
    match word {
        "accepted" => Class::Accepted,
        "anything" => Class::Anything,
        "answered" => Class::Answered,
        "closed" => Class::Closed,
        "refused" => Class::Refused,
        _ => Class::Silence,
    }
}

/// A part that is not there is fine, one that is there and could not be lowered is not.
pub(crate) fn transpose<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        None => Some(None),
        Some(None) => None,
        Some(some) => Some(some),
    }
}

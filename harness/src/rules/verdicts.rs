//! What rules say: [`Verdicts`] takes occasions and breaches and folds them into [`Observation`]s of bounded size.

use std::{collections::BTreeMap, sync::Arc};

use mcp_conform_schemas::{Era, Revision};

use super::{Context, RequestKey, Seen};
use crate::trace::StepMark;

/// Violations of one requirement that are kept whole; the rest is counted.
pub const MAX_VIOLATIONS: usize = 20;

/// What one rule saw of one requirement in one conversation. There is none without an occasion.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub rule: &'static str,
    pub requirement: &'static str,
    pub revision: Revision,
    /// How often the requirement could have been broken.
    pub occasions: u64,
    /// The first [`MAX_VIOLATIONS`].
    pub violations: Vec<Violation>,
    /// All of them.
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Position of the event in the trace.
    pub event: u64,
    /// JSON Pointer into the frame of the event, or `headers/NAME`.
    pub pointer: String,
    /// Bytes of the frame, where a pointer cannot say it.
    pub span: Option<(usize, usize)>,
    /// What is wrong here, with the values.
    pub message: String,
    pub outcome: Outcome,
    /// Event of the request that this is about.
    pub related: Option<u64>,
    /// Case and step of that request, or else the ones that ran at the time.
    pub step: Option<StepMark>,
    /// The same bytes break a requirement that says more about them: it is told there, and only counted here.
    pub under: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By the grade of the requirement.
    Broken,
    /// At most a warning, whatever the grade: the catalogue says so for this form of the breach.
    Warning,
    /// Left open by an item of the list of contested clauses.
    Contested(&'static str),
}

/// A requirement in each revision: the same rule can have another name, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    legacy: Option<(&'static str, Revision)>,
    modern: Option<&'static str>,
}

impl Row {
    /// Only 2025-11-25, in force since a revision.
    pub const fn legacy(id: &'static str, since: Revision) -> Self {
        Self { legacy: Some((id, since)), modern: None }
    }

    /// Only 2026-07-28.
    pub const fn modern(id: &'static str) -> Self {
        Self { legacy: None, modern: Some(id) }
    }

    pub const fn both(legacy: &'static str, since: Revision, modern: &'static str) -> Self {
        Self { legacy: Some((legacy, since)), modern: Some(modern) }
    }

    /// The requirement that is in force in a conversation.
    pub fn requirement(&self, context: &Context) -> Option<(&'static str, Revision)> {
        match context.era() {
            Era::Legacy => {
                self.legacy.filter(|(_, since)| context.applies(*since)).map(|(id, _)| (id, Revision::V2025_11_25))
            }
            Era::Modern => self.modern.map(|id| (id, Revision::V2026_07_28)),
        }
    }

    /// Each requirement with its revision and the revision since which it is judged.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, Revision, Revision)> + use<> {
        let legacy = self.legacy.map(|(id, since)| (id, Revision::V2025_11_25, since));
        legacy.into_iter().chain(self.modern.map(|id| (id, Revision::V2026_07_28, Revision::V2026_07_28)))
    }
}

/// One breach, before it is tied to a requirement.
#[derive(Clone, Debug)]
pub struct Breach {
    event: u64,
    pointer: String,
    span: Option<(usize, usize)>,
    message: String,
    outcome: Outcome,
    request: Option<RequestKey>,
    under: Option<&'static Row>,
    told: Option<&'static str>,
}

impl Breach {
    pub fn new(event: u64, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            event,
            pointer: pointer.into(),
            span: None,
            message: message.into(),
            outcome: Outcome::Broken,
            request: None,
            under: None,
            told: None,
        }
    }

    /// At a pointer within a message; about the request that it answers.
    pub fn at(seen: &Seen<'_>, pointer: &str, message: impl Into<String>) -> Self {
        let breach = Self::new(seen.event, seen.at(pointer), message);
        Self { request: seen.answer.and_then(|answer| answer.request), ..breach }
    }

    pub fn warning(self) -> Self {
        Self { outcome: Outcome::Warning, ..self }
    }

    pub fn contested(self, item: &'static str) -> Self {
        Self { outcome: Outcome::Contested(item), ..self }
    }

    pub fn about(self, request: Option<RequestKey>) -> Self {
        Self { request, ..self }
    }

    pub fn spanning(self, start: usize, end: usize) -> Self {
        Self { span: Some((start, end)), ..self }
    }

    /// The breach is told under another requirement, where that one is in force.
    pub fn under(self, row: &'static Row) -> Self {
        Self { under: Some(row), ..self }
    }

    /// The breach was told by another rule, under a requirement that is in force.
    pub fn told_under(self, requirement: &'static str) -> Self {
        Self { told: Some(requirement), ..self }
    }
}

/// What a rule said about the event at hand.
#[derive(Clone, Debug)]
pub struct Told {
    pub requirement: &'static str,
    pub pointer: String,
    pub message: String,
}

/// Breaches of one event that later rules are shown.
const MOST_TOLD: usize = 64;

/// Where rules put what they see.
#[derive(Debug, Default)]
pub struct Verdicts {
    rule: &'static str,
    tallies: BTreeMap<(&'static str, Revision), Observation>,
    step: Option<Arc<StepMark>>,
    told: Vec<Told>,
}

impl Verdicts {
    /// The requirement could have been broken here.
    pub fn occasion(&mut self, row: &Row, context: &Context) {
        if let Some(tally) = self.tally(row, context) {
            tally.occasions += 1;
        }
    }

    /// The requirement was broken, at an occasion that has been told by [`Verdicts::occasion`].
    pub fn broken(&mut self, row: &Row, context: &Context, breach: Breach) {
        let current = self.step.clone();
        let Some(tally) = self.tally(row, context) else { return };
        tally.count += 1;
        let requirement = tally.requirement;
        if self.told.len() < MOST_TOLD {
            let (pointer, message) = (breach.pointer.clone(), breach.message.clone());
            self.told.push(Told { requirement, pointer, message });
        }
        let Some(tally) = self.tally(row, context) else { return };
        if tally.violations.len() >= MAX_VIOLATIONS {
            return;
        }
        let request = breach.request.and_then(|key| context.request(key));
        let step = request.map_or(current, |request| request.step.clone());
        tally.violations.push(Violation {
            event: breach.event,
            pointer: breach.pointer,
            span: breach.span,
            message: breach.message,
            outcome: breach.outcome,
            related: request.map(|request| request.event),
            step: step.as_deref().cloned(),
            under: breach.under.and_then(|row| row.requirement(context)).map(|(id, _)| id).or(breach.told),
        });
    }

    /// An occasion, and a breach where there is one.
    pub fn check(&mut self, row: &Row, context: &Context, breach: Option<Breach>) {
        self.occasion(row, context);
        if let Some(breach) = breach {
            self.broken(row, context, breach);
        }
    }

    pub(super) fn enter(&mut self, rule: &'static str, step: Option<&Arc<StepMark>>) {
        self.rule = rule;
        self.step = step.cloned();
        self.told.clear();
    }

    /// What was broken since [`Verdicts::enter`].
    pub(super) fn told(&mut self) -> std::vec::Drain<'_, Told> {
        self.told.drain(..)
    }

    pub(super) fn take_violations(&mut self) -> impl Iterator<Item = (&'static str, Revision, Violation)> {
        self.tallies.values_mut().flat_map(|tally| {
            tally.violations.drain(..).map(|violation| (tally.requirement, tally.revision, violation))
        })
    }

    pub(super) fn into_observations(self) -> Vec<Observation> {
        self.tallies.into_values().filter(|tally| tally.occasions > 0 || tally.count > 0).collect()
    }

    fn tally(&mut self, row: &Row, context: &Context) -> Option<&mut Observation> {
        let (requirement, revision) = row.requirement(context)?;
        let rule = self.rule;
        let tally = self.tallies.entry((requirement, revision)).or_insert_with(|| Observation {
            rule,
            requirement,
            revision,
            occasions: 0,
            violations: Vec::new(),
            count: 0,
        });
        Some(tally)
    }
}

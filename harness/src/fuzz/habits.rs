//! What sound answers of a server are like, by which an odd one is known: [`Habits`].

use std::collections::{BTreeMap, BTreeSet};

use super::{
    input::{Act, Input, Retry},
    marks::without_marks,
    outcome::{Class, Outcome, Played},
};
use crate::wire::{Frame, Json};

/// What sound answers of the server are like, as far as that was seen.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// Calls of a tool by the mark of their own that came back in the answer, and those without.
    echoes: BTreeMap<String, (u64, u64)>,
    /// Results of flows without tampering, by all that was said in them: how many, and digests of them without our marks.
    results: BTreeMap<String, (u64, BTreeSet<u64>)>,
    /// Flows whose next round was sent without their state, and whether that was enough to complete them.
    stateless: BTreeMap<String, bool>,
}

impl Habits {
    pub(super) fn note(&mut self, input: &Input, played: &Played) {
        const MOST: usize = 1_024;
        for (index, outcome) in played.outcomes.iter().enumerate() {
            if let Some(Act::Retry(Retry { state: Some(None), .. })) = input.steps.get(index).map(|it| &it.act)
                && let Some((flow, _)) = flow(input, index)
                && !matches!(outcome.class, Class::Unanswered | Class::Closed)
                && let Some(asked) = whatever_manner(&flow)
                && (self.stateless.len() < MOST || self.stateless.contains_key(asked))
            {
                *self.stateless.entry(asked.to_owned()).or_default() |= outcome.class == Class::Result;
            }
            if outcome.class == Class::Result
                && let Some((flow, false)) = flow(input, index)
                && let Some(frame) = &outcome.frame
                && (self.results.len() < MOST || self.results.contains_key(&flow))
            {
                let (count, results) = self.results.entry(flow).or_default();
                *count += 1;
                results.insert(gist_of(frame));
            }
        }
        for outcome in &played.outcomes {
            if let (Some(tool), Class::Result) = (&outcome.tool, outcome.class)
                && !outcome.said.is_empty()
            {
                let (with, without) = self.echoes.entry(tool.clone()).or_default();
                // What holds another's mark in place of its own is what is looked for, and no habit.
                *with += u64::from(outcome.echoed);
                *without += u64::from(!outcome.echoed && outcome.foreign.is_empty());
            }
        }
    }

    /// Whether a result shows that what was tampered with had a say in it: the same flow without that always came to
    /// another one.
    pub(super) fn is_new(&self, input: &Input, index: usize, outcome: &Outcome) -> bool {
        const ENOUGH: u64 = 2;
        let known = flow(input, index).and_then(|(flow, _)| self.results.get(&flow));
        let always = known.filter(|(count, results)| *count >= ENOUGH && results.len() == 1);
        always.zip(outcome.frame.as_ref()).is_some_and(|((_, known), frame)| !known.contains(&gist_of(frame)))
    }

    /// Whether a flow is known not to complete without its state.
    pub(super) fn needs_state(&self, input: &Input, index: usize) -> bool {
        let flow = flow(input, index).map(|(flow, _)| flow);
        flow.as_deref().and_then(whatever_manner).and_then(|asked| self.stateless.get(asked)) == Some(&false)
    }

    /// Its answers hold what it was sent, as a habit.
    pub(super) fn echoes(&self, tool: &str) -> bool {
        const ENOUGH: u64 = 3;
        self.echoes.get(tool).is_some_and(|(with, without)| *with >= ENOUGH && *with >= *without * 10)
    }
}

/// All that is said in a flow up to its last round, as a text, and whether a state in it was tampered with; `None` for what
/// is no flow, or is answered in an odd way.
fn flow(input: &Input, index: usize) -> Option<(String, bool)> {
    let (mut at, mut rounds, mut tampered) = (index, 0, false);
    loop {
        match &input.steps.get(at)?.act {
            Act::Retry(retry) if retry.of < at => {
                if retry.responses.is_some() || retry.without > 0 || retry.name.is_some() {
                    return None;
                }
                tampered |= retry.state.is_some();
                (at, rounds) = (retry.of, rounds + 1);
            }
            Act::Request(message) if rounds > 0 => {
                let params = message.params.as_ref().map(ToString::to_string).unwrap_or_default();
                return Some((format!("{:?} {rounds} {} {params}", input.manner, message.method), tampered));
            }
            _ => return None,
        }
    }
}

/// The text of a flow without the manner in which the client answers.
fn whatever_manner(flow: &str) -> Option<&str> {
    flow.split_once(' ').map(|(_, asked)| asked)
}

/// A digest of the result in an answer, whatever its id and our marks are.
fn gist_of(frame: &Frame) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let result = frame.json.as_ref().and_then(|json| json.get("result")).map(Json::to_string);
    let mut hasher = DefaultHasher::new();
    without_marks(&result.unwrap_or_default()).hash(&mut hasher);
    hasher.finish()
}

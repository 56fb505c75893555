//! What the server showed of itself so far: response states, and the inputs that reached them.
//!
//! A state is the method (and tool) that was asked, how it was answered, by which code or status, and the shape of the
//! answer. An input that reaches a new state, or two states in a row that were not seen in a row before, is kept; inputs of
//! rare states are mutated more often.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write as _,
    sync::Arc,
};

use mcp_conform_schemas::Era;

use super::{
    dice::Dice,
    input::Input,
    outcome::{Class, Outcome, Played},
};
use crate::wire::{Json, JsonKind};

/// States of one method and tool; a server that puts its own names into every answer does not fill the corpus.
const MOST_OF_A_METHOD: usize = 120;
/// Pairs of states in a row.
const MOST_PAIRS: usize = 6_000;
/// Inputs that are kept; the ones whose states are the commonest go first.
const MOST_KEPT: usize = 4_000;

/// Text of a state: the same for the same server, whatever the run.
pub(super) fn state_of(era: Era, outcome: &Outcome) -> String {
    let mut out = format!("{era} {}", outcome.method);
    if let Some(tool) = &outcome.tool {
        let known = matches!(outcome.class, Class::Result | Class::InputRequired | Class::ToolError);
        let _ = write!(out, " {}", if known { tool } else { "*" });
    }
    let _ = write!(out, " {:?}", outcome.class);
    if let Some(code) = outcome.code {
        let _ = write!(out, " {code}");
    }
    if let Some(status) = outcome.status {
        let _ = write!(out, " {status}");
    }
    let json = outcome.frame.as_ref().and_then(|frame| frame.json.as_ref());
    match outcome.class {
        Class::Error => {
            let message = json.and_then(|json| json.pointer("/error/message")).and_then(Json::as_str);
            let _ = write!(out, " {}", gist(message.unwrap_or_default()));
        }
        Class::ToolError => {
            let text = json.and_then(|json| json.pointer("/result/content/0/text")).and_then(Json::as_str);
            let _ = write!(out, " {}", gist(text.unwrap_or_default()));
        }
        _ => {}
    }
    if let Some(result) = json.and_then(|json| json.get("result")) {
        let mut paths = BTreeSet::new();
        shape(result, "", 0, &mut paths);
        for path in paths {
            let _ = write!(out, " {path}");
        }
    }
    out
}

/// What a sentence of a server says, without the values in it.
pub(super) fn gist(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => continue,
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None => {}
        }
        let c = if c.is_ascii_digit() || !c.is_ascii() { '#' } else { c };
        if c.is_control() {
            break;
        }
        if !(c == '#' && out.ends_with('#')) {
            out.push(c);
        }
        if out.len() >= LONGEST {
            break;
        }
    }
    out
}

/// Paths and types of a value; the elements of a list count as one.
fn shape(json: &Json, path: &str, depth: usize, out: &mut BTreeSet<String>) {
    const DEEPEST: usize = 4;
    const MOST_PATHS: usize = 40;
    if depth > DEEPEST || out.len() >= MOST_PATHS {
        return;
    }
    match &json.kind {
        JsonKind::Object(members) => {
            for member in members.iter().take(MOST_PATHS) {
                shape(&member.value, &format!("{path}/{}", member.name), depth + 1, out);
            }
        }
        JsonKind::Array(items) => {
            if items.is_empty() {
                out.insert(format!("{path}[]"));
            }
            for item in items.iter().take(20) {
                shape(item, &format!("{path}*"), depth + 1, out);
            }
        }
        _ => {
            let kind = json.as_str().filter(|_| path.ends_with("/type") || path.ends_with("/resultType"));
            out.insert(format!("{path}:{}", kind.unwrap_or_else(|| json.type_name())));
        }
    }
}

/// An input that is kept, and why.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) input: Arc<Input>,
    /// The states that it reached.
    pub(super) states: Vec<usize>,
    /// How often it was chosen.
    pub(super) chosen: u64,
}

/// What was reached so far in one era over one transport.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    names: HashMap<String, usize>,
    hits: Vec<u64>,
    of_method: BTreeMap<String, usize>,
    pairs: BTreeSet<(usize, usize)>,
    kept: Vec<Kept>,
    /// Sums of the weights of what was kept when they were last computed.
    sums: Vec<u64>,
    /// Choices since then.
    since: u32,
}

impl Corpus {
    /// Takes in what an input reached; whether it is kept.
    pub(super) fn note(&mut self, era: Era, input: &Input, played: &Played) -> bool {
        let mut reached = Vec::new();
        let mut new = false;
        for outcome in played.outcomes.iter().filter(|outcome| outcome.sent.is_some()) {
            let (state, fresh) = self.state(&outcome.method, state_of(era, outcome));
            new |= fresh;
            reached.extend(state);
        }
        for told in &played.told {
            let (state, fresh) = self.state("told", format!("{era} told {told}"));
            new |= fresh;
            reached.extend(state);
        }
        for pair in reached.windows(2) {
            if let [one, two] = pair
                && self.pairs.len() < MOST_PAIRS
            {
                new |= self.pairs.insert((*one, *two));
            }
        }
        for state in &reached {
            if let Some(hits) = self.hits.get_mut(*state) {
                *hits += 1;
            }
        }
        if new {
            self.keep(input.clone(), reached);
        }
        new
    }

    pub(super) fn keep(&mut self, input: Input, states: Vec<usize>) {
        if self.kept.len() >= MOST_KEPT {
            let commonest = |kept: &Kept| kept.states.iter().filter_map(|state| self.hits.get(*state)).min().copied();
            let worst = self.kept.iter().enumerate().max_by_key(|(_, kept)| commonest(kept)).map(|(index, _)| index);
            if let Some(worst) = worst {
                self.kept.swap_remove(worst);
            }
        }
        self.kept.push(Kept { input: Arc::new(input), states, chosen: 0 });
    }

    /// One of those that are kept: the rarer its rarest state, the less it was chosen and the shorter it is, the likelier.
    pub(super) fn choose(&mut self, dice: &mut Dice) -> Option<Arc<Input>> {
        // Weighing thousands for each input would be felt.
        const ROUND: u32 = 16;
        if self.since == 0 || self.sums.len() < self.kept.len().min(ROUND as usize) {
            self.weigh();
        }
        self.since = (self.since + 1) % ROUND;
        let total = self.sums.last().copied().unwrap_or_default();
        let at = dice.number() % total.max(1);
        let index = self.sums.partition_point(|sum| *sum <= at);
        let kept = self.kept.get_mut(index)?;
        kept.chosen += 1;
        Some(kept.input.clone())
    }

    fn weigh(&mut self) {
        const UNIT: u64 = 1 << 20;
        let mut sum = 0;
        self.sums.clear();
        for kept in &self.kept {
            let rarest = kept.states.iter().filter_map(|state| self.hits.get(*state)).min().copied().unwrap_or(1);
            let length = kept.input.steps.len() as u64 / 4 + 1;
            sum += UNIT / (rarest.max(1) + kept.chosen + 1) / length + 1;
            self.sums.push(sum);
        }
    }

    /// Any of those that are kept.
    pub(super) fn any(&self, dice: &mut Dice) -> Option<Arc<Input>> {
        dice.pick(&self.kept).map(|kept| kept.input.clone())
    }

    pub(super) fn states(&self) -> usize {
        self.names.len()
    }

    pub(super) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The states by name, with how often each was reached.
    pub(super) fn coverage(&self) -> BTreeMap<&str, u64> {
        let hits = |state: usize| self.hits.get(state).copied().unwrap_or_default();
        // The order of the map is the names', not the hash's.
        self.names.iter().map(|(name, state)| (name.as_str(), hits(*state))).collect()
    }

    fn state(&mut self, method: &str, name: String) -> (Option<usize>, bool) {
        if let Some(state) = self.names.get(&name) {
            return (Some(*state), false);
        }
        let count = self.of_method.entry(method.to_owned()).or_default();
        if *count >= MOST_OF_A_METHOD {
            return (None, false);
        }
        *count += 1;
        let state = self.hits.len();
        self.hits.push(0);
        self.names.insert(name, state);
        (Some(state), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gist_of_a_sentence_holds_no_values() {
        assert_eq!(gist("Unknown tool: \"frob 17\" at 12:30"), "Unknown tool: \"\" at #:#");
        assert_eq!(gist("line one\nline two"), "line one");
        assert_eq!(gist("größe"), "gr#e");
    }

    #[test]
    fn elements_of_a_list_count_as_one() {
        let json =
            Json::parse(br#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"n":[]}"#).unwrap();
        let mut paths = BTreeSet::new();
        shape(&json, "", 0, &mut paths);
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["/content*/text:string", "/content*/type:text", "/n[]"]);
    }
}

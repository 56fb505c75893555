//! What varies from run to run is masked before anything is kept or compared: [`Rules`], an ordered list to which is only
//! added at the end.
//!
//! The rules are applied to what is asked now and, once more, to what was kept. So a rule that is added makes no recorded
//! answer differ, and one that is taken away shows all that it hid. Each rule is applied until it and those before it
//! change nothing more: that makes the second time harmless, whatever the rules do to each other's words.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use globset::GlobMatcher;
use regex::Regex;

use super::{
    doc::leaves,
    masking::{mask_whole, masked, words},
    view::{Kept, View},
};
use crate::wire::{Json, JsonKind};

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The word that stands in the place of what is masked.
    pub word: String,
    /// Only in answers with such names.
    pub(super) answers: Option<GlobMatcher>,
    /// Whether it looks into definitions, too: what they say is what was agreed to, and seldom varies.
    pub(super) definitions: bool,
    pub(super) what: Target,
}

#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Parts of texts.
    Text(Regex),
    /// Values of members with such a name, if they look like it.
    Member { names: Regex, value: Look },
    /// Whole values by JSON Pointer; `*` is any member or entry.
    Place(Vec<String>),
    /// The order of the entries of a list.
    Order(Vec<String>),
    /// The whole answer: it is not asked for.
    Answer,
}

/// What the value of a member has to look like.
#[derive(Clone, Debug)]
pub(super) enum Look {
    Any,
    /// Seconds, milli-, micro- or nanoseconds since 1970, in this century; or a date.
    Time,
    Number,
}

/// Built-in rules, then those of the user.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    list: Vec<Rule>,
    /// How many of them are built in.
    built_in: usize,
    /// What those of the user met so far, by their numbers.
    met: Arc<Mutex<Met>>,
}

#[derive(Debug, Default)]
struct Met {
    /// There was an answer for them.
    answers: BTreeSet<usize>,
    /// There was something to mask in it.
    places: BTreeSet<usize>,
}

/// A rule of the user's that had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// No answer has such a name.
    NoAnswer,
    /// Nothing in the answers is what it would mask.
    Nothing,
}

/// How much is masked, and by which word.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    pub leaves: u64,
    pub masked: u64,
    pub words: BTreeMap<String, u64>,
}

impl Rules {
    /// Those that are built in, with the paths of this process, and then these.
    pub fn with(own: Vec<Rule>) -> Self {
        let mut list = super::typed::built_in(&super::typed::Places::of_this_process());
        let built_in = list.len();
        list.extend(own);
        Self { list, built_in, met: Arc::default() }
    }

    /// These alone.
    pub fn only(list: Vec<Rule>) -> Self {
        Self { list, ..Self::default() }
    }

    /// Those of the user's rules, by their numbers, that had no effect on what they were held against until now.
    pub fn idle(&self) -> Vec<(usize, Idle)> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.list.iter().enumerate().skip(self.built_in);
        own.filter_map(|(at, rule)| {
            let answer = matches!(rule.what, Target::Answer);
            let idle = match (met.answers.contains(&at), met.places.contains(&at) || answer) {
                (true, true) => return None,
                (true, false) => Idle::Nothing,
                (false, _) => Idle::NoAnswer,
            };
            Some((at - self.built_in, idle))
        })
        .collect()
    }

    pub fn view(&self, view: &mut View) {
        view.answers.iter_mut().for_each(|kept| self.answer(kept));
        view.answers.retain(|kept| !self.leaves_out(&kept.name));
    }

    /// Whether an answer is not to be asked for.
    pub fn leaves_out(&self, name: &str) -> bool {
        let found = self.list.iter().position(|rule| matches!(rule.what, Target::Answer) && rule.is_for(name));
        if let Some(at) = found {
            self.met.lock().unwrap_or_else(PoisonError::into_inner).answers.insert(at);
        }
        found.is_some()
    }

    pub fn answer(&self, kept: &mut Kept) {
        let definition = kept.is_definition();
        // What holds for a definition holds for it when it is asked for again.
        let first = kept.repeats().map(str::to_owned);
        let name = kept.name.clone();
        let named = |rule: &Rule| rule.is_for(&name) || first.as_ref().is_some_and(|first| rule.is_for(first));
        self.note(kept, named);
        for last in 0..self.list.len() {
            let apply =
                |rule: &Rule, answer: &mut Json| (rule.definitions || !definition) && named(rule) && rule.apply(answer);
            let Some(rule) = self.list.get(last) else { break };
            if !apply(rule, &mut kept.answer) {
                continue;
            }
            let upto = self.list.get(..=last).unwrap_or_default();
            while upto.iter().fold(false, |changed, rule| changed | apply(rule, &mut kept.answer)) {}
        }
        self.note(kept, named);
    }

    /// Notes what the user's rules find in an answer: before it is masked, and then, as a rule may need what another one did
    /// and what was kept is masked already.
    fn note(&self, kept: &mut Kept, named: impl Fn(&Rule) -> bool) {
        for (at, rule) in self.list.iter().enumerate().skip(self.built_in).filter(|(_, rule)| named(rule)) {
            let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            met.answers.insert(at);
            if !met.places.contains(&at) && rule.finds(&mut kept.answer) {
                met.places.insert(at);
            }
        }
    }
}

impl Rule {
    fn is_for(&self, name: &str) -> bool {
        self.answers.as_ref().is_none_or(|glob| glob.is_match(name))
    }

    /// Whether it changed anything.
    fn apply(&self, answer: &mut Json) -> bool {
        match &self.what {
            Target::Answer => false,
            Target::Text(regex) => texts(answer, &mut |text| masked(text, regex, &self.word)),
            Target::Member { names, value } => self.named(answer, names, value),
            Target::Place(tokens) => each(answer, tokens, &mut |json| mask_whole(json, &self.word)),
            Target::Order(tokens) => each(answer, tokens, &mut |json| {
                let JsonKind::Array(items) = &mut json.kind else { return false };
                let sorted = items.is_sorted_by_key(Json::to_string);
                items.sort_by_cached_key(Json::to_string);
                !sorted
            }),
        }
    }

    /// Whether there is something that it masks, or has masked.
    fn finds(&self, answer: &mut Json) -> bool {
        let mut found = false;
        match &self.what {
            Target::Answer | Target::Member { .. } => {}
            Target::Text(regex) => {
                texts(answer, &mut |text| {
                    found |= masked(text, regex, &self.word).is_some() || words(text).any(|word| word == self.word);
                    None
                });
            }
            Target::Place(tokens) => {
                each(answer, tokens, &mut |_| {
                    found = true;
                    false
                });
            }
            Target::Order(tokens) => {
                each(answer, tokens, &mut |json| {
                    found |= matches!(json.kind, JsonKind::Array(_));
                    false
                });
            }
        }
        found
    }

    fn named(&self, json: &mut Json, names: &Regex, look: &Look) -> bool {
        match &mut json.kind {
            JsonKind::Array(items) => {
                items.iter_mut().fold(false, |changed, item| changed | self.named(item, names, look))
            }
            JsonKind::Object(members) => members.iter_mut().fold(false, |changed, member| {
                let mine = names.is_match(&member.name) && look.fits(&member.value);
                let masked = match mine {
                    true => mask_whole(&mut member.value, &self.word),
                    false => self.named(&mut member.value, names, look),
                };
                changed | masked
            }),
            _ => false,
        }
    }
}

impl Look {
    fn fits(&self, json: &Json) -> bool {
        match (self, &json.kind) {
            // What is masked once is masked.
            (_, JsonKind::String(text)) if words(text).next().is_some() => false,
            (_, JsonKind::Array(_) | JsonKind::Object(_) | JsonKind::Null | JsonKind::Bool(_)) => false,
            (Self::Any, _) => true,
            (Self::Number, kind) => matches!(kind, JsonKind::Number(_)),
            (Self::Time, JsonKind::Number(number)) => {
                const YEAR_2001: f64 = 1e9;
                const YEAR_2100: f64 = 4.1e9;
                let value = number.as_f64();
                [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (YEAR_2001 * unit..YEAR_2100 * unit).contains(&value))
            }
            (Self::Time, JsonKind::String(text)) => {
                let digits = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
                digits.eq("0000-00-00".chars())
            }
        }
    }
}

/// Changes every text of a value, its names aside; tells whether any was.
fn texts(json: &mut Json, change: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    match &mut json.kind {
        JsonKind::String(text) => match change(text) {
            Some(changed) => {
                *text = changed.into();
                true
            }
            None => false,
        },
        JsonKind::Array(items) => items.iter_mut().fold(false, |changed, item| changed | texts(item, change)),
        JsonKind::Object(members) => {
            members.iter_mut().fold(false, |changed, member| changed | texts(&mut member.value, change))
        }
        _ => false,
    }
}

/// Every value at a place; `*` stands for all members or entries.
fn each(json: &mut Json, tokens: &[String], change: &mut dyn FnMut(&mut Json) -> bool) -> bool {
    let Some((token, rest)) = tokens.split_first() else { return change(json) };
    let mut changed = false;
    match &mut json.kind {
        JsonKind::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if token == "*" || *token == index.to_string() {
                    changed |= each(item, rest, change);
                }
            }
        }
        JsonKind::Object(members) => {
            for member in members.iter_mut().filter(|member| token == "*" || **token == *member.name) {
                changed |= each(&mut member.value, rest, change);
            }
        }
        _ => {}
    }
    changed
}

impl Shares {
    /// What is masked in views that the rules went over.
    pub fn of<'a>(views: impl IntoIterator<Item = &'a View>) -> Self {
        let mut out = Self::default();
        for kept in views.into_iter().flat_map(|view| &view.answers) {
            out.leaves += leaves(&kept.answer);
            out.count(&kept.answer);
        }
        out
    }

    fn count(&mut self, json: &Json) {
        match &json.kind {
            JsonKind::String(text) => {
                let mut any = false;
                for word in words(text) {
                    any = true;
                    *self.words.entry(word.to_owned()).or_default() += 1;
                }
                self.masked += u64::from(any);
            }
            JsonKind::Array(items) => items.iter().for_each(|item| self.count(item)),
            JsonKind::Object(members) => members.iter().for_each(|member| self.count(&member.value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn kept(method: &str, answer: &str) -> Kept {
        Kept {
            name: method.to_owned(),
            method: method.to_owned(),
            params: None,
            answer: Json::parse(answer.as_bytes()).unwrap(),
        }
    }

    fn text_rule(regex: &str, word: &str) -> Rule {
        let what = Target::Text(Regex::new(regex).unwrap());
        Rule { word: word.to_owned(), answers: None, definitions: true, what }
    }

    fn masked_by(rules: &Rules, answer: &str) -> String {
        let mut kept = kept("tools/call", answer);
        rules.answer(&mut kept);
        kept.answer.to_string()
    }

    #[test]
    fn places_orders_and_parts() {
        let place = |pointer: &str, order: bool| {
            let tokens = super::super::doc::tokens(pointer);
            let what = if order { Target::Order(tokens) } else { Target::Place(tokens) };
            Rules::only(vec![Rule { word: "x".to_owned(), answers: None, definitions: true, what }])
        };
        for (pointer, order, answer, is) in [
            ("/a/*/b", false, r#"{"a":[{"b":1},{"b":[2]},{"c":3}]}"#, r#"{"a":[{"b":"‹x›"},{"b":"‹x›"},{"c":3}]}"#),
            ("/a/1", false, r#"{"a":[1,2]}"#, r#"{"a":[1,"‹x›"]}"#),
            ("/*/b~1c", false, r#"{"a":{"b/c":1},"d":7}"#, r#"{"a":{"b/c":"‹x›"},"d":7}"#),
            ("/a", true, r#"{"a":[3,1,2]}"#, r#"{"a":[1,2,3]}"#),
        ] {
            assert_eq!(masked_by(&place(pointer, order), answer), is, "{pointer}");
        }
        let rules = Rules::only(vec![text_rule("build-([0-9]+)", "build"), text_rule("b", "never in a mask")]);
        assert_eq!(
            masked_by(&rules, r#"{"b":"build-7, not a ‹b›"}"#),
            r#"{"b":"‹never in a mask›uild-‹build›, not a ‹b›"}"#
        );
    }

    #[test]
    fn definitions_are_left_to_rules_that_name_them() {
        let mut rules = Rules::only(vec![Rule { definitions: false, ..text_rule("[0-9]+", "n") }]);
        let answer = r#"{"result":{"tools":[{"description":"wait 10"}]}}"#;
        let mut list = kept("tools/list", answer);
        rules.answer(&mut list);
        assert_eq!(list.answer.to_string(), answer);
        rules.list.push(text_rule("[0-9]+", "n"));
        rules.answer(&mut list);
        assert!(list.answer.to_string().contains("wait ‹n›"));
        // A rule for the first list is one for those that follow.
        let glob = globset::Glob::new("tools/list").unwrap().compile_matcher();
        let rules = Rules::only(vec![Rule { answers: Some(glob), ..text_rule("[0-9]+", "n") }]);
        let mut again = Kept { name: "tools/list, asked again".to_owned(), ..kept("tools/list", answer) };
        rules.answer(&mut again);
        assert!(again.answer.to_string().contains("wait ‹n›"));
    }

    #[test]
    fn rules_without_effect_are_known() {
        let glob = |glob: &str| Some(globset::Glob::new(glob).unwrap().compile_matcher());
        let place = |pointer: &str| Rule {
            word: "x".to_owned(),
            answers: None,
            definitions: true,
            what: Target::Place(super::super::doc::tokens(pointer)),
        };
        let leave_out = |name: &str| Rule { answers: glob(name), what: Target::Answer, ..place("") };
        let rules = Rules::with(vec![
            place("/result/a"),
            place("/result/b"),
            text_rule("build-[0-9]+", "build"),
            text_rule("never", "never"),
            Rule { answers: glob("other *"), ..place("/result/a") },
            leave_out("left *"),
            leave_out("nobody *"),
        ]);
        assert!(rules.leaves_out("left out"));
        let mut kept = kept("tools/call", r#"{"result":{"a":"build-7"}}"#);
        rules.answer(&mut kept);
        let idle = [(1, Idle::Nothing), (3, Idle::Nothing), (4, Idle::NoAnswer), (6, Idle::NoAnswer)];
        assert_eq!(rules.idle(), idle);
        // What was kept is masked already.
        let again = Rules::with(vec![place("/result/a"), text_rule("build-[0-9]+", "build"), place("/result/b")]);
        let mut stored = super::tests::kept("tools/call", r#"{"result":{"a":"‹x›","c":"‹build›"}}"#);
        again.answer(&mut stored);
        assert_eq!(again.idle(), [(2, Idle::Nothing)]);
    }

    proptest! {
        /// A second time changes nothing, and a rule that is added makes no answer differ that was kept before.
        #[test]
        fn what_is_masked_stays_and_rules_can_be_added(
            text in "[abc01 ‹›-]{0,24}",
            regexes in prop::collection::vec(
                prop::sample::select(vec![r"\b[a-b]", r"[0-9]+", r"^a", r"c$", r"a(b)", r"\b1", r"[^ ]+c", r"(?:b|-)0"]),
                1..5,
            ),
            at in 0_usize..5,
        ) {
            let rules: Vec<Rule> =
                regexes.iter().enumerate().map(|(at, regex)| text_rule(regex, &format!("w{at}"))).collect();
            let answer = super::super::doc::object([("a".to_owned(), super::super::doc::text(text))]).to_string();
            let fewer = Rules::only(rules.iter().take(at).cloned().collect());
            let all = Rules::only(rules);
            let once = masked_by(&all, &answer);
            prop_assert_eq!(masked_by(&all, &once), once.clone());
            prop_assert_eq!(masked_by(&all, &masked_by(&fewer, &answer)), once);
        }
    }
}

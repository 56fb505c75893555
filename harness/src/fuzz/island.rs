//! What one worker reached in one place, and what it plays there next.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    dice::Dice,
    input::{Act, Input},
    mutate::Workshop,
    oracle,
    place::Place,
    states::Corpus,
};

/// What one worker reached in one place.
pub(super) struct Island {
    pub(super) place: Arc<Place>,
    pub(super) corpus: Corpus,
    pub(super) workshop: Workshop,
    /// Not played yet: those that hold nothing but messages, and the others.
    pub(super) tame: VecDeque<Input>,
    pub(super) wild: VecDeque<Input>,
    /// What is gone through beside what chance makes, parted alike.
    pub(super) sweep_tame: VecDeque<Input>,
    pub(super) sweep_wild: VecDeque<Input>,
    /// Kept inputs whose use of memory was not looked at.
    pub(super) to_weigh: VecDeque<Arc<Input>>,
    pub(super) weighed_sets: BTreeSet<BTreeSet<String>>,
    /// Seconds spent on that.
    pub(super) weighed: Duration,
    pub(super) kept: usize,
    pub(super) exits_badly: bool,
}

impl Island {
    /// The next input: what there was from the beginning, then what is made of it.
    pub(super) fn next(&mut self, tame: bool, dice: &mut Dice) -> Input {
        let seed = if tame { self.tame.pop_front() } else { self.wild.pop_front().or_else(|| self.tame.pop_front()) };
        if let Some(seed) = seed {
            return seed;
        }
        if dice.below(2) == 0 {
            let swept = match tame {
                true => self.sweep_tame.pop_front(),
                false => self.sweep_wild.pop_front().or_else(|| self.sweep_tame.pop_front()),
            };
            if let Some(swept) = swept {
                return swept;
            }
        }
        let old = if dice.once_in(12) { None } else { self.corpus.choose(dice) };
        let other = self.corpus.any(dice);
        let old = old.map(|input| Input::clone(&input)).unwrap_or_else(|| self.workshop.fresh(dice));
        let mut input = self.workshop.mutate(&old, other.as_deref(), tame, dice);
        if tame && !is_tame(&input) {
            input = input.only(|index| input.steps.get(index).is_some_and(|step| is_tame_step(&step.act)));
            if input.steps.is_empty() {
                input = self.workshop.fresh(dice);
            }
        }
        input
    }

    /// One input of each set of operations is weighed, those that leave something behind first.
    pub(super) fn weigh_later(&mut self, input: &Arc<Input>) {
        const MOST: usize = 400;
        let named = |act: &Act| {
            let message = match act {
                Act::Request(message) => Some(message),
                _ => None,
            };
            let name = message.and_then(|message| message.params.as_ref()?.get("name")?.as_str());
            format!("{} {}", oracle::name_of(act), name.unwrap_or_default())
        };
        let names: BTreeSet<String> = input.steps.iter().map(|step| named(&step.act)).collect();
        if names.len() > 3 || self.to_weigh.len() >= MOST || !self.weighed_sets.insert(names) {
            return;
        }
        let leaves = |act: &Act| match act {
            Act::Cancel(_) | Act::CloseStream(_) => true,
            Act::Request(message) => message.method.contains("subscri"),
            _ => false,
        };
        if input.steps.iter().any(|step| leaves(&step.act)) {
            self.to_weigh.push_front(input.clone());
        } else {
            self.to_weigh.push_back(input.clone());
        }
    }

    pub(super) fn next_to_weigh(&mut self) -> Option<Arc<Input>> {
        self.to_weigh.pop_front()
    }

    pub(super) fn weighed(&mut self) -> &mut Duration {
        &mut self.weighed
    }
}

pub(super) fn is_tame(input: &Input) -> bool {
    input.steps.iter().all(|step| is_tame_step(&step.act))
}

/// Nothing but messages whose form is sound enough for everything that comes back to be attributed.
fn is_tame_step(act: &Act) -> bool {
    match act {
        Act::Request(message) => !message.wrong.iter().any(|pointer| pointer.is_empty() || pointer == "/id"),
        Act::Retry(_) | Act::Cancel(_) | Act::CloseStream(_) => true,
        Act::Notify(message) => message.wrong.iter().all(|pointer| pointer.starts_with("/params/")),
        Act::Line(_) | Act::Raw(_) | Act::Http(_) | Act::Drop => false,
    }
}

//! Changes of the sequence of an input: steps repeated, left out, swapped, and ids that are used again.

use super::{
    dice::Dice,
    input::{Act, Input, Message, Step},
};

pub(super) fn one<'a>(steps: &'a mut [Step], dice: &mut Dice) -> Option<&'a mut Step> {
    let index = dice.below(steps.len());
    steps.get_mut(index)
}

pub(super) fn requests(input: &Input) -> Vec<usize> {
    let requests =
        input.steps.iter().enumerate().filter(|(_, step)| matches!(step.act, Act::Request(_) | Act::Retry(_)));
    requests.map(|(index, _)| index).collect()
}

pub(super) fn a_message<'a>(input: &'a mut Input, dice: &mut Dice) -> Option<&'a mut Message> {
    let places: Vec<usize> =
        input.steps.iter().enumerate().filter(|(_, step)| step.message().is_some()).map(|(index, _)| index).collect();
    let at = *dice.pick(&places)?;
    input.steps.get_mut(at)?.message_mut()
}

/// Puts a step at a place; what refers to later steps keeps referring to them. The step itself refers by the old numbers.
pub(super) fn insert_at(input: &mut Input, at: usize, step: Step) -> usize {
    let at = at.min(input.steps.len());
    let moved = |of: usize| Some(if of >= at { of + 1 } else { of });
    let rest: Vec<Step> = input.steps.split_off(at);
    input.steps.push(step);
    input.steps.extend(rest.into_iter().filter_map(|step| step.renumbered(&moved)));
    at
}

pub(super) fn repeat(input: &mut Input, dice: &mut Dice) {
    const COUNTS: [usize; 6] = [1, 1, 2, 3, 8, 20];
    let at = dice.below(input.steps.len());
    let Some(step) = input.steps.get(at).cloned() else { return };
    let wait = dice.below(2) == 0;
    for _ in 0..*dice.pick(&COUNTS).unwrap_or(&1) {
        insert_at(input, at + 1, Step { wait, ..step.clone() });
    }
}

pub(super) fn remove(input: &mut Input, dice: &mut Dice) {
    if input.steps.len() > 1 {
        let at = dice.below(input.steps.len());
        *input = input.only(|index| index != at);
    }
}

pub(super) fn swap(input: &mut Input, dice: &mut Dice) {
    let (one, two) = (dice.below(input.steps.len()), dice.below(input.steps.len()));
    if one.max(two) < input.steps.len() {
        input.steps.swap(one, two);
    }
    *input = input.mended();
}

pub(super) fn splice(input: &mut Input, other: Option<&Input>, dice: &mut Dice) {
    let Some(other) = other.filter(|other| other.era == input.era) else { return };
    if dice.below(2) == 0 {
        let cut = dice.below(input.steps.len());
        *input = input.only(|index| index <= cut);
    }
    input.then(other);
}

/// Ids that were chosen by hand, the same one twice as often as not.
pub(super) fn ids(input: &mut Input, tame: bool, dice: &mut Dice) {
    const SOUND: [&str; 14] = [
        "1",
        "1",
        "2",
        "0",
        "-1",
        "\"1\"",
        "\"\"",
        "\"a\"",
        "\"ÄÖ😀\"",
        "\"__proto__\"",
        "9007199254740991",
        "2147483648",
        "\"1.0\"",
        "\"null\"",
    ];
    const LENGTHS: [usize; 5] = [64, 255, 256, 1_000, 70_000];
    const ODD: [&str; 12] = [
        "null",
        "1.0",
        "1e3",
        "1.5",
        "true",
        "[]",
        "{}",
        "9007199254740993",
        "18446744073709551616",
        "1e400",
        "\"\\ud800\"",
        "-0",
    ];
    let odd = !tame && dice.once_in(3);
    let mut id = (*dice.pick(if odd { &ODD[..] } else { &SOUND[..] }).unwrap_or(&"1")).to_owned();
    if !odd && dice.below(2) == 0 {
        // 2025-11-25 lets a client use an id once in a session: one that is new.
        let number = dice.below(1 << 40);
        id = match dice.below(5) {
            0 => format!("-{number}"),
            1 => format!("\"{number}\""),
            2 => format!("\"ÄÖ😀 {number:x}\""),
            3 => format!("\"{number:x}{}\"", "a".repeat(*dice.pick(&LENGTHS).unwrap_or(&64))),
            _ => number.to_string(),
        };
    }
    let count = 1 + dice.below(2);
    for _ in 0..count {
        if let Some(message) = a_message(input, dice) {
            message.id = Some(id.clone());
            message.wrong.retain(|pointer| pointer != "/id");
            if odd {
                message.wrong.push("/id".to_owned());
            }
        }
    }
}

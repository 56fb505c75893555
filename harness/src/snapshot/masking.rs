//! Words in place of what varies: `‹time›`. The marks are such that hardly any server writes them, so that a masked text can
//! be masked again without harm.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::wire::{Json, JsonKind};

#[expect(clippy::unwrap_used, reason = "a fixed expression")]
static MASK: LazyLock<Regex> = LazyLock::new(|| Regex::new("‹([^‹›]{1,40})›").unwrap());

pub(super) fn mask(word: &str) -> String {
    format!("‹{word}›")
}

/// The words that stand in a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let found = text.contains('‹').then(|| MASK.captures_iter(text));
    found.into_iter().flatten().filter_map(|captures| Some(captures.get(1)?.as_str()))
}

/// The text with every match masked: its first group, or the whole where there is none. What is masked already stays.
/// Nothing if nothing is to be done.
pub(super) fn masked(text: &str, regex: &Regex, word: &str) -> Option<String> {
    let known: Vec<Range<usize>> = match text.contains('‹') {
        true => MASK.find_iter(text).map(|found| found.range()).collect(),
        false => Vec::new(),
    };
    let mut out = String::new();
    let mut done = 0;
    for captures in regex.captures_iter(text) {
        let Some(found) = captures.get(1).or_else(|| captures.get(0)) else { continue };
        let overlaps = known.iter().any(|known| known.start < found.end() && found.start() < known.end);
        if found.is_empty() || overlaps || found.start() < done {
            continue;
        }
        out.push_str(text.get(done..found.start()).unwrap_or_default());
        out.push_str(&mask(word));
        done = found.end();
    }
    if done == 0 {
        return None;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Some(out)
}

/// Masks a whole value; tells whether it was not masked so before.
pub(super) fn mask_whole(json: &mut Json, word: &str) -> bool {
    let mask = mask(word);
    if json.as_str() == Some(&mask) {
        return false;
    }
    json.kind = JsonKind::String(mask.into());
    true
}

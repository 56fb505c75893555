//! `--shard K/N`: the same division on every machine, so that a CI matrix or a job array can share a run.

use std::str::FromStr;

use mcp_conform_cases::ast::Case;
use mcp_conform_reports::model::{Shard, ShardKind};

use super::error::UsageError;

/// The K-th of N parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    number: u32,
    of: u32,
}

impl Part {
    /// Whether the item at this place of a sorted list belongs to it: by turns, so that the parts are of like size.
    pub(crate) fn has(self, at: usize) -> bool {
        at % self.of as usize == self.number as usize - 1
    }

    /// Of the cases that were chosen, by their ids.
    pub(crate) fn of_cases<'a>(self, cases: impl Iterator<Item = &'a Case>) -> Vec<&'a str> {
        let mut ids: Vec<&str> = cases.map(|case| case.id.node.as_str()).collect();
        ids.sort_unstable();
        ids.into_iter().enumerate().filter(|(at, _)| self.has(*at)).map(|(_, id)| id).collect()
    }

    pub(crate) fn shard(self, kind: ShardKind, total: usize) -> Shard {
        Shard { kind, part: self.number, of: self.of, total: total as u64 }
    }
}

impl FromStr for Part {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        let bad = || UsageError::flag("shard", text, "is no part", "write K/N with K from 1 to N, such as 2/4");
        let (number, of) = text.split_once('/').ok_or_else(bad)?;
        let (number, of) = (number.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
        if number == 0 || number > of || of > 100_000 { Err(bad()) } else { Ok(Self { number, of }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_all_and_none_twice() {
        for of in 1..7 {
            for items in 0..20 {
                let parts = (1..=of).map(|number| Part { number, of });
                for at in 0..items {
                    assert_eq!(parts.clone().filter(|part| part.has(at)).count(), 1);
                }
            }
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        assert_eq!("2/4".parse::<Part>().unwrap(), Part { number: 2, of: 4 });
        for text in ["", "1", "0/2", "3/2", "1/0", "-1/2", "a/b", "1/2/3", "1 / 2", "1/999999999"] {
            let error = text.parse::<Part>().unwrap_err().to_string();
            assert!(error.contains("write K/N"), "{text}: {error}");
        }
    }
}

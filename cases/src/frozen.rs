//! Frozen requirement sets: what was judged at a release, so that yesterday's green run stays green when the suite grows.
//!
//! A [`FrozenSet`] is one revision at one release: each requirement with the grade it had, and the checks that judged it.
//! `cargo run -p mcp-conform --example freeze -- RELEASE` writes them; a file that was released is never written again.
//! What later leaves the suite is listed with its reason in `frozen/withdrawn.tsv`.

use std::{collections::BTreeMap, sync::OnceLock};

use mcp_conform_schemas::Revision;

use crate::{Grade, catalogue::Catalogue};

include!(concat!(env!("OUT_DIR"), "/frozen.rs"));

const WITHDRAWN: &str = include_str!("../frozen/withdrawn.tsv");

/// The requirements of one revision that were judged at one release.
#[derive(Debug)]
pub struct FrozenSet {
    /// `REVISION@RELEASE`.
    pub name: &'static str,
    pub revision: Revision,
    pub release: &'static str,
    rows: BTreeMap<&'static str, FrozenRow>,
}

#[derive(Debug)]
pub struct FrozenRow {
    pub grade: Grade,
    /// The cases and rules that judged it.
    pub checks: Vec<&'static str>,
}

impl FrozenSet {
    /// What the set has of a requirement of today, which may have taken the place of one that it has.
    pub fn row(&self, requirement: &str) -> Option<&FrozenRow> {
        self.rows.get(requirement).or_else(|| {
            let row = Catalogue::get().row(requirement, self.revision)?;
            row.also.iter().find_map(|also| self.rows.get(also))
        })
    }

    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &FrozenRow)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn parse(name: &'static str, text: &'static str) -> Result<Self, String> {
        let bad = |what: &str| format!("{name}: {what}");
        let (revision, release) = name.split_once('@').ok_or_else(|| bad("is no REVISION@RELEASE"))?;
        let revision = revision.parse().map_err(|_| bad("is of no published revision"))?;
        let mut rows = BTreeMap::new();
        for line in text.lines().skip(1) {
            let mut cells = line.split('\t');
            let (Some(id), Some(grade), Some(checks), None) = (cells.next(), cells.next(), cells.next(), cells.next())
            else {
                return Err(bad("a line has not three cells"));
            };
            let grade = Grade::parse(grade).ok_or_else(|| bad("a grade is none"))?;
            rows.insert(id, FrozenRow { grade, checks: checks.split(' ').collect() });
        }
        Ok(Self { name, revision, release, rows })
    }
}

/// All sets, by name.
pub fn frozen_sets() -> &'static [FrozenSet] {
    static SETS: OnceLock<Vec<FrozenSet>> = OnceLock::new();
    SETS.get_or_init(|| {
        let sets: Result<Vec<FrozenSet>, String> =
            FROZEN.iter().map(|(name, text)| FrozenSet::parse(name, text)).collect();
        match sets {
            Ok(sets) => sets,
            // The files are part of the binary and a test reads them, so this cannot be met by a user.
            Err(error) => unreachable!("an embedded requirement set is broken: {error}"),
        }
    })
}

/// What left the suite after it was frozen: `requirement` or `check`, its id, and why.
pub fn withdrawn() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    WITHDRAWN.lines().skip(1).filter_map(|line| {
        let mut cells = line.split('\t');
        Some((cells.next()?, cells.next()?, cells.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_was_frozen_is_there_still_or_was_withdrawn_with_a_reason() {
        assert!(frozen_sets().len() >= 2);
        for (kind, id, why) in withdrawn() {
            assert!(["requirement", "check"].contains(&kind) && !why.trim().is_empty(), "{kind} {id}: no reason");
        }
        let gone = |id: &str| withdrawn().any(|(kind, known, _)| kind == "requirement" && known == id);
        for set in frozen_sets() {
            assert!(!set.is_empty(), "{} is empty", set.name);
            for (id, row) in set.rows() {
                let known = Catalogue::get().resolve(id, set.revision).is_some();
                assert!(known || gone(id), "{id} of {} is no requirement any more: list it as withdrawn", set.name);
                assert!(!row.checks.is_empty(), "{id} of {} is judged by nothing", set.name);
            }
        }
    }

    #[test]
    fn what_took_the_place_of_a_frozen_requirement_is_in_the_set() {
        let row = Catalogue::get().rows().iter().find(|row| !row.also.is_empty()).expect("a row with another id");
        let text = format!("requirement\tgrade\tchecks\n{}\twarn\ta b\n", row.also[0]);
        let name = format!("{}@0.1", row.revision);
        let set = FrozenSet::parse(name.leak(), text.leak()).expect("a set");
        let frozen = set.row(row.id).expect("a row");
        assert_eq!((frozen.grade, frozen.checks.as_slice()), (Grade::Warn, &["a", "b"][..]));
        assert!(set.row("no-such-requirement").is_none());
        assert!(FrozenSet::parse("2026-07-28", "").is_err());
        assert!(FrozenSet::parse("2026-07-28@1", "head\nx\tfail\n").is_err());
        assert!(FrozenSet::parse("2026-07-28@1", "head\nx\tworse\tc\n").is_err());
    }
}

//! The table of all faults: [`FaultInfo`] is a row, [`faults`] gives them all, and the macro writes the rows of an area
//! together with the constants that name them.

use std::sync::LazyLock;
use std::time::Duration;

use super::set::Fault;
use super::{asking, era, feature, form, message, stream, tasks, web};
use crate::config::{AnswerForm, Config, Eras, Tier, Transport};

/// A requirement of the catalogue: its id and its revision.
pub type Requirement = (&'static str, &'static str);

/// What one fault is about.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo {
    /// The fault itself.
    pub fault: Fault,
    /// Its name, which is also what the command line takes.
    pub name: &'static str,
    /// What it breaks, in one line.
    pub what: &'static str,
    /// The requirements that a judge has to find broken; none if the fault shows at the target as a whole.
    pub breaks: &'static [Requirement],
    /// The smallest setting in which it shows.
    pub tier: Tier,
    /// The transports over which it shows.
    pub transports: &'static [Transport],
    /// The configuration in which it shows, if that is not the default one.
    pub personality: Option<fn(&mut Config)>,
    /// Other requirements that are broken along with it or lose their ground.
    pub collateral: &'static [Requirement],
    /// The name of its constant in [`Fault`].
    pub constant: &'static str,
}

/// All faults, sorted by name.
pub fn faults() -> &'static [FaultInfo] {
    static ALL: LazyLock<Vec<FaultInfo>> = LazyLock::new(|| {
        let areas = [
            asking::ASKING,
            era::ERAS,
            feature::FEATURES,
            form::FORMS,
            message::MESSAGES,
            stream::STREAMS,
            tasks::TASKS,
            web::WEB,
        ];
        let mut all = areas.concat();
        all.sort_by_key(|info| info.name);
        all
    });
    &ALL
}

/// Every request is answered by an event stream.
pub(super) const SSE: fn(&mut Config) = |config| config.answers = AnswerForm::Sse;

/// The same, and no stream can be taken up again.
pub(super) const SSE_ONCE: fn(&mut Config) = |config| {
    config.answers = AnswerForm::Sse;
    config.resumable = false;
};

/// Only the revision without a handshake is served.
pub(super) const MODERN: fn(&mut Config) = |config| config.eras = Eras::ModernOnly;

/// An extension is advertised.
pub(super) const EXTENSION: fn(&mut Config) = |config| config.extension = true;

/// Subscriptions end by themselves.
pub(super) const LIMIT: fn(&mut Config) = |config| config.listen_limit = Some(Duration::from_millis(300));

/// Writes the rows of one area: constant, name, tier, transports, what it breaks in words and by requirement.
macro_rules! rows {
    ($table:ident: $(
        $constant:ident $name:literal $tier:ident [$($transport:ident)+]
        $what:literal
        $(legacy [$($legacy:literal)*])?
        $(modern [$($modern:literal)*])?
        $(personality $personality:ident)?
        $(collateral_legacy [$($collateral_legacy:literal)*])?
        $(collateral_modern [$($collateral_modern:literal)*])?;
    )*) => {
        #[expect(non_upper_case_globals, reason = "faults read like the variants of an enum, but each area adds its own")]
        impl Fault {
            $(#[doc = $what] pub const $constant: Fault = Fault($name);)*
        }

        pub(super) const $table: &[$crate::faults::FaultInfo] = &[$($crate::faults::FaultInfo {
            fault: Fault::$constant,
            name: $name,
            what: $what,
            breaks: &[$($(($legacy, "2025-11-25"),)*)? $($(($modern, "2026-07-28"),)*)?],
            tier: $crate::config::Tier::$tier,
            transports: &[$($crate::config::Transport::$transport),+],
            personality: $crate::faults::table::optional!($($personality)?),
            collateral: &[
                $($(($collateral_legacy, "2025-11-25"),)*)?
                $($(($collateral_modern, "2026-07-28"),)*)?
            ],
            constant: stringify!($constant),
        }),*];
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:ident) => {
        Some($value)
    };
}

pub(super) use {optional, rows};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    const CATALOGUE: &str = include_str!("../../../../cases/catalogue/requirements.tsv");

    fn catalogue() -> BTreeSet<(&'static str, &'static str)> {
        let cells = CATALOGUE.lines().skip(1).map(|line| line.split('\t'));
        cells.filter_map(|mut cells| Some((cells.next()?, cells.next()?))).collect()
    }

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the sources can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn names_are_unique_and_kebab_case() {
        let names: BTreeSet<&str> = faults().iter().map(|info| info.name).collect();
        assert_eq!(names.len(), faults().len());
        for name in names {
            let words = name.split('-').all(|word| {
                !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            });
            assert!(words, "{name}");
        }
        assert!(faults().is_sorted_by_key(|info| info.name));
    }

    #[test]
    fn every_row_says_what_it_breaks_in_terms_of_the_catalogue() {
        let catalogue = catalogue();
        assert!(catalogue.len() > 1000);
        for info in faults() {
            assert!(!info.what.is_empty() && !info.transports.is_empty(), "{}", info.name);
            // What makes a whole target unfit breaks no requirement that could be judged.
            assert!(!info.breaks.is_empty() || (info.tier == Tier::T2 && info.collateral.is_empty()), "{}", info.name);
            assert!(info.what.len() < 110 && !info.what.contains('\n'), "{}", info.name);
            for requirement in info.breaks.iter().chain(info.collateral) {
                assert!(catalogue.contains(requirement), "{}: {requirement:?}", info.name);
            }
            for requirement in info.collateral {
                assert!(!info.breaks.contains(requirement), "{}: {requirement:?} stands twice", info.name);
            }
        }
    }

    #[test]
    fn every_fault_is_asked_for_somewhere() {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        let texts: String = files.iter().map(|file| std::fs::read_to_string(file).expect("a source is text")).collect();
        for info in faults() {
            let constant = format!("Fault::{}", info.constant);
            let whole = texts
                .split(&constant)
                .skip(1)
                .filter(|rest| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric()))
                .count();
            assert!(whole > 0, "{} has no effect", info.name);
        }
    }
}

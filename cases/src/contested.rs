//! The clauses on which the text disagrees with itself, or implementers with the text.
//!
//! [`Contested::get`] looks an item up, so that a report can show both readings beside what was seen. The list is the file
//! that people read, `catalogue/contested.md`.

use std::sync::OnceLock;

use crate::catalogue::{Catalogue, ContestedRef, Row};

/// One item of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contested {
    /// The number: 32 for C32.
    pub item: u16,
    pub title: &'static str,
    /// Both readings, what is open, and what fails all the same.
    pub text: &'static str,
    /// Where it is discussed, as `repository#number`.
    pub threads: Vec<&'static str>,
}

impl Contested {
    /// Every item, by number.
    pub fn all() -> &'static [Self] {
        static ITEMS: OnceLock<Vec<Contested>> = OnceLock::new();
        ITEMS.get_or_init(|| LIST.lines().filter_map(Self::parse).collect())
    }

    pub fn get(item: u16) -> Option<&'static Self> {
        Self::all().iter().find(|contested| contested.item == item)
    }

    /// The rows that it touches.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let item = self.item;
        let touched = move |row: &&Row| row.contested.iter().any(|contested| contested.item == item);
        Catalogue::get().rows().iter().filter(touched)
    }

    /// The addresses of its threads. Bare names are repositories of the protocol's own; a bare number is of the last one named.
    pub fn links(&self) -> Vec<String> {
        const OWNER: &str = "modelcontextprotocol";
        let mut last = "spec";
        let mut out = Vec::new();
        for thread in &self.threads {
            let (repository, number) = thread.split_once('#').unwrap_or((thread, ""));
            if !repository.is_empty() {
                last = repository;
            }
            let repository = match last {
                "spec" => format!("{OWNER}/{OWNER}"),
                bare if !bare.contains('/') => format!("{OWNER}/{bare}"),
                whole => whole.to_owned(),
            };
            out.push(format!("https://github.com/{repository}/issues/{number}"));
        }
        out
    }

    /// `C32. **Title.** Text. (repository#number)` on one line; every other line is for readers of the file.
    fn parse(line: &'static str) -> Option<Self> {
        let (number, rest) = line.strip_prefix('C')?.split_once(". **")?;
        let (title, text) = rest.split_once("**")?;
        let text = text.trim();
        let threads = text
            .rsplit_once('(')
            .and_then(|(_, last)| last.strip_suffix(')'))
            .map(|last| last.split(", ").filter(|thread| thread.contains('#')).collect())
            .unwrap_or_default();
        Some(Self { item: number.parse().ok()?, title: title.trim_end_matches('.'), text, threads })
    }
}

impl ContestedRef {
    /// What the list says about it.
    pub fn contested(self) -> Option<&'static Contested> {
        Contested::get(self.item)
    }
}

const LIST: &str = include_str!("../catalogue/contested.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::suite;

    #[test]
    fn every_item_that_a_row_names_is_in_the_list() {
        for row in Catalogue::get().rows() {
            for item in &row.contested {
                assert!(item.contested().is_some(), "{} names C{}", row.id, item.item);
            }
        }
        let items: Vec<u16> = Contested::all().iter().map(|contested| contested.item).collect();
        assert!(items.is_sorted() && items.len() == 46, "{items:?}");
    }

    #[test]
    fn an_item_has_title_text_and_threads() {
        let item = Contested::get(32).expect("C32");
        assert_eq!(item.title, "Integer ids beyond 2^53-1");
        assert!(item.text.contains("Fails: no answer"));
        assert_eq!(item.threads, ["frontman-ai/frontman#1557"]);
        assert_eq!(
            Contested::get(26).map(Contested::links).unwrap_or_default(),
            [336, 293].map(|n| format!("https://github.com/modelcontextprotocol/conformance/issues/{n}"))
        );
        assert!(Contested::get(4).is_some_and(|item| item.threads == ["LIghtJUNction/OniMods#461"]));
    }

    #[test]
    fn a_reason_names_an_item_of_the_list() {
        for case in suite() {
            for (_, after) in case.source.text.match_indices("(C").map(|(at, _)| case.source.text.split_at(at + 2)) {
                let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
                assert!(digits.parse().ok().and_then(Contested::get).is_some(), "{}: C{digits}", case.id.node);
            }
        }
    }
}

//! `redactions.toml` of a snapshot folder: the user's own rules, in order, and those that were proposed and taken.

use std::path::{Path, PathBuf};

use globset::Glob;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use toml::Spanned;

use super::{
    doc::tokens,
    propose::Proposal,
    redact::{Rule, Target},
};

/// The name of the file.
pub const FILE: &str = "redactions.toml";

const HEAD: &str = "\
# What is not compared, in order. Add at the end: what was recorded stays as it is then.
#
# [[redaction]]
# answer = \"tools/call get-*\"          # a glob over the answers; all of them when left out
# pointer = \"/result/content/*/text\"   # a value of the answer, * is any member or entry; or
# regex = 'build-([0-9]+)'             # a part of a text: the first group, or all of it
# as = \"build\"                         # the word that stands in its place
# reason = \"changes with every build\"
#
# With ignore = \"order\" the order of the list at the pointer does not count, with ignore = \"answer\" the answer is not
# asked for.
";

/// The file as it stands, with its rules.
#[derive(Clone, Debug, Default)]
pub struct RuleFile {
    text: String,
    pub rules: Vec<Rule>,
    /// The line at which each of them begins.
    pub lines: Vec<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum RuleFileError {
    #[error("{}:{line}: {message}\n  {help}", .path.display())]
    Rule { path: PathBuf, line: usize, message: String, help: String },
    /// No TOML, or with a member that nobody knows.
    #[error("{}: {error}", .path.display())]
    Toml { path: PathBuf, text: String, error: Box<toml::de::Error> },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    redaction: Vec<Spanned<Raw>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    answer: Option<String>,
    pointer: Option<String>,
    regex: Option<String>,
    #[serde(rename = "as")]
    word: Option<String>,
    ignore: Option<Ignore>,
    #[expect(dead_code, reason = "for those who read the file")]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Ignore {
    Answer,
    Order,
}

impl RuleFile {
    pub fn parse(path: &Path, text: String) -> Result<Self, RuleFileError> {
        let file: File = match toml::from_str(&text) {
            Ok(file) => file,
            Err(error) => return Err(RuleFileError::Toml { path: path.to_owned(), text, error: Box::new(error) }),
        };
        let (mut rules, mut lines) = (Vec::new(), Vec::new());
        for raw in &file.redaction {
            let line = text.get(..raw.span().start).unwrap_or_default().matches('\n').count() + 1;
            let bad = |(message, help): (String, &str)| RuleFileError::Rule {
                path: path.to_owned(),
                line,
                message,
                help: help.to_owned(),
            };
            rules.push(rule(raw.get_ref()).map_err(bad)?);
            lines.push(line);
        }
        Ok(Self { text, rules, lines })
    }

    /// The file with these rules at its end.
    pub fn and(&self, taken: &[Proposal]) -> String {
        let mut text = if self.text.is_empty() { HEAD.to_owned() } else { self.text.clone() };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for proposal in taken {
            text.push_str("\n[[redaction]]\n");
            let mut line = |key: &str, value: &str| {
                text.push_str(&format!("{key} = {}\n", toml::Value::from(value)));
            };
            line("answer", &proposal.answer);
            if let Some(pointer) = &proposal.pointer {
                line("pointer", pointer);
            }
            match proposal.ignore {
                Some(what) => line("ignore", what),
                None => line("as", "varies"),
            }
            line("reason", &proposal.reason);
        }
        text
    }
}

fn rule(raw: &Raw) -> Result<Rule, (String, &'static str)> {
    /// A rule is applied to whole documents, so that its automaton has to be small.
    const MOST: usize = 1 << 20;
    let glob = |glob: &String| {
        let bad =
            |error: globset::Error| (format!("answer: {}", error.kind()), "write a glob such as \"tools/call *\"");
        Glob::new(glob).map(|glob| glob.compile_matcher()).map_err(bad)
    };
    let pointer = |pointer: &String| match pointer.starts_with('/') {
        true => Ok(tokens(pointer)),
        false => Err((format!("{pointer:?} is no JSON Pointer"), "write one such as \"/result/content/0/text\"")),
    };
    let what = match (raw.ignore, &raw.pointer, &raw.regex) {
        (None, Some(place), None) => Target::Place(pointer(place)?),
        (Some(Ignore::Order), Some(place), None) => Target::Order(pointer(place)?),
        (Some(Ignore::Order), ..) => {
            return Err(("the order of what?".to_owned(), "name the list by pointer = \"/result/…\", and no regex"));
        }
        (Some(Ignore::Answer), None, None) if raw.answer.is_some() => Target::Answer,
        (Some(Ignore::Answer), ..) => {
            let help = "name it by answer = \"…\", without pointer and regex";
            return Err(("which answer is to be left out?".to_owned(), help));
        }
        (None, None, Some(regex)) if regex.is_empty() => {
            return Err(("regex is empty and matches nothing".to_owned(), "say which part of a text varies"));
        }
        (None, None, Some(regex)) => {
            let bad = |error: regex::Error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                (format!("regex: {last}"), "the expressions are those of the Rust regex crate")
            };
            let regex: Regex = RegexBuilder::new(regex).size_limit(MOST).build().map_err(bad)?;
            Target::Text(regex)
        }
        (None, Some(_), Some(_)) => {
            return Err(("both pointer and regex are given".to_owned(), "make two rules of it"));
        }
        (None, None, None) => {
            return Err((
                "neither pointer nor regex is given".to_owned(),
                "say which value or which part of a text varies",
            ));
        }
    };
    let word = raw.word.clone().unwrap_or_else(|| "redacted".to_owned());
    let sound = !word.is_empty() && word.len() <= 40 && word.chars().all(|c| c.is_alphanumeric() || " -_".contains(c));
    if !sound {
        return Err((format!("{word:?} cannot stand in the place of a value"), "give `as` a word or two"));
    }
    Ok(Rule { word, answers: raw.answer.as_ref().map(glob).transpose()?, definitions: true, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match RuleFile::parse(Path::new("redactions.toml"), text.to_owned()) {
            Ok(file) => format!("{} rules", file.rules.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_head_shows_a_rule_that_can_be_read() {
        let shown: String = HEAD
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| line.starts_with('[') || (line.contains(" = ") && !line.contains("ignore")))
            .filter(|line| !line.starts_with("regex"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(told(&shown), "1 rules", "{shown}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_the_way_out() {
        let rule = |members: &str| told(&format!("# one\n\n[[redaction]]\n{members}\n"));
        for (members, told) in [
            ("pointer = \"result\"", "redactions.toml:3: \"result\" is no JSON Pointer\n  write one"),
            ("regex = \"(\"", "redactions.toml:3: regex: unclosed group\n"),
            ("regex = \"a\"\npointer = \"/a\"", "both pointer and regex"),
            ("answer = \"[\"\nregex = \"a\"", "redactions.toml:3: answer: "),
            ("reason = \"none\"", "neither pointer nor regex"),
            ("ignore = \"order\"", "the order of what?"),
            ("ignore = \"answer\"", "which answer"),
            ("regex = \"a\"\nas = \"‹a›\"", "cannot stand in the place"),
            ("regex = \"\"", "regex is empty"),
            ("regexp = \"a\"", "unknown field `regexp`"),
        ] {
            assert!(rule(members).contains(told), "{}", rule(members));
        }
        assert_eq!(told(""), "0 rules");
    }

    #[test]
    fn proposals_are_added_at_the_end_and_read_again() {
        let file = RuleFile::parse(Path::new("r"), "# mine\n[[redaction]]\nregex = 'a'".to_owned()).unwrap();
        let proposal = |pointer: Option<&str>, ignore| Proposal {
            answer: "tools/call \"x\"".to_owned(),
            pointer: pointer.map(str::to_owned),
            ignore,
            reason: "varies".to_owned(),
            seen: None,
            definition: false,
        };
        let text = file.and(&[proposal(Some("/result"), None), proposal(None, Some("answer"))]);
        assert!(text.starts_with("# mine\n[[redaction]]\nregex = 'a'\n"), "{text}");
        assert_eq!(RuleFile::parse(Path::new("r"), text).unwrap().rules.len(), 3);
        assert!(RuleFile::default().and(&[]).starts_with("# What is not compared"));
    }
}

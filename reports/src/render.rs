//! The seam between the result model and its formats: [`Renderer`], the table [`FORMATS`], and [`ReportSpec`], the
//! parsed form of `--report FORMAT[:PATH]`.
//!
//! Opening files and asking whether a terminal is there are the caller's: a renderer sees a report, [`Options`] and a
//! place to write.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use crate::badge::Badge;
use crate::exit::Exit;
use crate::github::GitHub;
use crate::html::Html;
use crate::json::Json;
use crate::junit::JUnit;
use crate::markdown::Markdown;
use crate::model::Report;
use crate::sarif::Sarif;
use crate::tap::Tap;
use crate::terminal::Terminal;
use crate::text;

/// One format. Implementations hold no state, so that one instance of each stands in [`FORMATS`].
pub trait Renderer: Send + Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What the format is for, as a fragment for the help text.
    fn about(&self) -> &'static str;

    fn render(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()>;
}

/// Every format that `--report` knows.
pub static FORMATS: &[&dyn Renderer] = &[&Terminal, &Json, &Html, &Markdown, &JUnit, &Sarif, &Tap, &Badge, &GitHub];

/// Finds a format by its name.
pub fn format(name: &str) -> Option<&'static dyn Renderer> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// Renders into memory, for callers that have no writer at hand.
pub fn to_string(renderer: &dyn Renderer, report: &Report, options: &Options) -> String {
    let mut out = Vec::new();
    match renderer.render(report, options, &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        // A vector takes every write; a renderer that fails on its own account tells why in place of a report.
        Err(error) => format!("{} could not be rendered: {error}", renderer.name()),
    }
}

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The verdict of each revision and what fails.
    Quiet,
    #[default]
    Normal,
    /// What passes and what does not apply, too.
    Verbose,
}

/// What a caller decides for a renderer. A format ignores what means nothing to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the page.
    pub width: usize,
    /// Colours; the caller asks the terminal and `NO_COLOR`.
    pub styled: bool,
    pub detail: Detail,
    /// How the run ends, told at the end of a report where it is known.
    pub exit: Option<Exit>,
    /// The result file that holds this report, as a word for a shell, for commands that name it.
    pub result: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 100, styled: false, detail: Detail::Normal, exit: None, result: None }
    }
}

/// A format and where it goes: `json:result.json`, or `json` for standard output.
#[derive(Clone, Copy)]
pub struct Format(&'static dyn Renderer);

impl Format {
    /// What is written when nothing was asked for.
    pub fn terminal() -> Self {
        Self(&Terminal)
    }

    pub fn renderer(self) -> &'static dyn Renderer {
        self.0
    }
}

impl FromStr for Format {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let names = || FORMATS.iter().map(|format| format.name());
        format(name).map(Self).ok_or_else(|| SpecError::UnknownFormat {
            name: text::clean(&text::bounded(name, 40)),
            near: text::nearest(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

/// One `--report` as the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportSpec {
    pub format: Format,
    /// `None` is standard output.
    pub path: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("unknown report format `{name}`{}, known are {known}", text::did_you_mean(.near))]
    UnknownFormat { name: String, near: Option<&'static str>, known: String },
    #[error("`{format}:` names no file, write `{format}:FILE`, or `{format}` for standard output")]
    NoPath { format: &'static str },
}

impl FromStr for ReportSpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, Self::Err> {
        let (name, path) = match spec.split_once(':') {
            Some((name, path)) => (name, Some(path)),
            None => (spec, None),
        };
        let format: Format = name.parse()?;
        let path = match path {
            None | Some("-") => None,
            Some("") => return Err(SpecError::NoPath { format: format.renderer().name() }),
            Some(path) => Some(PathBuf::from(path)),
        };
        Ok(Self { format, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(spec: &str) -> Result<(&'static str, Option<PathBuf>), String> {
        spec.parse::<ReportSpec>()
            .map(|spec| (spec.format.renderer().name(), spec.path))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_spec_is_a_format_and_perhaps_a_file() {
        assert_eq!(parse("json"), Ok(("json", None)));
        assert_eq!(parse("json:-"), Ok(("json", None)));
        assert_eq!(parse("markdown:a/b.md"), Ok(("markdown", Some("a/b.md".into()))));
        assert_eq!(parse(r"json:C:\out.json"), Ok(("json", Some(r"C:\out.json".into()))));
    }

    #[test]
    fn an_unknown_format_is_told_with_the_nearest() {
        let known = "known are terminal, json, html, markdown, junit, sarif, tap, badge, github";
        assert_eq!(parse("jsno:x"), Err(format!("unknown report format `jsno`, did you mean `json`?, {known}")));
        assert_eq!(parse(""), Err(format!("unknown report format ``, {known}")));
        assert_eq!(
            parse("json:"),
            Err("`json:` names no file, write `json:FILE`, or `json` for standard output".to_owned())
        );
    }

    #[test]
    fn names_are_unique() {
        for (index, a) in FORMATS.iter().enumerate() {
            assert!(FORMATS.iter().skip(index + 1).all(|b| a.name() != b.name()), "{} stands twice", a.name());
        }
    }
}

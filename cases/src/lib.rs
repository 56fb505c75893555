//! The requirement catalogue and the case language.
//!
//! [`Catalogue`] is what the protocol demands of a server, row by row; [`ast`] is what a parsed script holds, [`parse()`]
//! makes it from YAML, [`Matcher::check`](ast::Matcher::check) and [`Template::render`](ast::Template::render) evaluate its
//! values. Talking to a server, and walking the steps, is left to `mcp-conform`.

pub mod alter;
pub mod ast;
mod catalogue;
mod contested;
mod diagnostic;
mod explain;
mod frozen;
pub mod fuzzing;
mod incident;
mod load;
mod matching;
mod nearest;
mod outline;
mod parse;
mod schema;
mod template;
mod walk;

pub use catalogue::{Catalogue, ContestedRef, Grade, Level, Observable, Reach, Row};
pub use contested::Contested;
pub use diagnostic::{Diagnostic, Note, Severity};
pub use explain::{CaseText, Explanation, RequirementText, explain};
pub use frozen::{FrozenRow, FrozenSet, frozen_sets, withdrawn};
pub use incident::Incident;
pub use load::{Heading, LoadError, embedded, headings, load_dir, parse_all, suite};
pub use matching::Mismatch;
pub use nearest::nearest;
pub use parse::parse;
pub use schema::language_schema;
pub use template::{RenderError, flipped_value, sentinel};

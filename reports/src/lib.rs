//! The result model of a run and one renderer a format.
//!
//! [`model::Report`] is what a run leaves behind; [`exit::decide`] turns it into an exit code; a [`render::Renderer`]
//! turns it into text. [`render::ReportSpec`] is the parsed form of `--report FORMAT[:PATH]`. A new format is one file
//! with a type that implements [`render::Renderer`] and one row in [`render::FORMATS`].

pub mod badge;
pub mod baseline;
mod excerpt;
pub mod exit;
pub mod feature;
pub mod github;
pub mod html;
pub mod join;
pub mod json;
pub mod junit;
pub mod key;
pub mod markdown;
pub mod matrix;
pub mod merge;
pub mod model;
pub mod order;
pub mod parts;
mod plain;
pub mod render;
pub mod sarif;
pub mod support;
pub mod tap;
pub mod target;
pub mod terminal;
pub mod text;

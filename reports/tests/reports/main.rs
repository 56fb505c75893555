//! The renderers and what they share, over the reports of [`fixture`].

mod baseline;
mod exit;
mod fixture;
mod formats;
mod json;
mod markdown;
mod merge;
mod support;
mod terminal;
mod together;

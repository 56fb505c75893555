//! Values from any JSON Schema: valid ones, the smallest, those at the edges, and those that just miss.
//!
//! [`Generator`] is compiled once per schema; the functions beside it are for a single use. Every value is checked by
//! [`InstanceSchema`](crate::InstanceSchema) before it is handed out, so that a construct which the generator does not
//! understand costs values and never correctness. Same schema and same bytes, same values. What a server must do with
//! a value is the business of the cases.

mod bounds;
mod fold;
mod generator;
mod make;
mod near;
mod source;
mod text;

pub use generator::{Generator, boundary, minimal, near_miss, valid};
pub use near::{NearMiss, NearMissKind};

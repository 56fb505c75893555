//! Scripts from YAML to [`Case`](crate::ast::Case).
//!
//! [`parse()`] is the way in. The YAML becomes a tree of nodes with spans ([`node`]); [`shape`] lists which keys each kind of
//! mapping has; [`case`], [`steps`] and the modules beside them lower the tree by hand, so that every message is ours;
//! [`scope`] checks names in the order of the steps. All faults of a file are reported, not just the first.

mod bytes;
mod case;
mod change;
mod fields;
mod judging;
mod lower;
mod matcher;
pub(crate) mod node;
mod scope;
pub(crate) mod shape;
mod steps;
mod value;

pub use case::parse;

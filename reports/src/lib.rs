//! The result model and one renderer a format.

pub mod model;

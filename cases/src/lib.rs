//! The requirement catalogue and the case language.

pub mod ast;

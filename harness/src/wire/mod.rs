//! Stand-in with the agreed shape; the reader itself replaces it.

mod standin;

pub use standin::*;

//! The faults that the server can be asked to have: one row in a table of its area, and one `has` where the behaviour
//! is. [`Fault`] names one, [`Faults`] is what one server has, [`FaultInfo`] says what a fault breaks.
//!
//! To add a fault, write its row in the file of its area and ask `server.has(Fault::…)` where the server would do the
//! right thing. The tests here hold the row to the catalogue; `tests/faults/` holds one conversation with each broken
//! server and wants it to differ from the sound one, so a fault of a new kind may need a further question there.

mod asking;
mod era;
mod feature;
mod form;
mod message;
mod set;
mod stream;
mod table;
mod tasks;
mod web;

pub(crate) use set::nearest;
pub use set::{Fault, Faults, UnknownFault};
pub use table::{FaultInfo, Requirement, faults};

use table::{EXTENSION, LIMIT, MODERN, SSE, SSE_ONCE, rows as faults};

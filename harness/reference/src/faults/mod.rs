//! The faults that the server can be asked to have: one row in a table of its area, and one `has` where the behaviour
//! is. [`Fault`] names one, [`Faults`] is what one server has, [`FaultInfo`] says what a fault breaks.

mod asking;
mod era;
mod feature;
mod message;
mod set;
mod stream;
mod table;
mod web;

pub use set::{Fault, Faults, UnknownFault};
pub use table::{FaultInfo, Requirement, faults};

use table::{LIMIT, MODERN, SSE, rows as faults};

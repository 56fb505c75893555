//! How a finding is provoked again: by a command of ours, and by a shell line that needs nothing of ours.

mod choice;
mod curl;
mod line;
mod pipe;
mod shell;

pub use line::{Place, Repro, WebPlace};
pub use shell::{Variables, word};

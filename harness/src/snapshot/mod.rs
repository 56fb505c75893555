//! Response snapshots: what a server answers, kept in files, and what changed since.
//!
//! [`take`] asks a server and gives one [`View`] a revision and transport, [`Store`] keeps views in a folder, [`Rules`] mask
//! what varies, [`compare`] and [`between`] tell differences. Who is asked what under the rules on side effects is the
//! survey's to say; verdicts are made elsewhere.

mod ask;
mod between;
mod cases;
mod compare;
mod diff;
mod doc;
mod masking;
mod propose;
mod redact;
mod rule_file;
mod store;
mod take;
mod typed;
mod view;

pub use between::{Left, Pair, Sides, SidesError, between};
pub use compare::{Compared, Finding, Nature, What, compare};
pub use diff::{Change, Difference, differences, merge};
pub use doc::{leaves, pretty, pretty_text};
pub use propose::{Proposal, proposals};
pub use redact::{Idle, Rule, Rules, Shares};
pub use rule_file::{FILE as REDACTIONS, RuleFile, RuleFileError};
pub use store::{Recorded, Store, StoreError};
pub use take::{TakeError, Taken, take};
pub use view::{Kept, NotKept, View};

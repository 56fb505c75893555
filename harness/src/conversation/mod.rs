//! Conversations: handshake, envelope, ids, answers and the answering side, over either transport.

mod answer;
mod answering;
mod bench;
mod draft;
mod envelope;
mod link;
mod memory;
mod open;
mod rounds;
mod talk;

pub use answer::{Answer, AnswerKind, IdRelation, Ticket, document, header_document, related};
pub use answering::{Policy, Reaction, all_capabilities};
pub use bench::{Bench, Deadlines};
pub use draft::{Draft, NoSuchMember};
pub use envelope::{
    Alteration, Call, Envelope, META_CAPABILITIES, META_CLIENT, META_VERSION, Outgoing, client_info, header_value,
};
pub use link::{Link, LinkError};
pub use memory::{MemoryPipes, MemoryServer, in_memory};
pub use open::{Handshake, OpenError, OpenErrorKind, StdioTarget, Target, ask_for_version, connect, open, settle};
pub use rounds::{asks_for_input, responses, retried, state, unanswerable};
pub use talk::{Conversation, Opening, SendError, read_id, response_header};

//! Deep bugs of a process that serves standard input and output: [`note`] sees what comes, [`frames`] writes what goes,
//! [`unwanted`] answers what wants no answer.

use serde_json::json;

use crate::bugs::Bug;
use crate::json::{Incoming, Message, Params, Raw, RpcError, frames as sound_frames};
use crate::server::{Flights, Server, lock};
use crate::session::Session;

/// Whether an array of messages is taken for answers.
pub(crate) fn begins_with_answer(server: &Server, items: &[Incoming]) -> bool {
    server.bug(Bug::ArrayOfAnswers) && matches!(items.first(), Some(Incoming::Answer { .. }))
}

/// Sees a message before it is served.
pub(crate) fn note(server: &Server, flights: &Flights, message: &Incoming) {
    let Some(bug) = server.config.bug else { return };
    let mut notes = lock(&server.notebook);
    match (bug, message) {
        (Bug::FloatIdTurnsIds, Incoming::Request { id, .. }) => {
            notes.float_seen |= id.value().is_number() && !is_integer(id);
        }
        (Bug::AnswerLostBetween, Incoming::Notification { method, .. }) if method != "notifications/cancelled" => {
            notes.interrupted = flights.keys();
        }
        (Bug::AnswerLostBetween, Incoming::Request { .. }) => {
            let interrupted = std::mem::take(&mut notes.interrupted);
            notes.lost.extend(interrupted);
        }
        (Bug::TokenAnswersTwice, Incoming::Request { id, params, .. }) => {
            if let Some(token) = params.progress_token() {
                notes.begin(id.key(), token.key());
            }
        }
        _ => {}
    }
}

/// The lines of one message.
pub(crate) fn frames(server: &Server, message: Message) -> Vec<Vec<u8>> {
    let Some(bug) = server.config.bug else { return sound_frames(server, &message) };
    let Message::Answer { id: Some(id), outcome } = message else { return sound_frames(server, &message) };
    let key = id.key();
    let id = match is_integer(&id) && lock(&server.notebook).float_seen {
        true => Raw::from_text(json!(id.text()).to_string()),
        false => id,
    };
    let refused = outcome.is_err();
    let mut frames = sound_frames(server, &Message::Answer { id: Some(id), outcome });
    let mut notes = lock(&server.notebook);
    let again = match bug {
        Bug::RefusedIdTaken if refused => {
            notes.refused.insert(key);
            false
        }
        Bug::AnswerLostBetween if notes.lost.remove(&key) => return Vec::new(),
        Bug::TokenAnswersTwice => notes.end(&key),
        Bug::LargeAnswerTwice => frames.iter().any(|frame| frame.len() > 64 * 1024),
        _ => false,
    };
    if again {
        frames.extend(frames.clone());
    }
    frames
}

/// What is said to a notification.
pub(crate) fn unwanted(server: &Server, session: &Session, method: &str, params: &Params) -> Option<Message> {
    if method != "notifications/cancelled" {
        return None;
    }
    match server.config.bug? {
        Bug::ReasonAnswered => {
            let odd = params.get("reason").is_some_and(|reason| !reason.is_string());
            let outcome = Err(RpcError::invalid_params("reason has to be a string"));
            odd.then_some(Message::Answer { id: None, outcome })
        }
        Bug::CancelledTwice => {
            let id = params.raw("requestId")?;
            let twice = lock(&session.notebook).cancelled.contains(&id.key()) && !session.flights.has(&id);
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{}},"error":{{"code":-32603,"message":"cancelled"}}}}"#,
                id.text()
            );
            twice.then(|| Message::Noise(text.into_bytes()))
        }
        _ => None,
    }
}

fn is_integer(id: &Raw) -> bool {
    id.value().is_number() && !id.text().contains(['.', 'e', 'E'])
}

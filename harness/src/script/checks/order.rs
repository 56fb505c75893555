//! Whether a list comes in the same order every time: [`order`].

use std::collections::BTreeSet;

use mcp_conform_cases::ast::NamedCheck;
use serde_json::{Value, json};

use super::{Said, Sources, Word, list_method, said_open, tell};
use crate::{
    conversation::{Call, Conversation},
    script::player::{Player, Round, Stop, send_failed},
};

/// How often the same list has to come, how often it is asked for until it does, and how many pages it may have.
const TIMES: usize = 3;
const MOST_TIMES: usize = 12;
const MOST_PAGES: usize = 20;

pub(super) async fn order(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let (method, member, key) = list_method(round, step)?;
    let said = compare(talk, &method, member, key).await?;
    tell(player, round, step, talk, &method, vec![said]);
    Ok(())
}

async fn compare(talk: &Conversation, method: &str, member: &str, key: &str) -> Result<Said, Stop> {
    let mut first: Vec<String> = Vec::new();
    let mut same = 0;
    for _ in 0..MOST_TIMES {
        let (names, sources) = names(talk, method, member, key).await?;
        let Some(names) = names else { return Ok(said_open("order", "the list could not be had as a whole")) };
        let (one, other): (BTreeSet<&String>, BTreeSet<&String>) = (first.iter().collect(), names.iter().collect());
        if same == 0 || one != other {
            // Somebody else may have changed what is listed: the comparison begins anew.
            (first, same) = (names, 1);
            continue;
        }
        same += 1;
        if let Some((before, now)) = first.iter().zip(&names).find(|(before, now)| before != now) {
            let message =
                format!("the same entries came in another order: {now:?} stands where {before:?} stood before");
            return Ok(Said { role: "order", word: Word::Broken, message, sources });
        }
        if same == TIMES {
            break;
        }
    }
    if same < TIMES {
        return Ok(said_open("order", "what is listed changed time and again in the meantime"));
    }
    let count = first.len();
    if count < 2 {
        return Ok(said_open("order", "there are no two entries to compare"));
    }
    let message = format!("{count} entries came {TIMES} times in the same order");
    Ok(Said { role: "order", word: Word::Pass, message, sources: Sources::default() })
}

/// The names over all pages; `None` if a page was refused or the end was not reached.
async fn names(
    talk: &Conversation,
    method: &str,
    member: &str,
    key: &str,
) -> Result<(Option<Vec<String>>, Sources), Stop> {
    let mut names = Vec::new();
    let mut cursor: Option<Value> = None;
    let mut sources = Sources::default();
    for _ in 0..MOST_PAGES {
        let params = cursor.as_ref().map(|cursor| json!({ "cursor": cursor }).into());
        let call = Call { method: method.to_owned(), params, ..Call::default() };
        let answer = match talk.request(call, None).await {
            Ok((ticket, answer)) => {
                sources.sent = Some(ticket.event);
                answer
            }
            Err(error) => send_failed(error)?,
        };
        sources.received = answer.event;
        let Some(result) = answer.result() else { return Ok((None, sources)) };
        let items = result.get(member).and_then(Value::as_array).into_iter().flatten();
        names.extend(items.filter_map(|item| item.get(key).and_then(Value::as_str)).map(str::to_owned));
        match result.get("nextCursor") {
            Some(next @ Value::String(_)) => cursor = Some(next.clone()),
            _ => return Ok((Some(names), sources)),
        }
    }
    Ok((None, sources))
}

//! Whether a list comes in the same order every time ([`order`]), and whether a cursor stands for one page ([`cursors`]).

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
/// Rounds in which a cursor has to be unstable, every time.
const MOST_ROUNDS: usize = 5;

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

/// Asks for one page several times.
pub(super) async fn cursors(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let (method, member, _) = list_method(round, step)?;
    let said = stable(talk, &method, member).await?;
    tell(player, round, step, talk, &method, vec![said]);
    Ok(())
}

async fn stable(talk: &Conversation, method: &str, member: &str) -> Result<Said, Stop> {
    let mut broken = None;
    // Somebody else may change what is listed between two requests, and change it back: what is unstable by itself is so
    // every time.
    for _ in 0..MOST_ROUNDS {
        let (first, _) = page(talk, method, None).await?;
        let Some(cursor) = first.as_ref().and_then(|result| result.get("nextCursor")).cloned() else {
            return Ok(said_open("stable", "there was one page, so no cursor to use twice"));
        };
        let (second, _) = page(talk, method, Some(cursor.clone())).await?;
        let (third, sources) = page(talk, method, Some(cursor)).await?;
        let items = |result: &Option<Value>| result.as_ref().and_then(|result| result.get(member)).cloned();
        let Some(second) = items(&second) else {
            // A cursor that was used up in the round before is not served in this one.
            return Ok(broken.unwrap_or_else(|| said_open("stable", "the second page could not be had")));
        };
        if items(&third).as_ref() == Some(&second) {
            let message = "the same cursor brought the same page".to_owned();
            return Ok(Said { role: "stable", word: Word::Pass, message, sources: Sources::default() });
        }
        let what = if third.is_none() { "was not served" } else { "brought something else" };
        let message = format!("the same cursor {what} the second time, in each of {MOST_ROUNDS} rounds");
        broken = Some(Said { role: "stable", word: Word::Broken, message, sources });
    }
    Ok(broken.unwrap_or_else(|| said_open("stable", "no page was asked for")))
}

/// The result of one list request; `None` if it was refused.
async fn page(talk: &Conversation, method: &str, cursor: Option<Value>) -> Result<(Option<Value>, Sources), Stop> {
    let params = cursor.map(|cursor| json!({ "cursor": cursor }).into());
    let call = Call { method: method.to_owned(), params, ..Call::default() };
    let (sent, answer) = match talk.request(call, None).await {
        Ok((ticket, answer)) => (Some(ticket.event), answer),
        Err(error) => (None, send_failed(error)?),
    };
    Ok((answer.result(), Sources { sent, received: answer.event, ..Sources::default() }))
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
        let (result, from) = page(talk, method, cursor.take()).await?;
        sources = from;
        let Some(result) = result else { return Ok((None, sources)) };
        let items = result.get(member).and_then(Value::as_array).into_iter().flatten();
        names.extend(items.filter_map(|item| item.get(key).and_then(Value::as_str)).map(str::to_owned));
        match result.get("nextCursor") {
            Some(next @ Value::String(_)) => cursor = Some(next.clone()),
            _ => return Ok((Some(names), sources)),
        }
    }
    Ok((None, sources))
}

//! Checks that data cannot say: loops with a memory, races, spins. A script names one and binds its roles to requirements.

use std::collections::BTreeSet;

use mcp_conform_cases::ast::NamedCheck;
use mcp_conform_reports::model::Evidence;
use serde_json::{Value, json};

use super::{
    evidence::{Sources, evidence},
    player::{Player, Round, Stop, send_failed},
    verdict::{CaseVerdict, Word},
};
use crate::conversation::{Answer, Call, Conversation};

/// A named check, for `explain` and the parser.
#[derive(Clone, Copy, Debug)]
pub struct CheckInfo {
    pub name: &'static str,
    pub about: &'static str,
    pub roles: &'static [&'static str],
}

/// Every named check.
pub fn checks() -> &'static [CheckInfo] {
    &[CheckInfo {
        name: "pagination.walk",
        about: "follows every cursor of a list method to the end, up to a limit of pages",
        roles: &["ends", "page-served", "items-once", "one-scope"],
    }]
}

/// Pages that a walk follows before it gives up without a verdict.
const MOST_PAGES: usize = 60;

pub(super) async fn run(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    match step.name.node.as_str() {
        "pagination.walk" => walk(player, round, step, talk).await,
        other => Err(Stop::Script(format!("there is no check named {other}"))),
    }
}

/// What one role saw.
struct Said {
    role: &'static str,
    word: Word,
    message: String,
    sources: Sources,
}

async fn walk(player: &Player<'_>, round: &Round, step: &NamedCheck, talk: &Conversation) -> Result<(), Stop> {
    let method = step.with.iter().find(|(name, _)| name == "method").map(|(_, template)| &template.node);
    let method = match method.map(|template| round.values.value(template)).transpose()? {
        Some(Value::String(method)) => method,
        _ => return Err(Stop::Script("pagination.walk needs `with: {method: …}`".to_owned())),
    };
    let (member, key) = match method.as_str() {
        "tools/list" => ("tools", "name"),
        "prompts/list" => ("prompts", "name"),
        "resources/list" => ("resources", "uri"),
        "resources/templates/list" => ("resourceTemplates", "uriTemplate"),
        other => return Err(Stop::Script(format!("{other} is no list method"))),
    };
    for said in follow(talk, &method, member, key).await? {
        let Some((_, requirement)) = step.judges.iter().find(|(role, _)| role.node == said.role) else { continue };
        let Some(requirement) = requirement.of(player.stage.revision) else { continue };
        let evidence = match said.word {
            Word::Pass => Evidence::default(),
            _ => evidence(&talk.events(), &said.sources, None),
        };
        player.say(CaseVerdict {
            requirement: requirement.node.clone(),
            word: said.word,
            subject: if round.subject().is_empty() { method.clone() } else { round.subject() },
            message: said.message,
            evidence,
        });
    }
    Ok(())
}

async fn follow(talk: &Conversation, method: &str, member: &str, key: &str) -> Result<Vec<Said>, Stop> {
    let mut cursors: BTreeSet<String> = BTreeSet::new();
    let mut items: BTreeSet<String> = BTreeSet::new();
    let mut doubled: Option<(String, Sources)> = None;
    let mut scopes: Vec<(Value, Sources)> = Vec::new();
    let mut cursor: Option<Value> = None;
    let mut pages = 0;
    // How the walk ended: the role and word for `ends` and `page-served`.
    let (ends, served) = loop {
        if pages >= MOST_PAGES {
            let message = format!("{MOST_PAGES} pages were walked and more may follow");
            let followed = format!("{pages} cursors were accepted");
            break ((Word::NotVerified, message, Sources::default()), (Word::Pass, followed, Sources::default()));
        }
        let params = cursor.as_ref().map(|cursor| json!({ "cursor": cursor }).into());
        let call = Call { method: method.to_owned(), params, ..Call::default() };
        let (sent, answer) = match talk.request(call, None).await {
            Ok((ticket, answer)) => (Some(ticket.event), answer),
            Err(error) => (None, send_failed(error)?),
        };
        let sources =
            |pointer: &str| Sources { sent, received: answer.event, pointer: pointer.to_owned(), ..Sources::default() };
        let Some(result) = answer.result() else {
            let came = answer.describe();
            if pages == 0 {
                let message = format!("the first page was answered with {came}");
                return Ok(unwalked(&message, &answer, sent));
            }
            let message = format!("a cursor that the server gave was answered with {came}");
            let open = "the walk broke off before its end".to_owned();
            break ((Word::NotVerified, open, sources("")), (Word::Broken, message, sources("")));
        };
        pages += 1;
        for (index, item) in result.get(member).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(name) = item.get(key).and_then(Value::as_str) else { continue };
            if !items.insert(name.to_owned()) && doubled.is_none() {
                doubled = Some((name.to_owned(), sources(&format!("/result/{member}/{index}/{key}"))));
            }
        }
        if let Some(scope) = result.get("cacheScope") {
            scopes.push((scope.clone(), sources("/result/cacheScope")));
        }
        let followed = match pages {
            1 => (Word::NotVerified, "there was one page, so no cursor to follow".to_owned(), Sources::default()),
            _ => (Word::Pass, format!("{} cursors were accepted", pages - 1), Sources::default()),
        };
        match result.get("nextCursor") {
            Some(Value::String(next)) => {
                if !cursors.insert(next.clone()) {
                    let message = format!("the cursor {next:?} came a second time after {pages} pages");
                    break ((Word::Broken, message, sources("/result/nextCursor")), followed);
                }
                cursor = Some(Value::String(next.clone()));
            }
            _ => break ((Word::Pass, format!("the list ended after {pages} pages"), Sources::default()), followed),
        }
    };
    let cycled = ends.0 == Word::Broken;
    let mut out = vec![
        Said { role: "ends", word: ends.0, message: ends.1, sources: ends.2 },
        Said { role: "page-served", word: served.0, message: served.1, sources: served.2 },
    ];
    out.push(match doubled {
        // Going round in circles brings everything twice: that is the one finding.
        Some(_) if cycled => said_open("items-once", "the walk went round in circles"),
        Some((name, sources)) => Said {
            role: "items-once",
            word: Word::Broken,
            message: format!("{name:?} is listed twice over {pages} pages"),
            sources,
        },
        None if pages < 2 => said_open("items-once", "there was one page"),
        None => Said {
            role: "items-once",
            word: Word::Pass,
            message: format!("{} entries over {pages} pages, each once", items.len()),
            sources: Sources::default(),
        },
    });
    let first = scopes.first().map(|(scope, _)| scope.clone());
    let other = scopes.iter().find(|(scope, _)| Some(scope) != first.as_ref());
    out.push(match other {
        Some((scope, sources)) => Said {
            role: "one-scope",
            word: Word::Broken,
            message: format!("a page has cacheScope {scope} and the first {}", first.unwrap_or_default()),
            sources: sources.clone(),
        },
        None if scopes.len() < 2 => said_open("one-scope", "there were no two pages with a cacheScope"),
        None => Said {
            role: "one-scope",
            word: Word::Pass,
            message: format!("all {} pages have the same cacheScope", scopes.len()),
            sources: Sources::default(),
        },
    });
    Ok(out)
}

fn said_open(role: &'static str, message: &str) -> Said {
    Said { role, word: Word::NotVerified, message: message.to_owned(), sources: Sources::default() }
}

/// No page at all: nothing about pages can be said.
fn unwalked(message: &str, answer: &Answer, sent: Option<u64>) -> Vec<Said> {
    ["ends", "page-served", "items-once", "one-scope"]
        .into_iter()
        .map(|role| Said {
            role,
            word: Word::NotVerified,
            message: message.to_owned(),
            sources: Sources { sent, received: answer.event, ..Sources::default() },
        })
        .collect()
}

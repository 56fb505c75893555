//! Checks that data cannot say: loops with a memory, races, spins. A script names one and binds its roles to requirements.
//! The walk over pages is here; the others stand in modules of their own.

mod order;
mod results;
mod versions;

use std::collections::BTreeSet;

use mcp_conform_cases::ast::NamedCheck;
use mcp_conform_reports::text::plural;
use serde_json::{Value, json};

use super::{
    evidence::Sources,
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
    &[
        CheckInfo {
            name: "completion.references",
            about: "completes an argument of each listed prompt, or a variable of each listed template",
            roles: &["one-served"],
        },
        CheckInfo {
            name: "lists.order",
            about: "lists several times and compares the order of the names",
            roles: &["order"],
        },
        CheckInfo {
            name: "pagination.cursors",
            about: "asks for the second page several times with one cursor and compares what comes",
            roles: &["stable"],
        },
        CheckInfo {
            name: "pagination.walk",
            about: "follows every cursor of a list method to the end, up to a limit of pages",
            roles: &["ends", "page-served", "items-once", "unique", "one-scope"],
        },
        CheckInfo {
            name: "resources.sizes",
            about: "reads resources that state a size and counts their bytes",
            roles: &["size"],
        },
        CheckInfo {
            name: "tools.structured",
            about: "calls a tool that has an outputSchema and holds its structuredContent against it",
            roles: &["present", "conforms", "as-text"],
        },
        CheckInfo {
            name: "versions.listed",
            about: "asks for each listed version of the newer era, and compares the list with the one of -32022",
            roles: &["served", "agree"],
        },
        CheckInfo {
            name: "versions.negotiate",
            about: "shakes hands anew for each version, known and impossible, and compares the answers",
            roles: &["same", "other", "newest"],
        },
    ]
}

/// Walks until one is sound; the last one counts.
const MOST_WALKS: usize = 3;
/// Pages that a walk follows before it gives up without a verdict.
const MOST_PAGES: usize = 60;

pub(super) async fn run(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    match step.name.node.as_str() {
        "completion.references" => results::references(player, round, step, talk).await,
        "lists.order" => order::order(player, round, step, talk).await,
        "pagination.cursors" => order::cursors(player, round, step, talk).await,
        "pagination.walk" => walk(player, round, step, talk).await,
        "resources.sizes" => results::sizes(player, round, step, talk).await,
        "tools.structured" => results::structured(player, round, step, talk).await,
        "versions.listed" => versions::listed(player, round, step, talk).await,
        "versions.negotiate" => versions::negotiate(player, round, step).await,
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

/// A member of `with`.
fn given(round: &Round, step: &NamedCheck, name: &str) -> Result<Value, Stop> {
    let template = step.with.iter().find(|(known, _)| known == name).map(|(_, template)| &template.node);
    match template.map(|template| round.values.value(template)).transpose()? {
        Some(value) => Ok(value),
        None => Err(Stop::Script(format!("{} needs `with: {{{name}: …}}`", step.name.node))),
    }
}

/// A list method with the member that holds its entries and the member that names one.
fn list_method(round: &Round, step: &NamedCheck) -> Result<(String, &'static str, &'static str), Stop> {
    let method = given(round, step, "method")?;
    let (member, key) = match method.as_str().unwrap_or_default() {
        "tools/list" => ("tools", "name"),
        "prompts/list" => ("prompts", "name"),
        "resources/list" => ("resources", "uri"),
        "resources/templates/list" => ("resourceTemplates", "uriTemplate"),
        _ => return Err(Stop::Script(format!("{method} is no list method"))),
    };
    Ok((method.as_str().unwrap_or_default().to_owned(), member, key))
}

/// Makes verdicts of what the roles saw in one conversation. `subject` is what they are about outside a loop.
fn tell(player: &Player<'_>, round: &Round, step: &NamedCheck, talk: &Conversation, subject: &str, said: Vec<Said>) {
    let events = talk.events();
    let unread = |sources: &Sources| {
        let event = sources.received.and_then(|seq| events.get(usize::try_from(seq).ok()?));
        event.and_then(|event| event.message()).is_some_and(|view| view.frame.is_unread())
    };
    for mut said in said {
        if said.word.is_breach() && unread(&said.sources) {
            said.word = Word::NotVerified;
        }
        let Some((_, requirement)) = step.judges.iter().find(|(role, _)| role.node == said.role) else { continue };
        let Some(requirement) = requirement.of(player.stage.revision) else { continue };
        let evidence = player.evidence(said.word, &events, &said.sources);
        player.say(CaseVerdict {
            requirement: requirement.node.clone(),
            word: said.word,
            subject: if round.subject().is_empty() { subject.to_owned() } else { round.subject() },
            step: round.step(),
            message: said.message,
            evidence,
        });
    }
}

async fn walk(player: &Player<'_>, round: &Round, step: &NamedCheck, talk: &Conversation) -> Result<(), Stop> {
    let (method, member, key) = list_method(round, step)?;
    let mut said = follow(talk, &method, member, key).await?;
    for _ in 1..MOST_WALKS {
        if !said.iter().any(|said| said.word == Word::Broken) {
            break;
        }
        // Somebody else may have changed what is listed while it was walked over; what is broken is broken again.
        said = follow(talk, &method, member, key).await?;
    }
    tell(player, round, step, talk, &method, said);
    Ok(())
}

async fn follow(talk: &Conversation, method: &str, member: &str, key: &str) -> Result<Vec<Said>, Stop> {
    let mut cursors: BTreeSet<String> = BTreeSet::new();
    let mut items: BTreeSet<String> = BTreeSet::new();
    let mut doubled: Option<(String, Sources)> = None;
    let mut repeated: Option<(String, Sources)> = None;
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
        let mut page: BTreeSet<String> = BTreeSet::new();
        for (index, item) in result.get(member).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let Some(name) = item.get(key).and_then(Value::as_str) else { continue };
            let here = || Some((name.to_owned(), sources(&format!("/result/{member}/{index}/{key}"))));
            // Twice on one page is an entry that is not unique; on two pages it may as well be the paging.
            if !page.insert(name.to_owned()) {
                repeated = repeated.or_else(here);
            } else if items.contains(name) {
                doubled = doubled.or_else(here);
            }
        }
        items.append(&mut page);
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
            _ => {
                break (
                    (Word::Pass, format!("the list ended after {}", plural(pages as u64, "page")), Sources::default()),
                    followed,
                );
            }
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
    out.push(match repeated {
        Some((name, sources)) => {
            Said { role: "unique", word: Word::Broken, message: format!("{name:?} stands twice on one page"), sources }
        }
        None => Said {
            role: "unique",
            word: Word::Pass,
            message: format!("{} entries, none of them twice on a page", items.len()),
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
    ["ends", "page-served", "items-once", "unique", "one-scope"]
        .into_iter()
        .map(|role| Said {
            role,
            word: Word::NotVerified,
            message: message.to_owned(),
            sources: Sources { sent, received: answer.event, ..Sources::default() },
        })
        .collect()
}

//! Versions: their negotiation, asked for anew in conversations of their own ([`negotiate`]), and the lists of those that
//! are served per request ([`listed`]).

use std::collections::BTreeSet;

use mcp_conform_cases::ast::NamedCheck;
use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;

use super::{Said, Sources, Word, said_open, tell};
use crate::{
    conversation::{Alteration, Answer, Call, Conversation, Handshake, ask_for_version},
    script::player::{Player, Round, Stop, send_failed},
};

/// Dates on which nothing was published, and a text that is no date: no server has them.
const IMPOSSIBLE: [&str; 2] = ["1999-01-01", "x-not-a-version"];

fn sources(met: &Handshake) -> Sources {
    let pointer = "/result/protocolVersion".to_owned();
    Sources { sent: met.sent, received: met.answer.event, pointer, ..Sources::default() }
}

pub(super) async fn negotiate(player: &Player<'_>, round: &Round, step: &NamedCheck) -> Result<(), Stop> {
    let known: Vec<String> =
        Revision::ALL.iter().filter(|revision| revision.era() == Era::Legacy).map(ToString::to_string).collect();
    let asked = known.iter().map(String::as_str).chain(IMPOSSIBLE);
    let meetings = futures_util::future::join_all(asked.map(|version| meet(player, version))).await;
    let meetings: Vec<Handshake> = meetings.into_iter().collect::<Result<_, _>>()?;
    let (sound, impossible): (Vec<&Handshake>, Vec<&Handshake>) =
        meetings.iter().partition(|met| known.contains(&met.asked));
    let have: BTreeSet<String> = meetings
        .iter()
        .filter(|met| met.version().is_none_or(|version| !IMPOSSIBLE.contains(&version.as_str())))
        .filter_map(Handshake::version)
        .collect();
    let served = sound.iter().any(|met| met.version().is_some());

    let mut wrong = None;
    for met in &sound {
        if !have.contains(&met.asked) {
            continue;
        }
        // A refusal of one handshake more may have other causes, such as one session at a time.
        let Some(version) = met.version() else { continue };
        if version != met.asked && wrong.is_none() {
            wrong = Some((met, format!("asked for {}, which it has, the server answers {version}", met.asked)));
        }
    }
    match wrong {
        Some((met, message)) => {
            let said = Said { role: "same", word: Word::Broken, message, sources: sources(met) };
            tell(player, round, step, &met.talk, "", vec![said]);
        }
        None => {
            if let Some(met) = sound.first() {
                let list = have.iter().cloned().collect::<Vec<_>>().join(", ");
                let message = format!("each version that it has is answered by itself: {list}");
                let said = match served {
                    true => Said { role: "same", word: Word::Pass, message, sources: Sources::default() },
                    false => said_open("same", "no further handshake was accepted"),
                };
                tell(player, round, step, &met.talk, "", vec![said]);
            }
        }
    }
    for met in impossible {
        let mut said = if served {
            vec![other(met), newest(met, &have)]
        } else {
            vec![
                said_open("other", "no further handshake was accepted"),
                said_open("newest", "no further handshake was accepted"),
            ]
        };
        for said in &mut said {
            said.message = format!("asked for {:?}: {}", met.asked, said.message);
        }
        tell(player, round, step, &met.talk, &met.asked, said);
    }
    Ok(())
}

/// Whether what is listed of the newer era is served, and whether the two lists of it agree.
pub(super) async fn listed(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let (_, answer) = discover(talk, None).await?;
    let versions = answer.result().map(|result| modern_versions(result.get("supportedVersions")));
    let Some(versions) = versions else {
        let said = ["served", "agree"].map(|role| said_open(role, "server/discover was not answered by a result"));
        tell(player, round, step, talk, "", said.into());
        return Ok(());
    };
    for version in &versions {
        let (sent, answer) = discover(talk, Some(version)).await?;
        let sources = Sources { sent, received: answer.event, ..Sources::default() };
        let said = match answer.result() {
            Some(_) => (Word::Pass, format!("{version} is served")),
            None => (Word::Broken, format!("{version} is listed, and a request for it got {}", answer.describe())),
        };
        let said = Said { role: "served", word: said.0, message: said.1, sources };
        tell(player, round, step, talk, version, vec![said]);
    }
    let (sent, answer) = discover(talk, Some("1900-01-01")).await?;
    let pointer = "/error/data/supported".to_owned();
    let sources = Sources { sent, received: answer.event, pointer, ..Sources::default() };
    let supported = answer.message().and_then(|message| message.pointer("/error/data/supported").cloned());
    let said = match supported.filter(Value::is_array).map(|list| modern_versions(Some(&list))) {
        None => said_open("agree", "a version that does not exist was not refused with a list"),
        Some(supported) if supported == versions => Said {
            role: "agree",
            word: Word::Pass,
            message: "both lists agree".to_owned(),
            sources: Sources::default(),
        },
        Some(supported) => {
            let message = format!("-32022 lists {supported:?}, server/discover {versions:?}");
            Said { role: "agree", word: Word::Broken, message, sources }
        }
    };
    tell(player, round, step, talk, "", vec![said]);
    Ok(())
}

/// The dated versions of a list that can be asked for per request.
fn modern_versions(list: Option<&Value>) -> BTreeSet<String> {
    let dated = |text: &&str| text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let list = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    list.filter(dated).filter(|text| *text >= Revision::V2026_07_28.as_str()).map(str::to_owned).collect()
}

async fn discover(talk: &Conversation, version: Option<&str>) -> Result<(Option<u64>, Answer), Stop> {
    let change = version.map(|version| Alteration::Version(Value::from(version).into()));
    let call = Call { method: "server/discover".to_owned(), change, ..Call::default() };
    Ok(match talk.request(call, None).await {
        Ok((ticket, answer)) => (Some(ticket.event), answer),
        Err(error) => (None, send_failed(error)?),
    })
}

/// Whether an impossible version is answered by another one that is there.
fn other(met: &Handshake) -> Said {
    let said = |word, message: String| Said { role: "other", word, message, sources: sources(met) };
    match met.version() {
        Some(version) if version == met.asked => said(Word::Broken, "the server repeats the version".to_owned()),
        Some(version) if version.parse::<Revision>().is_err() => {
            said(Word::Broken, format!("the server offers {version:?}, which was never published"))
        }
        Some(version) => said(Word::Pass, format!("the server offers {version}")),
        None if met.answer.error_code() == Some(-32602) => said(
            Word::Contested,
            "the server refuses with -32602, as an example on the page does; its text asks for an offer (C18)"
                .to_owned(),
        ),
        None => said(Word::Broken, format!("{} and no offer", met.answer.came())),
    }
}

fn newest(met: &Handshake, have: &BTreeSet<String>) -> Said {
    let Some(version) = met.version().filter(|version| *version != met.asked) else {
        return said_open("newest", "no other version was offered");
    };
    // Versions are dates, and legacy ones: their order is that of their text.
    match have.iter().next_back() {
        Some(newest) if *newest != version => {
            let message = format!("the server offers {version}, and has {newest}");
            Said { role: "newest", word: Word::Broken, message, sources: sources(met) }
        }
        _ => {
            let message = format!("{version} is the newest that it has");
            Said { role: "newest", word: Word::Pass, message, sources: Sources::default() }
        }
    }
}

/// Asks for a version, unless the probe of the target did so already.
async fn meet(player: &Player<'_>, version: &str) -> Result<Handshake, Stop> {
    let stage = player.stage;
    if let Some(known) = stage.handshakes.iter().find(|handshake| handshake.asked == version) {
        return Ok(known.clone());
    }
    let handshake = ask_for_version(&stage.target, &stage.bench, version, &player.case.id.node)
        .await
        .map_err(|error| Stop::Missing(format!("no conversation could be opened: {error}")))?;
    player.end_later(handshake.talk.clone());
    Ok(handshake)
}

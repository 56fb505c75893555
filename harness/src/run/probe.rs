//! Which revisions a target speaks, and how that was found.
//!
//! Both eras are always probed, each in a process or session of its own: a discovery answer does not say that legacy
//! clients are turned away, and servers that list only 2026-07-28 may serve 2025-11-25 all the same.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mcp_conform_reports::model::RevisionSupport;
use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;
use tokio::time::Instant;

use super::survey::discover_result;
use crate::{
    conversation::{
        Answer, AnswerKind, Bench, Call, Conversation, Handshake, OpenError, OpenErrorKind, Opening, Policy, Target,
        all_capabilities, ask_for_version, connect, open,
    },
    trace::Transport,
};

/// What both probes of one target brought. The conversations are open and to be used on, or ended.
#[derive(Debug)]
pub(super) struct Probed {
    pub legacy: Result<Conversation, OpenError>,
    pub modern: Modern,
}

#[derive(Debug)]
pub(super) struct Modern {
    /// The conversation, unless none could be opened.
    pub talk: Option<Conversation>,
    /// The `DiscoverResult`, when 2026-07-28 is served.
    pub discovered: Option<Value>,
    /// What came instead.
    pub instead: String,
    pub start_error: Option<OpenErrorKind>,
}

/// Probes both eras side by side.
pub(super) async fn probe(target: &Target, bench: &Arc<Bench>, answers: &Arc<BTreeMap<String, Value>>) -> Probed {
    let policy = Policy::default().with_given(answers.clone());
    let (done, legacy_answered) = tokio::sync::watch::channel(None);
    let legacy = async {
        let started = Instant::now();
        let policy = policy.clone();
        let opening = Opening { capabilities: all_capabilities(), policy, ..Opening::new(Era::Legacy) };
        let legacy = open(target, bench, opening).await;
        // A refusal tells as well as a result that the server is up.
        done.send_replace(Some(started.elapsed()));
        legacy
    };
    let (legacy, modern) = tokio::join!(legacy, discover(target, bench, policy.clone(), legacy_answered));
    Probed { legacy, modern }
}

async fn discover(
    target: &Target,
    bench: &Arc<Bench>,
    policy: Policy,
    mut legacy: tokio::sync::watch::Receiver<Option<Duration>>,
) -> Modern {
    let opening = Opening { capabilities: all_capabilities(), policy, ..Opening::new(Era::Modern) };
    let talk = match connect(target, bench, opening).await {
        Ok(talk) => talk,
        Err(error) => {
            let instead = error.to_string();
            return Modern { talk: None, discovered: None, instead, start_error: Some(error) };
        }
    };
    talk.mark("", "discover", "");
    let call = Call { method: "server/discover".to_owned(), ..Call::default() };
    let ticket = match talk.send(call).await {
        Ok(ticket) => ticket,
        Err(error) => {
            let instead = error.to_string();
            return Modern { talk: Some(talk), discovered: None, instead, start_error: None };
        }
    };
    // A server of the old era may ignore what comes before `initialize`. How long a start takes here is known once the
    // other probe was answered; silence long after that is an answer.
    let patient = talk.answer(&ticket, Some(bench.deadlines.start));
    let impatient = async {
        let took = legacy.wait_for(Option::is_some).await.ok().and_then(|took| *took).unwrap_or_default();
        tokio::time::sleep(took * 2 + bench.deadlines.answer / 4).await;
    };
    let answer = tokio::select! {
        answer = patient => answer,
        () = impatient => {
            talk.give_up(&ticket);
            Answer::silence(None)
        }
    };
    // Whoever answers under 2026-07-28 serves it; that its list leaves it out is for the checks to tell.
    let discovered = discover_result(&answer);
    if let Some(result) = &discovered {
        talk.settle(Revision::V2026_07_28, result.get("capabilities").cloned().unwrap_or_default(), None);
    }
    Modern { talk: Some(talk), discovered, instead: answer.describe(), start_error: None }
}

/// Support of all five revisions over one transport, and the handshakes that asked for the older ones. Their conversations
/// are to be ended.
pub(super) async fn revisions(
    target: &Target,
    bench: &Arc<Bench>,
    probed: &Probed,
) -> (Vec<RevisionSupport>, Vec<Handshake>) {
    let mut out = Vec::new();
    let mut handshakes = Vec::new();
    let over = target.transport();
    let newest = match &probed.legacy {
        Ok(talk) => talk.negotiated(),
        Err(_) => None,
    };
    let older: Vec<Revision> =
        Revision::ALL.into_iter().filter(|v| v.era() == Era::Legacy && *v != Revision::V2025_11_25).collect();
    let asked = if newest.is_some() {
        futures_util::future::join_all(older.iter().map(|version| ask_for_version(target, bench, version.as_str(), "")))
            .await
    } else {
        Vec::new()
    };
    for (version, asked) in older.iter().zip(asked) {
        let negotiation = match &asked {
            Ok(handshake) => Negotiation::of(handshake),
            Err(error) => Negotiation::Other(error.to_string()),
        };
        out.push(legacy_support(*version, negotiation, over));
        handshakes.extend(asked);
    }
    if newest.is_none() {
        out.extend(older.iter().map(|version| unsupported(*version, "initialize is not served".to_owned())));
    }
    out.push(match (&probed.legacy, newest) {
        (_, Some(version)) => {
            let mut support = legacy_support(Revision::V2025_11_25, Negotiation::Version(version.to_string()), over);
            if !support.supported {
                support.how.push_str(&format!(
                    "; it was judged by those requirements of {} that were in force in {version} already",
                    Revision::V2025_11_25
                ));
            }
            support
        }
        (Err(error), None) => unsupported(Revision::V2025_11_25, error.kind.to_string()),
        (Ok(_), None) => unsupported(Revision::V2025_11_25, "no version was negotiated".to_owned()),
    });
    out.push(match &probed.modern.discovered {
        Some(_) => RevisionSupport {
            revision: Revision::V2026_07_28.to_string(),
            supported: true,
            how: "server/discover is served".to_owned(),
            transports: vec![over.as_str().to_owned()],
        },
        None => {
            unsupported(Revision::V2026_07_28, format!("server/discover was answered with {}", probed.modern.instead))
        }
    });
    (out, handshakes)
}

enum Negotiation {
    Other(String),
    Version(String),
}

impl Negotiation {
    fn of(handshake: &Handshake) -> Self {
        match handshake.version() {
            Some(given) if handshake.answer.kind == AnswerKind::Result => Self::Version(given),
            _ => Self::Other(handshake.answer.describe()),
        }
    }
}

fn legacy_support(asked: Revision, negotiation: Negotiation, over: Transport) -> RevisionSupport {
    match negotiation {
        Negotiation::Version(given) if given == asked.as_str() => RevisionSupport {
            revision: asked.to_string(),
            supported: true,
            how: "initialize negotiates it".to_owned(),
            transports: vec![over.as_str().to_owned()],
        },
        Negotiation::Version(given) => unsupported(asked, format!("initialize answers {given} when it is asked for")),
        Negotiation::Other(came) => unsupported(asked, format!("initialize was answered with {came}")),
    }
}

fn unsupported(revision: Revision, how: String) -> RevisionSupport {
    RevisionSupport { revision: revision.to_string(), supported: false, how, transports: Vec::new() }
}

/// Support over several transports, one line a revision: supported where any transport has it.
pub(super) fn merge(lists: Vec<Vec<RevisionSupport>>) -> Vec<RevisionSupport> {
    let mut out: Vec<RevisionSupport> = Vec::new();
    for support in lists.into_iter().flatten() {
        match out.iter_mut().find(|known| known.revision == support.revision) {
            None => out.push(support),
            Some(known) => {
                if support.supported && !known.supported {
                    known.how = support.how;
                    known.supported = true;
                }
                known.transports.extend(support.transports);
            }
        }
    }
    out.sort_by(|a, b| a.revision.cmp(&b.revision));
    for support in &mut out {
        // Both were probed side by side; which one was through first is no news.
        support.transports.sort_by(|a, b| b.cmp(a));
        support.transports.dedup();
    }
    out
}

//! What a target serves and offers, found out by sound traffic, for those who drive it otherwise than by cases.

use std::sync::Arc;

use mcp_conform_cases::ast::ServedEras;
use mcp_conform_schemas::Era;

use super::{
    options::RunOptions,
    probe::probe,
    surface::{Surface, served},
    survey::{offered, use_all},
};
use crate::{
    conversation::{Bench, Conversation, Target},
    trace::Event,
};

/// What one era of a target offers.
#[derive(Clone, Debug)]
pub struct Scouted {
    pub era: Era,
    /// What the target serves, whichever revisions were asked for.
    pub served: ServedEras,
    pub surface: Surface,
    /// What the conversation brought that found it out.
    pub events: Vec<Arc<Event>>,
}

/// An era of a target, with a conversation that was opened with everything declared.
#[derive(Debug)]
pub(crate) struct Reached {
    pub era: Era,
    /// What the target serves, whichever revisions were asked for.
    pub served: ServedEras,
    pub talk: Conversation,
    /// The `DiscoverResult`, in the modern era.
    pub discovered: Option<serde_json::Value>,
}

/// Opens a conversation in each era of a target that its revision is asked for. Beside them, why there are no others.
pub(crate) async fn reach(target: &Target, bench: &Arc<Bench>, options: &RunOptions) -> (Vec<Reached>, Vec<String>) {
    let probed = probe(target, bench, &options.answers).await;
    let mut reached = Vec::new();
    let mut reasons = Vec::new();
    let mut loose = Vec::new();
    let served = served(probed.legacy.is_ok(), probed.modern.discovered.is_some());
    match probed.legacy {
        Ok(talk) => reached.extend(served.map(|served| Reached { era: Era::Legacy, served, talk, discovered: None })),
        Err(error) => {
            reasons.push(format!("2025-11-25: {}", error.kind));
            loose.extend(error.conversation);
        }
    }
    match (probed.modern.talk, probed.modern.discovered) {
        (Some(talk), discovered @ Some(_)) => {
            reached.extend(served.map(|served| Reached { era: Era::Modern, served, talk, discovered }));
        }
        (talk, _) => {
            reasons.push(format!("2026-07-28: server/discover was answered with {}", probed.modern.instead));
            loose.extend(talk);
        }
    }
    let (reached, unwanted): (Vec<_>, Vec<_>) =
        reached.into_iter().partition(|reached| options.revisions.contains(&reached.era.judged()));
    reasons.extend(unwanted.iter().map(|reached| format!("{}: was not asked for", reached.era.judged())));
    loose.extend(unwanted.into_iter().map(|reached| reached.talk));
    futures_util::future::join_all(loose.iter().map(Conversation::end)).await;
    (reached, reasons)
}

/// Looks at both eras of a target, as far as their revisions are asked for. Where none is served, the reasons.
pub async fn scout(target: &Target, bench: &Arc<Bench>, options: &RunOptions) -> Result<Vec<Scouted>, Vec<String>> {
    let (reached, reasons) = reach(target, bench, options).await;
    let mut out = Vec::new();
    for Reached { era, served, talk, discovered } in &reached {
        let mut surface = offered(talk, options, discovered.as_ref()).await;
        // Those that take their time are ended with the conversation.
        let _ = use_all(talk, &mut surface).await;
        out.push(Scouted { era: *era, served: *served, surface, events: talk.events() });
    }
    futures_util::future::join_all(reached.iter().map(|reached| reached.talk.end())).await;
    if out.is_empty() { Err(reasons) } else { Ok(out) }
}

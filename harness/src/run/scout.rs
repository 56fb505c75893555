//! What a target serves and offers, found out by sound traffic, for those who drive it otherwise than by cases.

use std::sync::Arc;

use mcp_conform_schemas::Era;

use super::{
    options::RunOptions,
    probe::probe,
    surface::Surface,
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
    pub surface: Surface,
    /// What the conversation brought that found it out.
    pub events: Vec<Arc<Event>>,
}

/// Looks at both eras of a target, as far as their revisions are asked for. Where none is served, the reasons.
pub async fn scout(target: &Target, bench: &Arc<Bench>, options: &RunOptions) -> Result<Vec<Scouted>, Vec<String>> {
    let probed = probe(target, bench, &options.answers).await;
    let mut talks: Vec<(Era, Conversation, Option<serde_json::Value>)> = Vec::new();
    let mut reasons = Vec::new();
    let mut loose = Vec::new();
    match probed.legacy {
        Ok(talk) => talks.push((Era::Legacy, talk, None)),
        Err(error) => {
            reasons.push(format!("2025-11-25: {}", error.kind));
            loose.extend(error.conversation);
        }
    }
    match (probed.modern.talk, probed.modern.discovered) {
        (Some(talk), Some(result)) => talks.push((Era::Modern, talk, Some(result))),
        (talk, _) => {
            reasons.push(format!("2026-07-28: server/discover was answered with {}", probed.modern.instead));
            loose.extend(talk);
        }
    }
    let mut out = Vec::new();
    for (era, talk, discovered) in talks {
        if options.revisions.contains(&era.judged()) {
            let mut surface = offered(&talk, options, discovered.as_ref()).await;
            // Those that take their time are ended with the conversation.
            let _ = use_all(&talk, &mut surface).await;
            out.push(Scouted { era, surface, events: talk.events() });
        } else {
            reasons.push(format!("{}: was not asked for", era.judged()));
        }
        loose.push(talk);
    }
    futures_util::future::join_all(loose.iter().map(Conversation::end)).await;
    if out.is_empty() { Err(reasons) } else { Ok(out) }
}

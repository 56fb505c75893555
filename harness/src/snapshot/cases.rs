//! Answers that the user's own cases keep by their `snapshot` steps. What the cases judge is a run's to tell.

use std::sync::{Arc, Mutex};

use mcp_conform_cases::ast::{Case, Spanned, Step};
use mcp_conform_schemas::Era;
use tokio::sync::{OnceCell, watch};

use super::{
    ask::{Answers, told},
    view::{CASE, Kept, NotKept},
};
use crate::{
    conversation::{Bench, Conversation, Target},
    run::{
        Reached, RunOptions,
        survey::{offered, use_all},
    },
    script::{Ground, Pool, Stage, Unmet, meet, play},
    trace::Transport,
};

/// Whether a case keeps anything.
pub(super) fn keeps(case: &Case) -> bool {
    case.steps.iter().any(step_keeps)
}

fn step_keeps(step: &Spanned<Step>) -> bool {
    match &step.node {
        Step::Snapshot { .. } => true,
        Step::ForEach(each) => each.steps.iter().any(step_keeps),
        Step::Parallel(branches) => branches.iter().flatten().any(step_keeps),
        _ => false,
    }
}

/// Plays those of the cases that keep something, one after another.
pub(super) async fn play_all(
    cases: &[Arc<Case>],
    target: &Target,
    bench: &Arc<Bench>,
    options: &RunOptions,
    reached: Reached,
    out: &mut Answers,
) {
    let Reached { era, served, .. } = reached;
    let transport = target.transport();
    let mut surface = offered(&reached.talk, options, reached.discovered.as_ref()).await;
    if cases.iter().any(|case| case.uses_tools()) {
        // Calls that are still out end with their conversation.
        let _ = use_all(&reached.talk, &mut surface).await;
    }
    surface.used = true;
    reached.talk.end().await;
    let stage = Stage {
        target: target.clone(),
        bench: bench.clone(),
        era,
        revision: era.judged(),
        served,
        known: watch::Sender::new(Arc::new(surface)),
        handshakes: Arc::default(),
        answers: options.answers.clone(),
        token: options.token,
        fixture: false,
        seed: options.seed,
        repro: options.repro.clone(),
        pool: Pool::default(),
        frail: OnceCell::default(),
        dead: Mutex::default(),
    };
    for case in cases.iter().filter(|case| fits(case, era, transport)) {
        let id = &case.id.node;
        let mut not = |reason: String| out.not_kept.push(NotKept { name: format!("{CASE} {id}"), reason });
        let surface = stage.surface();
        let ground = Ground {
            surface: &surface,
            served,
            token: stage.token,
            fixture: stage.fixture,
            http: transport == Transport::Http,
        };
        let values = match meet(case.needs.iter().map(|need| &need.node), ground) {
            Ok(values) => values,
            Err(Unmet::NotApplicable(reason) | Unmet::NotVerified(reason, _)) => {
                not(reason);
                continue;
            }
        };
        let (outcome, to_end) = play(case, &stage, values, true).await;
        futures_util::future::join_all(to_end.iter().map(Conversation::end)).await;
        if outcome.snapshots.is_empty() {
            let last =
                outcome.verdicts.last().map(|verdict| verdict.message.clone()).filter(|message| !message.is_empty());
            not(last.unwrap_or_else(|| "it was over before anything was to be kept".to_owned()));
        }
        out.answers.extend(outcome.snapshots.into_iter().map(|(name, answer)| Kept {
            name: format!("{CASE} {id}: {name}"),
            method: CASE.to_owned(),
            params: None,
            answer: told(&answer, Vec::new()),
        }));
    }
    futures_util::future::join_all(stage.pool.drain().iter().map(Conversation::end)).await;
}

fn fits(case: &Case, era: Era, transport: Transport) -> bool {
    let over = match transport {
        Transport::Http => mcp_conform_cases::ast::Transport::Http,
        Transport::Stdio => mcp_conform_cases::ast::Transport::Stdio,
    };
    case.revisions.contains(&era.judged()) && case.transports.contains(&over)
}

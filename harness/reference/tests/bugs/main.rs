//! Every deep bug is shown by its witness: the shortest sequence that a person could think of. A sound server takes the
//! same sequence without a symptom, and with a bug on a server takes every witness of the others so.

#[path = "../common/mod.rs"]
mod common;
mod symptoms;
mod talk;
#[cfg(target_os = "linux")]
mod usage;
mod witnesses;

use std::collections::BTreeSet;

use mcp_reference_server::{Bug, BugInfo, Config, Era, Shows, Transport, bugs};
use talk::Talk;
use witnesses::witness;

/// What a process alone shows; `usage` measures it.
fn is_measured(info: &BugInfo) -> bool {
    matches!(info.shows, Shows::Memory | Shows::Descriptors)
}

fn everywhere(info: &BugInfo) -> impl Iterator<Item = (Era, Transport)> {
    info.eras.iter().flat_map(|era| info.transports.iter().map(|transport| (*era, *transport)))
}

async fn seen(shown: Bug, had: Option<Bug>, era: Era, transport: Transport) -> (BTreeSet<Shows>, usize) {
    let config = Config { bug: had, asks_roots: false, ..Config::default() };
    let mut talk = Talk::open(config, era, transport).await;
    witness(shown, &mut talk).await;
    let count = talk.sent();
    (talk.symptoms().await, count)
}

#[tokio::test(start_paused = true)]
async fn every_bug_is_shown_by_its_witness_and_a_sound_server_is_not_accused() {
    let mut told = Vec::new();
    for info in bugs().iter().filter(|info| !is_measured(info)) {
        for (era, transport) in everywhere(info) {
            let (with, count) = seen(info.bug, Some(info.bug), era, transport).await;
            let (without, _) = seen(info.bug, None, era, transport).await;
            let at = format!("{} in {era:?} over {transport:?}", info.name);
            if !with.contains(&info.shows) {
                told.push(format!("{at}: {with:?} instead of {:?}", info.shows));
            }
            if !without.is_empty() {
                told.push(format!("{at}: {without:?} without the bug"));
            }
            if count != info.messages {
                told.push(format!("{at}: {count} messages instead of {}", info.messages));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Witnesses that cannot do without what another bug is about: the other one first.
const ALONG: &[(Bug, Bug)] =
    &[(Bug::ListenersHoldProcess, Bug::OldestListensOn), (Bug::StateUsedTwice, Bug::FlowsShareAnswers)];

/// A witness that another bug answers to would not tell which one a fuzzer has found.
#[tokio::test(start_paused = true)]
async fn a_bug_does_not_show_in_the_witness_of_another() {
    let mut told = Vec::new();
    for shown in bugs().iter().filter(|info| !is_measured(info)) {
        let Some((era, transport)) = everywhere(shown).next() else { continue };
        for had in bugs().iter().filter(|had| had.bug != shown.bug) {
            let (symptoms, _) = seen(shown.bug, Some(had.bug), era, transport).await;
            if symptoms.is_empty() == ALONG.contains(&(had.bug, shown.bug)) {
                told.push(format!("{} shows {symptoms:?} in the witness of {}", had.name, shown.name));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

//! Looks for what a server keeps: memory and descriptors that grow while the same input is played again and again.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    campaign::Campaign,
    input::{Act, Input},
    island::Island,
    oracle,
    place::Place,
    play::{Haste, Life},
    shrink::{Attempt, shrink},
    watch::{Usage, of_one, usage},
};
use crate::{
    run::surface::ToolFacts,
    trace::{Event, Transport},
};

impl Campaign {
    /// Looks at memory and descriptors of kept inputs, a small part of the time.
    pub(super) async fn weigh(&self, island: &mut Island) {
        const PART: u32 = 10;
        if !cfg!(target_os = "linux") {
            return;
        }
        while *island.weighed() * PART < self.started.elapsed() && self.goes_on() {
            let Some(input) = island.next_to_weigh() else { return };
            let started = Instant::now();
            let place = island.place.clone();
            self.tell(&format!("weighing {}", serde_json::to_string(&*input).unwrap_or_default()));
            if let Some(Grown { what, .. }) = self.grows(&place, &input).await {
                let (era, transport) = (place.ground.era, place.ground.transport);
                let mut scale =
                    Scale { campaign: self, place: &place, left: 24, until: Instant::now() + self.longest(), what };
                let small = shrink(&input, &mut scale).await;
                // Once more: what grew once may have been a cache that was filling.
                if let Some(Grown { what, words, events }) = self.grows(&place, &small).await {
                    let suspicion = oracle::growth(era, transport, &small, what, words);
                    self.look_into(&place, suspicion, &Arc::new(small), &VecDeque::new(), events).await;
                } else {
                    self.known().not_again += 1;
                }
            }
            *island.weighed() += started.elapsed();
        }
    }

    /// Plays an input again and again on a fresh server. What grows, if something grows as fast at the end as at the
    /// beginning.
    pub(super) async fn grows(&self, place: &Arc<Place>, input: &Input) -> Option<Grown> {
        const ROUNDS: u64 = 60;
        const MOST_WINDOWS: usize = 60;
        // Runtimes with garbage collection take tens of megabytes before they look for what is free.
        const MUCH: u64 = 128 * 1024 * 1024;
        const LITTLE: u64 = 512 * 1024;
        const MANY: u64 = 40;
        const OWN: u64 = 1 << 20;
        // What a server was given to keep it may keep, in a form of its own.
        const KEPT: u64 = 4;
        const LONG: Duration = Duration::from_secs(8);
        if input.steps.iter().any(|step| matches!(step.act, Act::Drop | Act::Raw(_))) {
            return None;
        }
        let given = KEPT * serde_json::to_string(input).unwrap_or_default().len() as u64;
        let opens = writes(&place.ground.surface.tools, input);
        let mut life = Life::new(place.clone(), input.manner);
        life.begin().await.ok()?;
        let pid = life.pid()?;
        let patience = self.patience(place);
        let started = Instant::now();
        let mut seen: Vec<Usage> = Vec::new();
        let mut found = None;
        for window in 0..MOST_WINDOWS {
            for _ in 0..ROUNDS {
                let played = life.play(input, patience, Haste::Weighing).await;
                if !life.is_sound() || played.deaf.is_some() || started.elapsed() > LONG * 2 {
                    life.drop_all().await;
                    return None;
                }
            }
            self.requests.fetch_add(ROUNDS * input.messages() as u64, Ordering::Relaxed);
            // What was just closed may take a moment.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut now = usage(pid)?;
            if place.ground.transport == Transport::Http {
                // The connections that we hold open are not the server's doing.
                let own = of_one(std::process::id()).unwrap_or_default().descriptors;
                now.descriptors = (now.descriptors + OWN).saturating_sub(own);
            }
            seen.push(now);
            let (Some(first), Some(now)) = (seen.get(1), seen.last()) else { continue };
            let (windows, half) = (window as u64 - 1, seen.len().div_ceil(2));
            let Some(middle) = seen.get(half) else { continue };
            let rounds = windows * ROUNDS;
            // A pool or a cache that fills grows, too, but not as fast at the end as at the beginning.
            let goes_on =
                |first: u64, middle: u64, now: u64| now.saturating_sub(middle) * 3 >= now.saturating_sub(first);
            let descriptors = now.descriptors.saturating_sub(first.descriptors);
            let more = descriptors >= MANY && goes_on(first.descriptors, middle.descriptors, now.descriptors);
            if windows >= 6 && more && !opens {
                let words =
                    format!("{descriptors} more descriptors are open after {rounds} rounds of the same messages");
                found = Some(("descriptors", words));
                break;
            }
            let grown = now.resident.saturating_sub(first.resident);
            if windows >= 2 && grown < windows * LITTLE && descriptors < windows {
                break;
            }
            if windows >= 6 && grown >= MUCH + rounds * given && goes_on(first.resident, middle.resident, now.resident)
            {
                let words = format!(
                    "{} MB more are held after {rounds} rounds of the same messages, and it goes on growing",
                    grown >> 20
                );
                found = Some(("memory", words));
                break;
            }
            if started.elapsed() > LONG {
                break;
            }
        }
        let events = life.events(0);
        life.drop_all().await;
        found.map(|(what, words)| Grown { what, words, events })
    }
}

/// What grew, in words, and the last that was said.
pub(super) struct Grown {
    what: &'static str,
    words: String,
    events: Vec<Arc<Event>>,
}

/// Whether a tool is called that may be there to open something: a page, a process, a file.
fn writes(tools: &[ToolFacts], input: &Input) -> bool {
    let mut called = input.steps.iter().filter_map(|step| step.message()).filter(|it| it.method == "tools/call");
    called.any(|message| {
        let name = message.params.as_ref().and_then(|params| params.get("name")?.as_str());
        tools.iter().any(|tool| Some(tool.name()) == name && !tool.only_reads())
    })
}

/// Looks at growth as an attempt.
struct Scale<'a> {
    campaign: &'a Campaign,
    place: &'a Arc<Place>,
    left: u32,
    until: Instant,
    what: &'static str,
}

impl Attempt for Scale<'_> {
    async fn shows(&mut self, input: &Input) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if Instant::now() >= self.until || !self.campaign.may_look() {
            return None;
        }
        let grows = self.campaign.grows(self.place, input).await;
        Some(grows.is_some_and(|grown| grown.what == self.what))
    }
}

#[cfg(test)]
mod tests {
    use mcp_conform_schemas::Era;
    use serde_json::json;

    use super::*;
    use crate::fuzz::input::Manner;

    #[test]
    fn a_tool_that_does_not_only_read_may_open_something() {
        let options = crate::run::RunOptions::of_everything(None, None, Vec::new());
        let tool = |name: &str, reads: bool| {
            let tool = json!({"name": name, "annotations": {"readOnlyHint": reads}});
            crate::run::survey::facts(tool, &options)
        };
        let tools = [tool("open_page", false), tool("look", true)];
        let input = |name: &str| Input {
            era: Era::Modern,
            manner: Manner::Prompt,
            steps: vec![crate::fuzz::Step::request("tools/call", Some(json!({ "name": name })))],
        };
        assert_eq!(["open_page", "look", "none"].map(|name| writes(&tools, &input(name))), [true, false, false]);
    }
}

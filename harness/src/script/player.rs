//! Plays a case: walks its steps, keeps its handles and conversations, and gathers its verdicts.
//!
//! [`play`] is the entry. A [`Round`] is what a step sees and changes; each round of a loop and each parallel branch has
//! one of its own. What the steps do stands in `steps`, what is made of it in `judging`.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_conform_cases::ast::{
    Case, ConversationRef, ExpectNothing, ForEach, LoopSource, PromptKind, Setup, Spanned, Step,
};
use mcp_conform_schemas::generate::{NearMiss, NearMissKind};
use serde_json::{Value, json};

use super::{
    evidence::Sources,
    judging::Control,
    seeing,
    stage::{Lease, LeaseError, Stage},
    subjects::{is_prompt, prompt_variable, template_variable},
    values::{Unset, Values},
    verdict::{CaseOutcome, CaseVerdict, Word},
};
use crate::{
    conversation::{Answer, Call, Conversation, SendError, Ticket, document, related},
    trace::{Body, Direction, Event},
    wire::Id,
};

/// Resources, templates or prompts that a loop goes over: a server may list thousands.
const MOST_ROUNDS: usize = 10;

/// Plays a case once. With `fresh` every conversation is a new one.
///
/// Gives the conversations that the case used and that are still to be ended.
pub async fn play(case: &Case, stage: &Stage, values: Values, fresh: bool) -> (CaseOutcome, Vec<Conversation>) {
    let player = Player { case, stage, fresh, gathered: Mutex::default(), controls: Mutex::default() };
    let mut round = Round { values, ..Round::default() };
    player.steps(&mut round, &case.steps, "").await;
    player.finish().await
}

/// A request that was sent, or a message of the server that was waited for.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub talk: Conversation,
    pub ticket: Ticket,
    pub answer: Option<Answer>,
    /// What was sent, for a retry.
    pub call: Option<Call>,
    /// The server's request that this handle stands for.
    pub asked: Option<Id>,
}

/// Why nothing more is judged in a round.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// Something that must be there is not.
    Missing(String),
    /// The script is at fault.
    Script(String),
}

impl From<Unset> for Stop {
    fn from(unset: Unset) -> Self {
        Self::Missing(unset.to_string())
    }
}

impl From<LeaseError> for Stop {
    fn from(error: LeaseError) -> Self {
        Self::Missing(error.to_string())
    }
}

/// What a step sees and changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    pub values: Values,
    pub handles: BTreeMap<String, Handle>,
    pub talks: BTreeMap<String, Lease>,
    subjects: Vec<String>,
    /// The step that is played, and the one that it stands within, both without the rounds of loops.
    step: String,
    within: String,
    pub stopped: Option<Stop>,
}

impl Round {
    pub(super) fn subject(&self) -> String {
        self.subjects.join(" / ")
    }

    pub(super) fn step(&self) -> String {
        self.step.clone()
    }

    pub(super) fn handle(&self, name: &Spanned<String>) -> Result<Handle, Stop> {
        self.handles
            .get(&name.node)
            .cloned()
            .ok_or_else(|| Stop::Script(format!("the handle {} is not there", name.node)))
    }

    /// Keeps a handle and makes its document a variable.
    pub(super) fn keep(&mut self, name: &str, handle: Handle) {
        let events = handle.talk.events();
        self.values.set(name, document(&handle.ticket, handle.answer.as_ref(), &events));
        self.handles.insert(name.to_owned(), handle);
    }
}

/// Nothing that matches may come until the conversation is drained.
struct Obligation {
    talk: Conversation,
    from: u64,
    ticket: Option<Ticket>,
    step: ExpectNothing,
    values: Values,
    subject: String,
    place: String,
}

#[derive(Default)]
struct Gathered {
    outcome: CaseOutcome,
    obligations: Vec<Obligation>,
    /// Every conversation that the case used, once each.
    leases: Vec<Lease>,
}

pub(super) struct Player<'a> {
    pub case: &'a Case,
    pub stage: &'a Stage,
    /// Played again alone: each of its conversations is a new one, and nothing is spared.
    pub fresh: bool,
    gathered: Mutex<Gathered>,
    /// Controls by conversation and request, so that a loop over near misses sends its control once.
    controls: Mutex<BTreeMap<String, Control>>,
}

impl Player<'_> {
    pub(super) fn say(&self, verdict: CaseVerdict) {
        self.gathered().outcome.verdicts.push(verdict);
    }

    pub(super) fn keep_snapshot(&self, name: &str, answer: Answer) {
        self.gathered().outcome.snapshots.push((name.to_owned(), answer));
    }

    pub(super) fn known_control(&self, key: &str) -> Option<Control> {
        self.controls.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(super) fn keep_control(&self, key: String, control: Control) {
        self.controls.lock().unwrap_or_else(PoisonError::into_inner).insert(key, control);
    }

    /// The conversation of a step; `main` is opened when it is first used, and again when it has died.
    pub(super) async fn talk(&self, round: &mut Round, on: &ConversationRef) -> Result<Conversation, Stop> {
        let name = on.as_ref().map_or("main", |name| name.node.as_str());
        match round.talks.get(name) {
            Some(lease) if lease.talk.link().is_open() || name != "main" => return Ok(lease.talk.clone()),
            Some(_) => {}
            None if name != "main" => return Err(Stop::Script(format!("the conversation {name} is not open"))),
            None => {}
        }
        // A conversation that died under a step is not replaced by one that others used.
        let died = round.talks.contains_key(name);
        let lease = self
            .stage
            .lease(&self.case.conversation, self.fresh || died, round.talks.is_empty(), &round.values)
            .await?;
        self.use_lease(round, name, lease)
    }

    /// Opens a second conversation.
    pub(super) async fn open(&self, round: &mut Round, name: &str, setup: &Setup) -> Result<(), Stop> {
        let lease = self.stage.lease(setup, self.fresh, round.talks.is_empty(), &round.values).await?;
        self.use_lease(round, name, lease).map(drop)
    }

    fn use_lease(&self, round: &mut Round, name: &str, lease: Lease) -> Result<Conversation, Stop> {
        let talk = lease.talk.clone();
        let mut gathered = self.gathered();
        gathered.outcome.shared |= lease.shared;
        gathered.leases.push(lease.clone());
        round.talks.insert(name.to_owned(), lease);
        Ok(talk)
    }

    /// Has a conversation that a check opened ended with the case.
    pub(super) fn end_later(&self, talk: Conversation) {
        self.gathered().leases.push(Lease { talk, key: None, shared: false });
    }

    pub(super) fn oblige(&self, round: &Round, talk: Conversation, ticket: Option<Ticket>, step: &ExpectNothing) {
        // What belongs to a request counts from its beginning, all else from here on.
        let here = talk.recorder().len() as u64;
        let from = ticket.as_ref().map_or(here, |ticket| ticket.event);
        self.gathered().obligations.push(Obligation {
            talk,
            from,
            ticket,
            step: step.clone(),
            values: round.values.clone(),
            subject: round.subject(),
            place: round.step(),
        });
    }

    /// What was said in the conversations of the case beside this one.
    pub(super) fn others(&self, events: &[Arc<Event>]) -> Vec<Vec<Arc<Event>>> {
        let number = events.iter().find_map(|event| match &event.body {
            Body::Opened(opened) => Some(opened.conversation),
            _ => None,
        });
        let mut talks: Vec<Conversation> = self.gathered().leases.iter().map(|lease| lease.talk.clone()).collect();
        talks.retain(|talk| Some(talk.number()) != number);
        talks.dedup_by_key(|talk| talk.number());
        talks.iter().map(Conversation::events).collect()
    }

    /// Plays steps in order; after a stop the rest is given as not verified.
    pub(super) fn steps<'b>(
        &'b self,
        round: &'b mut Round,
        steps: &'b [Spanned<Step>],
        path: &'b str,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>> {
        Box::pin(async move {
            for (index, step) in steps.iter().enumerate() {
                let numbered = |path: &str| match path {
                    "" => (index + 1).to_string(),
                    path => format!("{path}.{}", index + 1),
                };
                let path = numbered(path);
                round.step = numbered(&round.within);
                if let Some(stop) = &round.stopped {
                    let (reason, word) = match stop {
                        Stop::Missing(reason) => (reason.clone(), Word::NotVerified),
                        Stop::Script(reason) => (reason.clone(), Word::Harness),
                    };
                    self.leave_out(round, &step.node, &reason, word);
                    continue;
                }
                if let Err(stop) = self.step(round, &step.node, &path).await {
                    let (reason, word) = match &stop {
                        Stop::Missing(reason) => (reason.clone(), Word::NotVerified),
                        Stop::Script(reason) => (reason.clone(), Word::Harness),
                    };
                    self.leave_out(round, &step.node, &reason, word);
                    round.stopped = Some(stop);
                }
            }
        })
    }

    /// Marks the trace of the conversation that a step uses.
    pub(super) fn mark(&self, round: &Round, talk: &Conversation, path: &str) {
        talk.mark(&self.case.id.node, path, &round.subject());
    }

    pub(super) async fn parallel(
        &self,
        round: &mut Round,
        branches: &[Vec<Spanned<Step>>],
        path: &str,
    ) -> Result<(), Stop> {
        // Conversations are opened once, before the branches part.
        self.talk(round, &None).await?;
        let paths: Vec<String> = (1..=branches.len()).map(|number| format!("{path}.{number}")).collect();
        let mut rounds: Vec<Round> = branches.iter().map(|_| round.clone()).collect();
        for (number, branch) in rounds.iter_mut().enumerate() {
            branch.within = format!("{}.{}", round.step, number + 1);
        }
        let playing =
            rounds.iter_mut().zip(branches).zip(&paths).map(|((round, steps), path)| self.steps(round, steps, path));
        futures_util::future::join_all(playing).await;
        for branch in rounds {
            round.handles.extend(branch.handles);
            round.talks.extend(branch.talks);
            round.values.merge(branch.values);
            if round.stopped.is_none() {
                round.stopped = branch.stopped;
            }
        }
        Ok(())
    }

    pub(super) async fn for_each(&self, round: &mut Round, step: &ForEach, path: &str) -> Result<(), Stop> {
        let mut rounds = self.rounds(round, &step.over.node)?;
        if step.only_first {
            rounds.truncate(1);
        }
        if rounds.is_empty() {
            let reason = nothing_to_loop_over(&step.over.node);
            for inner in &step.steps {
                self.leave_out(round, &inner.node, &reason, Word::NotVerified);
            }
            return Ok(());
        }
        for (number, (subject, value)) in rounds.into_iter().enumerate() {
            let mut inner = round.clone();
            inner.subjects.push(subject);
            inner.within.clone_from(&round.step);
            inner.values.set(&step.variable, value);
            self.steps(&mut inner, &step.steps, &format!("{path}.{}", number + 1)).await;
            // A conversation that a round had to open anew serves the next one too.
            round.talks = inner.talks;
        }
        Ok(())
    }

    fn rounds(&self, round: &Round, source: &LoopSource) -> Result<Vec<(String, Value)>, Stop> {
        let surface = self.stage.surface();
        let named = |values: &[Value], member: &str| {
            values
                .iter()
                .take(MOST_ROUNDS)
                .map(|value| {
                    let name = value.get(member).and_then(Value::as_str).unwrap_or_default();
                    (name.to_owned(), value.clone())
                })
                .collect()
        };
        Ok(match source {
            LoopSource::Tools(kind) => surface
                .tools
                .iter()
                .filter(|facts| facts.is(kind))
                .map(|facts| (facts.name().to_owned(), facts.variable()))
                .collect(),
            LoopSource::Resources => named(&surface.resources, "uri"),
            LoopSource::Templates => {
                named(&surface.templates.iter().map(template_variable).collect::<Vec<_>>(), "uriTemplate")
            }
            LoopSource::Prompts(kind) => {
                let prompts = surface.prompts.iter().filter(|prompt| is_prompt(prompt, *kind));
                named(&prompts.map(prompt_variable).collect::<Vec<_>>(), "name")
            }
            LoopSource::Values(values) => {
                let mut out = Vec::new();
                for value in values {
                    let value = round.values.value(value)?;
                    out.push((value.as_str().map_or_else(|| value.to_string(), str::to_owned), value));
                }
                out
            }
            LoopSource::NearMiss(schema) => {
                let schema = round.values.value(schema)?;
                mcp_conform_schemas::generate::near_miss(&schema)
                    .into_iter()
                    .filter(judged_miss)
                    .map(|miss| {
                        let value = json!({"value": miss.value, "what": miss.what, "pointer": miss.pointer});
                        (miss.what, value)
                    })
                    .collect()
            }
            LoopSource::Boundary(schema) => {
                let schema = round.values.value(schema)?;
                let values = mcp_conform_schemas::generate::boundary(&schema);
                values.into_iter().map(|value| (value.to_string(), json!({"value": value}))).collect()
            }
            LoopSource::Valid(schema) => {
                let schema = round.values.value(schema)?;
                let bytes = seeded(self.stage.seed);
                let mut unstructured = arbitrary::Unstructured::new(&bytes);
                let value = mcp_conform_schemas::generate::valid(&schema, &mut unstructured);
                value.into_iter().map(|value| (value.to_string(), json!({"value": value}))).collect()
            }
        })
    }

    /// Settles what waited for the end of its conversation, and hands the conversations back.
    async fn finish(self) -> (CaseOutcome, Vec<Conversation>) {
        let obligations = std::mem::take(&mut self.gathered().obligations);
        for obligation in obligations {
            obligation.talk.retire("it was drained for a case");
            obligation.talk.end().await;
            if let Some(verdict) = settle(&obligation, &self) {
                self.say(verdict);
            }
        }
        let Gathered { outcome, leases, .. } = std::mem::take(&mut *self.gathered());
        let mut to_end: Vec<Conversation> = Vec::new();
        for lease in leases {
            match lease.key {
                Some(key) if lease.talk.retired().is_none() => {
                    self.stage.pool.put(&key, lease.talk);
                    continue;
                }
                Some(key) => self.stage.pool.forget(&key),
                None => {}
            }
            if !to_end.iter().any(|talk| talk.number() == lease.talk.number()) {
                to_end.push(lease.talk);
            }
        }
        (outcome, to_end)
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn settle(obligation: &Obligation, player: &Player<'_>) -> Option<CaseVerdict> {
    let requirement = obligation.step.requirement.of(player.stage.revision)?;
    let events = obligation.talk.events();
    let own = obligation.ticket.as_ref().map(|ticket| related(ticket, &events));
    let unwanted = events.iter().filter(|event| event.seq >= obligation.from).find(|event| {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { return false };
        let Some(json) = &view.frame.json else { return false };
        let mine = own.as_ref().is_none_or(|own| own.iter().any(|(seq, _)| *seq == event.seq));
        mine && seeing::check(&obligation.step.like, Some(&json.to_value()), &obligation.values).is_ok()
    });
    let sent = obligation.ticket.as_ref().map(|ticket| ticket.event);
    let (word, message, found) = match unwanted {
        None => (Word::Pass, "nothing of the kind came until the end".to_owned(), None),
        Some(event) => {
            let says = obligation.step.says.clone().unwrap_or_else(|| "what must not come came".to_owned());
            (Word::Broken, says, Some(event.seq))
        }
    };
    let sources = Sources { sent, received: found, ..Sources::default() };
    let evidence = player.evidence(word, &events, &sources);
    Some(CaseVerdict {
        requirement: requirement.node.clone(),
        word,
        subject: obligation.subject.clone(),
        step: obligation.place.clone(),
        message,
        evidence,
    })
}

/// The near misses that the catalogue lets be judged: a required member without a default left out, and a value that no
/// coercion turns into the type. Arguments that are no object at all are a malformed request, which is another requirement.
fn judged_miss(miss: &NearMiss) -> bool {
    let sure = match miss.kind {
        NearMissKind::MissingRequired => true,
        NearMissKind::WrongType => !miss.pointer.is_empty(),
        _ => false,
    };
    sure && !miss.coercible
}

fn nothing_to_loop_over(source: &LoopSource) -> String {
    match source {
        LoopSource::Tools(_) => "no tool that could be called is of the kind that this case needs".to_owned(),
        LoopSource::Resources => "the server lists no resources".to_owned(),
        LoopSource::Templates => "the server lists no resource templates".to_owned(),
        LoopSource::Prompts(kind) => match kind {
            PromptKind::All => "the server lists no prompts",
            PromptKind::Argument => "the server lists no prompt with an argument",
            PromptKind::Optional => "the server lists no prompt whose arguments can be left out",
            PromptKind::Required => "the server lists no prompt with a required argument",
        }
        .to_owned(),
        LoopSource::NearMiss(_) => "no arguments can be made that the schema surely forbids".to_owned(),
        LoopSource::Boundary(_) | LoopSource::Valid(_) | LoopSource::Values(_) => {
            "no value could be made for the loop".to_owned()
        }
    }
}

/// Bytes for a generator, the same for the same seed.
fn seeded(seed: u64) -> Vec<u8> {
    use rand_chacha::rand_core::{Rng, SeedableRng};
    let mut bytes = vec![0; 1024];
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// A send that failed because the server is gone is an answer; one that failed by our fault stops the case.
pub(super) fn send_failed(error: SendError) -> Result<Answer, Stop> {
    match error {
        SendError::Link(crate::conversation::LinkError::Write(_)) => Ok(Answer::closed(None)),
        other => Err(Stop::Script(other.to_string())),
    }
}

/// The newest event of a conversation, for evidence of what did not come.
pub(super) fn last_event(events: &[Arc<Event>]) -> Option<u64> {
    events.last().map(|event| event.seq)
}

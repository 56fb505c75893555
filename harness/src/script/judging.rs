//! From what was seen to verdicts: the outcomes of a judgement, and what a control is worth.

use std::sync::Arc;

use mcp_conform_cases::ast::{Judgement, OutcomeVerdict, Step};
use mcp_conform_reports::model::Evidence;
use serde_json::Value;

use super::{
    evidence::{Sources, evidence},
    player::{Player, Round},
    seeing::Sight,
    verdict::{CaseVerdict, Word},
};
use crate::{
    conversation::{Answer, AnswerKind, Conversation, Ticket, header_document, related},
    trace::{Event, Transport},
};

/// What was seen, where, and against which control.
pub(super) struct Scene {
    pub sight: Sight,
    pub events: Vec<Arc<Event>>,
    pub ticket: Option<Ticket>,
    pub control: Option<Control>,
}

/// The base of a probe, sent unchanged.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub answer: Answer,
    pub event: u64,
}

/// A result that does what was asked for: no tool error, no refusal.
pub(super) fn served(answer: &Answer) -> bool {
    let Some(result) = answer.result() else { return false };
    result.get("isError") != Some(&Value::Bool(true))
}

impl Scene {
    pub(super) fn of(talk: &Conversation, ticket: Option<&Ticket>, answer: Answer) -> Self {
        let events = talk.events();
        let messages = ticket.map(|ticket| related(ticket, &events)).unwrap_or_default();
        // The response itself stands on the same stream; what is asked for are the others.
        let response = answer.event.filter(|_| ticket.is_some_and(|ticket| !ticket.id.is_absent()));
        let messages = messages.into_iter().filter(|(event, _)| Some(*event) != response).collect();
        let headers = (talk.transport() == Transport::Http).then(|| header_document(&answer.headers));
        let message = answer.message().unwrap_or_default();
        let sight = Sight { answer, message, headers, messages: Arc::new(messages) };
        Self { sight, events, ticket: ticket.cloned(), control: None }
    }
}

impl Player<'_> {
    /// Judges one scene by each judgement of a step.
    pub(super) fn judge(&self, round: &Round, judgements: &[Judgement], scene: &Scene) {
        for judgement in judgements {
            let Some(requirement) = judgement.requirement.of(self.stage.revision) else { continue };
            let (word, message, pointer, event) = self.decide(round, judgement, scene);
            let sources = Sources {
                sent: scene.ticket.as_ref().map(|ticket| ticket.event),
                received: event.or(scene.sight.answer.event),
                control: scene.control.as_ref().map(|control| control.event),
                pointer,
                span: None,
            };
            let evidence = self.evidence(word, &scene.events, &sources);
            self.say(CaseVerdict {
                requirement: requirement.node.clone(),
                word,
                subject: round.subject(),
                step: round.step(),
                message,
                evidence,
            });
        }
    }

    fn decide(&self, round: &Round, judgement: &Judgement, scene: &Scene) -> (Word, String, String, Option<u64>) {
        let plain = |word, message: String| (word, message, String::new(), None);
        let sight = &scene.sight;
        let came = sight.answer.describe();
        if sight.answer.status == Some(429) {
            return plain(Word::NotVerified, "the server limits the rate of requests (429)".to_owned());
        }
        if sight.answer.kind == AnswerKind::Closed && self.stage.frail.get() == Some(&true) {
            let reason = "the server ends after ordinary requests, too, so that its end says nothing here";
            return plain(Word::NotVerified, reason.to_owned());
        }
        let call = scene.ticket.as_ref().is_some_and(|ticket| ticket.method == "tools/call");
        if sight.answer.kind == AnswerKind::Closed && call && self.stage.surface().calls_end_it() {
            let reason =
                "the server ends when its tools are called as they should be, too, so that its end says nothing here";
            return plain(Word::NotVerified, reason.to_owned());
        }
        if let Some(given) = &judgement.given
            && let Err(unlike) = sight.check(given, &round.values)
        {
            if unlike.unbound {
                return plain(Word::NotVerified, unlike.message);
            }
            let reason =
                judgement.unless.clone().unwrap_or_else(|| format!("not to be judged: {}", sight.answer.came()));
            return plain(Word::NotVerified, reason);
        }
        let mut first = None;
        for outcome in &judgement.outcomes {
            let unlike = sight.check(&outcome.see, &round.values).err();
            let Some(unlike) = unlike else {
                let reason = outcome.reason.clone();
                return match outcome.verdict {
                    OutcomeVerdict::Pass => match self.control_missing(scene) {
                        Some(missing) => plain(Word::NotVerified, missing),
                        None => plain(Word::Pass, came),
                    },
                    OutcomeVerdict::Contested => {
                        plain(Word::Contested, format!("{came}: {}", reason.unwrap_or_else(|| outcome.name.clone())))
                    }
                    OutcomeVerdict::NotVerified => plain(Word::NotVerified, reason.unwrap_or(came)),
                    OutcomeVerdict::Fail | OutcomeVerdict::Warn => {
                        let says = reason.or_else(|| judgement.says.clone());
                        let mut told = self.broken(scene, says, sight.answer.came(), String::new(), None);
                        if outcome.verdict == OutcomeVerdict::Warn && told.0 == Word::Broken {
                            told.0 = Word::Warned;
                        }
                        told
                    }
                };
            };
            if unlike.unbound {
                return plain(Word::NotVerified, unlike.message);
            }
            if outcome.verdict == OutcomeVerdict::Pass {
                first.get_or_insert(unlike);
            }
        }
        let (pointer, message, event) = match first {
            Some(unlike) => (unlike.pointer, unlike.message, unlike.event),
            None => (String::new(), sight.answer.came(), None),
        };
        self.broken(scene, judgement.says.clone(), message, pointer, event)
    }

    fn broken(
        &self,
        scene: &Scene,
        says: Option<String>,
        message: String,
        pointer: String,
        event: Option<u64>,
    ) -> (Word, String, String, Option<u64>) {
        // What was served although it must not be needs no control; every other failure may have another cause.
        if !served(&scene.sight.answer)
            && let Some(missing) = self.control_missing(scene)
        {
            return (Word::NotVerified, missing, String::new(), None);
        }
        let message = match says {
            Some(says) => format!("{says}: {message}"),
            None => message,
        };
        (Word::Broken, message, pointer, event)
    }

    /// Why a refusal proves nothing: the control, which is sound, was not served either.
    fn control_missing(&self, scene: &Scene) -> Option<String> {
        let control = scene.control.as_ref()?;
        if served(&scene.sight.answer) || served(&control.answer) {
            return None;
        }
        let came = control.answer.describe();
        let hint = match control.answer.kind {
            AnswerKind::Result | AnswerKind::Error => "; give arguments that it accepts with --tool-args",
            _ => "",
        };
        Some(format!("the same request without the change got {came}, so a refusal proves nothing{hint}"))
    }

    /// Gives every judgement of these steps as not verified.
    pub(super) fn leave_out(&self, round: &Round, step: &Step, reason: &str, word: Word) {
        let say = |requirement: &mcp_conform_cases::ast::RequirementRef| {
            if let Some(requirement) = requirement.of(self.stage.revision) {
                self.say(CaseVerdict {
                    requirement: requirement.node.clone(),
                    word,
                    subject: round.subject(),
                    step: round.step(),
                    message: reason.to_owned(),
                    evidence: mcp_conform_reports::model::Evidence::default(),
                });
            }
        };
        each_requirement(step, &mut |requirement| say(requirement));
    }

    /// What was seen, and how it is seen again.
    pub(super) fn evidence(&self, word: Word, events: &[Arc<Event>], sources: &Sources) -> Evidence {
        // A pass needs no excerpt: it is the usual case and the trace has it.
        if word == Word::Pass {
            return Evidence::default();
        }
        let repro = &self.stage.repro;
        let told = word.is_breach() || word == Word::Contested;
        let by_hand = told.then(|| repro.by_hand(events, sources, &self.others(events))).flatten();
        evidence(events, sources, repro.command(self.stage.revision, [self.case.id.as_str()]), by_hand)
    }
}

/// Every requirement that a step can judge, nested steps included.
pub fn each_requirement<'a>(step: &'a Step, f: &mut dyn FnMut(&'a mcp_conform_cases::ast::RequirementRef)) {
    let mut judgements = |list: &'a [Judgement]| list.iter().for_each(|judgement| f(&judgement.requirement));
    match step {
        Step::Await(step) => judgements(&step.judgements),
        Step::Expect(step) => judgements(&step.judgements),
        Step::Http(step) => judgements(&step.judgements),
        Step::HttpRaw(step) => judgements(&step.judgements),
        Step::Notify(step) => judgements(&step.judgements),
        Step::Probe(step) => judgements(&step.judgements),
        Step::Request(step) => judgements(&step.judgements),
        Step::Retry(step) => judgements(&step.judgements),
        Step::ExpectExit(step) => f(&step.requirement),
        Step::ExpectNothing(step) => f(&step.requirement),
        Step::Check(step) => step.judges.iter().for_each(|(_, requirement)| f(requirement)),
        Step::ForEach(step) => step.steps.iter().for_each(|step| each_requirement(&step.node, f)),
        Step::Parallel(branches) => {
            branches.iter().flatten().for_each(|step| each_requirement(&step.node, f));
        }
        Step::Answer { .. }
        | Step::Cancel { .. }
        | Step::CloseStdin { .. }
        | Step::CloseStream { .. }
        | Step::DropConnection { .. }
        | Step::Open(_)
        | Step::Raw(_)
        | Step::Require(_)
        | Step::Send(_)
        | Step::Signal { .. }
        | Step::Snapshot { .. } => {}
    }
}

//! What each step does.

use bytes::Bytes;
use mcp_conform_cases::ast::{
    Await, AwaitTarget, Capture, Change, ConversationRef, Expect, ExpectExit, ExpectSubject, Http, HttpRaw, Judgement,
    Notify, Probe, ProcessSignal, Raw, Request, RequestStep, Require, Requirement, Send, Spanned, Step, Template,
};
use serde_json::{Value, json};

use super::{
    checks,
    evidence::Sources,
    judging::{Control, Scene},
    player::{Handle, Player, Round, Stop, last_event, send_failed},
    seeing,
    verdict::{CaseVerdict, Word},
};
use crate::{
    conversation::{Alteration, Answer, AnswerKind, Call, Conversation, Draft, Ticket},
    trace::{Body, Direction},
    wire::{Id, Message},
};

impl Player<'_> {
    pub(super) async fn step(&self, round: &mut Round, step: &Step, path: &str) -> Result<(), Stop> {
        match step {
            Step::Answer { of, with } => self.answer_server(round, of, with, path).await,
            Step::Await(step) => self.await_(round, step, path).await,
            Step::Cancel { of } => {
                let handle = round.handle(of)?;
                self.mark(round, &handle.talk, &format!("{path}.cancel"));
                handle.talk.cancel(&handle.ticket).await.or_else(|error| send_failed(error).map(drop))
            }
            Step::Check(step) => {
                let talk = self.talk(round, &step.on).await?;
                self.mark(round, &talk, &format!("{path}.check"));
                checks::run(self, round, step, &talk).await
            }
            Step::CloseStdin { on } => {
                let talk = self.talk(round, on).await?;
                self.mark(round, &talk, &format!("{path}.close_stdin"));
                talk.retire("stdin was closed");
                talk.link().close_stdin().map_err(|error| Stop::Script(error.to_string()))
            }
            Step::CloseStream { of } => {
                let handle = round.handle(of)?;
                self.mark(round, &handle.talk, &format!("{path}.close_stream"));
                handle.talk.retire("a stream was closed");
                if let Some(exchange) = handle.ticket.exchange {
                    handle.talk.link().close_exchange(exchange);
                }
                Ok(())
            }
            Step::DropConnection { on } => {
                let talk = self.talk(round, on).await?;
                self.mark(round, &talk, &format!("{path}.drop_connection"));
                talk.drop_connection().await;
                Ok(())
            }
            Step::Expect(step) => self.expect(round, step),
            Step::ExpectExit(step) => self.expect_exit(round, step, path).await,
            Step::ExpectNothing(step) => {
                let ticket = step.of.as_ref().map(|of| round.handle(of)).transpose()?;
                let talk = match &ticket {
                    Some(handle) => handle.talk.clone(),
                    None => self.talk(round, &step.on).await?,
                };
                self.oblige(round, talk, ticket.map(|handle| handle.ticket), step);
                Ok(())
            }
            Step::ForEach(step) => self.for_each(round, step, path).await,
            Step::Http(step) => self.http(round, step, path).await,
            Step::HttpRaw(step) => self.http_raw(round, step, path).await,
            Step::Notify(step) => self.notify(round, step, path).await,
            Step::Open(step) => self.open(round, &step.name.node, &step.setup).await,
            Step::Parallel(branches) => self.parallel(round, branches, path).await,
            Step::Probe(step) => self.probe(round, step, path).await,
            Step::Raw(step) => self.raw(round, step, path).await,
            Step::Request(step) => self.request(round, step, path).await,
            Step::Require(step) => self.require(round, step),
            Step::Retry(step) => self.retry(round, step, path).await,
            Step::Send(step) => self.send(round, step, path).await,
            Step::Signal { on, signal } => {
                let talk = self.talk(round, on).await?;
                self.mark(round, &talk, &format!("{path}.signal"));
                talk.retire("a signal was sent");
                let signal = match signal {
                    ProcessSignal::Interrupt => crate::process::Signal::Interrupt,
                    ProcessSignal::Kill => crate::process::Signal::Kill,
                    ProcessSignal::Terminate => crate::process::Signal::Terminate,
                };
                talk.link().signal(signal).map_err(|error| Stop::Script(error.to_string()))
            }
            Step::Snapshot { of, name } => {
                let handle = round.handle(of)?;
                // What was not awaited has no answer to keep; whoever keeps snapshots tells.
                if let Some(answer) = handle.answer {
                    self.keep_snapshot(name, answer);
                }
                Ok(())
            }
        }
    }

    async fn send(&self, round: &mut Round, step: &Send, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.send"));
        let call = self.call(round, &step.request, &step.wrong)?;
        let handle = self.dispatch(&talk, call).await?;
        round.keep(&step.handle.node, handle);
        Ok(())
    }

    async fn request(&self, round: &mut Round, step: &RequestStep, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.request"));
        let call = self.call(round, &step.request, &step.wrong)?;
        let mut handle = self.dispatch(&talk, call).await?;
        self.settle(&mut handle, step.within).await;
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &step.captures)
    }

    async fn await_(&self, round: &mut Round, step: &Await, path: &str) -> Result<(), Stop> {
        match &step.target {
            AwaitTarget::Answer { of } => {
                let mut handle = round.handle(of)?;
                self.mark(round, &handle.talk, &format!("{path}.await"));
                self.settle(&mut handle, step.within).await;
                self.conclude(round, handle, Some(of), &step.judgements, &step.captures)
            }
            AwaitTarget::Message { on, of, like, handle: name } => {
                let asked = of.as_ref().map(|of| round.handle(of)).transpose()?;
                let talk = match &asked {
                    Some(handle) => handle.talk.clone(),
                    None => self.talk(round, on).await?,
                };
                self.mark(round, &talk, &format!("{path}.await"));
                // A message that came before the step counts, where it belongs to a request of this case; else only
                // what comes from the opening of the conversation on can be meant.
                let from = asked.as_ref().map_or(0, |handle| handle.ticket.event);
                let values = round.values.clone();
                let ticket = asked.as_ref().map(|handle| handle.ticket.clone());
                let within = step.within.map(|within| self.stage.stretched(within));
                let found = talk
                    .message(from, "a message of the server", within, |event| {
                        let view = event.message().filter(|view| view.direction == Direction::In)?;
                        let json = view.frame.json.as_ref()?;
                        if let Some(ticket) = &ticket
                            && crate::conversation::related(ticket, std::slice::from_ref(event)).is_empty()
                        {
                            return None;
                        }
                        seeing::check(like, Some(&json.to_value()), &values).ok()?;
                        Some((event.seq, view.frame.clone()))
                    })
                    .await;
                let (answer, id, event) = match found {
                    Some((event, frame)) => {
                        let id = Id::of(frame.json.as_ref().and_then(|json| json.get("id")));
                        (message_answer(event, frame), id, event)
                    }
                    None => {
                        let event = last_event(&talk.events()).unwrap_or_default();
                        (Answer::silence(Some(event)), Id::Absent, event)
                    }
                };
                let method = "a message of the server".to_owned();
                let ticket =
                    Ticket { conversation: talk.number(), event, exchange: None, id: id.clone(), method, token: None };
                let asked = (!id.is_absent()).then_some(id);
                let handle = Handle { talk, ticket, answer: Some(answer), call: None, asked };
                self.conclude(round, handle, name.as_ref(), &step.judgements, &step.captures)
            }
        }
    }

    async fn notify(&self, round: &mut Round, step: &Notify, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.notify"));
        let Some(method) = step.method.of(self.stage.revision) else { return Ok(()) };
        let call = Call {
            method: method.node.clone(),
            params: step.params.as_ref().map(|params| round.values.fill(&params.node)).transpose()?,
            headers: headers(round, &step.headers)?,
            wrong: step.wrong.clone(),
            ..Call::default()
        };
        let http = talk.transport() == crate::trace::Transport::Http;
        let (ticket, mut answer) = match talk.notify(call).await {
            Ok(ticket) => (ticket, None),
            Err(error) => (ticket_of(&talk), Some(send_failed(error)?)),
        };
        // Over stdio a notification has no answer to wait for.
        if http && answer.is_none() {
            answer = Some(talk.answer(&ticket, None).await);
        }
        let handle = Handle { talk, ticket, answer, call: None, asked: None };
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &[])
    }

    async fn raw(&self, round: &mut Round, step: &Raw, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.raw"));
        match talk.raw(Bytes::from(step.bytes.clone()), &step.split).await {
            Ok(_) => Ok(()),
            Err(error) => send_failed(error).map(drop),
        }
    }

    async fn http(&self, round: &mut Round, step: &Http, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.http"));
        let headers = headers(round, &step.headers)?;
        let body = match &step.body {
            None => Bytes::new(),
            Some(body) => match round.values.fill(&body.node)? {
                Draft::Value(Value::String(text)) => Bytes::from(text),
                other => Bytes::from(other.text()),
            },
        };
        let sent = talk.http(&step.method, step.path.clone(), headers, body, step.bare).await;
        let ticket = sent.map_err(|error| Stop::Script(error.to_string()))?;
        let mut handle = Handle { talk, ticket, answer: None, call: None, asked: None };
        self.settle(&mut handle, step.within).await;
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &step.captures)
    }

    async fn http_raw(&self, round: &mut Round, step: &HttpRaw, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        self.mark(round, &talk, &format!("{path}.http_raw"));
        let bytes = talk.link().place(&step.bytes);
        let ticket = talk.http_raw(bytes, &step.split).await.map_err(|error| Stop::Script(error.to_string()))?;
        let mut handle = Handle { talk, ticket, answer: None, call: None, asked: None };
        self.settle(&mut handle, step.within).await;
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &[])
    }

    async fn probe(&self, round: &mut Round, step: &Probe, path: &str) -> Result<(), Stop> {
        let talk = self.talk(round, &step.on).await?;
        let base = self.call(round, &step.base, &[])?;
        let change = self.alteration(round, &step.change.node)?;

        self.mark(round, &talk, &format!("{path}.probe.control"));
        let key = format!("{} {base:?}", talk.number());
        let control = match self.known_control(&key) {
            Some(control) => control,
            None => {
                let mut handle = self.dispatch(&talk, base.clone()).await?;
                self.settle(&mut handle, step.within).await;
                let event = handle.ticket.event;
                let control = Control { answer: handle.answer.unwrap_or_else(|| Answer::silence(None)), event };
                self.keep_control(key, control.clone());
                control
            }
        };

        // A control that killed the server leaves nothing to probe; the next step opens another one.
        let talk = if talk.link().is_open() { talk } else { self.talk(round, &step.on).await? };
        self.mark(round, &talk, &format!("{path}.probe"));
        let mut handle = self.dispatch(&talk, Call { change: Some(change), ..base }).await?;
        self.settle(&mut handle, step.within).await;
        let answer = handle.answer.clone().unwrap_or_else(|| Answer::silence(None));
        let mut scene = Scene::of(&handle.talk, Some(&handle.ticket), answer);
        scene.control = Some(control);
        self.judge(round, &step.judgements, &scene);
        if let Some(name) = &step.handle {
            round.keep(&name.node, handle);
        }
        Ok(())
    }

    fn expect(&self, round: &mut Round, step: &Expect) -> Result<(), Stop> {
        match &step.subject {
            ExpectSubject::Answer(of) => {
                let handle = round.handle(of)?;
                let Some(answer) = handle.answer.clone() else {
                    return Err(Stop::Script(format!("{} was not awaited", of.node)));
                };
                let scene = Scene::of(&handle.talk, Some(&handle.ticket), answer);
                self.judge(round, &step.judgements, &scene);
                // What came since the answer was taken is part of the document from now on.
                round.keep(&of.node, handle);
            }
            ExpectSubject::Value(template) => {
                let value = round.values.value(&template.node)?;
                let mut answer = Answer::silence(None);
                answer.kind = AnswerKind::Result;
                let message = json!({ "result": value });
                let sight =
                    super::seeing::Sight { answer, message, headers: None, messages: std::sync::Arc::default() };
                let scene = Scene { sight, events: Vec::new(), ticket: None, control: None };
                self.judge(round, &step.judgements, &scene);
            }
        }
        Ok(())
    }

    fn require(&self, round: &mut Round, step: &Require) -> Result<(), Stop> {
        let met = match &step.what {
            Requirement::Answer { of, see } => {
                let handle = round.handle(of)?;
                let answer = handle.answer.clone().unwrap_or_else(|| Answer::silence(None));
                let scene = Scene::of(&handle.talk, Some(&handle.ticket), answer);
                scene.sight.check(see, &round.values).map_err(|unlike| unlike.message)
            }
            Requirement::Differ(templates) => {
                let values: Vec<Value> =
                    templates.iter().map(|t| round.values.value(&t.node)).collect::<Result<_, _>>()?;
                let all_differ =
                    values.iter().enumerate().all(|(i, value)| !values.iter().skip(i + 1).any(|v| v == value));
                if all_differ { Ok(()) } else { Err("they are equal".to_owned()) }
            }
            Requirement::Value { that, is } => {
                let value = round.values.value(&that.node).ok();
                let mismatch = seeing::check(is, value.as_ref(), &round.values).err();
                match (value, mismatch) {
                    (_, None) => Ok(()),
                    // What did not come at all is what the reason tells.
                    (None, Some(_)) => return Err(Stop::Missing(step.reason.clone())),
                    (Some(_), Some(mismatch)) => Err(mismatch.message),
                }
            }
        };
        met.map_err(|came| Stop::Missing(format!("{} ({came})", step.reason)))
    }

    async fn expect_exit(&self, round: &mut Round, step: &ExpectExit, path: &str) -> Result<(), Stop> {
        let talk = self.talk_as_it_is(round, &step.on)?;
        self.mark(round, &talk, &format!("{path}.expect_exit"));
        talk.retire("the process was to end");
        // Where a start takes long, an end does as well, and that is the machine's doing.
        let time = step.within.unwrap_or(talk.bench().deadlines.exit).max(talk.bench().slowest_start());
        let started = tokio::time::Instant::now();
        let exit = talk
            .recorder()
            .wait(0, started + time, |event| match &event.body {
                Body::Exited(exit) => Some((event.seq, exit.clone())),
                _ => None,
            })
            .await;
        let Some(requirement) = step.requirement.of(self.stage.revision) else { return Ok(()) };
        let (word, message, received) = match exit {
            Ok((event, exit)) => {
                let code_met = step.code.is_empty() || exit.code.is_some_and(|code| step.code.contains(&code));
                let how = match exit.code {
                    Some(code) => format!("the process ended with status {code}"),
                    None => "the process was ended by a signal".to_owned(),
                };
                (if code_met { Word::Pass } else { Word::Broken }, how, Some(event))
            }
            Err(_) => {
                talk.bench().count_wait(started.elapsed());
                let after = started.elapsed();
                let event = talk.recorder().push(Body::DeadlinePassed(crate::trace::DeadlinePassed {
                    what: "end of the process".to_owned(),
                    request: None,
                    after,
                }));
                (Word::Broken, format!("the process still ran after {:.1} s", after.as_secs_f64()), Some(event))
            }
        };
        let message = match (&step.says, word) {
            (Some(says), Word::Broken) => format!("{says}: {message}"),
            _ => message,
        };
        let evidence = self.evidence(word, &talk.events(), &Sources { received, ..Sources::default() });
        let requirement = requirement.node.clone();
        self.say(CaseVerdict { requirement, word, subject: round.subject(), step: round.step(), message, evidence });
        Ok(())
    }

    async fn answer_server(
        &self,
        round: &mut Round,
        of: &Spanned<String>,
        with: &Spanned<Template>,
        path: &str,
    ) -> Result<(), Stop> {
        let handle = round.handle(of)?;
        let Some(id) = &handle.asked else {
            return Err(Stop::Missing(format!("{} is no request of the server", of.node)));
        };
        self.mark(round, &handle.talk, &format!("{path}.answer"));
        let result = round.values.fill(&with.node)?;
        handle.talk.respond(id, result).await.or_else(|error| send_failed(error).map(drop))
    }

    /// The conversation as it stands, dead or alive.
    fn talk_as_it_is(&self, round: &Round, on: &ConversationRef) -> Result<Conversation, Stop> {
        let name = on.as_ref().map_or("main", |name| name.node.as_str());
        let lease =
            round.talks.get(name).ok_or_else(|| Stop::Script(format!("the conversation {name} is not open")))?;
        Ok(lease.talk.clone())
    }

    /// Sends a call; a server that is gone gives a handle whose answer is the end of the connection.
    pub(super) async fn dispatch(&self, talk: &Conversation, call: Call) -> Result<Handle, Stop> {
        let kept = Some(call.clone());
        if let Some(key) = plain(&call)
            && !self.fresh
            && self.stage.is_dead(&key)
        {
            return Err(Stop::Missing(format!("{key} was asked often and never answered, so it was not asked again")));
        }
        match talk.send(call).await {
            Ok(ticket) => Ok(Handle { talk: talk.clone(), ticket, answer: None, call: kept, asked: None }),
            Err(error) => {
                let answer = send_failed(error)?;
                let ticket = ticket_of(talk);
                Ok(Handle { talk: talk.clone(), ticket, answer: Some(answer), call: kept, asked: None })
            }
        }
    }

    pub(super) async fn settle(&self, handle: &mut Handle, within: Option<std::time::Duration>) {
        // What had not come by an earlier deadline may have come since, or come now.
        if handle.answer.as_ref().is_none_or(|answer| answer.kind == AnswerKind::Silence) {
            let odd = handle.call.as_ref().is_some_and(|call| plain(call).is_none());
            let short = within.map(|within| self.stage.stretched(within));
            let time = short.or_else(|| odd.then(|| self.stage.odd_deadline()));
            let answer = handle.talk.answer(&handle.ticket, time).await;
            match handle.call.as_ref().and_then(plain) {
                Some(key) if answer.kind != AnswerKind::Silence => self.stage.note_answer(&key),
                Some(key) if within.is_none() => self.stage.note_silence(&key),
                _ => {}
            }
            if handle.ticket.method == "initialize" && handle.talk.negotiated().is_none() {
                // A script that shakes hands by itself goes on with what was settled; a refusal settles nothing.
                let _ = crate::conversation::settle(&handle.talk, &handle.ticket, answer.clone());
            }
            handle.answer = Some(answer);
        }
        if handle.answer.as_ref().is_some_and(|answer| answer.kind == AnswerKind::Closed) {
            self.stage.look_if_frail().await;
            if handle.ticket.method == "tools/call" {
                // What sound calls do is the control.
                self.stage.used().await;
            }
        }
    }

    /// Judges, captures and keeps what a step brought.
    pub(super) fn conclude(
        &self,
        round: &mut Round,
        handle: Handle,
        name: Option<&Spanned<String>>,
        judgements: &[Judgement],
        captures: &[Capture],
    ) -> Result<(), Stop> {
        if let Some(answer) = &handle.answer {
            let scene = Scene::of(&handle.talk, Some(&handle.ticket), answer.clone());
            self.judge(round, judgements, &scene);
        }
        let events = handle.talk.events();
        let document = crate::conversation::document(&handle.ticket, handle.answer.as_ref(), &events);
        if let Some(name) = name {
            round.keep(&name.node, handle);
        }
        for capture in captures {
            let Some(value) = document.pointer(&capture.pointer) else {
                return Err(Stop::Missing(format!("the answer has nothing at {}", capture.pointer)));
            };
            round.values.set(&capture.variable, value.clone());
        }
        Ok(())
    }

    pub(super) fn call(&self, round: &Round, request: &Request, wrong: &[String]) -> Result<Call, Stop> {
        let method = request
            .method
            .of(self.stage.revision)
            .ok_or_else(|| Stop::Script(format!("no method is given for revision {}", self.stage.revision)))?;
        let text = |template: &Option<Spanned<Template>>| -> Result<Option<String>, Stop> {
            Ok(template.as_ref().map(|t| round.values.fill(&t.node)).transpose()?.map(|draft| draft.text()))
        };
        Ok(Call {
            method: method.node.clone(),
            params: request.params.as_ref().map(|params| round.values.fill(&params.node)).transpose()?,
            id: text(&request.id)?,
            token: text(&request.token)?,
            capabilities: request
                .capabilities
                .as_ref()
                .map(|capabilities| round.values.value(&capabilities.node))
                .transpose()?,
            headers: headers(round, &request.headers)?,
            wrong: wrong.to_vec(),
            change: None,
        })
    }

    fn alteration(&self, round: &Round, change: &Change) -> Result<Alteration, Stop> {
        Ok(match change {
            Change::Capabilities(value) => Alteration::Capabilities(round.values.fill(value)?),
            Change::Header { name, value } => Alteration::Header {
                name: name.clone(),
                value: value.as_ref().map(|value| round.values.header(value)).transpose()?,
            },
            Change::Remove { pointer } => Alteration::Remove { pointer: pointer.clone() },
            Change::Set { pointer, value } => {
                Alteration::Set { pointer: pointer.clone(), value: round.values.fill(value)? }
            }
            Change::Version(value) => Alteration::Version(round.values.fill(value)?),
        })
    }
}

/// The name under which a sound call is known to the circuit breaker: the method, and the tool that is called.
fn plain(call: &Call) -> Option<String> {
    if call.change.is_some() || call.id.is_some() || !call.wrong.is_empty() {
        return None;
    }
    let name = call.params.as_ref().filter(|_| call.method == "tools/call").and_then(|params| params.get("name"));
    Some(match name.map(|name| name.to_value()) {
        Some(Value::String(name)) => format!("{} of {name}", call.method),
        _ => call.method.clone(),
    })
}

/// Headers that are added or replaced, or left out.
type HeaderChanges = Vec<(String, Option<Vec<u8>>)>;

fn headers(round: &Round, headers: &[(String, Option<Spanned<Template>>)]) -> Result<HeaderChanges, Stop> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = value.as_ref().map(|value| round.values.header(&value.node)).transpose()?;
            Ok((name.clone(), value))
        })
        .collect()
}

/// A ticket for something that could not be sent.
fn ticket_of(talk: &Conversation) -> Ticket {
    Ticket {
        conversation: talk.number(),
        event: last_event(&talk.events()).unwrap_or_default(),
        exchange: None,
        id: Id::Absent,
        method: String::new(),
        token: None,
    }
}

/// A message of the server, looked at as an answer: `see: answered` holds for it.
fn message_answer(event: u64, frame: std::sync::Arc<crate::wire::Frame>) -> Answer {
    let mut answer = Answer::silence(Some(event));
    answer.kind = match frame.message {
        Message::Error { .. } => AnswerKind::Error,
        Message::Result { .. } => AnswerKind::Result,
        _ => AnswerKind::Plain,
    };
    answer.frame = Some(frame);
    answer
}

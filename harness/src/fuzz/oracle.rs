//! What is held against a server: the breaches of the rules, and what no rule needs a sentence for, such as a death.
//!
//! [`Suspicion`] is one of them, before it was seen a second time. Two suspicions of one [`Suspicion::key`] are one bug.

use mcp_conform_cases::{Catalogue, Grade};
use mcp_conform_reports::model::Verdict;
use mcp_conform_schemas::{Era, Revision};
use serde::{Deserialize, Serialize};

use super::{
    habits::Habits,
    input::{Act, Forbidden, Input},
    inside::{mentions, trace_in, trace_of},
    outcome::{Astray, Breach, Class, Gone, Outcome, Played, Way},
    states::gist,
};
use crate::{
    rules,
    trace::{Exit, Transport},
};

/// What kind of oracle speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Something was carried out that must not be.
    Accepted,
    /// A message came for a subscription or on a stream that it does not belong to.
    Astray,
    /// The process ended.
    Death,
    /// It did not end in order once its input was closed.
    Exit,
    /// Memory or descriptors grow with each round.
    Growth,
    /// It answers nothing any more.
    Hang,
    /// What one conversation sent came back in another.
    Leak,
    /// No answer to a sound request.
    Lost,
    /// It refuses what it served before.
    Refused,
    /// A rule of the suite was broken.
    Rule,
    /// An HTTP status of 500 and above.
    ServerError,
    /// The inside of the server shows in what it says.
    StackTrace,
    /// The answer to one request came to another.
    Swapped,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Astray => "astray",
            Self::Death => "death",
            Self::Exit => "exit",
            Self::Growth => "growth",
            Self::Hang => "hang",
            Self::Leak => "leak",
            Self::Lost => "lost",
            Self::Refused => "refused",
            Self::Rule => "rule",
            Self::ServerError => "server-error",
            Self::StackTrace => "stack-trace",
            Self::Swapped => "swapped",
        }
    }

    /// The kind behind a requirement that is the fuzzer's own.
    pub fn of_requirement(id: &str) -> Option<Self> {
        let name = id.strip_prefix("own/fuzz-")?;
        serde_json::from_value(name.into()).ok()
    }

    /// A machine under load can look like it: what is not seen again is nothing.
    pub fn is_of_time(self) -> bool {
        matches!(self, Self::Exit | Self::Growth | Self::Hang | Self::Lost)
    }

    /// What is right, in one sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Accepted => "What breaks a promise of the server is not carried out",
            Self::Astray => "A message comes where it belongs",
            Self::Death => "The server lives, whatever it is sent",
            Self::Exit => "The server ends in order when its input is closed",
            Self::Growth => "Memory and descriptors do not grow with each round",
            Self::Hang => "The server goes on answering, whatever it is sent",
            Self::Leak => "What one conversation sends stays in it",
            Self::Lost => "Each sound request is answered",
            Self::Refused => "What was served before is served on",
            Self::Rule => "The rules of the suite hold",
            Self::ServerError => "What a client sends is no error of the server",
            Self::StackTrace => "Errors do not show the inside of the server",
            Self::Swapped => "Each request gets its own answer",
        }
    }
}

/// Something that may be a bug.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    pub kind: Kind,
    /// Id of the catalogue, or `own/fuzz-…`.
    pub requirement: String,
    pub revision: Revision,
    /// What broke and where, without values: equal for one bug.
    pub place: String,
    /// What is wrong, with the values.
    pub message: String,
    pub verdict: Verdict,
    /// Id of the rule, or `fuzz`.
    pub check: String,
    /// Step of the input that it is about.
    pub step: Option<usize>,
    /// Conversation of the input, and the events in it that show it.
    pub lane: usize,
    pub sent: Option<u64>,
    pub received: Option<u64>,
    pub pointer: String,
}

impl Suspicion {
    pub fn key(&self) -> String {
        format!("{} {} {} {}", self.kind.as_str(), self.revision, self.requirement, self.place)
    }
}

/// Everything that is to be held against the server after an input.
pub(super) fn look(era: Era, transport: Transport, input: &Input, played: &Played, habits: &Habits) -> Vec<Suspicion> {
    let eye = Eye { revision: era.judged(), transport };
    let mut out: Vec<Suspicion> = played.breaches.iter().filter_map(|breach| eye.breach(breach)).collect();
    for gone in &played.gone {
        out.push(eye.death(gone));
    }
    if let Some((lane, after)) = played.deaf.filter(|_| played.gone.is_empty()) {
        let culprit = culprit(input, played);
        let beside = if played.at_work { ", while calls were not answered yet" } else { "" };
        let words = format!("after {culprit} a plain request got no answer for {:.1} s{beside}", after.as_secs_f64());
        // How long a tool works is its own business, and in 2026-07-28 no sentence says that another answer may not wait for it.
        let verdict = if played.at_work && era == Era::Modern { Verdict::Warn } else { Verdict::Fail };
        out.push(Suspicion { lane, ..eye.own(Kind::Hang, culprit, words, verdict) });
    }
    // Over HTTP a session may have been ended, a token may have expired, a server may limit how much it takes, and what
    // stands before it may not reach it.
    let limits =
        |outcome: &Outcome| matches!(outcome.status, Some(401 | 403 | 404 | 407 | 410 | 413 | 429 | 502..=504));
    if let Some((lane, outcome)) = played.refused.as_ref().filter(|(_, outcome)| !limits(outcome)) {
        let status = outcome.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let code = outcome.code.map(|code| format!(" ({code})")).unwrap_or_default();
        let words = format!("after this {} is refused, which is served otherwise{status}{code}", outcome.method);
        out.push(Suspicion {
            lane: *lane,
            sent: outcome.sent,
            received: outcome.event,
            ..eye.own(Kind::Refused, outcome.method.clone(), words, Verdict::Fail)
        });
    }
    out.extend(played.astray.iter().map(|astray| eye.astray(astray)));
    for (index, outcome) in played.outcomes.iter().enumerate() {
        let lane = input.steps.get(index).map_or(0, |step| usize::from(step.on));
        let found = eye.outcome(input, index, outcome, played, habits);
        let (step, sent, received) = (Some(index), outcome.sent, outcome.event);
        out.extend(found.into_iter().map(|it| Suspicion { step, lane, sent, received, ..it }));
    }
    out
}

/// What the end of a life showed.
pub(super) fn look_at_end(era: Era, transport: Transport, breaches: &[Breach]) -> Vec<Suspicion> {
    let eye = Eye { revision: era.judged(), transport };
    breaches.iter().filter_map(|breach| eye.breach(breach)).collect()
}

/// The end of a server that others share.
pub(super) fn death(era: Era, gone: &Gone) -> Suspicion {
    Eye { revision: era.judged(), transport: Transport::Http }.death(gone)
}

/// A server that was reached before cannot be reached any more.
pub(super) fn unreachable(era: Era, transport: Transport, why: &str) -> Suspicion {
    let words = format!("what was sent before left the server so that no conversation can be opened: {why}");
    Eye { revision: era.judged(), transport }.own(Kind::Hang, "opening".to_owned(), words, Verdict::Fail)
}

/// A process that did not end in order after its input was closed. In 2025-11-25 no sentence says that it may not end first what
/// it is at.
pub(super) fn bad_exit(
    era: Era,
    transport: Transport,
    exit: Option<&Exit>,
    signalled: bool,
    at_work: bool,
) -> Option<Suspicion> {
    let eye = Eye { revision: era.judged(), transport };
    let words = match exit {
        _ if signalled && at_work && era == Era::Legacy => return None,
        _ if signalled => "the process went on after its input was closed, and had to be ended by a signal".to_owned(),
        Some(Exit { signal: Some(signal), .. }) => {
            format!("the process was ended by signal {signal} after its input was closed")
        }
        Some(Exit { code: Some(code), .. }) if *code != 0 => {
            format!("the process ended with status {code} after its input was closed")
        }
        _ => return None,
    };
    Some(eye.own(Kind::Exit, gist(&words), words, Verdict::Warn))
}

/// Memory beyond what is allowed, whatever grew.
pub(super) const LIMIT: &str = "limit";

/// Memory or descriptors that grow with each round of an input.
pub(super) fn growth(era: Era, transport: Transport, input: &Input, what: &str, words: String) -> Suspicion {
    let eye = Eye { revision: era.judged(), transport };
    let methods: std::collections::BTreeSet<String> = input.steps.iter().map(|step| name_of(&step.act)).collect();
    let place = match what {
        // What is at hand when it is passed has not brought it about alone.
        LIMIT => what.to_owned(),
        what => format!("{what} {}", methods.into_iter().collect::<Vec<_>>().join(" ")),
    };
    eye.own(Kind::Growth, place, words, Verdict::Warn)
}

struct Eye {
    revision: Revision,
    transport: Transport,
}

impl Eye {
    fn own(&self, kind: Kind, place: String, message: String, verdict: Verdict) -> Suspicion {
        Suspicion {
            kind,
            requirement: format!("own/fuzz-{}", kind.as_str()),
            revision: self.revision,
            place,
            message,
            verdict,
            check: "fuzz".to_owned(),
            step: None,
            lane: 0,
            sent: None,
            received: None,
            pointer: String::new(),
        }
    }

    fn of_row(&self, kind: Kind, id: &str, place: String, message: String) -> Suspicion {
        let row = Catalogue::get().row(id, self.revision);
        let verdict = row.map_or(Verdict::Warn, |row| graded(row.grade));
        Suspicion { requirement: id.to_owned(), ..self.own(kind, place, message, verdict) }
    }

    fn breach(&self, breach: &Breach) -> Option<Suspicion> {
        let violation = &breach.violation;
        if violation.under.is_some() {
            return None;
        }
        // What is no request of ours is quoted as it was.
        if ["errors-message-concise", "error-message-concise"].contains(&breach.requirement)
            && violation.related.is_none()
        {
            return None;
        }
        let row = Catalogue::get().row(breach.requirement, breach.revision)?;
        let verdict = match violation.outcome {
            rules::Outcome::Broken => graded(row.grade),
            rules::Outcome::Warning => graded(row.grade).max(Verdict::Warn),
            // What text and field disagree about is told by a run; a night finds nothing new in it.
            rules::Outcome::Contested(_) => return None,
        };
        let pointer: Vec<&str> =
            violation.pointer.split('/').map(|part| if part.parse::<u64>().is_ok() { "*" } else { part }).collect();
        // What is wrong with a stream is wrong with it whatever it carries.
        let method = if breach.rule == "sse" { "a stream" } else { &breach.method };
        let pointer = pointer.join("/");
        Some(Suspicion {
            kind: Kind::Rule,
            requirement: breach.requirement.to_owned(),
            revision: breach.revision,
            place: format!("{method} {pointer}"),
            message: violation.message.clone(),
            verdict,
            check: breach.rule.to_owned(),
            step: None,
            lane: breach.lane,
            sent: violation.related,
            received: Some(violation.event),
            pointer: violation.pointer.clone(),
        })
    }

    fn death(&self, gone: &Gone) -> Suspicion {
        let how = match &gone.exit {
            Some(Exit { code: Some(code), .. }) => format!("ended with status {code}"),
            Some(Exit { signal: Some(signal), .. }) => format!("was ended by signal {signal}"),
            _ => "closed its output".to_owned(),
        };
        let at = trace_in(&gone.said);
        let place = at.clone().unwrap_or_else(|| format!("{how} {}", gone.method));
        let said = gone.said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let said = at.map(|at| format!("; stderr: {at}")).unwrap_or_else(|| match said {
            "" => String::new(),
            said => format!("; the last line on stderr: {}", said.chars().take(200).collect::<String>()),
        });
        let message = format!("the server {how} after {}{said}", gone.method);
        // A server may close its output and exit.
        let in_order = matches!(gone.exit, Some(Exit { code: Some(0), .. }));
        let verdict = if in_order { Verdict::Warn } else { Verdict::Fail };
        Suspicion { lane: gone.lane, ..self.own(Kind::Death, place, message, verdict) }
    }

    fn outcome(
        &self,
        input: &Input,
        index: usize,
        outcome: &Outcome,
        played: &Played,
        habits: &Habits,
    ) -> Vec<Suspicion> {
        let mut out = Vec::new();
        let subject = subject(outcome);
        let quiet = played.gone.is_empty() && played.deaf.is_none();
        if outcome.class == Class::Unanswered && outcome.sound && outcome.sent.is_some() && quiet {
            let cancelled = input
                .steps
                .iter()
                .any(|step| matches!(step.act, Act::Cancel(of) | Act::CloseStream(of) if of == index));
            let dropped = input.steps.iter().any(|step| step.act == Act::Drop);
            if !cancelled && !dropped {
                let words = format!("no answer to {subject}, though the server answers others");
                out.push(self.own(Kind::Lost, subject.clone(), words, Verdict::Fail));
            }
        }
        // Of what stands before a server: 502, 504 and all that no standard names. An error of the protocol's own may come
        // with any status (C31).
        let own = |status: &u16| matches!(status, 500 | 506..=511);
        let told = outcome.sound && outcome.class == Class::Error;
        if let Some(status) = outcome.status.filter(own).filter(|_| !told) {
            let words = format!("{subject} was answered with HTTP {status}");
            // What is under way when its session ends fails for that, whatever it asks for.
            let place = if ends_session(input, index) { "beside DELETE" } else { subject.as_str() };
            out.push(self.own(Kind::ServerError, format!("{status} {place}"), words, Verdict::Warn));
        }
        if let Some(trace) = trace_of(outcome)
            && !mentions(input, &trace)
        {
            let words = format!("the answer to {subject} shows the inside of the server: {trace}");
            out.push(self.own(Kind::StackTrace, format!("{subject} {}", gist(&trace)), words, Verdict::Warn));
        }
        // Which of two requests under one id an answer is meant for is open.
        let id = input.steps.get(index).and_then(|step| step.message()?.id.as_ref());
        let under_it = input.steps.iter().filter(|step| step.message().is_some_and(|it| it.id.as_ref() == id));
        let alone = id.is_none() || under_it.count() < 2;
        if let Some(message) = input.steps.get(index).and_then(|step| step.message())
            && let Some(forbidden) = message.forbidden
            && alone
            && !outcome.doubtful
            && outcome.class == Class::Result
            && carried_out(forbidden, outcome)
        {
            out.push(self.forbidden(forbidden, &subject));
        }
        if let Some(Act::Retry(retry)) = input.steps.get(index).map(|step| &step.act)
            && let Some(Some(state)) = &retry.state
            && outcome.class == Class::Result
            && let Some((of, _)) = state.get(super::input::FLIP).and_then(super::input::as_from)
            && of == retry.of
            && habits.is_new(input, index, outcome)
        {
            let words = format!(
                "{subject} completed with a requestState one bit of which was changed, and not as it does without the change"
            );
            out.push(Suspicion {
                verdict: Verdict::Warn,
                ..self.of_row(Kind::Accepted, "mrtr-state-integrity-protected", subject.clone(), words)
            });
        }
        if let Some(Act::Retry(retry)) = input.steps.get(index).map(|step| &step.act)
            && let Some(Some(state)) = &retry.state
            && outcome.class == Class::Result
            && let Some((other, "/result/requestState")) = super::input::as_from(state)
            && is_another_request(input, index, other)
            && habits.needs_state(input, index)
        {
            let words = format!(
                "{subject} completed with the requestState that another request was given, and does not without a state"
            );
            out.push(Suspicion {
                verdict: Verdict::Warn,
                ..self.of_row(Kind::Accepted, "mrtr-state-on-other-method", subject.clone(), words)
            });
        }
        let tool = outcome.tool.as_deref().unwrap_or_default();
        let own = alone
            && outcome.class == Class::Result
            && !outcome.doubtful
            && !outcome.said.is_empty()
            && !outcome.echoed
            && habits.echoes(tool);
        for foreign in outcome.foreign.iter().take(1) {
            if foreign.elsewhere && !foreign.public {
                let words =
                    format!("the answer to {subject} holds a text that another conversation sent: {}", foreign.mark);
                // A tool that was given no text of the caller's may be there to tell what others did.
                let history = !tool.is_empty() && outcome.said.is_empty();
                let verdict = if history { Verdict::Advice } else { Verdict::Warn };
                out.push(self.own(Kind::Leak, subject.clone(), words, verdict));
            } else if own {
                let words = format!(
                    "the answer to {subject} holds the text of another request and not its own: {}",
                    foreign.mark
                );
                out.push(self.own(Kind::Swapped, subject.clone(), words, Verdict::Fail));
            }
        }
        out
    }

    fn astray(&self, astray: &Astray) -> Suspicion {
        let (id, words) = match astray.way {
            Way::Cancelled => (
                "sub-client-cancel-stdio",
                format!(
                    "{} came for a subscription that was cancelled before two requests that were answered since",
                    astray.method
                ),
            ),
            Way::Unwanted => (
                "base-no-response-to-notification",
                format!("an answer without an id came after {}, which wants none", astray.method),
            ),
            Way::Replayed => (
                "sse-no-cross-stream-replay",
                "an event of another stream came on a stream that was taken up".to_owned(),
            ),
        };
        // Whatever comes for a subscription that is over comes for one reason.
        let place = if astray.way == Way::Cancelled { String::new() } else { astray.method.clone() };
        let found = match Catalogue::get().row(id, self.revision) {
            Some(_) => self.of_row(Kind::Astray, id, place, words),
            // What only the other revision has a sentence for, and a server of both may do in this one.
            None => self.own(Kind::Astray, place, words, Verdict::Fail),
        };
        let sent = Some(astray.sent).filter(|sent| *sent != astray.received);
        Suspicion { lane: astray.lane, sent, received: Some(astray.received), ..found }
    }

    fn forbidden(&self, forbidden: Forbidden, subject: &str) -> Suspicion {
        let legacy = self.revision.era() == Era::Legacy;
        let (id, words) = match forbidden {
            Forbidden::Arguments => (
                if legacy { "tools-validates-inputs" } else { "tools-call-validates-arguments" },
                format!("{subject} succeeded with arguments that break the tool's inputSchema"),
            ),
            Forbidden::Method => (
                if legacy { "errors-method-not-found-32601" } else { "error-method-not-found-32601" },
                format!("{subject} is no method of the protocol, and was answered with a result"),
            ),
            Forbidden::Tool => (
                if legacy { "tools-unknown-tool-protocol-error" } else { "tools-call-unknown-tool-protocol-error" },
                format!("{subject} is no tool of the server, and was answered with a result"),
            ),
        };
        let _ = self.transport;
        self.of_row(Kind::Accepted, id, subject.to_owned(), words)
    }
}

fn graded(grade: Grade) -> Verdict {
    match grade {
        Grade::Fail => Verdict::Fail,
        Grade::Warn => Verdict::Warn,
        Grade::Advice | Grade::None | Grade::Tolerance => Verdict::Advice,
    }
}

/// Whether a DELETE goes out on the conversation of a step that is another one.
fn ends_session(input: &Input, index: usize) -> bool {
    let on = input.steps.get(index).map(|step| step.on);
    input.steps.iter().enumerate().any(|(other, step)| {
        let delete = matches!(&step.act, Act::Http(act) if act.method.eq_ignore_ascii_case("DELETE"));
        delete && other != index && Some(step.on) == on
    })
}

/// A task that was made of a call tells later what became of it.
fn carried_out(forbidden: Forbidden, outcome: &Outcome) -> bool {
    let content = || outcome.frame.as_ref().and_then(|frame| frame.json.as_ref()?.pointer("/result/content"));
    forbidden == Forbidden::Method || content().is_some()
}

/// Whether two flows began with different requests: another method, or another tool, prompt or resource.
fn is_another_request(input: &Input, one: usize, other: usize) -> bool {
    let first = |mut at: usize| loop {
        match &input.steps.get(at)?.act {
            Act::Retry(retry) if retry.of < at => at = retry.of,
            Act::Request(message) => {
                let named = |name: &str| message.params.as_ref().and_then(|params| params.get(name)).cloned();
                return Some((message.method.clone(), named("name"), named("uri")));
            }
            _ => return None,
        }
    };
    let (one, other) = (first(one), first(other));
    one.is_some() && other.is_some() && one != other
}

/// `tools/call of TOOL`, or the method.
fn subject(outcome: &Outcome) -> String {
    match &outcome.tool {
        Some(tool) => format!("{} of {tool}", outcome.method),
        None if outcome.method.is_empty() => "a message".to_owned(),
        None => outcome.method.chars().take(80).collect(),
    }
}

pub(super) fn name_of(act: &Act) -> String {
    match act {
        Act::Request(message) | Act::Notify(message) => message.method.clone(),
        Act::Retry(_) => "retry".to_owned(),
        Act::Cancel(_) | Act::CloseStream(_) => "cancel".to_owned(),
        Act::Line(_) => "line".to_owned(),
        Act::Raw(_) => "raw".to_owned(),
        Act::Http(act) => act.method.clone(),
        Act::Drop => "drop".to_owned(),
    }
}

/// The step after which nothing came any more: the first without an answer, or else the last.
fn culprit(input: &Input, played: &Played) -> String {
    let silent = played.outcomes.iter().find(|it| it.sent.is_some() && it.class == Class::Unanswered && it.sound);
    match silent {
        Some(outcome) => subject(outcome),
        None => input.steps.last().map(|step| name_of(&step.act)).unwrap_or_default(),
    }
}

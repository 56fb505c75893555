//! Asks one era of a server over one connection for all that is kept: the greeting, every list whole, and one answer to each
//! question that the lists give rise to. One question is asked at a time, so that the answers come in one order.
//!
//! The questions of an earlier record are asked again as they were. What `run` would not call is not called, whatever was
//! recorded. At the end the lists are asked for once more, and once more over another connection.

use std::sync::Arc;

use mcp_conform_schemas::Era;
use serde_json::{Value, json};

use super::{
    doc::{self, array, object, text},
    redact::Rules,
    view::{Kept, LISTS, NotKept, View},
};
use crate::{
    conversation::{
        Answer, AnswerKind, Bench, Call, Conversation, Opening, Policy, Target, Ticket, all_capabilities, open,
    },
    run::{
        Reached, RunOptions,
        surface::Surface,
        survey::{facts, prompt_arguments},
    },
    trace::Direction,
    wire::{Frame, Json, JsonKind, Message},
};

/// Pages of a list; a server with more hands out pages without end.
const MOST_PAGES: usize = 2_000;
/// Questions of a kind.
const MOST_CALLS: usize = 10_000;
const MOST_READS: usize = 2_000;
const MOST_COMPLETIONS: usize = 200;
/// Rounds of one multi round-trip request.
const MOST_ROUNDS: usize = 10;
/// How often a connection is opened anew that ended, or on which a call was not answered.
const MOST_REOPENED: usize = 8;

/// What one era gave.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) answers: Vec<Kept>,
    pub(super) not_kept: Vec<NotKept>,
    /// As the server calls itself.
    pub(super) server: Option<String>,
}

pub(super) struct Asker<'a> {
    pub(super) target: &'a Target,
    pub(super) bench: &'a Arc<Bench>,
    pub(super) options: &'a RunOptions,
    pub(super) rules: &'a Rules,
    /// What was recorded before.
    pub(super) known: Option<&'a View>,
}

/// A question that is to be asked.
struct Question {
    method: &'static str,
    /// What tells it from others of its method.
    subject: String,
    params: Result<Value, String>,
    /// It may not be asked whatever was recorded.
    forbidden: bool,
}

/// A connection, opened anew where it has to be.
struct Line {
    talk: Conversation,
    reopened: usize,
}

impl Asker<'_> {
    /// Asks for everything and ends the conversation.
    pub(super) async fn ask(&self, reached: Reached) -> Answers {
        let mut out = Answers::default();
        let mut line = Line { talk: reached.talk, reopened: 0 };
        line.talk.mark("", "snapshot", "");
        let greeting = greeting(&line.talk);
        out.server = greeting.as_ref().and_then(server_name);
        let surface = Surface {
            capabilities: greeting
                .as_ref()
                .and_then(|kept| kept.answer.pointer("/result/capabilities"))
                .map_or(Value::Null, Json::to_value),
            ..Surface::default()
        };
        out.answers.extend(greeting);
        let lists = self.lists(&mut line, &surface, "").await;
        let questions = self.questions(&lists, &surface, &mut out.not_kept);
        out.answers.extend(lists);
        for question in questions {
            self.question(&mut line, question, &mut out).await;
        }
        if line.talk.retired().is_none() {
            out.answers.extend(self.lists(&mut line, &surface, ", asked again").await);
        }
        let era = line.talk.era();
        line.talk.end().await;
        out.answers.extend(self.elsewhere(era, &surface).await);
        number_names(&mut out.answers);
        out.not_kept.retain(|not_kept| !self.rules.leaves_out(&not_kept.name));
        out
    }

    /// Every list that is declared, each whole.
    async fn lists(&self, line: &mut Line, surface: &Surface, suffix: &str) -> Vec<Kept> {
        let mut out = Vec::new();
        for (method, member) in LISTS {
            let capability = method.split('/').next().unwrap_or_default();
            let name = format!("{method}{suffix}");
            if !surface.has_capability(capability) || self.rules.leaves_out(&name) {
                continue;
            }
            let answer = self.list(line, method, member).await;
            out.push(Kept { name, method: method.to_owned(), params: None, answer });
        }
        out
    }

    /// A list with the entries of all its pages. What else stands on later pages is kept beside it, under `pages`.
    async fn list(&self, line: &mut Line, method: &str, member: &str) -> Json {
        let mut whole: Option<Json> = None;
        let mut pages = Vec::new();
        let mut cursors: Vec<String> = Vec::new();
        loop {
            let params = cursors.last().map(|cursor| json!({ "cursor": cursor }));
            let mut page = self.put(line, method, params).await;
            let next = page.pointer("/result/nextCursor").and_then(Json::as_str).map(str::to_owned);
            let next = next.filter(|next| !cursors.contains(next) && cursors.len() < MOST_PAGES);
            let result = part(&mut page, "result");
            if let (Some(_), Some(result)) = (&next, result) {
                without(result, "nextCursor");
            }
            match &mut whole {
                None => whole = Some(page),
                Some(whole) => {
                    let items = part(&mut page, "result").and_then(|result| part(result, member)).and_then(|items| {
                        let JsonKind::Array(items) = &mut items.kind else { return None };
                        Some(std::mem::take(items))
                    });
                    if let (Some(items), Some(all)) = (items, part(whole, "result").and_then(|all| part(all, member)))
                        && let JsonKind::Array(all) = &mut all.kind
                    {
                        all.extend(items);
                        if let Some(result) = part(&mut page, "result") {
                            without(result, member);
                        }
                    }
                    pages.push(page);
                }
            }
            match next {
                Some(next) => cursors.push(next),
                None => break,
            }
        }
        let mut whole = whole.unwrap_or_else(|| object([]));
        if !pages.is_empty() {
            let members = doc::members(&whole).iter().map(|part| (part.name.to_string(), part.value.clone()));
            whole = object(members.chain([("pages".to_owned(), array(pages))]).collect::<Vec<_>>());
        }
        whole
    }

    /// What there is to ask about the entries of the lists.
    fn questions(&self, lists: &[Kept], surface: &Surface, not_kept: &mut Vec<NotKept>) -> Vec<Question> {
        let entries = |method: &str, member: &str, most: usize, not_kept: &mut Vec<NotKept>| -> Vec<Value> {
            let list = lists.iter().find(|kept| kept.method == method);
            let items = list.and_then(|kept| kept.answer.get("result")?.get(member)?.as_array());
            let items = items.unwrap_or_default();
            if items.len() > most {
                let reason = format!("{} are listed, and the first {most} are asked about", items.len());
                not_kept.push(NotKept { name: method.to_owned(), reason });
            }
            items.iter().take(most).map(Json::to_value).collect()
        };
        let text = |entry: &Value, member: &str| entry.get(member).and_then(Value::as_str).map(str::to_owned);
        let mut out = Vec::new();
        for tool in entries("tools/list", "tools", MOST_CALLS, not_kept) {
            let Some(name) = text(&tool, "name") else { continue };
            let forbidden = !self.options.tools.allows(&tool);
            let facts = facts(tool, self.options);
            // How long it works is no part of its answer.
            let arguments = facts.quick.or(facts.arguments);
            let params = arguments.map(|arguments| json!({"name": name, "arguments": arguments}));
            let why = || "no arguments could be made from its inputSchema; give some by --tool-args".to_owned();
            out.push(Question { method: "tools/call", subject: name, params: params.ok_or_else(why), forbidden });
        }
        let plain = |method, subject, params| Question { method, subject, params: Ok(params), forbidden: false };
        for resource in entries("resources/list", "resources", MOST_READS, not_kept) {
            let Some(uri) = text(&resource, "uri") else { continue };
            out.push(plain("resources/read", uri.clone(), json!({ "uri": uri })));
        }
        let prompts = entries("prompts/list", "prompts", MOST_READS, not_kept);
        for prompt in &prompts {
            let Some(name) = text(prompt, "name") else { continue };
            let params = json!({"name": name, "arguments": prompt_arguments(prompt)});
            out.push(plain("prompts/get", name, params));
        }
        if surface.has_capability("completions") {
            let templates = entries("resources/templates/list", "resourceTemplates", MOST_READS, not_kept);
            out.extend(
                completions(&prompts, &templates)
                    .into_iter()
                    .take(MOST_COMPLETIONS)
                    .map(|(subject, params)| plain("completion/complete", subject, params)),
            );
        }
        out
    }

    async fn question(&self, line: &mut Line, question: Question, out: &mut Answers) {
        let name = format!("{} {}", question.method, question.subject);
        if self.rules.leaves_out(&name) {
            return;
        }
        let mut not = |reason: &str| out.not_kept.push(NotKept { name: name.clone(), reason: reason.to_owned() });
        if question.forbidden {
            return not("it may not be called: it does not say readOnlyHint: true, and --tools does not name it");
        }
        let recorded = self.known.and_then(|view| view.answer(&name)).and_then(|kept| kept.params.as_ref());
        let params = match (recorded, question.params) {
            // The question stays the same, so that the answers can be compared.
            (Some(recorded), _) => recorded.to_value(),
            (None, Ok(made)) => made,
            (None, Err(reason)) => return not(&reason),
        };
        if line.reopened > MOST_REOPENED {
            return not("the server ended or fell silent too often to be asked on");
        }
        let answer = self.put(line, question.method, Some(params.clone())).await;
        let params = Some(doc::of_value(&params));
        out.answers.push(Kept { name, method: question.method.to_owned(), params, answer });
    }

    /// Asks once. A connection that ended, or on which nothing came, is opened anew for the next question.
    async fn put(&self, line: &mut Line, method: &str, params: Option<Value>) -> Json {
        if line.talk.retired().is_some() && line.reopened <= MOST_REOPENED {
            line.reopened += 1;
            line.talk.end().await;
            if let Ok(talk) = open(self.target, self.bench, self.opening(line.talk.era())).await {
                talk.mark("", "snapshot", "");
                line.talk = talk;
            }
        }
        let talk = &line.talk;
        let call = Call { method: method.to_owned(), params: params.map(Into::into), ..Call::default() };
        let Ok((ticket, answer)) = talk.request(call.clone(), None).await else {
            return object([("nothing".to_owned(), text("the end of the connection"))]);
        };
        if answer.kind == AnswerKind::Silence {
            // What it still does must not be taken for the doing of the next one.
            talk.retire("a question was not answered");
        }
        let mut before = asked_meanwhile(talk, &ticket, &answer);
        let mut last = answer.clone();
        if talk.era() == Era::Modern {
            let shown = |answer: &Answer, _: &Value| before.extend(answer.frame.as_deref().and_then(result));
            if let Ok((_, answer)) = talk.rounds(call, (ticket, answer), MOST_ROUNDS, shown).await {
                last = answer;
            }
        }
        told(&last, before)
    }

    /// The definitions as another connection sees them.
    async fn elsewhere(&self, era: Era, surface: &Surface) -> Vec<Kept> {
        const SUFFIX: &str = ", on another connection";
        let Ok(talk) = open(self.target, self.bench, self.opening(era)).await else { return Vec::new() };
        talk.mark("", "snapshot", "");
        if era == Era::Modern {
            let call = Call { method: "server/discover".to_owned(), ..Call::default() };
            // The greeting is found in the trace, as that of the first connection.
            let _ = talk.request(call, None).await;
        }
        let mut out: Vec<Kept> =
            greeting(&talk).map(|kept| Kept { name: format!("{}{SUFFIX}", kept.name), ..kept }).into_iter().collect();
        let mut line = Line { talk, reopened: 0 };
        out.extend(self.lists(&mut line, surface, SUFFIX).await);
        line.talk.end().await;
        out
    }

    fn opening(&self, era: Era) -> Opening {
        let policy = Policy::default().with_given(self.options.answers.clone());
        Opening { capabilities: all_capabilities(), policy, ..Opening::new(era) }
    }
}

/// An answer as it is kept: without its envelope. `before` is what the server asked for on the way.
pub(super) fn told(answer: &Answer, before: Vec<Json>) -> Json {
    let mut out = Vec::new();
    if !before.is_empty() {
        out.push(("before".to_owned(), array(before)));
    }
    let message = answer.frame.as_deref().and_then(doc::exact);
    let part = |name: &str| message.as_ref().and_then(|message| message.get(name)).cloned();
    out.push(match answer.kind {
        AnswerKind::Result => ("result".to_owned(), part("result").unwrap_or_else(|| object([]))),
        AnswerKind::Error => ("error".to_owned(), part("error").unwrap_or_else(|| object([]))),
        _ => ("nothing".to_owned(), text(answer.describe())),
    });
    object(out)
}

fn result(frame: &Frame) -> Option<Json> {
    doc::exact(frame)?.get("result").cloned()
}

/// What a server of the old era asked its client while it worked. Whom a request for roots belongs to cannot be told.
fn asked_meanwhile(talk: &Conversation, ticket: &Ticket, answer: &Answer) -> Vec<Json> {
    let from = usize::try_from(ticket.event).unwrap_or(usize::MAX);
    let until = answer.event.unwrap_or(u64::MAX);
    let mut out = Vec::new();
    for event in talk.recorder().events(from).iter().filter(|event| event.seq < until) {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { continue };
        let Message::Request { method, .. } = &view.frame.message else { continue };
        if !matches!(&**method, "elicitation/create" | "sampling/createMessage") {
            continue;
        }
        let params = doc::exact(view.frame).and_then(|message| message.get("params").cloned());
        let method = ("method".to_owned(), text(method.clone()));
        out.push(object([method].into_iter().chain(params.map(|params| ("params".to_owned(), params)))));
    }
    out
}

/// The answer to `initialize` or `server/discover`, as it stands in the trace.
fn greeting(talk: &Conversation) -> Option<Kept> {
    let (method, sign) = match talk.era() {
        Era::Legacy => ("initialize", "protocolVersion"),
        Era::Modern => ("server/discover", "supportedVersions"),
    };
    talk.events().iter().find_map(|event| {
        let view = event.message().filter(|view| view.direction == Direction::In)?;
        let result = doc::exact(view.frame)?.get("result").filter(|result| result.get(sign).is_some()).cloned()?;
        let answer = object([("result".to_owned(), result)]);
        Some(Kept { name: method.to_owned(), method: method.to_owned(), params: None, answer })
    })
}

fn server_name(greeting: &Kept) -> Option<String> {
    let result = greeting.answer.get("result")?;
    let info = result.get("serverInfo").or_else(|| result.pointer("/_meta/io.modelcontextprotocol~1serverInfo"))?;
    info.get("name")?.as_str().map(str::to_owned)
}

/// One question for each argument of a prompt and each variable of a template.
fn completions(prompts: &[Value], templates: &[Value]) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for prompt in prompts {
        let Some(name) = prompt.get("name").and_then(Value::as_str) else { continue };
        for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
            let Some(argument) = argument.get("name").and_then(Value::as_str) else { continue };
            let params =
                json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": ""}});
            out.push((format!("{argument} of {name}"), params));
        }
    }
    for template in templates {
        let Some(uri) = template.get("uriTemplate").and_then(Value::as_str) else { continue };
        for expression in uri.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            for name in expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',') {
                let name = name.split(':').next().unwrap_or_default().trim_end_matches('*');
                let params =
                    json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": ""}});
                out.push((format!("{name} of {uri}"), params));
            }
        }
    }
    out
}

/// A server may list one name twice; the answers are told apart by their numbers.
pub(super) fn number_names(answers: &mut [Kept]) {
    let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for kept in answers {
        let count = seen.entry(kept.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            kept.name = format!("{} ({count})", kept.name);
        }
    }
}

/// A member of an object, to be changed; of duplicates the last.
fn part<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    let JsonKind::Object(members) = &mut json.kind else { return None };
    members.iter_mut().rev().find(|member| &*member.name == name).map(|member| &mut member.value)
}

fn without(json: &mut Json, name: &str) {
    if let JsonKind::Object(members) = &mut json.kind {
        members.retain(|member| &*member.name != name);
    }
}

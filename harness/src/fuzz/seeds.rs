//! Where the fuzzer begins: what the server offers, used soundly, and the case scripts as far as they are data.

use std::collections::BTreeMap;

use mcp_conform_cases::ast::{self, Case, LoopSource, Template};
use mcp_conform_schemas::{Era, Revision, generate::Generator};
use serde_json::{Map, Value, json};

use super::input::{self, Act, HttpAct, Input, Manner, Message, Octets, Retry, Step};
use crate::{
    run::surface::{CallState, Surface, ToolFacts},
    trace::Transport,
};

/// Entries of a list that get seeds of their own.
const MOST_OF_A_KIND: usize = 40;

/// What there is to work with in one era over one transport.
#[derive(Clone, Debug)]
pub struct Ground {
    pub era: Era,
    pub transport: Transport,
    pub surface: Surface,
}

/// A tool that may be called, with generators for its arguments.
#[derive(Debug)]
pub(super) struct Callable {
    pub(super) name: String,
    /// With marks in place of free texts.
    pub(super) marked: Value,
    pub(super) generator: Option<Generator>,
    pub(super) schema: Value,
    /// It may be called as a task.
    pub(super) task: bool,
    /// It was seen to ask for input.
    pub(super) asks: bool,
    pub(super) slow: bool,
}

/// The tools that the rules on side effects and the survey leave to be called.
pub(super) fn callable(surface: &Surface) -> Vec<Callable> {
    let may = |facts: &&ToolFacts| {
        !matches!(facts.call, CallState::NotAllowed | CallState::NoArguments(_)) && !facts.name().is_empty()
    };
    let tool = |facts: &ToolFacts| {
        let schema = facts.tool.get("inputSchema");
        let mut marked = facts.arguments.clone().unwrap_or_else(|| json!({}));
        mark(schema, &mut marked, &json!({ input::MARK: 0 }));
        Callable {
            name: facts.name().to_owned(),
            marked,
            generator: schema.and_then(|schema| Generator::new(schema).ok()),
            schema: schema.cloned().unwrap_or_default(),
            task: matches!(
                facts.tool.pointer("/execution/taskSupport").and_then(Value::as_str),
                Some("optional" | "required")
            ),
            asks: !facts.asks.is_empty(),
            slow: facts.call == CallState::Slow,
        }
    };
    surface.tools.iter().filter(may).take(MOST_OF_A_KIND).map(tool).collect()
}

/// Every kind of request that the surface gives rise to, each a step of its own; they also are what sequences are made of.
pub(super) fn operations(ground: &Ground) -> Vec<Step> {
    let surface = &ground.surface;
    let mut out = vec![match ground.era {
        Era::Legacy => Step::request("ping", None),
        Era::Modern => Step::request("server/discover", None),
    }];
    let mut lists: Vec<&str> = Vec::new();
    if surface.has_capability("tools") {
        lists.push("tools/list");
        for tool in callable(surface) {
            let params = json!({"name": tool.name, "arguments": tool.marked});
            let mut step = Step::request("tools/call", Some(params));
            step.wait = !tool.slow;
            out.push(step);
        }
    }
    if surface.has_capability("resources") {
        lists.extend(["resources/list", "resources/templates/list"]);
        let uris: Vec<&Value> = surface.resources.iter().filter_map(|resource| resource.get("uri")).collect();
        for uri in uris.iter().take(MOST_OF_A_KIND) {
            out.push(Step::request("resources/read", Some(json!({ "uri": uri }))));
        }
        if ground.era == Era::Legacy && surface.has_capability("resources.subscribe") {
            for uri in uris.iter().take(3) {
                out.push(Step::request("resources/subscribe", Some(json!({ "uri": uri }))));
                out.push(Step::request("resources/unsubscribe", Some(json!({ "uri": uri }))));
            }
        }
    }
    if surface.has_capability("prompts") {
        lists.push("prompts/list");
        for prompt in surface.prompts.iter().take(MOST_OF_A_KIND) {
            let params = json!({"name": prompt.get("name"), "arguments": given(prompt)});
            out.push(Step::request("prompts/get", Some(params)));
        }
    }
    if surface.has_capability("completions") {
        out.extend(completions(surface));
    }
    if ground.era == Era::Legacy && surface.has_capability("logging") {
        out.push(Step::request("logging/setLevel", Some(json!({"level": "info"}))));
    }
    if ground.era == Era::Modern {
        let filter: Map<String, Value> = [
            ("tools.listChanged", "toolsListChanged"),
            ("prompts.listChanged", "promptsListChanged"),
            ("resources.listChanged", "resourcesListChanged"),
        ]
        .iter()
        .filter(|(capability, _)| surface.has_capability(capability))
        .map(|(_, member)| ((*member).to_owned(), true.into()))
        .collect();
        // It is waited for until it is acknowledged.
        out.push(Step::request("subscriptions/listen", Some(json!({ "notifications": filter }))));
    }
    out.extend(lists.into_iter().map(|method| Step::request(method, None)));
    out
}

/// Sound inputs: each operation alone, flows that need several, and pairs of operations in flight together.
pub(super) fn of_surface(ground: &Ground) -> Vec<Input> {
    let era = ground.era;
    let input = |steps: Vec<Step>| Input { era, manner: Manner::Prompt, steps };
    let operations = operations(ground);
    let mut out: Vec<Input> = operations.iter().map(|step| input(vec![step.clone()])).collect();
    for step in &operations {
        let Some(message) = step.message() else { continue };
        match message.method.as_str() {
            // Pages.
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
                let cursor = |of: usize| json!({"cursor": input::from(of, "/result/nextCursor")});
                let next = |of| Step::request(&message.method, Some(cursor(of)));
                out.push(input(vec![step.clone(), next(0), next(1)]));
            }
            "tools/call" => {
                out.push(input(vec![progressing(step), step.clone()]));
                out.push(input(vec![in_flight(step), in_flight(step), step.clone()]));
                out.push(input(vec![in_flight(step), Step::of(Act::Cancel(0)), step.clone()]));
                if era == Era::Modern {
                    let retry = |of| Step::of(Act::Retry(retry(of)));
                    out.push(input(vec![step.clone(), retry(0), retry(1)]));
                    out.push(input(vec![step.clone(), retry(0), retry(0)]));
                    out.push(input(vec![step.clone(), step.clone(), retry(1), retry(0)]));
                    out.push(input(vec![step.clone(), step.clone(), retry(0), retry(1), retry(2), retry(3)]));
                }
            }
            "subscriptions/listen" => {
                let ping = Step::request("server/discover", None);
                let end = Step::of(Act::Cancel(0));
                out.push(input(vec![step.clone(), ping.clone(), end.clone(), ping.clone()]));
                out.push(input(vec![step.clone(), step.clone(), end.clone(), ping.clone(), ping.clone()]));
                // What changes something is among the tools.
                for tool in operations.iter().filter(|step| step.message().is_some_and(|it| it.method == "tools/call"))
                {
                    let (ping, end) = (ping.clone(), end.clone());
                    out.push(input(vec![step.clone(), step.clone(), end, ping.clone(), ping, tool.clone()]));
                }
            }
            _ => {}
        }
    }
    for tool in callable(&ground.surface).iter().filter(|tool| tool.task && era == Era::Legacy).take(3) {
        let params = json!({"name": tool.name, "arguments": tool.marked, "task": {"ttl": 60_000}});
        let call = Step::request("tools/call", Some(params));
        let task = json!({"taskId": input::from(0, "/result/task/taskId")});
        let of_task = |method: &str| Step::request(method, Some(task.clone()));
        out.push(input(vec![call.clone(), of_task("tasks/get"), of_task("tasks/result")]));
        out.push(input(vec![call.clone(), of_task("tasks/cancel"), of_task("tasks/get")]));
        out.push(input(vec![call, of_task("tasks/cancel"), of_task("tasks/result")]));
    }
    if ground.transport == Transport::Http && era == Era::Legacy {
        let get = HttpAct { method: "GET".into(), headers: Vec::new(), body: String::new(), resume: Some(0) };
        for step in operations.iter().take(12) {
            out.push(input(vec![step.clone(), Step { wait: false, ..Step::of(Act::Http(get.clone())) }]));
        }
    }
    out
}

/// The steps of a case script that are data, with the first tool, resource or prompt that fits where the script loops over
/// them. Judgements are left to the oracles.
pub(super) fn of_case(case: &Case, ground: &Ground) -> Option<Input> {
    let revision = ground.era.judged();
    let transport = match ground.transport {
        Transport::Http => ast::Transport::Http,
        Transport::Stdio => ast::Transport::Stdio,
    };
    if !case.revisions.contains(&revision) || !case.transports.contains(&transport) || case.conversation.silent {
        return None;
    }
    let mut reader = Reader {
        ground,
        revision,
        capabilities: None,
        values: BTreeMap::new(),
        handles: BTreeMap::new(),
        steps: Vec::new(),
    };
    for need in &case.needs {
        if let ast::Need::Tool { name, kind } = &need.node {
            let tool = ground.surface.tools.iter().find(|facts| facts.is(kind))?;
            reader.values.insert(name.clone(), tool.variable());
        }
    }
    reader.declare(&case.conversation);
    case.steps.iter().for_each(|step| reader.step(&step.node));
    reader.steps.truncate(input::MOST_STEPS);
    let input = Input { era: ground.era, manner: Manner::Prompt, steps: reader.steps }.mended();
    (!input.steps.is_empty()).then_some(input)
}

/// Puts a mark in place of the members of an object that may be any text. What the server chose as a default or gave as an
/// example means something to it, and stays.
pub(super) fn mark(schema: Option<&Value>, value: &mut Value, with: &Value) {
    const SHORTEST: u64 = 24;
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let (Some(properties), Some(members)) = (properties, value.as_object_mut()) else { return };
    for (name, property) in properties {
        let free = property.get("type") == Some(&json!("string"))
            && ["enum", "const", "format", "pattern", "default", "examples"]
                .iter()
                .all(|word| property.get(word).is_none())
            && property.get("maxLength").and_then(Value::as_u64).is_none_or(|most| most >= SHORTEST);
        if let (true, Some(member)) = (free, members.get_mut(name)) {
            *member = with.clone();
        }
    }
}

pub(super) fn retry(of: usize) -> Retry {
    Retry { of, state: None, responses: None, without: 0, name: None }
}

pub(super) fn in_flight(step: &Step) -> Step {
    Step { wait: false, ..step.clone() }
}

fn progressing(step: &Step) -> Step {
    let mut step = step.clone();
    if let Some(message) = step.message_mut() {
        message.token = Some(input::ANY_TOKEN.to_owned());
    }
    step
}

fn given(prompt: &Value) -> Value {
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let names = arguments.filter_map(|argument| argument.get("name")?.as_str());
    Value::Object(names.map(|name| (name.to_owned(), json!({ input::MARK: 0 }))).collect())
}

fn completions(surface: &Surface) -> Vec<Step> {
    let mut out = Vec::new();
    for prompt in surface.prompts.iter().take(5) {
        let names = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
        for name in names.filter_map(|argument| argument.get("name")).take(2) {
            let reference = json!({"type": "ref/prompt", "name": prompt.get("name")});
            out.push(json!({"ref": reference, "argument": {"name": name, "value": "a"}}));
        }
    }
    for template in surface.templates.iter().take(5) {
        let uri = template.get("uriTemplate").and_then(Value::as_str).unwrap_or_default();
        for name in uri.split('{').skip(1).filter_map(|rest| rest.split('}').next()).take(2) {
            let name = name.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).trim_end_matches('*');
            out.push(json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": ""}}));
        }
    }
    out.into_iter().map(|params| Step::request("completion/complete", Some(params))).collect()
}

/// Reads a script as a sequence of messages.
struct Reader<'a> {
    ground: &'a Ground,
    revision: Revision,
    capabilities: Option<Value>,
    values: BTreeMap<String, Value>,
    /// The step behind each handle, and behind each captured variable with its pointer.
    handles: BTreeMap<String, (usize, String)>,
    steps: Vec<Step>,
}

impl Reader<'_> {
    fn step(&mut self, step: &ast::Step) {
        match step {
            ast::Step::Request(it) => {
                let at = self.request(&it.request, &it.wrong, true);
                self.bind(at, it.handle.as_ref().map(|handle| handle.node.as_str()), &it.captures);
            }
            ast::Step::Send(it) => {
                let at = self.request(&it.request, &it.wrong, false);
                self.bind(at, Some(&it.handle.node), &[]);
            }
            ast::Step::Probe(it) => {
                self.request(&it.base, &[], true);
                self.probe(it);
            }
            ast::Step::Notify(it) => {
                let Some(method) = it.method.of(self.revision) else { return };
                let message = Message {
                    method: method.node.clone(),
                    params: it.params.as_ref().and_then(|params| self.value(&params.node)),
                    wrong: it.wrong.clone(),
                    ..Message::default()
                };
                self.push(Step { wait: false, ..Step::of(Act::Notify(message)) });
            }
            ast::Step::Retry(it) => {
                let Some((of, _)) = self.handles.get(&it.of.node).cloned() else { return };
                let state = it.state.as_ref().map(|state| state.as_ref().and_then(|state| self.value(&state.node)));
                let responses = it.responses.as_ref().and_then(|responses| self.value(&responses.node));
                let at = self.push(Step::of(Act::Retry(Retry { state, responses, ..retry(of) })));
                self.bind(Some(at), it.handle.as_ref().map(|handle| handle.node.as_str()), &it.captures);
            }
            ast::Step::Cancel { of } => {
                if let Some((of, _)) = self.handles.get(&of.node).cloned() {
                    self.push(Step { wait: false, ..Step::of(Act::Cancel(of)) });
                }
            }
            ast::Step::CloseStream { of } => {
                if let Some((of, _)) = self.handles.get(&of.node).cloned() {
                    self.push(Step { wait: false, ..Step::of(Act::CloseStream(of)) });
                }
            }
            ast::Step::Raw(it) => {
                self.push(Step { wait: false, ..Step::of(Act::Raw(Octets::new(&it.bytes))) });
            }
            ast::Step::HttpRaw(it) => {
                self.push(Step { wait: false, ..Step::of(Act::Raw(Octets::new(&it.bytes))) });
            }
            ast::Step::Http(it) => {
                let headers = self.headers(&it.headers);
                let body = it.body.as_ref().and_then(|body| self.value(&body.node));
                let body = match body {
                    None => String::new(),
                    Some(Value::String(text)) => text,
                    Some(other) => input::fill(&other, &|_, _| None).map_or_else(String::new, |draft| draft.text()),
                };
                let act = HttpAct { method: it.method.clone(), headers, body, resume: None };
                self.push(Step { wait: false, ..Step::of(Act::Http(act)) });
            }
            ast::Step::ForEach(it) => {
                let Some(value) = self.first(&it.over.node) else { return };
                self.values.insert(it.variable.clone(), value);
                it.steps.iter().for_each(|step| self.step(&step.node));
            }
            ast::Step::Parallel(branches) => {
                branches.iter().flatten().for_each(|step| self.step(&step.node));
            }
            // What judges, and what ends the process, is no part of a sequence.
            ast::Step::Answer { .. }
            | ast::Step::Await(_)
            | ast::Step::Check(_)
            | ast::Step::CloseStdin { .. }
            | ast::Step::DropConnection { .. }
            | ast::Step::Expect(_)
            | ast::Step::ExpectExit(_)
            | ast::Step::ExpectNothing(_)
            | ast::Step::Open(_)
            | ast::Step::Require(_)
            | ast::Step::Signal { .. }
            | ast::Step::Snapshot { .. } => {}
        }
    }

    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn bind(&mut self, at: Option<usize>, handle: Option<&str>, captures: &[ast::Capture]) {
        let Some(at) = at else { return };
        if let Some(handle) = handle {
            self.handles.insert(handle.to_owned(), (at, String::new()));
        }
        for capture in captures {
            self.handles.insert(capture.variable.clone(), (at, capture.pointer.clone()));
        }
    }

    fn request(&mut self, request: &ast::Request, wrong: &[String], wait: bool) -> Option<usize> {
        let mut message = self.message(request)?;
        message.wrong = wrong.to_vec();
        Some(self.push(Step { on: 0, wait, act: Act::Request(message) }))
    }

    fn probe(&mut self, probe: &ast::Probe) {
        let Some(mut message) = self.message(&probe.base) else { return };
        let mut whole = json!({ "params": message.params.clone().unwrap_or_else(|| json!({})) });
        match &probe.change.node {
            ast::Change::Set { pointer, value } if pointer.starts_with("/params/") => {
                let Some(value) = self.value(value) else { return };
                let mut draft = crate::conversation::Draft::Value(whole);
                if draft.set(pointer, value.into()).is_err() {
                    return;
                }
                whole = draft.to_value();
                message.wrong.push(pointer.clone());
            }
            ast::Change::Remove { pointer } if pointer.starts_with("/params/") => {
                let mut draft = crate::conversation::Draft::Value(whole);
                if draft.remove(pointer).is_err() {
                    return;
                }
                whole = draft.to_value();
                message.wrong.push(pointer.clone());
            }
            ast::Change::Header { name, value } => {
                let value = value.as_ref().and_then(|value| self.value(value));
                let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                message.wrong.push(format!("headers/{}", name.to_ascii_lowercase()));
                message.headers.push((name.clone(), value));
            }
            ast::Change::Capabilities(value) => message.capabilities = self.value(value),
            _ => return,
        }
        message.params = whole.get_mut("params").map(Value::take);
        let handle = probe.handle.as_ref().map(|handle| handle.node.as_str());
        let at = self.push(Step::of(Act::Request(message)));
        self.bind(Some(at), handle, &[]);
    }

    fn message(&self, request: &ast::Request) -> Option<Message> {
        let text = |template: &ast::Spanned<Template>| self.value(&template.node).map(|value| raw_text(&value));
        let params = match &request.params {
            None => None,
            Some(params) => Some(self.value(&params.node)?),
        };
        Some(Message {
            method: request.method.of(self.revision)?.node.clone(),
            params,
            id: request.id.as_ref().and_then(text),
            token: request.token.as_ref().and_then(text),
            capabilities: match &request.capabilities {
                Some(own) => self.value(&own.node),
                None => self.capabilities.clone(),
            },
            headers: self.headers(&request.headers),
            wrong: Vec::new(),
            forbidden: None,
        })
    }

    /// What the client of a script declares; nothing, unless the script says so.
    fn declare(&mut self, setup: &ast::Setup) {
        if self.ground.era == Era::Modern {
            let declared = setup.capabilities.as_ref().and_then(|it| self.value(&it.node));
            self.capabilities = Some(declared.unwrap_or_else(|| json!({})));
        }
    }

    fn headers(&self, headers: &[(String, Option<ast::Spanned<Template>>)]) -> Vec<(String, Option<String>)> {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = |template: &ast::Spanned<Template>| self.value(&template.node).map(text);
        headers.iter().map(|(name, template)| (name.clone(), template.as_ref().and_then(value))).collect()
    }

    /// A template as a value with holes; `None` where a variable has nothing to stand for.
    fn value(&self, template: &Template) -> Option<Value> {
        Some(match template {
            Template::Literal(value) => value.clone(),
            Template::Raw(text) => json!({ input::RAW: text }),
            Template::Variable(variable) => match self.handles.get(&variable.name) {
                Some((step, pointer)) => input::from(*step, &format!("{pointer}{}", variable.pointer)),
                None => self.values.get(&variable.name)?.pointer(&variable.pointer)?.clone(),
            },
            Template::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect::<Option<_>>()?),
            Template::Object(members) => {
                let members = members.iter().map(|(name, value)| Some((name.clone(), self.value(value)?)));
                Value::Object(members.collect::<Option<_>>()?)
            }
            Template::Flipped { value, at } => json!({input::FLIP: self.value(value)?, "at": at}),
            Template::Sentinel { mark, value } => mcp_conform_cases::sentinel(mark, &self.value(value)?).into(),
        })
    }

    fn first(&self, source: &LoopSource) -> Option<Value> {
        let surface = &self.ground.surface;
        let of_schema = |template: &Template, make: fn(&Generator) -> Option<Value>| {
            make(&Generator::new(&self.value(template)?).ok()?)
        };
        match source {
            LoopSource::Tools(kind) => Some(surface.tools.iter().find(|facts| facts.is(kind))?.variable()),
            LoopSource::Resources => surface.resources.first().cloned(),
            LoopSource::Templates => surface.templates.first().cloned(),
            LoopSource::Prompts(_) => {
                let mut prompt = surface.prompts.first()?.clone();
                let names = given(&prompt);
                let names = names.as_object().into_iter().flatten().map(|(name, _)| (name.clone(), "a".into()));
                let arguments = Value::Object(names.collect());
                let map = prompt.as_object_mut()?;
                map.insert("given".to_owned(), arguments.clone());
                map.insert("values".to_owned(), arguments.clone());
                map.insert("oddValues".to_owned(), arguments);
                Some(prompt)
            }
            LoopSource::Values(values) => values.iter().find_map(|value| self.value(value)),
            LoopSource::Boundary(template) => of_schema(template, |it| it.boundary().into_iter().next()),
            LoopSource::Valid(template) => of_schema(template, Generator::minimal),
            LoopSource::NearMiss(template) => of_schema(template, |it| {
                let miss = it.near_miss().into_iter().next()?;
                Some(json!({"value": miss.value, "what": miss.what, "pointer": miss.pointer}))
            }),
        }
    }
}

/// The JSON text of a value that may be a raw literal.
fn raw_text(value: &Value) -> String {
    match value.get(input::RAW).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}

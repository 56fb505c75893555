//! Makes new inputs of old ones: [`Workshop`] knows what one era of a target offers, and changes sequences, messages,
//! values, bytes and HTTP.

use std::collections::VecDeque;

use mcp_conform_schemas::Era;
use serde_json::{Map, Value, json};

use super::{
    dice::Dice,
    input::{self, Act, Forbidden, Input, MOST_STEPS, Manner, Message, Octets, Step},
    odd::odd_text,
    seeds::{Callable, Ground, callable, in_flight, operations, retry},
    sequence::{a_message, ids, insert_at, one, remove, repeat, requests, splice, swap},
    values,
    weigh::{breaks_a_bound, readable},
};
use crate::trace::Transport;

/// Values of the server that are kept to be handed back.
const MOST_GIVEN: usize = 256;

/// What inputs of one era of a target are made of.
#[derive(Debug)]
pub struct Workshop {
    pub(super) era: Era,
    pub(super) transport: Transport,
    /// By method, so that many tools do not crowd out the rest.
    operations: Vec<Vec<Step>>,
    pub(super) tools: Vec<Callable>,
    /// Texts that the server handed out, by the name of the member: cursors, URIs, states, ids, names.
    pub(super) given: VecDeque<(String, Value)>,
}

impl Workshop {
    pub fn new(ground: &Ground) -> Self {
        Self {
            era: ground.era,
            transport: ground.transport,
            operations: by_method(operations(ground)),
            tools: callable(&ground.surface),
            given: VecDeque::new(),
        }
    }

    /// Keeps a text of the server, to be handed back later.
    pub fn learn(&mut self, name: &str, value: Value) {
        let given = (name.to_owned(), value);
        if !self.given.contains(&given) {
            self.given.push_back(given);
            if self.given.len() > MOST_GIVEN {
                self.given.pop_front();
            }
        }
    }

    /// An input out of nothing but what the server offers.
    pub fn fresh(&self, dice: &mut Dice) -> Input {
        let count = 1 + dice.below(6);
        let mut steps = Vec::new();
        for _ in 0..count {
            steps.extend(self.operation(dice));
        }
        Input { era: self.era, manner: Manner::Prompt, steps }
    }

    /// What is in flight and open when a conversation ends.
    pub fn parting(&self, dice: &mut Dice) -> Input {
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..1 + dice.below(3) {
            let long = self
                .operations
                .iter()
                .flatten()
                .find(|step| step.message().is_some_and(|message| message.method == "subscriptions/listen"));
            let step = if dice.below(2) == 0 { long.cloned() } else { self.operation(dice) };
            steps.extend(step.map(|step| in_flight(&step)));
        }
        Input { era: self.era, manner: Manner::Prompt, steps }
    }

    /// Changes an input in a few ways. A `tame` one holds nothing that is no message, so that everything that comes back can
    /// be judged.
    pub fn mutate(&self, input: &Input, other: Option<&Input>, tame: bool, dice: &mut Dice) -> Input {
        let mut out = input.clone();
        let mut rounds = 1;
        while rounds < 6 && dice.below(3) > 0 {
            rounds += 1;
        }
        for _ in 0..rounds {
            self.once(&mut out, other, tame, dice);
        }
        out.steps.truncate(MOST_STEPS);
        self.weigh_all(&mut out);
        out = out.mended();
        if out.steps.is_empty() {
            out.steps.extend(self.operation(dice));
        }
        out
    }

    fn once(&self, input: &mut Input, other: Option<&Input>, tame: bool, dice: &mut Dice) {
        if input.steps.is_empty() {
            input.steps.extend(self.operation(dice));
        }
        if input.steps.is_empty() {
            return;
        }
        let ways = if tame { 15 } else { 19 };
        match dice.below(ways) {
            0 | 1 => self.change_params(input, dice),
            2 => self.arguments_by_schema(input, dice),
            3 => self.insert(input, dice),
            4 => repeat(input, dice),
            5 => remove(input, dice),
            6 => swap(input, dice),
            7 => {
                if let Some(step) = one(&mut input.steps, dice) {
                    step.wait = !step.wait;
                }
            }
            8 => splice(input, other, dice),
            9 => self.cancel(input, dice),
            10 => self.token_or_lane(input, dice),
            11 => self.hand_back(input, dice),
            12 => self.continue_flow(input, dice),
            13 => ids(input, tame, dice),
            14 => notification(input, dice),
            15 => self.line(input, dice),
            16 => self.odd_message(input, dice),
            17 if self.transport == Transport::Http => self.http(input, dice),
            17 => self.line(input, dice),
            _ => self.rare(input, dice),
        }
    }

    pub(super) fn operation(&self, dice: &mut Dice) -> Option<Step> {
        let group = dice.pick(&self.operations)?;
        let mut step = dice.pick(group)?.clone();
        if dice.once_in(4) {
            step.wait = false;
        }
        Some(step)
    }

    fn change_params(&self, input: &mut Input, dice: &mut Dice) {
        let Some(message) = a_message(input, dice) else { return };
        let mut params = message.params.take().unwrap_or_else(|| json!({}));
        let given: Vec<Value> = self.given.iter().map(|(_, value)| value.clone()).collect();
        if dice.once_in(10) {
            odd_meta(&mut params, dice);
        } else {
            values::mutate(&mut params, dice, &given);
        }
        message.params = Some(params);
        message.forbidden = None;
    }

    /// New arguments for a tool call: valid ones, edges, or ones that just miss the schema.
    fn arguments_by_schema(&self, input: &mut Input, dice: &mut Dice) {
        let calls: Vec<usize> = input
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(&step.act, Act::Request(message) if message.method == "tools/call"))
            .map(|(index, _)| index)
            .collect();
        let at = match dice.pick(&calls) {
            Some(at) if !dice.once_in(3) => *at,
            _ => {
                let Some(tool) = dice.pick(&self.tools) else { return self.insert(input, dice) };
                let params = json!({"name": tool.name, "arguments": tool.marked});
                let step = Step { wait: !tool.slow && !dice.once_in(3), ..Step::request("tools/call", Some(params)) };
                insert_at(input, dice.below(input.steps.len() + 1), step)
            }
        };
        let Some(message) = input.steps.get_mut(at).and_then(Step::message_mut) else { return };
        let name = message.params.as_ref().and_then(|params| params.get("name")).and_then(Value::as_str);
        let Some(tool) = self.tools.iter().find(|tool| Some(tool.name.as_str()) == name) else { return };
        let Some(generator) = &tool.generator else { return };
        message.forbidden = None;
        let arguments = match dice.below(8) {
            5..=7 => {
                let mut arguments = generator.minimal();
                arguments.iter_mut().for_each(|arguments| values::edges(arguments, dice));
                arguments
            }
            0 => dice.pick(&generator.boundary()).cloned(),
            1 | 2 => {
                let misses = generator.near_miss();
                let miss = dice.pick(&misses);
                if miss.is_some_and(|miss| !miss.coercible && miss.required) {
                    message.forbidden = Some(Forbidden::Arguments);
                }
                miss.map(|miss| miss.value.clone())
            }
            _ => {
                let bytes = dice.fill(96);
                generator.valid(&mut arbitrary::Unstructured::new(&bytes))
            }
        };
        if arguments.as_ref().is_some_and(|arguments| breaks_a_bound(&tool.schema, arguments)) {
            message.forbidden = Some(Forbidden::Arguments);
        }
        if let (Some(arguments), Some(Value::Object(params))) = (arguments, &mut message.params) {
            params.insert("arguments".to_owned(), arguments);
        }
    }

    fn insert(&self, input: &mut Input, dice: &mut Dice) {
        if let Some(step) = self.operation(dice) {
            insert_at(input, dice.below(input.steps.len() + 1), step);
        }
    }

    /// A request in flight, and its cancellation at once or a little later.
    fn cancel(&self, input: &mut Input, dice: &mut Dice) {
        let at = match requests(input) {
            found if found.is_empty() => {
                let Some(step) = self.operation(dice) else { return };
                insert_at(input, 0, in_flight(&step))
            }
            found => *dice.pick(&found).unwrap_or(&0),
        };
        if let Some(step) = input.steps.get_mut(at) {
            step.wait = false;
        }
        if dice.once_in(5) {
            return self.reuse_cancelled(input, at, dice);
        }
        let rest = input.steps.len() - at;
        let act = if dice.once_in(4) { Act::CloseStream(at) } else { Act::Cancel(at) };
        let count = if dice.once_in(6) { 2 } else { 1 };
        for _ in 0..count {
            insert_at(input, at + 1 + dice.below(rest.min(4)), Step { wait: false, ..Step::of(act.clone()) });
        }
    }

    /// The id of a cancelled request once more.
    fn reuse_cancelled(&self, input: &mut Input, at: usize, dice: &mut Dice) {
        let id = Some((700 + dice.below(50)).to_string());
        let Some(mut again) = self.operation(dice) else { return };
        for message in [input.steps.get_mut(at).and_then(Step::message_mut), again.message_mut()].into_iter().flatten()
        {
            message.id.clone_from(&id);
        }
        insert_at(input, at + 1, again);
        insert_at(input, at + 1, Step { wait: false, ..Step::of(Act::Cancel(at)) });
    }

    /// The same request with the same id in flight in two conversations.
    fn in_two_lanes(&self, input: &mut Input, dice: &mut Dice) {
        let found = requests(input);
        let Some(at) = dice.pick(&found).copied() else { return };
        let Some(step) = input.steps.get_mut(at) else { return };
        step.wait = false;
        step.on = 0;
        if let Some(message) = step.message_mut() {
            message.id = Some((1_000_000 + dice.below(1 << 30)).to_string());
        }
        let mut other = step.clone();
        other.on = 1;
        insert_at(input, at + 1, other);
    }

    fn token_or_lane(&self, input: &mut Input, dice: &mut Dice) {
        const TOKENS: [&str; 10] = [
            input::ANY_TOKEN,
            "1",
            "\"1\"",
            "\"t\"",
            "0",
            "\"\"",
            "-7",
            "\"mcp-conform\"",
            "9007199254740993",
            "\"ÄÖ\"",
        ];
        let lanes = if self.transport == Transport::Http { 3 } else { 2 };
        match dice.below(5) {
            4 => self.in_two_lanes(input, dice),
            0 => {
                let lane = u8::try_from(dice.below(lanes)).unwrap_or_default();
                if let Some(step) = one(&mut input.steps, dice) {
                    step.on = lane;
                }
            }
            1 => {
                // Two requests under one token.
                let token =
                    dice.pick(&TOKENS).map(|token| (*token).to_owned()).filter(|token| token != input::ANY_TOKEN);
                for _ in 0..2 {
                    if let Some(message) = a_message(input, dice) {
                        message.token.clone_from(&token);
                        message.wrong.push("/params/_meta/progressToken".to_owned());
                    }
                }
            }
            _ => {
                let token = dice.pick(&TOKENS).map(|token| (*token).to_owned());
                if let Some(message) = a_message(input, dice) {
                    message.token = token;
                }
            }
        }
    }

    /// A part of an earlier answer, or of another conversation's, in place of a value.
    fn hand_back(&self, input: &mut Input, dice: &mut Dice) {
        const PARTS: [&str; 12] = [
            "/result/nextCursor",
            "/result/requestState",
            "/result/resources/0/uri",
            "/result/contents/0/uri",
            "/result/tools/0/name",
            "/result/prompts/0/name",
            "/result/task/taskId",
            "/result/content/0/text",
            "/result/content/0/uri",
            "/result/content/0/resource/uri",
            "/result/_meta",
            "/id",
        ];
        const PLACES: [(&str, &str); 8] = [
            ("tools/list", "cursor"),
            ("resources/list", "cursor"),
            ("prompts/list", "cursor"),
            ("resources/read", "uri"),
            ("tasks/get", "taskId"),
            ("tasks/cancel", "taskId"),
            ("tasks/result", "taskId"),
            ("tools/call", "requestState"),
        ];
        let found = requests(input);
        let Some(of) = dice.pick(&found).copied() else { return };
        let mut value = input::from(of, dice.pick(&PARTS).unwrap_or(&"/id"));
        if dice.once_in(3) {
            value = json!({input::FLIP: value, "at": dice.below(2048)});
        }
        let later: Vec<usize> = found.into_iter().filter(|at| *at > of).collect();
        let target = dice.pick(&later).copied().filter(|_| dice.below(2) == 0);
        match target.and_then(|at| input.steps.get_mut(at)).and_then(Step::message_mut) {
            Some(message) => {
                let members = message.params.get_or_insert_with(|| json!({})).as_object_mut();
                let Some(members) = members else { return };
                let index = dice.below(members.len());
                let name = members.keys().nth(index).cloned().unwrap_or_else(|| "cursor".to_owned());
                members.insert(name, value);
                message.forbidden = None;
            }
            None => {
                let (method, member) = *dice.pick(&PLACES).unwrap_or(&("tools/list", "cursor"));
                insert_at(input, of + 1, Step::request(method, Some(json!({ member: value }))));
            }
        }
    }

    /// The next round of a multi round-trip request, as it should be or with the state or the answers tampered with.
    fn continue_flow(&self, input: &mut Input, dice: &mut Dice) {
        if self.era == Era::Legacy || dice.once_in(4) {
            return self.pages(input, dice);
        }
        let rounds: Vec<usize> = input
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| match &step.act {
                Act::Request(message) => {
                    matches!(message.method.as_str(), "tools/call" | "prompts/get" | "resources/read")
                }
                Act::Retry(_) => true,
                _ => false,
            })
            .map(|(index, _)| index)
            .collect();
        let Some(of) = dice.pick(&rounds).copied() else { return self.pages(input, dice) };
        let state = |of: usize| input::from(of, "/result/requestState");
        let mut next = retry(of);
        match dice.below(10) {
            0 => next.state = Some(None),
            1 | 2 => next.state = Some(Some(json!({input::FLIP: state(of), "at": dice.below(2048)}))),
            3 => {
                // Another flow's.
                let other = *dice.pick(&rounds).unwrap_or(&of);
                next.state = Some(Some(state(other)));
            }
            4 => next.without = 1 + u8::try_from(dice.below(2)).unwrap_or_default(),
            5 => next.responses = Some(if dice.below(2) == 0 { json!({}) } else { values::any(dice) }),
            6 => next.name = dice.pick(&self.tools).map(|tool| tool.name.clone()),
            7 => next.state = Some(Some(values::text(dice))),
            _ => {}
        }
        let lane = input.steps.get(of).map_or(0, |step| step.on);
        let wait = !dice.once_in(4);
        let place = of + 1 + dice.below(input.steps.len() - of);
        let at = insert_at(input, place, Step { on: lane, wait, act: Act::Retry(next) });
        match dice.below(5) {
            // Once more: what was used up must not be used again.
            0 => {
                if let Some(step) = input.steps.get(at).cloned() {
                    insert_at(input, at + 1, step);
                }
            }
            // And the round after it.
            1 | 2 => {
                insert_at(input, at + 1, Step { on: lane, wait, act: Act::Retry(retry(at)) });
            }
            _ => {}
        }
    }

    /// A page after a page.
    fn pages(&self, input: &mut Input, dice: &mut Dice) {
        let lists: Vec<usize> = requests(input)
            .into_iter()
            .filter(|at| input.steps.get(*at).and_then(Step::message).is_some_and(|it| it.method.ends_with("/list")))
            .collect();
        let Some(of) = dice.pick(&lists).copied() else { return self.insert(input, dice) };
        let Some(method) = input.steps.get(of).and_then(Step::message).map(|message| message.method.clone()) else {
            return;
        };
        let known: Vec<&Value> = self.given.iter().filter(|(name, _)| name == "nextCursor").map(|(_, it)| it).collect();
        let cursor = match dice.pick(&known) {
            Some(Value::String(text)) if dice.below(2) == 0 => values::changed_text(text, dice),
            _ => input::from(of, "/result/nextCursor"),
        };
        let params = json!({ "cursor": cursor });
        insert_at(input, of + 1, Step { wait: !dice.once_in(4), ..Step::request(&method, Some(params)) });
    }

    fn rare(&self, input: &mut Input, dice: &mut Dice) {
        let at = dice.below(input.steps.len());
        if dice.once_in(12) {
            insert_at(input, at, Step { wait: false, ..Step::of(Act::Drop) });
        } else if dice.once_in(12) {
            let text = odd_text(dice);
            insert_at(input, at, Step { wait: false, ..Step::of(Act::Raw(Octets::new(&[&text[..], b"\n"].concat()))) });
        } else {
            self.change_params(input, dice);
        }
    }
}

/// A notification that a client may send at any time.
fn notification(input: &mut Input, dice: &mut Dice) {
    let number = 600_000 + dice.below(1_000);
    let mut wrong = Vec::new();
    let (method, params) = match dice.below(4) {
        0 => ("notifications/cancelled", json!({"requestId": number, "reason": "no longer needed"})),
        1 => {
            // Whatever the reason is, a notification has no answer.
            let reason = values::any(dice);
            let mut unreadable = false;
            readable(&reason, &mut unreadable);
            let reason = if unreadable { json!(1) } else { reason };
            wrong.push("/params/reason".to_owned());
            ("notifications/cancelled", json!({"requestId": number, "reason": reason}))
        }
        2 => ("notifications/progress", json!({"progressToken": number, "progress": 1})),
        _ => ("notifications/cancelled", json!({ "requestId": number })),
    };
    let message = Message { method: method.to_owned(), params: Some(params), wrong, ..Message::default() };
    let at = dice.below(input.steps.len() + 1);
    insert_at(input, at, Step { wait: false, ..Step::of(Act::Notify(message)) });
}

/// Members that mean something wherever they stand, with values that are none.
fn odd_meta(params: &mut Value, dice: &mut Dice) {
    const NAMES: [&str; 8] = [
        "traceparent",
        "tracestate",
        "baggage",
        "progressToken",
        "io.modelcontextprotocol/logLevel",
        "io.modelcontextprotocol/subscriptionId",
        "com.example/x",
        "",
    ];
    let value = if dice.below(2) == 0 { values::text(dice) } else { values::any(dice) };
    let name = *dice.pick(&NAMES).unwrap_or(&"traceparent");
    if let Value::Object(members) = params {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(name.to_owned(), value);
        }
    }
}

fn by_method(operations: Vec<Step>) -> Vec<Vec<Step>> {
    let mut out: Vec<(String, Vec<Step>)> = Vec::new();
    for step in operations {
        let method = step.message().map(|message| message.method.clone()).unwrap_or_default();
        match out.iter_mut().find(|(known, _)| *known == method) {
            Some((_, steps)) => steps.push(step),
            None => out.push((method, vec![step])),
        }
    }
    // Tools are what a server is about.
    let tools = out.iter().find(|(method, _)| method == "tools/call").map(|(_, steps)| steps.clone());
    out.into_iter().map(|(_, steps)| steps).chain(tools.clone()).chain(tools).collect()
}

/// Texts of an answer that are worth handing back.
pub(super) fn harvest(result: &Value, out: &mut Vec<(String, Value)>) {
    const NAMES: [&str; 8] = ["nextCursor", "requestState", "uri", "taskId", "name", "id", "uriTemplate", "cursor"];
    match result {
        Value::Object(members) => harvest_members(members, &NAMES, out),
        Value::Array(items) => items.iter().take(8).for_each(|item| harvest(item, out)),
        _ => {}
    }
}

fn harvest_members(members: &Map<String, Value>, names: &[&str], out: &mut Vec<(String, Value)>) {
    const LONGEST: usize = 4_096;
    for (name, member) in members {
        match member {
            Value::String(text) if names.contains(&name.as_str()) && text.len() < LONGEST => {
                out.push((name.clone(), member.clone()));
            }
            Value::Array(_) | Value::Object(_) => harvest(member, out),
            _ => {}
        }
    }
}

//! The systematic part: each place of each request with each odd value, one at a time, and each way to tamper with a
//! flow. What one message alone shows is found by going through them; chance is for what takes several.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    input::{self, Act, Forbidden, HttpAct, Input, Manner, Message, Step},
    mutate::Workshop,
    odd::FITTING,
    seeds::{Callable, Ground, callable, operations, retry},
    values,
    weigh::breaks_a_bound,
};
use crate::trace::Transport;
use mcp_conform_schemas::Era;

/// Requests of one method, other than calls of tools, that are gone through.
const MOST_OF_A_METHOD: usize = 3;

/// All of it, the rarer kinds of request not behind the many.
pub(super) fn sweep(ground: &Ground, workshop: &Workshop) -> Vec<Input> {
    let mut rows: Vec<Vec<Input>> = Vec::new();
    let tools = callable(&ground.surface);
    let mut of_method: BTreeMap<String, usize> = BTreeMap::new();
    for step in operations(ground) {
        let Some(message) = step.message() else { continue };
        let count = of_method.entry(message.method.clone()).or_default();
        *count += 1;
        let (first, many) = (*count == 1, *count > MOST_OF_A_METHOD);
        let tool = tool_of(message, &tools);
        if ground.era == Era::Modern && tool.is_none_or(|tool| tool.asks) {
            rows.push(flows(ground, &step, &message.method));
        }
        if message.method != "tools/call" && many {
            continue;
        }
        rows.push(packed(values_of(ground, &step, message, tool, first)));
        if ground.transport == Transport::Http && first {
            rows.push(headers(ground, &step));
        }
    }
    if ground.era == Era::Modern {
        rows.push(states_of_others(ground, &tools));
    }
    let mut out = in_turn(rows);
    out.iter_mut().for_each(|input| workshop.weigh_all(input));
    out
}

fn tool_of<'a>(message: &Message, tools: &'a [Callable]) -> Option<&'a Callable> {
    let name = message.params.as_ref()?.get("name")?.as_str()?;
    tools.iter().find(|tool| message.method == "tools/call" && tool.name == name)
}

/// Several requests in flight together, which takes hardly longer than one.
fn packed(inputs: Vec<Input>) -> Vec<Input> {
    const TOGETHER: usize = 8;
    let mut out: Vec<Input> = Vec::new();
    for mut input in inputs {
        input.steps.iter_mut().for_each(|step| step.wait = false);
        match out.last_mut().filter(|last| last.steps.len() + input.steps.len() <= TOGETHER) {
            Some(last) => last.then(&input),
            None => out.push(input),
        }
    }
    out
}

fn one(ground: &Ground, steps: Vec<Step>) -> Input {
    Input { era: ground.era, manner: Manner::Prompt, steps }
}

/// One request with each place of its parameters changed in turn.
fn values_of(ground: &Ground, step: &Step, message: &Message, tool: Option<&Callable>, first: bool) -> Vec<Input> {
    let mut out = Vec::new();
    let mut keep = |params: Value, forbidden: Option<Forbidden>| {
        let changed = Message { params: Some(params), forbidden, ..message.clone() };
        out.push(one(ground, vec![Step { act: Act::Request(changed), ..step.clone() }]));
    };
    let params = message.params.clone().unwrap_or_else(|| json!({}));
    let bound = |params: &Value| {
        let broken = tool.zip(params.get("arguments")).is_some_and(|(tool, it)| breaks_a_bound(&tool.schema, it));
        broken.then_some(Forbidden::Arguments)
    };
    if tool.is_some_and(|tool| tool.task) {
        for ttl in values::numbers() {
            let mut changed = params.clone();
            changed["task"] = json!({ "ttl": ttl });
            keep(changed, None);
        }
    }
    let variants =
        values::each_place(&params, &|pointer| first || tool.is_none() || pointer.starts_with("/arguments/"));
    for changed in variants {
        let forbidden = bound(&changed);
        keep(changed, forbidden);
    }
    if let Some(generator) = tool.and_then(|tool| tool.generator.as_ref()) {
        for arguments in generator.boundary() {
            let mut changed = params.clone();
            changed["arguments"] = arguments;
            let forbidden = bound(&changed);
            keep(changed, forbidden);
        }
        for miss in generator.near_miss() {
            let mut changed = params.clone();
            changed["arguments"] = miss.value;
            let forbidden = (!miss.coercible && miss.required).then_some(Forbidden::Arguments);
            let forbidden = forbidden.or_else(|| bound(&changed));
            keep(changed, forbidden);
        }
    }
    out
}

/// A flow of several rounds with its state and its answers tampered with; nothing where the server asks for nothing.
fn flows(ground: &Ground, step: &Step, method: &str) -> Vec<Input> {
    const FLIPS: u64 = 24;
    if !matches!(method, "tools/call" | "prompts/get" | "resources/read") {
        return Vec::new();
    }
    let state = |of: usize| input::from(of, "/result/requestState");
    let base = || retry(0);
    let mut retries: Vec<input::Retry> = (0..=2).map(|without| input::Retry { without, ..base() }).collect();
    retries.push(input::Retry { state: Some(None), ..base() });
    retries.push(input::Retry { responses: Some(json!({})), ..base() });
    retries.push(input::Retry { responses: Some(Value::Null), ..base() });
    // Spread over the whole of what it encodes, and over the bits of a byte.
    let flipped = |at: u64| Some(Some(json!({ input::FLIP: state(0), "at": at * 2_048 / FLIPS + at % 8 })));
    retries.extend((0..FLIPS).map(|at| input::Retry { state: flipped(at), ..base() }));
    // In the first round, and once more with the same; then in the second round.
    let first = retries.iter().map(|tampered| {
        let tampered = Step::of(Act::Retry(tampered.clone()));
        one(ground, vec![step.clone(), tampered.clone(), tampered])
    });
    let second = retries.iter().cloned().map(|mut tampered| {
        tampered.of = 1;
        if let Some(Some(hole)) = &mut tampered.state {
            hole[input::FLIP] = state(1);
        }
        one(ground, vec![step.clone(), Step::of(Act::Retry(base())), Step::of(Act::Retry(tampered))])
    });
    first.chain(second).collect()
}

/// Flows that are gone on with by the state of a flow that began with another request.
fn states_of_others(ground: &Ground, tools: &[Callable]) -> Vec<Input> {
    const MOST: usize = 12;
    let asks = |step: &Step| {
        step.message().is_some_and(|message| match message.method.as_str() {
            "tools/call" => tool_of(message, tools).is_some_and(|tool| tool.asks),
            method => matches!(method, "prompts/get" | "resources/read"),
        })
    };
    let asking: Vec<Step> = operations(ground).into_iter().filter(asks).collect();
    let mut out = Vec::new();
    for step in &asking {
        // Without a state at all, to know what that comes to.
        let without = input::Retry { state: Some(None), ..retry(0) };
        out.push(one(ground, vec![step.clone(), Step::of(Act::Retry(without))]));
        for other in asking.iter().filter(|other| *other != step).rev().take(MOST) {
            let foreign = input::Retry { state: Some(Some(input::from(0, "/result/requestState"))), ..retry(1) };
            out.push(one(ground, vec![other.clone(), step.clone(), Step::of(Act::Retry(foreign))]));
        }
    }
    out
}

/// One request under each odd header, and streams taken up behind odd events.
fn headers(ground: &Ground, step: &Step) -> Vec<Input> {
    let mut out = Vec::new();
    for (name, values) in FITTING {
        for value in values {
            let header = ((*name).to_owned(), Some((*value).to_owned()));
            let mut changed = step.clone();
            if let Some(message) = changed.message_mut() {
                message.wrong.push(format!("headers/{name}"));
                message.headers.push(header.clone());
            }
            out.push(one(ground, vec![changed]));
            if name == "last-event-id" {
                let accept = ("accept".to_owned(), Some("text/event-stream".to_owned()));
                let headers = vec![accept, header];
                let act = HttpAct { method: "GET".into(), headers, body: String::new(), resume: None };
                out.push(one(ground, vec![step.clone(), Step { wait: true, ..Step::of(Act::Http(act)) }]));
            }
        }
    }
    out
}

/// One of each row after the other.
fn in_turn(rows: Vec<Vec<Input>>) -> Vec<Input> {
    let mut out = Vec::new();
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    while !rows.is_empty() {
        rows.retain_mut(|row| match row.next() {
            Some(input) => {
                out.push(input);
                true
            }
            None => false,
        });
    }
    out
}

//! The steps of a case in words, one line each.

use crate::ast::{
    AwaitTarget, ByRevision, Change, ConversationRef, ExpectSubject, LoopSource, Need, ProcessSignal, PromptKind,
    Request, Requirement, ServedEras, Spanned, Step, Template, ToolKind,
};

/// One line a step; what stands inside another step is indented.
pub(crate) fn steps(steps: &[Spanned<Step>]) -> Vec<String> {
    let mut lines = Vec::new();
    write(steps, 0, &mut lines);
    lines
}

/// What a server has to have, in words.
pub(crate) fn need(need: &Need) -> String {
    match need {
        Need::Capability(path) => format!("the capability {path}"),
        Need::Era(ServedEras::Dual) => "both eras served".to_owned(),
        Need::Era(ServedEras::LegacyOnly) => "no revision after 2025-11-25 served".to_owned(),
        Need::Era(ServedEras::ModernOnly) => "no revision before 2026-07-28 served".to_owned(),
        Need::Lacks(path) => format!("no capability {path}"),
        Need::Fixture => "the fixture tools of the official suite".to_owned(),
        Need::Loopback => "a URL on a loopback address".to_owned(),
        Need::Resumable => "streams that can be resumed".to_owned(),
        Need::Session => "a session id".to_owned(),
        Need::Token => "a credential (--header)".to_owned(),
        Need::Tool { name, kind } => format!("a callable tool {}(`{name}`)", tool_kind(kind)),
    }
}

fn write(steps: &[Spanned<Step>], depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for step in steps {
        lines.push(format!("{indent}{}", line(&step.node)));
        match &step.node {
            Step::ForEach(each) => write(&each.steps, depth + 1, lines),
            Step::Parallel(branches) => {
                for (at, branch) in branches.iter().enumerate() {
                    lines.push(format!("{indent}  branch {}:", at + 1));
                    write(branch, depth + 2, lines);
                }
            }
            _ => {}
        }
    }
}

fn line(step: &Step) -> String {
    match step {
        Step::Answer { of, .. } => format!("answer `{}`", of.node),
        Step::Await(step) => match &step.target {
            AwaitTarget::Answer { of } => format!("wait for the answer to `{}`", of.node),
            AwaitTarget::Message { of, like, .. } => {
                let whose = of.as_ref().map(|of| format!(" for `{}`", of.node)).unwrap_or_default();
                format!("wait for {}{whose}", message(like))
            }
        },
        Step::Cancel { of } => format!("cancel `{}`", of.node),
        Step::Check(check) => {
            let with: Vec<String> =
                check.with.iter().map(|(name, value)| format!("{name}: {}", template(value))).collect();
            format!("run the check {} ({})", check.name.node, with.join(", "))
        }
        Step::CloseStdin { on } => format!("close stdin{}", conversation(on)),
        Step::CloseStream { of } => format!("close the stream of `{}`", of.node),
        Step::DropConnection { on } => format!("drop the connection{}", conversation(on)),
        Step::Expect(step) => match &step.subject {
            ExpectSubject::Answer(of) => format!("judge the answer to `{}`", of.node),
            ExpectSubject::Value(value) => format!("judge {}", template(value)),
        },
        Step::ExpectExit(step) => format!("expect that the process ends{}", conversation(&step.on)),
        Step::ExpectNothing(step) => {
            format!("expect that {} does not come{}", message(&step.like), conversation(&step.on))
        }
        Step::ForEach(each) => format!("for each {} (`{}`):", source(&each.over), each.variable),
        Step::Http(step) => format!("{} over HTTP{}{}", step.method, headers(&step.headers), conversation(&step.on)),
        Step::HttpRaw(step) => {
            format!("send {} bytes over a fresh connection{}", step.bytes.len(), conversation(&step.on))
        }
        Step::Notify(step) => format!("notify {}{}", method(&step.method), conversation(&step.on)),
        Step::Open(step) => format!("open a second conversation (`{}`)", step.name.node),
        Step::Parallel(_) => "side by side:".to_owned(),
        Step::Probe(step) => {
            format!(
                "send {} as the control, then with one change: {}{}",
                request(&step.base),
                change(&step.change),
                conversation(&step.on)
            )
        }
        Step::Raw(step) => format!("write {} bytes to stdin{}", step.bytes.len(), conversation(&step.on)),
        Step::Request(step) => format!(
            "send {}{} and wait for the answer{}",
            request(&step.request),
            named(step.handle.as_ref()),
            conversation(&step.on)
        ),
        Step::Require(step) => match &step.what {
            Requirement::Answer { of, .. } => {
                format!("go on only if the answer to `{}` serves (else: {})", of.node, step.reason)
            }
            Requirement::Differ(_) | Requirement::Value { .. } => {
                format!("go on only if it can be judged (else: {})", step.reason)
            }
        },
        Step::Retry(step) => {
            let state = match &step.state {
                None => String::new(),
                Some(None) => " without its state".to_owned(),
                Some(Some(state)) => format!(" with the state {}", template(state)),
            };
            format!("go on with `{}`{state}{}", step.of.node, conversation(&step.on))
        }
        Step::Send(step) => {
            format!("send {}{}{}", request(&step.request), named(Some(&step.handle)), conversation(&step.on))
        }
        Step::Signal { signal, on } => {
            let name = match signal {
                ProcessSignal::Interrupt => "INT",
                ProcessSignal::Kill => "KILL",
                ProcessSignal::Terminate => "TERM",
            };
            format!("send the signal {name}{}", conversation(on))
        }
        Step::Snapshot { of, name } => format!("keep the answer to `{}` as {name}", of.node),
    }
}

fn named(handle: Option<&Spanned<String>>) -> String {
    handle.map(|handle| format!(" (`{}`)", handle.node)).unwrap_or_default()
}

fn conversation(on: &ConversationRef) -> String {
    on.as_ref().map(|on| format!(" on `{}`", on.node)).unwrap_or_default()
}

fn method(method: &ByRevision<Spanned<String>>) -> String {
    match method {
        ByRevision::Same(method) => method.node.clone(),
        ByRevision::Each(each) => each
            .iter()
            .map(|(revision, method)| format!("{} ({revision})", method.node))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn request(request: &Request) -> String {
    let mut text = method(&request.method);
    // Whom a call is for says more than the rest of its params.
    if let Some(Template::Object(params)) = request.params.as_ref().map(|params| &params.node)
        && let Some((_, name)) = params.iter().find(|(name, _)| name == "name" || name == "uri")
    {
        text.push_str(&format!(" of {}", template(name)));
    }
    if let Some(id) = &request.id {
        text.push_str(&format!(" with the id {}", template(id)));
    }
    if let Some(token) = &request.token {
        text.push_str(&format!(" with the progress token {}", template(token)));
    }
    if let Some(capabilities) = &request.capabilities {
        text.push_str(&format!(" declaring {}", template(capabilities)));
    }
    text.push_str(&headers(&request.headers));
    text
}

fn headers(headers: &[(String, Option<Spanned<Template>>)]) -> String {
    let words: Vec<String> = headers
        .iter()
        .map(|(name, value)| match value {
            Some(value) => format!("{name}: {}", template(value)),
            None => format!("no {name}"),
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" with {}", words.join(", ")) }
}

fn change(change: &Change) -> String {
    match change {
        Change::Capabilities(value) => format!("the client declares {}", template(value)),
        Change::Header { name, value: Some(value) } => format!("the header {name} is {}", template(value)),
        Change::Header { name, value: None } => format!("the header {name} is left out"),
        Change::Remove { pointer } => format!("{pointer} is left out"),
        Change::Set { pointer, value } => format!("{pointer} is {}", template(value)),
        Change::Version(value) => format!("the claimed version is {}", template(value)),
    }
}

fn message(like: &crate::ast::Matcher) -> String {
    if let crate::ast::Matcher::Object(members) = like
        && let Some((_, crate::ast::Matcher::Literal(serde_json::Value::String(method)))) =
            members.iter().find(|(name, _)| name == "method")
    {
        return method.clone();
    }
    "a certain message".to_owned()
}

fn source(over: &LoopSource) -> String {
    match over {
        LoopSource::Boundary(schema) => format!("value at an edge of {}", template(schema)),
        LoopSource::NearMiss(schema) => format!("value that just breaks {}", template(schema)),
        LoopSource::Prompts(kind) => match kind {
            PromptKind::All => "prompt",
            PromptKind::Argument => "prompt with an argument",
            PromptKind::Optional => "prompt whose arguments can be left out",
            PromptKind::Required => "prompt with a required argument",
        }
        .to_owned(),
        LoopSource::Resources => "resource".to_owned(),
        LoopSource::Templates => "resource template".to_owned(),
        LoopSource::Tools(kind) => format!("callable tool {}", tool_kind(kind)).trim_end().to_owned(),
        LoopSource::Valid(schema) => format!("value that fits {}", template(schema)),
        LoopSource::Values(values) => format!("of {}", values.iter().map(template).collect::<Vec<_>>().join(", ")),
    }
}

fn tool_kind(kind: &ToolKind) -> String {
    let mut words = Vec::new();
    if let Some(input) = kind.asks {
        words.push(format!("that asks for {}", format!("{input:?}").to_lowercase()));
    }
    for (flag, text) in [
        (kind.changes_list, "that changes the list of tools"),
        (kind.state, "that hands out a state"),
        (kind.progress, "that reports progress"),
        (kind.task, "that may be called as a task"),
        (kind.required_argument, "with a required argument"),
        (kind.nothing_required, "that requires no argument"),
        (kind.output_schema, "with an outputSchema"),
    ] {
        if flag {
            words.push(text.to_owned());
        }
    }
    if words.is_empty() { String::new() } else { format!("{} ", words.join(" and ")) }
}

fn template(template: &Template) -> String {
    match template {
        Template::Literal(value) => value.to_string(),
        Template::Raw(text) => text.clone(),
        Template::Variable(variable) => format!("${}{}", variable.name, variable.pointer),
        Template::Array(items) => format!("[{}]", items.iter().map(self::template).collect::<Vec<_>>().join(", ")),
        Template::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, member)| format!("{name}: {}", self::template(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Template::Flipped { value, at } => format!("{} with bit {at} flipped", self::template(value)),
        Template::Sentinel { mark, value } => format!("=?{mark}?({})?=", self::template(value)),
    }
}

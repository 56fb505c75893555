//! Steps: one function for each, and the dispatch over their names.

use mcp_conform_schemas::Era;

use super::{
    fields::{Fields, list, shown},
    judging::transpose,
    lower::Lower,
    node::{Key, Kind, Node},
    scope::Binding,
    shape::{self, PARALLEL, PROMPTS, SIGNALS, STEPS},
};
use crate::{
    ast::{
        Await, AwaitTarget, Capture, ConversationRef, Expect, ExpectExit, ExpectNothing, ExpectSubject, ForEach, Http,
        HttpRaw, LoopSource, NamedCheck, Notify, Open, Probe, ProcessSignal, PromptKind, Raw, Request, RequestStep,
        Require, Requirement, Retry, Send, Span, Spanned, Step, ToolKind, Transport,
    },
    nearest::nearest,
};

impl Lower<'_> {
    pub(crate) fn steps(&mut self, node: &Node) -> Option<Vec<Spanned<Step>>> {
        let items = self.list(node, "a list of steps")?;
        let lowered: Vec<_> = items.iter().map(|item| self.step(item)).collect();
        lowered.into_iter().collect()
    }

    fn step(&mut self, node: &Node) -> Option<Spanned<Step>> {
        let known = || STEPS.iter().map(|(name, _)| *name).chain([PARALLEL]);
        let (key, body) = match &node.kind {
            Kind::Map(entries) => match entries.as_slice() {
                [(key, body)] => (key, body),
                [_, (second, _), ..] => {
                    self.report(second.span, "a second key in one step")
                        .help("each step is a list entry of its own with one key; its members are indented below it");
                    return None;
                }
                [] => {
                    self.report(node.span, "the step is empty");
                    return None;
                }
            },
            // A step without members may be written as its bare name.
            Kind::String(name) if ["close_stdin", "drop_connection"].contains(&name.as_str()) => {
                let key = &Key { name: name.clone(), span: node.span };
                let body = &Node { kind: Kind::Map(Vec::new()), span: node.span };
                return self.named_step(key, body);
            }
            _ => {
                self.report(node.span, format!("expected a step, found {}", node.what()))
                    .help("a step is a mapping with one key, such as `- request: {method: tools/list}`");
                return None;
            }
        };
        if !known().any(|name| name == key.name) {
            let help = match nearest(&key.name, known()).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("steps are {}", list(&known().collect::<Vec<_>>())),
            };
            self.report(key.span, format!("there is no step `{}`", shown(&key.name))).help(help);
            return None;
        }
        self.named_step(key, body)
    }

    fn named_step(&mut self, key: &Key, body: &Node) -> Option<Spanned<Step>> {
        let span = Span { start: key.span.start, end: key.span.end };
        if key.name == PARALLEL {
            return Some(Spanned { node: self.parallel(body)?, span });
        }
        let (_, shape) = STEPS.iter().find(|(name, _)| *name == key.name)?;
        let fields = self.fields(body, shape)?;
        match key.name.as_str() {
            "close_stdin" | "raw" | "signal" | "expect_exit" => self.only_over(Transport::Stdio, &key.name, key.span),
            "http" | "http_raw" | "close_stream" => self.only_over(Transport::Http, &key.name, key.span),
            "retry" => self.only_modern("the step `retry`", key.span),
            _ => {}
        }
        let faults = self.faults.len();
        let step = match key.name.as_str() {
            "answer" => self.answer(&fields),
            "await" => self.await_step(&fields),
            "cancel" => self.handle(&fields).map(|of| Step::Cancel { of }),
            "check" => self.check(&fields),
            "close_stdin" => self.on(&fields).map(|on| Step::CloseStdin { on }),
            "close_stream" => self.handle(&fields).map(|of| Step::CloseStream { of }),
            "drop_connection" => self.on(&fields).map(|on| Step::DropConnection { on }),
            "expect" => self.expect(&fields),
            "expect_exit" => self.expect_exit(&fields),
            "expect_nothing" => self.expect_nothing(&fields),
            "for_each" => self.for_each(&fields),
            "http" => self.http(&fields),
            "http_raw" => self.http_raw(&fields),
            "notify" => self.notify(&fields),
            "open" => self.open(&fields),
            "probe" => self.probe(&fields),
            "raw" => self.raw_bytes(&fields),
            "request" => self.request_step(&fields),
            "require" => self.require(&fields),
            "retry" => self.retry(&fields),
            "send" => self.send(&fields),
            "signal" => self.signal(&fields),
            "snapshot" => self.snapshot(&fields),
            _ => None,
        };
        let step = step.filter(|_| fields.whole);
        if step.is_none() && fields.whole && self.faults.len() == faults {
            self.report(key.span, format!("the step `{}` cannot be understood", key.name));
        }
        Some(Spanned { node: step?, span })
    }

    pub(crate) fn only_modern(&mut self, what: &str, span: Span) {
        if let Some(legacy) = self.revisions.iter().find(|revision| revision.era() == Era::Legacy).copied() {
            self.report(span, format!("{what} does not exist in {legacy}, for which the case is too"))
                .help("write a case of its own for 2026-07-28");
        }
    }

    fn on(&mut self, fields: &Fields<'_>) -> Option<ConversationRef> {
        self.conversation(fields.value("on"))
    }

    fn handle(&mut self, fields: &Fields<'_>) -> Option<Spanned<String>> {
        fields.value("of").and_then(|node| self.request_handle(node))
    }

    /// The name behind `as`; the outer nothing is a fault.
    fn new_handle(&mut self, fields: &Fields<'_>, binding: Binding) -> Option<Option<Spanned<String>>> {
        transpose(fields.value("as").map(|node| self.new_name(node, binding)))
    }

    fn within(&mut self, fields: &Fields<'_>) -> Option<Option<std::time::Duration>> {
        transpose(fields.value("within").map(|node| self.duration(node)))
    }

    fn captures(&mut self, fields: &Fields<'_>) -> Vec<Capture> {
        let Some(node) = fields.value("capture") else { return Vec::new() };
        let mut captures = Vec::new();
        for (key, value) in self.map(node, "a mapping from variables to pointers").unwrap_or_default() {
            let name = Node { kind: Kind::String(key.name.clone()), span: key.span };
            let variable = self.new_name(&name, Binding::Value);
            let pointer = self.pointer(value);
            if let (Some(variable), Some(pointer)) = (variable, pointer) {
                captures.push(Capture { variable: variable.node, pointer: pointer.node, span: key.span });
            }
        }
        captures
    }

    fn request(&mut self, fields: &Fields<'_>) -> Option<Request> {
        let method =
            fields.value("method").and_then(|node| self.by_revision(node, false, |lower, node| lower.text(node)));
        let params = fields.value("params").map(|node| self.template(node));
        let id = fields.value("id").map(|node| self.template(node));
        let token = fields.value("token").map(|node| self.template(node));
        let capabilities = fields.value("capabilities").map(|node| self.capabilities(node));
        if let Some((key, _)) = fields.entry("capabilities") {
            self.only_modern("a declaration of one request alone", key.span);
        }
        let headers = fields.value("headers").map(|node| self.headers(node));
        Some(Request {
            method: method?,
            params: transpose(params)?,
            id: transpose(id)?,
            token: transpose(token)?,
            capabilities: transpose(capabilities)?,
            headers: transpose(headers)?.unwrap_or_default(),
        })
    }

    fn wrong(&mut self, fields: &Fields<'_>) -> Vec<String> {
        fields.value("wrong").map(|node| self.pointers(node)).unwrap_or_default()
    }

    fn open(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let setup = self.setup(fields);
        let name = self.new_handle(fields, Binding::Conversation)??;
        Some(Step::Open(Open { name, setup: setup? }))
    }

    fn send(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let request = self.request(fields);
        let wrong = self.wrong(fields);
        let handle = self.new_handle(fields, Binding::Request)??;
        Some(Step::Send(Send { on: on?, request: request?, handle, wrong }))
    }

    fn request_step(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let request = self.request(fields);
        let wrong = self.wrong(fields);
        let within = self.within(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        let captures = self.captures(fields);
        Some(Step::Request(RequestStep {
            on: on?,
            request: request?,
            handle: handle?,
            wrong,
            within: within?,
            judgements,
            captures,
        }))
    }

    fn await_step(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let within = self.within(fields);
        let of = transpose(fields.value("of").map(|node| self.request_handle(node)));
        let target = match fields.value("message") {
            None => {
                for key in fields.given(&["as", "on"]) {
                    self.report(key.span, format!("`{}` belongs to `await` with `message`", key.name))
                        .help("the answer is found by the handle of its request");
                }
                match of {
                    Some(Some(of)) => Some(AwaitTarget::Answer { of }),
                    Some(None) => {
                        self.report(fields.span, "nothing is awaited").help("add `of`, or `message`");
                        None
                    }
                    None => None,
                }
            }
            Some(node) => {
                let like = self.matcher(node);
                let on = self.on(fields);
                let handle = self.new_handle(fields, Binding::Message);
                (|| Some(AwaitTarget::Message { on: on?, of: of?, like: like?, handle: handle? }))()
            }
        };
        let judgements = self.judgements(fields);
        let captures = self.captures(fields);
        Some(Step::Await(Await { target: target?, within: within?, judgements, captures }))
    }

    fn probe(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let base = fields.value("base").and_then(|node| {
            let fields = self.fields(node, &shape::BASE)?;
            self.request(&fields).filter(|_| fields.whole)
        });
        let change = fields
            .value("change")
            .and_then(|node| self.change(node).map(|change| Spanned { node: change, span: node.span }));
        let within = self.within(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        self.must_judge(fields, "the probe");
        Some(Step::Probe(Probe { on: on?, base: base?, change: change?, handle: handle?, within: within?, judgements }))
    }

    fn retry(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let of = self.handle(fields);
        let on = self.on(fields);
        let state = match fields.value("state") {
            None => Some(None),
            Some(node) if matches!(node.kind, Kind::Null) => Some(Some(None)),
            Some(node) => self.template(node).map(|state| Some(Some(state))),
        };
        let responses = transpose(fields.value("responses").map(|node| self.template(node)));
        let without = transpose(fields.value("without").map(|node| self.count(node)));
        let name = transpose(fields.value("name").map(|node| self.template(node)));
        let also = transpose(fields.value("also").map(|node| self.named_templates(node)));
        let wrong = self.wrong(fields);
        let within = self.within(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        let captures = self.captures(fields);
        Some(Step::Retry(Retry {
            of: of?,
            on: on?,
            state: state?,
            responses: responses?,
            without: without?.unwrap_or_default(),
            also: also?.unwrap_or_default(),
            name: name?,
            wrong,
            handle: handle?,
            within: within?,
            judgements,
            captures,
        }))
    }

    fn count(&mut self, node: &Node) -> Option<usize> {
        let count = self.integer(node)?;
        match usize::try_from(count) {
            Ok(count) if count > 0 => Some(count),
            _ => {
                self.report(node.span, format!("{count} is no number of things")).help("give 1 or more");
                None
            }
        }
    }

    fn expect(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let subject = match (fields.value("of"), fields.value("that")) {
            (Some(node), None) => self.request_handle(node).map(ExpectSubject::Answer),
            (None, Some(node)) => self.template(node).map(ExpectSubject::Value),
            _ => {
                self.report(fields.span, "`expect` looks at one thing").help("write either `of` or `that`");
                None
            }
        };
        let judgements = self.judgements(fields);
        self.must_judge(fields, "`expect`");
        Some(Step::Expect(Expect { subject: subject?, judgements }))
    }

    fn require(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let reason = fields.value("reason").and_then(|node| self.sentence(node));
        let given = |names: &[&str]| fields.given(names).len();
        let what = match (given(&["of", "see"]), given(&["differ"]), given(&["that", "is"])) {
            (2, 0, 0) => {
                let of = self.handle(fields);
                let see = fields.value("see").and_then(|node| self.see(node));
                (|| Some(Requirement::Answer { of: of?, see: see? }))()
            }
            (0, 1, 0) => {
                let node = fields.value("differ")?;
                let values = self.templates(node, "a list of values")?;
                if values.len() < 2 {
                    self.report(node.span, "it takes two values to differ");
                }
                Some(Requirement::Differ(values))
            }
            (0, 0, 2) => {
                let that = fields.value("that").and_then(|node| self.template(node));
                let is = fields.value("is").and_then(|node| self.matcher(node));
                (|| Some(Requirement::Value { that: that?, is: is? }))()
            }
            _ => {
                self.report(fields.span, "`require` looks at one thing")
                    .help("write `of` and `see`, or `differ`, or `that` and `is`");
                None
            }
        };
        Some(Step::Require(Require { what: what?, reason: reason? }))
    }

    fn expect_nothing(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let of = transpose(fields.value("of").map(|node| self.request_handle(node)));
        let like = fields.value("like").and_then(|node| self.matcher(node));
        let requirement = fields.value("requirement").and_then(|node| self.requirement(node, false));
        let says = transpose(fields.value("says").map(|node| self.sentence(node)));
        Some(Step::ExpectNothing(ExpectNothing {
            on: on?,
            of: of?,
            like: like?,
            requirement: requirement?,
            says: says?,
        }))
    }

    fn expect_exit(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let within = self.within(fields);
        let mut code = Vec::new();
        if let Some(node) = fields.value("code") {
            for item in self.one_or_many(node) {
                let value = self.integer(item)?;
                match i32::try_from(value) {
                    Ok(value) => code.push(value),
                    Err(_) => {
                        self.report(item.span, "this is no exit code");
                    }
                }
            }
        }
        let requirement = fields.value("requirement").and_then(|node| self.requirement(node, false));
        let says = transpose(fields.value("says").map(|node| self.sentence(node)));
        Some(Step::ExpectExit(ExpectExit { on: on?, within: within?, code, requirement: requirement?, says: says? }))
    }

    fn notify(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let method =
            fields.value("method").and_then(|node| self.by_revision(node, false, |lower, node| lower.text(node)));
        let params = transpose(fields.value("params").map(|node| self.template(node)));
        let headers = transpose(fields.value("headers").map(|node| self.headers(node)));
        let wrong = self.wrong(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        Some(Step::Notify(Notify {
            on: on?,
            method: method?,
            params: params?,
            headers: headers?.unwrap_or_default(),
            handle: handle?,
            judgements,
            wrong,
        }))
    }

    fn raw_bytes(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let (bytes, split) = self.bytes(fields)?;
        Some(Step::Raw(Raw { on: on?, bytes, split }))
    }

    fn http(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let method = fields.value("method").and_then(|node| self.text(node)).and_then(|method| {
            let sound = super::value::is_header_name(&method.node);
            if !sound {
                self.report(method.span, format!("`{}` is no HTTP method", shown(&method.node)));
            }
            sound.then_some(method.node)
        });
        let path = transpose(fields.value("path").map(|node| {
            let path = self.text(node)?;
            let sound = path.node.starts_with('/') && path.node.bytes().all(|b| b.is_ascii_graphic());
            if !sound {
                self.report(node.span, "this is no path").help("a path begins with a slash and holds no spaces");
            }
            sound.then_some(path.node)
        }));
        let bare = transpose(fields.value("bare").map(|node| self.boolean(node)));
        let headers = transpose(fields.value("headers").map(|node| self.headers(node)));
        let body = transpose(fields.value("body").map(|node| self.template(node)));
        let within = self.within(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        let captures = self.captures(fields);
        Some(Step::Http(Http {
            on: on?,
            method: method?,
            path: path?,
            bare: bare?.unwrap_or_default(),
            headers: headers?.unwrap_or_default(),
            body: body?,
            handle: handle?,
            within: within?,
            judgements,
            captures,
        }))
    }

    fn http_raw(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let bytes = self.bytes(fields);
        let within = self.within(fields);
        let handle = self.new_handle(fields, Binding::Request);
        let judgements = self.judgements(fields);
        let (bytes, split) = bytes?;
        Some(Step::HttpRaw(HttpRaw { on: on?, bytes, split, handle: handle?, within: within?, judgements }))
    }

    fn answer(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let of = fields
            .value("of")
            .and_then(|node| self.bound(node, "a message of the server", |binding| binding == Binding::Message));
        let with = fields.value("with").and_then(|node| self.template(node));
        Some(Step::Answer { of: of?, with: with? })
    }

    fn signal(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let on = self.on(fields);
        let signal = match fields.value("name").and_then(|node| self.word(node, SIGNALS, "signal"))? {
            "INT" => ProcessSignal::Interrupt,
            "KILL" => ProcessSignal::Kill,
            _ => ProcessSignal::Terminate,
        };
        Some(Step::Signal { on: on?, signal })
    }

    fn parallel(&mut self, node: &Node) -> Option<Step> {
        let items = self.list(node, "a list of branches, each a list of steps")?;
        let before = self.scope.len();
        let mut branches = Vec::new();
        let mut bound = Vec::new();
        for item in items {
            branches.push(self.steps(item));
            bound.push(self.scope.close(before));
        }
        for names in bound {
            for name in &names {
                if let Some(taken) = self.scope.find(&name.name).map(|bound| bound.span) {
                    self.report(name.span, format!("two branches bind the name `{}`", name.name))
                        .note("bound here", taken);
                }
            }
            self.scope.reopen(names);
        }
        let branches: Option<Vec<_>> = branches.into_iter().collect();
        Some(Step::Parallel(branches?))
    }

    fn for_each(&mut self, fields: &Fields<'_>) -> Option<Step> {
        const SOURCES: &[&str] = &["boundary", "near_miss", "prompt", "resource", "template", "tool", "valid", "value"];
        let over = match fields.given(SOURCES).as_slice() {
            [key] => {
                let value = fields.value(&key.name)?;
                self.loop_source(&key.name, value).map(|node| Spanned { node, span: key.span })
            }
            _ => {
                self.report(fields.span, "a loop goes over one thing").help(format!("write one of {}", list(SOURCES)));
                None
            }
        };
        let binding = match over.as_ref().map(|over| &over.node) {
            Some(LoopSource::NearMiss(_)) => Binding::NearMiss,
            Some(LoopSource::Tools(_)) => Binding::Tool,
            _ => Binding::Value,
        };
        let only_first = transpose(fields.value("only_first").map(|node| self.boolean(node)));
        let before = self.scope.len();
        let variable = self.new_handle(fields, binding);
        let steps = fields.value("do").and_then(|node| self.steps(node));
        self.scope.close(before);
        let only_first = only_first?.unwrap_or_default();
        Some(Step::ForEach(ForEach { over: over?, only_first, variable: variable??.node, steps: steps? }))
    }

    fn loop_source(&mut self, name: &str, node: &Node) -> Option<LoopSource> {
        Some(match name {
            "boundary" => LoopSource::Boundary(self.bare_template(node)?),
            "near_miss" => LoopSource::NearMiss(self.bare_template(node)?),
            "valid" => LoopSource::Valid(self.bare_template(node)?),
            "value" => LoopSource::Values(
                self.templates(node, "a list of values")?.into_iter().map(|value| value.node).collect(),
            ),
            "tool" if matches!(node.kind, Kind::Map(_)) => LoopSource::Tools(self.tool_kind(node)?),
            "prompt" => LoopSource::Prompts(match self.word(node, PROMPTS, "kind of prompt")? {
                "argument" => PromptKind::Argument,
                "optional" => PromptKind::Optional,
                "required" => PromptKind::Required,
                _ => PromptKind::All,
            }),
            _ => {
                self.word(node, &["all"], "choice")?;
                match name {
                    "resource" => LoopSource::Resources,
                    "template" => LoopSource::Templates,
                    _ => LoopSource::Tools(ToolKind::default()),
                }
            }
        })
    }

    fn snapshot(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let of = self.handle(fields);
        let name = fields.value("name").and_then(|node| self.sentence(node));
        Some(Step::Snapshot { of: of?, name: name? })
    }

    fn check(&mut self, fields: &Fields<'_>) -> Option<Step> {
        let name = fields.value("name").and_then(|node| self.text(node));
        let on = self.on(fields);
        let with = transpose(fields.value("with").map(|node| self.named_templates(node)));
        let mut judges = Vec::new();
        if let Some(node) = fields.value("judges") {
            for (key, value) in self.map(node, "a mapping from roles to requirements")? {
                // Whether an outcome is contested is the check's to say, so that nothing is asked of the catalogue here.
                if let Some(requirement) = self.requirement(value, false) {
                    judges.push((Spanned { node: key.name.clone(), span: key.span }, requirement));
                }
            }
        }
        Some(Step::Check(NamedCheck { name: name?, on: on?, with: with?.unwrap_or_default(), judges }))
    }
}

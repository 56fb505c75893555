//! One request while it is served: [`Call`] tells the features who asked and what that client can do, carries their
//! progress and log messages, and asks the client for input in the way of its era. Features end early by a [`Stop`].

use std::sync::{Arc, MutexGuard};

use serde_json::{Map, Value, json};

use crate::arguments::mismatch;
use crate::bugs::{Bug, Notebook};
use crate::faults::Fault;
use crate::forms::break_form;
use crate::json::{Body, Message, Params, Raw, RpcError};
use crate::logging::Level;
use crate::seal::{Seal, digest};
use crate::server::{Outlet, Server, lock};
use crate::session::{AskError, Session};

/// Why a feature has no result of its own.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The request is answered by a JSON-RPC error.
    Error(RpcError),
    /// The tool failed, which is a result.
    Tool(String),
    /// The client has to give input first (2026-07-28).
    Input(Value),
}

impl From<RpcError> for Stop {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// One request that is being served.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    /// The legacy session; a modern request has none.
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) version: &'static str,
    pub(crate) capabilities: Map<String, Value>,
    /// Whether the client is at the other end of a pipe.
    pub(crate) pipe: bool,
    /// Where messages go that belong to this request.
    pub(crate) outlet: Outlet,
    pub(crate) token: Option<Raw>,
    /// The lowest level that the client wants to see; `None` for no log messages at all.
    pub(crate) level: Option<Level>,
    flow: Flow,
}

/// A multi round-trip request: what was answered so far and what the state is bound to.
#[derive(Default)]
struct Flow {
    bound_to: Value,
    answers: Map<String, Value>,
    responses: Map<String, Value>,
    rounds: u64,
    /// Tells flows of the same request apart; drawn with the first state.
    number: Option<u64>,
}

/// One thing that the client is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Form {
        message: &'static str,
        schema: Value,
    },
    Roots,
    Model {
        prompt: &'static str,
    },
    /// A page that the user is sent to, under an id of the server's own.
    Page {
        id: String,
    },
}

impl Call {
    pub(crate) fn new(server: &Arc<Server>, session: Option<&Arc<Session>>, outlet: Outlet) -> Self {
        Self {
            server: server.clone(),
            session: session.cloned(),
            version: session.map_or(crate::config::MODERN, |session| session.version()),
            capabilities: session.map(|session| session.capabilities()).unwrap_or_default(),
            pipe: false,
            outlet,
            token: None,
            level: None,
            flow: Flow::default(),
        }
    }

    pub(crate) fn modern(&self) -> bool {
        self.session.is_none()
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.server.has(fault)
    }

    pub(crate) fn bug(&self, bug: Bug) -> bool {
        self.server.bug(bug)
    }

    /// What a deep bug remembers of this client; of a modern one nothing is known that would tell it from others.
    pub(crate) fn notebook(&self) -> MutexGuard<'_, Notebook> {
        lock(self.session.as_ref().map_or(&self.server.notebook, |session| &session.notebook))
    }

    /// Whether the client reads standard output.
    pub(crate) fn is_over_pipe(&self) -> bool {
        self.session.as_ref().map_or(self.pipe, |session| session.is_over_pipe())
    }

    /// Reports progress, if the client gave a token.
    pub(crate) fn progress(&self, done: f64, total: f64, message: &str) {
        let token = match &self.token {
            Some(_) if self.has(Fault::ProgressForeignToken) => Raw::from_text("\"of-somebody-else\"".to_owned()),
            Some(token) if self.has(Fault::ProgressTokenStringified) && token.value().is_number() => {
                Raw::from_text(json!(token.text()).to_string())
            }
            Some(token) => token.clone(),
            None if self.has(Fault::ProgressWithoutToken) => Raw::from_text("\"invented\"".to_owned()),
            None => return,
        };
        let whole = |number: f64| if number.fract() == 0.0 { json!(number as i64) } else { json!(number) };
        let shown = match () {
            () if self.has(Fault::ProgressStandsStill) => json!(1),
            () if self.has(Fault::ProgressDecreases) => whole(total - done),
            () if self.has(Fault::ProgressAsText) => json!(done.to_string()),
            () => whole(done),
        };
        let silent = self.has(Fault::ProgressMessageEmpty) && message != crate::json::FIRST_PROGRESS;
        let message = if silent { "" } else { message };
        let mut body = Body::from(json!({"progress": shown, "total": whole(total), "message": message}));
        if self.has(Fault::SubscriptionTagOnProgress) {
            body.set_meta(crate::server::SUBSCRIPTION_ID, json!("none"));
        }
        self.outlet.notify("notifications/progress", body.raw("progressToken", token));
    }

    /// Sends a log message, if the client wants messages of this level.
    pub(crate) fn log(&self, level: Level, data: Value) {
        let wanted = match self.level {
            None if self.has(Fault::LogWithoutLevel) => true,
            None => false,
            Some(_) if self.has(Fault::LogLevelIgnored) => true,
            Some(least) => level >= least,
        };
        if !wanted {
            return;
        }
        let name = if self.has(Fault::LogLevelInvented) { "verbose" } else { level.name() };
        let mut body = Body::from(json!({"level": name, "logger": "reference", "data": data}));
        if self.has(Fault::LogWithoutData) {
            body.members.shift_remove("data");
        }
        self.outlet.notify("notifications/message", body);
    }

    /// Reads the retry part of a request that may be answered in several rounds (2026-07-28).
    pub(crate) async fn open_flow(&mut self, method: &str, subject: &Value, params: &Params) -> Result<(), Stop> {
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        self.flow.bound_to = match method {
            "prompts/get" | "resources/read" if self.bug(Bug::StateOfAnyContent) => {
                json!(["content", digest(&arguments)])
            }
            _ => json!([method, subject, digest(&arguments)]),
        };
        if !self.modern() {
            return Ok(());
        }
        let malformed = |what: &str| Stop::Error(RpcError::invalid_params(what));
        let responses = match params.get("inputResponses") {
            None => Map::new(),
            Some(Value::Object(responses)) => responses.clone(),
            Some(_) if self.has(Fault::OddResponsesAsToolError) => {
                return Err(Stop::Tool("inputResponses has to be an object".to_owned()));
            }
            Some(_) => return Err(malformed("inputResponses has to be an object")),
        };
        let Some(state) = params.get("requestState") else { return Ok(()) };
        if self.has(Fault::OwnStateRefused) {
            return Err(malformed("requestState cannot be read"));
        }
        let state = state.as_str().ok_or_else(|| malformed("requestState has to be a string"))?;
        let refused = || malformed("requestState does not belong to this request or is no longer valid");
        let opened = match () {
            () if self.has(Fault::StateUnsigned) => Seal::open_unverified(state),
            () if self.has(Fault::StateIgnored) => Some(json!({"for": self.flow.bound_to, "until": u64::MAX})),
            () => self.server.seal.open(state),
        };
        if opened.is_none() && self.has(Fault::HostileStateHangs) {
            return std::future::pending().await;
        }
        let text = state;
        let state = opened.ok_or_else(refused)?;
        if state.get("for") != Some(&self.flow.bound_to) && !self.has(Fault::StateNotBound) {
            return Err(refused());
        }
        let expired = state.get("until").and_then(Value::as_u64).is_none_or(|until| until < self.server.now());
        if expired && !self.has(Fault::StateNeverExpires) {
            return Err(refused());
        }
        if self.bug(Bug::StateUsedTwice) && !lock(&self.server.notebook).used_states.insert(text.to_owned()) {
            // The flow was taken out of the table with its end, and is waited for.
            return std::future::pending().await;
        }
        self.flow.answers = state.get("answers").and_then(Value::as_object).cloned().unwrap_or_default();
        if self.bug(Bug::FlowsShareAnswers) {
            let shared = lock(&self.server.notebook).answers.get(&self.flow.bound_to.to_string()).cloned();
            self.flow.answers = shared.unwrap_or_default();
        }
        self.flow.number = state.get("flow").and_then(Value::as_u64);
        self.flow.rounds = state.get("rounds").and_then(Value::as_u64).unwrap_or(0);
        self.flow.responses = responses;
        if self.has(Fault::ExtraResponsesRefused)
            && self
                .flow
                .responses
                .keys()
                .any(|key| !["name", "colour", "size", "roots", "reply", "form", "page"].contains(&key.as_str()))
        {
            return Err(malformed("inputResponses has a key that was not asked for"));
        }
        Ok(())
    }

    /// Asks the client for everything at once and gives its answers in the order of the questions.
    pub(crate) async fn ask(&mut self, questions: &[(&'static str, Input)]) -> Result<Vec<Value>, Stop> {
        for (_, input) in questions {
            self.require(input)?;
        }
        if let Some(session) = self.session.clone() {
            // What is asked at once is asked side by side.
            if let [(_, one), (_, other)] = questions {
                let (one, other) = tokio::join!(self.ask_legacy(&session, one), self.ask_legacy(&session, other));
                return Ok(vec![one?, other?]);
            }
            let mut answers = Vec::new();
            for (_, input) in questions {
                answers.push(self.ask_legacy(&session, input).await?);
            }
            return Ok(answers);
        }
        if self.has(Fault::ServerRequestInModern) {
            self.ask_by_request(questions);
            // Such a server waits for an answer that no client of this revision can give.
            return std::future::pending().await;
        }
        let mut missing = Map::new();
        for (key, input) in questions {
            if self.flow.answers.contains_key(*key) {
                continue;
            }
            match self.flow.responses.get(*key) {
                Some(answer) => {
                    if self.has(Fault::DeclineNeverAnswered) && answer.get("action").is_some_and(|it| it != "accept") {
                        return std::future::pending().await;
                    }
                    let answer = self.checked(input, answer.clone()).map_err(RpcError::invalid_params)?;
                    self.flow.answers.insert((*key).to_owned(), answer);
                }
                None => {
                    missing.insert((*key).to_owned(), self.input_request(input));
                }
            }
        }
        let first = questions.first().is_some_and(|(key, _)| !missing.contains_key(*key));
        if !first && questions.len() > missing.len() && self.bug(Bug::SecondAnswerFirst) {
            self.server.fatal.cancel();
            return std::future::pending().await;
        }
        if self.is_held_up_by_elicitation(questions) {
            return std::future::pending().await;
        }
        if missing.is_empty() {
            return Ok(questions.iter().filter_map(|(key, _)| self.flow.answers.get(*key).cloned()).collect());
        }
        let lacking = questions.len() > missing.len() || self.flow.responses.is_empty();
        if self.flow.rounds > 0 && self.has(Fault::MissingResponseRefused) && lacking {
            return Err(RpcError::invalid_params("an answer is missing").into());
        }
        self.note_questions(questions);
        Err(Stop::Input(self.interim(missing)))
    }

    /// What a client declares stands for the client: all that a stateless server knows of it.
    fn question(&self, input: &Input) -> Option<String> {
        let declared = Value::Object(self.capabilities.clone());
        match input {
            Input::Form { .. } if self.has(Fault::OpenElicitationBlocks) => {
                Some(json!([self.flow.bound_to, declared]).to_string())
            }
            Input::Model { .. } if self.has(Fault::OpenSamplingBlocks) => Some(declared.to_string()),
            _ => None,
        }
    }

    fn note_questions(&self, questions: &[(&'static str, Input)]) {
        let open = questions.iter().filter_map(|(_, input)| self.question(input));
        lock(&self.server.memory).open_questions.extend(open);
    }

    /// Whether a broken server waits for the answer to a question that another call asked.
    fn is_held_up_by_elicitation(&self, questions: &[(&'static str, Input)]) -> bool {
        let mut memory = lock(&self.server.memory);
        let asked: Vec<String> = questions.iter().filter_map(|(_, input)| self.question(input)).collect();
        if self.flow.rounds > 0 {
            memory.open_questions.retain(|open| !asked.contains(open));
            return false;
        }
        self.has(Fault::OpenElicitationBlocks) && asked.iter().any(|one| memory.open_questions.contains(one))
    }

    pub(crate) fn is_held_up_by_sampling(&self) -> bool {
        let declared = Value::Object(self.capabilities.clone()).to_string();
        self.has(Fault::OpenSamplingBlocks) && lock(&self.server.memory).open_questions.contains(&declared)
    }

    /// Ends with an error unless the client said in this request that it can give such input.
    pub(crate) fn require(&self, input: &Input) -> Result<(), Stop> {
        let declared = |name: &str| self.capabilities.get(name).and_then(Value::as_object);
        let (able, needed) = match input {
            Input::Form { .. } => (
                declared("elicitation").is_some_and(|modes| modes.is_empty() || modes.contains_key("form")),
                json!({"elicitation": {"form": {}}}),
            ),
            Input::Page { .. } => (
                declared("elicitation").is_some_and(|modes| modes.contains_key("url"))
                    || (!self.modern() && declared("elicitation").is_some() && self.has(Fault::PageSentUndeclared)),
                json!({"elicitation": {"url": {}}}),
            ),
            Input::Roots => (declared("roots").is_some(), json!({"roots": {}})),
            Input::Model { .. } => (declared("sampling").is_some(), json!({"sampling": {}})),
        };
        if able || self.has(Fault::AsksUndeclared) {
            return Ok(());
        }
        if !self.modern() {
            return Err(Stop::Tool(format!("the client cannot give what this tool needs: {needed}")));
        }
        if self.has(Fault::MissingCapabilityAsUnknownMethod) {
            return Err(RpcError::unknown_method("tools/call").status(404).into());
        }
        let error = RpcError::new(-32021, "the client did not declare a capability that is needed here");
        let error = match () {
            () if self.has(Fault::MissingCapabilityWithoutData) => error,
            () if self.has(Fault::MissingCapabilityAsList) => {
                let names: Vec<String> =
                    needed.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
                error.data(json!({"requiredCapabilities": names}))
            }
            () => error.data(json!({"requiredCapabilities": needed})),
        };
        Err(error.status(if self.has(Fault::MissingCapabilityStatus200) { 200 } else { 400 }).into())
    }

    async fn ask_legacy(&self, session: &Arc<Session>, input: &Input) -> Result<Value, Stop> {
        if matches!(input, Input::Form { .. } | Input::Page { .. }) && self.version < "2025-06-18" {
            return Err(Stop::Tool("this protocol version has no elicitation".to_owned()));
        }
        let (method, params) = self.request(input);
        match session.ask(&self.server, &self.outlet, method, params).await {
            Ok(answer) => self.checked(input, answer).map_err(Stop::Tool),
            Err(AskError::TimedOut) => Err(Stop::Tool("the client did not answer in time".to_owned())),
            Err(AskError::Refused(error)) => {
                let why = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
                Err(Stop::Tool(format!("the client refused: {why}")))
            }
        }
    }

    fn ask_by_request(&self, questions: &[(&'static str, Input)]) {
        for (_, input) in questions {
            let (method, params) = self.request(input);
            let id = Raw::number(self.server.count());
            self.outlet.send(Message::Request { id, method, params: params.map(Body::from) });
        }
    }

    pub(crate) fn request(&self, input: &Input) -> (&'static str, Option<Value>) {
        let (method, mut params) = self.sound_request(input);
        if let Some(params) = &mut params {
            break_form(self, method, params);
        }
        (method, params)
    }

    fn sound_request(&self, input: &Input) -> (&'static str, Option<Value>) {
        match input {
            Input::Form { message, schema } => {
                let mut params = json!({"mode": "form", "message": message, "requestedSchema": schema});
                if let Some(params) = params.as_object_mut() {
                    if self.version < "2025-11-25" {
                        params.shift_remove("mode");
                    }
                    if self.has(Fault::ElicitationWithoutMessage) {
                        params.shift_remove("message");
                    }
                    if self.has(Fault::ElicitationModeInvented) {
                        params.insert("mode".to_owned(), json!("voice"));
                    }
                    if self.has(Fault::ElicitationSchemaNested) {
                        let nested =
                            json!({"type": "object", "properties": {"who": {"type": "object", "properties": {}}}});
                        params.insert("requestedSchema".to_owned(), nested);
                    }
                }
                ("elicitation/create", Some(params))
            }
            Input::Page { id } => {
                let mut params = json!({
                    "mode": "url",
                    "message": "Please go to this page.",
                    "url": format!("https://example.com/reference/page/{id}"),
                });
                if !self.modern() {
                    params["elicitationId"] = json!(id);
                }
                ("elicitation/create", Some(params))
            }
            Input::Roots => ("roots/list", None),
            Input::Model { prompt } => {
                let mut params = json!({
                    "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
                    "maxTokens": 100,
                    "modelPreferences": {"hints": [{"name": "any"}], "speedPriority": 0.5},
                });
                let sampling = self.capabilities.get("sampling");
                let can = |name: &str| sampling.is_some_and(|sampling| sampling.get(name).is_some());
                let tools = can("tools") && self.version >= "2025-11-25";
                if tools || self.has(Fault::ModelToolsUndeclared) {
                    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
                    params["tools"] = json!([{"name": "look_up", "description": "Explains.", "inputSchema": schema}]);
                    params["toolChoice"] = json!({"mode": "auto"});
                }
                if can("context") || self.has(Fault::ModelContextUndeclared) {
                    params["includeContext"] = json!("thisServer");
                }
                if let Some(params) = params.as_object_mut()
                    && self.has(Fault::SamplingWithoutMaxTokens)
                {
                    params.shift_remove("maxTokens");
                }
                ("sampling/createMessage", Some(params))
            }
        }
    }

    fn input_request(&self, input: &Input) -> Value {
        let (method, params) = self.request(input);
        let mut request = Map::new();
        if self.has(Fault::InputRequestOfUnknownKind) {
            request.insert("method".to_owned(), json!("tools/list"));
            return Value::Object(request);
        }
        request.insert("method".to_owned(), json!(method));
        // Where nobody goes on with the flow, so that all others can be judged.
        let of_resource = self.flow.bound_to.get(0).is_some_and(|method| method == "resources/read");
        let form = matches!(input, Input::Form { .. });
        let bare = form && of_resource && self.has(Fault::ElicitationWithoutParams);
        if let Some(params) = params.filter(|_| !bare) {
            request.insert("params".to_owned(), params);
        }
        if matches!(input, Input::Roots) && self.has(Fault::RootsParamsAsList) {
            request.insert("params".to_owned(), json!([]));
        }
        Value::Object(request)
    }

    fn interim(&self, missing: Map<String, Value>) -> Value {
        let state = json!({
            "for": self.flow.bound_to,
            "answers": self.flow.answers,
            "rounds": self.flow.rounds + 1,
            "flow": self.flow.number.unwrap_or_else(|| self.server.count()),
            "until": self.server.now() + self.server.config.state_lifetime.as_secs(),
        });
        if self.bug(Bug::FlowsShareAnswers) {
            lock(&self.server.notebook).answers.insert(self.flow.bound_to.to_string(), self.flow.answers.clone());
        }
        let mut result = Map::new();
        let kind = if self.has(Fault::InterimCalledIncomplete) { "incomplete" } else { "input_required" };
        result.insert("resultType".to_owned(), json!(kind));
        let requests = match () {
            () if self.has(Fault::InputRequestsAsList) => {
                Value::Array(missing.into_iter().map(|(_, one)| one).collect())
            }
            () => Value::Object(missing),
        };
        if !self.has(Fault::InterimEmpty) {
            result.insert("inputRequests".to_owned(), requests);
            result.insert("requestState".to_owned(), json!(self.server.seal.close(&state)));
        }
        if self.has(Fault::StateAsObject) {
            result.insert("requestState".to_owned(), state);
        }
        if self.has(Fault::InterimCached) {
            result.insert("ttlMs".to_owned(), json!(1000));
            result.insert("cacheScope".to_owned(), json!("public"));
        }
        Value::Object(result)
    }

    /// The client's answer, if it has the form that was asked for.
    fn checked(&self, input: &Input, answer: Value) -> Result<Value, String> {
        if self.has(Fault::InputAnswersUnchecked) {
            return Ok(answer);
        }
        match input {
            Input::Model { .. } if self.has(Fault::ModelAnswersUnchecked) => Ok(answer),
            Input::Form { schema, .. } => match answer.get("action").and_then(Value::as_str) {
                Some("accept") => {
                    let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
                    mismatch(schema, &content, None)
                        .map_or(Ok(answer), |why| Err(format!("the answer does not fit: {why}")))
                }
                Some("decline" | "cancel") => Ok(answer),
                _ => Err("the answer has no known action".to_owned()),
            },
            Input::Page { .. } => match answer.get("action").and_then(Value::as_str) {
                Some("accept" | "decline" | "cancel") => Ok(answer),
                _ => Err("the answer has no known action".to_owned()),
            },
            Input::Roots => {
                let roots = answer.get("roots").and_then(Value::as_array);
                let sound =
                    roots.is_some_and(|roots| roots.iter().all(|root| root.get("uri").is_some_and(Value::is_string)));
                if sound { Ok(answer) } else { Err("the answer has no list of roots".to_owned()) }
            }
            Input::Model { .. } => {
                let role = answer.get("role").and_then(Value::as_str);
                let content = answer.get("content").is_some_and(|content| content.is_object() || content.is_array());
                let sound = matches!(role, Some("user" | "assistant")) && content;
                if sound { Ok(answer) } else { Err("the answer is no message of a model".to_owned()) }
            }
        }
    }

    /// What a broken server believes that this client can do.
    pub(crate) fn remember_capabilities(&mut self, client: &str) {
        let key = match () {
            () if self.has(Fault::CapabilitiesRemembered) => String::new(),
            () if self.has(Fault::CapabilitiesCachedByClient) => client.to_owned(),
            () => return,
        };
        let mut memory = lock(&self.server.memory);
        let known = memory.capabilities_by_client.entry(key).or_default();
        for (name, value) in &self.capabilities {
            known.insert(name.clone(), value.clone());
        }
        let known = known.clone();
        drop(memory);
        self.capabilities = known;
    }
}

//! What a server offers in one era over one transport, and what was learnt of it by using it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use mcp_conform_cases::ast::{InputKind, ServedEras, ToolKind};
use mcp_conform_schemas::Revision;
use serde_json::{Value, json};

/// Everything that cases may ask about the target.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    pub capabilities: Value,
    /// `name version` as the server gives it.
    pub server: Option<String>,
    /// The version that rules the era here.
    pub version: Option<Revision>,
    pub tools: Vec<ToolFacts>,
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
    /// The server issued a session id.
    pub session: bool,
    /// A stream of the server carried event ids and GET with Last-Event-ID was answered by a stream.
    pub resumable: bool,
    /// The URL is on a loopback address.
    pub loopback: bool,
    /// The longest that a plain request took to be answered, tools aside.
    pub slowest: Duration,
    /// The tools were called and the resources read, so that it is known what they do.
    pub used: bool,
    /// A list or a page of it could not be had: which and why.
    pub gaps: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct ToolFacts {
    /// The `Tool` as listed.
    pub tool: Value,
    pub call: CallState,
    /// Arguments that were used.
    pub arguments: Option<Value>,
    /// Others that may make a slow tool quick.
    pub quick: Option<Value>,
    pub asks: BTreeSet<InputKind>,
    pub state: bool,
    pub progress: bool,
    /// Its name with the case of every letter swapped, where no tool has that name.
    pub other_case: Option<String>,
    /// The list of tools was announced to have changed while it was called.
    pub changes_list: bool,
}

/// Whether a tool was called, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It gave a result without isError, or asked for input.
    Accepted,
    /// The user's flags or missing annotations forbid it.
    NotAllowed,
    /// No arguments could be made from its schema.
    NoArguments(String),
    /// It was called and refused the arguments, or did not answer: what came.
    Refused(String),
    /// It was called, and the server ended or what came went beyond our limits: what came.
    Lost { came: String, ended: bool },
    /// It was called and takes its time: what comes of it is not waited for.
    Slow,
}

impl ToolFacts {
    pub fn name(&self) -> &str {
        self.tool.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// It says that it changes nothing.
    pub fn only_reads(&self) -> bool {
        self.tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
    }

    /// Whether a case may call it and expect service.
    pub fn callable(&self) -> bool {
        self.call == CallState::Accepted
    }

    /// What `$tool` stands for in a script: the Tool and the arguments that it accepted.
    pub fn variable(&self) -> Value {
        let mut tool = self.tool.clone();
        if let Some(map) = tool.as_object_mut() {
            map.insert("arguments".to_owned(), self.arguments.clone().unwrap_or_else(|| json!({})));
            if let Some(name) = &self.other_case {
                map.insert("otherCase".to_owned(), name.clone().into());
            }
        }
        tool
    }

    pub fn is(&self, kind: &ToolKind) -> bool {
        self.works(kind)
            && kind.asks.is_none_or(|asked| self.asks.contains(&asked))
            && (!kind.state || self.state)
            && (!kind.progress || self.progress)
            && (!kind.task || self.task())
            && (!kind.changes_list || self.changes_list)
            && (!kind.required_argument || self.required_argument())
            && (!kind.nothing_required || self.requires_nothing())
            && (!kind.output_schema || self.tool.get("outputSchema").is_some())
    }

    fn task(&self) -> bool {
        matches!(self.support(), Some("optional" | "required"))
    }

    /// Whether it may or has to be called as a task.
    fn support(&self) -> Option<&str> {
        self.tool.pointer("/execution/taskSupport").and_then(Value::as_str)
    }

    /// A slow tool is called again only for what it alone may have to show, and only if it was seen at work.
    fn works(&self, kind: &ToolKind) -> bool {
        let asking = kind.asks.is_some() && !self.asks.is_empty();
        let wanted = (kind.progress && self.progress) || asking || kind.task;
        // A tool that has to be called as a task refuses a plain call, whatever its arguments are.
        let task_alone = kind.task && matches!(self.call, CallState::Refused(_)) && self.support() == Some("required");
        self.callable() || task_alone || (self.call == CallState::Slow && wanted)
    }

    /// By its schema alone, so that it is known of a tool that was not called, too.
    pub fn requires_nothing(&self) -> bool {
        let required = self.tool.pointer("/inputSchema/required").and_then(Value::as_array);
        required.is_none_or(Vec::is_empty)
    }

    fn required_argument(&self) -> bool {
        let Some(schema) = self.tool.get("inputSchema") else { return false };
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| {
            names.iter().filter_map(Value::as_str).any(|name| {
                let property = schema.get("properties").and_then(|properties| properties.get(name));
                property.is_some_and(|property| property.get("type").is_some() && property.get("default").is_none())
            })
        })
    }
}

impl Surface {
    /// A capability by its dotted path; `false` and absence are both no.
    pub fn has_capability(&self, path: &str) -> bool {
        let mut node = &self.capabilities;
        for part in path.split('.') {
            match node.get(part) {
                Some(value) => node = value,
                None => return false,
            }
        }
        !matches!(node, Value::Bool(false) | Value::Null)
    }

    /// Input schemas by tool, for mirrored parameter headers.
    pub fn input_schemas(&self) -> Arc<BTreeMap<String, Value>> {
        let schemas = self
            .tools
            .iter()
            .filter_map(|facts| Some((facts.name().to_owned(), facts.tool.get("inputSchema")?.clone())));
        Arc::new(schemas.collect())
    }

    /// Whether no tool that was called could be used, because the server ended.
    pub fn calls_end_it(&self) -> bool {
        let ended = |facts: &ToolFacts| matches!(&facts.call, CallState::Lost { ended: true, .. });
        self.tools.iter().any(ended) && !self.tools.iter().any(ToolFacts::callable)
    }

    /// Tools that had not answered when the survey was over.
    pub fn slow(&self) -> impl Iterator<Item = &ToolFacts> {
        self.tools.iter().filter(|facts| facts.call == CallState::Slow)
    }

    /// Tools that were left alone because of their annotations or the user's flags.
    pub fn not_allowed(&self) -> impl Iterator<Item = &ToolFacts> {
        self.tools.iter().filter(|facts| facts.call == CallState::NotAllowed)
    }
}

/// Which eras a target was seen to serve.
pub fn served(legacy: bool, modern: bool) -> Option<ServedEras> {
    match (legacy, modern) {
        (true, true) => Some(ServedEras::Dual),
        (true, false) => Some(ServedEras::LegacyOnly),
        (false, true) => Some(ServedEras::ModernOnly),
        (false, false) => None,
    }
}

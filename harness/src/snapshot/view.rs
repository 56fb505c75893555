//! What is kept: a [`View`] is what a server answered in one revision over one transport, a [`Kept`] one of its answers.
//!
//! A view is one file, as readable as its answers:
//!
//! ```text
//! {"mcp-conform": "snapshot", "version": 1, "revision": "2025-11-25", "transport": "stdio",
//!  "answers": {"tools/call echo": {"method": "tools/call", "params": {…}, "result": {…}}, …}}
//! ```

use mcp_conform_schemas::Revision;

use super::doc::{self, members, object, text};
use crate::{
    trace::Transport,
    wire::{Json, JsonKind, Limits, Number},
};

/// Of the files; a reader knows its own alone.
pub(super) const VERSION: u32 = 1;
/// Stands in the place of a method for the answers that steps of cases keep.
pub(super) const CASE: &str = "case";
/// The lists, by method, with the member that holds their entries.
pub(super) const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// One revision over one transport.
#[derive(Clone, Debug)]
pub struct View {
    pub revision: Revision,
    pub transport: Transport,
    /// In the order in which they were asked for. No two have one name.
    pub answers: Vec<Kept>,
}

/// One answer, with the question that brought it.
#[derive(Clone, Debug)]
pub struct Kept {
    pub name: String,
    pub method: String,
    pub params: Option<Json>,
    /// An object: `result`, `error`, or `nothing` with what came instead; `before` and `pages` where there are any.
    pub answer: Json,
}

/// Something that was not asked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKept {
    pub name: String,
    pub reason: String,
}

impl Kept {
    /// What a host shows its user or its model before anything is called: when this changes, what was agreed to did.
    pub fn is_definition(&self) -> bool {
        is_definition(&self.method)
    }

    /// For a definition that was asked for again: the name of the first answer.
    pub fn repeats(&self) -> Option<&str> {
        (self.is_definition() && self.name != self.method).then_some(self.method.as_str())
    }
}

pub(super) fn is_definition(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover") || LISTS.iter().any(|(list, _)| *list == method)
}

impl View {
    /// How it is called in words.
    pub fn title(&self) -> String {
        format!("{} over {}", self.revision, self.transport.as_str())
    }

    /// The name of its file.
    pub fn file(&self) -> String {
        file_of(self.revision, self.transport)
    }

    pub fn is_at(&self, other: &View) -> bool {
        self.revision == other.revision && self.transport == other.transport
    }

    pub fn answer(&self, name: &str) -> Option<&Kept> {
        self.answers.iter().find(|kept| kept.name == name)
    }

    /// The view as a file.
    pub fn to_text(&self) -> String {
        let answers = self.answers.iter().map(|kept| {
            let mut out = vec![("method".to_owned(), text(kept.method.as_str()))];
            out.extend(kept.params.iter().map(|params| ("params".to_owned(), params.clone())));
            out.extend(members(&kept.answer).iter().map(|member| (member.name.to_string(), member.value.clone())));
            (kept.name.clone(), object(out))
        });
        doc::pretty_text(&object([
            ("mcp-conform".to_owned(), text("snapshot")),
            ("version".to_owned(), number(VERSION)),
            ("revision".to_owned(), text(self.revision.to_string())),
            ("transport".to_owned(), text(self.transport.as_str())),
            ("answers".to_owned(), object(answers)),
        ]))
    }

    /// Reads a file; what is wrong with it is told as the end of a sentence.
    pub fn of_text(text: &str) -> Result<Self, ReadError> {
        let bad = |reason: &str| ReadError::Format(reason.to_owned());
        let json = read(text)?;
        let word = |member: &str| json.get(member).and_then(Json::as_str);
        if word("mcp-conform") != Some("snapshot") {
            return Err(bad("it is no snapshot of mcp-conform"));
        }
        version(&json)?;
        let revision = word("revision").and_then(|revision| revision.parse().ok());
        let transport = match word("transport") {
            Some("stdio") => Transport::Stdio,
            Some("http") => Transport::Http,
            _ => return Err(bad("its transport is neither stdio nor http")),
        };
        let answers = json.get("answers").and_then(Json::as_object).ok_or_else(|| bad("it has no answers"))?;
        let answers = answers.iter().map(|member| {
            let method = member.value.get("method").and_then(Json::as_str);
            let method = method.ok_or_else(|| ReadError::Format(format!("{:?} has no method", member.name)))?;
            let own = |name: &str| matches!(name, "method" | "params");
            let answer = members(&member.value).iter().filter(|part| !own(&part.name));
            Ok(Kept {
                name: member.name.to_string(),
                method: method.to_owned(),
                params: member.value.get("params").cloned(),
                answer: object(answer.map(|part| (part.name.to_string(), part.value.clone()))),
            })
        });
        Ok(Self {
            revision: revision.ok_or_else(|| bad("its revision is none that was published"))?,
            transport,
            answers: answers.collect::<Result<_, ReadError>>()?,
        })
    }
}

/// Why a text is no file of ours.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadError {
    Format(String),
    /// Of another version than ours.
    Version(String),
}

/// JSON of a file of ours: longer and deeper than a message may be, as it holds many.
pub(super) fn read(text: &str) -> Result<Json, ReadError> {
    let limits = Limits { bytes: usize::MAX, depth: crate::wire::MAX_DEPTH, nodes: 50_000_000, ..Limits::default() };
    let reading = Json::read(text.as_bytes(), &limits);
    reading.map(|reading| reading.json).map_err(|error| {
        let line = text.as_bytes().iter().take(error.offset).filter(|byte| **byte == b'\n').count() + 1;
        ReadError::Format(format!("line {line} is no JSON: {}", error.kind))
    })
}

pub(super) fn version(json: &Json) -> Result<(), ReadError> {
    let version = json.get("version").ok_or_else(|| ReadError::Format("it has no version".to_owned()))?;
    match version.as_number().and_then(Number::as_u64) {
        Some(known) if known == u64::from(VERSION) => Ok(()),
        _ => Err(ReadError::Version(version.to_string().chars().take(20).collect())),
    }
}

pub(super) fn number(value: u32) -> Json {
    match Number::parse(&value.to_string()) {
        Some(number) => Json { kind: JsonKind::Number(number), span: crate::wire::Span { start: 0, end: 0 } },
        None => text(value.to_string()),
    }
}

pub(super) fn file_of(revision: Revision, transport: Transport) -> String {
    format!("{revision}-{}.json", transport.as_str())
}

/// Whether a file of a snapshot folder is a view by its name.
pub(super) fn is_view(file: &str) -> bool {
    Revision::ALL
        .iter()
        .any(|revision| [Transport::Http, Transport::Stdio].iter().any(|over| file == file_of(*revision, *over)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_as_it_was_written() {
        let kept = |name: &str, method: &str, params: Option<&str>, answer: &str| Kept {
            name: name.to_owned(),
            method: method.to_owned(),
            params: params.map(|params| Json::parse(params.as_bytes()).unwrap()),
            answer: Json::parse(answer.as_bytes()).unwrap(),
        };
        let view = View {
            revision: Revision::V2025_11_25,
            transport: Transport::Http,
            answers: vec![
                kept("tools/list", "tools/list", None, r#"{"result":{"tools":[{"name":"b","x":1.50}]}}"#),
                kept("tools/call \"b\"", "tools/call", Some(r#"{"name":"b"}"#), r#"{"error":{"code":-32602}}"#),
            ],
        };
        let text = view.to_text();
        let read = View::of_text(&text).unwrap();
        assert_eq!(read.to_text(), text);
        assert!(read.is_at(&view) && read.answer("tools/call \"b\"").is_some());
        assert!(text.contains("\"x\": 1.50\n"), "{text}");
    }

    #[test]
    fn what_is_no_view_says_why() {
        let why = |text: &str| match View::of_text(text) {
            Err(ReadError::Format(why) | ReadError::Version(why)) => why,
            Ok(_) => String::new(),
        };
        assert!(why("{\n\n").starts_with("line 3 is no JSON"), "{}", why("{\n\n"));
        assert_eq!(why("{}"), "it is no snapshot of mcp-conform");
        assert_eq!(why(r#"{"mcp-conform": "snapshot", "version": 2}"#), "2");
        assert_eq!(why(r#"{"mcp-conform": "snapshot"}"#), "it has no version");
    }
}

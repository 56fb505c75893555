//! Binary data in messages of the server is base64: the data of images and sounds, and the blobs of resources.
//!
//! The blocks of tool results, of prompts and of sampling requests are looked at, and the contents of resources. Whether a
//! member is there and a string is left to `schema`, except where one requirement of 2025-11-25 says both: its problems of
//! form are taken over from the schemas and told here.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, Row, Rule, Seen, Shape, Verdicts,
    register::Definition,
    schema,
    seen::{clip, token},
};
use crate::{trace::Event, wire::Json};

static MEDIA: Row = Row::legacy("tools-image-audio-base64", Revision::V2024_11_05);
static IMAGE: Row = Row::modern("content-image-base64");
static AUDIO: Row = Row::modern("content-audio-base64");
static BLOB: Row = Row::both("resources-blob-base64", Revision::V2024_11_05, "resource-blob-base64");
static PROMPT_IMAGE: Row = Row::both("prompts-image-base64-mime", Revision::V2024_11_05, "prompt-image-base64");
static PROMPT_AUDIO: Row = Row::both("prompts-audio-base64-mime", Revision::V2025_03_26, "prompt-audio-base64");

pub(super) static DEFINITION: Definition = Definition {
    name: "binary",
    title: "Binary data is base64",
    about: "The data of image and audio blocks and the blobs of resources decode as base64. What decodes only in the URL-safe \
            alphabet, with padding added or without its line breaks is a warning. Under 2025-11-25 the mimeType that stands \
            beside the data is judged too: one of another family than the block is a warning, and one that is no media type \
            is broken in a prompt and a warning elsewhere.",
    rows: &[MEDIA, IMAGE, AUDIO, BLOB, PROMPT_IMAGE, PROMPT_AUDIO],
    make: || Box::new(Binary),
};

struct Binary;

impl Rule for Binary {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            let Some((name, part)) = schema::typed(&seen, context) else { continue };
            let mut found = Found::default();
            found.read(&seen, part, context);
            judge_forms(&found, || schema::problems(&seen, name, part, &MEDIA, context), context, out);
            for block in found.blocks.iter().filter(|block| block.is_known(context)) {
                judge_block(&seen, block, context, out);
            }
            for (pointer, blob) in &found.blobs {
                let breach = flaw(blob).map(|flaw| flaw.breach(&seen, pointer, "the blob of a resource", blob));
                out.check(&BLOB, context, breach);
            }
        }
    }
}

/// What a message holds that is, or ought to be, binary. Pointers lead into the message.
#[derive(Default)]
struct Found<'a> {
    blocks: Vec<Block<'a>>,
    blobs: Vec<(String, &'a str)>,
    /// Some block has no type, and may be meant as one that holds data.
    untyped: bool,
}

struct Block<'a> {
    pointer: String,
    json: &'a Json,
    kind: Kind,
    /// It stands in a message of a prompt.
    prompt: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    Audio,
}

impl<'a> Found<'a> {
    fn read(&mut self, seen: &Seen<'a>, part: &str, context: &Context) {
        let Some(json) = seen.json.pointer(part) else { return };
        if seen.shape == Shape::Request {
            if seen.method() == Some("sampling/createMessage") {
                self.messages(json.pointer("/params/messages"), &format!("{part}/params/messages"), false);
            }
            return;
        }
        let Some(request) = seen.answer.and_then(|answer| answer.request).and_then(|key| context.request(key)) else {
            return;
        };
        let kind = json.get("resultType").and_then(Json::as_str);
        match (context.era(), kind) {
            (Era::Modern, Some("input_required")) => {
                return self.asked(json.get("inputRequests"), &format!("{part}/inputRequests"));
            }
            (Era::Modern, Some("complete")) | (Era::Legacy, _) => {}
            _ => return,
        }
        match &*request.method {
            "tools/call" | "tasks/result" => self.content(json.get("content"), &format!("{part}/content"), false),
            "prompts/get" => self.messages(json.get("messages"), &format!("{part}/messages"), true),
            "resources/read" => {
                for (index, item) in items(json.get("contents")) {
                    self.blob(item, format!("{part}/contents/{index}"));
                }
            }
            _ => {}
        }
    }

    fn asked(&mut self, requests: Option<&'a Json>, at: &str) {
        for member in requests.and_then(Json::as_object).unwrap_or_default() {
            if member.value.get("method").and_then(Json::as_str) == Some("sampling/createMessage") {
                let at = format!("{at}{}/params/messages", token(&member.name));
                self.messages(member.value.pointer("/params/messages"), &at, false);
            }
        }
    }

    fn messages(&mut self, messages: Option<&'a Json>, at: &str, prompt: bool) {
        for (index, message) in items(messages) {
            let at = format!("{at}/{index}/content");
            let Some(content) = message.get("content") else { continue };
            if content.as_array().is_some() {
                self.content(Some(content), &at, prompt);
            } else {
                self.block(content, at, prompt);
            }
        }
    }

    fn content(&mut self, blocks: Option<&'a Json>, at: &str, prompt: bool) {
        for (index, block) in items(blocks) {
            let at = format!("{at}/{index}");
            // Results of tools that a sampling request tells of hold blocks, and no such results in turn.
            if block.get("type").and_then(Json::as_str) == Some("tool_result") {
                for (inner, block) in items(block.get("content")) {
                    self.block(block, format!("{at}/content/{inner}"), prompt);
                }
            } else {
                self.block(block, at, prompt);
            }
        }
    }

    fn block(&mut self, json: &'a Json, pointer: String, prompt: bool) {
        let kind = match json.get("type").map(Json::as_str) {
            Some(Some("image")) => Kind::Image,
            Some(Some("audio")) => Kind::Audio,
            Some(Some("resource")) => {
                if let Some(resource) = json.get("resource") {
                    self.blob(resource, format!("{pointer}/resource"));
                }
                return;
            }
            Some(Some(_)) => return,
            _ => return self.untyped = true,
        };
        self.blocks.push(Block { pointer, json, kind, prompt });
    }

    fn blob(&mut self, contents: &'a Json, at: String) {
        if let Some(blob) = contents.get("blob").and_then(Json::as_str) {
            self.blobs.push((format!("{at}/blob"), blob));
        }
    }
}

fn items(json: Option<&Json>) -> impl Iterator<Item = (usize, &Json)> {
    json.and_then(Json::as_array).unwrap_or_default().iter().enumerate()
}

impl<'a> Block<'a> {
    fn text(&self, member: &str) -> Option<&'a str> {
        self.json.get(member).and_then(Json::as_str)
    }

    fn is_whole(&self) -> bool {
        self.text("data").is_some() && self.text("mimeType").is_some()
    }

    /// Sounds came with the second revision; before it such a block is anybody's.
    fn is_known(&self, context: &Context) -> bool {
        self.kind == Kind::Image || context.applies(Revision::V2025_03_26)
    }

    /// What holds for blocks anywhere.
    fn rows(&self) -> [&'static Row; 2] {
        [&MEDIA, if self.kind == Kind::Image { &IMAGE } else { &AUDIO }]
    }

    /// What holds in prompts besides.
    fn prompt_row(&self) -> Option<&'static Row> {
        self.prompt.then_some(if self.kind == Kind::Image { &PROMPT_IMAGE } else { &PROMPT_AUDIO })
    }

    fn words(&self) -> &'static str {
        if self.kind == Kind::Image { "an image" } else { "a sound" }
    }

    /// Tells the rows for all blocks and the row for prompts, which says more about the same bytes.
    fn tell(&self, breach: Option<Breach>, in_prompts: Option<Breach>, context: &Context, out: &mut Verdicts) {
        let prompt = self.prompt_row();
        for row in self.rows() {
            out.check(row, context, breach.clone().map(|breach| under(breach, prompt)));
        }
        if let Some(row) = prompt {
            out.check(row, context, in_prompts);
        }
    }
}

fn under(breach: Breach, row: Option<&'static Row>) -> Breach {
    match row {
        Some(row) => breach.under(row),
        None => breach,
    }
}

/// Tells what the schemas find amiss under the one requirement that is about form and base64 alike.
fn judge_forms(
    found: &Found<'_>,
    problems: impl FnOnce() -> Vec<(String, Breach)>,
    context: &Context,
    out: &mut Verdicts,
) {
    // Validated again only where something is amiss; `schema` does it for every message.
    let sound = !found.untyped && found.blocks.iter().all(Block::is_whole);
    if sound || MEDIA.requirement(context).is_none() {
        return;
    }
    for (pointer, breach) in problems() {
        let within = |block: &&Block<'_>| {
            let rest = pointer.strip_prefix(&block.pointer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match found.blocks.iter().find(within) {
            Some(block) if !block.is_known(context) => {}
            Some(block) => block.tell(Some(breach.clone()), Some(breach), context, out),
            None => out.check(&MEDIA, context, Some(breach)),
        }
    }
}

fn judge_block(seen: &Seen<'_>, block: &Block<'_>, context: &Context, out: &mut Verdicts) {
    if let Some(data) = block.text("data") {
        let at = format!("{}/data", block.pointer);
        let what = format!("the data of {}", block.words());
        let breach = flaw(data).map(|flaw| flaw.breach(seen, &at, &what, data));
        block.tell(breach.clone(), breach, context, out);
    }
    // Under 2026-07-28 media types have requirements of their own.
    if context.era() == Era::Legacy
        && let Some(name) = block.text("mimeType")
    {
        let (kind, family) = if block.kind == Kind::Image { ("image", "image/") } else { ("audio", "audio/") };
        let foreign = name.get(..family.len()).is_none_or(|start| !start.eq_ignore_ascii_case(family));
        let at = format!("{}/mimeType", block.pointer);
        let breach = |words: String| Breach::at(seen, &at, words);
        let (anywhere, in_prompts) = if !is_media_type(name) {
            let breach = breach(format!("the mimeType of {} is no media type: {:?}", block.words(), clip(name)));
            (Some(breach.clone().warning()), Some(breach))
        } else if foreign {
            let words = format!("the mimeType of {} is not of the family {kind}: {:?}", block.words(), clip(name));
            (Some(breach(words.clone()).warning()), Some(breach(words).warning()))
        } else {
            (None, None)
        };
        block.tell(anywhere, in_prompts, context, out);
    }
}

/// How a text falls short of base64.
#[derive(Debug, PartialEq, Eq)]
enum Flaw {
    /// It can be read with some leniency.
    Loose(Vec<&'static str>),
    Unreadable(String),
}

impl Flaw {
    fn breach(self, seen: &Seen<'_>, pointer: &str, what: &str, text: &str) -> Breach {
        match self {
            Self::Loose(needs) => {
                let needs = needs.join(" and ");
                Breach::at(seen, pointer, format!("{what} is base64 only if a reader allows for {needs}")).warning()
            }
            Self::Unreadable(why) => Breach::at(seen, pointer, format!("{what} is no base64: {why}: {:?}", clip(text))),
        }
    }
}

/// Reads a text as base64 without keeping what it stands for. Bits to spare in the last symbol are anybody's.
fn flaw(text: &str) -> Option<Flaw> {
    let unreadable = |why: String| Some(Flaw::Unreadable(why));
    let (mut symbols, mut padding, mut url, mut broken) = (0_usize, 0_usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            '\r' | '\n' => broken = true,
            '=' => padding += 1,
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '-' | '_' => {
                if padding > 0 {
                    return unreadable(format!("it goes on after its padding, at byte {at}"));
                }
                symbols += 1;
                url |= matches!(character, '-' | '_');
            }
            _ => return unreadable(format!("{character:?} at byte {at} is no symbol of it")),
        }
    }
    let wanted = match symbols % 4 {
        0 => 0,
        2 => 2,
        3 => 1,
        _ => return unreadable(format!("{symbols} symbols stand for no whole number of bytes")),
    };
    if padding > wanted {
        return unreadable(format!("it has {padding} bytes of padding where {wanted} are due"));
    }
    let needs = [(url, "the URL-safe alphabet"), (padding < wanted, "missing padding"), (broken, "line breaks")];
    let needs: Vec<&str> = needs.into_iter().filter(|(needed, _)| *needed).map(|(_, words)| words).collect();
    (!needs.is_empty()).then_some(Flaw::Loose(needs))
}

/// A type and a subtype; what follows a semicolon is not looked at.
fn is_media_type(text: &str) -> bool {
    let essence = text.split_once(';').map_or(text, |(essence, _)| essence).trim_matches([' ', '\t']);
    let name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    essence.split_once('/').is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    #[test]
    fn what_an_encoder_writes_has_no_flaw() {
        for length in 0..70_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(flaw(&STANDARD.encode(bytes)), None);
        }
        // Spare bits that are not zero.
        assert_eq!(flaw("QR=="), None);
    }

    #[test]
    fn leniency_is_named() {
        let loose = |text: &str| match flaw(text) {
            Some(Flaw::Loose(needs)) => needs.join(", "),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(loose("QQ"), "missing padding");
        assert_eq!(loose("QQ="), "missing padding");
        assert_eq!(loose("-_-_"), "the URL-safe alphabet");
        assert_eq!(loose("QUJD\r\nQUJD\n"), "line breaks");
        assert_eq!(loose("_-\nA"), "the URL-safe alphabet, missing padding, line breaks");
    }

    #[test]
    fn nothing_else_is_base64() {
        let texts = [
            "A",
            "QUJDR",
            "QQ===",
            "QUJD=",
            "QQ==QQ==",
            "=",
            "data:image/png;base64,QUJD",
            "https://example.com/a.wav",
            "raw text",
            "QU JD",
            "QUJD\tQUJD",
            "QUJ\u{e9}",
            "QUJ\u{0}",
        ];
        for text in texts {
            assert!(matches!(flaw(text), Some(Flaw::Unreadable(_))), "{text}");
        }
    }

    #[test]
    fn media_types() {
        for text in ["image/png", "image/svg+xml", "audio/wav; codecs=1", "IMAGE/PNG", "image/vnd.a-b.c"] {
            assert!(is_media_type(text), "{text}");
        }
        for text in ["", "png", "image/", "/png", "image/p ng", "image/png/x", ";", "image\u{e9}/png"] {
            assert!(!is_media_type(text), "{text}");
        }
    }
}

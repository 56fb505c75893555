//! The names of tools: how long they are and of which characters.
//!
//! That there is a name, and that it is a string, is left to `schema`; that no two are alike, to a case.

use mcp_conform_schemas::{Era, Revision};

use super::{Breach, Context, Likeness, Row, Rule, Seen, Shape, Verdicts, register::Definition, seen::clip};
use crate::{trace::Event, wire::Json};

static LENGTH: Row = Row::both("tools-name-length", Revision::V2025_11_25, "tool-name-length");
static CHARSET: Row = Row::both("tools-name-charset", Revision::V2025_11_25, "tool-name-charset");
static SPECIAL: Row = Row::both("tools-name-no-specials", Revision::V2025_11_25, "tool-name-no-special");

pub(super) static DEFINITION: Definition = Definition {
    name: "tool_names",
    title: "Names of tools are short and of plain characters",
    about: "Each name in an answer to tools/list has 1 to 128 characters, all of them ASCII letters, digits, underscore, hyphen \
            or dot. A space, a comma or a control character is told as such, under 2026-07-28 any other ASCII punctuation, \
            too. Before 2025-11-25 names are free.",
    rows: &[LENGTH, CHARSET, SPECIAL],
    make: || Box::new(ToolNames),
};

const LONGEST: usize = 128;

struct ToolNames;

impl Rule for ToolNames {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            let Some(answer) = seen.answer.filter(|answer| !answer.again && answer.likeness != Likeness::Missing)
            else {
                continue;
            };
            let Some(request) = answer.request.and_then(|key| context.request(key)) else { continue };
            let clear = request.is_sound() && (context.era() == Era::Legacy || request.is_modern(context));
            if !clear
                || &*request.method != "tools/list"
                || seen.shape != (Shape::Response { result: true, error: false })
            {
                continue;
            }
            let tools = seen.get("/result/tools").and_then(Json::as_array).unwrap_or_default();
            for (index, tool) in tools.iter().enumerate() {
                if let Some(name) = tool.get("name").and_then(Json::as_str) {
                    named(&seen, index, name, context, out);
                }
            }
        }
    }
}

fn named(seen: &Seen<'_>, index: usize, name: &str, context: &Context, out: &mut Verdicts) {
    let breach = |message: String| Breach::at(seen, &format!("/result/tools/{index}/name"), message);
    let length = name.chars().count();
    let long =
        (length > LONGEST).then(|| format!("the name {} has {length} characters, and 128 are the most", clip(name)));
    let length = if name.is_empty() { Some("the name of a tool is empty".to_owned()) } else { long };
    out.check(&LENGTH, context, length.map(breach));

    let foreign = |letter: &char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-' | '.');
    let modern = context.era() == Era::Modern;
    let special = |letter: &char| {
        letter.is_whitespace()
            || letter.is_control()
            || *letter == ','
            || (modern && letter.is_ascii_punctuation() && foreign(letter))
    };
    let told = |letter: char| {
        // What the reader puts in the place of bytes that are no UTF-8; the excerpt shows the bytes.
        let what =
            if letter == char::REPLACEMENT_CHARACTER { "bytes that are no text".into() } else { format!("{letter:?}") };
        breach(format!("the name {} holds {what}", clip(name)))
    };
    let strange = name.chars().find(special);
    out.check(&SPECIAL, context, strange.map(told));
    // What the row above says of a character is not said again.
    let other = name.chars().find(|letter| foreign(letter) && !special(letter)).map(told);
    out.check(&CHARSET, context, other.or_else(|| strange.map(|letter| told(letter).under(&SPECIAL))));
}

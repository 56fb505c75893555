//! The error member: its shape and its code.
//!
//! Codes of 2026-07-28 are judged on answers to requests that are modern beyond doubt: the legacy side of a dual-era
//! server may go on using its own. A code has one place: -32002 and -32042 have requirements of their own, the block of
//! the revision another, what is left of the JSON-RPC block a third.

use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;

use super::{
    Breach, Context, Request, Row, Rule, Seen, Shape, Verdicts,
    register::Definition,
    seen::{clip, show},
};
use crate::{
    trace::{Event, Transport},
    wire::Json,
};

static SHAPE: Row = Row::both("errors-code-and-message-present", Revision::V2024_11_05, "error-member-shape");
static INTEGER: Row = Row::both("errors-code-integer", Revision::V2024_11_05, "error-code-integer");
static CONCISE: Row = Row::both("errors-message-concise", Revision::V2024_11_05, "error-message-concise");
static RESERVED: Row =
    Row::both("errors-reserved-code-range", Revision::V2024_11_05, "error-custom-codes-outside-reserved");
static OLD_BLOCK: Row = Row::modern("error-legacy-range-not-used");
static DEFINED: Row = Row::modern("error-reserved-range-only-defined");
static MEANING: Row = Row::modern("error-reserved-codes-meaning");
static NO_32002: Row = Row::modern("error-no-32002");
static NO_32042: Row = Row::modern("error-no-32042");

pub(super) static DEFINITION: Definition = Definition {
    name: "errors",
    title: "Errors have a code and a message, and codes keep their meaning",
    about: "Every error member is looked at: an object with an integer code and a short message. Under 2026-07-28 the code \
            is held against the blocks that the revision reserves: -32020 never on stdio, -32021 never when all that it \
            names was declared, -32022 never for the version that the server serves in the same conversation.",
    rows: &[SHAPE, INTEGER, CONCISE, RESERVED, OLD_BLOCK, DEFINED, MEANING, NO_32002, NO_32042],
    make: || Box::new(Errors::default()),
};

const STANDARD: [i64; 5] = [-32_700, -32_600, -32_601, -32_602, -32_603];
const LONGEST: usize = 300;
const MOST_PENDING: usize = 20;

#[derive(Default)]
struct Errors {
    /// A modern request got a result, so that its version is served.
    served: bool,
    /// Refusals of that version that came before.
    pending: Vec<Breach>,
}

impl Rule for Errors {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            let request = seen.answer.and_then(|answer| answer.request).and_then(|key| context.request(key));
            match seen.shape {
                // A null beside a result is no error; `envelope` tells the pair.
                Shape::Response { result, error: true }
                    if !result || seen.json.get("result").is_some_and(Json::is_null) =>
                {
                    self.error(&seen, request, context, out);
                }
                Shape::Response { error: false, .. }
                    if request.is_some_and(|it| it.is_modern(context) && it.is_sound()) =>
                {
                    self.served = true;
                    for breach in self.pending.drain(..) {
                        out.broken(&MEANING, context, breach);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Errors {
    fn error(&mut self, seen: &Seen<'_>, request: Option<&Request>, context: &Context, out: &mut Verdicts) {
        let Some(error) = seen.json.get("error") else { return };
        let code = error.get("code");
        let message = error.get("message");
        let missing = match (error.as_object(), code, message) {
            (None, ..) => Some(("/error", format!("error is {} instead of an object", show(Some(error))))),
            (_, None, _) => Some(("/error", "the error has no code".to_owned())),
            (_, _, None) => Some(("/error", "the error has no message".to_owned())),
            (_, _, Some(text)) if text.as_str().is_none() => {
                Some(("/error/message", format!("the message is {} instead of a string", show(Some(text)))))
            }
            _ => None,
        };
        let breach = missing.map(|(pointer, message)| Breach::at(seen, pointer, message));
        out.check(&SHAPE, context, breach);
        if let Some(text) = message.and_then(Json::as_str) {
            // What it quotes of ours is not its own; which of two requests it quotes is open, and so is what a message was
            // whose answer has no id.
            let (quotable, breaks) = match request {
                Some(request) if request.twin => (usize::MAX, true),
                Some(request) => (request.quotable, request.breaks),
                None if context.odd() => (usize::MAX, true),
                None => (0, false),
            };
            let length = text.chars().count();
            let what = if text.contains(['\n', '\r']) && !breaks {
                Some("the error message has line breaks".to_owned())
            } else if length > LONGEST.saturating_add(quotable.saturating_mul(2)) {
                Some(format!("the error message has {length} characters"))
            } else {
                None
            };
            out.check(&CONCISE, context, what.map(|what| Breach::at(seen, "/error/message", what)));
        }
        let Some(code) = code else { return };
        let number = code.as_number().filter(|number| number.is_integer());
        let breach = number
            .is_none()
            .then(|| Breach::at(seen, "/error/code", format!("the code is {}, no integer", show(Some(code)))));
        out.check(&INTEGER, context, breach);
        let Some(code) = number.and_then(|number| number.as_i64()) else { return };
        let custom = (-32_768..=-32_100).contains(&code) && !STANDARD.contains(&code);
        if context.era() == Era::Legacy {
            let breach = custom.then(|| of_code(seen, code, "stands in the block that JSON-RPC reserves"));
            out.check(&RESERVED, context, breach);
        } else if request.map_or(context.modern_only(), |request| request.is_modern(context)) {
            let breach = custom.then(|| of_code(seen, code, "stands in the reserved block and is not defined there"));
            out.check(&RESERVED, context, breach);
            self.modern(seen, code, request, context, out);
        }
    }

    fn modern(&mut self, seen: &Seen<'_>, code: i64, request: Option<&Request>, context: &Context, out: &mut Verdicts) {
        let is = |other: i64, what: &str| (code == other).then(|| of_code(seen, code, what));
        out.check(&NO_32002, context, is(-32_002, "is gone: an unknown resource is -32602"));
        out.check(&NO_32042, context, is(-32_042, "is gone: ask by an input_required result"));
        let old = (-32_019..=-32_000).contains(&code) && code != -32_002;
        let breach = old.then(|| of_code(seen, code, "is of the block that older servers used").contested("C10"));
        out.check(&OLD_BLOCK, context, breach);
        let reserved = (-32_099..=-32_020).contains(&code) && code != -32_042;
        let defined = (-32_022..=-32_020).contains(&code);
        if !reserved || defined || !has_extensions(context) {
            let breach = (reserved && !defined)
                .then(|| of_code(seen, code, "stands in the block of the specification and is not defined"));
            out.check(&DEFINED, context, breach);
        }
        if defined {
            self.meaning(seen, code, request, context, out);
        }
    }

    fn meaning(
        &mut self,
        seen: &Seen<'_>,
        code: i64,
        request: Option<&Request>,
        context: &Context,
        out: &mut Verdicts,
    ) {
        out.occasion(&MEANING, context);
        match (code, request) {
            (-32_020, _) if context.transport() == Transport::Stdio => {
                out.broken(&MEANING, context, of_code(seen, code, "is about headers, and stdio has none"));
            }
            (-32_021, Some(request)) if !request.twin => {
                let required = seen.get("/error/data/requiredCapabilities").map(Json::to_value);
                let declared = request.capabilities.as_ref();
                if let (Some(Value::Object(required)), Some(declared)) = (required, declared)
                    && !required.is_empty()
                    && holds(declared, &Value::Object(required))
                {
                    let what = "names no capability that the request did not declare";
                    out.broken(&MEANING, context, of_code(seen, code, what));
                }
            }
            (-32_022, Some(request)) if request.is_sound() && request.modern && &*request.method != "initialize" => {
                let what = "refuses 2026-07-28, which the server serves in the same conversation";
                let breach = of_code(seen, code, what);
                if self.served {
                    out.broken(&MEANING, context, breach);
                } else if self.pending.len() < MOST_PENDING {
                    self.pending.push(breach);
                }
            }
            _ => {}
        }
    }
}

fn of_code(seen: &Seen<'_>, code: i64, what: &str) -> Breach {
    let message = seen.get("/error/message").and_then(Json::as_str).unwrap_or_default();
    Breach::at(seen, "/error/code", format!("the code {code} ({}) {what}", clip(message)))
}

/// Official extensions may define codes and keys of their own.
pub(super) fn has_extensions(context: &Context) -> bool {
    let extensions = context.server_capabilities().and_then(|capabilities| capabilities.get("extensions"));
    extensions.and_then(Value::as_object).is_some_and(|extensions| !extensions.is_empty())
}

/// Whether a declaration covers all that is required. An empty `elicitation` stands for forms.
fn holds(declared: &Value, required: &Value) -> bool {
    let (Value::Object(declared), Value::Object(required)) = (declared, required) else { return true };
    required.iter().all(|(name, inner)| match declared.get(name) {
        Some(Value::Object(have)) if name == "elicitation" && have.is_empty() => {
            inner.as_object().is_none_or(|inner| inner.keys().all(|mode| mode == "form"))
        }
        Some(have) => holds(have, inner),
        None => false,
    })
}

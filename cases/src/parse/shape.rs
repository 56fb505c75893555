//! Which keys each kind of mapping has.
//!
//! One table for three readers: the parser refuses what is not listed, the JSON Schema for editors is generated from it, and
//! a test holds it against docs/language.md.

/// A kind of mapping.
#[derive(Debug)]
pub(crate) struct Shape {
    /// How a message names it: "the step `probe`".
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [KeyShape],
}

#[derive(Debug)]
pub(crate) struct KeyShape {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    pub(crate) required: bool,
    /// One line for an editor.
    pub(crate) doc: &'static str,
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// The bare word `all`.
    All,
    Answers,
    Any,
    Boolean,
    Capabilities,
    Capture,
    Change,
    Count,
    /// A value with holes.
    Data,
    Duration,
    Headers,
    Integers,
    Judge,
    /// A pattern.
    Like,
    Map(&'static Shape),
    MatcherByName,
    Method,
    Name,
    Offsets,
    Outcomes,
    Pointers,
    Requirement,
    RequirementByRole,
    Revisions,
    See,
    SeeId,
    Sees,
    Statuses,
    Steps,
    Templates,
    Text,
    ToolNeeds,
    Tools,
    Transports,
    Word(&'static [&'static str]),
}

pub(crate) const ERAS: &[&str] = &["modern-only", "legacy-only", "dual"];
pub(crate) const PROMPTS: &[&str] = &["all", "argument", "optional", "required"];
pub(crate) const INPUTS: &[&str] = &["elicitation", "roots", "sampling"];
pub(crate) const CLASSES: &[&str] = &["accepted", "anything", "answered", "closed", "refused", "silence"];
pub(crate) const SEE_IDS: &[&str] = &["absent", "null", "rounded", "same"];
pub(crate) const SIGNALS: &[&str] = &["INT", "KILL", "TERM"];
pub(crate) const VERDICTS: &[&str] = &["pass", "fail", "warn", "contested", "not-verified"];
pub(crate) const POLICIES: &[&str] = &["answer", "cancel", "decline", "hold", "malformed"];
pub(crate) const TRANSPORTS: &[&str] = &["http", "stdio"];
pub(crate) const JSON_TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
pub(crate) const OPERATORS: &[&str] = &["$contains", "$each", "$matches", "$max", "$min", "$not", "$one_of", "$type"];

const fn key(name: &'static str, value: Value, doc: &'static str) -> KeyShape {
    KeyShape { name, value, required: false, doc }
}

const fn must(name: &'static str, value: Value, doc: &'static str) -> KeyShape {
    KeyShape { name, value, required: true, doc }
}

const ON: KeyShape = key("on", Value::Name, "The conversation, by the name that `open` gave it; without it, main.");
const AS: KeyShape = key("as", Value::Name, "A handle: the name under which later steps find this and its answer.");
const WITHIN: KeyShape = key("within", Value::Duration, "How long to wait for the answer.");
const WRONG: KeyShape = key(
    "wrong",
    Value::Pointers,
    "Pointers of what is wrong on purpose in the message; headers/NAME for an HTTP header.",
);
const CAPTURE: KeyShape = key("capture", Value::Capture, "Variables taken out of the answer by JSON Pointer.");
const HEADERS: KeyShape = key("headers", Value::Headers, "HTTP headers added or replaced; null leaves one out.");
const METHOD: KeyShape = must("method", Value::Method, "The method, or one by revision.");
const PARAMS: KeyShape = key("params", Value::Data, "The params; the conversation adds `_meta`.");
const ID: KeyShape = key("id", Value::Data, "Forces the JSON-RPC id.");
const TOKEN: KeyShape = key("token", Value::Data, "Asks for progress under this token.");
const CAPABILITIES: KeyShape =
    key("capabilities", Value::Capabilities, "Client capabilities of this request alone (2026-07-28).");
const EXPECT: KeyShape = key("expect", Value::See, "What passes; everything else breaks the requirement.");
const REQUIREMENT: KeyShape = key("requirement", Value::Requirement, "What `expect` judges.");
const GIVEN: KeyShape = key("given", Value::See, "Judged only where this holds; else not verified.");
const UNLESS: KeyShape = key("unless", Value::Text, "Why it is not judged when `given` does not hold.");
const SAYS: KeyShape = key("says", Value::Text, "What to say when the requirement is broken.");
const JUDGE: KeyShape = key("judge", Value::Judge, "Several judgements of one answer.");
const TEXT: KeyShape = key("text", Value::Text, "The bytes as text.");
const HEX: KeyShape = key("hex", Value::Text, "The bytes in hexadecimal digits.");
const BASE64: KeyShape = key("base64", Value::Text, "The bytes in base64.");
const SPLIT: KeyShape = key("split", Value::Offsets, "Offsets at which the bytes are cut into writes of their own.");
const FRESH: KeyShape = key("fresh", Value::Boolean, "A process or session of its own even where one could be shared.");
const DECLARES: KeyShape = key(
    "capabilities",
    Value::Capabilities,
    "Client capabilities: of initialize, and of each request in the modern era. Without it none are declared.",
);
const ANSWERS: KeyShape =
    key("answers", Value::Answers, "How requests of the server are answered, by method; `*` is every other one.");

const SILENT: KeyShape = key(
    "silent",
    Value::Boolean,
    "2025-11-25: the connection is made and nothing is said; the script shakes hands by itself.",
);

pub(crate) static CASE: Shape = Shape {
    name: "a case",
    keys: &[
        must("id", Value::Text, "A stable name of lower-case words and hyphens, never a position."),
        must("title", Value::Text, "What is right, in one sentence."),
        key("about", Value::Text, "Why the case is there and how it provokes what it judges."),
        must("revisions", Value::Revisions, "The revisions that it is for."),
        key("transports", Value::Transports, "http, stdio, or both, which is the default."),
        key("needs", Value::Map(&NEEDS), "Facts about the server without which the case makes no sense."),
        key("conversation", Value::Map(&SETUP), "How the conversation called main is set up."),
        must("steps", Value::Steps, "What is done, in order."),
    ],
};

pub(crate) static NEEDS: Shape = Shape {
    name: "`needs`",
    keys: &[
        key("capability", Value::Any, "A server capability by its dotted path, or a list of them."),
        key("era", Value::Word(ERAS), "The eras that the server was seen to serve."),
        key("fixture", Value::Boolean, "The server has the fixture tools of the official suite."),
        key("lacks", Value::Any, "A server capability that is not declared, by its dotted path, or a list of them."),
        key("loopback", Value::Boolean, "The URL is on a loopback address."),
        key("resumable", Value::Boolean, "SSE events carry ids and a GET with Last-Event-ID is answered."),
        key("session", Value::Word(&["issued"]), "The server issued a session id."),
        key("token", Value::Boolean, "The user gave a credential."),
        key("tools", Value::ToolNeeds, "Tools of some kind, each bound to a variable. They are distinct."),
    ],
};

pub(crate) static TOOL_KIND: Shape = Shape {
    name: "a kind of tool",
    keys: &[
        key("asks", Value::Word(INPUTS), "It asks the client for this while it is called."),
        key("changes_list", Value::Boolean, "Calling it changes the list of tools, and the server says so."),
        key("nothing_required", Value::Boolean, "Its inputSchema requires no argument."),
        key("output_schema", Value::Boolean, "It has an outputSchema."),
        key("progress", Value::Boolean, "It sends progress when it is given a token."),
        key("required_argument", Value::Boolean, "It has a required argument with a type."),
        key("state", Value::Boolean, "It hands out a requestState."),
        key("task", Value::Boolean, "It may be called as a task (2025-11-25)."),
    ],
};

pub(crate) static SETUP: Shape = Shape { name: "`conversation`", keys: &[FRESH, DECLARES, ANSWERS, SILENT] };

pub(crate) static OPEN: Shape = Shape {
    name: "the step `open`",
    keys: &[must("as", Value::Name, "The name of the conversation."), FRESH, DECLARES, ANSWERS, SILENT],
};

pub(crate) static BASE: Shape = Shape { name: "`base`", keys: &[METHOD, PARAMS, ID, TOKEN, CAPABILITIES, HEADERS] };

pub(crate) static SEND: Shape = Shape {
    name: "the step `send`",
    keys: &[
        METHOD,
        PARAMS,
        ID,
        TOKEN,
        CAPABILITIES,
        HEADERS,
        ON,
        must("as", Value::Name, "The handle under which the answer is awaited."),
        WRONG,
    ],
};

pub(crate) static REQUEST: Shape = Shape {
    name: "the step `request`",
    keys: &[
        METHOD,
        PARAMS,
        ID,
        TOKEN,
        CAPABILITIES,
        HEADERS,
        ON,
        AS,
        WRONG,
        WITHIN,
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
        CAPTURE,
    ],
};

pub(crate) static AWAIT: Shape = Shape {
    name: "the step `await`",
    keys: &[
        key("of", Value::Name, "The request whose answer is awaited, or to which the message belongs."),
        key("message", Value::Like, "A request or notification of the server, instead of an answer."),
        ON,
        AS,
        WITHIN,
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
        CAPTURE,
    ],
};

pub(crate) static PROBE: Shape = Shape {
    name: "the step `probe`",
    keys: &[
        must("base", Value::Map(&BASE), "The request that is sent unchanged as the control."),
        must("change", Value::Change, "The one change."),
        ON,
        AS,
        WITHIN,
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
    ],
};

pub(crate) static CHANGE: Shape = Shape {
    name: "`change`",
    keys: &[
        key("capabilities", Value::Capabilities, "Other client capabilities (2026-07-28)."),
        key("header", Value::Headers, "One header replaced, added, or left out (null)."),
        key("remove", Value::Text, "The pointer of a member of the message that is left out."),
        key("set", Value::Any, "The pointer of a member of the message, and its new value."),
        key("version", Value::Data, "Another claimed protocol version."),
    ],
};

pub(crate) static RETRY: Shape = Shape {
    name: "the step `retry`",
    keys: &[
        must("of", Value::Name, "The request whose answer asked for input."),
        ON,
        key("state", Value::Data, "Instead of the state that was given; null leaves it out."),
        key("responses", Value::Data, "Instead of what the answering policy makes of the input requests."),
        key("without", Value::Count, "How many of the answers are left out, from the first on."),
        key("also", Value::Any, "Answers beside those, by keys that were not asked for."),
        key("name", Value::Data, "The tool or prompt that is named instead of the first request's."),
        WRONG,
        AS,
        WITHIN,
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
        CAPTURE,
    ],
};

pub(crate) static EXPECT_STEP: Shape = Shape {
    name: "the step `expect`",
    keys: &[
        key("of", Value::Name, "The request whose answer is judged."),
        key("that", Value::Data, "A value, judged as if it were the result of an answer."),
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
    ],
};

pub(crate) static REQUIRE: Shape = Shape {
    name: "the step `require`",
    keys: &[
        key("of", Value::Name, "The request whose answer has to look like `see`."),
        key("see", Value::See, "What has to be seen."),
        key("differ", Value::Templates, "Values of which no two may be equal."),
        key("that", Value::Data, "A value that has to match `is`."),
        key("is", Value::Like, "The pattern for `that`."),
        must("reason", Value::Text, "What is missing when it does not hold: shown with not-verified."),
    ],
};

pub(crate) static EXPECT_NOTHING: Shape = Shape {
    name: "the step `expect_nothing`",
    keys: &[
        ON,
        key("of", Value::Name, "Only what belongs to this request."),
        must("like", Value::Like, "What must not come."),
        must("requirement", Value::Requirement, "What is broken when it comes."),
        SAYS,
    ],
};

pub(crate) static EXPECT_EXIT: Shape = Shape {
    name: "the step `expect_exit`",
    keys: &[
        ON,
        WITHIN,
        key("code", Value::Integers, "Exit codes of which one must be met; without it any end is good."),
        must("requirement", Value::Requirement, "What is broken when the process lives on."),
        SAYS,
    ],
};

pub(crate) static NOTIFY: Shape = Shape {
    name: "the step `notify`",
    keys: &[METHOD, PARAMS, HEADERS, ON, AS, WRONG, EXPECT, REQUIREMENT, GIVEN, UNLESS, SAYS, JUDGE],
};

pub(crate) static RAW: Shape = Shape { name: "the step `raw`", keys: &[TEXT, HEX, BASE64, SPLIT, ON] };

pub(crate) static HTTP: Shape = Shape {
    name: "the step `http`",
    keys: &[
        must("method", Value::Text, "The HTTP method."),
        key("path", Value::Text, "Path and query instead of the endpoint's."),
        key("bare", Value::Boolean, "Without the session and version headers of the conversation."),
        HEADERS,
        key("body", Value::Data, "The body: JSON, or a raw literal."),
        ON,
        AS,
        WITHIN,
        EXPECT,
        REQUIREMENT,
        GIVEN,
        UNLESS,
        SAYS,
        JUDGE,
        CAPTURE,
    ],
};

pub(crate) static HTTP_RAW: Shape = Shape {
    name: "the step `http_raw`",
    keys: &[TEXT, HEX, BASE64, SPLIT, ON, AS, WITHIN, EXPECT, REQUIREMENT, GIVEN, UNLESS, SAYS, JUDGE],
};

pub(crate) static ANSWER: Shape = Shape {
    name: "the step `answer`",
    keys: &[
        must("of", Value::Name, "A request of the server that a policy holds."),
        must("with", Value::Data, "The result."),
    ],
};

pub(crate) static CANCEL: Shape =
    Shape { name: "the step `cancel`", keys: &[must("of", Value::Name, "The request in flight.")] };

pub(crate) static CLOSE_STREAM: Shape =
    Shape { name: "the step `close_stream`", keys: &[must("of", Value::Name, "The request whose exchange we close.")] };

pub(crate) static CLOSE_STDIN: Shape = Shape { name: "the step `close_stdin`", keys: &[ON] };

pub(crate) static DROP_CONNECTION: Shape = Shape { name: "the step `drop_connection`", keys: &[ON] };

pub(crate) static SIGNAL: Shape =
    Shape { name: "the step `signal`", keys: &[must("name", Value::Word(SIGNALS), "The signal."), ON] };

pub(crate) static FOR_EACH: Shape = Shape {
    name: "the step `for_each`",
    keys: &[
        key("tool", Value::Tools, "Each callable tool (`all`), or each of a kind."),
        key("resource", Value::All, "`all`: each resource."),
        key(
            "prompt",
            Value::Word(PROMPTS),
            "`all`, or those that declare an argument, can do without any (`optional`) or require one.",
        ),
        key("template", Value::All, "`all`: each resource template."),
        key("value", Value::Templates, "Each value of a list."),
        key("near_miss", Value::Data, "Each value that just breaks this schema."),
        key("boundary", Value::Data, "Each value at an edge of this schema."),
        key("valid", Value::Data, "Some values that fit this schema."),
        key("only_first", Value::Boolean, "The first one alone, where any would do."),
        must("as", Value::Name, "The variable of the round."),
        must("do", Value::Steps, "The steps of the round."),
    ],
};

pub(crate) static SNAPSHOT: Shape = Shape {
    name: "the step `snapshot`",
    keys: &[
        must("of", Value::Name, "The request whose answer is kept."),
        must("name", Value::Text, "The name of the snapshot."),
    ],
};

pub(crate) static CHECK: Shape = Shape {
    name: "the step `check`",
    keys: &[
        must("name", Value::Text, "A check that is written in Rust."),
        ON,
        key("with", Value::Any, "What the check is given."),
        must("judges", Value::RequirementByRole, "The requirement of each of its roles."),
    ],
};

pub(crate) static JUDGEMENT: Shape = Shape {
    name: "a judgement",
    keys: &[
        must("requirement", Value::Requirement, "What is judged."),
        GIVEN,
        UNLESS,
        EXPECT,
        key("outcomes", Value::Outcomes, "What may be seen, and what each means. The first that matches decides."),
        SAYS,
    ],
};

pub(crate) static OUTCOME: Shape = Shape {
    name: "an outcome",
    keys: &[
        must("see", Value::See, "What is seen."),
        must("verdict", Value::Word(VERDICTS), "What it means."),
        key("reason", Value::Text, "Said with the verdict; contested and not-verified need one."),
    ],
};

pub(crate) static SEE: Shape = Shape {
    name: "`see`",
    keys: &[
        key("class", Value::Word(CLASSES), "The kind of answer."),
        key("result", Value::Like, "A result like this."),
        key("error", Value::Map(&ERROR), "A JSON-RPC error like this."),
        key("status", Value::Statuses, "HTTP statuses of which one must be met; holds by itself over stdio."),
        key("headers", Value::MatcherByName, "HTTP response headers; hold by themselves over stdio."),
        key("body", Value::Like, "The text of the HTTP response, $absent if it is empty; holds by itself over stdio."),
        key("id", Value::SeeId, "How the id of the answer compares with ours."),
        key("messages", Value::Map(&MESSAGES), "Messages beside the answer that belong to the request."),
        key("any_of", Value::Sees, "At least one of these holds."),
        key("not", Value::See, "This does not hold."),
        key("over", Value::Word(TRANSPORTS), "Holds over this transport only."),
    ],
};

pub(crate) static ERROR: Shape = Shape {
    name: "`error`",
    keys: &[
        key("code", Value::Integers, "One code, or a list of which one must be met."),
        key("data", Value::Like, "The data."),
        key("message", Value::Like, "The message."),
    ],
};

pub(crate) static MESSAGES: Shape = Shape {
    name: "`messages`",
    keys: &[
        key("any", Value::Like, "At least one is like this."),
        key("first", Value::Like, "The first is like this."),
        key("none", Value::Like, "None is like this."),
    ],
};

/// The steps by name.
pub(crate) static STEPS: &[(&str, &Shape)] = &[
    ("answer", &ANSWER),
    ("await", &AWAIT),
    ("cancel", &CANCEL),
    ("check", &CHECK),
    ("close_stdin", &CLOSE_STDIN),
    ("close_stream", &CLOSE_STREAM),
    ("drop_connection", &DROP_CONNECTION),
    ("expect", &EXPECT_STEP),
    ("expect_exit", &EXPECT_EXIT),
    ("expect_nothing", &EXPECT_NOTHING),
    ("for_each", &FOR_EACH),
    ("http", &HTTP),
    ("http_raw", &HTTP_RAW),
    ("notify", &NOTIFY),
    ("open", &OPEN),
    ("probe", &PROBE),
    ("raw", &RAW),
    ("request", &REQUEST),
    ("require", &REQUIRE),
    ("retry", &RETRY),
    ("send", &SEND),
    ("signal", &SIGNAL),
    ("snapshot", &SNAPSHOT),
];

/// The one step that is a list and no mapping.
pub(crate) const PARALLEL: &str = "parallel";

/// Every mapping with a fixed set of keys that is no step, by its name in the JSON Schema.
pub(crate) static PARTS: &[(&str, &Shape)] = &[
    ("base", &BASE),
    ("case", &CASE),
    ("change", &CHANGE),
    ("conversation", &SETUP),
    ("error", &ERROR),
    ("judgement", &JUDGEMENT),
    ("messages", &MESSAGES),
    ("needs", &NEEDS),
    ("outcome", &OUTCOME),
    ("see", &SEE),
    ("tool_kind", &TOOL_KIND),
];

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../docs/language.md");

    #[test]
    fn every_key_and_word_is_documented() {
        let said = |name: &str| {
            DOCS.match_indices(name).any(|(at, _)| {
                let edge = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                edge(DOCS[..at].chars().next_back()) && edge(DOCS[at + name.len()..].chars().next())
            })
        };
        let shapes = PARTS.iter().chain(STEPS);
        let keys = shapes.flat_map(|(_, shape)| shape.keys.iter().map(|key| key.name));
        let steps = STEPS.iter().map(|(name, _)| *name).chain([PARALLEL]);
        let words = [ERAS, INPUTS, CLASSES, SEE_IDS, SIGNALS, VERDICTS, POLICIES, TRANSPORTS, JSON_TYPES, OPERATORS];
        let missing: Vec<&str> =
            keys.chain(steps).chain(words.into_iter().flatten().copied()).filter(|name| !said(name)).collect();
        assert!(missing.is_empty(), "docs/language.md does not name {missing:?}");
    }
}

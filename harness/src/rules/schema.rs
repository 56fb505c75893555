//! Every message of the server fits the type that the negotiated revision has for it.
//!
//! The wire facts stand in `mcp-conform-schemas`; this rule finds the type of each message (a result by the request that
//! it answers, a notification or a request by its method, an error as an error) and tells each problem under the catalogue
//! row that the broken constraint names. A constraint without a row is told under the row of the schema as a whole. Rows
//! that another rule judges stay with that rule, and what another rule told at the same place of the same message is only
//! counted here. What a value means beyond its form is left to the other rules.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::LazyLock,
};

use mcp_conform_cases::Catalogue;
use mcp_conform_schemas::{
    Direction as Way, Era, MessageKind, Problem, Revision, message_type, methods, occasions, rows_within, validate,
};

use super::{
    Breach, Context, Likeness, Request, Row, Rule, Seen, Shape, Verdicts,
    register::{DEFINITIONS, Definition},
};
use crate::{trace::Event, wire::Json};

pub(super) static DEFINITION: Definition = Definition {
    name: "schema",
    title: "Every message fits the type of its revision",
    about: "Results are validated by the type of the request that they answer, notifications and requests of the server by \
            their method, errors by the type of errors. Each problem is told under the requirement that the broken \
            constraint names, or under the one of the schema as a whole. A requirement has an occasion only where its \
            constraint was applied to something. Legacy conversations are judged by what was in force in the negotiated \
            revision, and members of later revisions are free there.",
    // Read off the schemas, see `rows`.
    rows: &[],
    make: || Box::new(Schema),
};

const WHOLE_LEGACY: &str = "schema-messages-validate";
const WHOLE_MODERN: &str = "schema-every-message-valid";

/// Every row that a message of a server can break by its form and that no other rule judges.
pub(super) fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| BOOK.values().flat_map(BTreeMap::values).copied().collect());
    &ROWS
}

static BOOK: LazyLock<BTreeMap<Era, BTreeMap<&'static str, Row>>> = LazyLock::new(|| {
    let taken: HashSet<(&str, Revision)> = DEFINITIONS
        .iter()
        .flat_map(|rule| rule.rows)
        .flat_map(Row::all)
        .map(|(id, revision, _)| (id, revision))
        .collect();
    let mut book: BTreeMap<Era, BTreeMap<&'static str, Row>> = BTreeMap::new();
    for revision in Revision::JUDGED {
        let mut names: BTreeSet<&str> =
            types(revision).filter_map(|name| rows_within(revision, name).ok()).flatten().collect();
        names.insert(whole(revision.era()));
        for name in names.into_iter().filter(|name| !taken.contains(&(*name, revision))) {
            let Some(entry) = Catalogue::get().row(name, revision) else { continue };
            let row = match revision.era() {
                Era::Legacy => Row::legacy(name, entry.since),
                Era::Modern => Row::modern(name),
            };
            book.entry(revision.era()).or_default().insert(name, row);
        }
    }
    book
});

/// The types of all that a server may send.
fn types(revision: Revision) -> impl Iterator<Item = &'static str> {
    let sent = methods(revision, Way::ServerToClient)
        .filter(move |(_, kind)| revision.era() == Era::Legacy || *kind == MessageKind::Notification)
        .filter_map(move |(method, kind)| message_type(revision, Way::ServerToClient, method, kind));
    let answers = methods(revision, Way::ClientToServer)
        .filter_map(move |(method, _)| message_type(revision, Way::ServerToClient, method, MessageKind::Result));
    sent.chain(answers).chain([ERROR])
}

const ERROR: &str = "JSONRPCErrorResponse";

fn whole(era: Era) -> &'static str {
    match era {
        Era::Legacy => WHOLE_LEGACY,
        Era::Modern => WHOLE_MODERN,
    }
}

struct Schema;

impl Rule for Schema {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            if let Some((name, part)) = typed(&seen, context) {
                judge(&seen, name, part, context, out);
            }
        }
    }
}

/// The type of a message, and the member of it that has the type: empty for the whole message.
pub(super) fn typed(seen: &Seen<'_>, context: &Context) -> Option<(&'static str, &'static str)> {
    let revision = context.era().judged();
    let request = seen.answer.and_then(|answer| answer.request).and_then(|key| context.request(key));
    match seen.shape {
        Shape::Response { result: true, error: false } => {
            let answer = seen.answer.filter(|answer| !answer.again && answer.likeness != Likeness::Missing)?;
            let request = request.filter(|request| is_clear(request, answer.likeness))?;
            if revision.era() == Era::Modern && !request.is_modern(context) {
                return None;
            }
            let name = message_type(revision, Way::ServerToClient, &request.method, MessageKind::Result)?;
            Some((name, "/result"))
        }
        Shape::Response { result: false, error: true } => {
            // A refusal of a version that is not served can only be meant for a client that named one in `_meta`.
            let code = seen.get("/error/code").and_then(Json::as_number).and_then(|code| code.as_i64());
            let version = |request: &Request| code == Some(-32_022) && &*request.method != "initialize";
            let modern =
                || request.map_or(context.modern_only(), |request| request.is_modern(context) || version(request));
            (revision.era() == Era::Legacy || modern()).then_some((ERROR, ""))
        }
        Shape::Request | Shape::Notification => {
            // A modern conversation in which the server may take us for a legacy client is not held to modern types.
            if revision.era() == Era::Modern && (!context.modern_sent() || context.legacy_served()) {
                return None;
            }
            let method = seen.method()?;
            let since = BORN.iter().find(|(name, _)| *name == method).map(|(_, since)| *since);
            if since.is_some_and(|since| !context.applies(since)) {
                return None;
            }
            let of = |kind| message_type(revision, Way::ServerToClient, method, kind);
            // Requests of the server under 2026-07-28, and methods that are not the server's, are told by `direction`.
            let name = match of(MessageKind::Notification) {
                Some(name) => name,
                None if revision.era() == Era::Legacy && seen.shape == Shape::Request => of(MessageKind::Request)?,
                None if seen.shape == Shape::Notification => "JSONRPCNotification",
                None => return None,
            };
            Some((name, ""))
        }
        _ => None,
    }
}

/// Whether it is beyond doubt which method a result is of.
fn is_clear(request: &Request, likeness: Likeness) -> bool {
    const DOUBTFUL: [&str; 4] = ["", "/id", "/method", "headers/mcp-method"];
    let doubtful = |pointer: &String| DOUBTFUL.iter().any(|other| pointer.eq_ignore_ascii_case(other));
    !request.twin && likeness != Likeness::Foreign && !request.wrong.iter().any(doubtful)
}

/// Methods of the server that came after the first revision.
const BORN: [(&str, Revision); 7] = [
    ("elicitation/create", Revision::V2025_06_18),
    ("notifications/elicitation/complete", Revision::V2025_11_25),
    ("notifications/tasks/status", Revision::V2025_11_25),
    ("tasks/cancel", Revision::V2025_11_25),
    ("tasks/get", Revision::V2025_11_25),
    ("tasks/list", Revision::V2025_11_25),
    ("tasks/result", Revision::V2025_11_25),
];

/// Members that came after the first revision, as parts of a path: before it they are anybody's.
const ADDED: [(&str, Revision); 14] = [
    ("/capabilities/completions", Revision::V2025_03_26),
    ("/params/message", Revision::V2025_03_26),
    ("/tools/*/annotations", Revision::V2025_03_26),
    ("/_meta", Revision::V2025_06_18),
    ("/outputSchema", Revision::V2025_06_18),
    ("/structuredContent", Revision::V2025_06_18),
    ("/title", Revision::V2025_06_18),
    ("/execution", Revision::V2025_11_25),
    ("/serverInfo/description", Revision::V2025_11_25),
    ("/icons", Revision::V2025_11_25),
    ("/task", Revision::V2025_11_25),
    ("/tasks", Revision::V2025_11_25),
    ("/toolChoice", Revision::V2025_11_25),
    ("/websiteUrl", Revision::V2025_11_25),
];

fn judge(seen: &Seen<'_>, name: &'static str, part: &'static str, context: &Context, out: &mut Verdicts) {
    let revision = context.era().judged();
    let Some(json) = seen.get(part) else { return };
    let value = json.to_value();
    let Ok(problems) = validate(revision, name, &value) else { return };
    let Some(book) = BOOK.get(&context.era()) else { return };
    let mut by_row: BTreeMap<&'static str, Vec<Problem>> = BTreeMap::new();
    let era = context.era();
    by_row.entry(whole(era)).or_default();
    for row in occasions(revision, name, &value).unwrap_or_default() {
        by_row.entry(row).or_default();
    }
    for problem in problems {
        if is_later(&problem, context) {
            continue;
        }
        let row = match &problem.requirement {
            None => Some(whole(era)),
            // A row that is not in the book is judged by another rule.
            Some(row) => book.get_key_value(row.as_str()).map(|(row, _)| *row),
        };
        if let Some(row) = row {
            by_row.entry(row).or_default().push(problem);
        }
    }
    for (name_of_row, problems) in by_row {
        let Some(row) = book.get(name_of_row) else { continue };
        if problems.is_empty() {
            out.occasion(row, context);
        }
        for problem in problems {
            out.check(row, context, Some(breach(seen, part, name, problem, context)));
        }
    }
}

/// The problems of a message under a requirement that another rule tells: the place in the message, and the breach.
pub(super) fn problems(
    seen: &Seen<'_>,
    name: &'static str,
    part: &'static str,
    row: &Row,
    context: &Context,
) -> Vec<(String, Breach)> {
    let Some((requirement, revision)) = row.requirement(context) else { return Vec::new() };
    let Some(json) = seen.get(part) else { return Vec::new() };
    let problems = validate(revision, name, &json.to_value()).unwrap_or_default();
    let ours = |problem: &Problem| problem.requirement.as_deref() == Some(requirement) && !is_later(problem, context);
    let told = |problem: Problem| (format!("{part}{}", problem.pointer), breach(seen, part, name, problem, context));
    problems.into_iter().filter(ours).map(told).collect()
}

/// A problem with a member that the negotiated revision does not know.
fn is_later(problem: &Problem, context: &Context) -> bool {
    let version = context.version();
    if version >= Revision::V2025_11_25 {
        return false;
    }
    let path = format!("/{}/", without_indexes(&problem.pointer));
    ADDED.iter().any(|(part, since)| version < *since && path.contains(&format!("{part}/")))
}

fn breach(seen: &Seen<'_>, part: &str, name: &str, problem: Problem, context: &Context) -> Breach {
    let pointer = format!("{part}{}", problem.pointer);
    let place = without_indexes(&pointer);
    let message = if place.is_empty() {
        format!("{} ({name})", problem.message)
    } else {
        format!("{place}: {} ({name})", problem.message)
    };
    let told = context.told(&seen.at(&pointer)).find(|told| is_same(&problem, &told.message));
    let breach = Breach::at(seen, &pointer, message);
    let breach = match told {
        Some(told) => breach.told_under(told.requirement),
        None => breach,
    };
    match problem.contested.as_deref() {
        None => breach,
        Some(item) => {
            breach.contested(ITEMS.iter().find(|known| **known == item).unwrap_or(&"the published schema file"))
        }
    }
}

const ITEMS: [&str; 3] = ["C21", "C27", "C33"];

/// Whether another rule's words at the same place are about the same thing: several members can be missing at one place.
fn is_same(problem: &Problem, words: &str) -> bool {
    let missing = problem.message.strip_prefix("member `").and_then(|rest| rest.split_once("` is missing"));
    missing.is_none_or(|(member, _)| words.contains(member))
}

/// A place in words that are the same for every item of a list.
fn without_indexes(pointer: &str) -> String {
    let token = |token: &str| {
        let index = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        if index { "*".to_owned() } else { super::seen::clip(token) }
    };
    pointer.split('/').skip(1).map(token).collect::<Vec<_>>().join("/")
}

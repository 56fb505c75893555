//! The answers of one server in two revisions, or over two transports, against each other: what has to differ is taken out
//! by rule first.

use std::{collections::BTreeMap, str::FromStr};

use mcp_conform_schemas::{Era, Revision};

use super::{
    compare::without,
    diff::{Difference, differences},
    doc::{members, object},
    view::{Kept, View},
};
use crate::{
    trace::Transport,
    wire::{Json, JsonKind},
};

/// What is held against what, as in `2025-11-25..2026-07-28` or `stdio..http`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    Revisions(Revision, Revision),
    Transports(Transport, Transport),
}

#[derive(Debug, thiserror::Error)]
#[error("{0} is no pair of sides: write 2025-11-25..2026-07-28 or stdio..http")]
pub struct SidesError(String);

impl FromStr for Sides {
    type Err = SidesError;

    fn from_str(text: &str) -> Result<Self, SidesError> {
        let transport = |text: &str| match text {
            "stdio" => Some(Transport::Stdio),
            "http" => Some(Transport::Http),
            _ => None,
        };
        let bad = || SidesError(text.to_owned());
        let (one, two) = text.split_once("..").filter(|(one, two)| one != two).ok_or_else(bad)?;
        if let (Some(one), Some(two)) = (transport(one), transport(two)) {
            return Ok(Self::Transports(one, two));
        }
        let (one, two): (Option<Revision>, Option<Revision>) = (one.parse().ok(), two.parse().ok());
        match one.zip(two) {
            Some((one, two)) => Ok(Self::Revisions(one, two)),
            None => Err(bad()),
        }
    }
}

/// Two views that belong together, and how they differ.
#[derive(Debug)]
pub struct Pair {
    pub one: String,
    pub two: String,
    /// Answers that only one of them has.
    pub only_one: Vec<String>,
    pub only_two: Vec<String>,
    pub differences: Vec<(String, Difference)>,
    /// Answers that both have.
    pub compared: usize,
    pub left: Left,
}

/// What was taken out by rule, and how often.
#[derive(Clone, Debug, Default)]
pub struct Left(pub BTreeMap<&'static str, u64>);

impl Left {
    fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// The pairs of views on the two sides.
pub fn between(views: &[View], sides: Sides) -> Vec<Pair> {
    let find = |revision: Revision, transport: Transport| {
        views.iter().find(|view| view.revision == revision && view.transport == transport)
    };
    let pairs: Vec<(&View, &View)> = match sides {
        Sides::Revisions(one, two) => {
            let over = [Transport::Stdio, Transport::Http];
            over.into_iter().filter_map(|over| Some((find(one, over)?, find(two, over)?))).collect()
        }
        Sides::Transports(one, two) => {
            Revision::ALL.into_iter().filter_map(|of| Some((find(of, one)?, find(of, two)?))).collect()
        }
    };
    let revisions = matches!(sides, Sides::Revisions(..));
    pairs.into_iter().map(|(one, two)| pair(one, two, revisions)).collect()
}

fn pair(one: &View, two: &View, revisions: bool) -> Pair {
    let mut left = Left::default();
    let mut side = |view: &View| -> Vec<Kept> {
        let even = |kept: &Kept| even(kept, view.revision.era(), &mut left);
        if revisions { view.answers.iter().filter_map(even).collect() } else { view.answers.clone() }
    };
    let (mut before, mut after) = (side(one), side(two));
    // A page that has to be visited first is an error in one era and a request for input in the other.
    let visits = |kept: &Kept| kept.answer.pointer("/error/code").map(Json::to_string).as_deref() == Some("-32042");
    let gone: Vec<String> =
        before.iter().chain(&after).filter(|kept| revisions && visits(kept)).map(|kept| kept.name.clone()).collect();
    for name in &gone {
        left.note("how it asks for input");
        before.retain(|kept| kept.name != *name);
        after.retain(|kept| kept.name != *name);
    }
    let missing = |here: &[Kept], there: &[Kept]| -> Vec<String> {
        let lacks = |kept: &&Kept| !there.iter().any(|other| other.name == kept.name);
        here.iter().filter(lacks).map(|kept| kept.name.clone()).collect()
    };
    let mut found = Vec::new();
    let mut compared = 0;
    for kept in &before {
        let Some(other) = after.iter().find(|other| other.name == kept.name) else { continue };
        compared += 1;
        let differences = differences(&kept.answer, &other.answer);
        found.extend(differences.into_iter().map(|difference| (kept.name.clone(), difference)));
    }
    Pair {
        one: one.title(),
        two: two.title(),
        only_one: missing(&before, &after),
        only_two: missing(&after, &before),
        differences: found,
        compared,
        left,
    }
}

/// An answer without what the two eras say in different ways.
fn even(kept: &Kept, era: Era, left: &mut Left) -> Option<Kept> {
    let mut kept = kept.clone();
    if kept.repeats().is_some() {
        left.note("definitions that were asked for again");
        return None;
    }
    let greeting = matches!(kept.method.as_str(), "initialize" | "server/discover");
    if greeting {
        kept.name = "initialize or server/discover".to_owned();
        let info = kept.answer.pointer("/result/serverInfo").cloned();
        let info = info.or_else(|| kept.answer.pointer("/result/_meta/io.modelcontextprotocol~1serverInfo").cloned());
        kept.answer = without(&kept.answer, &|name| matches!(name, "protocolVersion" | "supportedVersions"));
        set(&mut kept.answer, "serverInfo", info);
        left.note("protocolVersion, supportedVersions, and where serverInfo stands");
        capabilities(&mut kept.answer, left);
    }
    if era == Era::Modern {
        hints(&mut kept.answer, left);
        if let JsonKind::Object(parts) = &mut kept.answer.kind {
            for pages in parts.iter_mut().filter(|part| &*part.name == "pages") {
                if let JsonKind::Array(pages) = &mut pages.value.kind {
                    pages.iter_mut().for_each(|page| hints(page, left));
                }
            }
        }
    }
    if strip_meta(&mut kept.answer) {
        left.note("members of _meta that the protocol owns");
    }
    // How a server asks for input is what the eras differ in most.
    if kept.answer.get("before").is_some() {
        left.note("how it asks for input");
        remove(&mut kept.answer, "before");
    }
    if kept.method == "tools/list" && without_task_support(&mut kept.answer) {
        left.note("execution of tools");
    }
    // An unknown resource has a code of its own in one of them.
    if let Some(code) = kept.answer.pointer("/error/code").map(Json::to_string)
        && kept.method == "resources/read"
        && matches!(code.as_str(), "-32002" | "-32602")
    {
        left.note("the code of an unknown resource");
        if let JsonKind::Object(parts) = &mut kept.answer.kind {
            for error in parts.iter_mut().filter(|part| &*part.name == "error") {
                remove(&mut error.value, "code");
            }
        }
    }
    Some(kept)
}

/// Members of a result that only the newer era has.
fn hints(answer: &mut Json, left: &mut Left) {
    for (names, what) in [(["resultType", ""], "resultType"), (["ttlMs", "cacheScope"], "ttlMs and cacheScope")] {
        if names.iter().any(|name| answer.get("result").and_then(|result| result.get(name)).is_some()) {
            left.note(what);
            *answer = without(answer, &|name| names.contains(&name));
        }
    }
}

/// Capabilities that only one of the revisions knows.
fn capabilities(answer: &mut Json, left: &mut Left) {
    let JsonKind::Object(parts) = &mut answer.kind else { return };
    for result in parts.iter_mut().filter(|part| &*part.name == "result") {
        let JsonKind::Object(results) = &mut result.value.kind else { continue };
        for capabilities in results.iter_mut().filter(|part| &*part.name == "capabilities") {
            for gone in ["tasks", "extensions"] {
                if capabilities.value.get(gone).is_some() {
                    left.note("the capabilities tasks and extensions");
                    remove(&mut capabilities.value, gone);
                }
            }
        }
    }
}

/// Tasks are core in one revision and an extension in the other.
fn without_task_support(answer: &mut Json) -> bool {
    let mut any = false;
    let JsonKind::Object(parts) = &mut answer.kind else { return false };
    for result in parts.iter_mut().filter(|part| &*part.name == "result") {
        let JsonKind::Object(results) = &mut result.value.kind else { continue };
        for tools in results.iter_mut().filter(|part| &*part.name == "tools") {
            let JsonKind::Array(tools) = &mut tools.value.kind else { continue };
            for tool in tools {
                any |= tool.get("execution").is_some();
                remove(tool, "execution");
            }
        }
    }
    any
}

/// Takes members with reserved names out of every `_meta`, and a `_meta` that is empty then.
fn strip_meta(json: &mut Json) -> bool {
    let reserved = |name: &str| name.starts_with("io.modelcontextprotocol/");
    match &mut json.kind {
        JsonKind::Array(items) => items.iter_mut().fold(false, |any, item| any | strip_meta(item)),
        JsonKind::Object(parts) => {
            let mut any = false;
            parts.retain_mut(|part| {
                let JsonKind::Object(meta) = &mut part.value.kind else { return true };
                if &*part.name != "_meta" {
                    return true;
                }
                let before = meta.len();
                meta.retain(|member| !reserved(&member.name));
                any |= meta.len() < before;
                meta.len() == before || !meta.is_empty()
            });
            parts.iter_mut().fold(any, |any, part| any | strip_meta(&mut part.value))
        }
        _ => false,
    }
}

fn remove(json: &mut Json, name: &str) {
    if let JsonKind::Object(parts) = &mut json.kind {
        parts.retain(|part| &*part.name != name);
    }
}

/// Sets a member of the result, at its end.
fn set(answer: &mut Json, name: &str, value: Option<Json>) {
    let JsonKind::Object(parts) = &mut answer.kind else { return };
    for result in parts.iter_mut().filter(|part| &*part.name == "result") {
        remove(&mut result.value, name);
        let old = members(&result.value).iter().map(|part| (part.name.to_string(), part.value.clone()));
        result.value = object(old.chain(value.iter().map(|value| (name.to_owned(), value.clone()))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(revision: Revision, transport: Transport, answers: &[(&str, &str)]) -> View {
        let kept = |(method, answer): &(&str, &str)| Kept {
            name: (*method).to_owned(),
            method: (*method).to_owned(),
            params: None,
            answer: Json::parse(answer.as_bytes()).unwrap(),
        };
        View { revision, transport, answers: answers.iter().map(kept).collect() }
    }

    #[test]
    fn what_has_to_differ_between_revisions_is_taken_out_and_nothing_else() {
        let legacy = [
            (
                "initialize",
                r#"{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"s"},"instructions":"i"}}"#,
            ),
            (
                "tools/list",
                r#"{"result":{"tools":[{"name":"a","execution":{"taskSupport":"optional"},"_meta":{"own":1}}]}}"#,
            ),
            ("resources/read x", r#"{"result":{"contents":[{"text":"one"}]}}"#),
        ];
        let modern = [
            (
                "server/discover",
                r#"{"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":[],"capabilities":{"tools":{},"extensions":{}},"instructions":"i","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}"#,
            ),
            (
                "tools/list",
                r#"{"result":{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[{"name":"a","_meta":{"own":1}}]}}"#,
            ),
            ("resources/read x", r#"{"result":{"resultType":"complete","contents":[{"text":"two"}]}}"#),
        ];
        let views = [
            view(Revision::V2025_11_25, Transport::Stdio, &legacy),
            view(Revision::V2026_07_28, Transport::Stdio, &modern),
        ];
        let pairs = between(&views, "2025-11-25..2026-07-28".parse().unwrap());
        let [pair] = pairs.as_slice() else { panic!("{pairs:?}") };
        let places: Vec<String> =
            pair.differences.iter().map(|(name, difference)| format!("{name} {}", difference.pointer)).collect();
        assert_eq!(places, ["resources/read x /result/contents/0/text"]);
        assert_eq!((pair.compared, pair.only_one.len(), pair.only_two.len()), (3, 0, 0));
        assert!(pair.left.0.contains_key("resultType") && pair.left.0.contains_key("ttlMs and cacheScope"));
        assert!(between(&views, Sides::Transports(Transport::Stdio, Transport::Http)).is_empty());
    }

    #[test]
    fn sides_are_two_revisions_or_two_transports() {
        assert_eq!("stdio..http".parse::<Sides>().unwrap(), Sides::Transports(Transport::Stdio, Transport::Http));
        for text in ["stdio", "stdio..stdio", "stdio..2025-11-25", "1..2", ".."] {
            assert!(text.parse::<Sides>().is_err(), "{text}");
        }
    }
}

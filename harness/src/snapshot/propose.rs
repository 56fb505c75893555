//! What varied between two recordings, as rules that would mask it: the smallest value each, or all entries of a list where
//! all of them vary.

use std::collections::BTreeMap;

use super::{
    doc::{push_token, tokens},
    view::{Kept, View},
};
use crate::wire::{Json, JsonKind};

/// A rule that would mask what varied.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// A glob over names of answers.
    pub answer: String,
    pub pointer: Option<String>,
    /// `order` or `answer`.
    pub ignore: Option<&'static str>,
    pub reason: String,
    /// What came first and what came then.
    pub seen: Option<(Json, Json)>,
    /// It is in what a host shows before anything is called.
    pub definition: bool,
}

enum Varied {
    Order,
    Value(Json, Json),
}

/// What to mask so that both recordings are the same.
pub fn proposals(first: &[View], second: &[View]) -> Vec<Proposal> {
    let mut out: Vec<Proposal> = Vec::new();
    let mut once: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut stable: Vec<&str> = Vec::new();
    for (one, two) in pairs(first, second) {
        for kept in &one.answers {
            match two.answer(&kept.name) {
                Some(other) => {
                    stable.push(&kept.name);
                    out.extend(of_answer(kept, other));
                }
                None => once.entry(kept.method.clone()).or_default().push(kept.name.clone()),
            }
        }
        for kept in two.answers.iter().filter(|kept| one.answer(&kept.name).is_none()) {
            once.entry(kept.method.clone()).or_default().push(kept.name.clone());
        }
    }
    for (method, names) in once {
        out.extend(left_out(&method, &names, &stable));
    }
    // The same rule for several revisions and transports is one.
    let mut known: Vec<(String, Option<String>)> = Vec::new();
    out.retain(|proposal| {
        let key = (proposal.answer.clone(), proposal.pointer.clone());
        let fresh = !known.contains(&key);
        known.push(key);
        fresh
    });
    out
}

fn pairs<'a>(first: &'a [View], second: &'a [View]) -> impl Iterator<Item = (&'a View, &'a View)> {
    first.iter().filter_map(|one| Some((one, second.iter().find(|two| two.is_at(one))?)))
}

fn of_answer(one: &Kept, two: &Kept) -> Vec<Proposal> {
    let mut varied = Vec::new();
    vary(&one.answer, &two.answer, &mut String::new(), &mut varied);
    let glob = globset::escape(&one.name);
    if varied.iter().any(|(pointer, _)| pointer.is_empty()) {
        // A result first and an error then: there is nothing in it to compare.
        return vec![Proposal {
            answer: glob,
            pointer: None,
            ignore: Some("answer"),
            reason: "was answered in another way when it was asked again".to_owned(),
            seen: Some((one.answer.clone(), two.answer.clone())),
            definition: one.is_definition(),
        }];
    }
    let mut out: Vec<Proposal> = Vec::new();
    let pointers: Vec<String> = varied.iter().map(|(pointer, _)| pointer.clone()).collect();
    for (pointer, varied) in varied {
        let pointer = wide(&one.answer, &pointer, &pointers);
        if out.iter().any(|known| known.pointer.as_ref() == Some(&pointer)) {
            continue;
        }
        let (ignore, reason, seen) = match varied {
            Varied::Order => (Some("order"), "its entries came in another order when it was asked again", None),
            Varied::Value(one, two) => (None, "differed when it was asked again", Some((one, two))),
        };
        out.push(Proposal {
            answer: glob.clone(),
            pointer: Some(pointer),
            ignore,
            reason: reason.to_owned(),
            seen,
            definition: one.is_definition(),
        });
    }
    out
}

/// The places that differ, as small as can be.
fn vary(one: &Json, two: &Json, pointer: &mut String, out: &mut Vec<(String, Varied)>) {
    let mut push = |varied| out.push((pointer.clone(), varied));
    match (&one.kind, &two.kind) {
        (JsonKind::Object(a), JsonKind::Object(b)) => {
            let sorted = |members: &[crate::wire::Member]| {
                let mut names: Vec<Box<str>> = members.iter().map(|member| member.name.clone()).collect();
                names.sort();
                names
            };
            if sorted(a) != sorted(b) {
                return push(Varied::Value(one.clone(), two.clone()));
            }
            for member in a {
                let Some(other) = two.get(&member.name) else { continue };
                let length = pointer.len();
                push_token(pointer, &member.name);
                vary(&member.value, other, pointer, out);
                pointer.truncate(length);
            }
        }
        (JsonKind::Array(a), JsonKind::Array(b)) => {
            let texts = |items: &[Json]| {
                let mut texts: Vec<String> = items.iter().map(Json::to_string).collect();
                let before = texts.clone();
                texts.sort();
                (before, texts)
            };
            let ((before, a_sorted), (after, b_sorted)) = (texts(a), texts(b));
            if a_sorted == b_sorted {
                if before != after {
                    push(Varied::Order);
                }
                return;
            }
            if a.len() != b.len() {
                return push(Varied::Value(one.clone(), two.clone()));
            }
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                let length = pointer.len();
                push_token(pointer, &index.to_string());
                vary(a, b, pointer, out);
                pointer.truncate(length);
            }
        }
        _ if one.to_string() == two.to_string() => {}
        _ => push(Varied::Value(one.clone(), two.clone())),
    }
}

/// The pointer with `*` for the entries of a list, where the same place varies in each of several entries.
fn wide(answer: &Json, pointer: &str, varied: &[String]) -> String {
    let mut tokens = tokens(pointer);
    for at in 0..tokens.len() {
        let prefix: String = tokens.iter().take(at).fold(String::new(), |mut out, token| {
            push_token(&mut out, token);
            out
        });
        let rest: String = tokens.iter().skip(at + 1).fold(String::new(), |mut out, token| {
            push_token(&mut out, token);
            out
        });
        // Behind a star there is no single list any more.
        let Some(items) = answer.pointer(&prefix).and_then(Json::as_array) else { continue };
        let with: Vec<usize> =
            (0..items.len()).filter(|index| answer.pointer(&format!("{prefix}/{index}{rest}")).is_some()).collect();
        let all = with.iter().all(|index| varied.contains(&format!("{prefix}/{index}{rest}")));
        if with.len() > 1
            && all
            && let Some(token) = tokens.get_mut(at)
        {
            "*".clone_into(token);
            break;
        }
    }
    tokens.iter().fold(String::new(), |mut out, token| {
        push_token(&mut out, token);
        out
    })
}

/// Answers that were there in one recording alone, as what is named by a value that varies.
fn left_out(method: &str, names: &[String], stable: &[&str]) -> Vec<Proposal> {
    let common = names.iter().skip(1).fold(names.first().cloned().unwrap_or_default(), |common, name| {
        common.chars().zip(name.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    });
    let telling = names.len() > 1 && common.len() > method.len() + 2;
    let globs = match telling && !stable.iter().any(|name| name.starts_with(&common)) {
        true => vec![format!("{}*", globset::escape(&common))],
        false => names.iter().map(|name| globset::escape(name)).collect(),
    };
    let proposal = |answer| Proposal {
        answer,
        pointer: None,
        ignore: Some("answer"),
        reason: "was there in one of two recordings alone".to_owned(),
        seen: None,
        definition: false,
    };
    globs.into_iter().map(proposal).collect()
}

#[cfg(test)]
mod tests {
    use mcp_conform_schemas::Revision;

    use super::*;
    use crate::trace::Transport;

    fn view(answers: &[(&str, &str)]) -> Vec<View> {
        let kept = |(name, answer): &(&str, &str)| Kept {
            name: (*name).to_owned(),
            method: name.split(' ').next().unwrap_or_default().to_owned(),
            params: None,
            answer: Json::parse(answer.as_bytes()).unwrap(),
        };
        let answers = answers.iter().map(kept).collect();
        vec![View { revision: Revision::V2025_11_25, transport: Transport::Stdio, answers }]
    }

    fn told(first: &[(&str, &str)], second: &[(&str, &str)]) -> Vec<String> {
        let line = |proposal: Proposal| {
            let pointer = proposal.pointer.unwrap_or_default();
            format!("{} {pointer} {}", proposal.answer, proposal.ignore.unwrap_or("value"))
        };
        proposals(&view(first), &view(second)).into_iter().map(line).collect()
    }

    #[test]
    fn the_smallest_value_that_varies_is_proposed() {
        let one = r#"{"result":{"a":1,"b":{"c":"x","d":[1,2]},"e":[{"id":1},{"id":2}],"f":[1,2,3]}}"#;
        let two = r#"{"result":{"a":1,"b":{"c":"y","d":[1,2,3]},"e":[{"id":3},{"id":4}],"f":[3,2,1]}}"#;
        assert_eq!(
            told(&[("tools/call a[1]", one)], &[("tools/call a[1]", two)]),
            [
                "tools/call a[[]1[]] /result/b/c value",
                "tools/call a[[]1[]] /result/b/d value",
                "tools/call a[[]1[]] /result/e/*/id value",
                "tools/call a[[]1[]] /result/f order",
            ]
        );
        assert!(told(&[("x", one)], &[("x", one)]).is_empty());
        assert_eq!(told(&[("x", r#"{"result":{}}"#)], &[("x", r#"{"error":{}}"#)]), ["x  answer"]);
    }

    #[test]
    fn what_one_recording_alone_has_is_left_out_by_what_its_names_have_in_common() {
        let first = [("resources/read s://1234", "{}"), ("resources/read other", "{}")];
        let second = [("resources/read s://5678", "{}"), ("resources/read other", "{}")];
        assert_eq!(told(&first, &second), ["resources/read s://*  answer"]);
        assert_eq!(told(&[("tools/call a", "{}")], &[]), ["tools/call a  answer"]);
    }
}

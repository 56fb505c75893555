//! How two values differ, place by place. One walk tells the differences and, as each of them is taken or left, makes the
//! value that comes of it: [`merge`]. [`differences`] is the same with nothing taken.
//!
//! The order of members says nothing in JSON, and is no difference; the spelling of a number is one, as a reader may see it.
//! Entries that have a name of their own are held against those of the same name, so that one that came or went is one
//! difference.

use std::{collections::HashMap, fmt};

use super::doc::{array, push_token, text};
use crate::wire::{Json, JsonKind, Member};

/// Members by which entries of a list are known, the most telling first.
const KEYS: [&str; 3] = ["uri", "uriTemplate", "name"];

#[derive(Clone, Debug)]
pub struct Difference {
    /// JSON Pointer into the new value; for what was removed, into the old one.
    pub pointer: String,
    pub change: Change,
}

#[derive(Clone, Debug)]
pub enum Change {
    Added(Json),
    Removed(Json),
    Changed {
        old: Json,
        new: Json,
    },
    /// The same entries in another order: their names.
    Order {
        old: Json,
        new: Json,
    },
}

/// In one line, for two to be compared.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = &self.pointer;
        match &self.change {
            Change::Added(new) => write!(f, "+ {pointer} {new}"),
            Change::Removed(old) => write!(f, "- {pointer} {old}"),
            Change::Changed { old, new } => write!(f, "~ {pointer} {old} {new}"),
            Change::Order { old, new } => write!(f, "% {pointer} {old} {new}"),
        }
    }
}

/// Every difference between two values.
pub fn differences(old: &Json, new: &Json) -> Vec<Difference> {
    let mut out = Vec::new();
    merge(old, new, &mut |difference| {
        out.push(difference.clone());
        false
    });
    out
}

/// The old value with those differences of the new one that are taken.
pub fn merge(old: &Json, new: &Json, take: &mut dyn FnMut(&Difference) -> bool) -> Json {
    Walk { pointer: String::new(), take }.values(old, new)
}

struct Walk<'a> {
    pointer: String,
    take: &'a mut dyn FnMut(&Difference) -> bool,
}

impl Walk<'_> {
    fn values(&mut self, old: &Json, new: &Json) -> Json {
        match (&old.kind, &new.kind) {
            (JsonKind::Object(before), JsonKind::Object(after)) => self.objects(before, after, new),
            (JsonKind::Array(before), JsonKind::Array(after)) => self.arrays(before, after, new),
            _ if same_leaf(old, new) => old.clone(),
            _ => match self.tell(Change::Changed { old: old.clone(), new: new.clone() }) {
                true => new.clone(),
                false => old.clone(),
            },
        }
    }

    fn objects(&mut self, old: &[Member], new: &[Member], whole: &Json) -> Json {
        let mut left: HashMap<(&str, usize), &Member> = numbered(old).collect();
        let mut out = Vec::new();
        for (key, member) in numbered(new) {
            let value = match left.remove(&key) {
                Some(before) => Some(self.at(&member.name, |walk| walk.values(&before.value, &member.value))),
                None => {
                    let taken = self.at(&member.name, |walk| walk.tell(Change::Added(member.value.clone())));
                    taken.then(|| member.value.clone())
                }
            };
            out.extend(value.map(|value| Member { value, ..member.clone() }));
        }
        for (key, member) in numbered(old) {
            if left.contains_key(&key) {
                let taken = self.at(&member.name, |walk| walk.tell(Change::Removed(member.value.clone())));
                if !taken {
                    out.push(member.clone());
                }
            }
        }
        Json { kind: JsonKind::Object(out), span: whole.span }
    }

    fn arrays(&mut self, old: &[Json], new: &[Json], whole: &Json) -> Json {
        let (pairs, named) = align(old, new);
        let mut of_old: HashMap<usize, usize> = HashMap::new();
        // What comes of each entry of the new list, and of those of the old one that are no more.
        let mut made: Vec<Option<Json>> = Vec::new();
        for (index, item) in new.iter().enumerate() {
            let before = pairs.get(index).copied().flatten();
            made.push(match before.and_then(|at| Some((at, old.get(at)?))) {
                Some((at, before)) => {
                    of_old.insert(at, index);
                    Some(self.at(&index.to_string(), |walk| walk.values(before, item)))
                }
                None => {
                    let taken = self.at(&index.to_string(), |walk| walk.tell(Change::Added(item.clone())));
                    taken.then(|| item.clone())
                }
            });
        }
        let mut kept: Vec<(usize, Json)> = Vec::new();
        for (at, item) in old.iter().enumerate().filter(|(at, _)| !of_old.contains_key(at)) {
            if !self.at(&at.to_string(), |walk| walk.tell(Change::Removed(item.clone()))) {
                kept.push((at, item.clone()));
            }
        }
        let positions: Vec<usize> = pairs.iter().copied().flatten().collect();
        let reordered = !positions.is_sorted();
        let in_old_order = reordered && {
            let names = |list: &[Json]| array(list.iter().map(|item| name_of(item, named)).collect());
            !self.tell(Change::Order { old: names(old), new: names(new) })
        };
        let mut out: Vec<Json> = if in_old_order {
            let first = (0..old.len()).filter_map(|at| made.get_mut(*of_old.get(&at)?).and_then(Option::take));
            let mut first: Vec<Json> = first.collect();
            first.extend(made.iter_mut().filter_map(Option::take));
            first
        } else {
            made.into_iter().flatten().collect()
        };
        for (at, item) in kept {
            out.insert(at.min(out.len()), item);
        }
        Json { kind: JsonKind::Array(out), span: whole.span }
    }

    fn tell(&mut self, change: Change) -> bool {
        (self.take)(&Difference { pointer: self.pointer.clone(), change })
    }

    fn at<T>(&mut self, token: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        push_token(&mut self.pointer, token);
        let out = inside(self);
        self.pointer.truncate(length);
        out
    }
}

/// Members with their place among those of the same name.
fn numbered(members: &[Member]) -> impl Iterator<Item = ((&str, usize), &Member)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    members.iter().map(move |member| {
        let count = seen.entry(&member.name).or_default();
        *count += 1;
        ((&*member.name, *count), member)
    })
}

/// For each entry of the new list the one of the old list that it is held against, and the member that names them.
fn align(old: &[Json], new: &[Json]) -> (Vec<Option<usize>>, Option<&'static str>) {
    let named = KEYS.into_iter().find_map(|key| Some((key, names(old, key)?, names(new, key)?)));
    if let Some((key, before, after)) = named
        && !(before.is_empty() && after.is_empty())
    {
        let known: HashMap<&str, usize> = before.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let gone = |at: usize| before.get(at).is_some_and(|name| !after.contains(name));
        // One that has another name in the same place was renamed.
        let pair = |(at, name): (usize, &&str)| known.get(name).copied().or_else(|| gone(at).then_some(at));
        return (after.iter().enumerate().map(pair).collect(), Some(key));
    }
    if old.len() == new.len() {
        return ((0..new.len()).map(Some).collect(), None);
    }
    let same = |one: Option<&Json>, two: Option<&Json>| {
        one.zip(two).is_some_and(|(one, two)| one.to_string() == two.to_string())
    };
    let shorter = old.len().min(new.len());
    let head = (0..shorter).take_while(|at| same(old.get(*at), new.get(*at))).count();
    let from_end = |list: &[Json], at: usize| list.len() - 1 - at;
    let tail =
        (0..shorter - head).take_while(|at| same(old.get(from_end(old, *at)), new.get(from_end(new, *at)))).count();
    let pair = |at: usize| match at {
        _ if at >= new.len() - tail => Some(old.len() + at - new.len()),
        _ => (at < old.len() - tail).then_some(at),
    };
    ((0..new.len()).map(pair).collect(), None)
}

/// The names of all entries, if each has one of its own.
fn names<'a>(list: &'a [Json], key: &str) -> Option<Vec<&'a str>> {
    let names: Vec<&str> = list.iter().map(|item| item.get(key)?.as_str()).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len()).then_some(names)
}

fn name_of(item: &Json, key: Option<&str>) -> Json {
    key.and_then(|key| item.get(key)).cloned().unwrap_or_else(|| text(item.to_string()))
}

fn same_leaf(one: &Json, two: &Json) -> bool {
    match (&one.kind, &two.kind) {
        (JsonKind::Null, JsonKind::Null) => true,
        (JsonKind::Bool(one), JsonKind::Bool(two)) => one == two,
        (JsonKind::Number(one), JsonKind::Number(two)) => one.as_str() == two.as_str(),
        (JsonKind::String(one), JsonKind::String(two)) => one == two,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn told(old: &str, new: &str) -> Vec<String> {
        differences(&json(old), &json(new)).iter().map(Difference::to_string).collect()
    }

    #[test]
    fn each_difference_has_its_place() {
        for (old, new, lines) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, vec![]),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, vec!["~ /a 1 1.0"]),
            (r#"{"a":"1"}"#, r#"{"a":1}"#, vec![r#"~ /a "1" 1"#]),
            (r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":2}}"#, vec!["~ /a~1b/~0 1 2"]),
            (r#"{"a":[]}"#, r#"{"b":{}}"#, vec!["+ /b {}", "- /a []"]),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":3}"#, vec!["~ /a 2 3"]),
            ("[1,2,3,4]", "[1,3,4]", vec!["- /1 2"]),
            ("[1,3]", "[1,2,3]", vec!["+ /1 2"]),
            ("[1,2]", "[2,1]", vec!["~ /0 1 2", "~ /1 2 1"]),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"b"}]"#, vec![r#"- /0 {"name":"a"}"#]),
            (r#"[{"name":"b"}]"#, r#"[{"name":"a"},{"name":"b","x":1}]"#, vec![r#"+ /0 {"name":"a"}"#, "+ /1/x 1"]),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"a"},{"name":"c"}]"#, vec![r#"~ /1/name "b" "c""#]),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"b"},{"name":"a"}]"#, vec![r#"%  ["a","b"] ["b","a"]"#]),
            (r#"[{"uri":"u","name":"n"}]"#, r#"[{"uri":"u","name":"m"}]"#, vec![r#"~ /0/name "n" "m""#]),
        ] {
            assert_eq!(told(old, new), lines, "{old} {new}");
        }
    }

    /// What is taken is in the new value alone, what is left in the old one.
    #[test]
    fn taking_all_gives_the_new_value_and_taking_none_the_old_one() {
        let values = [
            r#"{"a":[{"name":"a","x":1},{"name":"b"},{"name":"c"}],"b":[1,2,3],"c":{"d":null}}"#,
            r#"{"c":{"d":null,"e":[]},"a":[{"name":"c"},{"name":"a","x":2},{"name":"new"}],"b":[1,3]}"#,
            r#"{"a":[],"b":[0,1,2,3],"c":7}"#,
            r#"{"a":[{"name":"b"},{"name":"a","x":1},{"name":"c","y":[[]]}],"b":"","c":{"d":0}}"#,
            "[]",
        ];
        for old in values {
            for new in values {
                let (old, new) = (json(old), json(new));
                let all = merge(&old, &new, &mut |_| true);
                assert!(differences(&all, &new).is_empty(), "{all} is not {new}");
                let none = merge(&old, &new, &mut |_| false);
                assert!(differences(&none, &old).is_empty(), "{none} is not {old}");
            }
        }
    }
}

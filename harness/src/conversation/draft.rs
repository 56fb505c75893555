//! A message of ours on its way out.
//!
//! A [`Draft`] is JSON that may hold pieces no parser keeps (`9007199254740993` in a double, duplicate keys, `1e400`): such
//! a piece goes out as it stands. Drafts are changed by JSON Pointer, which is how a probe differs from its base.

use std::fmt::Write as _;

use serde_json::Value;

/// JSON with verbatim pieces.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    Array(Vec<Draft>),
    Object(Vec<(String, Draft)>),
    /// Text that goes out as it stands.
    Raw(String),
    Value(Value),
}

/// A pointer that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer} leads to nothing in the message")]
pub struct NoSuchMember {
    pub pointer: String,
}

impl Draft {
    pub fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// The JSON text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// The value as an ordinary parser reads it; verbatim pieces that are no JSON become null.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => Value::Object(members.iter().map(|(k, v)| (k.clone(), v.to_value())).collect()),
            Self::Raw(text) => serde_json::from_str(text).unwrap_or_default(),
            Self::Value(value) => value.clone(),
        }
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<Draft> {
        match self {
            Self::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, draft)| draft.clone()),
            Self::Value(Value::Object(map)) => map.get(name).cloned().map(Draft::Value),
            _ => None,
        }
    }

    /// Sets a member of an object; what is no object becomes one.
    pub fn insert(&mut self, name: &str, value: Draft) {
        let members = self.members();
        match members.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => members.push((name.to_owned(), value)),
        }
    }

    /// Sets the node at a JSON Pointer, making the objects on the way.
    pub fn set(&mut self, pointer: &str, value: Draft) -> Result<(), NoSuchMember> {
        let parts = split(pointer)?;
        let mut node = self;
        for part in &parts {
            node = node.child(part, true).ok_or_else(|| NoSuchMember { pointer: pointer.to_owned() })?;
        }
        *node = value;
        Ok(())
    }

    /// Removes the node at a JSON Pointer.
    pub fn remove(&mut self, pointer: &str) -> Result<(), NoSuchMember> {
        let missing = || NoSuchMember { pointer: pointer.to_owned() };
        let mut parts = split(pointer)?;
        let last = parts.pop().ok_or_else(missing)?;
        let mut node = self;
        for part in &parts {
            node = node.child(part, false).ok_or_else(missing)?;
        }
        node.open();
        match node {
            Self::Object(members) => {
                let at = members.iter().position(|(name, _)| *name == last).ok_or_else(missing)?;
                members.remove(at);
                Ok(())
            }
            Self::Array(items) => {
                let at = last.parse::<usize>().ok().filter(|at| *at < items.len()).ok_or_else(missing)?;
                items.remove(at);
                Ok(())
            }
            Self::Raw(_) | Self::Value(_) => Err(missing()),
        }
    }

    /// Leaves out so many members of an object, from the first on. What is no object stays as it is.
    pub fn drop_first(&mut self, count: usize) {
        if count > 0 {
            self.open();
        }
        if let Self::Object(members) = self {
            members.drain(..count.min(members.len()));
        }
    }

    fn members(&mut self) -> &mut Vec<(String, Draft)> {
        self.open();
        if !matches!(self, Self::Object(_)) {
            *self = Self::object();
        }
        match self {
            Self::Object(members) => members,
            _ => unreachable!("made an object one line above"),
        }
    }

    fn child(&mut self, name: &str, make: bool) -> Option<&mut Draft> {
        self.open();
        match self {
            Self::Object(members) => {
                let at = match members.iter().position(|(n, _)| n == name) {
                    Some(at) => at,
                    None if make => {
                        members.push((name.to_owned(), Draft::object()));
                        members.len() - 1
                    }
                    None => return None,
                };
                members.get_mut(at).map(|(_, value)| value)
            }
            Self::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
            Self::Raw(_) | Self::Value(_) => None,
        }
    }

    /// Turns a plain array or object into drafts of its parts, so that one of them can be changed.
    fn open(&mut self) {
        let Self::Value(value) = self else { return };
        match value.take() {
            Value::Array(items) => *self = Self::Array(items.into_iter().map(Self::Value).collect()),
            Value::Object(map) => *self = Self::Object(map.into_iter().map(|(k, v)| (k, Self::Value(v))).collect()),
            other => *self = Self::Value(other),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Raw(text) => out.push_str(text),
            // Writing to a string cannot fail.
            Self::Value(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (name, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    let _ = write!(out, "{}:", Value::String(name.clone()));
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<Value> for Draft {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

fn split(pointer: &str) -> Result<Vec<String>, NoSuchMember> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer.strip_prefix('/').ok_or_else(|| NoSuchMember { pointer: pointer.to_owned() })?;
    Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_members_are_left_out_and_what_is_no_object_stays() {
        let left = |value: serde_json::Value, count: usize| {
            let mut draft: Draft = value.into();
            draft.drop_first(count);
            draft.text()
        };
        assert_eq!(left(json!({"a": 1, "b": 2, "c": 3}), 2), r#"{"c":3}"#);
        assert_eq!(left(json!({"a": 1}), 9), "{}");
        for (count, value) in [(0, json!(7)), (1, json!(7)), (1, json!([1, 2])), (0, json!({"a": 1}))] {
            assert_eq!(left(value.clone(), count), value.to_string());
        }
    }

    #[test]
    fn raw_pieces_go_out_as_they_stand() {
        let mut draft = Draft::object();
        draft.insert("id", Draft::Raw("9007199254740993".to_owned()));
        draft.insert("params", json!({"a": 1}).into());
        assert_eq!(draft.text(), r#"{"id":9007199254740993,"params":{"a":1}}"#);
    }

    #[test]
    fn set_makes_the_way_and_remove_needs_it() {
        let mut draft = Draft::from(json!({"params": {"list": [1, 2]}}));
        draft.set("/params/_meta/a~1b", json!(true).into()).unwrap();
        draft.set("/params/list/1", Draft::Raw("1e400".to_owned())).unwrap();
        assert_eq!(draft.text(), r#"{"params":{"list":[1,1e400],"_meta":{"a/b":true}}}"#);
        draft.remove("/params/list/0").unwrap();
        draft.remove("/params/_meta").unwrap();
        assert_eq!(draft.text(), r#"{"params":{"list":[1e400]}}"#);
        assert!(draft.remove("/params/gone").is_err());
        assert!(draft.set("/params/list/7", Draft::object()).is_err());
    }
}

//! What a loop over resource templates or prompts gives to its rounds: the entry as listed, with what a request needs beside.

use mcp_conform_cases::ast::PromptKind;
use serde_json::{Map, Value, json};

/// What `$template` stands for: the entry, and the names of its variables as `variables`.
pub(super) fn template_variable(template: &Value) -> Value {
    let uri = template.get("uriTemplate").and_then(Value::as_str).unwrap_or_default();
    let names: Vec<Value> = variables(uri).into_iter().map(Value::from).collect();
    with(template, "variables", names.into())
}

/// What `$prompt` stands for: the entry, as `given` a string for each argument, as `values` for the required ones alone, and
/// as `oddValues` the same with an object for its first argument.
pub(super) fn prompt_variable(prompt: &Value) -> Value {
    let values: Map<String, Value> = arguments(prompt)
        .filter(|argument| required(argument))
        .filter_map(|argument| Some((argument.get("name")?.as_str()?.to_owned(), "example".into())))
        .collect();
    let mut odd = values.clone();
    if let Some(name) = prompt.pointer("/arguments/0/name").and_then(Value::as_str) {
        odd.insert(name.to_owned(), json!({"mcp-conform": 1}));
    }
    let prompt = with(prompt, "given", crate::run::survey::prompt_arguments(prompt));
    with(&with(&prompt, "values", values.into()), "oddValues", odd.into())
}

pub(super) fn is_prompt(prompt: &Value, kind: PromptKind) -> bool {
    match kind {
        PromptKind::All => true,
        PromptKind::Argument => arguments(prompt).next().is_some(),
        PromptKind::Optional => !arguments(prompt).any(required),
        PromptKind::Required => arguments(prompt).any(required),
    }
}

fn arguments(prompt: &Value) -> impl Iterator<Item = &Value> {
    prompt.get("arguments").and_then(Value::as_array).into_iter().flatten()
}

fn required(argument: &Value) -> bool {
    argument.get("required") == Some(&Value::Bool(true))
}

fn with(entry: &Value, name: &str, value: Value) -> Value {
    let mut entry = entry.clone();
    if let Some(members) = entry.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    entry
}

/// The variables of a URI template (RFC 6570), in order.
fn variables(template: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in template.split('{').skip(1) {
        let Some((expression, _)) = part.split_once('}') else { continue };
        let list = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        for name in list.split(',') {
            let name = name.split([':', '*']).next().unwrap_or_default();
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_template_are_found() {
        assert_eq!(variables("x://{a}/{+b,c:3}{?d*,a}"), ["a", "b", "c", "d"]);
        assert!(variables("x://{a").is_empty());
    }

    #[test]
    fn a_prompt_is_filled_with_its_required_arguments_alone() {
        let prompt = json!({"name": "p", "arguments": [{"name": "a", "required": true}, {"name": "b"}]});
        assert_eq!(prompt_variable(&prompt)["values"], json!({"a": "example"}));
        assert_eq!(prompt_variable(&prompt)["oddValues"], json!({"a": {"mcp-conform": 1}}));
        assert!(is_prompt(&prompt, PromptKind::Required) && !is_prompt(&prompt, PromptKind::Optional));
        assert!(is_prompt(&json!({"name": "q"}), PromptKind::Optional));
    }
}

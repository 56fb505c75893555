//! The proof of `schema` and `tool_schemas`: each row is seen kept by a sound message, and broken alone by one change.
//!
//! The sound messages and the changes are those by which the schemas themselves are proved.

use std::collections::BTreeSet;

use mcp_conform_schemas::Revision;
use serde_json::{Value, json};

use super::{Observation, Outcome, judge, register::rules, testing::trace};

const ROWS: &str = include_str!("../../../schemas/tests/data/rows.json");
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}}"#;

/// A message of the server in a conversation that leads to it.
fn conversation(revision: Revision, name: &str, value: &Value) -> Vec<Observation> {
    let method = name.split(' ').next().unwrap();
    let ask = |method: &str| {
        let meta = if revision == Revision::V2026_07_28 { format!(r#""_meta":{META}"#) } else { String::new() };
        format!("> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{meta}}}}}\n")
    };
    let script = if value.get("jsonrpc").is_none() {
        format!("{}< {}", ask(method), json!({"jsonrpc": "2.0", "id": 1, "result": value}))
    } else if method == "error" {
        format!("{}< {value}", ask("tools/call"))
    } else {
        format!("{}< {value}", ask("x"))
    };
    // The answer to initialize is judged before anything was negotiated.
    let bare = if method == "initialize" { " bare" } else { "" };
    judge(&trace(&format!("{revision} stdio{bare}"), &script))
}

fn changed(value: &Value, pointer: &str, new: Option<&Value>) -> Value {
    let mut value = value.clone();
    let Some((parent, member)) = pointer.rsplit_once('/') else { return new.cloned().unwrap() };
    let member = member.replace("~1", "/");
    match (value.pointer_mut(parent), new) {
        (Some(Value::Array(items)), Some(new)) => items[member.parse::<usize>().unwrap()] = new.clone(),
        (Some(Value::Object(members)), Some(new)) => drop(members.insert(member, new.clone())),
        (Some(Value::Object(members)), None) => drop(members.shift_remove(&member).unwrap()),
        _ => panic!("{pointer} stands nowhere"),
    }
    value
}

/// What `schema` tells, less what is told elsewhere.
fn told(observations: &[Observation]) -> Vec<&str> {
    let told =
        |it: &&Observation| it.rule == "schema" && it.violations.iter().any(|violation| violation.under.is_none());
    observations.iter().filter(told).map(|it| it.requirement).collect()
}

#[test]
fn each_row_is_kept_by_a_sound_message_and_broken_alone_by_one_change() {
    let file: Value = serde_json::from_str(ROWS).unwrap();
    let mut wrong = Vec::new();
    for revision in Revision::JUDGED {
        let part = &file[revision.as_str()];
        let samples = part["samples"].as_array().unwrap();
        let (mut kept, mut broke) = (BTreeSet::new(), BTreeSet::new());
        for sample in samples {
            let observations = conversation(revision, sample["name"].as_str().unwrap(), &sample["rich"]);
            if !told(&observations).is_empty() {
                wrong.push(format!("{revision} {} is sound: {:?}", sample["name"], told(&observations)));
            }
            kept.extend(observations.iter().filter(|it| it.count == 0).map(|it| it.requirement));
        }
        let mine: BTreeSet<&str> = rules()
            .iter()
            .filter(|rule| rule.name == "schema")
            .flat_map(|rule| &rule.requirements)
            .filter(|(_, of)| *of == revision)
            .map(|(id, _)| *id)
            .collect();
        for broken in part["breaks"].as_array().unwrap() {
            let (row, name) = (broken[0].as_str().unwrap(), broken[1].as_str().unwrap());
            let sample = samples.iter().find(|sample| sample["name"] == *name).unwrap();
            let value = changed(&sample["rich"], broken[2].as_str().unwrap(), broken.get(3));
            let observations = conversation(revision, name, &value);
            assert!(observations.iter().all(|it| it.occasions >= it.count), "{observations:#?}");
            broke.extend(told(&observations).into_iter().map(str::to_owned));
            if told(&observations) != [row] && mine.contains(row) {
                wrong.push(format!("{revision} {row}: {:?}", told(&observations)));
            }
        }
        for row in &mine {
            if !kept.contains(row) || !broke.contains(*row) {
                wrong.push(format!("{revision} {row}: kept {}, broken {}", kept.contains(row), broke.contains(*row)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kind, what the server lists and answers, and what `tool_schemas` and `schema` make of it.
fn tools(revision: Revision, tool: Value, result: Value) -> Vec<String> {
    let modern = revision == Revision::V2026_07_28;
    let meta = if modern { format!(r#""_meta":{META},"#) } else { String::new() };
    let envelope = |mut result: Value, list: bool| {
        if modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        if modern && list {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        result
    };
    let list = json!({"jsonrpc": "2.0", "id": 1, "result": envelope(json!({"tools": [tool]}), true)});
    let called = json!({"jsonrpc": "2.0", "id": 2, "result": envelope(result, false)});
    let script = format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{{meta}\"x\":1}}}}\n< {list}\n\
         > {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{{meta}\"name\":\"t\"}}}}\n< {called}"
    );
    let mut told = Vec::new();
    for observation in judge(&trace(&format!("{revision} stdio"), &script)) {
        if observation.rule != "tool_schemas" && observation.count == 0 {
            continue;
        }
        let mut words = vec![observation.requirement.to_owned()];
        for violation in &observation.violations {
            match violation.outcome {
                Outcome::Broken => words.push("broken".to_owned()),
                Outcome::Warning => words.push("warning".to_owned()),
                Outcome::Contested(item) => words.push(item.to_owned()),
            }
            words.extend(violation.under.map(|under| format!("under {under}")));
        }
        told.push(words.join(" "));
    }
    told
}

#[test]
fn the_schemas_of_tools_are_schemas() {
    let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
    let tool = |input: Value, output: Value| json!({"name": "t", "inputSchema": input, "outputSchema": output});
    let sound = || json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let broken = || json!({"type": "object", "properties": {"a": {"type": "strin"}}});
    let dated = |mut schema: Value| {
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema
    };
    let good = || json!({"content": [], "structuredContent": {"a": "x"}});
    let kept = tools(old, tool(sound(), dated(sound())), good());
    let all = [
        "schema-default-dialect-2020-12",
        "schema-valid-for-declared-dialect",
        "tools-inputschema-valid-object",
        "tools-output-conforms-to-schema",
        "tools-output-present-with-schema",
    ];
    assert_eq!(kept, all);
    let told = tools(old, tool(broken(), sound()), good());
    assert!(told.contains(&"tools-inputschema-valid-object broken".to_owned()), "{told:?}");
    let under = "schema-default-dialect-2020-12 broken under tools-inputschema-valid-object";
    assert!(told.contains(&under.to_owned()), "{told:?}");
    let told = tools(old, tool(sound(), dated(broken())), good());
    assert!(told.contains(&"schema-valid-for-declared-dialect broken".to_owned()), "{told:?}");
    let told = tools(old, tool(sound(), broken()), good());
    assert!(told.contains(&"schema-default-dialect-2020-12 broken".to_owned()), "{told:?}");
    let kept = tools(new, tool(sound(), sound()), good());
    let all = [
        "structured-content-matches-output-schema",
        "structured-content-present",
        "tool-input-schema-valid",
        "tool-output-schema-valid",
    ];
    assert_eq!(kept, all);
    let told = tools(new, tool(broken(), broken()), good());
    for row in ["tool-input-schema-valid broken", "tool-output-schema-valid broken"] {
        assert!(told.contains(&row.to_owned()), "{told:?}");
    }
    // What our validator cannot tell is no occasion.
    let strange = || json!({"type": "object", "$schema": "https://example.com/dialect"});
    assert_eq!(tools(new, tool(strange(), strange()), good()), ["structured-content-present"]);
}

#[test]
fn structured_results_keep_to_the_schema_of_their_tool() {
    let tool = || {
        let output = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": output})
    };
    let names = [
        (Revision::V2025_11_25, "tools-output-conforms-to-schema", "tools-output-present-with-schema"),
        (Revision::V2026_07_28, "structured-content-matches-output-schema", "structured-content-present"),
    ];
    for (revision, conforms, present) in names {
        let outcome =
            |result: Value, row: &str| tools(revision, tool(), result).into_iter().find(|told| told.starts_with(row));
        let wrong = json!({"content": [], "structuredContent": {"a": 5}});
        assert_eq!(outcome(wrong, conforms), Some(format!("{conforms} broken")));
        let failed = json!({"content": [], "structuredContent": {"a": 5}, "isError": true});
        assert_eq!(outcome(failed, conforms), Some(format!("{conforms} C41")));
        let missing = || json!({"content": []});
        assert_eq!(outcome(missing(), present), Some(format!("{present} broken")));
        assert_eq!(outcome(missing(), conforms), None);
        assert_eq!(outcome(json!({"content": [], "isError": true}), present), None);
    }
    let asks = json!({"resultType": "input_required", "requestState": "s"});
    let told = tools(Revision::V2026_07_28, tool(), asks);
    assert!(!told.iter().any(|told| told.starts_with("structured")), "{told:?}");
}

#[test]
fn older_revisions_are_free_in_what_they_do_not_know() {
    let told = |version: &str, result: Value| {
        let script = format!(
            "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{}}}}\n< {}",
            json!({"jsonrpc": "2.0", "id": 1, "result": result})
        );
        let observations = judge(&trace(&format!("{version} stdio"), &script));
        told(&observations).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let tool = |member: &str| {
        let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        tool[member] = json!(5);
        json!({ "tools": [tool] })
    };
    assert_eq!(told("2024-11-05", tool("title")), Vec::<String>::new());
    assert_eq!(told("2024-11-05", tool("outputSchema")), Vec::<String>::new());
    assert_eq!(told("2025-03-26", tool("icons")), Vec::<String>::new());
    assert_eq!(told("2025-06-18", tool("title")), ["tools-list-shape"]);
    assert_eq!(told("2024-11-05", tool("description")), ["tools-list-shape"]);
}

#[test]
fn what_another_rule_told_is_not_told_again() {
    // `envelope` tells that resultType is missing; the missing hints are another matter.
    let script = format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{\"_meta\":{META}}}}}\n< {}",
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
    );
    let observations = judge(&trace("2026-07-28 stdio", &script));
    assert_eq!(told(&observations), ["caching-hints-tools-list"]);
    // `envelope` tells that a result is null.
    let script = script.replace(r#"{"tools":[]}"#, "null");
    let observations = judge(&trace("2026-07-28 stdio", &script));
    assert_eq!(told(&observations), Vec::<&str>::new());
}

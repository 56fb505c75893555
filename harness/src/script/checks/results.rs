//! Results that are held against what the server said of them before: [`structured`] content against its outputSchema,
//! the bytes of resources against their listed [`sizes`], and completion against the [`references`] that are listed.

use base64::{Engine, prelude::BASE64_STANDARD};
use mcp_conform_cases::ast::NamedCheck;
use mcp_conform_schemas::InstanceSchema;
use serde_json::{Value, json};

use super::{Said, Sources, Word, given, said_open, tell};
use crate::{
    conversation::{Answer, AnswerKind, Call, Conversation},
    script::{
        player::{Player, Round, Stop, send_failed},
        subjects::template_variable,
    },
};

/// Resources whose size is checked.
const MOST_READS: usize = 10;

pub(super) async fn structured(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let tool = given(round, step, "tool")?;
    let (name, arguments) = (tool.get("name"), tool.get("arguments"));
    let schema = tool.get("outputSchema").cloned().unwrap_or_default();
    let (sent, answer) = ask(talk, "tools/call", json!({"name": name, "arguments": arguments})).await?;
    tell(player, round, step, talk, "", judge_structured(&schema, sent, &answer));
    Ok(())
}

fn judge_structured(schema: &Value, sent: Option<u64>, answer: &Answer) -> Vec<Said> {
    const ROLES: [&str; 3] = ["present", "conforms", "as-text"];
    let open = |reason: &str| ROLES.into_iter().map(|role| said_open(role, reason)).collect();
    let Some(result) = answer.result() else {
        return open(&format!("the call was answered with {}", answer.describe()));
    };
    if result.get("isError") == Some(&Value::Bool(true)) {
        return open("the tool failed, and a failure need not fit the outputSchema");
    }
    let kind = result.get("resultType").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "complete") || result.get("task").is_some() {
        return open("the call did not come to a final result");
    }
    let said = |role, word, message: String, pointer: String| Said {
        role,
        word,
        message,
        sources: Sources { sent, received: answer.event, pointer, ..Sources::default() },
    };
    let Some(content) = result.get("structuredContent") else {
        let message = "the tool has an outputSchema, and its result no structuredContent".to_owned();
        return vec![
            said("present", Word::Broken, message, "/result".to_owned()),
            said_open("conforms", "there is no structuredContent"),
            said_open("as-text", "there is no structuredContent"),
        ];
    };
    let conforms = match InstanceSchema::new(schema).map(|schema| schema.judge(content)) {
        Err(error) => said_open("conforms", &format!("the outputSchema cannot be used: {error}")),
        Ok(Err(error)) => said_open("conforms", &error.to_string()),
        Ok(Ok(problems)) => match problems.first() {
            None => said("conforms", Word::Pass, "it fits the outputSchema".to_owned(), String::new()),
            Some(problem) => said(
                "conforms",
                Word::Broken,
                format!("structuredContent does not fit the outputSchema: {}", problem.message),
                format!("/result/structuredContent{}", problem.pointer),
            ),
        },
    };
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let copied = blocks
        .filter_map(|block| block.get("text").and_then(Value::as_str))
        .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|copy| same(&copy, content)));
    let as_text = if copied {
        said("as-text", Word::Pass, "a text block repeats it".to_owned(), String::new())
    } else {
        let message = "no text block repeats the structuredContent as JSON".to_owned();
        said("as-text", Word::Broken, message, "/result/content".to_owned())
    };
    vec![said("present", Word::Pass, "structuredContent is there".to_owned(), String::new()), conforms, as_text]
}

/// Whether any reference of a kind is understood: a server may complete some arguments and refuse the others.
pub(super) async fn references(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let surface = player.stage.surface();
    let kind = given(round, step, "kind")?;
    let asked: Vec<Value> = if kind == "ref/prompt" {
        let prompts = surface.prompts.iter().filter(|prompt| prompt.pointer("/arguments/0/name").is_some());
        prompts.map(|prompt| completion(&kind, "name", prompt, "name", "/arguments/0/name")).collect()
    } else {
        let templates = surface.templates.iter().map(template_variable);
        let named = templates.filter(|template| template.pointer("/variables/0").is_some());
        named.map(|template| completion(&kind, "uri", &template, "uriTemplate", "/variables/0")).collect()
    };
    let mut last = said_open("one-served", "nothing is listed that could be completed");
    for params in asked.into_iter().take(MOST_READS) {
        let (sent, answer) = ask(talk, "completion/complete", params).await?;
        let sources = Sources { sent, received: answer.event, ..Sources::default() };
        last = match answer.kind {
            AnswerKind::Result => {
                let message = "a completion was served".to_owned();
                Said { role: "one-served", word: Word::Pass, message, sources }
            }
            AnswerKind::Error if answer.error_code() != Some(-32601) => {
                let message = format!("all references of this kind are refused, the last one by {}", answer.describe());
                Said { role: "one-served", word: Word::Broken, message, sources }
            }
            _ => said_open("one-served", &format!("the method is not served: {}", answer.came())),
        };
        if last.word != Word::Broken {
            break;
        }
    }
    tell(player, round, step, talk, "", vec![last]);
    Ok(())
}

fn completion(kind: &Value, key: &str, entry: &Value, member: &str, argument: &str) -> Value {
    json!({
        "ref": {"type": kind, key: entry.get(member)},
        "argument": {"name": entry.pointer(argument), "value": ""},
    })
}

/// JSON equality in which 7 and 7.0 are one number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

pub(super) async fn sizes(
    player: &Player<'_>,
    round: &Round,
    step: &NamedCheck,
    talk: &Conversation,
) -> Result<(), Stop> {
    let stated: Vec<(String, u64)> = player
        .stage
        .surface()
        .resources
        .iter()
        .filter_map(|entry| Some((entry.get("uri")?.as_str()?.to_owned(), entry.get("size")?.as_u64()?)))
        .take(MOST_READS)
        .collect();
    if stated.is_empty() {
        tell(player, round, step, talk, "", vec![said_open("size", "no listed resource states its size")]);
    }
    for (uri, size) in stated {
        let (sent, answer) = ask(talk, "resources/read", json!({ "uri": uri })).await?;
        let sources = Sources { sent, received: answer.event, pointer: "/result".to_owned(), ..Sources::default() };
        let said = match answer.result().as_ref().and_then(bytes) {
            None => said_open("size", &format!("it cannot be counted: {}", answer.came())),
            Some(count) if count == size => {
                Said { role: "size", word: Word::Pass, message: format!("it has {count} bytes"), sources }
            }
            Some(count) => {
                let message = format!("it is listed with {size} bytes and has {count}");
                Said { role: "size", word: Word::Broken, message, sources }
            }
        };
        tell(player, round, step, talk, &uri, vec![said]);
    }
    Ok(())
}

/// The bytes of a resource that came in one piece.
fn bytes(result: &Value) -> Option<u64> {
    let [content] = result.get("contents")?.as_array()?.as_slice() else { return None };
    let count = match (content.get("text"), content.get("blob")) {
        (Some(text), None) => text.as_str()?.len(),
        (None, Some(blob)) => BASE64_STANDARD.decode(blob.as_str()?).ok()?.len(),
        _ => return None,
    };
    u64::try_from(count).ok()
}

async fn ask(talk: &Conversation, method: &str, params: Value) -> Result<(Option<u64>, Answer), Stop> {
    let call = Call { method: method.to_owned(), params: Some(params.into()), ..Call::default() };
    Ok(match talk.request(call, None).await {
        Ok((ticket, answer)) => (Some(ticket.event), answer),
        Err(error) => (None, send_failed(error)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_json_is_equal_whatever_the_order_and_the_form_of_numbers() {
        assert!(same(&json!({"a": 7, "b": [1.5]}), &json!({"b": [1.5], "a": 7.0})));
        assert!(!same(&json!({"a": 7}), &json!({"a": 7, "b": null})));
    }

    #[test]
    fn only_one_piece_is_counted() {
        assert_eq!(bytes(&json!({"contents": [{"text": "ü"}]})), Some(2));
        assert_eq!(bytes(&json!({"contents": [{"blob": "AAEC"}]})), Some(3));
        assert_eq!(bytes(&json!({"contents": [{"text": "a"}, {"text": "b"}]})), None);
    }
}

//! Faults of form are all alike: a member of a message is replaced or left out. [`break_form`] does so for the results of
//! the shared methods and for the params of what the server asks; which member it is stands in one table.

use serde_json::Value;

use crate::call::Call;
use crate::faults::Fault;

/// Breaks a result, or the params of a request of the server, as the fault has it. What is not there stays as it is.
pub(crate) fn break_form(call: &Call, method: &str, value: &mut Value) {
    if call.server.config.faults.is_empty() {
        return;
    }
    for (fault, of, pointer, new) in FORMS {
        if *of == method && call.has(*fault) {
            put(value, pointer, *new);
        }
    }
}

/// The fault, the method, the place, and what stands there instead as JSON text; nothing if the member is left out.
const FORMS: &[(Fault, &str, &str, Option<&str>)] = &[
    (Fault::ToolTitleNull, "tools/list", "/tools/fail/title", Some("null")),
    (Fault::ToolNameAsNumber, "tools/list", "/tools/fail/name", Some("5")),
    (Fault::ToolIconsWithoutSource, "tools/list", "/tools/fail/icons", Some("[{}]")),
    (
        Fault::IconThemeInvented,
        "tools/list",
        "/tools/fail/icons",
        Some(r#"[{"src":"https://example.com/i.png","theme":"blue"}]"#),
    ),
    (Fault::ToolOutputSchemaBoolean, "tools/list", "/tools/fail/outputSchema", Some("true")),
    (
        Fault::ToolOutputSchemaInvalid,
        "tools/list",
        "/tools/fail/outputSchema",
        Some(r#"{"type":"object","properties":{"a":{"type":"strin"}}}"#),
    ),
    (
        Fault::ToolOutputSchemaOldInvalid,
        "tools/list",
        "/tools/fail/outputSchema",
        Some(
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"strin"}}}"#,
        ),
    ),
    (Fault::ToolMetaAsList, "tools/list", "/tools/fail/_meta", Some("[]")),
    (Fault::ToolDialectAsNumber, "tools/list", "/tools/fail/inputSchema/$schema", Some("5")),
    (Fault::ToolParameterNoSchema, "tools/list", "/tools/fail/inputSchema/properties", Some(r#"{"a":5}"#)),
    (Fault::TaskSupportInvented, "tools/list", "/tools/fail/execution", Some(r#"{"taskSupport":"maybe"}"#)),
    (Fault::ResourceIconsAsObject, "resources/list", "/resources/0/icons", Some("{}")),
    (Fault::PromptIconsWithoutSource, "prompts/list", "/prompts/0/icons", Some("[{}]")),
    (Fault::PromptDescriptionAsList, "prompts/list", "/prompts/0/description", Some("[]")),
    (Fault::TemplateWithoutName, "resources/templates/list", "/resourceTemplates/0/name", None),
    (Fault::PromptDescriptionNull, "prompts/get", "/description", Some("null")),
    (Fault::ImageWithoutType, "tools/call", "/content/1/mimeType", None),
    (Fault::AudioWithoutData, "tools/call", "/content/2/data", None),
    (Fault::AudioNotBase64, "tools/call", "/content/2/data", Some(r#""https://example.com/click.wav""#)),
    (Fault::PromptImageNotBase64, "prompts/get", "/messages/2/content/data", Some(r#""data:image/png;base64,iVBO""#)),
    (Fault::PromptAudioNotBase64, "prompts/get", "/messages/3/content/data", Some(r#""a click, in words""#)),
    (Fault::PromptImageTypeBare, "prompts/get", "/messages/2/content/mimeType", Some(r#""png""#)),
    (Fault::PromptAudioTypeBare, "prompts/get", "/messages/3/content/mimeType", Some(r#""wav""#)),
    (Fault::LinkWithoutUri, "tools/call", "/content/3/uri", None),
    (Fault::EmbeddedUriAsNumber, "tools/call", "/content/4/resource/uri", Some("5")),
    (Fault::AudienceInvented, "tools/call", "/content/1/annotations", Some(r#"{"audience":["all"]}"#)),
    (Fault::StructuredContentAsList, "tools/call", "/structuredContent", Some("[1]")),
    (Fault::SamplingPriorityOutOfRange, "sampling/createMessage", "/modelPreferences", Some(r#"{"costPriority":10}"#)),
    (Fault::SamplingHintAsText, "sampling/createMessage", "/modelPreferences", Some(r#"{"hints":["any"]}"#)),
    (Fault::SamplingChoiceInvented, "sampling/createMessage", "/toolChoice", Some(r#"{"mode":"any"}"#)),
    (Fault::SamplingToolsAsObject, "sampling/createMessage", "/tools", Some("{}")),
    (Fault::SamplingRoleSystem, "sampling/createMessage", "/messages/0/role", Some(r#""system""#)),
    (
        Fault::SamplingContentLink,
        "sampling/createMessage",
        "/messages/0/content",
        Some(r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#),
    ),
    (Fault::SamplingContextInvented, "sampling/createMessage", "/includeContext", Some(r#""all""#)),
    (Fault::PageWithoutUrl, "elicitation/create", "/url", None),
    (Fault::TaskIdNumber, "tasks/get", "/taskId", Some("17")),
    (Fault::TaskStatusInvented, "tasks/get", "/status", Some(r#""canceled""#)),
    (Fault::TaskCreatedNumber, "tasks/get", "/createdAt", Some("1732531200000")),
    (Fault::TaskUpdatedMissing, "tasks/list", "/tasks/0/lastUpdatedAt", None),
    (Fault::TaskTtlMissing, "tasks/list", "/tasks/0/ttl", None),
    (Fault::TasksById, "tasks/list", "/tasks", Some("{}")),
    (Fault::ElicitationRootString, "elicitation/create", "/requestedSchema/type", Some(r#""string""#)),
    (
        Fault::ElicitationFormatInvented,
        "elicitation/create",
        "/requestedSchema/properties/name/format",
        Some(r#""password""#),
    ),
    (Fault::ElicitationBoundAsText, "elicitation/create", "/requestedSchema/properties/name/minLength", Some(r#""1""#)),
    (Fault::ElicitationDefaultAsText, "elicitation/create", "/requestedSchema/properties/size/default", Some(r#""2""#)),
    (
        Fault::ElicitationFlagDefaultAsText,
        "elicitation/create",
        "/requestedSchema/properties/sure",
        Some(r#"{"type":"boolean","default":"yes"}"#),
    ),
    (
        Fault::ElicitationChoiceWithoutEnum,
        "elicitation/create",
        "/requestedSchema/properties/some",
        Some(r#"{"type":"array","items":{"type":"string"}}"#),
    ),
];

fn put(value: &mut Value, pointer: &str, new: Option<&str>) {
    let Some((parent, member)) = pointer.rsplit_once('/') else { return };
    let Some(parent) = reach(value, parent).and_then(Value::as_object_mut) else { return };
    match new {
        Some(text) => drop(parent.insert(member.to_owned(), serde_json::from_str(text).unwrap_or_default())),
        None => drop(parent.shift_remove(member)),
    }
}

/// The place of a JSON Pointer, in which an item of a list may also be called by its name: it can stand on any page.
fn reach<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    pointer.split('/').skip(1).try_fold(value, |value, token| match value {
        Value::Object(members) => members.get_mut(token),
        Value::Array(items) => match token.parse::<usize>() {
            Ok(index) => items.get_mut(index),
            Err(_) => items.iter_mut().find(|item| item.get("name").and_then(Value::as_str) == Some(token)),
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_json() {
        for (fault, _, _, text) in FORMS {
            assert!(text.is_none_or(|text| serde_json::from_str::<Value>(text).is_ok()), "{fault}");
        }
    }

    #[test]
    fn a_member_is_replaced_or_left_out_where_its_object_is() {
        let mut value = json!({"a": [{"b": 1}]});
        put(&mut value, "/a/0/c", Some("2"));
        put(&mut value, "/a/0/b", None);
        put(&mut value, "/x/y", Some("2"));
        assert_eq!(value, json!({"a": [{"c": 2}]}));
    }
}

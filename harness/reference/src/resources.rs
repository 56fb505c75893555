//! The resources: fixed texts, one blob and the notes, which are also reached through a template. [`list`],
//! [`templates`] and [`read`] are the methods; who hears of changes is left to `server`.

use serde_json::{Value, json};

use crate::bugs::{self, Bug};
use crate::call::{Call, Input, Stop};
use crate::faults::Fault;
use crate::json::{Params, RpcError};
use crate::server::{Change, Server};
use crate::tools::PIXEL;

pub(crate) const NOTE_TEMPLATE: &str = "ref://note/{id}";
const NOTE_PREFIX: &str = "ref://note/";
const PIXEL_BYTES: usize = 70;

const TEXTS: &[(&str, &str, &str, &str)] = &[
    ("ref://text/readme", "readme", "text/plain", "A server of both revisions, written for being broken."),
    ("ref://text/guide", "guide", "text/markdown", "# Guide\n\nBreak it in exactly one way."),
    ("ref://data/table", "table", "application/json", "{\"rows\":[[1,2],[3,4]]}"),
];
const GUARDED: &str = "ref://text/guarded";
const PIXEL_URI: &str = "ref://data/pixel";
/// Tells how often it was subscribed to, so that it changes with each subscription.
pub(crate) const LIVE: &str = "ref://data/visits";

/// All resources, notes last.
pub(crate) fn list(call: &Call) -> Vec<Value> {
    let mut resources: Vec<Value> = TEXTS
        .iter()
        .map(|(uri, name, kind, text)| json!({"uri": uri, "name": name, "mimeType": kind, "size": text.len()}))
        .collect();
    resources.push(json!({"uri": PIXEL_URI, "name": "pixel", "mimeType": "image/png", "size": PIXEL_BYTES}));
    resources.push(json!({
        "uri": GUARDED,
        "name": "guarded",
        "mimeType": "text/plain",
        "description": "Asks a client that can be asked for whom the text is.",
    }));
    resources.push(json!({"uri": LIVE, "name": "visits", "mimeType": "text/plain"}));
    for id in call.server.notes().keys() {
        resources.push(json!({
            "uri": note_uri(id),
            "name": format!("note {id}"),
            "mimeType": "text/plain",
            "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-07-28T12:00:00Z"},
        }));
    }
    if let Some(first) = resources.first_mut().and_then(Value::as_object_mut) {
        first.insert("icons".to_owned(), json!([{"src": "https://example.com/text.png"}]));
        if call.has(Fault::ResourceWithoutName) {
            first.shift_remove("name");
        }
        if call.has(Fault::ResourceUriRelative) {
            first.insert("uri".to_owned(), json!("text/readme"));
        }
        if call.has(Fault::ResourceSizeWrong) {
            first.insert("size".to_owned(), json!(1));
        }
        if call.has(Fault::ResourcePriorityOutOfRange) {
            first.insert("annotations".to_owned(), json!({"priority": 5}));
        }
    }
    if call.has(Fault::ResourceUrisRepeat)
        && let Some(first) = resources.first().cloned()
    {
        resources.insert(1, first);
    }
    if call.has(Fault::ResourceListedUnreadable) {
        resources.insert(0, json!({"uri": "ref://text/gone", "name": "gone"}));
    }
    resources
}

/// The templates: the notes, which can be completed, and the ways to the fixed resources.
pub(crate) fn templates(call: &Call) -> Vec<Value> {
    let template = if call.has(Fault::TemplateUnbalanced) { "ref://note/{id" } else { NOTE_TEMPLATE };
    vec![
        json!({"uriTemplate": template, "name": "note", "description": "One note.", "mimeType": "text/plain"}),
        json!({"uriTemplate": "ref://text/{name}", "name": "text", "description": "One of the fixed texts."}),
        json!({"uriTemplate": "ref://data/{name}", "name": "data", "description": "One of the fixed data."}),
        json!({"uriTemplate": "ref://{kind}/{name}", "name": "any", "description": "Anything of this server."}),
    ]
}

/// Reads one resource.
pub(crate) async fn read(call: &mut Call, params: &Params) -> Result<Value, Stop> {
    let uri = match params.get("uri") {
        Some(Value::String(uri)) => uri.clone(),
        _ if call.has(Fault::MissingUriReadsFirst) => TEXTS.first().map_or("", |(uri, ..)| uri).to_owned(),
        _ => return Err(RpcError::invalid_params("resources/read needs a uri").into()),
    };
    call.open_flow("resources/read", &json!(uri), params).await?;
    let contents = match uri.as_str() {
        PIXEL_URI => {
            let blob = if call.has(Fault::BlobNotBase64) { "not base64!" } else { PIXEL };
            json!({"uri": uri, "mimeType": "image/png", "blob": blob})
        }
        GUARDED => {
            let reader = reader(call).await?;
            json!({"uri": uri, "mimeType": "text/plain", "text": format!("A guarded text for {reader}.")})
        }
        _ if call.bug(Bug::OddEscape) && bugs::odd_escape(&uri) => {
            let why = format!("{uri:?} ends within an escape");
            return Err(RpcError::new(-32603, bugs::trace(&why, "resources.rs", 118)).into());
        }
        _ => match text(call, &uri) {
            Some((kind, text)) => json!({"uri": uri, "mimeType": kind, "text": text}),
            None => return not_found(call, &uri),
        },
    };
    if call.has(Fault::ContentsAsObject) {
        return Ok(json!({ "contents": contents }));
    }
    Ok(json!({ "contents": [contents] }))
}

/// Somebody has subscribed to the visits.
pub(crate) fn visited(server: &Server) {
    server.change(|world| {
        world.visits += 1;
        vec![Change::Resource(LIVE.to_owned())]
    });
}

/// Whether there is something to subscribe to, now or later.
pub(crate) fn subscribable(call: &Call, uri: &str) -> bool {
    uri.starts_with(NOTE_PREFIX) || known(call, uri)
}

pub(crate) fn known(call: &Call, uri: &str) -> bool {
    matches!(uri, PIXEL_URI | GUARDED) || text(call, uri).is_some()
}

/// The uri of a note; what may not stand in a path is percent-encoded.
pub(crate) fn note_uri(id: &str) -> String {
    let mut uri = NOTE_PREFIX.to_owned();
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn text(call: &Call, uri: &str) -> Option<(&'static str, String)> {
    if let Some((_, _, kind, text)) = TEXTS.iter().find(|(known, ..)| *known == uri) {
        return Some((kind, (*text).to_owned()));
    }
    if uri == LIVE {
        return Some(("text/plain", call.server.visits().to_string()));
    }
    call.server.notes().into_iter().find(|(id, _)| note_uri(id) == uri).map(|(_, text)| ("text/plain", text))
}

/// For whom the guarded text is: a modern client that can be asked is asked, everybody else gets the general text.
async fn reader(call: &mut Call) -> Result<String, Stop> {
    let modes = call.capabilities.get("elicitation").and_then(Value::as_object);
    let can_ask = modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
    if !call.modern() || !can_ask {
        return Ok("everybody".to_owned());
    }
    let name = json!({"type": "string", "title": "Name", "minLength": 1, "maxLength": 50});
    let schema = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
    let answers = call.ask(&[("name", Input::Form { message: "For whom is the text?", schema })]).await?;
    let name = answers.first().and_then(|answer| answer.pointer("/content/name")).and_then(Value::as_str);
    Ok(name.unwrap_or("everybody").to_owned())
}

fn not_found(call: &Call, uri: &str) -> Result<Value, Stop> {
    if call.has(Fault::UnknownResourceEmpty) {
        return Ok(json!({"contents": []}));
    }
    let code = match () {
        () if call.modern() && call.has(Fault::ResourceNotFoundOldCode) => -32002,
        () if call.modern() => -32602,
        () if call.has(Fault::ResourceNotFoundNewCode) => -32602,
        () => -32002,
    };
    let error = RpcError::new(code, "there is no such resource");
    let error = if call.has(Fault::ResourceNotFoundWithoutUri) { error } else { error.data(json!({"uri": uri})) };
    Err(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn the_blob_is_as_long_as_the_list_says() {
        let bytes = STANDARD.decode(PIXEL).expect("the constant is base64");
        assert_eq!(bytes.len(), PIXEL_BYTES);
        assert!(bytes.starts_with(b"\x89PNG"));
    }

    #[test]
    fn a_note_id_is_encoded() {
        assert_eq!(note_uri("a b/ü"), "ref://note/a%20b%2F%C3%BC");
    }
}

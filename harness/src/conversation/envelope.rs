//! What a conversation adds to a request of a script: `jsonrpc`, id, `_meta` and, over HTTP, the headers.
//!
//! [`Envelope`] is pure: the same call gives the same bytes. A probe's change is applied here, after everything else, so
//! that it is the only difference from its base.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use mcp_conform_schemas::Era;
use serde_json::{Value, json};

use super::draft::{Draft, NoSuchMember};
use crate::trace::Intent;

pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// A request or notification as a script or the harness wants it.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub method: String,
    pub params: Option<Draft>,
    /// JSON text of the id; `None` for a notification.
    pub id: Option<String>,
    /// JSON text of a progress token.
    pub token: Option<String>,
    /// Client capabilities of this request alone (modern era).
    pub capabilities: Option<Value>,
    /// Headers added or replaced (`Some`) or left out (`None`) over HTTP.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub wrong: Vec<String>,
    pub change: Option<Alteration>,
}

/// A probe's change with its values filled in.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    Capabilities(Draft),
    Header { name: String, value: Option<Vec<u8>> },
    Remove { pointer: String },
    Set { pointer: String, value: Draft },
    Version(Draft),
}

/// What the conversation knows when it builds a message.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    pub era: Era,
    /// Claimed in `_meta` and header (modern), negotiated (legacy); `None` before the handshake ended.
    pub version: Option<&'a str>,
    pub capabilities: &'a Value,
    pub session: Option<&'a str>,
    /// Input schemas of the tools that were listed, for `x-mcp-header`.
    pub tools: &'a BTreeMap<String, Value>,
}

/// A message ready to go out.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub body: Bytes,
    pub headers: Vec<(String, Bytes)>,
    pub intent: Intent,
}

impl Envelope<'_> {
    pub fn build(&self, call: &Call) -> Result<Outgoing, NoSuchMember> {
        let plain = self.message(call);
        let mut message = plain.clone();
        let mut header_source = plain;
        let mut version = self.version.map(|v| v.as_bytes().to_vec());
        let mut wrong = call.wrong.clone();
        let mut header_change = None;
        match &call.change {
            None => {}
            Some(Alteration::Capabilities(value)) => {
                message.set(&format!("/params/_meta/{}", escape(META_CAPABILITIES)), value.clone())?;
            }
            Some(Alteration::Header { name, value }) => {
                wrong.push(format!("headers/{}", name.to_ascii_lowercase()));
                header_change = Some((name.clone(), value.clone()));
            }
            Some(Alteration::Remove { pointer }) => {
                message.remove(pointer)?;
                wrong.push(pointer.clone());
                if !within_meta(pointer) {
                    header_source = message.clone();
                }
            }
            Some(Alteration::Set { pointer, value }) => {
                message.set(pointer, value.clone())?;
                wrong.push(pointer.clone());
                if !within_meta(pointer) {
                    header_source = message.clone();
                }
            }
            Some(Alteration::Version(value)) => {
                if self.era == Era::Modern {
                    let pointer = format!("/params/_meta/{}", escape(META_VERSION));
                    message.set(&pointer, value.clone())?;
                    wrong.push(pointer);
                }
                wrong.push("headers/mcp-protocol-version".to_owned());
                version = Some(match value.to_value() {
                    Value::String(text) => text.into_bytes(),
                    other => other.to_string().into_bytes(),
                });
            }
        }
        let mut headers = self.headers(&header_source, version);
        for (name, value) in call.headers.iter().chain(&header_change) {
            headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
            if let Some(value) = value {
                headers.push((name.to_ascii_lowercase(), Bytes::from(value.clone())));
            }
        }
        Ok(Outgoing { body: Bytes::from(message.text()), headers, intent: Intent { wrong } })
    }

    fn message(&self, call: &Call) -> Draft {
        let mut message = Draft::Object(vec![("jsonrpc".to_owned(), json!("2.0").into())]);
        if let Some(id) = &call.id {
            message.insert("id", Draft::Raw(id.clone()));
        }
        message.insert("method", Value::from(call.method.as_str()).into());
        let mut meta = Draft::object();
        // Only requests carry the claim: the revision defines these keys on RequestParams.
        if self.era == Era::Modern && call.id.is_some() {
            meta.insert(META_VERSION, Value::from(self.version.unwrap_or_default()).into());
            meta.insert(META_CLIENT, client_info().into());
            let capabilities = call.capabilities.clone().unwrap_or_else(|| self.capabilities.clone());
            meta.insert(META_CAPABILITIES, capabilities.into());
        }
        if let Some(token) = &call.token {
            meta.insert("progressToken", Draft::Raw(token.clone()));
        }
        let Draft::Object(added) = meta else { return message };
        match (&call.params, added.is_empty()) {
            (None, true) => {}
            (Some(params), true) => message.insert("params", params.clone()),
            (params, false) => {
                let mut params = params.clone().unwrap_or_else(Draft::object);
                // A `_meta` of the script's own is kept and completed.
                let mut whole = params.get("_meta").unwrap_or_else(Draft::object);
                for (name, value) in added {
                    if whole.get(&name).is_none() {
                        whole.insert(&name, value);
                    }
                }
                params.insert("_meta", whole);
                message.insert("params", params);
            }
        }
        message
    }

    fn headers(&self, message: &Draft, version: Option<Vec<u8>>) -> Vec<(String, Bytes)> {
        let mut headers = vec![
            ("content-type".to_owned(), Bytes::from_static(b"application/json")),
            ("accept".to_owned(), Bytes::from_static(b"application/json, text/event-stream")),
        ];
        if let Some(version) = version {
            headers.push(("mcp-protocol-version".to_owned(), Bytes::from(version)));
        }
        match self.era {
            Era::Legacy => {
                if let Some(session) = self.session {
                    headers.push(("mcp-session-id".to_owned(), Bytes::copy_from_slice(session.as_bytes())));
                }
            }
            Era::Modern => {
                let message = message.to_value();
                if let Some(method) = message.get("method").and_then(Value::as_str) {
                    headers.push(("mcp-method".to_owned(), header_value(method)));
                    headers.extend(self.mirrored(method, message.get("params").unwrap_or(&Value::Null)));
                }
            }
        }
        headers
    }

    fn mirrored(&self, method: &str, params: &Value) -> Vec<(String, Bytes)> {
        let source = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return Vec::new(),
        };
        let Some(name) = params.get(source).and_then(Value::as_str) else { return Vec::new() };
        let mut headers = vec![("mcp-name".to_owned(), header_value(name))];
        if method == "tools/call"
            && let (Some(schema), Some(arguments)) = (self.tools.get(name), params.get("arguments"))
        {
            param_headers(schema, arguments, &mut headers);
        }
        headers
    }
}

/// Our name and version as `Implementation`.
pub fn client_info() -> Value {
    json!({"name": "mcp-conform", "version": env!("CARGO_PKG_VERSION")})
}

/// A value as it stands in a mirrored header: plain where it fits visible ASCII, else the Base64 sentinel form
/// (Streamable HTTP, value encoding).
pub fn header_value(text: &str) -> Bytes {
    let visible = text.bytes().all(|b| matches!(b, 0x20..=0x7e | b'\t'));
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let sentinel = text.starts_with("=?base64?") && text.ends_with("?=");
    if visible && !padded && !sentinel {
        Bytes::copy_from_slice(text.as_bytes())
    } else {
        Bytes::from(format!("=?base64?{}?=", BASE64_STANDARD.encode(text)))
    }
}

/// Headers of the annotated parameters that have a value, over chains of `properties` alone.
fn param_headers(schema: &Value, arguments: &Value, headers: &mut Vec<(String, Bytes)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let Some(value) = arguments.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                _ => continue,
            };
            headers.push((format!("mcp-param-{}", header.to_ascii_lowercase()), header_value(&text)));
        }
        param_headers(property, value, headers);
    }
}

fn within_meta(pointer: &str) -> bool {
    pointer == "/params/_meta" || pointer.starts_with("/params/_meta/") || pointer == "/params"
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern<'a>(tools: &'a BTreeMap<String, Value>, none: &'a Value) -> Envelope<'a> {
        Envelope { era: Era::Modern, version: Some("2026-07-28"), capabilities: none, session: None, tools }
    }

    fn header<'a>(out: &'a Outgoing, name: &str) -> Option<&'a [u8]> {
        out.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_ref())
    }

    #[test]
    fn a_modern_request_carries_the_claim_and_its_mirrors() {
        let (tools, none) = (BTreeMap::new(), json!({}));
        let call = Call {
            method: "tools/call".to_owned(),
            params: Some(json!({"name": "grüße", "_meta": {"own": 1}}).into()),
            id: Some("7".to_owned()),
            token: Some("0".to_owned()),
            ..Call::default()
        };
        let out = modern(&tools, &none).build(&call).unwrap();
        let body: Value = serde_json::from_slice(&out.body).unwrap();
        assert_eq!(body["params"]["_meta"]["progressToken"], 0);
        assert_eq!(body["params"]["_meta"]["own"], 1);
        assert_eq!(body["params"]["_meta"][META_VERSION], "2026-07-28");
        assert_eq!(header(&out, "mcp-method"), Some(&b"tools/call"[..]));
        assert_eq!(header(&out, "mcp-name"), Some(&b"=?base64?Z3LDvMOfZQ==?="[..]));
        assert!(out.intent.wrong.is_empty());
    }

    #[test]
    fn a_change_is_the_only_difference() {
        let (tools, none) = (BTreeMap::new(), json!({}));
        let base = Call { method: "tools/list".to_owned(), id: Some("1".to_owned()), ..Call::default() };
        let plain = modern(&tools, &none).build(&base).unwrap();
        let changed = |change| modern(&tools, &none).build(&Call { change: Some(change), ..base.clone() }).unwrap();

        let out = changed(Alteration::Header { name: "Mcp-Method".to_owned(), value: Some(b"x".to_vec()) });
        assert_eq!(out.body, plain.body);
        assert_eq!(header(&out, "mcp-method"), Some(&b"x"[..]));

        let out = changed(Alteration::Remove { pointer: "/params/_meta".to_owned() });
        assert_eq!(header(&out, "mcp-protocol-version"), Some(&b"2026-07-28"[..]));
        assert_eq!(out.headers, plain.headers);

        let out = changed(Alteration::Set { pointer: "/method".to_owned(), value: json!("prompts/list").into() });
        assert_eq!(header(&out, "mcp-method"), Some(&b"prompts/list"[..]));

        let out = changed(Alteration::Version(json!("1900-01-01").into()));
        assert_eq!(header(&out, "mcp-protocol-version"), Some(&b"1900-01-01"[..]));
        assert!(String::from_utf8_lossy(&out.body).contains("1900-01-01"));
    }

    #[test]
    fn annotated_parameters_are_mirrored_along_properties() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "gone": {"type": "string", "x-mcp-header": "Gone"}}});
        let tools = BTreeMap::from([("t".to_owned(), schema)]);
        let none = json!({});
        let call = Call {
            method: "tools/call".to_owned(),
            params: Some(json!({"name": "t", "arguments": {"region": " eu", "deep": {"n": 42}, "gone": null}}).into()),
            id: Some("1".to_owned()),
            ..Call::default()
        };
        let out = modern(&tools, &none).build(&call).unwrap();
        assert_eq!(header(&out, "mcp-param-region"), Some(&b"=?base64?IGV1?="[..]));
        assert_eq!(header(&out, "mcp-param-n"), Some(&b"42"[..]));
        assert_eq!(header(&out, "mcp-param-gone"), None);
    }

    #[test]
    fn a_legacy_request_carries_session_and_version_only_over_headers() {
        let (tools, none) = (BTreeMap::new(), json!({}));
        let envelope = Envelope {
            era: Era::Legacy,
            version: Some("2025-06-18"),
            capabilities: &none,
            session: Some("s"),
            tools: &tools,
        };
        let call = Call { method: "ping".to_owned(), id: Some("1".to_owned()), ..Call::default() };
        let out = envelope.build(&call).unwrap();
        assert_eq!(&out.body[..], br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        assert_eq!(header(&out, "mcp-session-id"), Some(&b"s"[..]));
        assert_eq!(header(&out, "mcp-protocol-version"), Some(&b"2025-06-18"[..]));
        assert_eq!(header(&out, "mcp-method"), None);
    }
}

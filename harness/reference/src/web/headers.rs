//! The headers that mirror the body in revision 2026-07-28: [`check`] compares them, value by value. The body is the
//! source of truth; a header that says something else is refused before anything is done.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderMap;
use serde_json::Value;

use crate::call::Call;
use crate::config::LEGACY_VERSIONS;
use crate::faults::Fault;
use crate::json::{Params, RpcError};
use crate::modern::VERSION_KEY;
use crate::server::Server;
use crate::tools;

pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";

/// Compares the version and the method, for which the body alone suffices.
pub(crate) fn check(server: &Server, headers: &HeaderMap, method: &str, params: &Params) -> Result<(), RpcError> {
    let version = params.meta().and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    match plain(server, headers, VERSION)? {
        None if server.has(Fault::VersionHeaderOptional) => {}
        None => return Err(mismatch(server, "MCP-Protocol-Version is missing")),
        Some(said) if LEGACY_VERSIONS.contains(&said) && server.has(Fault::VersionHeaderOfAnyServed) => {}
        Some(said)
            if version.is_some_and(|version| version != said) && !server.has(Fault::VersionHeaderMismatchServed) =>
        {
            return Err(mismatch(server, "MCP-Protocol-Version differs from the body"));
        }
        Some(_) => {}
    }
    match plain(server, headers, METHOD)? {
        None if server.has(Fault::MethodHeaderOptional) => {}
        None => return Err(mismatch(server, "Mcp-Method is missing")),
        Some(said) if !same(server, said, method) && !server.has(Fault::MethodHeaderMismatchServed) => {
            return Err(mismatch(server, "Mcp-Method differs from the body"));
        }
        Some(_) => {}
    }
    if server.has(Fault::LastEventIdRefused) && headers.contains_key("last-event-id") {
        return Err(RpcError::invalid_request("streams cannot be resumed").status(400));
    }
    if server.has(Fault::SessionHeaderRefused) && headers.contains_key("mcp-session-id") {
        return Err(RpcError::invalid_request("there is no such session").status(404));
    }
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // One method is enough to show it.
        "prompts/list" if server.has(Fault::NameHeaderDemandedEverywhere) => "name",
        _ => return Ok(()),
    };
    let named = params.get(member).and_then(Value::as_str);
    match plain(server, headers, NAME)? {
        None if server.has(Fault::NameHeaderOptional) => Ok(()),
        None => Err(mismatch(server, "Mcp-Name is missing")),
        Some(_) if server.has(Fault::NameHeaderMismatchServed) => Ok(()),
        Some(said) if said.starts_with("=?base64?") && server.has(Fault::EncodedNameUnchecked) => Ok(()),
        Some(said) => match decoded(server, said) {
            None if server.has(Fault::BadBase64Ignored) => Ok(()),
            None => Err(mismatch(server, "Mcp-Name is not valid base64")),
            // Without a name there is nothing to compare with: that is for the method itself to refuse.
            Some(said) if named.is_some_and(|named| !same(server, &said, named)) => {
                Err(mismatch(server, "Mcp-Name differs from the body"))
            }
            Some(_) => Ok(()),
        },
    }
}

/// Compares the arguments that the tool's schema mirrors.
pub(crate) fn check_arguments(call: &Call, headers: &HeaderMap, params: &Params) -> Result<(), RpcError> {
    let server = &call.server;
    if server.has(Fault::ParamHeadersIgnored) {
        return Ok(());
    }
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(tool) = tools::find(call, name) else { return Ok(()) };
    let mut mirrored = Vec::new();
    collect(tool.get("inputSchema"), params.get("arguments"), &mut mirrored);
    let stands = |name: &str| mirrored.iter().any(|(header, _)| header.eq_ignore_ascii_case(name));
    if server.has(Fault::UnknownParamHeaderRefused)
        && headers.keys().filter_map(|name| name.as_str().strip_prefix("mcp-param-")).any(|name| !stands(name))
    {
        return Err(mismatch(server, "a Mcp-Param header stands for no argument"));
    }
    for (header, value) in mirrored {
        let header = format!("mcp-param-{}", header.to_ascii_lowercase());
        let said = plain(server, headers, &header)?;
        let Some(value) = value.filter(|value| !value.is_null()) else {
            if said.is_none() && server.has(Fault::ParamHeaderDemandedForNull) {
                return Err(mismatch(server, format!("{header} is missing")));
            }
            continue;
        };
        let Some(said) = said else {
            if server.has(Fault::ParamHeaderOptional) {
                continue;
            }
            return Err(mismatch(server, format!("{header} is missing")));
        };
        let said = decoded(server, said).ok_or_else(|| mismatch(server, format!("{header} is not valid base64")))?;
        let equal = match &value {
            Value::String(text) => *text == said,
            Value::Bool(flag) => flag.to_string() == said,
            Value::Number(number) if server.has(Fault::ParamIntegerComparedAsText) => number.to_string() == said,
            Value::Number(number) => said.parse::<f64>().ok() == number.as_f64(),
            _ => true,
        };
        if !equal {
            return Err(mismatch(server, format!("{header} differs from the body")));
        }
    }
    Ok(())
}

/// The annotated properties, reached through `properties` alone, with their values.
fn collect(schema: Option<&Value>, value: Option<&Value>, found: &mut Vec<(String, Option<Value>)>) {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let value = value.and_then(|value| value.get(name));
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
            found.push((header.to_owned(), value.cloned()));
        }
        collect(Some(schema), value, found);
    }
}

/// A header's value, if it holds nothing but visible ASCII, space and tab.
fn plain<'a>(server: &Server, headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(mismatch(server, format!("{name} holds characters that a header may not hold"))),
    }
}

/// Takes the base64 form apart; `None` if it announces base64 that is none.
fn decoded(server: &Server, value: &str) -> Option<String> {
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let coded = match coded {
        Some(_) if server.has(Fault::NameHeaderNotDecoded) => None,
        None if server.has(Fault::SentinelCaseBlind) && value.to_ascii_lowercase().starts_with("=?base64?") => {
            value.get(9..value.len().saturating_sub(2))
        }
        coded => coded,
    };
    match coded {
        None => Some(value.to_owned()),
        Some(coded) => STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
    }
}

fn same(server: &Server, said: &str, meant: &str) -> bool {
    said == meant || (server.has(Fault::HeaderValuesCaseBlind) && said.eq_ignore_ascii_case(meant))
}

fn mismatch(server: &Server, why: impl Into<String>) -> RpcError {
    let code = match () {
        () if server.has(Fault::HeaderMismatchInvalidRequest) => -32600,
        () if server.has(Fault::HeaderMismatchDraftCode) => -32001,
        () => -32020,
    };
    RpcError::new(code, why).status(if server.has(Fault::HeaderMismatchStatus200) { 200 } else { 400 })
}

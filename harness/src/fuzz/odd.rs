//! What is no message, or no sound one: texts with bytes changed, batches, the other era, odd HTTP and broken framing.

use std::fmt::Write as _;

use mcp_conform_schemas::Era;
use serde_json::json;

use super::{
    dice::Dice,
    input::{Act, Forbidden, HttpAct, Input, Message, Octets, Step},
    mutate::Workshop,
    sequence::{a_message, insert_at},
    values,
    weigh::readable,
};
use crate::conversation::{META_CAPABILITIES, META_CLIENT, META_VERSION, client_info};

/// Headers with values that are almost right for them.
pub(super) const FITTING: [(&str, &[&str]); 5] = [
    (
        "content-type",
        &[
            "application/json; charset=utf-16",
            "application/json; charset=",
            "text/plain",
            "application/json;",
            "application/jsonp",
        ],
    ),
    ("accept", &["text/html", "application/json", "text/event-stream", "*/*;q=0", ""]),
    ("last-event-id", &["0", "-1", "x", "99999999999999999999", "%", "a/b", "1-1"]),
    ("mcp-protocol-version", &["1900-01-01", "", "2025-11-25, 2026-07-28", "2024-11-05"]),
    ("mcp-session-id", &["", "x", "../", "00000000-0000-0000-0000-000000000000"]),
];

impl Workshop {
    /// A message whose text was tampered with, or that is none.
    pub(super) fn line(&self, input: &mut Input, dice: &mut Dice) {
        let at = dice.below(input.steps.len());
        let text = match input.steps.get(at).and_then(Step::message) {
            Some(message) if !dice.once_in(6) => self.text_of(message, dice),
            _ => odd_text(dice),
        };
        let text = if dice.once_in(4) { text } else { bytes(text, dice) };
        let act = match String::from_utf8(text) {
            Ok(text) if !text.contains('\n') => Act::Line(text),
            Ok(text) => Act::Line(text.replace('\n', " ")),
            // On stdin whatever follows raw bytes is open, so that they are seldom worth a conversation.
            Err(error) => Act::Raw(Octets::new(&[error.as_bytes(), b"\n"].concat())),
        };
        let step = Step { wait: dice.below(2) == 0, ..Step::of(act) };
        if dice.below(2) == 0 {
            if let Some(place) = input.steps.get_mut(at) {
                *place = step;
            }
        } else {
            insert_at(input, at, step);
        }
    }

    /// Requests as notifications and the other way round, batches, unknown methods and tools, the other era.
    pub(super) fn odd_message(&self, input: &mut Input, dice: &mut Dice) {
        const UNKNOWN: [&str; 8] = [
            "mcp-conform/none",
            "tools",
            "tools/",
            "TOOLS/LIST",
            "rpc.discover",
            "",
            "tools/list\u{0}",
            "$/cancelRequest",
        ];
        let at = dice.below(input.steps.len());
        match dice.below(7) {
            0 => {
                if let Some(step) = input.steps.get_mut(at)
                    && let Act::Request(message) = &step.act
                {
                    step.act = Act::Notify(Message { id: None, wrong: vec![String::new()], ..message.clone() });
                }
            }
            1 => {
                let method = dice.pick(&UNKNOWN).unwrap_or(&"none");
                let mut step = Step::request(method, Some(json!({})));
                // These are names of JSON-RPC and of another protocol over it, which a server may have beside this one.
                let others = method.starts_with("rpc.") || method.starts_with('$');
                if let Some(message) = step.message_mut() {
                    message.forbidden = (!others).then_some(Forbidden::Method);
                }
                insert_at(input, at, step);
            }
            2 => {
                let mut step = Step::request("tools/call", Some(json!({"name": "mcp-conform-none", "arguments": {}})));
                if let Some(message) = step.message_mut() {
                    message.forbidden = Some(Forbidden::Tool);
                }
                insert_at(input, at, step);
            }
            3 => {
                // Several messages in one.
                let mut text = "[".to_owned();
                if dice.once_in(3) {
                    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},");
                }
                for index in 0..2 + dice.below(3) {
                    let message = input.steps.iter().filter_map(Step::message).nth(index);
                    let one = message.map(|message| String::from_utf8_lossy(&self.text_of(message, dice)).into_owned());
                    let _ =
                        write!(text, "{}{}", if index > 0 { "," } else { "" }, one.unwrap_or_else(|| "1".to_owned()));
                }
                text.push(']');
                insert_at(input, at, Step { wait: false, ..Step::of(Act::Line(text)) });
            }
            4 => {
                // A notification of the client that nobody waits for.
                const METHODS: [&str; 5] = [
                    "notifications/cancelled",
                    "notifications/progress",
                    "notifications/initialized",
                    "notifications/roots/list_changed",
                    "notifications/mcp-conform",
                ];
                let method = (*dice.pick(&METHODS).unwrap_or(&"notifications/cancelled")).to_owned();
                let id = if dice.below(2) == 0 { json!(dice.below(3)) } else { values::any(dice) };
                let reason = values::any(dice);
                let params = json!({"requestId": id, "reason": reason, "progressToken": id, "progress": 1});
                let mut unreadable = false;
                readable(&params, &mut unreadable);
                // What a parser may stumble over need not be seen as a notification.
                let wrong = if unreadable { [""; 2] } else { ["/params/requestId", "/params/reason"] };
                let wrong = wrong.map(str::to_owned).to_vec();
                let message = Message { method, params: Some(params), wrong, ..Message::default() };
                insert_at(input, at, Step { wait: false, ..Step::of(Act::Notify(message)) });
            }
            5 => {
                insert_at(input, at, Step { wait: true, ..Step::of(Act::Line(self.other_era(dice))) });
            }
            _ => {
                if let Some(message) = a_message(input, dice) {
                    message.capabilities = Some(json!({}));
                }
            }
        }
    }

    /// A message of the other era in the midst of this one.
    fn other_era(&self, dice: &mut Dice) -> String {
        let id = 900_000 + dice.below(1_000);
        let claim = |version: &str| json!({META_VERSION: version, META_CLIENT: client_info(), META_CAPABILITIES: {}});
        let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info()});
        let (method, params) = match (self.era, dice.below(3)) {
            (Era::Legacy, 0) => ("server/discover", json!({"_meta": claim("2026-07-28")})),
            (Era::Legacy, 1) => ("tools/list", json!({"_meta": claim("2026-07-28")})),
            (Era::Modern, 0) => ("ping", json!({})),
            (Era::Modern, 1) => ("tools/list", json!({"_meta": claim("1900-01-01")})),
            (Era::Legacy | Era::Modern, _) => ("initialize", initialize),
        };
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    }

    pub(super) fn http(&self, input: &mut Input, dice: &mut Dice) {
        const NAMES: [&str; 16] = [
            "accept",
            "content-type",
            "content-encoding",
            "mcp-protocol-version",
            "mcp-session-id",
            "mcp-method",
            "mcp-name",
            "last-event-id",
            "origin",
            "host",
            "authorization",
            "cookie",
            "transfer-encoding",
            "expect",
            "x-forwarded-for",
            "mcp-param-region",
        ];
        const VALUES: [&str; 20] = [
            "",
            " ",
            "*/*",
            "text/html",
            "application/json",
            "text/event-stream",
            "application/json; charset=utf-16",
            "gzip",
            "2025-11-25",
            "2026-07-28",
            "1900-01-01",
            "not-a-version",
            "http://evil.example",
            "null",
            "=?base64?!?=",
            "=?base64?AAAA?=",
            "0",
            "a\tb",
            "ÿ",
            "100-continue",
        ];
        let at = dice.below(input.steps.len());
        let mut name = (*dice.pick(&NAMES).unwrap_or(&"accept")).to_owned();
        let fitting = if dice.below(2) == 0 { dice.pick(&FITTING) } else { None };
        let value = match dice.below(8) {
            0 => None,
            1 => Some("a".repeat(*dice.pick(&[100, 5_000, 9_000, 70_000]).unwrap_or(&100))),
            2 => self
                .given
                .get(dice.below(self.given.len()))
                .and_then(|(_, value)| value.as_str())
                .map(|text| text.chars().filter(|c| !c.is_control()).collect()),
            _ => Some((*dice.pick(&VALUES).unwrap_or(&"")).to_owned()),
        };
        let value = match fitting {
            Some((known, values)) => {
                name = (*known).to_owned();
                dice.pick(values).map(|value| (*value).to_owned())
            }
            None => value,
        };
        match dice.below(6) {
            0 | 1 => {
                if let Some(message) = a_message(input, dice) {
                    message.wrong.push(format!("headers/{name}"));
                    message.headers.push((name, value));
                }
            }
            2 => {
                const METHODS: [&str; 9] = ["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH", "TRACE", "post", "MCP"];
                let method = (*dice.pick(&METHODS).unwrap_or(&"GET")).to_owned();
                let headers = if dice.below(2) == 0 { vec![(name, value)] } else { Vec::new() };
                let act = HttpAct { method, headers, body: String::new(), resume: None };
                insert_at(input, at, Step { wait: dice.below(2) == 0, ..Step::of(Act::Http(act)) });
            }
            3 | 4 => {
                let resume = Some(dice.below(4));
                let act = HttpAct { method: "GET".into(), headers: Vec::new(), body: String::new(), resume };
                let lane = u8::try_from(dice.below(2)).unwrap_or_default();
                insert_at(input, at + 1, Step { on: lane, wait: false, act: Act::Http(act) });
            }
            _ => {
                let body = input.steps.get(at).and_then(Step::message).map(|message| self.text_of(message, dice));
                let raw = framing(&body.unwrap_or_default(), dice);
                insert_at(input, at, Step { wait: false, ..Step::of(Act::Raw(Octets::new(&raw))) });
            }
        }
    }
}

/// Changes some bytes.
fn bytes(mut text: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    const PIECES: [&[u8]; 18] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b",",
        b":",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\xc0\x80",
        b"\xef\xbb\xbf",
        b"\0",
        b"null",
        b"1e999",
        b"//",
        b"\x1b[2J",
        b"\r",
    ];
    for _ in 0..=dice.below(3) {
        let at = dice.below(text.len());
        match dice.below(5) {
            0 => {
                let bit = 1 << dice.below(8);
                if let Some(byte) = text.get_mut(at) {
                    *byte ^= bit;
                }
            }
            1 => drop(text.splice(at..at, dice.pick(&PIECES).copied().unwrap_or_default().iter().copied())),
            2 if !text.is_empty() => drop(text.remove(at)),
            3 => text.truncate(at),
            _ => {
                let end = (at + 1 + dice.below(24)).min(text.len());
                let piece: Vec<u8> = text.get(at..end).unwrap_or_default().to_vec();
                text.splice(at..at, piece);
            }
        }
    }
    text.retain(|byte| *byte != b'\n');
    text
}

pub(super) fn odd_text(dice: &mut Dice) -> Vec<u8> {
    const ODD: [&str; 18] = [
        "",
        " ",
        "null",
        "true",
        "0",
        "\"\"",
        "[]",
        "{}",
        "[[]]",
        "[1]",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "Content-Length: 2\r",
        "GET / HTTP/1.1",
        "\u{feff}{}",
    ];
    dice.pick(&ODD).copied().unwrap_or_default().as_bytes().to_vec()
}

/// An HTTP request whose framing is broken or odd.
fn framing(body: &[u8], dice: &mut Dice) -> Vec<u8> {
    const HEADS: [&str; 10] = [
        "Content-Length: {n}\r\nContent-Length: 0\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: {n}\r\nX: a\r\n b\r\n",
        "Content-Length: {n}\r\nBad Name: 1\r\n",
        "Content-Length: {n}\r\nExpect: 100-continue\r\n",
        "Content-Length: {n}\r\n",
    ];
    const LINES: [&str; 5] = [
        "POST {path} HTTP/1.1",
        "POST {path} HTTP/2.7",
        "POST {path}",
        "POST  {path} HTTP/1.1",
        "post {path} HTTP/1.0",
    ];
    let head = dice.pick(&HEADS).copied().unwrap_or_default().replace("{n}", &body.len().to_string());
    let line = dice.pick(&LINES).copied().unwrap_or_default();
    let mut out = format!("{line}\r\nHost: {{host}}\r\nContent-Type: application/json\r\n{head}\r\n").into_bytes();
    if head.contains("chunked") {
        out.extend(format!("{:x}\r\n", body.len() + dice.below(3)).into_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n0\r\n\r\n");
    } else {
        out.extend_from_slice(body);
    }
    out
}

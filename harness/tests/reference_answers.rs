//! What the reference server answers, in both eras over both transports, as snapshots to be read: its answers are the
//! ground that every check stands on.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::sync::Arc;

use mcp_conform::{
    conversation::{Bench, Call, Deadlines, Opening, StdioTarget, Target, all_capabilities, open},
    proof::{http_target, stdio_target},
    trace::{Body, Direction, Secrets},
    wire::Limits,
};
use mcp_conform_schemas::Era;
use mcp_reference_server::Config;
use serde_json::{Value, json};

fn stdio() -> Target {
    let target: StdioTarget = stdio_target(Config::default());
    Target::Stdio(target)
}

fn http() -> Target {
    Target::Http(http_target(Config::default()).unwrap().endpoint)
}

/// One request of each method that answers, a page more, and what is refused.
fn requests(era: Era) -> Vec<(&'static str, Value)> {
    let own = match era {
        Era::Legacy => vec![("ping", json!({})), ("logging/setLevel", json!({"level": "warning"}))],
        Era::Modern => vec![("server/discover", json!({}))],
    };
    let both = [
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "never-issued"})),
        ("tools/call", json!({"name": "echo", "arguments": {"text": "hello"}})),
        ("tools/call", json!({"name": "echo", "arguments": {"text": 5}})),
        ("tools/call", json!({"name": "nothing"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "ref://text/readme"})),
        ("resources/read", json!({"uri": "ref://nothing"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "review"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "review"},
                                       "argument": {"name": "language", "value": ""}}),
        ),
        ("nothing/known", json!({})),
    ];
    own.into_iter().chain(both).collect()
}

/// The conversation as lines: what was asked in short, what came in full, with the keys in the order of the wire.
async fn told(target: Target, era: Era) -> String {
    let bench = Arc::new(Bench::new(Deadlines::default(), Limits::default(), Arc::new(Secrets::default())));
    let opening = Opening { capabilities: all_capabilities(), ..Opening::new(era) };
    let talk = open(&target, &bench, opening).await.unwrap();
    for (method, params) in requests(era) {
        let call = Call { method: method.to_owned(), params: Some(params.into()), ..Call::default() };
        talk.request(call, None).await.unwrap();
    }
    talk.end().await;
    let mut lines = Vec::new();
    for event in talk.events() {
        if let Body::HttpResponse(response) = &event.body {
            let form = response.headers.media_type().unwrap_or_default();
            lines.push(format!("HTTP {} {form}", response.status).trim_end().to_owned());
        }
        let Some(view) = event.message() else { continue };
        let message: Value = serde_json::from_slice(&view.frame.raw).unwrap();
        lines.push(match view.direction {
            Direction::In => serde_json::to_string_pretty(&message).unwrap(),
            Direction::Out => format!("\n> {}", asked(message)),
        });
    }
    lines.join("\n").trim_start().to_owned()
}

/// A message of ours without its envelope.
fn asked(message: Value) -> String {
    let Some(method) = message["method"].as_str() else { return message.to_string() };
    let mut params = message["params"].clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    if params.is_null() { method.to_owned() } else { format!("{method} {params}") }
}

/// Seals are made with a key of the process, and differ each time.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{20,}", "[sealed]");
    settings.add_filter(r#""version": "\d+\.\d+\.\d+""#, r#""version": "[version]""#);
    settings
}

#[tokio::test(start_paused = true)]
async fn legacy_over_stdio() {
    let told = told(stdio(), Era::Legacy).await;
    settings().bind(|| insta::assert_snapshot!(told));
}

#[tokio::test(start_paused = true)]
async fn legacy_over_http() {
    let told = told(http(), Era::Legacy).await;
    settings().bind(|| insta::assert_snapshot!(told));
}

#[tokio::test(start_paused = true)]
async fn modern_over_stdio() {
    let told = told(stdio(), Era::Modern).await;
    settings().bind(|| insta::assert_snapshot!(told));
}

#[tokio::test(start_paused = true)]
async fn modern_over_http() {
    let told = told(http(), Era::Modern).await;
    settings().bind(|| insta::assert_snapshot!(told));
}

//! What is held against nobody: servers that are sound in ways of their own, and limits of ours.

use std::{sync::Arc, time::Duration};

use mcp_conform_cases::ast::ServedEras;
use mcp_conform_reports::model::Verdict;
use mcp_conform_schemas::{Era, Revision};
use mcp_reference_server::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::{
    habits::Habits,
    input::{self, Act, Input, Manner, Message, Step},
    marks::Foreign,
    oracle::{self, Kind, Suspicion},
    outcome::{Class, Gone, Outcome, Played},
    place::{Keeper, Pace, Place},
    play::{Haste, Life},
    seeds::Ground,
};
use crate::{
    conversation::{Bench, Deadlines, StdioTarget, Target, in_memory},
    proof::stdio_target,
    run::{RunOptions, scout},
    trace::{Event, Exit, Secrets, Transport},
    wire::{Frame, Limits},
};

/// A life with a server of which one revision alone is fuzzed. It can be said to serve what it does not.
async fn life(target: StdioTarget, revision: Revision, served: Option<ServedEras>) -> Life {
    let mut options = RunOptions::of_everything(Some(target.clone()), None, Vec::new());
    options.revisions = vec![revision];
    let bench = Arc::new(Bench::new(Deadlines::default(), Limits::default(), Arc::new(Secrets::default())));
    let target = Target::Stdio(target);
    let scouted = scout(&target, &bench, &options).await.unwrap().remove(0);
    let ground = Ground { era: scouted.era, transport: Transport::Stdio, surface: scouted.surface };
    let place = Place {
        target,
        keeper: Arc::new(Keeper::new(None, bench.clone())),
        bench,
        ground: Arc::new(ground),
        answers: Arc::default(),
        served: served.unwrap_or(scouted.served),
        pace: Pace::default(),
    };
    let mut life = Life::new(Arc::new(place), Manner::Prompt);
    life.begin().await.unwrap();
    life
}

/// A server of both eras that ends by a notification before it knows which one this is.
fn unsettled() -> StdioTarget {
    stdio_target(Config { settles_era: true, ..Config::default() })
}

async fn play(life: &mut Life, steps: Vec<Step>) -> (Input, Played) {
    let input = Input { era: life.place().ground.era, manner: Manner::Prompt, steps };
    let played = life.play(&input, Duration::from_secs(1), Haste::None).await;
    (input, played)
}

fn told(life: &Life, (input, played): &(Input, Played)) -> Vec<Suspicion> {
    oracle::look(life.place().ground.era, Transport::Stdio, input, played, &Habits::default())
}

fn message(method: &str, params: Value) -> Message {
    Message { method: method.to_owned(), params: Some(params), ..Message::default() }
}

fn plain(method: &str) -> Message {
    Message { method: method.to_owned(), ..Message::default() }
}

fn waited(act: Act) -> Step {
    Step { on: 0, wait: true, act }
}

fn sent(act: Act) -> Step {
    Step { on: 0, wait: false, act }
}

const MODERN: Revision = Revision::V2026_07_28;

#[tokio::test(start_paused = true)]
async fn a_server_of_both_eras_knows_which_one_this_is_before_anything_odd_is_sent() {
    let unknown = || vec![waited(Act::Notify(plain("notifications/mcp-conform-unknown")))];
    let mut settled = life(unsettled(), MODERN, None).await;
    play(&mut settled, unknown()).await;
    assert!(settled.is_sound());
    // As if it were not known to serve both: then the notification ends it.
    let mut open = life(unsettled(), MODERN, Some(ServedEras::ModernOnly)).await;
    play(&mut open, unknown()).await;
    assert!(!open.is_sound());
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_an_input_ended_can_be_looked_at() {
    let mut life = life(unsettled(), MODERN, None).await;
    play(&mut life, vec![waited(Act::Request(plain("server/discover"))), waited(Act::Drop)]).await;
    let discovers = |life: &Life| {
        let says = |event: &Event| {
            event.message().is_some_and(|it| it.frame.raw.windows(15).any(|it| it == b"server/discover"))
        };
        life.events(0).iter().filter(|event| says(event)).count()
    };
    assert_eq!(discovers(&life), 1);
    // The next input is another's doing.
    play(&mut life, vec![waited(Act::Request(plain("tools/list")))]).await;
    assert_eq!(discovers(&life), 0);
}

/// Otherwise it would be chance whether a finding shows that hangs on the answer to something odd.
#[tokio::test(start_paused = true)]
async fn what_a_later_step_needs_is_waited_for_where_something_is_looked_for_again() {
    let mut life = life(unsettled(), MODERN, None).await;
    let odd = message("tools/call", json!({"name": "slow", "arguments": {"steps": 3}, "x": 1}));
    let odd = Message { wrong: vec!["/params/x".to_owned()], ..odd };
    let later = message("server/discover", json!({ "x": input::from(0, "/result/resultType") }));
    let (_, played) = play(&mut life, vec![waited(Act::Request(odd)), waited(Act::Request(later))]).await;
    assert!(played.outcomes[1].sent.is_some(), "{:?}", played.outcomes);
}

/// Nothing is owed to what was cancelled, whoever wrote the notification.
#[tokio::test(start_paused = true)]
async fn a_cancellation_of_our_own_making_is_one() {
    let mut life = life(stdio_target(Config::default()), Revision::V2025_11_25, None).await;
    let slow = message("tools/call", json!({"name": "slow", "arguments": {"steps": 1000, "stepMs": 50}}));
    let slow = Message { id: Some("1".to_owned()), ..slow };
    let cancel = message("notifications/cancelled", json!({"requestId": 1, "progress": 1}));
    let played = play(&mut life, vec![sent(Act::Request(slow)), sent(Act::Notify(cancel))]).await;
    assert_eq!(played.1.outcomes[0].class, Class::Unanswered);
    assert_eq!(told(&life, &played), Vec::new());
}

/// Answers each request by what `result` makes of its method, as JSON text, until a notification comes.
async fn serve(stdin: impl AsyncRead + Unpin, stdout: &mut (impl AsyncWrite + Unpin), result: impl Fn(&str) -> String) {
    let mut lines = BufReader::new(stdin).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { break };
        let result = result(message.get("method").and_then(Value::as_str).unwrap_or_default());
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
        if stdout.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
}

fn discovered() -> String {
    json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete", "ttlMs": 0,
        "cacheScope": "private"})
    .to_string()
}

/// Answers prompts/list by something deeper than anything is read.
async fn deep(stdin: impl AsyncRead + Unpin, mut stdout: impl AsyncWrite + Unpin) -> i32 {
    let result = |method: &str| match method {
        "prompts/list" => format!("{{\"x\":{}{}}}", "[".repeat(2_000), "]".repeat(2_000)),
        _ => discovered(),
    };
    serve(stdin, &mut stdout, result).await;
    0
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_much_for_us_is_one() {
    let mut life = life(StdioTarget::Memory(in_memory(deep)), MODERN, None).await;
    let played = play(&mut life, vec![waited(Act::Request(plain("prompts/list")))]).await;
    assert_eq!(told(&life, &played), Vec::new());
}

/// Ends at a notification, its output a moment before itself.
async fn closing(stdin: impl AsyncRead + Unpin, mut stdout: impl AsyncWrite + Unpin) -> i32 {
    serve(stdin, &mut stdout, |_| discovered()).await;
    drop(stdout);
    tokio::time::sleep(Duration::from_millis(50)).await;
    3
}

#[tokio::test(start_paused = true)]
async fn a_death_has_one_name_whatever_comes_first_of_it() {
    let mut life = life(StdioTarget::Memory(in_memory(closing)), MODERN, None).await;
    let (_, played) = play(&mut life, vec![waited(Act::Notify(plain("notifications/mcp-conform-unknown")))]).await;
    let exits: Vec<_> = played.gone.iter().map(|gone| gone.exit.clone()).collect();
    assert_eq!(exits, [Some(Exit { code: Some(3), signal: None })]);
}

fn answered(method: &str, tool: Option<&str>, answer: Value) -> Outcome {
    let frame = Frame::read(answer.to_string().into_bytes().into(), &Limits::default());
    let class = super::outcome::class_of(frame.json.as_ref().unwrap());
    Outcome {
        method: method.to_owned(),
        tool: tool.map(str::to_owned),
        class,
        sound: true,
        sent: Some(1),
        frame: Some(Arc::new(frame)),
        ..Outcome::default()
    }
}

fn look(outcome: Outcome) -> Vec<(Kind, Verdict)> {
    let steps = vec![waited(Act::Request(plain(&outcome.method)))];
    let input = Input { era: Era::Modern, manner: Manner::Prompt, steps };
    let played = Played { outcomes: vec![outcome], ..Played::default() };
    let found = oracle::look(Era::Modern, Transport::Http, &input, &played, &Habits::default());
    found.into_iter().map(|it| (it.kind, it.verdict)).collect()
}

#[test]
fn an_error_of_the_protocols_own_comes_with_any_status_and_what_stands_before_a_server_is_not_the_server() {
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "the upstream is down"}});
    let with = |status, sound| {
        let outcome = answered("tools/list", None, error.clone());
        look(Outcome { status: Some(status), sound, ..outcome })
    };
    assert_eq!(with(500, true), []);
    assert_eq!(with(500, false), [(Kind::ServerError, Verdict::Warn)]);
    for status in [501, 502, 503, 504, 505, 520, 529, 599] {
        assert_eq!(with(status, false), [], "{status}");
    }
}

#[test]
fn a_tool_may_tell_of_code_that_it_was_given() {
    let of = |text: &str| {
        let result = json!({"content": [{"type": "text", "text": text}], "isError": true, "resultType": "complete"});
        look(answered("tools/call", Some("run"), json!({"jsonrpc": "2.0", "id": 1, "result": result})))
    };
    let theirs = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nNameError: x";
    assert_eq!(of(theirs), []);
    assert_eq!(of("/repo/src/a.ts:12 error TS2304: Cannot find name"), []);
    let own = "Traceback (most recent call last):\n  File \"/app/server.py\", line 12, in call\nKeyError: 'x'";
    assert_eq!(of(own), [(Kind::StackTrace, Verdict::Warn)]);
    let error = json!({"code": -32603, "message": "boom in /srv/app/src/tools.ts:44"});
    let error = answered("tools/call", Some("run"), json!({"jsonrpc": "2.0", "id": 1, "error": error}));
    assert_eq!(look(error), [(Kind::StackTrace, Verdict::Warn)]);
}

#[test]
fn a_token_that_expired_is_no_refusal_of_what_was_served() {
    let refused = |status| {
        let outcome =
            Outcome { method: "server/discover".to_owned(), status, class: Class::Refusal, ..Outcome::default() };
        let input = Input { era: Era::Modern, manner: Manner::Prompt, steps: Vec::new() };
        let played = Played { refused: Some((0, outcome)), ..Played::default() };
        oracle::look(Era::Modern, Transport::Http, &input, &played, &Habits::default()).len()
    };
    for status in [401, 403, 404, 407, 410, 413, 429, 502, 503, 504] {
        assert_eq!(refused(Some(status)), 0, "{status}");
    }
    assert_eq!((refused(Some(400)), refused(None)), (1, 1));
}

#[test]
fn a_server_may_close_its_output_and_exit() {
    let of = |code| {
        let exit = Some(Exit { code: Some(code), signal: None });
        oracle::death(Era::Modern, &Gone { lane: 0, exit, said: String::new(), method: "a".to_owned() }).verdict
    };
    assert_eq!((of(0), of(1)), (Verdict::Warn, Verdict::Fail));
}

#[test]
fn a_legacy_server_may_end_first_what_it_is_at() {
    let of = |era, at_work| oracle::bad_exit(era, Transport::Stdio, None, true, at_work).is_some();
    assert_eq!([of(Era::Legacy, true), of(Era::Legacy, false), of(Era::Modern, true)], [false, true, true]);
}

#[test]
fn where_a_call_is_at_work_another_answer_may_wait_for_it() {
    let of = |era, at_work| {
        let input = Input { era, manner: Manner::Prompt, steps: vec![waited(Act::Request(plain("tools/call")))] };
        let played = Played { deaf: Some((0, Duration::from_secs(1))), at_work, ..Played::default() };
        let found = oracle::look(era, Transport::Stdio, &input, &played, &Habits::default());
        found.first().map(|it| (it.kind, it.verdict))
    };
    let hang = |verdict| Some((Kind::Hang, verdict));
    assert_eq!(of(Era::Modern, true), hang(Verdict::Warn));
    assert_eq!(of(Era::Modern, false), hang(Verdict::Fail));
    // There a ping is answered promptly.
    assert_eq!(of(Era::Legacy, true), hang(Verdict::Fail));
}

#[test]
fn a_tool_that_was_given_no_text_may_tell_what_others_did() {
    let of = |tool, said: &[&str]| {
        let foreign = Foreign { mark: "mcpconform1f".to_owned(), elsewhere: true, public: false };
        let result = json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": []}});
        let said = said.iter().map(|&text| text.to_owned()).collect();
        look(Outcome { foreign: vec![foreign], said, ..answered("a", tool, result) })
    };
    assert_eq!(of(Some("recent_calls"), &[]), [(Kind::Leak, Verdict::Advice)]);
    assert_eq!(of(Some("search"), &["mcpconform2e"]), [(Kind::Leak, Verdict::Warn)]);
    assert_eq!(of(None, &[]), [(Kind::Leak, Verdict::Warn)]);
}

#[test]
fn memory_beyond_the_limit_is_one_finding_whatever_was_at_hand() {
    let of = |what, method| {
        let steps = vec![waited(Act::Request(plain(method)))];
        let input = Input { era: Era::Modern, manner: Manner::Prompt, steps };
        oracle::growth(Era::Modern, Transport::Stdio, &input, what, String::new()).key()
    };
    assert_eq!(of(oracle::LIMIT, "a"), of(oracle::LIMIT, "b"));
    assert_ne!(of("memory", "a"), of("memory", "b"));
}

//! Traces as files: JSON Lines, one event a line behind a line that names the format.
//!
//! [`write()`] makes a whole file, [`header`] and [`append`] one as it grows; [`read`] takes it in again, bounded and with a
//! place for every complaint. Bytes stand as text where they are UTF-8, else as base64, and come back exactly; messages are
//! not stored as read but read again, so that an old file is judged by the reader of today.

use std::{
    io::{self, BufRead, Write},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    entry::Entry,
    event::{Body, Event},
};
use crate::wire::Limits;

/// The format that is written, and the newest that is read.
pub const TRACE_VERSION: u64 = 1;

/// How much of a file is read.
#[derive(Clone, Copy, Debug)]
pub struct FileLimits {
    /// Bytes of one line.
    pub line: usize,
    /// Bytes of the whole file.
    pub total: u64,
    /// For the messages in it.
    pub message: Limits,
}

impl Default for FileLimits {
    fn default() -> Self {
        // A message of 16 MiB in which every byte has to be escaped takes six times as much.
        Self { line: 128 * 1024 * 1024, total: 1024 * 1024 * 1024, message: Limits::default() }
    }
}

/// What was read from a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub events: Vec<Arc<Event>>,
    /// What was left out, and why.
    pub note: Option<String>,
}

/// A file that cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct TraceFileError {
    /// From 1.
    pub line: u64,
    #[source]
    pub kind: TraceFileErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceFileErrorKind {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("not a trace of mcp-conform: the first line has to be {{\"mcp-conform-trace\": {TRACE_VERSION}}}")]
    NoTrace,
    #[error("a trace of format {0}, and this version reads up to {TRACE_VERSION}; use a newer mcp-conform")]
    Newer(u64),
    #[error("no event: {0}; remove the line, or record the trace again")]
    NoEvent(serde_json::Error),
    #[error("bytes that are no base64: {0}; record the trace again")]
    NoBase64(base64::DecodeError),
    #[error("no value of JSON where one is due; record the trace again")]
    NoValue,
    #[error("event {found} where event {due} is due: lines are missing or from another trace")]
    Order { found: u64, due: u64 },
    #[error("longer than {0} bytes, which is our limit for a line")]
    LongLine(usize),
    #[error("the file is longer than {0} bytes, which is our limit; split it by conversation")]
    LongFile(u64),
}

/// Writes a whole trace.
pub fn write(events: &[Arc<Event>], out: &mut impl Write) -> io::Result<()> {
    header(out)?;
    events.iter().try_for_each(|event| append(event, out))
}

/// Writes the first line of a file.
pub fn header(out: &mut impl Write) -> io::Result<()> {
    let tool = env!("CARGO_PKG_VERSION");
    writeln!(out, "{{\"mcp-conform-trace\": {TRACE_VERSION}, \"written-by\": \"{tool}\"}}")
}

/// Writes one event.
pub fn append(event: &Event, out: &mut impl Write) -> io::Result<()> {
    let nanoseconds = u64::try_from(event.at.as_nanos()).unwrap_or(u64::MAX);
    let record = Record { seq: event.seq, ns: nanoseconds, body: Entry::from(&event.body) };
    serde_json::to_writer(&mut *out, &record)?;
    out.write_all(b"\n")
}

/// Reads a trace. A last line without an end that does not read is left out with a note: the writer was interrupted.
pub fn read(from: &mut impl BufRead, limits: &FileLimits) -> Result<Loaded, TraceFileError> {
    let mut events: Vec<Arc<Event>> = Vec::new();
    let mut line = Vec::new();
    let (mut number, mut total, mut due) = (0, 0_u64, 0);
    loop {
        number += 1;
        let fail = |kind| TraceFileError { line: number, kind };
        line.clear();
        let most = limits.line as u64 + 1;
        let taken =
            io::Read::take(&mut *from, most).read_until(b'\n', &mut line).map_err(|error| fail(error.into()))?;
        if taken == 0 {
            return if number == 1 {
                Err(fail(TraceFileErrorKind::NoTrace))
            } else {
                Ok(Loaded { events, note: None })
            };
        }
        total = total.saturating_add(taken as u64);
        let whole = line.ends_with(b"\n");
        if !whole && line.len() > limits.line {
            return Err(fail(TraceFileErrorKind::LongLine(limits.line)));
        }
        if total > limits.total {
            return Err(fail(TraceFileErrorKind::LongFile(limits.total)));
        }
        if number == 1 {
            is_trace(&line).map_err(fail)?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = match event(&line, &limits.message) {
            Ok(event) => event,
            Err(TraceFileErrorKind::NoEvent(error)) if !whole && error.is_eof() => {
                let note = Some(format!("line {number} was cut off and left out: the recording was interrupted"));
                return Ok(Loaded { events, note });
            }
            Err(kind) => return Err(fail(kind)),
        };
        // A file may hold several conversations, one after the other.
        if event.seq == 0 && matches!(event.body, Body::Opened(_)) {
            due = 0;
        }
        if event.seq != due {
            return Err(fail(TraceFileErrorKind::Order { found: event.seq, due }));
        }
        due += 1;
        events.push(Arc::new(event));
    }
}

/// What has to hold for any bytes at all; for fuzzing.
#[doc(hidden)]
pub fn trace_file(data: &[u8]) {
    let limits = FileLimits { line: 1024 * 1024, total: 4 * 1024 * 1024, message: Limits::default() };
    let Ok(loaded) = read(&mut &*data, &limits) else { return };
    let observations = crate::rules::judge(&loaded.events);
    let mut written = Vec::new();
    assert!(write(&loaded.events, &mut written).is_ok(), "writing to memory cannot fail");
    let Ok(again) = read(&mut &*written, &FileLimits::default()) else {
        // What was written is longer than what was read: spelling out may pass the limits, never break the format.
        assert!(written.len() > limits.line, "what was written cannot be read");
        return;
    };
    assert_eq!(loaded.events.len(), again.events.len(), "events were lost");
    assert_eq!(observations, crate::rules::judge(&again.events), "the file is judged otherwise");
}

fn is_trace(line: &[u8]) -> Result<(), TraceFileErrorKind> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "mcp-conform-trace")]
        version: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.version > TRACE_VERSION => Err(TraceFileErrorKind::Newer(head.version)),
        Ok(head) if head.version > 0 => Ok(()),
        _ => Err(TraceFileErrorKind::NoTrace),
    }
}

fn event(line: &[u8], limits: &Limits) -> Result<Event, TraceFileErrorKind> {
    let record: Record = serde_json::from_slice(line).map_err(TraceFileErrorKind::NoEvent)?;
    Ok(Event { seq: record.seq, at: Duration::from_nanos(record.ns), body: record.body.read(limits)? })
}

#[derive(Serialize, Deserialize)]
struct Record {
    seq: u64,
    ns: u64,
    body: Entry,
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use mcp_conform_schemas::{Era, Revision};
    use proptest::prelude::*;

    use super::{super::event::*, *};
    use crate::{
        rules::{self, testing::trace},
        wire::Frame,
    };

    fn written(events: &[Arc<Event>]) -> Vec<u8> {
        let mut out = Vec::new();
        write(events, &mut out).unwrap();
        out
    }

    fn loaded(bytes: &[u8]) -> Result<Loaded, TraceFileError> {
        read(&mut &*bytes, &FileLimits::default())
    }

    #[test]
    fn proofs_are_judged_the_same_from_a_file() {
        for (kind, script) in rules::proofs::scripts() {
            let events = trace(kind, script);
            let again = loaded(&written(&events)).unwrap();
            assert_eq!(format!("{events:?}"), format!("{:?}", again.events));
            assert_eq!(rules::judge(&events), rules::judge(&again.events));
        }
    }

    fn bytes() -> impl Strategy<Value = Bytes> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from),
            any::<String>().prop_map(Bytes::from),
            Just(Bytes::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)),
        ]
    }

    fn body() -> impl Strategy<Value = Body> {
        let frame = |raw: Bytes| Arc::new(Frame::read(raw, &Limits::default()));
        let text = any::<String>;
        let end = prop_oneof![Just(LineEnd::Lf), Just(LineEnd::CrLf), Just(LineEnd::Eof)];
        let headers = || prop::collection::vec((any::<String>(), bytes()), 0..3).prop_map(Headers);
        let value = any::<String>().prop_map(|text| serde_json::json!({ "a": [text, 1.5, null, u64::MAX] }));
        prop_oneof![
            (any::<u32>(), any::<String>(), value.clone(), any::<Option<bool>>()).prop_map(
                |(conversation, version, capabilities, dual)| Body::Opened(Opened {
                    conversation,
                    era: Era::Legacy,
                    transport: Transport::Http,
                    target: version.clone(),
                    version,
                    capabilities,
                    dual,
                })
            ),
            (value, any::<Option<String>>()).prop_map(|(capabilities, session)| Body::Negotiated(Negotiated {
                version: Revision::V2025_06_18,
                capabilities,
                session,
            })),
            (text(), text()).prop_map(|(case, step)| Body::Step(StepMark { subject: case.clone(), case, step })),
            (bytes(), end, any::<bool>(), prop::collection::vec(any::<String>(), 0..2)).prop_map(
                move |(raw, end, incoming, wrong)| Body::Line(Line {
                    direction: if incoming { Direction::In } else { Direction::Out },
                    frame: frame(raw),
                    end,
                    cut: 0,
                    intent: Intent { wrong },
                    raw: false,
                })
            ),
            Just(Body::StdinClosed),
            Just(Body::StdoutEnded),
            bytes().prop_map(Body::Stderr),
            any::<u32>().prop_map(|pid| Body::Started { pid }),
            any::<(Option<i32>, Option<i32>)>().prop_map(|(code, signal)| Body::Exited(Exit { code, signal })),
            Just(Body::Signalled { name: "SIGTERM" }),
            prop::collection::vec(any::<u32>(), 0..3).prop_map(|pids| Body::Orphans { pids }),
            (any::<u32>(), text(), headers(), bytes(), any::<bool>()).prop_map(
                move |(exchange, target, headers, body, raw)| Body::HttpRequest(HttpRequest {
                    exchange,
                    method: target.clone(),
                    target,
                    headers,
                    frame: (!body.is_empty() && !raw).then(|| frame(body.clone())),
                    body,
                    intent: Intent::default(),
                    raw,
                })
            ),
            (any::<u32>(), any::<u16>(), headers())
                .prop_map(|(exchange, status, headers)| Body::HttpResponse(HttpResponse { exchange, status, headers })),
            (any::<u32>(), any::<u16>(), bytes()).prop_map(move |(exchange, status, raw)| Body::HttpBody(HttpBody {
                exchange,
                status,
                frame: (!raw.is_empty()).then(|| frame(raw.clone())),
                raw,
                cut: 0
            })),
            (any::<u32>(), any::<Option<String>>(), any::<Option<String>>(), any::<bool>()).prop_map(
                |(exchange, id, retry, unterminated)| Body::Sse(SseMessage {
                    exchange,
                    event: Some("endpoint".to_owned()),
                    id,
                    retry,
                    data: None,
                    frame: None,
                    unterminated
                })
            ),
            (any::<u32>(), bytes()).prop_map(|(exchange, text)| Body::SseComment { exchange, text }),
            (any::<u32>(), text()).prop_map(|(exchange, message)| Body::SseDefect { exchange, message }),
            (any::<u32>(), text(), 0..4).prop_map(|(exchange, why, which)| Body::ExchangeEnded {
                exchange,
                end: match which {
                    0 => ExchangeEnd::ClosedByUs,
                    1 => ExchangeEnd::Complete,
                    2 => ExchangeEnd::Failed(why),
                    _ => ExchangeEnd::Limit(why),
                },
            }),
            (text(), any::<Option<String>>(), any::<u32>()).prop_map(|(what, request, after)| {
                Body::DeadlinePassed(DeadlinePassed { what, request, after: Duration::from_nanos(after.into()) })
            }),
            text().prop_map(|what| Body::Limit { what }),
            Just(Body::Drained),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_event_comes_back_as_it_was(bodies in prop::collection::vec(body(), 0..30)) {
            let event = |(seq, body): (usize, Body)| {
                Arc::new(Event { seq: seq as u64, at: Duration::from_nanos(seq as u64 * 7), body })
            };
            let events: Vec<_> = bodies.into_iter().enumerate().map(event).collect();
            let again = loaded(&written(&events)).unwrap();
            prop_assert_eq!(format!("{events:?}"), format!("{:?}", again.events));
            prop_assert_eq!(rules::judge(&events), rules::judge(&again.events));
        }

        #[test]
        fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200), events in prop::collection::vec(body(), 0..4)) {
            trace_file(&data);
            let mut file = Vec::new();
            header(&mut file).unwrap();
            file.extend(&data);
            trace_file(&file);
            let events: Vec<_> = events.into_iter().enumerate().map(|(seq, body)| Arc::new(Event { seq: seq as u64, at: Duration::ZERO, body })).collect();
            let mut file = written(&events);
            let at = data.first().map_or(0, |byte| usize::from(*byte) * 7 % file.len());
            file.truncate(at);
            trace_file(&file);
        }
    }

    #[test]
    fn files_with_flipped_bytes_are_read_or_refused() {
        use rand_chacha::{
            ChaCha8Rng,
            rand_core::{Rng, SeedableRng},
        };
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut index = || usize::try_from(random.next_u32()).unwrap();
        for (kind, script) in rules::proofs::scripts() {
            let whole = written(&trace(kind, script));
            for _ in 0..4 {
                let mut file = whole.clone();
                for _ in 0..1 + index() % 3 {
                    // Behind the first line, and more often text that may still be JSON.
                    let at = 60 + index() % (file.len() - 60);
                    let to = b"019-\"{}[],:ne\xff"[index() % 14];
                    file[at] = to;
                }
                trace_file(&file);
            }
        }
    }

    #[test]
    fn complaints_name_the_line_and_the_way_out() {
        let good = String::from_utf8(written(&trace("2025-11-25 stdio", "drained"))).unwrap();
        let head = good.lines().next().unwrap();
        for (file, line, what) in [
            (String::new(), 1, "not a trace"),
            ("{\"a\":1}\n".to_owned(), 1, "not a trace"),
            ("{\"mcp-conform-trace\": 2}\n".to_owned(), 1, "newer mcp-conform"),
            (format!("{head}\n{{\"seq\":0}}\n"), 2, "no event"),
            (format!("{head}\n{{\"seq\":0,\"ns\":0,\"body\":{{\"stderr\":{{\"base64\":\"*\"}}}}}}\n"), 2, "base64"),
            (format!("{head}\n{{\"seq\":1,\"ns\":0,\"body\":\"drained\"}}\n"), 2, "where event 0 is due"),
        ] {
            let error = loaded(file.as_bytes()).unwrap_err();
            assert!(error.line == line && error.to_string().contains(what), "{error}");
        }
        let short = FileLimits { line: 50, ..FileLimits::default() };
        assert!(read(&mut good.as_bytes(), &short).unwrap_err().to_string().contains("longer than 50 bytes"));
        let small = FileLimits { total: 60, ..FileLimits::default() };
        assert!(read(&mut good.as_bytes(), &small).unwrap_err().to_string().contains("split it"));
    }

    #[test]
    fn a_cut_last_line_is_left_out_with_a_note() {
        let file = written(&trace("2025-11-25 stdio", "drained"));
        let whole = loaded(&file).unwrap();
        let cut = loaded(file.get(..file.len() - 4).unwrap()).unwrap();
        assert_eq!(cut.events.len() + 1, whole.events.len());
        assert!(whole.note.is_none() && cut.note.unwrap().contains("cut off"));
    }
}

//! What must hold for any input of the wire readers: [`jsonrpc_line`] and [`sse_decode`]. The coverage-guided targets
//! hold each input to one of the same properties, the tests beside this module to all; a broken one panics.

use bytes::Bytes;

use super::{
    Frame, Json, JsonErrorKind, JsonKind, LimitKind, Limits, Line, LineSplitter, MAX_DEPTH, Message, Number,
    RemarkKind, Span, SseDecoder, SseItem,
};

/// What the lines of any bytes are held to. Each takes as long as the others.
const OF_LINES: [fn(&[u8]); 4] = [nothing_is_lost, frames_are_sound, values_are_those_of_serde, limits_are_kept];
/// The same for an event stream.
const OF_EVENTS: [fn(&[u8]); 4] = [
    events_are_those_of_a_plain_reading,
    |data| events(data, Limits::default()),
    |data| events(data, small(data)),
    |data| pieces_do_not_matter(data),
];

/// Bytes of stdout: lines do not depend on the pieces, reading a line keeps what stood there, and JSON is what
/// `serde_json` says it is. All properties at once.
pub fn jsonrpc_line(data: &[u8]) {
    OF_LINES.iter().for_each(|property| property(data));
}

/// One of the properties of [`jsonrpc_line`], which the bytes choose: a coverage-guided fuzzer makes many inputs that hardly
/// differ, and gets through more of them so.
pub fn jsonrpc_line_one(data: &[u8]) {
    one(&OF_LINES, data);
}

/// Bytes of an event stream: items do not depend on the pieces, places are right, memory is bounded, and where the bytes are
/// text, the events are those of a plain reading. All properties at once.
pub fn sse_decode(data: &[u8]) {
    OF_EVENTS.iter().for_each(|property| property(data));
}

/// One of the properties of [`sse_decode`], as [`jsonrpc_line_one`] does it.
pub fn sse_decode_one(data: &[u8]) {
    one(&OF_EVENTS, data);
}

/// Any byte that changes chooses anew.
fn one(properties: &[fn(&[u8])], data: &[u8]) {
    let sum = data.iter().fold(data.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    if let Some(property) = properties.get((sum >> 3) % properties.len().max(1)) {
        property(data);
    }
}

/// Limits under which reading is followed closely. Telling of a hundred defects would take most of the time.
fn usual() -> Limits {
    Limits { defects: 10, ..Limits::default() }
}

fn nothing_is_lost(data: &[u8]) {
    let mut rebuilt = Vec::new();
    let lines = split(usual().bytes, [data]);
    for line in &lines {
        rebuilt.extend_from_slice(&line.raw);
        if line.end != super::LineEnd::Eof {
            rebuilt.push(b'\n');
        }
    }
    assert_eq!(rebuilt, data, "no byte of a stream is lost");
    for pieces in in_pieces(data) {
        assert_eq!(split(usual().bytes, pieces), lines, "lines depend on the pieces");
    }
}

fn frames_are_sound(data: &[u8]) {
    let limits = usual();
    let lines = split(limits.bytes, [data]);
    lines.iter().for_each(|line| frame(&Frame::of_line(line, &limits), &limits));
    if lines.len() > 1 {
        // As the body of an HTTP answer, where line feeds are white space.
        frame(&Frame::read(Bytes::copy_from_slice(data), &limits), &limits);
    }
}

fn values_are_those_of_serde(data: &[u8]) {
    let lines = split(usual().bytes, [data]);
    lines.iter().for_each(|line| json(&line.raw));
    if lines.len() > 1 {
        json(data);
    }
}

fn limits_are_kept(data: &[u8]) {
    let limits = small(data);
    let lines = split(usual().bytes, [data]);
    let cut = split(limits.bytes, [data]);
    for pieces in in_pieces(data) {
        assert_eq!(split(limits.bytes, pieces), cut, "lines depend on the pieces");
    }
    assert_eq!(cut.len(), lines.len());
    for (line, whole) in cut.iter().zip(&lines) {
        assert!(line.raw.len() <= limits.bytes);
        assert_eq!(line.raw.len() + line.cut.unwrap_or(0), whole.raw.len());
        assert_eq!(line.end, whole.end);
        frame(&Frame::of_line(line, &limits), &limits);
        if line.cut.is_some() {
            // One that was not cut is the same either way.
            frame(&Frame::read(whole.raw.clone(), &limits), &limits);
        }
    }
}

fn events_are_those_of_a_plain_reading(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(blocks(decode(Limits::default(), [data])), plain(text));
    }
}

fn pieces_do_not_matter(data: &[u8]) {
    for limits in [Limits::default(), small(data)] {
        let items = decode(limits, [data]);
        for pieces in in_pieces(data) {
            assert_eq!(decode(limits, pieces), items, "items depend on the pieces");
        }
    }
}

fn events(data: &[u8], limits: Limits) {
    for item in &decode(limits, [data]) {
        match item {
            SseItem::Event(event) => {
                let start = event.offset as usize;
                let raw = data.get(start..start + event.raw.len()).expect("an event lies in the stream");
                assert_eq!(event.raw, raw);
                assert!(raw.len() <= limits.bytes);
                assert_eq!(event.dispatched, event.terminated && event.data.is_some());
                assert!(event.data.as_ref().is_none_or(|data| data.len() <= raw.len()));
                assert!(event.data.as_ref().is_none_or(|data| !data.contains(&b'\r')));
                if event.terminated {
                    assert!(event.id.is_none() || event.id.as_deref() == Some(&*event.last_event_id));
                }
                if event.cut.is_none() && limits.defects > 0 {
                    again(event, limits);
                }
            }
            SseItem::Comment(comment) => assert!(comment.len() <= limits.bytes),
            SseItem::Defect(defect) => assert!(defect.offset <= data.len() as u64),
        }
    }
}

/// The fields of one event: its name, data, id and retry.
type Block = (Option<String>, Option<String>, Option<String>, Option<u64>);

/// The events that ended, as far as they say anything.
fn blocks(items: Vec<SseItem>) -> Vec<Block> {
    let text = |data: Bytes| String::from_utf8_lossy(&data).into_owned();
    let events = items.into_iter().filter_map(|item| if let SseItem::Event(event) = item { Some(event) } else { None });
    let blocks = events.filter(|event| event.terminated).map(|event| {
        let retry = event.retry.and_then(|retry| retry.milliseconds);
        (event.event, event.data.map(text), event.id, retry)
    });
    // A block whose only fields are invalid is nothing to others.
    blocks.filter(|block| *block != (None, None, None, None)).collect()
}

/// The same, read line by line from the whole text.
fn plain(text: &str) -> Vec<Block> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    // What stands behind the last line break is no line yet.
    lines.pop();
    let (mut found, mut block) = (Vec::new(), Block::default());
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            _ if line.is_empty() => found.push(std::mem::take(&mut block)),
            "event" => block.0 = Some(value.to_owned()),
            "data" => {
                let before = block.1.take();
                block.1 = Some(before.map_or_else(|| value.to_owned(), |before| format!("{before}\n{value}")));
            }
            "id" if !value.contains('\0') => block.2 = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => block.3 = value.parse().ok().or(block.3),
            _ => {}
        }
    }
    found.retain(|block| *block != Block::default());
    found
}

/// Limits that most inputs pass.
fn small(data: &[u8]) -> Limits {
    if data.len().is_multiple_of(2) {
        Limits { bytes: 24, depth: 2, nodes: 4, defects: 2 }
    } else {
        Limits { bytes: data.len() / 2, depth: 3, nodes: 6, ..Limits::default() }
    }
}

fn split<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut splitter = LineSplitter::new(limit);
    let mut lines = Vec::new();
    for piece in pieces {
        lines.extend(splitter.push(piece));
    }
    lines.extend(splitter.finish());
    lines
}

fn decode<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseItem> {
    let mut decoder = SseDecoder::new(limits);
    let mut items = Vec::new();
    for piece in pieces {
        items.extend(decoder.push(piece));
    }
    items.extend(decoder.finish());
    items
}

/// An event decoded from its own bytes is the same event.
fn again(event: &super::SseEvent, limits: Limits) {
    let items = decode(limits, [&*event.raw]);
    let found = items.iter().find_map(|item| if let SseItem::Event(event) = item { Some(event) } else { None });
    let found = found.expect("the bytes of an event are an event");
    assert_eq!(
        (&found.event, &found.id, &found.data, &found.retry, found.terminated),
        (&event.event, &event.id, &event.data, &event.retry, event.terminated)
    );
}

/// The input in pieces of several sizes. Byte by byte takes longer than all else, so that of the long inputs, which are many
/// alike, one in a few is.
fn in_pieces(data: &[u8]) -> Vec<Vec<&[u8]>> {
    const SHORT: usize = 64;
    const ONE_IN: usize = 8;
    let mut out = vec![pieces(data)];
    if data.len() <= SHORT || data.len().is_multiple_of(ONE_IN) {
        out.push(data.chunks(1).collect());
    }
    out
}

/// Splits the input at places that it chooses itself.
fn pieces(data: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = data;
    while let Some(first) = rest.first() {
        let (piece, after) = rest.split_at((usize::from(*first) % 19).min(rest.len()).max(1));
        pieces.push(piece);
        if first % 5 == 0 {
            pieces.push(&[]);
        }
        rest = after;
    }
    pieces
}

fn frame(frame: &Frame, limits: &Limits) {
    let again = Frame::read(frame.raw.clone(), limits);
    if !frame.has(super::DefectKind::OurLimit(LimitKind::Bytes)) {
        assert_eq!((&again.message, &again.defects), (&frame.message, &frame.defects));
    }
    for defect in &frame.defects {
        within(defect.span, frame.raw.len());
        assert!(defect.pointer.len() < 8_192 && defect.message.len() < 512);
    }
    assert!(frame.defects.len() <= 10 * limits.defects + 10);
    let limited = frame.defects.iter().any(|defect| match defect.kind {
        super::DefectKind::OurLimit(kind) => kind != LimitKind::Defects,
        _ => false,
    });
    let broken = frame.defects.iter().any(|defect| matches!(defect.kind, super::DefectKind::NotJson(_)));
    match (&frame.json, &frame.message) {
        (Some(json), message) => {
            assert!(!limited && !broken && frame.salvaged.is_none());
            tree(json, frame.raw.len(), 0);
            match message {
                Message::Batch(messages) => assert_eq!(json.as_array().map(<[Json]>::len), Some(messages.len())),
                Message::Request { id, method } => {
                    assert!(id.same(&super::Id::of(json.get("id"))));
                    assert_eq!(json.get("method").and_then(Json::as_str), Some(&**method));
                }
                _ => {}
            }
        }
        (None, Message::NotAMessage(super::NotAMessage::Blank)) => assert!(!broken),
        (None, Message::NotAMessage(super::NotAMessage::NotJson)) => assert!(broken || limits.defects == 0),
        (None, _) => assert!(limited, "a message without JSON needs a limit of ours"),
    }
    if let Some(id) = frame.likely().id() {
        assert!(id.same(id) && id.loosely(id));
        let text = id.to_string();
        if !id.is_absent() {
            let read = super::Id::of(Some(&Json::parse(text.as_bytes()).expect("an id is shown as JSON")));
            assert!(read.same(id), "{text}");
            assert_eq!(read.key(), id.key());
        }
    }
}

/// A text is JSON exactly if `serde_json` says so, and means the same, but for what is listed here.
fn json(data: &[u8]) {
    // As deep as `serde_json` goes.
    let limits = Limits { depth: 127, nodes: usize::MAX, bytes: usize::MAX, ..Limits::default() };
    let ours = Json::read(data, &limits);
    let theirs = serde_json::from_slice::<serde_json::Value>(data);
    let reading = match (ours, theirs) {
        (Err(error), theirs) => {
            assert!(theirs.is_err(), "{error}, but serde_json reads it");
            assert!(error.offset <= data.len());
            assert!(error.kind != JsonErrorKind::Empty || data.iter().all(u8::is_ascii_whitespace));
            return;
        }
        (Ok(reading), Err(error)) => {
            // It refuses numbers beyond doubles, surrogates without partner and invalid UTF-8; we remark on them. It
            // also computes the greatest doubles less exactly, and reads a member of a private name as raw text.
            let known = reading.remarks.iter().any(|remark| remark.kind != RemarkKind::DuplicateKey)
                || numbers(&reading.json).any(|(number, _)| number.as_f64().abs() > 1e307)
                || private(&reading.json);
            assert!(known, "we read it, but serde_json says: {error}");
            reading
        }
        (Ok(reading), Ok(theirs)) => {
            if !private(&reading.json) {
                assert!(close(&reading.json.to_value(), &theirs), "{} is not {theirs}", reading.json);
            }
            reading
        }
    };
    tree(&reading.json, data.len(), 0);
    for remark in &reading.remarks {
        within(remark.span, data.len());
    }
    let printed = reading.json.to_string();
    let again = Json::read(printed.as_bytes(), &limits).expect("what we print is JSON").json;
    assert!(again.same(&reading.json) && reading.json.same(&again));
    assert_eq!(again.to_string(), printed);
    for (number, span) in numbers(&reading.json) {
        let text = number.as_str();
        assert_eq!(data.get(span.start..span.end), Some(text.as_bytes()), "the spelling is kept");
        check_number(number);
    }
}

fn check_number(number: &Number) {
    let text = number.as_str();
    let canonical = Number::parse(&number.canonical());
    if let Some(canonical) = canonical.filter(|_| text.len() < 25) {
        assert!(canonical.same_value(number) && canonical.canonical() == number.canonical(), "{text}");
    }
    if let Some(value) = number.as_i64() {
        assert!(number.is_integer());
        assert!(Number::parse(&value.to_string()).is_some_and(|value| value.same_value(number)), "{text}");
    }
}

/// Children lie in their parents, in order, and pointers lead back to them.
fn tree(root: &Json, len: usize, depth: usize) {
    let mut left: Vec<(&Json, usize)> = vec![(root, depth)];
    let mut probes = 0;
    while let Some((json, depth)) = left.pop() {
        within(json.span, len);
        assert!(depth <= MAX_DEPTH && json.span.start < json.span.end);
        let mut end = json.span.start;
        match &json.kind {
            JsonKind::Array(items) => {
                for item in items {
                    assert!(item.span.start >= end && item.span.end <= json.span.end);
                    end = item.span.end;
                    left.push((item, depth + 1));
                }
            }
            JsonKind::Object(members) => {
                for member in members {
                    assert!(member.name_span.start >= end && member.value.span.start > member.name_span.end);
                    end = member.value.span.end;
                    assert!(end <= json.span.end);
                    left.push((&member.value, depth + 1));
                }
            }
            _ => {}
        }
        if probes < 20 {
            probes += 1;
            let pointer = root.pointer_of(json.span.start);
            assert!(pointer.ends_with('…') || root.pointer(&pointer).is_some() || repeats(root), "{pointer}");
        }
    }
}

/// A member stands twice somewhere: what lies in the first of them has no pointer that leads to it.
fn repeats(root: &Json) -> bool {
    let mut left = vec![root];
    while let Some(json) = left.pop() {
        match &json.kind {
            JsonKind::Array(items) => left.extend(items),
            JsonKind::Object(members) => {
                let names: std::collections::BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
                if names.len() < members.len() {
                    return true;
                }
                left.extend(members.iter().map(|member| &member.value));
            }
            _ => {}
        }
    }
    false
}

fn within(span: Span, len: usize) {
    assert!(span.start <= span.end && span.end <= len, "{span:?} of {len}");
}

fn numbers(root: &Json) -> impl Iterator<Item = (&Number, Span)> {
    let mut left = vec![root];
    std::iter::from_fn(move || {
        while let Some(json) = left.pop() {
            match &json.kind {
                JsonKind::Number(number) => return Some((number, json.span)),
                JsonKind::Array(items) => left.extend(items),
                JsonKind::Object(members) => left.extend(members.iter().map(|member| &member.value)),
                _ => {}
            }
        }
        None
    })
}

fn private(root: &Json) -> bool {
    let mut left = vec![root];
    while let Some(json) = left.pop() {
        match &json.kind {
            JsonKind::Array(items) => left.extend(items),
            JsonKind::Object(members) if members.iter().any(|it| it.name.starts_with("$serde_json")) => return true,
            JsonKind::Object(members) => left.extend(members.iter().map(|member| &member.value)),
            _ => {}
        }
    }
    false
}

/// Equal, where doubles may differ in their last bits: `serde_json` does not round exactly.
fn close(one: &serde_json::Value, other: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            a == b || (a - b).abs() <= a.abs() * 1e-14 || a.abs() < 1e-290 || a.abs() > 1e307
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| close(a, b)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    fn seeds(name: &str) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
        let mut paths: Vec<_> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(paths.len() >= 10, "the seeds are there");
        paths.into_iter().map(|path| fs_err::read(path).unwrap()).collect()
    }

    /// Inputs made of the words of a language, which get further than plain bytes; some bytes are spoilt.
    fn generated(seeds: &[Vec<u8>], words: &[&str], body: fn(&[u8])) {
        let mut random = ChaCha8Rng::seed_from_u64(20_261_130);
        for _ in 0..2_000 {
            let below = |random: &mut ChaCha8Rng, bound: usize| random.next_u32() as usize % bound.max(1);
            let mut input = match below(&mut random, 3) {
                0 => seeds[below(&mut random, seeds.len())].clone(),
                _ => (0..below(&mut random, 40)).flat_map(|_| words[below(&mut random, words.len())].bytes()).collect(),
            };
            for _ in 0..below(&mut random, 4) {
                let at = below(&mut random, input.len());
                match below(&mut random, 3) {
                    0 => input.insert(at, random.next_u32() as u8),
                    1 if !input.is_empty() => drop(input.remove(at)),
                    _ => input.truncate(at),
                }
            }
            body(&input);
        }
    }

    #[test]
    fn jsonrpc_line_holds() {
        let seeds = seeds("jsonrpc_line");
        seeds.iter().for_each(|seed| jsonrpc_line(seed));
        let words = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\n",
            "\r\n",
            "\"a\"",
            "\"id\"",
            "\"method\"",
            "\"result\"",
            "\"error\"",
            "\"code\"",
            "true",
            "null",
            "7",
            "-0",
            "1e400",
            "9007199254740993",
            "0.1e-5",
            "\"\\ud83d",
            "\\ude00\"",
            "é",
            "\"\\n\"",
            "\u{feff}",
        ];
        generated(&seeds, &words, jsonrpc_line);
        generated(&seeds, &["[", "]", ",", "1", "{\"a\":", "}", "\"b\":"], jsonrpc_line);
    }

    #[test]
    fn sse_decode_holds() {
        let seeds = seeds("sse_decode");
        seeds.iter().for_each(|seed| sse_decode(seed));
        let words = [
            "data",
            "data:",
            "data: ",
            "id: ",
            "id",
            "event: ",
            "retry: ",
            ":",
            "\n",
            "\n\n",
            "\r",
            "\r\n",
            "\r\n\r\n",
            "x",
            "17",
            "\0",
            "é",
            "\u{feff}",
            " ",
            "{\"a\":1}",
        ];
        generated(&seeds, &words, sse_decode);
    }

    /// What `sse-stream` makes of the same pieces; it ends at the first error.
    fn others(pieces: Vec<Vec<u8>>) -> Vec<Block> {
        use futures_util::{FutureExt as _, StreamExt as _};
        let pieces = pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let blocks = sse_stream::SseByteStream::new(futures_util::stream::iter(pieces)).collect::<Vec<_>>();
        let blocks = blocks.now_or_never().expect("all pieces are there");
        blocks.into_iter().map_while(Result::ok).map(|sse| (sse.event, sse.data, sse.id, sse.retry)).collect()
    }

    fn ours(pieces: &[Vec<u8>]) -> Vec<Block> {
        blocks(decode(Limits::default(), pieces.iter().map(Vec::as_slice)))
    }

    proptest! {
        #[test]
        fn events_are_those_of_another_decoder(
            pieces in prop::collection::vec(
                prop::collection::vec(
                    prop::sample::select(vec![
                        "data", "data:", "data: x", "id: ", "id", "id:7", "event: ping", "event", "retry: 10", "retry:",
                        "retry:99999999999999999999999", ":", ": c", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "x", "\0",
                        "é", "\u{feff}", " ",
                    ]),
                    0..6,
                ),
                0..12,
            ),
        ) {
            let pieces: Vec<Vec<u8>> = pieces.into_iter().map(|words| words.concat().into_bytes()).collect();
            prop_assert_eq!(ours(&pieces), others(pieces));
        }

        #[test]
        fn any_bytes_hold(data in prop::collection::vec(any::<u8>(), 0..200)) {
            jsonrpc_line(&data);
            sse_decode(&data);
        }
    }
}

//! Bodies of the fuzz targets that are no matter of the wire alone, also run from fixed seeds as tests.

mod matcher;
mod rounds;

use arbitrary::Unstructured;
use mcp_conform_schemas::{InstanceSchema, generate::Generator};
use serde_json::{Map, Value, json};

use crate::transport::{Answer, Piece};

pub use self::{matcher::matcher, rounds::mrtr_round_trip};
pub use crate::{
    trace::trace_file,
    wire::fuzzing::{jsonrpc_line, jsonrpc_line_one, sse_decode, sse_decode_one},
};
pub use mcp_conform_cases::fuzzing::case_script;

/// Any bytes as an HTTP answer: never a panic, no more data than came, and the same whatever the pieces were.
///
/// The first byte chooses the method and where the bytes are cut.
pub fn http_answer(data: &[u8]) {
    let Some((choice, answer)) = data.split_first() else { return };
    let method = if choice & 1 == 0 { "POST" } else { "HEAD" };
    let whole = read(method, [answer]);
    let size = usize::from(choice >> 1) + 1;
    let cut = read(method, answer.chunks(size));
    assert_eq!(whole, cut, "the pieces must not depend on how the bytes came");
    if let Reading { head: Some((status, headers)), .. } = &whole {
        // What httparse reads as a whole head it reads with the same status and as many headers.
        let mut room = vec![httparse::EMPTY_HEADER; 1024];
        let mut other = httparse::Response::new(&mut room);
        if let Ok(httparse::Status::Complete(_)) = other.parse(answer)
            && other.code.is_some_and(|code| !(100..200).contains(&code))
        {
            assert_eq!(other.code, Some(*status));
            assert_eq!(other.headers.len(), *headers);
        }
    }
    assert!(whole.data.len() <= answer.len(), "a transfer coding never makes more of it");
}

/// What an answer came to.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    /// Status and number of headers.
    head: Option<(u16, usize)>,
    data: Vec<u8>,
    ended: bool,
    failed: bool,
}

fn read<'a>(method: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut answer = Answer::new(method);
    let mut out = Reading { head: None, data: Vec::new(), ended: false, failed: false };
    let mut read = Vec::new();
    let mut take = |sound: Result<(), String>, read: &mut Vec<Piece>| {
        for piece in read.drain(..) {
            match piece {
                Piece::Head { status, headers } => out.head = Some((status, headers.0.len())),
                Piece::Data(bytes) => out.data.extend_from_slice(&bytes),
                Piece::End => out.ended = true,
            }
        }
        out.failed |= sound.is_err();
        sound.is_ok()
    };
    for piece in pieces {
        let sound = answer.push(piece, &mut read);
        if !take(sound, &mut read) {
            return out;
        }
    }
    let sound = answer.finish(&mut read);
    take(sound, &mut read);
    out
}

/// Any bytes as a JSON Schema and as the dice: what is generated as valid validates, near misses do not, and the same bytes
/// give the same values.
pub fn schema_generate(data: &[u8]) {
    let mut dice = Unstructured::new(data);
    let schema = schema(&mut dice, 0);
    let Ok(compiled) = InstanceSchema::new(&schema) else { return };
    let rest = dice.take_rest();
    let Ok(generator) = Generator::new(&schema) else { return };
    let make = || {
        let valid = generator.valid(&mut Unstructured::new(rest));
        (valid, generator.minimal(), generator.boundary(), generator.near_miss())
    };
    let (valid, minimal, boundary, misses) = make();
    for value in valid.iter().chain(&minimal) {
        assert!(!compiled.refuses(value), "{value} is not valid under {schema}");
    }
    for miss in &misses {
        assert!(!compiled.accepts(&miss.value), "{} is valid under {schema}", miss.value);
    }
    let (again, minimal_again, boundary_again, misses_again) = make();
    assert_eq!((&valid, &minimal, &boundary), (&again, &minimal_again, &boundary_again));
    assert_eq!(misses.len(), misses_again.len());
}

/// A schema out of the keywords that tools use.
fn schema(dice: &mut Unstructured<'_>, depth: usize) -> Value {
    let mut out = Map::new();
    let int = |dice: &mut Unstructured<'_>| dice.int_in_range(-3_i64..=9).unwrap_or_default();
    let kinds = ["string", "integer", "number", "boolean", "array", "object", "null"];
    let kind = *dice.choose(&kinds).unwrap_or(&"string");
    if dice.ratio(9_u8, 10_u8).unwrap_or(true) {
        out.insert("type".to_owned(), kind.into());
    }
    let deeper = depth < 4;
    match kind {
        "string" => {
            for keyword in ["minLength", "maxLength"] {
                if dice.arbitrary().unwrap_or(false) {
                    out.insert(keyword.to_owned(), int(dice).max(0).into());
                }
            }
            let patterns = ["^[a-z]+$", "^\\d{2,4}$", "x|y", "^(a|b)*c$"];
            if dice.ratio(1_u8, 4_u8).unwrap_or(false) {
                out.insert("pattern".to_owned(), (*dice.choose(&patterns).unwrap_or(&"x|y")).into());
            }
            if dice.ratio(1_u8, 4_u8).unwrap_or(false) {
                out.insert("enum".to_owned(), json!(["a", "bb", "ccc"]));
            }
        }
        "integer" | "number" => {
            for keyword in ["minimum", "maximum", "exclusiveMinimum", "multipleOf"] {
                if dice.ratio(1_u8, 3_u8).unwrap_or(false) {
                    let number = int(dice);
                    out.insert(keyword.to_owned(), if keyword == "multipleOf" { number.max(1) } else { number }.into());
                }
            }
        }
        "array" if deeper => {
            out.insert("items".to_owned(), schema(dice, depth + 1));
            for keyword in ["minItems", "maxItems"] {
                if dice.arbitrary().unwrap_or(false) {
                    out.insert(keyword.to_owned(), int(dice).max(0).into());
                }
            }
        }
        "object" if deeper => {
            let mut properties = Map::new();
            let mut required = Vec::new();
            for name in ["a", "b", "c"] {
                if dice.arbitrary().unwrap_or(false) {
                    properties.insert(name.to_owned(), schema(dice, depth + 1));
                    if dice.arbitrary().unwrap_or(false) {
                        required.push(Value::from(name));
                    }
                }
            }
            out.insert("properties".to_owned(), properties.into());
            out.insert("required".to_owned(), required.into());
            if dice.arbitrary().unwrap_or(false) {
                out.insert("additionalProperties".to_owned(), false.into());
            }
        }
        _ => {}
    }
    if deeper && dice.ratio(1_u8, 6_u8).unwrap_or(false) {
        let word = if dice.arbitrary().unwrap_or(false) { "anyOf" } else { "oneOf" };
        let branches = vec![schema(dice, depth + 1), schema(dice, depth + 1)];
        out.insert(word.to_owned(), branches.into());
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    /// Bytes from a fixed seed, and pieces that an answer is made of.
    fn generated(count: usize, words: &[&str], body: fn(&[u8])) {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        for round in 0..count {
            let mut bytes = vec![0; rng.next_u32() as usize % 200];
            rng.fill_bytes(&mut bytes);
            if round % 2 == 0 && !words.is_empty() {
                let choice = bytes.first().copied().unwrap_or_default();
                let picked = bytes.iter().take(40).map(|byte| words[usize::from(*byte) % words.len()]);
                bytes = std::iter::once(choice).chain(picked.flat_map(str::bytes)).collect();
            }
            body(&bytes);
        }
    }

    #[test]
    fn any_answer_is_read_the_same_in_pieces() {
        let words = [
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 202 \n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "content-length: 3\r\n",
            "Content-Length: 3\r\n",
            "transfer-encoding: chunked\r\n",
            "\r\n",
            "\n",
            "3\r\nabc\r\n",
            "0\r\n\r\n",
            "abc",
            "x: y\r\n",
            " folded\r\n",
            "5;ext=1\r\n",
            "\0",
            "HTTP/1.1 999 Odd\r\n",
        ];
        generated(4000, &words, http_answer);
    }

    #[test]
    fn patterns_mean_what_a_plain_reading_says() {
        generated(20_000, &[], matcher);
    }

    #[test]
    fn rounds_go_on_as_they_should() {
        generated(400, &[], mrtr_round_trip);
    }

    #[test]
    fn generated_values_are_what_they_are_said_to_be() {
        generated(400, &[], schema_generate);
    }

    #[test]
    fn the_seeds_hold() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds");
        type Body = fn(&[u8]);
        let targets: [(&str, Body); 6] = [
            ("matcher", matcher),
            ("mrtr_round_trip", mrtr_round_trip),
            ("http_answer", http_answer),
            ("schema_generate", schema_generate),
            ("case_script", case_script),
            ("trace_file", trace_file),
        ];
        for (name, body) in targets {
            let mut seeds = 0;
            for entry in std::fs::read_dir(format!("{root}/{name}")).unwrap() {
                body(&std::fs::read(entry.unwrap().path()).unwrap());
                seeds += 1;
            }
            assert!(seeds > 0, "{name} has no seeds");
        }
    }
}

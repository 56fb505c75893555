//! Reading an HTTP/1 answer byte by byte: [`Answer`]. It keeps header names, order and values as they stood, and says in
//! words what is wrong with an answer that breaks the format. What an answer means is left to others.

use bytes::Bytes;

use crate::trace::Headers;

/// A part of an answer, in the order of the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Head {
        status: u16,
        headers: Headers,
    },
    /// Bytes of the body, transfer coding removed.
    Data(Bytes),
    /// The answer is whole; whatever follows on the connection is not looked at.
    End,
}

/// An incremental reader of one answer. The pieces, apart from how data is divided, do not depend on how the bytes came.
#[derive(Debug)]
pub struct Answer {
    state: State,
    held: Vec<u8>,
    /// An answer to HEAD has no body, whatever its headers say.
    to_head: bool,
    received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// Bytes left, and bytes promised.
    Length(u64, u64),
    ChunkSize,
    /// Bytes left of this chunk.
    Chunk(u64),
    ChunkEnd,
    Trailers,
    /// Until the connection is closed.
    Rest,
    Done,
}

impl Answer {
    /// Bytes of the head, and of the trailers.
    const HEAD: usize = 256 * 1024;
    const HEADERS: usize = 512;
    /// Bytes of the line before a chunk.
    const CHUNK_LINE: usize = 4 * 1024;

    pub fn new(method: &str) -> Self {
        Self { state: State::Head, held: Vec::new(), to_head: method.eq_ignore_ascii_case("HEAD"), received: 0 }
    }

    /// Takes the next bytes and adds what they complete. An error ends the answer: what is wrong, as a lower-case fragment.
    /// What came before the fault is there all the same, however the bytes were cut.
    pub fn push(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) -> Result<(), String> {
        let mut rest = bytes;
        loop {
            match self.state {
                State::Done => return Ok(()),
                State::Rest => {
                    self.data(rest, pieces);
                    return Ok(());
                }
                State::Length(left, of) => {
                    let now = self.take(left, &mut rest, pieces);
                    if left > now {
                        self.state = State::Length(left - now, of);
                        return Ok(());
                    }
                    self.end(pieces);
                }
                State::Chunk(left) => {
                    let now = self.take(left, &mut rest, pieces);
                    if left > now {
                        self.state = State::Chunk(left - now);
                        return Ok(());
                    }
                    self.state = State::ChunkEnd;
                }
                State::Head | State::ChunkSize | State::ChunkEnd | State::Trailers => {
                    if !self.framing(&mut rest, pieces)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The connection was closed. An error if the answer was not whole.
    pub fn finish(&mut self, pieces: &mut Vec<Piece>) -> Result<(), String> {
        match self.state {
            State::Done => {}
            State::Rest => self.end(pieces),
            State::Head if self.held.is_empty() => {
                return Err("the connection was closed before an answer came".to_owned());
            }
            State::Head => return Err(format!("the connection was closed inside the head: {}", excerpt(&self.held))),
            State::Length(_, of) => {
                return Err(format!("the connection was closed after {} of {of} body bytes", self.received));
            }
            State::ChunkSize | State::Chunk(_) | State::ChunkEnd | State::Trailers => {
                let message = "the connection was closed before the last chunk of the body";
                return Err(format!("{message}, after {} bytes", self.received));
            }
        }
        Ok(())
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Looks for one line, or for the head, in what is held and what came. False: more is needed.
    fn framing(&mut self, rest: &mut &[u8], pieces: &mut Vec<Piece>) -> Result<bool, String> {
        if self.state == State::Head {
            return self.head(rest, pieces);
        }
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
        *rest = after;
        self.held.extend_from_slice(line);
        let limit = if self.state == State::Trailers { Self::HEAD } else { Self::CHUNK_LINE };
        if self.held.len() > limit {
            return Err(format!("the chunked body has a line of more than {limit} bytes"));
        }
        if end.is_none() {
            return Ok(false);
        }
        let line = std::mem::take(&mut self.held);
        let blank = line.trim_ascii().is_empty();
        self.state = match self.state {
            State::ChunkEnd if blank => State::ChunkSize,
            State::ChunkEnd => return Err(format!("a chunk is longer than its size says: {}", excerpt(&line))),
            State::Trailers if blank => {
                self.end(pieces);
                State::Done
            }
            State::Trailers => State::Trailers,
            _ => match chunk_size(&line) {
                Some(0) => State::Trailers,
                Some(size) => State::Chunk(size),
                None => return Err(format!("a chunk has no valid size: {}", excerpt(&line))),
            },
        };
        Ok(true)
    }

    fn head(&mut self, rest: &mut &[u8], pieces: &mut Vec<Piece>) -> Result<bool, String> {
        let before = self.held.len();
        let room = Self::HEAD.saturating_sub(before).min(rest.len());
        self.held.extend_from_slice(rest.get(..room).unwrap_or_default());
        // To parse again for each byte of a slow drip would cost the square of its length.
        let worth = self.held.len() < 1024 || rest.contains(&b'\n');
        if !worth && self.held.len() < Self::HEAD {
            *rest = &[];
            return Ok(false);
        }
        let mut headers = [httparse::EMPTY_HEADER; Self::HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(&self.held) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if self.held.len() >= Self::HEAD => {
                return Err(format!("the head of the answer is larger than {} bytes", Self::HEAD));
            }
            Ok(httparse::Status::Partial) => {
                *rest = &[];
                return Ok(false);
            }
            Err(httparse::Error::TooManyHeaders) => {
                return Err(format!("the answer has more than {} headers", Self::HEADERS));
            }
            Err(error) => return Err(format!("the answer is no HTTP/1 ({error}): {}", excerpt(&self.held))),
        };
        let status = response.code.unwrap_or_default();
        let named = response.headers.iter().map(|h| (h.name.to_owned(), Bytes::copy_from_slice(h.value)));
        let headers = Headers(named.collect());
        // Of what came now, the head took this much.
        *rest = rest.get(length.saturating_sub(before)..).unwrap_or_default();
        self.held.clear();
        if (100..200).contains(&status) && status != 101 {
            // An interim answer; the one that counts follows.
            return Ok(true);
        }
        let next = self.body(status, &headers)?;
        pieces.push(Piece::Head { status, headers });
        self.state = next;
        if next == State::Done {
            self.end(pieces);
        }
        Ok(true)
    }

    /// How the end of the body is told.
    fn body(&self, status: u16, headers: &Headers) -> Result<State, String> {
        if self.to_head || matches!(status, 101 | 204 | 304) {
            return Ok(State::Done);
        }
        let coding = |value: &Bytes| String::from_utf8_lossy(value).to_ascii_lowercase();
        let codings: Vec<String> = headers.all("transfer-encoding").map(coding).collect();
        match codings.last() {
            Some(last) if last.rsplit(',').next().is_some_and(|last| last.trim() == "chunked") => {
                return Ok(State::ChunkSize);
            }
            Some(_) => return Ok(State::Rest),
            None => {}
        }
        let mut length = None;
        for value in headers.all("content-length") {
            let text = String::from_utf8_lossy(value);
            let wrong = || format!("the answer has a content-length that is no length: {text:?}");
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong());
            }
            let value = text.parse::<u64>().map_err(|_| wrong())?;
            if length.is_some_and(|length| length != value) {
                return Err("the answer has two different content-lengths".to_owned());
            }
            length = Some(value);
        }
        Ok(match length {
            Some(0) => State::Done,
            Some(length) => State::Length(length, length),
            None => State::Rest,
        })
    }

    fn take(&mut self, left: u64, rest: &mut &[u8], pieces: &mut Vec<Piece>) -> u64 {
        let now = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
        let (data, after) = rest.split_at(now);
        *rest = after;
        self.data(data, pieces);
        now as u64
    }

    fn data(&mut self, data: &[u8], pieces: &mut Vec<Piece>) {
        self.received += data.len() as u64;
        if !data.is_empty() {
            pieces.push(Piece::Data(Bytes::copy_from_slice(data)));
        }
    }

    fn end(&mut self, pieces: &mut Vec<Piece>) {
        self.state = State::Done;
        pieces.push(Piece::End);
    }
}

/// The size before any extension, in hexadecimal.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(size).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u64::from_str_radix(text, 16).ok()
}

/// The beginning of some bytes, printable and short.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let shown = bytes.get(..SHOWN).unwrap_or(bytes).escape_ascii().to_string();
    if bytes.len() > SHOWN { format!("`{shown}…`") } else { format!("`{shown}`") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Status, body and whether the end came, with the bytes given in pieces of one size.
    fn read(bytes: &[u8], size: usize, method: &str) -> Result<(Option<u16>, Vec<u8>, bool), String> {
        let mut answer = Answer::new(method);
        let mut pieces = Vec::new();
        for piece in bytes.chunks(size.max(1)) {
            answer.push(piece, &mut pieces)?;
        }
        answer.finish(&mut pieces)?;
        let mut result = (None, Vec::new(), false);
        for piece in pieces {
            match piece {
                Piece::Head { status, .. } => result.0 = Some(status),
                Piece::Data(data) => result.1.extend_from_slice(&data),
                Piece::End => result.2 = true,
            }
        }
        Ok(result)
    }

    #[test]
    fn what_came_before_a_fault_is_kept() {
        let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n";
        let mut pieces = Vec::new();
        assert!(Answer::new("POST").push(bytes, &mut pieces).is_err());
        assert!(matches!(pieces.as_slice(), [Piece::Head { status: 200, .. }, Piece::Data(data)] if &data[..] == b"a"));
    }

    #[test]
    fn sound_answers() {
        let table: &[(&str, &str, u16, &str)] = &[
            ("POST", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloEXTRA", 200, "hello"),
            ("POST", "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", 202, ""),
            ("POST", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, ""),
            ("GET", "HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end"),
            (
                "GET",
                "HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0A\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
                200,
                "hello0123456789",
            ),
            (
                "GET",
                "HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\nx",
                404,
                "x",
            ),
            (
                "GET",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
                200,
                "ok",
            ),
        ];
        for (method, text, status, body) in table {
            for size in [1, 2, 3, 7, 1000] {
                let expected = Ok((Some(*status), body.as_bytes().to_vec(), true));
                assert_eq!(read(text.as_bytes(), size, method), expected, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn broken_answers_say_what_is_wrong() {
        let table: &[(&str, &str)] = &[
            ("", "before an answer came"),
            ("HTTP/1.1 200 OK\r\ncontent", "inside the head"),
            ("SSH-2.0-OpenSSH_9.6\r\n", "no HTTP/1"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello", "after 5 of 9"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhello", "two different"),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nhello", "no length"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\nhello", "no length"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "before the last chunk"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n", "longer than its size"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "no valid size"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "no valid size"),
        ];
        for (text, message) in table {
            for size in [1, 5, 1000] {
                let error = read(text.as_bytes(), size, "POST").unwrap_err();
                assert!(error.contains(message), "{text:?}: {error}");
            }
        }
    }

    #[test]
    fn an_endless_head_is_bounded() {
        let mut answer = Answer::new("GET");
        answer.push(b"HTTP/1.1 200 OK\r\nx: ", &mut Vec::new()).unwrap();
        let error = (0..10_000).find_map(|_| answer.push(&[b'a'; 1024], &mut Vec::new()).err()).unwrap();
        assert!(error.contains("larger than"), "{error}");
        assert!(answer.held.len() <= Answer::HEAD);
    }

    proptest! {
        #[test]
        fn never_panics_and_ignores_the_pieces(tail in prop::collection::vec(any::<u8>(), 0..200), kind in 0..4usize, size in 1..20usize) {
            let starts: [&[u8]; 4] = [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n"];
            let bytes = [starts[kind], &tail].concat();
            prop_assert_eq!(read(&bytes, size, "GET").is_ok(), read(&bytes, usize::MAX, "GET").is_ok());
            if let (Ok(one), Ok(other)) = (read(&bytes, size, "GET"), read(&bytes, usize::MAX, "GET")) {
                prop_assert_eq!(one, other);
            }
        }
    }
}

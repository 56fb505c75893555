//! Progress notifications: whom they are about, that they grow, and that they stop.
//!
//! Progress for a request that has its answer is told under the requirement to stop; that only active requests are meant
//! is counted under it. A token of another type is told as such, and not also as a token
//! that nobody gave.

use std::{collections::VecDeque, time::Duration};

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, Request, RequestKey, Row, Rule, Seen, Shape, Verdicts,
    bounded::Bounded,
    register::Definition,
    seen::{clip, show},
};
use crate::{
    trace::{Event, Exchange, Transport},
    wire::{Id, Json, Number},
};

static SHAPE: Row = Row::both("progress-values-are-numbers", Revision::V2024_11_05, "progress-params-shape");
static MESSAGE: Row = Row::both("progress-message-human-readable", Revision::V2025_03_26, "progress-message-readable");
static ACTIVE: Row = Row::both("progress-token-from-active-request", Revision::V2024_11_05, "progress-active-only");
static GROWS: Row = Row::both("progress-strictly-increases", Revision::V2024_11_05, "progress-strictly-increasing");
pub(super) static STOPS: Row =
    Row::both("progress-stops-after-completion", Revision::V2024_11_05, "progress-stops-after-completion");
static RATE: Row = Row::both("progress-rate-limited", Revision::V2024_11_05, "progress-rate-limited");
static NEEDS: Row = Row::modern("progress-needs-token");
static ECHO: Row = Row::both("progress-token-echoed-with-type", Revision::V2024_11_05, "progress-token-echo");
static OWN_TYPE: Row = Row::legacy("progress-server-token-type", Revision::V2024_11_05);
static OWN_UNIQUE: Row = Row::legacy("progress-server-token-unique", Revision::V2024_11_05);

pub(super) static DEFINITION: Definition = Definition {
    name: "progress",
    title: "Progress grows, keeps its token and stops with the answer",
    about: "Each progress notification is tied to our newest request with its token. Values are compared along one stream; \
            after the answer, and for tokens that no request gave, progress breaks the requirement. What follows a cancel, a \
            task or a resumed stream is left to other checks.",
    rows: &[SHAPE, MESSAGE, ACTIVE, GROWS, STOPS, RATE, NEEDS, ECHO, OWN_TYPE, OWN_UNIQUE],
    make: || Box::new(Progress { tracks: Bounded::new(MOST_TRACKS), own: Vec::new(), own_lost: false }),
};

const MOST_TRACKS: usize = 4_096;
const MOST_OWN: usize = 512;

struct Progress {
    tracks: Bounded<(RequestKey, Option<Exchange>), Track>,
    /// Ids and tokens of the server's own requests that have no answer yet.
    own: Vec<(String, String)>,
    /// Some of them were dropped for memory.
    own_lost: bool,
}

/// The progress of one request on one stream.
struct Track {
    last: Number,
    recent: VecDeque<Duration>,
    flood_told: bool,
}

impl Rule for Progress {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.messages(event) {
            if !seen.is_incoming() {
                self.settled(&seen);
            } else if seen.is_notification("notifications/progress") {
                self.progress(&seen, event.at, context, out);
            } else if seen.shape == Shape::Request && context.era() == Era::Legacy {
                self.own_request(&seen, context, out);
            } else if seen.is_notification("notifications/cancelled") {
                let id = Id::of(seen.get("/params/requestId")).key();
                self.own.retain(|(own, _)| *own != id);
            }
            if let Some(answer) = seen.answer.filter(|answer| !answer.again)
                && let Some(key) = answer.request
                && self.tracks.get(&(key, seen.exchange())).is_some()
            {
                out.occasion(&STOPS, context);
            }
        }
    }
}

impl Progress {
    fn progress(&mut self, seen: &Seen<'_>, at: Duration, context: &Context, out: &mut Verdicts) {
        let breach = shape(seen);
        let broken = breach.is_some();
        out.check(&SHAPE, context, breach);
        if broken {
            return;
        }
        if let Some(text) = seen.get("/params/message").and_then(Json::as_str) {
            let text = text.trim();
            let dump = text.starts_with(['{', '[']) && Json::parse(text.as_bytes()).is_ok();
            let what = match (text.is_empty(), dump && context.era() == Era::Modern) {
                (true, _) => Some("the message of a progress notification is empty"),
                (_, true) => Some("the message of a progress notification is JSON, not text for people"),
                _ => None,
            };
            out.check(&MESSAGE, context, what.map(|what| Breach::at(seen, "/params/message", what)));
        }
        let token = Id::of(seen.get("/params/progressToken"));
        let exact = |request: &&Request| request.token.as_ref().is_some_and(|given| given.same(&token));
        let alive = |request: &&Request| request.answered.is_none();
        let mut given = context.with_token(&token).filter(exact);
        let found = context.with_token(&token).filter(exact).find(alive).or_else(|| given.next());
        match found {
            Some(request) => {
                out.occasion(&NEEDS, context);
                out.occasion(&ECHO, context);
                self.known(seen, request, at, context, out);
            }
            None => unknown(seen, &token, context, out),
        }
    }

    fn known(&mut self, seen: &Seen<'_>, request: &Request, at: Duration, context: &Context, out: &mut Verdicts) {
        let resumes = seen.exchange().and_then(|it| context.exchange(it)).is_some_and(|exchange| exchange.resumes);
        let about = |breach: Breach| breach.about(Some(request.key));
        let ambiguous = request.twin || request.shared_token;
        if request.answered.is_some()
            && request.cancelled.is_none()
            && !request.task
            && !resumes
            && !request.replayed
            && !ambiguous
        {
            let id = clip(&request.id.to_string());
            let what = format!("progress for the request {} with the id {id}, which has its answer", request.method);
            let breach = about(Breach::at(seen, "/params/progressToken", what));
            // On another stream the two may have crossed.
            let crossed = seen.exchange() != request.exchange;
            let breach = if crossed { breach.warning() } else { breach };
            out.check(&STOPS, context, Some(breach.clone()));
            // 2025-11-25 leaves the tokens of finished requests to the requirement to stop.
            let active = (context.era() == Era::Modern).then(|| breach.under(&STOPS));
            out.check(&ACTIVE, context, active);
            return;
        }
        out.occasion(&ACTIVE, context);
        let Some(value) = seen.get("/params/progress").and_then(Json::as_number) else { return };
        if resumes || ambiguous {
            return;
        }
        let key = (request.key, seen.exchange());
        if let Some(track) = self.tracks.get_mut(&key) {
            let (last, next) = (track.last.as_f64(), value.as_f64());
            let grew = next > last || (next == last && !value.same_value(&track.last));
            let what = || format!("progress goes from {} to {}", track.last, value);
            out.check(&GROWS, context, (!grew).then(|| about(Breach::at(seen, "/params/progress", what()))));
            track.last = value.clone();
            track.recent.push_back(at);
        } else {
            let track = Track { last: value.clone(), recent: VecDeque::from([at]), flood_told: false };
            self.tracks.insert(key, track);
        }
        out.occasion(&RATE, context);
        let most = if context.era() == Era::Legacy { 50 } else { 100 };
        let Some(track) = self.tracks.get_mut(&key) else { return };
        while track.recent.front().is_some_and(|first| at.saturating_sub(*first) > Duration::from_secs(1)) {
            track.recent.pop_front();
        }
        if track.recent.len() > most {
            if !track.flood_told {
                track.flood_told = true;
                let what = format!("more than {most} progress notifications within a second");
                out.broken(&RATE, context, about(Breach::at(seen, "", what)));
            }
            track.recent.pop_front();
        }
    }

    /// A request of the server may ask us for progress.
    fn own_request(&mut self, seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
        let Some(token) = seen.get("/params/_meta").and_then(|meta| meta.get("progressToken")) else { return };
        let pointer = "/params/_meta/progressToken";
        let fits = token.as_str().is_some() || token.as_number().is_some_and(Number::is_integer);
        let what = || format!("progressToken is {}, no string or integer", show(Some(token)));
        out.check(&OWN_TYPE, context, (!fits).then(|| Breach::at(seen, pointer, what())));
        let tied = context.transport() == Transport::Stdio || context.has_session();
        let resumes = seen.exchange().and_then(|it| context.exchange(it)).is_some_and(|exchange| exchange.resumes);
        if !fits || !tied || resumes || self.own_lost {
            return;
        }
        let (id, token) = (Id::of(seen.json.get("id")).key(), Id::of(Some(token)));
        let key = token.key();
        let shared = self.own.iter().any(|(own, given)| *given == key && *own != id);
        let what = || format!("the token {} is already in use by another request in flight", clip(&token.to_string()));
        out.check(&OWN_UNIQUE, context, shared.then(|| Breach::at(seen, pointer, what())));
        self.own.push((id, key));
        if self.own.len() > MOST_OWN {
            self.own.clear();
            self.own_lost = true;
        }
    }

    /// An answer of ours ends a request of the server.
    fn settled(&mut self, seen: &Seen<'_>) {
        if matches!(seen.shape, Shape::Response { .. }) {
            let id = Id::of(seen.json.get("id")).key();
            self.own.retain(|(own, _)| *own != id);
        }
    }
}

fn shape(seen: &Seen<'_>) -> Option<Breach> {
    let breach = |pointer: &str, what: String| Some(Breach::at(seen, pointer, what));
    let Some(params) = seen.json.get("params").filter(|params| params.as_object().is_some()) else {
        return breach("", "a progress notification without params".to_owned());
    };
    match params.get("progressToken") {
        None => return breach("/params", "progressToken is missing".to_owned()),
        Some(token) => {
            let fits = token.as_str().is_some() || token.as_number().is_some_and(Number::is_integer);
            if !fits {
                let what = format!("progressToken is {}, no string or integer", show(Some(token)));
                return breach("/params/progressToken", what);
            }
        }
    }
    for (name, required) in [("progress", true), ("total", false)] {
        match params.get(name) {
            None if required => return breach("/params", format!("{name} is missing")),
            Some(value) if value.as_number().is_none() => {
                return breach(&format!("/params/{name}"), format!("{name} is {}, no number", show(Some(value))));
            }
            _ => {}
        }
    }
    match params.get("message") {
        Some(text) if text.as_str().is_none() => {
            breach("/params/message", format!("message is {}, no string", show(Some(text))))
        }
        _ => None,
    }
}

/// No request of ours gave exactly this token.
fn unknown(seen: &Seen<'_>, token: &Id, context: &Context, out: &mut Verdicts) {
    if context.forgot() || context.raw() || context.legible(token) {
        return;
    }
    let shown = clip(&token.to_string());
    let alike =
        context.with_token(token).find(|request| request.token.as_ref().is_some_and(|given| given.loosely(token)));
    let pointer = "/params/progressToken";
    match alike {
        Some(request) => {
            out.occasion(&NEEDS, context);
            let given = request.token.as_ref().map(Id::to_string).unwrap_or_default();
            let what = format!("the token {} came back as {shown}", clip(&given));
            out.check(&ECHO, context, Some(Breach::at(seen, pointer, what).about(Some(request.key))));
        }
        None => {
            let what = format!("progress for the token {shown}, which no request gave");
            let row = if context.era() == Era::Modern { &NEEDS } else { &ACTIVE };
            out.check(row, context, Some(Breach::at(seen, pointer, what)));
        }
    }
}

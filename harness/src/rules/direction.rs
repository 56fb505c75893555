//! Who may send what: requests of the server, the methods it may use, and notifications that belong to nothing.
//!
//! A request of the server under 2026-07-28 is told once, under the requirement that holds on every transport; those of
//! stdio, of event streams and of the overview are counted under it.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, Row, Rule, Seen, Shape, Verdicts,
    bounded::{Remembered, hash},
    register::Definition,
    seen::{clip, show},
};
use crate::{
    trace::{Body, Channel, Event, Transport},
    wire::Id,
};

static ID_TYPE: Row = Row::legacy("base-request-has-string-or-integer-id", Revision::V2024_11_05);
static ID_NULL: Row = Row::legacy("base-request-id-not-null", Revision::V2024_11_05);
static ID_REUSED: Row = Row::legacy("base-request-id-never-reused", Revision::V2024_11_05);
static METHODS: Row = Row::legacy("base-server-sends-only-server-methods", Revision::V2024_11_05);
static NO_REQUESTS: Row = Row::modern("no-server-initiated-requests");
static NO_REQUESTS_STDIO: Row = Row::modern("stdio-no-requests");
static NO_REQUESTS_SSE: Row = Row::modern("http-sse-no-requests");
static DIRECTIONS: Row = Row::modern("transport-no-other-directions");
static KINDS: Row = Row::modern("stdio-notification-kinds");

pub(super) static DEFINITION: Definition = Definition {
    name: "direction",
    title: "The server sends only what a server sends",
    about: "Under 2025-11-25 requests of the server have fresh ids that are strings or integers, and methods of the client \
            never come from the server. Under 2026-07-28 the server sends no request at all, and on stdio no notification \
            while no request is in flight. A modern conversation in which a legacy initialize was accepted, or \
            no modern request was sent yet, is not held to the latter.",
    rows: &[ID_TYPE, ID_NULL, ID_REUSED, METHODS, NO_REQUESTS, NO_REQUESTS_STDIO, NO_REQUESTS_SSE, DIRECTIONS, KINDS],
    make: || Box::new(Directions { ids: Remembered::new(MOST_IDS), redelivered: Remembered::new(MOST_IDS) }),
};

/// Ids of the server that are kept to notice a repeat.
const MOST_IDS: usize = 65_536;

/// What the schema of 2025-11-25 has for clients alone.
const CLIENT_METHODS: [&str; 14] = [
    "initialize",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "tools/call",
    "tools/list",
    "notifications/initialized",
    "notifications/roots/list_changed",
];

struct Directions {
    ids: Remembered,
    redelivered: Remembered,
}

impl Rule for Directions {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        let again = self.is_redelivery(event, context);
        for seen in context.incoming(event) {
            if context.era() == Era::Legacy {
                self.legacy(&seen, again, context, out);
            } else if context.modern_sent() && !context.legacy_served() {
                modern(&seen, context, out);
            }
        }
    }
}

impl Directions {
    /// The same event of a stream was seen before, or the stream replays what was sent.
    fn is_redelivery(&mut self, event: &Event, context: &Context) -> bool {
        let Body::Sse(sse) = &event.body else { return false };
        let before = sse.id.as_ref().and_then(|id| self.redelivered.note(hash((id, &sse.data)), event.seq));
        before.is_some() || context.exchange(sse.exchange).is_some_and(|exchange| exchange.resumes)
    }

    fn legacy(&mut self, seen: &Seen<'_>, again: bool, context: &Context, out: &mut Verdicts) {
        let Some(method) = seen.method() else { return };
        let breach = CLIENT_METHODS.contains(&method);
        let breach =
            breach.then(|| Breach::at(seen, "/method", format!("the server sends {method}, which is the client's")));
        out.check(&METHODS, context, breach);
        // An id on a notification is told by `envelope`.
        if seen.shape != Shape::Request || method.starts_with("notifications/") {
            return;
        }
        let id = Id::of(seen.json.get("id"));
        let null = matches!(id, Id::Null);
        out.check(
            &ID_NULL,
            context,
            null.then(|| Breach::at(seen, "/id", format!("the request {method} has the id null"))),
        );
        if null {
            return;
        }
        let legal = match &id {
            Id::String(_) => true,
            Id::Number(number) => number.is_integer(),
            _ => false,
        };
        let breach = (!legal).then(|| {
            let found = show(seen.json.get("id"));
            Breach::at(seen, "/id", format!("the request {method} has the id {found}, no string or integer"))
        });
        out.check(&ID_TYPE, context, breach);
        // Without a session nothing ties two exchanges together: each may have met another instance.
        if !legal || again || (context.transport() == Transport::Http && !context.has_session()) {
            return;
        }
        let before = self.ids.note(hash(id.key()), seen.event);
        let breach = before.map(|event| {
            Breach::at(seen, "/id", format!("the id {} was used before, at event {event}", clip(&id.to_string())))
        });
        out.check(&ID_REUSED, context, breach);
    }
}

fn modern(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let notification = seen.method().is_some_and(|method| method.starts_with("notifications/"));
    let breach = (seen.shape == Shape::Request && !notification).then(|| {
        Breach::at(seen, "/method", format!("the server sends the request {}", clip(seen.method().unwrap_or_default())))
    });
    let under = breach.clone().map(|breach| breach.under(&NO_REQUESTS));
    out.check(&NO_REQUESTS, context, breach);
    out.check(&DIRECTIONS, context, under.clone());
    match seen.channel {
        Channel::Stdio => out.check(&NO_REQUESTS_STDIO, context, under),
        Channel::Sse { .. } => out.check(&NO_REQUESTS_SSE, context, under),
        _ => {}
    }
    if seen.channel == Channel::Stdio && notification {
        kinds(seen, context, out);
    }
}

/// A notification on stdout belongs to a request in flight. Those that say what they belong to are judged by what they
/// say, in `progress` and `subscriptions`.
fn kinds(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    const TAG: &str = "io.modelcontextprotocol/subscriptionId";
    let method = seen.method().unwrap_or_default();
    let tagged = seen.get("/params/_meta").is_some_and(|meta| meta.get(TAG).is_some());
    if tagged || ["notifications/progress", "notifications/cancelled"].contains(&method) {
        return;
    }
    let belongs = context.in_flight().next().is_some();
    // After raw bytes or a forgotten request nobody knows what may still be going on in the server.
    if !belongs && (context.raw() || context.odd() || context.forgot()) {
        return;
    }
    let breach =
        (!belongs).then(|| Breach::at(seen, "/method", format!("{} while no request is in flight", clip(method))));
    out.check(&KINDS, context, breach);
}

//! Subscriptions of 2026-07-28: acknowledged first, tagged with the listen id, only what was asked for, silent after the end.
//!
//! What comes ahead of the acknowledgement is told under the requirement that forbids just that, and counted under it for
//! the one that wants the acknowledgement first; that one tells of a subscription that is never acknowledged.

use serde_json::Value;

use super::{
    Breach, Context, Request, RequestKey, Row, Rule, Seen, Shape, Verdicts,
    bounded::Bounded,
    register::Definition,
    seen::{clip, show},
};
use crate::{
    trace::{Body, Channel, Event, ExchangeEnd},
    wire::{Id, Json},
};

static FIRST: Row = Row::modern("sub-ack-first");
static CARRIES: Row = Row::modern("sub-ack-carries-id");
static TAG: Row = Row::modern("sub-id-equals-listen-id");
static FILTER: Row = Row::modern("sub-ack-filter-required");
static BEFORE: Row = Row::modern("sub-nothing-before-ack");
static TYPES: Row = Row::modern("sub-only-requested-types");
static END: Row = Row::modern("sub-result-only-at-end");

pub(super) static DEFINITION: Definition = Definition {
    name: "subscriptions",
    title: "A subscription is acknowledged first and holds what was asked for",
    about: "Each subscriptions/listen of ours is followed by its stream over HTTP, by its tag on stdio. The first message \
            has to be the acknowledgement with the tag and the filter; tags equal the listen id by type and value; only \
            types that were asked for come, and nothing after the result. A listen that is refused is not judged.",
    rows: &[FIRST, CARRIES, TAG, FILTER, BEFORE, TYPES, END],
    make: || Box::new(Subscriptions { listens: Bounded::new(1_024), unassigned: false }),
};

const KEY: &str = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

struct Subscriptions {
    listens: Bounded<RequestKey, Listen>,
    /// An acknowledgement without a tag came that may be of any of several listens.
    unassigned: bool,
}

#[derive(Default)]
struct Listen {
    acknowledged: bool,
    /// The result, or the end that we made.
    ended: Option<u64>,
    told: bool,
}

impl Rule for Subscriptions {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            if let Some(key) = seen.answer.filter(|answer| !answer.again).and_then(|answer| answer.request) {
                if let Some(request) = context.request(key).filter(|request| is_listen(request)) {
                    self.answered(&seen, request, context, out);
                }
            } else if seen.method().is_some_and(|method| method.starts_with("notifications/")) {
                self.notification(&seen, context, out);
            }
        }
        match &event.body {
            Body::DeadlinePassed(_) | Body::Drained => {
                let drained = matches!(event.body, Body::Drained);
                for request in context.in_flight().filter(|request| is_listen(request)) {
                    if drained || request.deadline.is_some() {
                        self.never(event.seq, request, context, out);
                    }
                }
            }
            Body::ExchangeEnded { exchange, end: ExchangeEnd::Complete } => {
                let state = context.exchange(*exchange);
                let served = state.filter(|state| state.status == Some(200)).into_iter();
                for request in served.flat_map(|state| &state.requests).filter_map(|key| context.request(*key)) {
                    if is_listen(request) && request.answered.is_none() {
                        self.never(event.seq, request, context, out);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Subscriptions {
    fn state(&mut self, key: RequestKey) -> Option<&mut Listen> {
        if self.listens.get(&key).is_none() {
            self.listens.insert(key, Listen::default());
        }
        self.listens.get_mut(&key)
    }

    fn answered(&mut self, seen: &Seen<'_>, request: &Request, context: &Context, out: &mut Verdicts) {
        let Shape::Response { result: true, error: false } = seen.shape else { return };
        let Some(listen) = self.state(request.key) else { return };
        listen.ended = Some(seen.event);
        let acknowledged = listen.acknowledged;
        out.occasion(&END, context);
        if !acknowledged && request.is_sound() {
            let what = "the subscription has its result without an acknowledgement";
            out.check(&FIRST, context, Some(Breach::at(seen, "", what)));
        }
    }

    fn notification(&mut self, seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
        let ack = seen.is_notification(ACKNOWLEDGED);
        let tag = seen.get("/params/_meta").and_then(|meta| meta.get(KEY));
        let id = tag.map(|tag| Id::of(Some(tag)));
        let on_stream = stream_of(seen, context);
        if on_stream.is_none() && id.as_ref().is_some_and(|id| self.shared(id, ack, context)) {
            return;
        }
        let request = on_stream.or_else(|| self.meant(id.as_ref(), ack, seen, context));
        if let (Some(tag), Some(id)) = (tag, &id)
            && !(request.is_none() && (context.forgot() || context.odd()))
            && (request.is_some() || context.with_id(id).next().is_none())
        {
            let what = match request {
                Some(request) if request.id.same(id) => None,
                Some(request) => {
                    let given = clip(&request.id.to_string());
                    Some(format!("the tag is {}, the listen request has the id {given}", show(Some(tag))))
                }
                None => Some(format!("the tag is {}, and no listen request has that id", show(Some(tag)))),
            };
            let breach = what.map(|what| at_tag(seen, what).about(request.map(|request| request.key)));
            out.check(&TAG, context, breach);
        }
        if tag.is_none() && !ack {
            self.untagged(seen, on_stream, context, out);
        }
        let Some(request) = request.filter(|request| is_listen(request)) else {
            if ack && tag.is_none() && context.in_flight().any(|request| is_listen(request) && request.is_sound()) {
                self.unassigned = true;
                let what = "the acknowledgement has no subscriptionId in _meta";
                out.check(&CARRIES, context, Some(Breach::at(seen, "/params", what)));
            }
            return;
        };
        let about = |breach: Breach| breach.about(Some(request.key));
        if ack {
            if tag.is_none() {
                let what = "the acknowledgement has no subscriptionId in _meta";
                out.check(&CARRIES, context, Some(about(Breach::at(seen, "/params", what))));
            } else {
                out.occasion(&CARRIES, context);
            }
            let wrong = filter(seen);
            out.check(&FILTER, context, wrong.map(|(pointer, what)| about(Breach::at(seen, &pointer, what))));
        } else if tag.is_none() && on_stream.is_none() {
            return;
        }
        let Some(listen) = self.state(request.key) else { return };
        if !listen.acknowledged && !listen.told {
            // One early message is told; that the acknowledgement was not the first follows from it.
            let what = || format!("{} comes ahead of the acknowledgement", clip(seen.method().unwrap_or_default()));
            let early = (!ack).then(|| about(Breach::at(seen, "/method", what())));
            out.check(&BEFORE, context, early.clone());
            out.check(&FIRST, context, early.map(|breach| breach.under(&BEFORE)));
            listen.told = !ack;
        }
        listen.acknowledged |= ack;
        if ack {
            return;
        }
        if let Some(end) = listen.ended {
            let what = format!("a message of a subscription that ended at event {end}");
            out.check(&END, context, Some(about(Breach::at(seen, "/method", what))));
        }
        if request.is_sound()
            && let Some(wanted) = wanted(seen, request)
        {
            let method = clip(seen.method().unwrap_or_default());
            let what = || format!("{method} was not asked for");
            out.check(&TYPES, context, (!wanted).then(|| about(Breach::at(seen, "/method", what()))));
        }
    }

    /// Whether more than one request of ours had an id, so that it is open which of them a tag means. What may have
    /// acknowledged one of them has.
    fn shared(&mut self, id: &Id, ack: bool, context: &Context) -> bool {
        let (mut shared, mut listens) = (false, Vec::new());
        for (count, request) in context.with_id(id).enumerate() {
            shared |= count > 0 || request.twin;
            listens.extend(Some(request.key).filter(|_| is_listen(request)));
        }
        if shared && ack {
            for key in listens {
                self.state(key).into_iter().for_each(|listen| listen.acknowledged = true);
            }
        }
        shared
    }

    /// What a subscription asked for came without its tag.
    fn untagged(&self, seen: &Seen<'_>, on_stream: Option<&Request>, context: &Context, out: &mut Verdicts) {
        let waits = |request: &&Request| {
            is_listen(request)
                && request.is_sound()
                && self.listens.get(&request.key).is_some_and(|listen| listen.acknowledged)
                && wanted(seen, request) == Some(true)
        };
        // On stdio the legacy side of a server may mean it.
        let shared = seen.channel == Channel::Stdio && !context.legacy_served() && !context.forgot();
        let request = on_stream.or_else(|| shared.then(|| context.in_flight().find(waits)).flatten());
        if let Some(request) = request.filter(|request| wanted(seen, request).is_some()) {
            let what = format!("{} has no subscriptionId in _meta", clip(seen.method().unwrap_or_default()));
            out.check(&TAG, context, Some(Breach::at(seen, "/params", what).about(Some(request.key))));
        }
    }

    /// The listen that a message on stdio is about: by its tag, or the only one that waits for its acknowledgement.
    fn meant<'a>(&self, id: Option<&Id>, ack: bool, seen: &Seen<'_>, context: &'a Context) -> Option<&'a Request> {
        if seen.channel != Channel::Stdio {
            return None;
        }
        if let Some(found) = id.and_then(|id| context.with_id(id).find(|request| is_listen(request))) {
            return Some(found);
        }
        let open = || context.in_flight().filter(|request| is_listen(request));
        if let Some(found) = id.and_then(|id| open().find(|request| request.id.loosely(id))) {
            return Some(found);
        }
        let acknowledged = |request: &Request| self.listens.get(&request.key).is_some_and(|listen| listen.acknowledged);
        let mut waiting = open().filter(|request| !acknowledged(request));
        match (ack, waiting.next(), waiting.next()) {
            (true, Some(request), None) => Some(request),
            _ => None,
        }
    }

    /// Nothing acknowledged the subscription, and nothing can or will any more.
    fn never(&mut self, seq: u64, request: &Request, context: &Context, out: &mut Verdicts) {
        let excused = request.is_excused() || !request.is_sound();
        let garbled = context.stray() > 0 || context.garbled().is_some_and(|event| event > request.event);
        let unassigned = self.unassigned;
        let Some(listen) = self.state(request.key) else { return };
        // An answer of another kind than a stream is told by `http`.
        let mistyped = request.response.is_some_and(|(_, stream)| !stream);
        if listen.acknowledged || listen.told || excused || garbled || mistyped || unassigned {
            return;
        }
        listen.told = true;
        let id = clip(&request.id.to_string());
        let what = format!("the subscription {id} was never acknowledged");
        out.check(&FIRST, context, Some(Breach::new(seq, "", what).about(Some(request.key))));
    }
}

fn is_listen(request: &Request) -> bool {
    &*request.method == "subscriptions/listen"
}

/// The listen whose HTTP stream carries the message.
fn stream_of<'a>(seen: &Seen<'_>, context: &'a Context) -> Option<&'a Request> {
    let Channel::Sse { exchange } = seen.channel else { return None };
    let mut requests = context.exchange(exchange)?.requests.iter().filter_map(|key| context.request(*key));
    requests.find(|request| is_listen(request))
}

fn at_tag(seen: &Seen<'_>, what: String) -> Breach {
    Breach::at(seen, "/params/_meta/io.modelcontextprotocol~1subscriptionId", what)
}

/// What is wrong with the filter of an acknowledgement.
fn filter(seen: &Seen<'_>) -> Option<(String, String)> {
    let Some(filter) = seen.get("/params/notifications") else {
        return Some(("/params".to_owned(), "the acknowledgement has no filter".to_owned()));
    };
    let here = "/params/notifications".to_owned();
    if filter.as_object().is_none() {
        return Some((here, format!("the filter is {} instead of an object", show(Some(filter)))));
    }
    for name in ["promptsListChanged", "resourcesListChanged", "toolsListChanged"] {
        if let Some(flag) = filter.get(name).filter(|flag| flag.as_bool().is_none()) {
            return Some((format!("{here}/{name}"), format!("{name} is {}, no boolean", show(Some(flag)))));
        }
    }
    let uris = filter.get("resourceSubscriptions")?;
    let fits = uris.as_array().is_some_and(|uris| uris.iter().all(|uri| uri.as_str().is_some()));
    (!fits).then(|| {
        (
            format!("{here}/resourceSubscriptions"),
            format!("resourceSubscriptions is {}, no list of strings", show(Some(uris))),
        )
    })
}

/// Whether the filter of the request asks for the type; nothing where no filter speaks of it.
fn wanted(seen: &Seen<'_>, request: &Request) -> Option<bool> {
    let filter = request.filter.as_ref().and_then(Value::as_object)?;
    let flag = |name: &str| Some(filter.get(name) == Some(&Value::Bool(true)));
    match seen.method()? {
        "notifications/prompts/list_changed" => flag("promptsListChanged"),
        "notifications/resources/list_changed" => flag("resourcesListChanged"),
        "notifications/tools/list_changed" => flag("toolsListChanged"),
        "notifications/resources/updated" => {
            let uris = filter.get("resourceSubscriptions").and_then(Value::as_array);
            let updated = seen.get("/params/uri").and_then(Json::as_str)?;
            // An update may name a part of what was subscribed to.
            let covers = |uri: &Value| uri.as_str().is_some_and(|uri| updated.starts_with(uri.trim_end_matches('/')));
            Some(uris.is_some_and(|uris| uris.iter().any(covers)))
        }
        _ => None,
    }
}

//! A conversation over HTTP as lines of curl.

use std::{sync::Arc, time::Duration};

use super::{
    choice::{
        Choice, Handed, LAST_EVENT_ID, SESSION, StreamPlace, bytes_of, contains, handed, invents_session, resumed,
        sessions,
    },
    line::WebPlace,
    pipe::{cut_out, pause},
    shell::{Variables, printf, word},
};
use crate::trace::{Body, Event, ExchangeEnd, HttpRequest};

/// What an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// What a stream is followed for, where it is not its end that is waited for.
const FOLLOWED: Duration = Duration::from_secs(2);

/// Nothing where a request cannot be said so.
pub(super) fn lines(events: &[Arc<Event>], choice: &Choice<'_>, place: &WebPlace) -> Option<String> {
    let handed = handed(events, &choice.said);
    let mut variables = Variables::default();
    let mut out = String::new();
    let mut behind: Vec<String> = Vec::new();
    // Ids of events are short, and stand for themselves in the header alone.
    let mut ids: Vec<((u32, String), String)> = Vec::new();
    let mut streams: Vec<String> = Vec::new();
    if let Some(serve) = &place.serve {
        // Whatever it answers: it is up.
        let up = format!("curl -s -o /dev/null -m 2 --retry 30 --retry-connrefused --retry-delay 1 {}", place.url);
        out.push_str(&format!("{serve} & server=$!; {up}; "));
    }
    for (index, event) in choice.said.iter().enumerate() {
        let Body::HttpRequest(request) = &event.body else { continue };
        let next = choice.said.get(index + 1);
        let ended = end_of(events, request);
        let takes = takes(events, request, &handed, &variables, next.is_some());
        let places: Vec<StreamPlace> = choice
            .said
            .iter()
            .filter_map(|later| match &later.body {
                Body::HttpRequest(later_request) if later.seq > event.seq => resumed(events, later_request, later.seq),
                _ => None,
            })
            .filter(|place| place.exchange == request.exchange)
            .collect();
        // One that is still open when the next is sent runs beside it; what a later one needs of it is waited for.
        let by_itself = ended.is_some_and(|ended| !closed_by_us(ended));
        let needed = by_itself && !(takes.is_empty() && places.is_empty());
        let beside = !needed && next.is_some_and(|next| ended.is_none_or(|ended| ended.seq > next.seq));
        let time = match ended {
            Some(ended) if beside => (ended.at.saturating_sub(event.at) + Duration::from_secs(1)).min(ANSWER),
            None if beside => ANSWER,
            _ if next.is_none() => choice.wait * 2 + FOLLOWED,
            _ => ANSWER,
        };
        let place_in_stream = resumed(events, request, event.seq);
        let known = |place: &StreamPlace| {
            let mut taken = ids.iter().filter(|((of, id), _)| *of == place.exchange && *id == place.id);
            taken.next().map(|(_, name)| name.as_str())
        };
        // What a server made up in the run that is over is worth nothing in another.
        let from = match &place_in_stream {
            Some(place) => Some(known(place)?),
            None => None,
        };
        if stale(events, event, request, &handed, &variables) {
            return None;
        }
        let command = command(request, place, time, &variables, from)?;
        if beside {
            let name = format!("p{index}");
            out.push_str(&format!("{command} & {name}=$!; "));
            // A stream of the server's need not end by itself.
            if by_itself { &mut behind } else { &mut streams }.push(format!("\"${name}\""));
            if let Some(pause) = next.and_then(|next| pause(events, event, next)) {
                out.push_str(&format!("sleep {:.1}; ", pause.as_secs_f64()));
            }
        } else if takes.is_empty() && places.is_empty() {
            out.push_str(&format!("{command}; echo; "));
        } else {
            let answer = format!("a{index}");
            out.push_str(&format!("{answer}=$({command}); printf '%s\\n' \"${answer}\"; "));
            for (number, (value, cut)) in takes.into_iter().enumerate() {
                let name = format!("v{index}_{number}");
                out.push_str(&format!("{name}=$(printf '%s\\n' \"${answer}\" | tr -d '\\r' | {cut} | tail -n 1); "));
                variables.set(value.as_bytes(), name);
            }
            for (number, place) in places.into_iter().enumerate() {
                let name = format!("e{index}_{number}");
                let cut = format!("sed -n 's/^id: *//p' | sed -n {}p", place.number);
                out.push_str(&format!("{name}=$(printf '%s\\n' \"${answer}\" | tr -d '\\r' | {cut}); "));
                ids.push(((place.exchange, place.id), name));
            }
        }
    }
    if !behind.is_empty() {
        out.push_str(&format!("wait {}; ", behind.join(" ")));
    }
    if !streams.is_empty() {
        out.push_str(&format!("sleep 0.5; kill {} 2>/dev/null; ", streams.join(" ")));
    }
    if place.serve.is_some() {
        out.push_str("kill \"$server\" 2>/dev/null; ");
    }
    Some(out.trim_end_matches([' ', ';']).to_owned())
}

/// Whether a request would say a value of the recorded run that nothing here takes out of an answer.
fn stale(
    events: &[Arc<Event>],
    event: &Event,
    request: &HttpRequest,
    handed: &[Handed],
    variables: &Variables,
) -> bool {
    let held = |value: &str| variables.holds(value.as_bytes());
    let said = |value: &str| {
        contains(bytes_of(event), value.as_bytes())
            || request.headers.0.iter().any(|(_, header)| contains(header, value.as_bytes()))
    };
    let session = match request.headers.get(SESSION) {
        Some(value) if !held(value) => !invents_session(request) || sessions(events, event.seq).any(|id| id == value),
        _ => false,
    };
    session
        || (request.raw && sessions(events, event.seq).any(|id| !held(id) && said(id)))
        || handed.iter().any(|known| known.event < event.seq && !held(&known.value) && said(&known.value))
}

/// The values of its answer that are sent back later, each with what cuts it out.
fn takes(
    events: &[Arc<Event>],
    request: &HttpRequest,
    handed: &[Handed],
    variables: &Variables,
    more: bool,
) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let session = events.iter().find_map(|event| match &event.body {
        Body::HttpResponse(response) if response.exchange == request.exchange => response.headers.get(SESSION),
        _ => None,
    });
    let opens = request.headers.get(SESSION).is_none();
    if let Some(session) = session.filter(|session| more && opens && !variables.holds(session.as_bytes())) {
        out.push((session.to_owned(), "sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p'".to_owned()));
    }
    for known in handed.iter().filter(|known| !variables.holds(known.value.as_bytes())) {
        let event = usize::try_from(known.event).ok().and_then(|at| events.get(at));
        let channel = event.and_then(|event| event.message()).map(|view| view.channel);
        if channel.and_then(|channel| channel.exchange()) == Some(request.exchange) {
            out.push((known.value.clone(), cut_out(known.member)));
        }
    }
    out
}

fn end_of<'a>(events: &'a [Arc<Event>], request: &HttpRequest) -> Option<&'a Arc<Event>> {
    events.iter().find(|event| match &event.body {
        Body::ExchangeEnded { exchange, .. } => *exchange == request.exchange,
        _ => false,
    })
}

fn closed_by_us(event: &Event) -> bool {
    matches!(&event.body, Body::ExchangeEnded { end: ExchangeEnd::ClosedByUs, .. })
}

/// `from` is the variable with the id of the event that a stream is taken up behind.
fn command(
    request: &HttpRequest,
    place: &WebPlace,
    time: Duration,
    variables: &Variables,
    from: Option<&str>,
) -> Option<String> {
    let seconds = time.as_secs_f64().ceil().max(1.0);
    if request.raw {
        // Bytes that no client would send: curl as a plain connection.
        let address = place.telnet.as_ref()?;
        return Some(format!("{} | curl -s -N -m {seconds} {address}", printf(&request.body, false, variables)));
    }
    let mut out = format!("curl -isSN --http1.1 -m {seconds}{}", place.options);
    match request.method.as_str() {
        "HEAD" => out.push_str(" -I"),
        "POST" if !request.body.is_empty() => {}
        "GET" if request.body.is_empty() => {}
        other => out.push_str(&format!(" -X {}", word(other.as_bytes(), variables)?)),
    }
    if request.target == place.path {
        out.push_str(&format!(" {}", place.url));
    } else {
        out.push_str(&format!(" -g --path-as-is {}{}", place.origin, word(request.target.as_bytes(), variables)?));
    }
    for (name, value) in &request.headers.0 {
        let lower = name.to_ascii_lowercase();
        let own = match lower.as_str() {
            "host" => value.as_ref() == place.authority.as_bytes(),
            "user-agent" => value.starts_with(b"mcp-conform/"),
            "content-length" => value.as_ref() == request.body.len().to_string().as_bytes(),
            _ => false,
        };
        if own {
            continue;
        }
        if let Some(from) = from.filter(|_| lower == LAST_EVENT_ID) {
            out.push_str(&format!(" -H {}\"${from}\"", word(format!("{name}: ").as_bytes(), variables)?));
            continue;
        }
        let header = if value.is_empty() {
            format!("{name};").into_bytes()
        } else {
            [name.as_bytes(), b": ", value.as_ref()].concat()
        };
        out.push_str(&format!(" -H {}", word(&header, variables)?));
    }
    // What curl would add by itself and we did not send.
    for name in ["accept", "content-type"] {
        let adds = name == "accept" || !request.body.is_empty();
        if adds && request.headers.get(name).is_none() {
            out.push_str(&format!(" -H {name}:"));
        }
    }
    if request.body.is_empty() {
        return Some(out);
    }
    match word(&request.body, variables) {
        Some(word) => Some(format!("{out} --data-raw {word}")),
        None => Some(format!("{} | {out} --data-binary @-", printf(&request.body, false, variables))),
    }
}

//! Runs the suite on a target: probes it, learns what it offers, plays the cases, folds the rules, and reports.
//!
//! [`run`] is the entry. Everything found goes into one list at once, so that an interrupted run still has a report.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_conform_cases::ast::ServedEras;
use mcp_conform_reports::model::{
    CheckResult, CheckTime, Cost, Omission, Report, RevisionSupport, Summary, Target as TargetInfo, TargetStatus, Tool,
    VERSION,
};
use mcp_conform_schemas::{Era, Revision};
use tokio::{
    sync::{OnceCell, watch},
    time::Instant,
};

use super::{
    compare,
    offers::{self, Lacking},
    options::{HttpTarget, RunOptions},
    probe::{self, Probed},
    results::{self, Place, RuleTally},
    session::Session,
    surface::{CallState, Surface, served},
    survey::offered,
};
use crate::{
    conversation::{Bench, Conversation, Handshake, OpenErrorKind, Target},
    process,
    script::{Pool, Stage},
    trace::{Body, DEFAULT_BUDGET, Event, Recorder, Transport},
    transport::{Diagnosis, Grace, Served, diagnose, diagnose_serve, diagnose_start},
    wire::Limits,
};

/// What the first event of a stream is waited for at least: nothing else of a target is looked at then.
const FIRST_EVENT: Duration = Duration::from_secs(1);
/// Characters of an answer that are shown where it stands for why a server cannot be judged.
const MOST_SAID: usize = 400;

/// What the run tells while it goes on.
#[derive(Clone, Debug)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    /// What runs now.
    pub what: String,
}

/// How a run is watched and stopped.
#[derive(Clone)]
pub struct Control {
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
    /// Set to a reason to end the run; what was found so far is reported.
    pub stop: watch::Receiver<Option<String>>,
}

/// Runs the suite. Never fails: what could not be done is in the report.
pub async fn run(options: RunOptions, control: Control) -> Report {
    let started = Instant::now();
    let bench = Arc::new(Bench::new(options.deadlines, Limits::default(), options.secrets.clone()));
    let (stop_inside, inside) = watch::channel(false);
    let runner = Arc::new(Runner {
        found: Mutex::default(),
        sessions: Mutex::default(),
        options: Arc::new(options),
        bench,
        stop_inside,
        progress: control.progress.clone(),
    });
    let stopped = stopped(control.stop, inside, runner.options.max_time);
    let stop = tokio::select! {
        () = runner.clone().drive() => None,
        stop = stopped => Some(stop),
    };
    // Before anything is killed: what our own KILL does to a server is no matter for the rules.
    runner.close_sessions();
    let interrupted = match stop {
        Some(Stop::Interrupted(reason)) => Some(reason),
        Some(Stop::Enough) => {
            let note = "--fail-fast ended the run at the first failure; what would have come after it was not judged";
            runner.found().notes.push(note.to_owned());
            None
        }
        None => None,
    };
    // Whatever the reason for the end, no process outlives the run.
    process::end_all().await;
    runner.report(started.elapsed(), interrupted)
}

/// Why a run ended before it was through.
enum Stop {
    /// By the user or a limit of time.
    Interrupted(String),
    /// `--fail-fast` has what it wanted.
    Enough,
}

async fn stopped(
    mut outside: watch::Receiver<Option<String>>,
    mut inside: watch::Receiver<bool>,
    max_time: Option<Duration>,
) -> Stop {
    let timer = async {
        match max_time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let from_outside = async {
        let given = outside.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        match given {
            Some(reason) => reason,
            // Nobody is left who could stop the run.
            None => std::future::pending().await,
        }
    };
    let from_inside = async {
        if inside.wait_for(|enough| *enough).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        reason = from_outside => Stop::Interrupted(reason),
        () = from_inside => Stop::Enough,
        () = timer => Stop::Interrupted("--max-time passed".to_owned()),
    }
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) results: Vec<CheckResult>,
    pub(super) revisions: Vec<Vec<RevisionSupport>>,
    pub(super) server: Option<String>,
    pub(super) transports: Vec<Transport>,
    pub(super) failures: Vec<(Transport, Diagnosis)>,
    pub(super) omissions: Vec<Omission>,
    /// Tools that took the arguments that were made for them, and tools that did not, in any era.
    pub(super) accepted: BTreeSet<String>,
    pub(super) refused: BTreeSet<String>,
    pub(super) notes: Vec<String>,
    pub(super) times: Vec<CheckTime>,
    /// Every tool that was listed, by any transport and in any era.
    pub(super) listed: BTreeSet<String>,
    /// What each surface lacks, with the revision that is judged on it.
    pub(super) lacking: Vec<(Revision, Lacking)>,
    pub(super) done: usize,
    pub(super) total: usize,
}

/// What the probe found out for all sessions of a target.
#[derive(Clone)]
struct Known {
    eras: ServedEras,
    handshakes: Arc<Vec<Handshake>>,
}

pub(super) struct Runner {
    pub(super) options: Arc<RunOptions>,
    pub(super) bench: Arc<Bench>,
    pub(super) found: Mutex<Found>,
    /// Those that play, so that an interrupted run still has what the rules saw.
    pub(super) sessions: Mutex<Vec<Arc<Session>>>,
    pub(super) stop_inside: watch::Sender<bool>,
    pub(super) progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl Runner {
    async fn drive(self: Arc<Self>) {
        let stdio = async {
            if let Some(target) = &self.options.stdio {
                self.target(Target::Stdio(target.clone())).await;
            }
        };
        let http = async {
            if let Some(target) = &self.options.http {
                self.http(target).await;
            }
        };
        tokio::join!(stdio, http);
        if self.options.stdio.is_some() && self.options.http.is_some() {
            let compared = compare::transports(&self.found().results);
            self.found().results.extend(compared);
        }
    }

    async fn http(self: &Arc<Self>, target: &HttpTarget) {
        let served = match &target.serve {
            None => None,
            Some(command) => {
                self.bench.count_start();
                let recorder = Recorder::new(self.bench.secrets.clone(), self.bench.limits, DEFAULT_BUDGET);
                let time = self.bench.deadlines.start;
                match Served::start(command, &target.endpoint.url, time, recorder.clone()).await {
                    Ok(served) => Some(served),
                    Err(error) => {
                        let diagnosis = diagnose_serve(&error, &recorder.events(0));
                        self.found().failures.push((Transport::Http, diagnosis));
                        return;
                    }
                }
            }
        };
        self.target(Target::Http(target.endpoint.clone())).await;
        if let Some(served) = served {
            let time = self.bench.deadlines.exit;
            served.end(Grace { eof: time, term: time, kill: time }).await;
        }
    }

    async fn target(self: &Arc<Self>, target: Target) {
        self.tell("probing both eras");
        let transport = target.transport();
        let probed = probe::probe(&target, &self.bench, &self.options.answers).await;
        let legacy = probed.legacy.is_ok();
        let modern = probed.modern.discovered.is_some();
        let Some(eras) = served(legacy, modern) else {
            self.unreachable(transport, probed).await;
            return;
        };
        self.found().transports.push(transport);
        let revisions = async {
            let (support, handshakes) = probe::revisions(&target, &self.bench, &probed).await;
            self.found().revisions.push(support);
            handshakes
        };
        let offers = async {
            let legacy = async {
                match &probed.legacy {
                    Ok(talk) => Some(offered(talk, &self.options, None).await),
                    Err(_) => None,
                }
            };
            let modern = async {
                match (&probed.modern.talk, &probed.modern.discovered) {
                    (Some(talk), Some(result)) => Some(offered(talk, &self.options, Some(result)).await),
                    _ => None,
                }
            };
            tokio::join!(legacy, modern)
        };
        self.tell("learning what the server offers");
        let (handshakes, (legacy_offer, modern_offer)) = tokio::join!(revisions, offers);
        let handshakes = Arc::new(handshakes);
        let mut loose = Vec::new();
        let mut sessions = Vec::new();
        let Probed { legacy, modern } = probed;
        let mut failed = None;
        let legacy_talk = match legacy {
            Ok(talk) => Some(talk),
            Err(error) if error.meant_to_serve() => {
                failed = error.conversation;
                None
            }
            Err(error) => {
                loose.extend(error.conversation);
                None
            }
        };
        for (era, talk, offer) in [(Era::Legacy, legacy_talk, legacy_offer), (Era::Modern, modern.talk, modern_offer)] {
            match (talk, offer) {
                (Some(talk), Some(surface)) if self.options.revisions.contains(&era.judged()) => {
                    let known = Known { eras, handshakes: handshakes.clone() };
                    sessions.push((self.session(&target, era, known, surface), talk));
                }
                (talk, _) => loose.extend(talk),
            }
        }
        let asked = handshakes.iter().map(|handshake| handshake.talk.clone());
        match sessions.iter().find(|(session, _)| session.stage.era == Era::Legacy) {
            Some((session, _)) => asked.for_each(|talk| self.end(session, talk)),
            None => loose.extend(asked),
        }
        // Conversations that nothing is judged by are ended all the same.
        let ending = async { futures_util::future::join_all(loose.iter().map(Conversation::end)).await };
        let failing = async {
            if let Some(talk) = &failed {
                self.failed_handshake(talk).await;
            }
        };
        let playing =
            futures_util::future::join_all(sessions.into_iter().map(|(session, talk)| self.play(session, talk)));
        let playing = async { tokio::join!(failing, playing) };
        tokio::join!(ending, playing);
    }

    fn session(self: &Arc<Self>, target: &Target, era: Era, known: Known, mut surface: Surface) -> Arc<Session> {
        if let Target::Http(endpoint) = target {
            surface.loopback = is_loopback(&endpoint.url);
        }
        let version = surface.version.unwrap_or(era.judged());
        let stage = Arc::new(Stage {
            target: target.clone(),
            bench: self.bench.clone(),
            era,
            revision: era.judged(),
            served: known.eras,
            known: watch::Sender::new(Arc::new(surface)),
            handshakes: known.handshakes,
            answers: self.options.answers.clone(),
            token: self.options.token,
            fixture: false,
            seed: self.options.seed,
            repro: self.options.repro.clone(),
            pool: Pool::default(),
            frail: OnceCell::default(),
            dead: Mutex::default(),
        });
        let place = Place { revision: era.judged(), version, transport: target.transport() };
        let session =
            Arc::new(Session { stage, place, tally: Mutex::new(Some(RuleTally::default())), enders: Mutex::default() });
        lock(&self.sessions).push(session.clone());
        session
    }

    pub(super) fn note_surface(&self, surface: &Surface, era: Era) {
        let mut found = self.found();
        if found.server.is_none() {
            found.server.clone_from(&surface.server);
        }
        found.lacking.push((era.judged(), offers::lacking(surface)));
        for gap in &surface.gaps {
            found.notes.push(format!("{era}: {gap}"));
        }
        let not_allowed: Vec<&str> = surface.not_allowed().map(super::surface::ToolFacts::name).collect();
        if !not_allowed.is_empty() {
            let what = format!(
                "{} of {} tools were not called, because they do not say readOnlyHint: true: {}",
                not_allowed.len(),
                surface.tools.len(),
                some_of(&not_allowed)
            );
            add_omission(&mut found.omissions, what, "--tools all");
        }
        let slow: Vec<&str> = surface.slow().map(super::surface::ToolFacts::name).collect();
        if !slow.is_empty() {
            let what = format!("too slow to be called again and again: {}", some_of(&slow));
            add_omission(&mut found.omissions, what, "--patience 4");
        }
        for facts in &surface.tools {
            let name = facts.name().to_owned();
            found.listed.insert(name.clone());
            match &facts.call {
                CallState::Accepted => found.accepted.insert(name),
                CallState::Refused(_) | CallState::NoArguments(_) => found.refused.insert(name),
                CallState::NotAllowed | CallState::Slow => false,
                CallState::Lost { came, .. } => {
                    let note = format!("the call of the tool {name} got {}", came);
                    if !found.notes.contains(&note) {
                        found.notes.push(note);
                    }
                    false
                }
            };
        }
    }

    /// Neither era is served: the target is what is told about, not the server.
    async fn unreachable(&self, transport: Transport, probed: Probed) {
        let mut diagnosis = None;
        let mut talks = Vec::new();
        let mut said = Vec::new();
        let came = match &probed.legacy {
            Ok(_) => format!("server/discover got {}", probed.modern.instead),
            Err(error) => {
                if let OpenErrorKind::Refused(answer) = &error.kind {
                    let text = answer.message().map(|message| message.to_string()).unwrap_or_default();
                    said.push(format!("initialize: {}", text.chars().take(MOST_SAID).collect::<String>()));
                }
                format!("{}, server/discover got {}", error.kind, probed.modern.instead)
            }
        };
        match probed.legacy {
            Ok(talk) => talks.push(talk),
            Err(error) => {
                if let OpenErrorKind::Start(start) = &error.kind {
                    diagnosis = Some(diagnose_start(start));
                }
                talks.extend(error.conversation);
            }
        }
        talks.extend(probed.modern.talk);
        if let Some(OpenErrorKind::Start(start)) = &probed.modern.start_error {
            diagnosis.get_or_insert_with(|| diagnose_start(start));
        }
        if transport == Transport::Http {
            // A server of the old HTTP+SSE transport is known by what it answers to a GET.
            futures_util::future::join_all(talks.iter().take(1).map(|talk| self.listen(talk))).await;
        }
        // Only the end of the process shows how it ended.
        futures_util::future::join_all(talks.iter().map(Conversation::end)).await;
        for talk in &talks {
            let events = talk.events();
            self.write_trace(talk, &events);
            if diagnosis.is_none() {
                diagnosis = diagnose(&events);
            }
        }
        let diagnosis = diagnosis.unwrap_or_else(|| Diagnosis {
            status: TargetStatus::NotMcp,
            message: format!(
                "the server answers, and neither initialize nor server/discover as MCP says: {came}; where its words ask for \
                 a key or a setting, give it with --env or in the command"
            ),
            evidence: said,
        });
        self.found().failures.push((transport, diagnosis));
    }

    async fn listen(&self, talk: &Conversation) {
        let headers = vec![("accept".to_owned(), Some(b"text/event-stream".to_vec()))];
        if let Ok(ticket) = talk.http("GET", None, headers, Vec::new().into(), true).await {
            // Its first event, not its end: a stream need not have one.
            let event = |event: &Arc<Event>| match &event.body {
                Body::Sse(sse) if Some(sse.exchange) == ticket.exchange => Some(()),
                Body::ExchangeEnded { exchange, .. } if Some(*exchange) == ticket.exchange => Some(()),
                _ => None,
            };
            let time = self.bench.deadlines.grace.max(FIRST_EVENT);
            talk.message(ticket.event, "the first event of a GET stream", Some(time), event).await;
        }
    }

    pub(super) fn tell(&self, what: &str) {
        let (done, total) = {
            let found = self.found();
            (found.done, found.total)
        };
        (self.progress)(Progress { done, total, what: what.to_owned() });
    }

    fn report(&self, took: Duration, interrupted: Option<String>) -> Report {
        let mut found = std::mem::take(&mut *self.found());
        // What was taken once is good; it may be gone since, as a note that is deleted.
        let refused: Vec<&str> = found.refused.difference(&found.accepted).map(String::as_str).collect();
        if !refused.is_empty() {
            add_omission(&mut found.omissions, not_accepted(&refused), "--tool-args NAME=JSON");
        }
        found.times.sort_by(|a, b| {
            let key = |time: &CheckTime| (time.revision.clone(), time.check.clone(), time.transport.clone());
            key(a).cmp(&key(b))
        });
        if !found.transports.is_empty() {
            found.notes.extend(self.options.unknown_tools(&found.listed));
        }
        found.transports.sort_by_key(|transport| transport.as_str() == Transport::Http.as_str());
        let options = &self.options;
        let revisions = probe::merge(found.revisions);
        let results = found.results;
        let failure = found.failures.into_iter().next();
        let (status, message, evidence) = match failure {
            Some((_, diagnosis)) if found.transports.is_empty() => {
                (diagnosis.status, Some(diagnosis.message), diagnosis.evidence)
            }
            Some((transport, diagnosis)) => {
                // One of two transports could not be judged: that is no reason to call the run good.
                let message = format!("over {}: {}", transport.as_str(), diagnosis.message);
                (diagnosis.status, Some(message), diagnosis.evidence)
            }
            None => (TargetStatus::Ok, None, Vec::new()),
        };
        let mut report = Report {
            version: VERSION,
            tool: Tool {
                name: "mcp-conform".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed: options.seed,
            },
            target: TargetInfo {
                status,
                name: options.secrets.redact_text(&options.name),
                label: None,
                server: found.server,
                transports: found.transports.iter().map(|t| t.as_str().to_owned()).collect(),
                message,
                evidence,
            },
            revisions,
            requirements: results::requirement_infos(&results),
            contested: results::contested_infos(&results),
            times: found.times,
            summary: Summary::of(&results),
            results,
            cost: Cost {
                process_starts: self.bench.process_starts(),
                requests: self.bench.requests(),
                waited_s: self.bench.waited().as_secs_f64(),
                took_s: took.as_secs_f64(),
            },
            omissions: found.omissions,
            notes: found.notes,
            // The caller knows the suite and the clock.
            features: Vec::new(),
            started: None,
            interrupted,
            baseline: None,
            shard: None,
            requirement_sets: Vec::new(),
            policy: None,
            not_offered: offers::lacking_everywhere(&found.lacking),
        };
        mcp_conform_reports::order::sort(&mut report);
        report
    }

    pub(super) fn found(&self) -> MutexGuard<'_, Found> {
        lock(&self.found)
    }
}

fn add_omission(omissions: &mut Vec<Omission>, what: String, flag: &str) {
    if !omissions.iter().any(|known| known.what == what) {
        omissions.push(Omission { what, flag: flag.to_owned() });
    }
}

/// Which tools made-up arguments did not reach.
pub(crate) fn not_accepted(tools: &[&str]) -> String {
    let quoted: Vec<String> = tools.iter().map(|name| format!("{name:?}")).collect();
    let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let noun = if tools.len() == 1 { "tool" } else { "tools" };
    format!("made-up arguments were not accepted by the {noun} {}", some_of(&quoted))
}

pub(super) fn some_of(names: &[&str]) -> String {
    const MOST: usize = 8;
    let mut text = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(&format!(" and {} more", names.len() - MOST));
    }
    text
}

fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

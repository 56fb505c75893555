//! One place of judgement: plays the cases of an era over a transport, ends its conversations beside the rest, and folds
//! the rules over their traces.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use futures_util::{StreamExt, stream};
use mcp_conform_cases::{
    Catalogue, Row,
    ast::{Case, Need, Step},
};
use mcp_conform_reports::model::{CheckResult, CheckTime, Verdict};
use mcp_conform_schemas::{Era, Revision};
use tokio::{task::JoinSet, time::Instant};

use super::{
    results::{self, Place, RuleTally, cases_transport},
    runner::{Runner, lock},
    surface::Surface,
    survey::use_all,
};
use crate::{
    conversation::{AnswerKind, Conversation, Ticket},
    rules,
    script::{CaseOutcome, Ground, Stage, Unmet, Word, each_requirement, meet, play},
    trace::{Body, Event, Transport},
};

/// One place of judgement with the rules' tally and the conversations that are being ended.
pub(super) struct Session {
    pub(super) stage: Arc<Stage>,
    pub(super) place: Place,
    /// Gone once its results stand in the report.
    pub(super) tally: Mutex<Option<RuleTally>>,
    pub(super) enders: Mutex<JoinSet<()>>,
}

impl Runner {
    /// Plays every case of a session, then the rules' tally. `talk` is the conversation that was asked for what there is;
    /// what the tools do is found out over it, beside the cases that need not know.
    pub(super) async fn play(self: &Arc<Self>, session: Arc<Session>, talk: Conversation) {
        let cases: Vec<Arc<Case>> =
            self.options.cases.iter().filter(|case| self.wanted(case, &session)).cloned().collect();
        self.found().total += cases.len();
        // Those that share take turns, so that few of them at a time are enough; those that hold a process of their own
        // wait for it, and are best begun early.
        let (mut own, mut sharing): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| holds_its_own(case));
        own.sort_by_key(|case| (case.uses_tools(), !waits_for_work(case)));
        sharing.sort_by_key(|case| case.uses_tools());
        let jobs = self.options.jobs;
        let beside = (jobs / 4).max(1);
        let own = self.lane(&session, own, jobs.saturating_sub(beside).max(1));
        let sharing = self.lane(&session, sharing, beside);
        let survey = self.survey(&session, talk);
        if jobs == 1 {
            survey.await;
            own.await;
            sharing.await;
        } else {
            tokio::join!(survey, own, sharing);
        }
        for talk in session.stage.pool.drain() {
            self.end(&session, talk);
        }
        let mut enders = std::mem::take(&mut *lock(&session.enders));
        while enders.join_next().await.is_some() {}
        self.close(&session, true);
    }

    async fn survey(self: &Arc<Self>, session: &Arc<Session>, talk: Conversation) {
        let mut surface = Surface::clone(&session.stage.surface());
        let late = use_all(&talk, &mut surface).await;
        self.note_surface(&surface, session.stage.era);
        session.stage.known.send_replace(Arc::new(surface));
        self.end_after(session, talk, late);
    }

    /// Plays cases, so many at a time.
    async fn lane(self: &Arc<Self>, session: &Arc<Session>, cases: Vec<Arc<Case>>, jobs: usize) {
        stream::iter(cases)
            .for_each_concurrent(jobs, |case| {
                let session = session.clone();
                let runner = self.clone();
                async move {
                    // A task of its own, so that a panic in one case is a harness error and not the end of the run.
                    let name = case.id.node.clone();
                    let playing = tokio::spawn({
                        let (runner, session) = (runner.clone(), session.clone());
                        async move { runner.case(&case, &session).await }
                    });
                    let playing = AbortOnDrop(playing);
                    if let Err(error) = playing.join().await {
                        runner.crashed(&name, session.place, &error.to_string());
                    }
                    runner.found().done += 1;
                    runner.tell(&name);
                }
            })
            .await;
    }

    /// Takes what the rules saw into the report; `whole` when every conversation was folded.
    pub(super) fn close(&self, session: &Session, whole: bool) {
        let Some(tally) = lock(&session.tally).take() else { return };
        let surface = session.stage.surface();
        let capable = |path: &str| surface.has_capability(path);
        let mut results = tally.results(session.place, &capable, &|rule, row| self.wants_row(rule, row));
        // An occasion that did not come might have come later.
        results.retain(|result| whole || result.verdict != Verdict::NotVerified);
        self.found().results.extend(results);
    }

    /// The sessions that a stopped run left open.
    pub(super) fn close_sessions(&self) {
        for session in std::mem::take(&mut *lock(&self.sessions)) {
            self.close(&session, false);
        }
    }

    async fn case(self: &Arc<Self>, case: &Case, session: &Arc<Session>) {
        let stage = &session.stage;
        if !case.transports.contains(&cases_transport(session.place.transport)) {
            return;
        }
        if case.uses_tools() || case.needs.iter().any(|need| need.node == Need::Resumable) {
            stage.used().await;
        }
        let surface = stage.surface();
        let ground = Ground {
            surface: &surface,
            served: stage.served,
            token: stage.token,
            fixture: stage.fixture,
            http: session.place.transport == Transport::Http,
        };
        let started = Instant::now();
        let values = match meet(case.needs.iter().map(|need| &need.node), ground) {
            Ok(values) => values,
            Err(Unmet::NotApplicable(reason)) => {
                return self.leave_out(case, session.place, Verdict::NotApplicable, &reason, None);
            }
            Err(Unmet::NotVerified(reason, flag)) => {
                return self.leave_out(case, session.place, Verdict::NotVerified, &reason, flag);
            }
        };
        let (mut outcome, to_end) = play(case, stage, values.clone(), false).await;
        to_end.into_iter().for_each(|talk| self.end(session, talk));
        if outcome.shared && outcome.verdicts.iter().any(|verdict| verdict.word.is_breach()) {
            let (alone, to_end) = play(case, stage, values, true).await;
            to_end.into_iter().for_each(|talk| self.end(session, talk));
            outcome = self.alone(case, session.place, outcome, alone);
        }
        self.found().times.push(CheckTime {
            check: case.id.node.clone(),
            revision: session.place.revision.to_string(),
            transport: session.place.transport.as_str().to_owned(),
            seconds: started.elapsed().as_secs_f64(),
        });
        let mut results = Vec::new();
        let reached = outcome.verdicts.into_iter().filter(|verdict| self.reaches(&verdict.requirement, session.place));
        for (part, verdict) in results::told_apart(reached.collect()) {
            let flag = (verdict.word == Word::NotVerified).then(|| self.flag_for(&verdict.message)).flatten();
            let result = results::of_case(&case.id.node, session.place, verdict, flag);
            results.push(CheckResult { part, ..result });
        }
        self.add(results);
    }

    /// A case counts by its run on a fresh conversation; what failed on a shared one and held there is told as advice.
    fn alone(&self, case: &Case, place: Place, shared: CaseOutcome, alone: CaseOutcome) -> CaseOutcome {
        let mut told = Vec::new();
        for (part, verdict) in results::told_apart(shared.verdicts) {
            if !verdict.word.is_breach() {
                continue;
            }
            let mut same = alone
                .verdicts
                .iter()
                .filter(|other| other.requirement == verdict.requirement && other.subject == verdict.subject);
            // Where it could not be judged alone nothing is known of what it hangs on; that it was not verified stands.
            let held = same.clone().any(|other| other.word == Word::Pass);
            let again = same.any(|other| other.word.is_breach());
            if held && !again {
                let mut result = results::of_case(&case.id.node, place, verdict, None);
                result.verdict = Verdict::Advice;
                result.mild = None;
                // Beside the verdict of the run alone.
                let step = part.map(|part| format!("{part}, ")).unwrap_or_default();
                result.part = Some(format!("{step}after others"));
                result.message = format!("depends on what came before on the same connection: {}", result.message);
                told.push(result);
            }
        }
        self.add(told);
        alone
    }

    fn leave_out(&self, case: &Case, place: Place, verdict: Verdict, reason: &str, flag: Option<String>) {
        let mut names: Vec<&str> = Vec::new();
        for step in &case.steps {
            each_requirement(&step.node, &mut |requirement| {
                if let Some(requirement) = requirement.of(place.revision)
                    && !names.contains(&requirement.node.as_str())
                {
                    names.push(&requirement.node);
                }
            });
        }
        let results = names
            .into_iter()
            .filter(|name| self.reaches(name, place))
            .map(|name| results::left_out(&case.id.node, name, place, verdict, reason.to_owned(), flag.clone()))
            .collect();
        self.add(results);
    }

    /// Whether a requirement can be met with over the transport: a case for both may name one that is for HTTP alone.
    fn reaches(&self, requirement: &str, place: Place) -> bool {
        let row = Catalogue::get().row(requirement, place.revision);
        row.is_none_or(|row| row.applies_to(cases_transport(place.transport)))
    }

    fn crashed(&self, case: &str, place: Place, error: &str) {
        let message = format!("the case could not be played to its end: {error}; please report this");
        self.add(vec![results::left_out(case, "", place, Verdict::HarnessError, message, None)]);
    }

    fn add(&self, results: Vec<CheckResult>) {
        let counts = |result: &CheckResult| result.verdict == Verdict::Fail && !(self.options.excused.0)(result);
        let failed = self.options.fail_fast && results.iter().any(counts);
        self.found().results.extend(results);
        if failed {
            self.stop_inside.send_replace(true);
        }
    }

    /// Ends a conversation beside everything else, then folds the rules over its trace.
    pub(super) fn end(self: &Arc<Self>, session: &Arc<Session>, talk: Conversation) {
        self.end_after(session, talk, Vec::new());
    }

    /// The same, once the requests that are still out were answered, or were not in time.
    pub(super) fn end_after(self: &Arc<Self>, session: &Arc<Session>, talk: Conversation, late: Vec<(String, Ticket)>) {
        let runner = self.clone();
        let inner = session.clone();
        lock(&session.enders).spawn(async move {
            for (tool, ticket) in late {
                if talk.answer(&ticket, None).await.kind == AnswerKind::Silence {
                    runner.never_answered(&inner, &tool);
                }
            }
            talk.end().await;
            runner.fold(&inner, &talk);
        });
    }

    /// How long a tool works is its own business; that it may have hung is told.
    fn never_answered(&self, session: &Session, tool: &str) {
        let requirement = match session.stage.era {
            Era::Legacy => "base-response-one-per-request",
            Era::Modern => "response-exactly-one-per-request",
        };
        let time = self.bench.deadlines.answer.as_secs_f64();
        let message = format!("the tool {tool} was not answered within {time:.0} s: it works for longer, or it hangs");
        let flag = Some("--timeout 60".to_owned());
        let mut result = results::left_out("answers", requirement, session.place, Verdict::NotVerified, message, flag);
        result.subject = tool.to_owned();
        self.add(vec![result]);
    }

    fn fold(&self, session: &Session, talk: &Conversation) {
        let events = talk.events();
        let file = self.write_trace(talk, &events);
        self.note_orphans(&events);
        let observations = rules::judge(&events);
        self.note_own_faults(&events, session.place);
        let stage = &session.stage;
        let mut tally = lock(&session.tally);
        // The run was stopped meanwhile.
        let Some(tally) = tally.as_mut() else { return };
        let failed = tally.add(observations, &events, file.as_deref(), &stage.repro);
        let counts = |(rule, requirement): &(&str, &str)| {
            let found = results::left_out(rule, requirement, session.place, Verdict::Fail, String::new(), None);
            !(self.options.excused.0)(&found)
        };
        if self.options.fail_fast && failed.iter().any(counts) {
            self.stop_inside.send_replace(true);
        }
    }

    /// An era whose handshake is answered by a result that cannot be used is not served; what breaks it there is told all
    /// the same, and nothing else is.
    pub(super) async fn failed_handshake(&self, talk: &Conversation) {
        let era = talk.era();
        talk.end().await;
        let events = talk.events();
        let file = self.write_trace(talk, &events);
        if !self.options.revisions.contains(&era.judged()) {
            return;
        }
        let place = Place { revision: era.judged(), version: era.judged(), transport: talk.transport() };
        let mut tally = RuleTally::default();
        tally.add(rules::judge(&events), &events, file.as_deref(), &self.options.repro);
        let mut results = tally.results(place, &|_| true, &|rule, row| self.wants_row(rule, row));
        results.retain(|result| matches!(result.verdict, Verdict::Fail | Verdict::Warn | Verdict::Contested));
        self.add(results);
    }

    /// A message of ours that breaks the schema and is not marked so: what was judged by it may be wrong.
    fn note_own_faults(&self, events: &[Arc<Event>], place: Place) {
        for fault in rules::own_faults(events) {
            let (case, step) = fault.step.map_or_else(Default::default, |step| (step.case, step.step));
            let case = if case.is_empty() { "conversation".to_owned() } else { case };
            let message =
                format!("step {step:?} sent what it must mark as wrong: {}; please report this", fault.message);
            self.add(vec![results::left_out(&case, "", place, Verdict::HarnessError, message, None)]);
        }
    }

    /// Processes that outlived the server are no matter of the protocol, and worth telling once.
    pub(super) fn note_orphans(&self, events: &[Arc<Event>]) {
        let left = events.iter().any(|event| matches!(&event.body, Body::Orphans { pids } if !pids.is_empty()));
        let note = "the server left processes of its own running when it ended; they were ended here";
        let mut found = self.found();
        if left && !found.notes.iter().any(|known| known == note) {
            found.notes.push(note.to_owned());
        }
    }

    pub(super) fn write_trace(&self, talk: &Conversation, events: &[Arc<Event>]) -> Option<String> {
        let folder = self.options.trace_dir.as_ref()?;
        let name = format!("{:04}-{}-{}.jsonl", talk.number(), talk.era(), talk.transport().as_str());
        let path: PathBuf = folder.join(&name);
        let written = fs_err::File::create(&path).and_then(|file| {
            let mut out = std::io::BufWriter::new(file);
            crate::trace::write(events, &mut out)?;
            std::io::Write::flush(&mut out)
        });
        match written {
            Ok(()) => Some(name),
            Err(error) => {
                self.found().notes.push(format!("a trace could not be written: {error}"));
                None
            }
        }
    }

    pub(super) fn wanted(&self, case: &Case, session: &Session) -> bool {
        if !case.revisions.contains(&session.place.revision) {
            return false;
        }
        if !self.options.case_filter.is_empty() && !self.options.case_filter.is_match(&case.id.node) {
            return false;
        }
        self.options.areas.is_empty() || areas_of(case, session.place.revision).iter().any(|area| self.area(area))
    }

    pub(super) fn wants_row(&self, rule: &str, row: &Row) -> bool {
        let by_name = self.options.case_filter.is_empty() || self.options.case_filter.is_match(rule);
        by_name && (self.options.areas.is_empty() || self.area(row.area))
    }

    fn area(&self, area: &str) -> bool {
        self.options.areas.iter().any(|wanted| wanted == area)
    }

    fn flag_for(&self, reason: &str) -> Option<String> {
        reason.contains("--tool-args").then(|| "--tool-args NAME=JSON".to_owned())
    }
}

/// Areas of the requirements that a case can judge.
pub fn areas_of(case: &Case, revision: Revision) -> Vec<&'static str> {
    let mut areas = Vec::new();
    for step in &case.steps {
        each_requirement(&step.node, &mut |requirement| {
            let row = requirement.of(revision).and_then(|id| Catalogue::get().row(&id.node, revision));
            if let Some(row) = row
                && !areas.contains(&row.area)
            {
                areas.push(row.area);
            }
        });
    }
    areas
}

/// Whether a case ends the conversation that it is played on, wants one that nobody used, or holds it for long.
fn holds_its_own(case: &Case) -> bool {
    let ends = |step: &Step| match step {
        Step::Cancel { .. } | Step::CloseStdin { .. } | Step::ExpectExit(_) | Step::ExpectNothing(_) => true,
        Step::Open(open) => open.setup.fresh,
        Step::Raw(_) => true,
        _ => false,
    };
    waits_for_work(case)
        || case.conversation.fresh
        || case.conversation.silent
        || case.steps.iter().any(|step| ends(&step.node))
}

/// Whether a case has a tool work that reports progress: such tools take their time.
fn waits_for_work(case: &Case) -> bool {
    case.needs.iter().any(|need| matches!(&need.node, Need::Tool { kind, .. } if kind.progress))
}

/// A task that ends with its waiter: an interrupted run leaves no case running.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> AbortOnDrop<T> {
    async fn join(mut self) -> Result<T, tokio::task::JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

//! Asks a whole target: each era over each transport, one after another where they share a server, so that no answer hangs
//! on what else was asked at the same time.

use std::sync::Arc;

use mcp_conform_cases::ast::Case;

use super::{
    ask::{Answers, Asker, number_names},
    cases,
    compare::without_echoes,
    redact::Rules,
    view::{NotKept, View},
};
use crate::{
    conversation::{Bench, Target},
    run::{HttpTarget, RunOptions, reach},
    trace::{DEFAULT_BUDGET, Recorder},
    transport::{Grace, Served},
    wire::Limits,
};

/// What one revision gave over one transport, masked by the rules.
#[derive(Debug)]
pub struct Taken {
    pub view: View,
    /// As the server calls itself.
    pub server: Option<String>,
    /// What was not asked, so that nothing is known of it.
    pub not_kept: Vec<NotKept>,
}

#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error("nothing was asked over {transport}, as no revision that was asked for is served:\n{}", .reasons.iter().map(|reason| format!("  {reason}")).collect::<Vec<_>>().join("\n"))]
    Unserved { transport: &'static str, reasons: Vec<String> },
    #[error("{0}")]
    Serve(String),
}

/// Asks for everything. `stored` gives the questions that were asked before; `own` are the user's cases.
pub async fn take(
    options: &RunOptions,
    own: &[Arc<Case>],
    rules: &Rules,
    stored: &[View],
) -> Result<Vec<Taken>, TakeError> {
    let bench = Arc::new(Bench::new(options.deadlines, Limits::default(), options.secrets.clone()));
    let own: Vec<Arc<Case>> = own.iter().filter(|case| cases::keeps(case)).cloned().collect();
    let taker = Taker { options, own: &own, rules, stored, bench };
    let stdio = async {
        match &options.stdio {
            Some(target) => taker.target(Target::Stdio(target.clone())).await,
            None => Ok(Vec::new()),
        }
    };
    let http = async {
        match &options.http {
            Some(target) => taker.http(target).await,
            None => Ok(Vec::new()),
        }
    };
    let (stdio, http) = tokio::join!(stdio, http);
    let mut out = stdio?;
    out.extend(http?);
    out.sort_by_key(|taken| taken.view.revision);
    Ok(out)
}

struct Taker<'a> {
    options: &'a RunOptions,
    own: &'a [Arc<Case>],
    rules: &'a Rules,
    stored: &'a [View],
    bench: Arc<Bench>,
}

impl Taker<'_> {
    async fn http(&self, target: &HttpTarget) -> Result<Vec<Taken>, TakeError> {
        let served = match &target.serve {
            None => None,
            Some(command) => {
                let recorder = Recorder::new(self.bench.secrets.clone(), self.bench.limits, DEFAULT_BUDGET);
                let time = self.bench.deadlines.start;
                let served = Served::start(command, &target.endpoint.url, time, recorder).await;
                Some(served.map_err(|error| TakeError::Serve(error.to_string()))?)
            }
        };
        let taken = self.target(Target::Http(target.endpoint.clone())).await;
        if let Some(served) = served {
            let time = self.bench.deadlines.exit;
            served.end(Grace { eof: time, term: time, kill: time }).await;
        }
        taken
    }

    async fn target(&self, target: Target) -> Result<Vec<Taken>, TakeError> {
        let (reached, reasons) = reach(&target, &self.bench, self.options).await;
        let transport = target.transport();
        if reached.is_empty() {
            return Err(TakeError::Unserved { transport: transport.as_str(), reasons });
        }
        let mut out = Vec::new();
        for reached in reached {
            let revision = reached.era.judged();
            let known = self.stored.iter().find(|view| view.revision == revision && view.transport == transport);
            let asker = Asker { target: &target, bench: &self.bench, options: self.options, rules: self.rules, known };
            let era = reached.era;
            let mut answers: Answers = asker.ask(reached).await;
            if !self.own.is_empty() {
                let (again, _) = reach(&target, &self.bench, self.options).await;
                let (mine, others): (Vec<_>, Vec<_>) = again.into_iter().partition(|again| again.era == era);
                futures_util::future::join_all(others.iter().map(|other| other.talk.end())).await;
                if let Some(again) = mine.into_iter().next() {
                    cases::play_all(self.own, &target, &self.bench, self.options, again, &mut answers).await;
                    number_names(&mut answers.answers);
                }
            }
            let mut view = View { revision, transport, answers: answers.answers };
            self.rules.view(&mut view);
            without_echoes(&mut view);
            out.push(Taken { view, server: answers.server, not_kept: answers.not_kept });
        }
        Ok(out)
    }
}

//! What is wrong with a whole talk, whatever the bug: [`Talk::symptoms`].

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_reference_server::Shows;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::talk::{Link, PATIENCE, Talk, What};

impl Talk {
    /// Notes a symptom that only the witness can tell.
    pub(crate) fn notice(&mut self, wrong: bool, shows: Shows) {
        if wrong {
            self.noticed.push(shows);
        }
    }

    /// Ends the talk and says what was wrong.
    pub(crate) async fn symptoms(mut self) -> BTreeSet<Shows> {
        sleep(PATIENCE).await;
        let mut found: BTreeSet<Shows> = self.noticed.iter().copied().collect();
        let seen = self.record.all();
        let mut unanswered = Vec::new();
        for (index, asked) in self.asked.iter().enumerate() {
            let answers: Vec<_> = seen
                .iter()
                .filter(|seen| seen.of == asked.of && seen.at >= asked.at)
                .filter(|seen| matches!(&seen.what, What::Message(message, _) if is_answer_to(message, &asked.id)))
                .collect();
            match answers.len() {
                0 if !asked.cancelled && asked.method != "subscriptions/listen" => unanswered.push(index),
                0 | 1 => {}
                _ => drop(found.insert(Shows::Doubled)),
            }
            let late = |at: tokio::time::Instant| at - asked.at > Duration::from_secs(1);
            if asked.method == "completion/complete" && answers.iter().any(|answer| late(answer.at)) {
                found.insert(Shows::Slow);
            }
        }
        for index in &unanswered {
            let last = index + 1 == self.asked.len();
            found.insert(if last { Shows::Hang } else { Shows::Lost });
        }
        let mut nameless = 0;
        for one in &seen {
            match &one.what {
                What::Noise(_) if matches!(self.link, Link::Pipe { .. }) => drop(found.insert(Shows::Pollution)),
                What::Noise(text) if text.contains("/srv/") => drop(found.insert(Shows::Trace)),
                What::Status(500) => drop(found.insert(Shows::Status500)),
                What::Message(message, _) => {
                    let (result, error) = (message.get("result"), message.get("error"));
                    if result.is_some() && error.is_some() {
                        found.insert(Shows::Malformed);
                    }
                    if error.is_some_and(|error| error.to_string().contains("/srv/")) {
                        found.insert(Shows::Trace);
                    }
                    if result.or(error).is_some() {
                        match message.get("id") {
                            None | Some(Value::Null) => nameless += 1,
                            Some(id) if id == "under headers" => {}
                            Some(_) if self.asked.iter().any(|asked| is_answer_to(message, &asked.id)) => {}
                            Some(_) => drop(found.insert(Shows::ForeignId)),
                        }
                    }
                }
                What::Noise(_) | What::Status(_) => {}
            }
        }
        if nameless > self.odd {
            found.insert(Shows::NotificationAnswered);
        }
        match &mut self.link {
            Link::Web { web, .. } => {
                if web.try_http("PUT", &[], "", Duration::from_secs(1)).await.is_none() {
                    found.insert(Shows::Death);
                }
            }
            Link::Pipe { input, process } => {
                if process.is_finished() {
                    found.insert(Shows::Death);
                } else {
                    drop(input.take());
                    let code = timeout(Duration::from_secs(5), process).await;
                    if !matches!(code, Ok(Ok(0))) {
                        found.insert(Shows::UncleanExit);
                    }
                }
            }
        }
        found
    }
}

/// Ids are compared with their types: 7 is neither "7" nor 7.0.
fn is_answer_to(message: &Value, id: &Value) -> bool {
    message.get("method").is_none() && message.get("id") == Some(id)
}

//! An HTTP server that a command starts: [`Served`] waits until it can be reached, and ends it with all that it started.

use std::time::Duration;

use thiserror::Error;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};
use url::Url;

use super::{connect::tcp, stdio::Grace};
use crate::{
    process::{self, CommandSpec, Process, Signal, StartError},
    trace::{Body, Exit, Recorder},
};

/// A running HTTP server of ours. What it prints, on stdout too, is kept as stderr events. Dropping it kills it.
#[derive(Debug)]
pub struct Served {
    process: Process,
    recorder: Recorder,
    stdout: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

/// The server does not serve; nothing of it is left.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("something listens at {0} already, and would be judged in place of the server")]
    Taken(String),
    #[error("the server ended before it listened at {at}: {exit}")]
    Exited { at: String, exit: Exit },
    #[error("the server does not listen at {at} after {after:?}")]
    NotListening { at: String, after: Duration },
}

impl Served {
    /// Starts the command and returns when the host and port of the URL take connections. Needs a Tokio runtime.
    pub async fn start(
        command: &CommandSpec,
        url: &Url,
        within: Duration,
        recorder: Recorder,
    ) -> Result<Self, ServeError> {
        /// On loopback an attempt is answered at once; a host that swallows it must not hide an exit.
        const ATTEMPT: Duration = Duration::from_secs(1);
        const PAUSE: Duration = Duration::from_millis(20);

        let at = place(url);
        if tcp(url, ATTEMPT).await.is_ok() {
            return Err(ServeError::Taken(at));
        }
        let spawned = process::spawn_without_stdin(command, &recorder)?;
        let (stop, stopped) = watch::channel(false);
        let stdout = tokio::spawn(process::drain(spawned.stdout, recorder.clone(), stopped));
        let served = Self { process: spawned.process, recorder, stdout, stop };
        let mut exit = served.process.exit();
        let reached = async {
            while tcp(url, ATTEMPT).await.is_err() {
                sleep(PAUSE).await;
            }
        };
        let outcome = tokio::select! {
            exit = exit.wait_for(Option::is_some) => Err(exit.ok().and_then(|exit| exit.clone())),
            reached = timeout(within, reached) => Ok(reached.is_ok()),
        };
        match outcome {
            Ok(true) => Ok(served),
            Ok(false) => {
                served.end(Grace::default()).await;
                Err(ServeError::NotListening { at, after: within })
            }
            Err(exit) => {
                served.end(Grace::default()).await;
                Err(ServeError::Exited { at, exit: exit.unwrap_or(Exit { code: None, signal: None }) })
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The exit, once there is one.
    pub fn exit(&self) -> Option<Exit> {
        self.process.exit().borrow().clone()
    }

    /// Ends the server by TERM, then KILL, and all that it started. The trace is whole afterwards.
    pub async fn end(mut self, grace: Grace) -> Option<Exit> {
        /// For what still stands in the pipe.
        const REST: Duration = Duration::from_secs(2);

        let mut exit = self.process.exit();
        for (signal, within) in [(Signal::Terminate, grace.term), (Signal::Kill, grace.kill)] {
            self.process.look();
            if exit.borrow().is_some() {
                break;
            }
            self.process.signal(signal);
            // When it does not come, the next signal follows.
            let _ = timeout(within, exit.wait_for(Option::is_some)).await;
        }
        self.process.finish(super::Limits::default().settle).await;
        if timeout(REST, &mut self.stdout).await.is_err() {
            self.stop.send_replace(true);
        }
        self.recorder.push(Body::Drained);
        exit.borrow().clone()
    }
}

/// Host and port.
fn place(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

//! A running server process: [`spawn`] starts it, [`Process`] owns it and all that it started.

use std::{
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::{
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    command::{CommandSpec, StartError, StartErrorKind},
    drain::drain,
    registry,
    tree::{MARK, Tree},
};
use crate::trace::{Body, Exit, Recorder};

/// What a server can be sent. Where a system has no signals, each of them ends the process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Hangup,
    Interrupt,
    Kill,
    Terminate,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Kill => "SIGKILL",
            Self::Terminate => "SIGTERM",
        }
    }
}

#[derive(Debug)]
pub struct Spawned {
    pub process: Process,
    /// Absent when the process was started without stdin.
    pub stdin: Option<ChildStdin>,
    pub stdout: ChildStdout,
}

/// Starts a server; stderr is drained into the trace from now on. Needs a Tokio runtime.
pub fn spawn(spec: &CommandSpec, recorder: &Recorder) -> Result<Spawned, StartError> {
    start(spec, recorder, Stdio::piped())
}

/// Starts a server that finds stdin empty.
pub fn spawn_without_stdin(spec: &CommandSpec, recorder: &Recorder) -> Result<Spawned, StartError> {
    start(spec, recorder, Stdio::null())
}

/// A server process. Dropping it kills the process and everything that it started.
#[derive(Debug)]
pub struct Process {
    number: u64,
    handle: Handle,
    recorder: Recorder,
    stop: watch::Sender<bool>,
    stderr: Mutex<Option<JoinHandle<()>>>,
}

impl Process {
    pub fn pid(&self) -> u32 {
        self.handle.pid
    }

    /// The exit, once there is one.
    pub fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.handle.exit.clone()
    }

    /// Sends a signal to the process group; nothing happens when the process is gone.
    pub fn signal(&self, signal: Signal) {
        if self.handle.exit.borrow().is_none() {
            self.recorder.push(Body::Signalled { name: signal.name() });
            // The task that receives it ends only with the process.
            let _ = self.handle.orders.send(signal);
        }
    }

    /// Whether it was killed before its exit by a [`Killer`] or by [`end_all`](super::end_all).
    pub fn was_killed(&self) -> bool {
        self.handle.killed.load(Ordering::Relaxed)
    }

    /// What can kill the process from elsewhere.
    pub fn killer(&self) -> Killer {
        Killer(self.handle.clone())
    }

    /// Remembers who descends from the process now: some are only recognised as long as their parents live.
    pub fn look(&self) {
        self.handle.tree().survivors();
    }

    /// To be called when the process has exited. Gives what it left behind the time `settle` to end, ends the rest and
    /// records it, then waits for the end of stderr. Returns the ids of the processes that were ended.
    pub async fn finish(&self, settle: Duration) -> Vec<u32> {
        /// How long a killed process may take to be gone, and a pipe to be empty.
        const GRACE: Duration = Duration::from_secs(2);

        let since = Instant::now();
        let mut pause = Duration::from_millis(2);
        let orphans = loop {
            let survivors = self.handle.tree().survivors();
            if survivors.is_empty() {
                break survivors;
            }
            if since.elapsed() >= settle {
                self.recorder.push(Body::Orphans { pids: survivors.clone() });
                self.end_tree(GRACE).await;
                break survivors;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        };
        self.handle.tree().reap();
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut stderr) = stderr
            && timeout(GRACE, &mut stderr).await.is_err()
        {
            self.recorder.push(Body::Limit { what: "stderr was still held open after the server's exit".to_owned() });
            self.stop.send_replace(true);
            // It hears the stop at its next read and only has to push what it holds.
            let _ = timeout(GRACE, stderr).await;
        }
        registry::leave(self.number);
        orphans
    }

    async fn end_tree(&self, grace: Duration) {
        let since = Instant::now();
        while !self.handle.tree().kill().is_empty() && since.elapsed() < grace {
            sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let finished = self.handle.exit.borrow().is_some() && self.stderr.lock().is_ok_and(|stderr| stderr.is_none());
        if !finished {
            self.handle.kill();
        }
        self.stop.send_replace(true);
        registry::leave(self.number);
    }
}

/// Kills a process and everything that it started, without owning it.
#[derive(Clone, Debug)]
pub struct Killer(Handle);

impl Killer {
    pub fn kill(&self) {
        self.0.kill();
    }
}

/// What the registry needs to end a process without owning it.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) pid: u32,
    exit: watch::Receiver<Option<Exit>>,
    orders: mpsc::UnboundedSender<Signal>,
    tree: Arc<Mutex<Tree>>,
    recorder: Recorder,
    /// Whether we killed it; its exit is then not of its own.
    killed: Arc<AtomicBool>,
}

impl Handle {
    /// Kills the group and every descendant at once, without waiting.
    pub(super) fn kill(&self) {
        // Descendants that left the group are found while their parents still live.
        self.tree().survivors();
        if self.exit.borrow().is_none() {
            self.killed.store(true, Ordering::Relaxed);
            self.recorder.push(Body::Signalled { name: Signal::Kill.name() });
            kill_group(self.pid);
            let _ = self.orders.send(Signal::Kill);
        }
        self.tree().kill();
    }

    pub(super) async fn gone(&self) {
        let mut exit = self.exit.clone();
        let _ = exit.wait_for(Option::is_some).await;
        while !self.tree().kill().is_empty() {
            sleep(Duration::from_millis(2)).await;
        }
        self.tree().reap();
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(spec: &CommandSpec, recorder: &Recorder, stdin: Stdio) -> Result<Spawned, StartError> {
    if registry::is_closed() {
        let program = spec.program.to_string_lossy().into_owned();
        return Err(StartError { program, kind: StartErrorKind::Interrupted });
    }
    let number = registry::number();
    let mark = format!("{}-{number}", std::process::id());
    let mut command = CommandWrap::with_new(&spec.program, |command| {
        command.args(&spec.args).envs(spec.env.iter().map(|(name, value)| (name, value)));
        if let Some(name) = MARK {
            command.env(name, &mark);
        }
        if let Some(cwd) = &spec.cwd {
            command.current_dir(cwd);
        }
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    command.wrap(KillOnDrop);
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);

    let mut child = command.spawn().map_err(|error| StartError::explain(spec, &error))?;
    let pid = child.id().unwrap_or_default();
    recorder.push(Body::Started { pid });
    let (exited, exit) = watch::channel(None);
    let (orders, received) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let tree = Arc::new(Mutex::new(Tree::new(pid, &mark)));
    let handle = Handle { pid, exit, orders, tree, recorder: recorder.clone(), killed: Arc::default() };
    registry::enter(number, handle.clone());

    let stdin = child.stdin().take();
    let stdout = child.stdout().take();
    let stderr = child.stderr().take();
    tokio::spawn(watch_over(child, recorder.clone(), received, exited));
    let stderr = stderr.map(|stderr| tokio::spawn(drain(stderr, recorder.clone(), stopped)));
    let process = Process { number, handle, recorder: recorder.clone(), stop, stderr: Mutex::new(stderr) };
    let Some(stdout) = stdout else {
        let kind = StartErrorKind::Other("its standard output could not be opened".to_owned());
        return Err(StartError { program: spec.program.to_string_lossy().into_owned(), kind });
    };
    Ok(Spawned { process, stdin, stdout })
}

/// Owns the child: waits for its exit and passes signals on. The wait is the innermost one: the wrapper's would also wait
/// for every other member of the group.
async fn watch_over(
    mut child: Box<dyn ChildWrapper>,
    recorder: Recorder,
    mut orders: mpsc::UnboundedReceiver<Signal>,
    exited: watch::Sender<Option<Exit>>,
) {
    let exit = loop {
        tokio::select! {
            status = child.inner_mut().wait() => break status.map_or(Exit { code: None, signal: None }, exit_of),
            order = orders.recv() => match order {
                Some(signal) => deliver(&mut *child, signal),
                None => deliver(&mut *child, Signal::Kill),
            },
        }
    };
    recorder.push(Body::Exited(exit.clone()));
    exited.send_replace(Some(exit));
}

#[cfg(unix)]
fn exit_of(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    Exit { code: status.code(), signal: status.signal() }
}

#[cfg(not(unix))]
fn exit_of(status: ExitStatus) -> Exit {
    Exit { code: status.code(), signal: None }
}

#[cfg(unix)]
fn deliver(child: &mut dyn ChildWrapper, signal: Signal) {
    let number = match signal {
        Signal::Hangup => nix::sys::signal::Signal::SIGHUP,
        Signal::Interrupt => nix::sys::signal::Signal::SIGINT,
        Signal::Kill => nix::sys::signal::Signal::SIGKILL,
        Signal::Terminate => nix::sys::signal::Signal::SIGTERM,
    };
    // It may have exited in this moment; the wait tells.
    let _ = child.signal(number as i32);
}

#[cfg(not(unix))]
fn deliver(child: &mut dyn ChildWrapper, _signal: Signal) {
    let _ = child.start_kill();
}

#[cfg(unix)]
fn kill_group(pid: u32) {
    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };
    // Group 0 would be our own.
    if let Some(group) = i32::try_from(pid).ok().filter(|group| *group > 1) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_pid: u32) {}

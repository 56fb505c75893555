//! Servers inside this process, over pipes in memory.

use std::{pin::Pin, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadHalf, WriteHalf, duplex, split},
    sync::mpsc,
};

use crate::{process::Signal, trace::Exit};

/// What a pipe holds before the writer waits.
const BUFFER: usize = 64 * 1024;

/// Starts a server "process" in memory; each call is one of its own.
pub trait MemoryServer: Send + Sync {
    fn start(&self) -> MemoryPipes;
}

/// The ends that a client of an in-memory server holds.
pub struct MemoryPipes {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub exit: Pin<Box<dyn Future<Output = Exit> + Send>>,
    /// Told the signals that a process would get.
    pub signals: mpsc::UnboundedSender<Signal>,
}

/// A server that is a function: it is given its stdin and stdout, and returns the status with which a process would exit.
/// Any signal ends it.
pub fn in_memory<S, F>(serve: S) -> Arc<dyn MemoryServer>
where
    S: Fn(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) -> F + Send + Sync + 'static,
    F: Future<Output = i32> + Send + 'static,
{
    Arc::new(Served(serve))
}

struct Served<S>(S);

impl<S, F> MemoryServer for Served<S>
where
    S: Fn(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) -> F + Send + Sync,
    F: Future<Output = i32> + Send + 'static,
{
    fn start(&self) -> MemoryPipes {
        let (ours, theirs) = duplex(BUFFER);
        let (read, write) = split(theirs);
        let (signals, mut given) = mpsc::unbounded_channel();
        let serving = (self.0)(read, write);
        let exit = async move {
            tokio::select! {
                status = serving => Exit { code: Some(status), signal: None },
                signal = ending(&mut given) => Exit { code: None, signal: Some(signal) },
            }
        };
        let (stdout, stdin) = split(ours);
        MemoryPipes { stdin: Box::new(stdin), stdout: Box::new(stdout), exit: Box::pin(exit), signals }
    }
}

/// The number of the signal that ends the server, when one comes.
async fn ending(given: &mut mpsc::UnboundedReceiver<Signal>) -> i32 {
    match given.recv().await {
        Some(Signal::Terminate) => 15,
        Some(Signal::Kill) => 9,
        Some(Signal::Hangup) => 1,
        Some(Signal::Interrupt) => 2,
        // Nobody is left who could send one: the server ends by its input.
        None => std::future::pending().await,
    }
}

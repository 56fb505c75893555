//! The real process around the library: [`stdio`] and [`http`], with what only a process can do wrong: exit codes,
//! signals, children and stderr.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, ExitCode, Stdio};

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::cli::complain;
use crate::config::Config;
use crate::faults::Fault;
use crate::stdio::serve_stdio;
use crate::web::{ENDPOINT, HttpServer};

/// Serves standard input and output.
pub(crate) fn stdio(config: Config) -> ExitCode {
    if let Some(code) = misbehave_first(&config) {
        return code;
    }
    let Some(runtime) = runtime() else { return ExitCode::FAILURE };
    let status = runtime.block_on(async {
        #[cfg(unix)]
        let deaf = config.faults.has(Fault::IgnoresSigterm).then(ignore_sigterm);
        let status = serve_stdio(config, tokio::io::stdin(), tokio::io::stdout()).await;
        #[cfg(unix)]
        if let Some(deaf) = deaf {
            deaf.await;
        }
        status
    });
    // A read of stdin may still be under way in a thread of its own; the process does not wait for it.
    runtime.shutdown_background();
    ExitCode::from(u8::try_from(status.code).unwrap_or(1))
}

/// Serves HTTP on a loopback port, which is named on stderr.
pub(crate) fn http(config: Config, port: u16) -> ExitCode {
    if let Some(code) = misbehave_first(&config) {
        return code;
    }
    let Some(runtime) = runtime() else { return ExitCode::FAILURE };
    let ended = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        // The line is a contract: whoever started the server reads the port from it.
        let _ = writeln!(std::io::stderr(), "listening on http://127.0.0.1:{port}{ENDPOINT}");
        HttpServer::new(config).serve(listener).await
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn runtime() -> Option<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| complain(&format!("failed to start the runtime: {error}")))
        .ok()
}

/// What a broken process does before it serves; it may not come to that.
fn misbehave_first(config: &Config) -> Option<ExitCode> {
    let has = |fault: Fault| config.faults.has(fault);
    if has(Fault::WantsConfiguration) {
        complain("REFERENCE_API_KEY is not set");
        return Some(ExitCode::from(2));
    }
    if has(Fault::StderrFlood) {
        let line = [b'e'; 1023];
        for _ in 0..1024 {
            let _ = std::io::stderr().write_all(&line);
            let _ = std::io::stderr().write_all(b"\n");
        }
    }
    if has(Fault::GrandchildInGroup) {
        leave_behind(Command::new("sleep").arg("30"));
    }
    if has(Fault::GrandchildEscaped) {
        leave_behind(Command::new("setsid").args(["sleep", "30"]));
    }
    None
}

/// Starts a child that nobody waits for and that holds none of the pipes.
fn leave_behind(command: &mut Command) {
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = started {
        complain(&format!("failed to start a child: {error}"));
    }
}

/// Takes every SIGTERM without ending.
#[cfg(unix)]
fn ignore_sigterm() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = signal(SignalKind::terminate());
    async move {
        if let Ok(mut signals) = signals {
            while signals.recv().await.is_some() {}
        }
    }
}

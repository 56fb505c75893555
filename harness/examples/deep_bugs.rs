//! Measures the fuzzer by the deep bugs of the reference server: in how many inputs and seconds each is found, over several
//! seeds, and how small the finding gets.
//!
//! ```sh
//! cargo build --release && cargo run --release -p mcp-conform --example deep_bugs -- --seeds 5 --for 120
//! cargo run --release -p mcp-conform --example deep_bugs -- --for 20 sum-overflow charset
//! ```
//!
//! Nothing here is a test: times depend on the machine.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mcp_conform::{
    conversation::StdioTarget,
    fuzz::{Finding, FuzzControl, FuzzOptions, fuzz},
    process::CommandSpec,
    proof::Suite,
    run::HttpTarget,
    transport::{Endpoint, TlsOptions},
};
use mcp_reference_server::{BugInfo, Config, Transport, bugs};
use tokio::sync::watch;
use url::Url;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Settings {
    seeds: u64,
    time: Duration,
    jobs: usize,
    only: Vec<String>,
}

fn main() -> Outcome<()> {
    let settings = settings()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("| bug | over | shows | found | inputs (median) | seconds (median) | messages (least) | kind |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut found_of_all = 0;
    let mut known = 0;
    for info in bugs() {
        if !settings.only.is_empty() && !settings.only.iter().any(|name| name == info.name) {
            continue;
        }
        known += 1;
        let mut found: Vec<Finding> = Vec::new();
        for seed in 0..settings.seeds {
            found.extend(runtime.block_on(hunt(info, seed, &settings))?);
        }
        found_of_all += usize::from(found.len() as u64 * 2 > settings.seeds);
        let transport = info.transports.first().map(|transport| format!("{transport:?}").to_lowercase());
        let kinds: std::collections::BTreeSet<&str> = found.iter().map(|finding| finding.kind.as_str()).collect();
        println!(
            "| {} | {} | {:?} | {} of {} | {} | {} | {} (least {}) | {} |",
            info.name,
            transport.unwrap_or_default(),
            info.shows,
            found.len(),
            settings.seeds,
            median(found.iter().map(|finding| finding.after_inputs as f64).collect(), settings.seeds),
            median(found.iter().map(|finding| finding.after_s).collect(), settings.seeds),
            median(found.iter().map(|finding| finding.messages as f64).collect(), found.len() as u64),
            info.messages,
            kinds.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    println!("{found_of_all} of {known} were found by most seeds within {} s", settings.time.as_secs());
    Ok(())
}

/// One campaign, until its first finding. The sound server gives none.
async fn hunt(info: &BugInfo, seed: u64, settings: &Settings) -> Outcome<Option<Finding>> {
    let transport = info.transports.first().copied().unwrap_or(Transport::Stdio);
    let out = std::env::temp_dir().join(format!("mcp-conform-deep-{}-{seed}", std::process::id()));
    let mut run = Suite::embedded().options(&Config::default(), transport);
    run.seed = seed;
    let server = |rest: &[&str]| -> Outcome<CommandSpec> {
        let words = ["reference-server", "--", "--bug", info.name].into_iter().chain(rest.iter().copied());
        Ok(CommandSpec::new(binary()?, words))
    };
    match transport {
        Transport::Stdio => run.stdio = Some(StdioTarget::Process(server(&["--transport", "stdio"])?)),
        Transport::Http => {
            let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let url = Url::parse(&format!("http://127.0.0.1:{port}/mcp"))?;
            let serve = server(&["--transport", "http", "--port", &port.to_string()])?;
            let endpoint = Endpoint::new(url, &TlsOptions::default())?;
            run.http = Some(HttpTarget { endpoint, serve: Some(serve) });
        }
    }
    let options = FuzzOptions {
        run,
        time: Some(settings.time),
        max_findings: Some(1),
        max_inputs: None,
        jobs: settings.jobs,
        out: out.clone(),
        corpus: Vec::new(),
        resume: false,
        rss_limit: 2 << 30,
        confirm: 3,
    };
    let (_keep, stop) = watch::channel(None);
    let control = FuzzControl { status: Arc::new(|_| {}), found: Arc::new(|_| {}), tell: Arc::new(|_| {}), stop };
    let outcome = fuzz(options, control).await?;
    fs_err::remove_dir_all(&out)?;
    Ok(outcome.findings.into_iter().find(|finding| !finding.provisional))
}

/// The middle of what was measured; what was not found counts as the most.
fn median(mut values: Vec<f64>, of: u64) -> String {
    values.sort_by(f64::total_cmp);
    let middle = usize::try_from(of).unwrap_or(usize::MAX).saturating_sub(1) / 2;
    match values.get(middle) {
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.1}"),
        None => "-".to_owned(),
    }
}

/// The binary that was built with this example, two folders up.
fn binary() -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).ok_or("the example lies in no target folder")?;
    let binary = folder.join("mcp-conform");
    if !binary.exists() {
        return Err(format!("{} is not there: build it first, in the same profile", binary.display()).into());
    }
    Ok(binary)
}

fn settings() -> Outcome<Settings> {
    let mut settings = Settings { seeds: 1, time: Duration::from_secs(120), jobs: 2, only: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Outcome<u64> { Ok(words.next().ok_or("a number is missing")?.parse()?) };
        match word.as_str() {
            "--seeds" => settings.seeds = number()?,
            "--for" => settings.time = Duration::from_secs(number()?),
            "--jobs" => settings.jobs = usize::try_from(number()?)?,
            name => settings.only.push(name.to_owned()),
        }
    }
    Ok(settings)
}

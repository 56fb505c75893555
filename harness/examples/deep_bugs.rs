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
    collections::BTreeSet,
    error::Error,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_conform::{
    conversation::StdioTarget,
    fuzz::{Finding, FuzzControl, FuzzOptions, Kind, fuzz},
    process::CommandSpec,
    proof::Suite,
    run::HttpTarget,
    transport::{Endpoint, TlsOptions},
};
use mcp_reference_server::{BugInfo, Config, Shows, Transport, bugs};
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
    println!("| bug | over | shows | found | inputs (median) | seconds (median) | messages (least) | as | besides |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut found_of_all = 0;
    let mut known = 0;
    for info in bugs() {
        if !settings.only.is_empty() && !settings.only.iter().any(|name| name == info.name) {
            continue;
        }
        known += 1;
        let mut found: Vec<Finding> = Vec::new();
        let mut besides: BTreeSet<String> = BTreeSet::new();
        for seed in 0..settings.seeds {
            let all = runtime.block_on(hunt(info, seed, &settings))?;
            let (fitting, others): (Vec<Finding>, Vec<Finding>) = all.into_iter().partition(|it| fits(info.shows, it));
            let first = fitting.iter().map(|it| (it.after_inputs, it.after_s)).min_by(|a, b| a.1.total_cmp(&b.1));
            // It may have been made smaller since.
            let last = fitting.into_iter().min_by_key(|it| (it.is_flaky(), it.messages));
            if let (Some((after_inputs, after_s)), Some(last)) = (first, last) {
                found.push(Finding { after_inputs, after_s, ..last });
            }
            besides.extend(others.into_iter().map(|it| it.requirement));
        }
        found_of_all += usize::from(found.len() as u64 * 2 > settings.seeds);
        let transport = info.transports.first().map(|transport| format!("{transport:?}").to_lowercase());
        let found_as: BTreeSet<&str> = found.iter().map(|finding| finding.requirement.as_str()).collect();
        println!(
            "| {} | {} | {:?} | {} of {} | {} | {} | {} (least {}) | {} | {} |",
            info.name,
            transport.unwrap_or_default(),
            info.shows,
            found.len(),
            settings.seeds,
            median(found.iter().map(|finding| finding.after_inputs as f64).collect(), settings.seeds),
            median(found.iter().map(|finding| finding.after_s).collect(), settings.seeds),
            median(found.iter().map(|finding| finding.messages as f64).collect(), found.len() as u64),
            info.messages,
            found_as.into_iter().collect::<Vec<_>>().join(", "),
            besides.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    println!("{found_of_all} of {known} were found by most seeds within {} s", settings.time.as_secs());
    Ok(())
}

/// Whether a finding is how a bug shows. Whoever dies or falls silent can be seen as either, and loses what was in flight.
fn fits(shows: Shows, finding: &Finding) -> bool {
    let kinds: &[Kind] = match shows {
        Shows::Death | Shows::Hang | Shows::Slow => &[Kind::Death, Kind::Hang, Kind::Lost],
        // What is lost here may turn up there.
        Shows::Lost => &[Kind::Lost, Kind::Swapped, Kind::Leak],
        Shows::Doubled | Shows::ForeignId | Shows::Malformed | Shows::Pollution => &[Kind::Rule],
        Shows::NotificationAnswered => &[Kind::Rule, Kind::Astray],
        Shows::Swapped => &[Kind::Swapped, Kind::Leak],
        Shows::Status500 => &[Kind::ServerError, Kind::StackTrace],
        Shows::Trace => &[Kind::StackTrace],
        Shows::Accepted => &[Kind::Accepted],
        Shows::Refused => &[Kind::Refused],
        Shows::Leaked => &[Kind::Leak],
        Shows::Astray => &[Kind::Astray],
        Shows::Memory | Shows::Descriptors => &[Kind::Growth],
        Shows::UncleanExit => &[Kind::Exit],
    };
    kinds.contains(&finding.kind)
}

/// One campaign, until the bug is found and made small. The sound server gives no findings.
async fn hunt(info: &BugInfo, seed: u64, settings: &Settings) -> Outcome<Vec<Finding>> {
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
        max_findings: None,
        max_inputs: None,
        jobs: settings.jobs,
        out: out.clone(),
        corpus: Vec::new(),
        resume: false,
        rss_limit: 2 << 30,
        confirm: 3,
    };
    let (enough, stop) = watch::channel(None);
    let all: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let (seen, shows, least) = (all.clone(), info.shows, info.messages);
    let found = move |finding: &Finding| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(finding.clone());
        if fits(shows, finding) && finding.messages <= least + 1 {
            enough.send_replace(Some("it was found".to_owned()));
        }
    };
    let control = FuzzControl { status: Arc::new(|_| {}), found: Arc::new(found), tell: Arc::new(|_| {}), stop };
    fuzz(options, control).await?;
    fs_err::remove_dir_all(&out)?;
    let all = std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(all)
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

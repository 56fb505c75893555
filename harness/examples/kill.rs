//! Judges single faults of the reference server in memory and tells what was found, for whoever adds a fault or a check.
//!
//! `cargo run -p mcp-conform --example kill -- [--scripts DIR] FAULT…`, or without a name every fault that does not do what
//! it should. The name `sound` judges the server without a fault, as it is and with one revision alone. With `--scripts` the cases are read from a folder, so that a new one needs no build.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use mcp_conform::proof::{Outcome, Suite};
use mcp_conform_reports::model::Verdict;
use mcp_reference_server::{AnswerForm, Config, Eras, Tier, Transport, faults};

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let suite = match wanted.first().map(String::as_str) {
        Some("--scripts") if wanted.len() > 1 => {
            let folder = wanted.remove(1);
            wanted.remove(0);
            match mcp_conform_cases::load_dir(folder.as_ref()) {
                Ok(cases) => Suite::new(cases),
                Err(mcp_conform_cases::LoadError::Scripts(faults)) => {
                    return faults.iter().for_each(|fault| println!("{}", fault.render(false)));
                }
                Err(error) => return println!("{error}"),
            }
        }
        _ => Suite::embedded(),
    };
    for name in wanted.iter().filter(|name| *name != "sound") {
        match faults().iter().find(|info| info.name == name) {
            None => {
                return println!(
                    "{name} is no fault of the reference server: cargo run -p mcp-reference-server -- --list-faults"
                );
            }
            Some(info) if info.tier > Tier::T1 => {
                println!(
                    "{name} does not show in memory ({:?}): cargo test -p mcp-conform --test kill_processes",
                    info.tier
                );
            }
            Some(_) => {}
        }
    }
    if wanted.iter().any(|name| name == "sound") {
        sound(&suite);
        if wanted.len() == 1 {
            return;
        }
    }
    for info in faults().iter().filter(|info| info.tier <= Tier::T1) {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == info.name) {
            continue;
        }
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build() else {
            continue;
        };
        let row = runtime.block_on(suite.cross_row(info));
        if wanted.is_empty() && row.outcome() != Outcome::Survived && row.extra.is_empty() {
            continue;
        }
        println!(
            "{}: {:?}\n  missed {:?}\n  extra {:?}\n  open {:?}",
            info.name,
            row.outcome(),
            row.missed,
            row.extra,
            row.open
        );
        if wanted.is_empty() {
            continue;
        }
        for transport in info.transports {
            let report = runtime.block_on(suite.judge_fault(info, *transport));
            println!("  over {transport:?}: target {:?} {:?}", report.target.status, report.target.message);
            for result in &report.results {
                let told =
                    info.breaks.iter().any(|(id, revision)| *id == result.requirement && *revision == result.revision)
                        || !matches!(result.verdict, Verdict::Pass | Verdict::NotApplicable | Verdict::NotVerified);
                if told {
                    println!(
                        "    {:?} {} {} by {} [{}]: {}",
                        result.verdict,
                        result.requirement,
                        result.revision,
                        result.check,
                        result.subject,
                        result.message
                    );
                }
            }
        }
    }
}

/// Everything but passes and what does not apply.
fn sound(suite: &Suite) {
    let alone = |eras| Config { eras, ..Config::default() };
    let streams = Config { answers: AnswerForm::Sse, ..Config::default() };
    let configs = [
        ("both revisions", Config::default()),
        ("streams", streams),
        ("2026-07-28 alone", alone(Eras::ModernOnly)),
        ("2025-11-25 alone", alone(Eras::LegacyOnly)),
        ("without sessions", Config { sessions: false, ..Config::default() }),
    ];
    for (name, config) in configs {
        for transport in [Transport::Stdio, Transport::Http] {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()
            else {
                continue;
            };
            let report = runtime.block_on(suite.judge_reference(&config, transport));
            println!("sound, {name}, over {transport:?}: {} results", report.results.len());
            for result in &report.results {
                if !matches!(result.verdict, Verdict::Pass | Verdict::NotApplicable) {
                    println!(
                        "    {:?} {} {} by {} [{}]: {}",
                        result.verdict,
                        result.requirement,
                        result.revision,
                        result.check,
                        result.subject,
                        result.message
                    );
                }
            }
        }
    }
}

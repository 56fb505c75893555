//! Judges single faults of the reference server in memory and tells what was found, for whoever adds a fault or a check.
//!
//! `cargo run -p mcp-conform --example kill -- FAULT…`, or without a name every fault that does not do what it should.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use mcp_conform::proof::{Outcome, judge_fault, kill_row, named_by_checks};
use mcp_conform_reports::model::Verdict;
use mcp_reference_server::{Tier, faults};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let named = named_by_checks();
    for info in faults().iter().filter(|info| info.tier <= Tier::T1) {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == info.name) {
            continue;
        }
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build() else {
            continue;
        };
        let row = runtime.block_on(kill_row(info, true, &named));
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
            let report = runtime.block_on(judge_fault(info, *transport, true));
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

//! Every fault of the reference server that a check looks at is found by its own requirement, and by no other.
//!
//! Each fault is judged by its own cases and all rules; a part of them, another one whenever the suite grows, by everything.
//! `KILL_TABLE=all` judges all of them by everything: the whole cross table.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use mcp_conform::proof::{Outcome, Row, Suite};
use mcp_reference_server::{FaultInfo, Tier, faults};

/// One in so many faults is judged by everything.
const PART: usize = 16;

#[test]
fn no_fault_survives() {
    let suite = Suite::embedded();
    let faults: Vec<&FaultInfo> = faults().iter().filter(|info| info.tier <= Tier::T1).collect();
    let all = std::env::var("KILL_TABLE").is_ok_and(|value| value == "all");
    let turn = suite.named().len() + faults.len();
    let next = AtomicUsize::new(0);
    let rows: Mutex<Vec<Row>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(info) = faults.get(index) else { return };
                    // A runtime of its own for each, so that no task of one outlives it into the next.
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
                    let row = if all || (index + turn).is_multiple_of(PART) {
                        runtime.block_on(suite.cross_row(info))
                    } else {
                        runtime.block_on(suite.kill_row(info))
                    };
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|row| row.fault);
    let mut told = String::new();
    let count = |outcome| rows.iter().filter(|row| row.outcome() == outcome).count();
    for row in rows.iter().filter(|row| row.outcome() == Outcome::Survived || !row.extra.is_empty()) {
        told.push_str(&format!("{}: missed {:?}, also found {:?}\n", row.fault, row.missed, row.extra));
    }
    println!("{} killed, {} survived, {} open", count(Outcome::Killed), count(Outcome::Survived), count(Outcome::Open));
    assert!(told.is_empty(), "{told}");
}

//! Every fault of the reference server that a check looks at is found by its own requirement, and by no other.

use mcp_conform::proof::{Outcome, Row, Suite};
use mcp_reference_server::{Tier, faults};

#[test]
fn no_fault_survives() {
    let suite = Suite::embedded();
    let rows: Vec<Row> = faults()
        .iter()
        .filter(|info| info.tier <= Tier::T1)
        .map(|info| {
            // A runtime of its own for each, so that no task of one outlives it into the next.
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            runtime.block_on(suite.kill_row(info))
        })
        .collect();
    let mut told = String::new();
    let count = |outcome| rows.iter().filter(|row| row.outcome() == outcome).count();
    for row in rows.iter().filter(|row| row.outcome() == Outcome::Survived || !row.extra.is_empty()) {
        told.push_str(&format!("{}: missed {:?}, also found {:?}\n", row.fault, row.missed, row.extra));
    }
    println!("{} killed, {} survived, {} open", count(Outcome::Killed), count(Outcome::Survived), count(Outcome::Open));
    assert!(told.is_empty(), "{told}");
}

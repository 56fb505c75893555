//! `explain`: by every kind of id, and with a suggestion for the others.

use crate::fixture::Cli;

#[test]
fn by_every_kind_of_id() {
    let cli = Cli::new();
    let told = |id: &str, told: &[&str]| drop(cli.run(["explain", id]).is(0, told));
    told(
        "tools-list-bogus-cursor",
        &["Steps", "proven by: bogus-cursor-as-first-page", "Would have shown:", "logic-pro-mcp"],
    );
    told("stdout", &["It looks at every message", "proven by: stdout-banner"]);
    told(
        "2025-11-25/base-response-id-type-preserved",
        &["A server that breaks it", "rule ids", "python-sdk/issues/961"],
    );
    told("C18", &["Version mismatch at initialize", "2025-11-25/version-other-when-unsupported"]);
    told("stdout-banner", &["a fault of the reference server", "--fault stdout-banner"]);
    let script = cli.run(["explain", "tools-list-bogus-cursor", "--yaml"]).is(0, &[]).stdout;
    assert!(script.starts_with("id: tools-list-bogus-cursor\n"));
}

#[test]
fn what_is_unknown_has_neighbours() {
    let cli = Cli::new();
    let refused = |id: &str, told: &[&str]| cli.run(["explain", id]).refused(told);
    refused("tools-list-bogus", &["is no case, rule or requirement", "did you mean"]);
    refused("C99", &["C1 to C46"]);
    refused("stdoot", &["did you mean stdout?"]);
    refused("2025-11-25/version-unsupported-32022", &["is no requirement of 2025-11-25", "it is one of 2026-07-28"]);
    refused("2024-11-05/ids", &["is no judged revision", "2025-11-25 or 2026-07-28"]);
    cli.run(["explain", "stdout", "--yaml"]).refused(&["stdout is no case", "leave out --yaml"]);
}

//! `mcp-conform report`: formats from result files, the matrix, and joined results.

use crate::fixture::Cli;

/// A result file of version 1, with one failure and some warnings.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../reports/tests/reports/samples/version-1.json");

#[test]
fn every_format_is_made_from_a_result_file() {
    let cli = Cli::new();
    for (format, begins) in [
        ("terminal", "mcp-conform 0.1.0"),
        ("json", "{\n"),
        ("html", "<!doctype html>"),
        ("markdown", "## MCP conformance of"),
        ("junit", "<?xml version=\"1.0\""),
        ("sarif", "{\n  \"$schema\""),
        ("tap", "TAP version 14\n"),
        ("badge", "<svg "),
        ("github", "::error title=base-response-id-echoes-request"),
    ] {
        let ran = cli.run(["report", SAMPLE, "--format", format]).is(0, &[]);
        assert!(ran.stdout.starts_with(begins), "{format}: {}", &ran.stdout[..ran.stdout.len().min(200)]);
        cli.run(["report", SAMPLE, "--format", format, "-o", "out"]).is(0, &[]);
        assert!(cli.read("out").starts_with(begins), "{format} in a file");
    }
}

#[test]
fn the_support_report_has_its_formats() {
    let cli = Cli::new();
    for (format, has) in [
        ("terminal", "Before full support"),
        ("markdown", "### What stands before full support"),
        ("html", "<h2 id=\"h-blockers\">"),
        ("json", "\"blockers\""),
    ] {
        let ran = cli.run(["report", "--support", SAMPLE, "--format", format]).is(0, &[]);
        assert!(ran.stdout.contains(has), "{format} has no {has}");
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
            assert!(ran.stdout.contains(revision), "{format} has no {revision}");
        }
    }
    cli.run(["report", "--support", SAMPLE, "--format", "tap"])
        .is(2, &["--format tap", "terminal, markdown, html and json"]);
    let other = std::fs::read_to_string(SAMPLE).unwrap().replace("node dist/index.js", "node other.js");
    std::fs::write(cli.folder().join("other.json"), other).unwrap();
    cli.run(["report", "--support", SAMPLE, "other.json"]).is(2, &["--support tells of one server"]);
}

#[test]
fn one_revision_alone() {
    let cli = Cli::new();
    let ran = cli.run(["report", SAMPLE, "--revision", "2026-07-28", "--format", "badge"]).is(0, &[]);
    assert!(ran.stdout.contains("2026-07-28 not supported") && !ran.stdout.contains("2025-11-25"), "{}", ran.stdout);
    cli.run(["report", SAMPLE, "--revision", "2027-01-01"]).is(2, &["--revision 2027-01-01: is in no result file"]);
}

#[test]
fn several_files_make_a_matrix() {
    let cli = Cli::new();
    let other = std::fs::read_to_string(SAMPLE).unwrap().replace("node dist/index.js", "node other.js");
    std::fs::write(cli.folder().join("other.json"), other).unwrap();
    for (format, has) in
        [("html", "MCP conformance of 2 servers"), ("markdown", "of 2 servers"), ("json", "\"servers\"")]
    {
        let ran = cli.run(["report", SAMPLE, "other.json", "--format", format]).is(0, &[]);
        assert!(ran.stdout.contains(has), "{format} has no {has}");
    }
    cli.run(["report", SAMPLE, "other.json", "--format", "junit"]).is(2, &["html, markdown and json"]);
    cli.run(["report", SAMPLE, "other.json"]).is(0, &["## MCP conformance of 2 servers"]);
    // Files of one server are one report, however they are put together.
    cli.run(["report", "merge", SAMPLE, SAMPLE, "-o", "joined.json"]).is(0, &[]);
    let alone = cli.run(["report", SAMPLE, "--format", "badge"]).is(0, &[]).stdout;
    for args in [&["report", "joined.json"][..], &["report", SAMPLE, SAMPLE]] {
        let ran = cli.run(args.iter().chain(&["--format", "badge"])).is(0, &[]);
        assert_eq!(ran.stdout, alone);
    }
    let whole: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(SAMPLE).unwrap()).unwrap();
    for (verdict, count) in whole["summary"].as_object().unwrap() {
        assert_eq!(cli.json("joined.json")["summary"][verdict], *count, "{verdict}");
    }
    // One server stays one result, two make a file that is read like two.
    cli.run(["report", "merge", SAMPLE, SAMPLE, "-o", "one.json"]).is(0, &[]);
    assert_eq!(cli.json("one.json")["summary"]["warn"], 23);
    cli.run(["report", "merge", SAMPLE, "other.json", "-o", "two.json"]).is(0, &[]);
    assert_eq!(cli.json("two.json")["reports"].as_array().map(Vec::len), Some(2));
    let ran = cli.run(["report", "two.json", "--format", "html"]).is(0, &[]);
    assert!(ran.stdout.contains("MCP conformance of 2 servers"));
}

#[test]
fn what_cannot_be_done_is_told() {
    let cli = Cli::new();
    cli.run(["report"]).is(2, &["no result file was named"]);
    cli.run(["report", "nowhere.json"]).is(2, &["nowhere.json cannot be read"]);
    cli.run(["report", SAMPLE, "--format", "htm"]).is(2, &["did you mean `html`?"]);
    cli.run(["report", SAMPLE, "-o", "no/where"]).is(2, &["no/where cannot be written", "--output another place"]);
    cli.run(["report", "merge", SAMPLE, "-o", "no/where"]).is(2, &["no/where cannot be written"]);
    std::fs::write(cli.folder().join("bad.json"), "{}").unwrap();
    cli.run(["report", "bad.json"]).is(2, &["bad.json: not a result file"]);
}

#[test]
fn the_schema_of_a_result_file_is_printed() {
    let cli = Cli::new();
    let ran = cli.run(["report", "schema"]).is(0, &[]);
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["title"], "Result file of mcp-conform, version 1");
}

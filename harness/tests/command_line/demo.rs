//! The report of `run --demo` as a person sees it, sound and with a fault.

use crate::fixture::Cli;

/// What differs from run to run: times, counts of requests that run side by side, ids, ports and paths.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d+\.\d s", "[time] s");
    settings.add_filter(r"\d+ process starts, \d+ requests", "[starts] process starts, [requests] requests");
    settings.add_filter(r#""id":\d+"#, r#""id":[id]"#);
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:[port]");
    settings.add_filter(r"mcp-conform \d+\.\d+\.\d+", "mcp-conform [version]");
    settings.add_filter(r"mcp-reference-server \d+\.\d+\.\d+", "mcp-reference-server [version]");
    settings.add_filter(r#""version":"\d+\.\d+\.\d+""#, r#""version":"[version]""#);
    settings
}

#[test]
fn sound() {
    // A part of the suite, so that a new case does not change it.
    let args = ["run", "--demo", "--case", "tools-list-bogus-cursor", "--case", "header-mismatch"];
    let ran = Cli::new().run(args);
    settings().bind(|| insta::assert_snapshot!(ran.stdout));
}

#[test]
fn with_a_fault() {
    let args = ["run", "--demo", "--fault", "bogus-cursor-as-first-page", "--case", "tools-list-bogus-cursor"];
    let ran = Cli::new().run(args);
    settings().bind(|| insta::assert_snapshot!(ran.stdout));
}

//! The job summary.

use mcp_conform_reports::exit::{self, Policy};
use mcp_conform_reports::markdown::{self, Markdown};
use mcp_conform_reports::model::{Report, TargetStatus};
use mcp_conform_reports::render::{self, Options};

use crate::fixture;

fn page(report: &Report) -> String {
    let exit = Some(exit::decide(report, &Policy::default()));
    render::to_string(&Markdown, report, &Options { exit, ..Options::default() })
}

#[test]
fn clean() {
    insta::assert_snapshot!(page(&fixture::clean()));
}

#[test]
fn everything() {
    insta::assert_snapshot!(page(&fixture::everything()));
}

#[test]
fn unavailable() {
    insta::assert_snapshot!(page(&fixture::unavailable(TargetStatus::Exited)));
}

#[test]
fn hostile() {
    insta::assert_snapshot!(page(&fixture::hostile()));
}

#[test]
fn a_page_is_small_whatever_was_found() {
    let mut report = fixture::many();
    let page = page(&report);
    assert!(page.len() <= markdown::MOST, "{} bytes", page.len());
    assert!(page.contains("100 more in the result file."));
    for result in &mut report.results {
        result.message.push_str(&"<".repeat(500));
    }
    let page = self::page(&report);
    assert!(page.len() <= markdown::MOST, "{} bytes", page.len());
    assert!(page.contains("85 more in the result file."));
}

//! The terminal report of every kind of run, as snapshots.

use mcp_conform_reports::exit::{self, Policy};
use mcp_conform_reports::model::{Report, TargetStatus};
use mcp_conform_reports::render::{self, Detail, Options};
use mcp_conform_reports::terminal::Terminal;
use mcp_conform_reports::text;

use crate::fixture;

fn page(report: &Report, options: Options) -> String {
    let exit = Some(exit::decide(report, &Policy::default()));
    let page = render::to_string(&Terminal, report, &Options { exit, ..options.clone() });
    check(&page, &options);
    page
}

/// What holds for every page, whatever it tells.
fn check(page: &str, options: &Options) {
    for line in page.lines() {
        assert_eq!(line, line.trim_end(), "spaces at the end of a line");
        let escapes = line.contains('\x1b');
        assert!(options.styled || !escapes, "an escape sequence on a plain page: {line:?}");
        let control = line.chars().find(|c| c.is_control() && *c != '\x1b');
        assert_eq!(control, None, "a control character in {line:?}");
        let copied = line.starts_with("  repro ")
            || line.starts_with("  by hand ")
            || line.contains("https://")
            || line.contains("javascript:");
        assert!(escapes || copied || text::width(line) <= options.width, "{} columns: {line}", text::width(line));
    }
    assert!(!page.contains("\n\n\n"), "two empty lines");
    assert!(page.ends_with('\n'));
}

fn plain(report: &Report, detail: Detail) -> String {
    page(report, Options { detail, ..Options::default() })
}

#[test]
fn clean() {
    insta::assert_snapshot!(plain(&fixture::clean(), Detail::Normal));
}

#[test]
fn everything() {
    insta::assert_snapshot!(plain(&fixture::everything(), Detail::Normal));
}

#[test]
fn with_a_result_file_the_command_that_replays_is_shown() {
    let report = fixture::everything();
    let page = page(&report, Options { result: Some("out.json".to_owned()), ..Options::default() });
    let finding = report.results.iter().find(|result| result.check == "header-method-mismatch");
    let key = mcp_conform_reports::key::of(finding.expect("the fixture has it"));
    assert!(page.contains(&format!("  replay    mcp-conform replay out.json {key}\n")), "{page}");
    // The file may be gone by the time that the page is read.
    assert!(page.contains("  repro     mcp-conform run --url http://127.0.0.1:3001/mcp --case"), "{page}");
}

#[test]
fn everything_quiet() {
    insta::assert_snapshot!(plain(&fixture::everything(), Detail::Quiet));
}

#[test]
fn everything_verbose() {
    insta::assert_snapshot!(plain(&fixture::everything(), Detail::Verbose));
}

#[test]
fn everything_styled() {
    let styled = page(&fixture::everything(), Options { styled: true, ..Options::default() });
    insta::assert_snapshot!(styled.replace('\x1b', "␛"));
}

#[test]
fn styles_change_no_text() {
    let mut styled = page(&fixture::everything(), Options { styled: true, ..Options::default() });
    while let Some((before, after)) = styled.split_once('\x1b') {
        let Some((_, after)) = after.split_once('m') else { panic!("an escape sequence without an end") };
        styled = format!("{before}{after}");
    }
    assert_eq!(styled, plain(&fixture::everything(), Detail::Normal));
}

#[test]
fn everything_narrow() {
    insta::assert_snapshot!(page(&fixture::everything(), Options { width: 60, ..Options::default() }));
}

#[test]
fn unavailable() {
    let mut pages = String::new();
    for status in fixture::STATUSES {
        pages.push_str(&plain(&fixture::unavailable(status), Detail::Normal));
        pages.push_str("=====\n");
    }
    insta::assert_snapshot!(pages);
}

#[test]
fn unavailable_is_told_when_quiet() {
    insta::assert_snapshot!(plain(&fixture::unavailable(TargetStatus::Exited), Detail::Quiet));
}

#[test]
fn interrupted() {
    insta::assert_snapshot!(plain(&fixture::interrupted(), Detail::Normal));
}

#[test]
fn hostile() {
    insta::assert_snapshot!(plain(&fixture::hostile(), Detail::Normal));
    page(&fixture::hostile(), Options { styled: true, detail: Detail::Verbose, ..Options::default() });
}

#[test]
fn many_findings() {
    let page = plain(&fixture::many(), Detail::Normal);
    // The beginning and the end; what lies between are the same lines with other numbers.
    let lines: Vec<_> = page.lines().collect();
    let (first, last) = (&lines[..12], &lines[lines.len() - 8..]);
    let middle: Vec<_> = lines.iter().skip_while(|line| !line.contains("more in one line")).take(3).copied().collect();
    insta::assert_snapshot!(format!("{}\n[…]\n{}\n[…]\n{}", first.join("\n"), middle.join("\n"), last.join("\n")));
    assert!(lines.len() < 620, "{} lines", lines.len());
}

#[test]
fn every_width_is_kept() {
    for width in [40, 41, 79, 100, 240] {
        for report in [fixture::everything(), fixture::many()] {
            for detail in [Detail::Quiet, Detail::Normal, Detail::Verbose] {
                page(&report, Options { width, detail, ..Options::default() });
            }
        }
    }
    for width in [0, 1, usize::MAX] {
        render::to_string(&Terminal, &fixture::hostile(), &Options { width, ..Options::default() });
    }
}

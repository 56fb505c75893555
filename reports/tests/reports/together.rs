//! Several results: joined into one, and side by side in a matrix.

use mcp_conform_reports::html;
use mcp_conform_reports::join;
use mcp_conform_reports::json::ReadError;
use mcp_conform_reports::matrix::{self, Matrix};
use mcp_conform_reports::model::{Report, Summary, TargetStatus, Verdict};

use crate::fixture;

fn named(name: &str, mut report: Report) -> Report {
    report.target.server = Some(name.to_owned());
    report
}

fn written(reports: &[Report]) -> Vec<u8> {
    let mut out = Vec::new();
    join::write(reports, &mut out).expect("a vector takes every write");
    out
}

#[test]
fn parts_of_one_server_become_one_result() {
    let whole = fixture::everything();
    let mut parts = [whole.clone(), whole.clone(), whole.clone()];
    for (number, part) in parts.iter_mut().enumerate() {
        let mut index = 0;
        part.results.retain(|_| {
            index += 1;
            index % 3 == number
        });
    }
    let joined = join::join(parts.to_vec());
    assert_eq!(joined.len(), 1);
    assert_eq!(joined[0].summary, whole.summary);
    assert_eq!(joined[0].cost.requests, whole.cost.requests * 3);
    assert_eq!(joined[0].cost.took_s, whole.cost.took_s);
    // The same part twice says nothing new.
    assert_eq!(join::join(vec![whole.clone(), whole.clone()])[0].summary, whole.summary);
}

#[test]
fn what_was_judged_in_a_part_stands() {
    let with = |verdict, occasions| {
        let mut report = fixture::clean();
        report.results.truncate(1);
        report.results[0].verdict = verdict;
        report.results[0].occasions = occasions;
        report
    };
    let verdict = |parts: Vec<Report>| {
        let joined = join::join(parts);
        joined[0].results.iter().map(|result| (result.verdict, result.occasions)).collect::<Vec<_>>()
    };
    assert_eq!(verdict(vec![with(Verdict::NotVerified, 0), with(Verdict::Pass, 3)]), [(Verdict::Pass, 3)]);
    assert_eq!(verdict(vec![with(Verdict::Pass, 3), with(Verdict::Pass, 7)]), [(Verdict::Pass, 7)]);
    assert_eq!(verdict(vec![with(Verdict::Pass, 9), with(Verdict::Fail, 1)]), [(Verdict::Fail, 1)]);
    assert_eq!(
        verdict(vec![with(Verdict::NotApplicable, 0), with(Verdict::NotVerified, 0)]),
        [(Verdict::NotVerified, 0)]
    );
}

#[test]
fn a_part_that_was_not_judged_is_not_forgotten() {
    let unavailable = fixture::unavailable(TargetStatus::Exited);
    let mut fine = fixture::clean();
    fine.target.name.clone_from(&unavailable.target.name);
    fine.target.server.clone_from(&unavailable.target.server);
    let joined = join::join(vec![fine, unavailable]);
    assert_eq!(joined.len(), 1);
    assert_eq!(joined[0].target.status, TargetStatus::Exited);
    let joined = join::join(vec![fixture::clean(), fixture::interrupted()]);
    assert!(joined[0].interrupted.is_some());
}

#[test]
fn several_servers_go_into_one_file_and_out_of_it() {
    let servers = join::join(vec![named("a", fixture::clean()), named("b", fixture::everything())]);
    assert_eq!(join::read_from(&written(&servers)[..]).expect("our own file"), servers);
    let one = join::join(vec![fixture::clean()]);
    assert_eq!(join::read_from(&written(&one)[..]).expect("our own file"), one);
    assert!(matches!(
        join::read_from(&b"{\"version\": 9, \"reports\": [{\"version\": 9}]}"[..]),
        Err(ReadError::Newer { found: 9 })
    ));
    assert!(join::read_from(&b"[]"[..]).is_err());
}

#[test]
fn the_matrix_is_sorted_and_counts_requirements() {
    let reports = [
        named("zebra", fixture::clean()),
        named("ant", fixture::everything()),
        named("ant", fixture::unavailable(TargetStatus::NoAnswer)),
    ];
    let matrix = Matrix::of(&reports);
    let names: Vec<_> = matrix.servers.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["ant", "ant (2)", "zebra"]);
    let cell = |server: usize, area: &str| {
        let column = matrix.areas.iter().position(|known| *known == area).expect("an area");
        matrix.servers[server].areas[column]
    };
    let tools = cell(0, "tools").expect("tools were asked about");
    // Sixteen results of one requirement are one broken requirement.
    assert_eq!((tools.verdict, tools.count), (Verdict::Fail, 1));
    assert_eq!(cell(2, "base").map(|cell| cell.verdict), Some(Verdict::Pass));
    assert_eq!(cell(1, "base"), None);
    for row in &matrix.servers {
        assert_eq!(row.summary, Summary::of(&row.report.results));
    }
}

#[test]
fn pages_of_the_matrix() {
    let reports = [named("zebra", fixture::clean()), named("ant", fixture::everything()), fixture::hostile()];
    let mut page = Vec::new();
    matrix::markdown(&reports, &mut page).expect("a vector takes every write");
    insta::assert_snapshot!("matrix_markdown", String::from_utf8_lossy(&page));
    let mut page = Vec::new();
    html::matrix::write(&reports, &mut page).expect("a vector takes every write");
    let page = String::from_utf8(page).expect("a page is text");
    assert!(!page.contains("<script>|") && !page.contains("href=\"javascript:"));
    assert_eq!(page.matches("<section class=\"server\"").count(), 3);
    assert_eq!(page.matches("</script>").count(), 2);
    let mut json = Vec::new();
    matrix::json(&reports, &mut json).expect("a vector takes every write");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["servers"].as_array().map(Vec::len), Some(3));
}

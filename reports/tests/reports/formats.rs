//! The formats for other programs: snapshots, their schemas, and what holds for all of them.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use mcp_conform_reports::exit::{self, FailOn, Policy};
use mcp_conform_reports::model::{CheckResult, Report, Standing, Summary, TargetStatus, Verdict};
use mcp_conform_reports::render::{self, FORMATS, Options};
use serde_json::Value;

use crate::fixture;

fn page(format: &str, report: &Report) -> String {
    let exit = Some(exit::decide(report, &Policy::default()));
    let renderer = render::format(format).expect("a format of ours");
    render::to_string(renderer, report, &Options { exit, ..Options::default() })
}

/// Every kind of report that a renderer may be handed.
fn reports() -> Vec<Report> {
    let own = [
        fixture::clean(),
        fixture::everything(),
        fixture::hostile(),
        fixture::many(),
        fixture::interrupted(),
        fixture::excused(),
        fixture::empty(),
    ];
    own.into_iter().chain(fixture::STATUSES.map(fixture::unavailable)).collect()
}

/// A schema of others that lies beside a checkout of the project's own machines, not in the repository.
fn third_party(file: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/third-party");
    let path = folder.join(file);
    if !path.is_file() {
        left_out(&format!("{file} is not in ../shared/third-party beside this checkout"));
        return None;
    }
    Some(path)
}

/// Past the capture of a test's output: who runs the tests has to learn of it.
fn left_out(why: &str) {
    writeln!(std::io::stderr(), "LEFT OUT: {why}").expect("standard error is open");
}

macro_rules! snapshots {
    ($($name:ident: $format:literal of $fixture:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!(page($format, &$fixture)); })*
    };
}

snapshots! {
    junit_everything: "junit" of fixture::everything();
    junit_hostile: "junit" of fixture::hostile();
    junit_unavailable: "junit" of fixture::unavailable(TargetStatus::Exited);
    sarif_everything: "sarif" of fixture::everything();
    sarif_hostile: "sarif" of fixture::hostile();
    tap_everything: "tap" of fixture::everything();
    tap_hostile: "tap" of fixture::hostile();
    tap_unavailable: "tap" of fixture::unavailable(TargetStatus::Exited);
    github_everything: "github" of fixture::everything();
    github_hostile: "github" of fixture::hostile();
    badge_everything: "badge" of fixture::everything();
    badge_clean: "badge" of fixture::clean();
    badge_hostile: "badge" of fixture::hostile();
    terminal_excused: "terminal" of fixture::excused();
    markdown_excused: "markdown" of fixture::excused();
    junit_excused: "junit" of fixture::excused();
    sarif_excused: "sarif" of fixture::excused();
    tap_excused: "tap" of fixture::excused();
    github_excused: "github" of fixture::excused();
    badge_excused: "badge" of only_excused();
}

/// A report in which all that is broken is excused.
fn only_excused() -> Report {
    let mut report = fixture::excused();
    report.results.retain(|result| result.excuse.is_some() || result.verdict == Verdict::Pass);
    report.summary = Summary::of(&report.results);
    report
}

/// What is excused is told in every format, with its reason, and a stale line is told as a failure.
#[test]
fn every_format_tells_what_is_excused() {
    let report = fixture::excused();
    for format in FORMATS.iter().map(|format| format.name()).filter(|name| *name != "badge") {
        let page = page(format, &report).replace("&#45;", "-");
        // One line of annotations names them all, there is no room for reasons.
        if format != "github" {
            assert!(page.contains("SDK, issue ") && page.contains("#12"), "{format}: {page}");
        }
        assert!(page.contains("tools-name-unique/tool-names"), "no stale line in {format}");
        assert!(!page.contains("known.toml:3") || format == "json", "a used line is told in {format}");
    }
    assert!(page("junit", &report).contains("<skipped message=\"known: waits for &lt;the&gt; SDK, issue #12\"/>"));
    let sarif: Value = serde_json::from_str(&page("sarif", &report)).expect("SARIF is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let suppressed: Vec<_> = results.iter().filter(|result| result.get("suppressions").is_some()).collect();
    assert_eq!(suppressed.len(), 16);
    assert!(
        suppressed.iter().all(|result| result["suppressions"][0]["justification"] == "waits for <the> SDK, issue #12")
    );
}

/// A page without its style and script, which are files of their own.
fn markup(page: &str) -> String {
    let mut out = page.to_owned();
    for element in ["style", "script"] {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        if let (Some(start), Some(end)) = (out.find(&open), out.find(&close)) {
            out.replace_range(start + open.len()..end, "…");
        }
    }
    let hash = out.split("sha256-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a hash").to_owned();
    out.replace(&hash, "…")
}

#[test]
fn html_everything() {
    insta::assert_snapshot!(markup(&page("html", &fixture::everything())));
}

#[test]
fn html_excused() {
    insta::assert_snapshot!(markup(&page("html", &fixture::excused())));
}

#[test]
fn html_unavailable() {
    insta::assert_snapshot!(markup(&page("html", &fixture::unavailable(TargetStatus::Exited))));
}

/// A JUnit file without what the schema of Ant lacks: the totals on the root and the output of a test case.
fn strict(page: &str) -> String {
    let (head, rest) = page.split_once("<testsuites").expect("a root");
    let (attributes, mut rest) = rest.split_once('>').expect("the end of its tag");
    assert!(attributes.contains(" tests=\""), "no totals: {attributes}");
    let mut out = format!("{head}<testsuites>");
    // That of a suite begins a line of less indent.
    while let Some((before, after)) = ["\n      <system-out>", "/><system-out>"]
        .iter()
        .filter_map(|open| rest.split_once(open))
        .min_by_key(|(before, _)| before.len())
    {
        let skipped = rest[before.len()..].starts_with("/>");
        out.push_str(before);
        out.push_str(if skipped { "/>" } else { "" });
        rest = after.split_once("</system-out>").expect("the end of an output").1;
    }
    out + rest
}

/// The value of an attribute in each tag of a name.
fn attributes(page: &str, tag: &str, name: &str) -> Vec<String> {
    let (open, wanted) = (format!("<{tag} "), format!(" {name}=\""));
    let tags = page.split(open.as_str()).skip(1).filter_map(|rest| rest.split('>').next());
    let value = |tag: &str| Some(format!(" {tag}").split_once(&wanted)?.1.split('"').next()?.to_owned());
    tags.filter_map(value).collect()
}

/// Two verdicts of one check on one requirement and subject, and a third that nothing tells from the second.
fn parts() -> Report {
    let mut report = fixture::everything();
    let warned = report.results.iter().find(|result| result.verdict == Verdict::Warn).expect("a warning").clone();
    for part in ["step 2", "step 3", "step 3"] {
        report.results.push(CheckResult { part: Some(part.to_owned()), ..warned.clone() });
    }
    report
}

#[test]
fn junit_tests_have_names_of_their_own_and_times_that_add_up() {
    for report in reports().into_iter().chain([parts()]) {
        let page = page("junit", &report);
        let names: Vec<String> = page
            .split("<testcase ")
            .skip(1)
            .map(|rest| rest.split(" time=").next().expect("a name and a class").to_owned())
            .collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:#?}");
        let sum = |values: Vec<String>| values.iter().map(|time| time.parse::<f64>().expect("a time")).sum::<f64>();
        let times: f64 = report.times.iter().map(|time| time.seconds).sum();
        let told = sum(attributes(&page, "testcase", "time"));
        assert!(told <= times + 0.01, "{told} s of {times} s");
        for (name, whole) in [("tests", names.len() as f64), ("time", told)] {
            assert!((sum(attributes(&page, "testsuites", name)) - whole).abs() < 0.01, "{name}");
            assert!((sum(attributes(&page, "testsuite", name)) - whole).abs() < 0.01, "{name}");
        }
    }
    assert!(page("junit", &parts()).contains("by eof, step 2\""));
    assert!(page("junit", &parts()).contains("by eof, step 3 (2)\""));
}

/// What makes the run fail is a failure for a reader of tests, too.
#[test]
fn a_warning_that_fails_the_run_fails_its_test() {
    let with = |fail_on| {
        let policy = Some(Policy { fail_on, ..Policy::default() });
        Report { policy, ..fixture::everything() }
    };
    let junit = |fail_on| page("junit", &with(fail_on));
    let tap = |fail_on| page("tap", &with(fail_on));
    let failures = |fail_on| junit(fail_on).matches("<failure ").count();
    assert_eq!(failures(FailOn::Warn), failures(FailOn::Fail) + 1);
    assert!(!tap(FailOn::Warn).contains("# TODO warn") && tap(FailOn::Fail).contains("# TODO warn"));
    let case = junit(FailOn::Fail);
    let case =
        case.split("<testcase name=\"stdio-exit-on-eof").nth(1).and_then(|rest| rest.split("</testcase>").next());
    assert!(case.is_some_and(|case| case.contains("<system-out>warn\n") && case.contains("still there 2 s after")));
    assert!(junit(FailOn::Fail).contains("(to verify: --tools all)"));
}

#[test]
fn junit_is_valid_by_its_schema() {
    let Some(schema) = third_party("JUnit.xsd") else { return };
    if Command::new("xmllint").arg("--version").output().is_err() {
        left_out("xmllint is not there (apt-get install libxml2-utils)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("mcp-conform-junit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    let files: Vec<PathBuf> = reports()
        .iter()
        .enumerate()
        .map(|(index, report)| {
            let file = folder.join(format!("{index}.xml"));
            std::fs::write(&file, strict(&page("junit", report))).expect("a file in our folder");
            file
        })
        .collect();
    let checked = Command::new("xmllint").args(["--noout", "--nonet", "--schema"]).arg(schema).args(&files).output();
    std::fs::remove_dir_all(&folder).expect("our folder");
    let checked = checked.expect("xmllint runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn sarif_is_valid_by_its_schema() {
    let Some(schema) = third_party("sarif-schema-2.1.0.json") else { return };
    let schema = std::fs::read(schema).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("the schema is one");
    for report in reports() {
        let log: Value = serde_json::from_str(&page("sarif", &report)).expect("SARIF is JSON");
        let errors: Vec<_> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// Code scanning takes results with one fingerprint for one, and shows those alone that have a line.
#[test]
fn sarif_results_have_fingerprints_of_their_own_and_a_line() {
    for report in reports().into_iter().chain([parts()]) {
        let log: Value = serde_json::from_str(&page("sarif", &report)).expect("SARIF is JSON");
        let results = log["runs"][0]["results"].as_array().expect("results");
        let prints: BTreeSet<&str> = results
            .iter()
            .filter_map(|result| result["partialFingerprints"]["mcpConformFinding/v1"].as_str())
            .collect();
        assert_eq!(prints.len(), results.len());
        for result in results {
            assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
        }
    }
}

#[test]
fn sarif_rules_have_help_and_a_link() {
    let log: Value = serde_json::from_str(&page("sarif", &fixture::everything())).expect("SARIF is JSON");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index");
        let rule = &rules[usize::try_from(index).expect("a small index")];
        assert_eq!(rule["id"], result["ruleId"]);
        let link = rule.get("helpUri").and_then(Value::as_str);
        assert!(rule["help"]["text"].as_str().is_some_and(|text| text.len() > 20 || link.is_none()), "{rule}");
        assert!(link.is_none_or(|link| link.starts_with("https://modelcontextprotocol.io/")), "{rule}");
    }
    assert!(rules.iter().filter(|rule| rule.get("helpUri").is_some()).count() >= 5);
}

/// What each format says of the counts, read back out of it.
#[test]
fn all_formats_tell_the_same_counts() {
    for report in reports() {
        let summary = Summary::of(&report.results);
        let of = |verdict: Verdict| summary.counts().into_iter().find(|(v, _)| *v == verdict).map_or(0, |(_, n)| n);
        let file: Value = serde_json::from_str(&page("json", &report)).expect("JSON");
        let sarif: Value = serde_json::from_str(&page("sarif", &report)).expect("SARIF");
        let junit = page("junit", &report);
        let tap = page("tap", &report);
        let github = page("github", &report);
        let html = page("html", &report);
        for verdict in Verdict::ALL {
            let (word, count) = (verdict.as_str(), of(verdict));
            assert_eq!(file["summary"][word], count, "json {word}");
            assert_eq!(sarif["runs"][0]["properties"]["summary"][word], count, "sarif {word}");
            let property = format!("<property name=\"{word}\" value=\"");
            let told: u64 = junit
                .split(&property)
                .skip(1)
                .map(|rest| rest.split('"').next().and_then(|n| n.parse::<u64>().ok()).expect("a number"))
                .sum();
            assert_eq!(told, count, "junit {word}");
            assert!(github.contains(&format!("{count} {word}")), "github {word}");
            assert!(html.contains(&format!("data-count-{word}=\"{count}\"")), "html {word}");
        }
        let lines = |start: &str, with: &str| {
            tap.lines().filter(|line| line.starts_with(start) && line.contains(with)).count() as u64
        };
        assert_eq!(lines("ok ", " # SKIP not-verified: "), of(Verdict::NotVerified));
        assert_eq!(lines("ok ", " # SKIP not-applicable: "), of(Verdict::NotApplicable));
        let excused_failures =
            report.results.iter().filter(|result| result.verdict == Verdict::Fail && result.excuse.is_some()).count()
                as u64;
        let stale = report.baseline.as_ref().map_or(0, |known| known.standing(Standing::Stale).count()) as u64;
        assert_eq!(lines("not ok ", " # TODO fail, "), excused_failures);
        assert_eq!(lines("not ok ", " # TODO warn"), of(Verdict::Warn));
        assert_eq!(lines("not ok ", " # TODO contested"), of(Verdict::Contested));
        assert_eq!(lines("not ok ", " # TODO advice"), of(Verdict::Advice));
        let todo = of(Verdict::Warn) + of(Verdict::Contested) + of(Verdict::Advice) + excused_failures;
        let failed = of(Verdict::Fail) - excused_failures;
        assert_eq!(lines("not ok ", "") - todo, failed + of(Verdict::HarnessError) + stale);
        let skipped = of(Verdict::NotVerified) + of(Verdict::NotApplicable);
        assert_eq!(lines("ok ", "") - skipped, of(Verdict::Pass));
        assert!(tap.contains(&format!("\n1..{}\n", report.results.len() as u64 + stale)));
        let failures = junit.matches("<failure ").count() as u64;
        let errors = junit.matches("<error ").count() as u64;
        let ending = u64::from(report.target.status != TargetStatus::Ok || report.interrupted.is_some());
        assert_eq!((failures, errors), (failed + stale, of(Verdict::HarnessError) + ending));
        assert_eq!(junit.matches("<skipped ").count() as u64, skipped + excused_failures);
        for (name, count) in [("known", summary.known), ("new", summary.new)] {
            assert_eq!(file["summary"][name], count, "json {name}");
            assert_eq!(sarif["runs"][0]["properties"]["summary"][name], count, "sarif {name}");
        }
        if let Some(told) = summary.excused() {
            for page in [page("terminal", &report), page("markdown", &report), github.clone(), html.clone()] {
                let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(page.contains(&told), "{told} is not in {page}");
            }
        }
    }
}

#[test]
fn no_format_lets_a_server_act_on_a_reader() {
    for format in FORMATS {
        let page = page(format.name(), &fixture::hostile());
        let control = page.chars().find(|c| c.is_control() && *c != '\n');
        assert!(control.is_none() || format.name() == "json", "a control character in {}", format.name());
        let hidden = page.chars().find(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}' | '\u{feff}'));
        // The result file is data: whoever reads it gets what was there, escaped as JSON only where JSON wants it.
        assert!(hidden.is_none() || format.name() == "json", "a hidden character in {}", format.name());
        let script = page.contains("<script>|");
        assert!(
            !script || matches!(format.name(), "json" | "terminal" | "tap" | "sarif" | "github"),
            "{}",
            format.name()
        );
        assert!(!page.contains("href=\"javascript:"), "{}", format.name());
        // The result file keeps everything; every other page is bounded whatever the server said.
        assert!(format.name() == "json" || page.len() < 400_000, "{}: {} bytes", format.name(), page.len());
    }
}

#[test]
fn what_does_not_count_is_told_in_a_sentence() {
    let of = |fail, warn, known, new| Summary { fail, warn, known, new, ..Summary::default() }.excused();
    assert_eq!(of(3, 0, 0, 0), None);
    assert_eq!(of(3, 0, 1, 0).as_deref(), Some("1 failure is known, and does not count."));
    assert_eq!(of(0, 3, 2, 0).as_deref(), Some("2 warnings are known, and do not count."));
    assert_eq!(of(2, 3, 4, 0).as_deref(), Some("4 failures or warnings are known, and do not count."));
    assert!(of(1, 0, 0, 1).is_some_and(|told| told.starts_with("1 failure is new to the requirement set")));
}

/// An annotation stands at its line of the file.
#[test]
fn a_stale_line_is_annotated_where_it_stands() {
    let page = page("github", &fixture::excused());
    assert!(page.contains("::error file=known.toml,line="), "{page}");
}

#[test]
fn annotations_are_bounded_and_one_a_line() {
    let page = page("github", &fixture::many());
    assert_eq!(page.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(page.lines().filter(|line| line.starts_with("::warning ")).count(), 10);
    assert!(page.lines().all(|line| line.starts_with("::")), "{page}");
}

//! Commands that tell about the suite itself: `list`, `explain`, `cases`, `judge`, `coverage`.

use std::{fmt::Write as _, io, path::PathBuf, sync::Arc};

use mcp_conform_cases::{Catalogue, LoadError, ast::Case, headings, language_schema, load_dir};
use serde_json::{Value, json};

use super::{
    args::{CasesArgs, CasesCommand, ListArgs, TextFormat},
    error::UsageError,
    output::print,
    plan,
};
use crate::{
    coverage::coverage as covered,
    rules::{self, Observation, Outcome},
    script,
};

fn pretty(value: &Value) -> String {
    // Serializing a value that was just built cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn list(args: &ListArgs) -> Result<u8, UsageError> {
    let own = plan::own_cases(&args.cases.dirs)?;
    let embedded = headings().map(|heading| (heading.id, heading.title, heading.revisions.to_vec()));
    let own = own.iter().map(|case| {
        let revisions = case.revisions.iter().map(|revision| revision.as_str()).collect();
        (&*case.id.node, &*case.title, revisions)
    });
    let cases: Vec<(&str, &str, Vec<&str>)> = embedded.chain(own).collect();
    if args.format == TextFormat::Json {
        let cases: Vec<Value> = cases
            .iter()
            .map(|(id, title, revisions)| json!({"id": id, "kind": "case", "title": title, "revisions": revisions}))
            .chain(rules::rules().iter().map(|rule| json!({"id": rule.name, "kind": "rule", "title": rule.title})))
            .collect();
        return print(&pretty(&Value::Array(cases)));
    }
    let mut out = String::new();
    let ids = cases.iter().map(|(id, ..)| id.len()).chain(rules::rules().iter().map(|rule| rule.name.len()));
    let width = ids.max().unwrap_or_default();
    let _ = writeln!(out, "Cases: each provokes something and looks at what comes");
    for (id, title, revisions) in &cases {
        let _ = writeln!(out, "  {id:width$}  {title}  [{}]", revisions.join(", "));
    }
    let _ = writeln!(out, "\nRules: each looks at every message of every conversation");
    for rule in rules::rules() {
        let _ = writeln!(out, "  {:width$}  {}", rule.name, rule.title);
    }
    print(&out)
}

pub(crate) fn cases(command: &CasesCommand) -> Result<u8, UsageError> {
    match command {
        CasesCommand::Schema => print(&pretty(&language_schema())),
        CasesCommand::Check { path: None } => {
            let count = mcp_conform_cases::suite().len();
            print(&format!("{count} cases of the suite are sound\n"))
        }
        CasesCommand::Check { path: Some(path) } => {
            let cases = load_dir(path).map_err(|error| UsageError::Cases(load_error(&error)))?;
            if let Some(first) = cases.iter().flat_map(unknown_checks).next() {
                return Err(UsageError::Cases(first));
            }
            let plural = if cases.len() == 1 { "case is" } else { "cases are" };
            print(&format!("{} {plural} sound\n", cases.len()))
        }
    }
}

/// Named checks that do not exist: the language does not know them, the harness does.
pub(crate) fn unknown_checks(case: &Case) -> Vec<String> {
    use mcp_conform_cases::ast::Step;
    case.steps
        .iter()
        .filter_map(|step| match &step.node {
            Step::Check(check) if !script::checks().iter().any(|known| known.name == check.name.node) => {
                let known: Vec<&str> = script::checks().iter().map(|check| check.name).collect();
                Some(format!(
                    "{}: there is no check named {}\n  known are {}",
                    case.source.name,
                    check.name.node,
                    known.join(", ")
                ))
            }
            _ => None,
        })
        .collect()
}

pub(crate) fn load_error(error: &LoadError) -> String {
    match error {
        LoadError::Scripts(faults) => {
            let styled = io::IsTerminal::is_terminal(&io::stderr()) && std::env::var_os("NO_COLOR").is_none();
            faults.iter().map(|fault| fault.render(styled)).collect::<Vec<_>>().join("\n")
        }
        other => format!("{other}\n  name a folder that holds scripts (*.yaml), or one of them"),
    }
}

pub(crate) fn judge(files: &[PathBuf], format: TextFormat) -> Result<u8, UsageError> {
    let mut broken = false;
    let mut out = String::new();
    let mut all = Vec::new();
    for file in &traces(files)? {
        let judged = rules::judge_file(file)
            .map_err(|error| UsageError::Other(format!("{error}\n  name a file that run --trace DIR wrote")))?;
        let observations = judged.observations;
        if let Some(note) = judged.note {
            let _ = writeln!(out, "{}: {note}", file.display());
        }
        broken |= observations.iter().any(fails);
        if format == TextFormat::Json {
            all.push(json!({"file": file.display().to_string(), "observations": observed(&observations)}));
        } else {
            tell_observations(&mut out, file, &observations);
        }
    }
    if format == TextFormat::Json {
        out = pretty(&Value::Array(all));
    }
    print(&out)?;
    Ok(u8::from(broken))
}

/// The files themselves, and those of each folder that was named, by name.
fn traces(named: &[PathBuf]) -> Result<Vec<PathBuf>, UsageError> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs_err::read_dir(path).map_err(|error| UsageError::Other(error.to_string()))?;
        let mut inside: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        inside.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        if inside.is_empty() {
            let what = format!("{}: no trace (*.jsonl) is in this folder", path.display());
            return Err(UsageError::Other(format!("{what}\n  name a folder or a file that run --trace DIR wrote")));
        }
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

fn fails(observation: &Observation) -> bool {
    let row = Catalogue::get().row(observation.requirement, observation.revision);
    row.is_some_and(|row| row.grade == mcp_conform_cases::Grade::Fail)
        && observation.violations.iter().any(|violation| violation.outcome == Outcome::Broken)
}

fn observed(observations: &[Observation]) -> Vec<Value> {
    observations
        .iter()
        .map(|observation| {
            let violations: Vec<Value> = observation
                .violations
                .iter()
                .map(|violation| {
                    let contested = match violation.outcome {
                        Outcome::Broken | Outcome::Warning => None,
                        Outcome::Contested(item) => Some(item),
                    };
                    json!({"event": violation.event, "pointer": violation.pointer,
                           "message": violation.message, "contested": contested})
                })
                .collect();
            json!({"rule": observation.rule, "requirement": observation.requirement,
                   "revision": observation.revision, "occasions": observation.occasions, "violations": violations})
        })
        .collect()
}

fn tell_observations(out: &mut String, file: &std::path::Path, observations: &[Observation]) {
    let seen = observations.iter().filter(|observation| observation.occasions > 0).count();
    let count: usize = observations.iter().map(|observation| observation.violations.len()).sum();
    let _ = writeln!(out, "{}: {seen} requirements had an occasion, {count} violations", file.display());
    for observation in observations {
        for violation in &observation.violations {
            let contested = match violation.outcome {
                Outcome::Broken | Outcome::Warning => "",
                Outcome::Contested(_) => " (contested)",
            };
            let _ = writeln!(
                out,
                "  event {}: {} ({}, {}){contested}: {}",
                violation.event, observation.requirement, observation.revision, observation.rule, violation.message
            );
        }
    }
}

pub(crate) fn coverage(args: &CasesArgs, format: TextFormat) -> Result<u8, UsageError> {
    let cases = plan::cases(&args.dirs)?;
    let coverage = covered(&cases.iter().map(Arc::as_ref).collect::<Vec<_>>());
    match format {
        TextFormat::Json => print(&pretty(&serde_json::to_value(&coverage).unwrap_or_default())),
        TextFormat::Text => {
            let mut out = String::new();
            let _ = writeln!(
                out,
                "{} requirements, {} judged, {} not judged yet",
                coverage.requirements,
                coverage.judged,
                coverage.unjudged.len()
            );
            for check in &coverage.checks {
                let faults = if check.faults.is_empty() { "none".to_owned() } else { check.faults.join(", ") };
                let _ = writeln!(out, "\n{} {}", check.kind, check.id);
                for requirement in &check.requirements {
                    let _ = writeln!(out, "  {requirement}");
                }
                let _ = writeln!(out, "  faults: {faults}");
            }
            print(&out)
        }
    }
}

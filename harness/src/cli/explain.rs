//! `mcp-conform explain`: what a case, a rule, a requirement, a contested item or a fault is about, and what proves it.

use std::fmt::Write as _;

use mcp_conform_cases::{
    CaseText, Contested, Explanation, Incident, RequirementText, ast::Case, explain as explain_id, nearest,
};
use mcp_conform_schemas::Revision;
use mcp_reference_server::FaultInfo;

use super::{args::ExplainArgs, error::UsageError, output::print, plan};
use crate::rules::{self, RuleInfo};

/// Columns of the text.
const WIDTH: usize = 100;
/// Incidents that are told of one check.
const MOST_INCIDENTS: usize = 6;

pub(crate) fn explain(args: &ExplainArgs) -> Result<u8, UsageError> {
    let cases: Vec<Case> = plan::cases(&args.cases.dirs)?.iter().map(|case| Case::clone(case)).collect();
    let (id, revision) = match args.id.split_once('/') {
        Some((revision, id)) if revision != "own" => (id, Some(named_revision(revision)?)),
        _ => (args.id.as_str(), None),
    };
    if args.yaml {
        let Some(case) = cases.iter().find(|case| case.id.node == id) else {
            let help = "leave out --yaml, or name a case: mcp-conform list shows them";
            return Err(UsageError::Other(format!("{id} is no case, so it has no script\n  {help}")));
        };
        return print(&case.source.text);
    }
    print(&text(&args.id, id, revision, &cases)?)
}

/// `whole` is what was typed.
fn text(whole: &str, id: &str, revision: Option<Revision>, cases: &[Case]) -> Result<String, UsageError> {
    let mut out = String::new();
    if let Some(item) = id.strip_prefix(['C', 'c']).and_then(|number| number.parse().ok()).and_then(Contested::get) {
        tell_contested(&mut out, item);
        return Ok(out);
    }
    if let Some(rule) = rules::rules().iter().find(|rule| rule.name == id) {
        tell_rule(&mut out, rule, revision, cases);
        return Ok(out);
    }
    match explain_id(id, cases) {
        Explanation::Case(case) => tell_case(&mut out, &case, revision),
        Explanation::Requirement(texts) => {
            let wanted: Vec<_> = texts.iter().filter(|text| revision.is_none_or(|of| text.revision == of)).collect();
            if wanted.is_empty() {
                let others: Vec<&str> = texts.iter().map(|text| text.revision.as_str()).collect();
                let what = format!("{id} is no requirement of {}", revision.map_or("", |of| of.as_str()));
                return Err(UsageError::Other(format!("{what}\n  it is one of {}", others.join(" and "))));
            }
            for (at, text) in wanted.iter().enumerate() {
                if at > 0 {
                    out.push('\n');
                }
                tell_requirement(&mut out, text);
            }
            tell_incidents(&mut out, wanted.iter().map(|text| text.id));
        }
        Explanation::Unknown { near } => match mcp_reference_server::faults().iter().find(|fault| fault.name == id) {
            Some(fault) => tell_fault(&mut out, fault),
            None => return Err(unknown(whole, id, near)),
        },
    }
    Ok(out)
}

fn named_revision(name: &str) -> Result<Revision, UsageError> {
    name.parse::<Revision>().ok().filter(|revision| Revision::JUDGED.contains(revision)).ok_or_else(|| {
        let known = Revision::JUDGED.map(|revision| revision.as_str()).join(" or ");
        UsageError::Other(format!("{name} is no judged revision\n  write {known} before the slash, or the id alone"))
    })
}

fn unknown(whole: &str, id: &str, mut near: Vec<String>) -> UsageError {
    let rules = rules::rules().iter().map(|rule| rule.name);
    let faults = mcp_reference_server::faults().iter().map(|fault| fault.name);
    near.extend(nearest(id, rules).into_iter().chain(nearest(id, faults)).map(str::to_owned));
    let last = Contested::all().last().map_or(0, |item| item.item);
    let looks_contested = id.strip_prefix(['C', 'c']).is_some_and(|number| number.parse::<u16>().is_ok());
    let help = match near.first() {
        _ if looks_contested => format!("contested items go from C1 to C{last}"),
        Some(near) => format!("did you mean {near}?"),
        None => "mcp-conform list shows the cases and rules, coverage the requirements".to_owned(),
    };
    UsageError::Other(format!("{whole} is no case, rule or requirement, contested item or fault\n  {help}"))
}

fn paragraph(out: &mut String, indent: usize, text: &str) {
    for line in mcp_conform_reports::text::wrap(text.trim(), WIDTH - indent) {
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}

fn tell_case(out: &mut String, case: &CaseText, revision: Option<Revision>) {
    let revisions: Vec<&str> = case.revisions.iter().map(|r| r.as_str()).collect();
    let _ = writeln!(out, "{}: {}", case.id, case.title);
    let _ = writeln!(out, "revisions: {}", revisions.join(", "));
    if let Some(about) = &case.about {
        out.push('\n');
        paragraph(out, 0, about);
    }
    if !case.needs.is_empty() {
        let _ = writeln!(out, "\nNeeds: {}", case.needs.join("; "));
    }
    let _ = writeln!(out, "\nSteps (explain {} --yaml prints the script):", case.id);
    for line in &case.outline {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(out, "\nJudges:");
    let judged = || case.requirements.iter().filter(|text| revision.is_none_or(|of| text.revision == of));
    judged().for_each(|text| tell_judged(out, text));
    for own in &case.own {
        let _ = writeln!(out, "  {own}");
    }
    if case.requirements.is_empty() && case.own.is_empty() {
        let _ = writeln!(out, "  nothing by itself: the rules judge what it makes the server say");
    }
    tell_incidents(out, judged().map(|text| text.id));
}

fn tell_rule(out: &mut String, rule: &RuleInfo, revision: Option<Revision>, cases: &[Case]) {
    let _ = writeln!(out, "{}: {}\n", rule.name, rule.title);
    paragraph(out, 0, rule.about);
    let _ = writeln!(out, "\nIt looks at every message of every conversation; nothing is sent for it.\n\nJudges:");
    let judged: Vec<RequirementText> = rule
        .requirements
        .iter()
        .filter(|(_, of)| revision.is_none_or(|revision| *of == revision))
        .filter_map(|(id, of)| match explain_id(id, cases) {
            Explanation::Requirement(texts) => texts.into_iter().find(|text| text.revision == *of),
            Explanation::Case(_) | Explanation::Unknown { .. } => None,
        })
        .collect();
    judged.iter().for_each(|text| tell_judged(out, text));
    tell_incidents(out, judged.iter().map(|text| text.id));
}

/// A requirement within the text about a check.
fn tell_judged(out: &mut String, text: &RequirementText) {
    let _ = writeln!(out, "  {} ({}, {})", text.id, text.revision, text.level);
    paragraph(out, 4, text.requirement);
    let _ = writeln!(out, "    {}", text.link);
    if let Some(remedy) = text.remedy {
        paragraph(out, 4, &format!("fix: {remedy}"));
    }
    tell_contested_refs(out, text);
    tell_proof(out, text);
}

/// A requirement by itself.
fn tell_requirement(out: &mut String, text: &RequirementText) {
    let _ = writeln!(out, "{} ({}, {}, a breach is graded {})\n", text.id, text.revision, text.level, text.grade);
    paragraph(out, 2, text.requirement);
    let _ = writeln!(out, "  {}\n", text.link);
    for (label, told) in [("How it is looked for: ", text.how), ("A server that breaks it: ", text.broken_by)] {
        if !told.is_empty() {
            paragraph(out, 2, &format!("{label}{told}"));
        }
    }
    if let Some(remedy) = text.remedy {
        paragraph(out, 2, &format!("Fix: {remedy}"));
    }
    tell_contested_refs(out, text);
    let by = rules::rules().iter().filter(|rule| rule.requirements.contains(&(text.id, text.revision)));
    let mut judges: Vec<String> = text.cases.iter().map(|case| format!("case {case}")).collect();
    judges.extend(by.map(|rule| format!("rule {}", rule.name)));
    let judges = if judges.is_empty() { "nothing yet".to_owned() } else { judges.join(", ") };
    paragraph(out, 4, &format!("judged by: {judges}"));
    tell_proof(out, text);
}

fn tell_contested_refs(out: &mut String, text: &RequirementText) {
    for reference in &text.contested {
        let part = if reference.partial { " in part" } else { "" };
        let title = reference.contested().map_or("", |item| item.title);
        paragraph(out, 4, &format!("contested{part}: C{} {title} (explain C{})", reference.item, reference.item));
    }
}

fn tell_proof(out: &mut String, text: &RequirementText) {
    let broken = |fault: &&FaultInfo| fault.breaks.contains(&(text.id, text.revision.as_str()));
    for fault in mcp_reference_server::faults().iter().filter(broken) {
        paragraph(out, 4, &format!("proven by: {} ({})", fault.name, fault.what));
    }
}

fn tell_incidents<'a>(out: &mut String, ids: impl Iterator<Item = &'a str>) {
    let ids: Vec<&str> = ids.collect();
    let would = |incident: &&Incident| incident.requirements.iter().any(|id| ids.contains(id));
    let found: Vec<&Incident> = Incident::all().iter().filter(would).collect();
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWould have shown:");
    for incident in found.iter().take(MOST_INCIDENTS) {
        paragraph(out, 2, incident.what);
        let _ = writeln!(out, "    {}", incident.link());
    }
    if let Some(left) = found.len().checked_sub(MOST_INCIDENTS).filter(|left| *left > 0) {
        let _ = writeln!(out, "  and {left} more like these");
    }
}

fn tell_contested(out: &mut String, item: &Contested) {
    let _ = writeln!(out, "C{}: {}\n", item.item, item.title);
    paragraph(out, 0, item.text);
    let _ = writeln!(out, "\nWhat is seen of the open part is reported as contested, and counted apart.");
    for link in item.links() {
        let _ = writeln!(out, "  {link}");
    }
    let rows: Vec<String> = item.rows().map(|row| format!("{}/{}", row.revision, row.id)).collect();
    if !rows.is_empty() {
        let _ = writeln!(out, "\nTouches:");
        for row in rows {
            let _ = writeln!(out, "  {row}");
        }
    }
}

fn tell_fault(out: &mut String, fault: &FaultInfo) {
    let _ = writeln!(out, "{}: a fault of the reference server\n", fault.name);
    paragraph(out, 0, fault.what);
    let _ = writeln!(out, "\nSee it: mcp-conform run --demo --fault {}\n\nBreaks:", fault.name);
    for (id, revision) in fault.breaks {
        let _ = writeln!(out, "  {revision}/{id}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every check says what it is, why, how it provokes what it judges, and which fault proves it.
    #[test]
    fn every_check_is_explained_and_has_a_proof() {
        let cases = mcp_conform_cases::suite();
        let ids = cases
            .iter()
            .map(|case| (case.id.as_str(), "\nSteps ("))
            .chain(rules::rules().iter().map(|rule| (rule.name, "\nIt looks at every message")));
        for (id, how) in ids {
            let told = text(id, id, None, cases).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert!(told.starts_with(&format!("{id}: ")) && told.contains(how), "{told}");
            let proven = told.contains("proven by: ") || told.contains("  nothing by itself: ");
            assert!(proven, "{id} has no proof:\n{told}");
        }
    }

    #[test]
    fn every_requirement_and_every_contested_item_is_explained() {
        let cases = mcp_conform_cases::suite();
        for row in mcp_conform_cases::Catalogue::get().rows() {
            let told =
                text(row.id, row.id, Some(row.revision), cases).unwrap_or_else(|error| panic!("{}: {error}", row.id));
            assert!(told.contains(&row.link()) || told.contains("Judges:"), "{told}");
        }
        for item in Contested::all() {
            let told = text("", &format!("C{}", item.item), None, cases).unwrap_or_default();
            assert!(told.contains(item.title), "C{}", item.item);
        }
    }
}

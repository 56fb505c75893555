//! What the CLI says about a case or a requirement.
//!
//! [`explain`] looks an id up among cases and requirements and returns data; `Display` gives it as plain text.

use std::fmt;

use mcp_conform_schemas::Revision;

use crate::{
    ast::{Case, Transport},
    catalogue::{Catalogue, ContestedRef, Grade, Level, Row},
    nearest::nearest,
    outline,
};

/// What an id stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    Case(Box<CaseText>),
    /// The requirement in each revision that has it, oldest first.
    Requirement(Vec<RequirementText>),
    /// Nothing has that id; these are near, best first.
    Unknown {
        near: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseText {
    pub id: String,
    pub title: String,
    pub about: Option<String>,
    pub revisions: Vec<Revision>,
    pub transports: Vec<Transport>,
    pub needs: Vec<String>,
    /// How it provokes what it judges, one line a step.
    pub outline: Vec<String>,
    pub requirements: Vec<RequirementText>,
    /// Requirements of the user's own, which stand outside the catalogue.
    pub own: Vec<String>,
    /// The file.
    pub source: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RequirementText {
    pub id: &'static str,
    pub revision: Revision,
    pub level: Level,
    pub grade: Grade,
    pub requirement: &'static str,
    /// How a breach is looked for.
    pub how: &'static str,
    /// A server that breaks it.
    pub broken_by: &'static str,
    pub link: String,
    pub remedy: Option<&'static str>,
    pub contested: Vec<ContestedRef>,
    /// The cases that judge it.
    pub cases: Vec<String>,
}

/// Looks up a case or a requirement. `cases` are those of the run, the embedded suite and the user's.
pub fn explain(id: &str, cases: &[Case]) -> Explanation {
    if let Some(case) = cases.iter().find(|case| case.id.node == id) {
        return Explanation::Case(Box::new(case_text(case, cases)));
    }
    let rows = Catalogue::get().all(id);
    if !rows.is_empty() {
        return Explanation::Requirement(rows.into_iter().map(|row| requirement_text(row, cases)).collect());
    }
    let mut near: Vec<String> =
        nearest(id, cases.iter().map(|case| case.id.as_str())).into_iter().map(str::to_owned).collect();
    for known in Catalogue::get().nearest(id) {
        if !near.iter().any(|name| name == known) {
            near.push(known.to_owned());
        }
    }
    near.truncate(5);
    Explanation::Unknown { near }
}

fn case_text(case: &Case, cases: &[Case]) -> CaseText {
    let mut requirements: Vec<RequirementText> = Vec::new();
    let mut own: Vec<String> = Vec::new();
    for revision in &case.revisions {
        for id in case.requirement_ids(*revision) {
            match Catalogue::get().row(id, *revision) {
                Some(row) => requirements.push(requirement_text(row, cases)),
                None if own.iter().any(|known| known == id) => {}
                None => own.push(id.to_owned()),
            }
        }
    }
    CaseText {
        id: case.id.node.clone(),
        title: case.title.clone(),
        about: case.about.clone(),
        revisions: case.revisions.clone(),
        transports: case.transports.clone(),
        needs: case.needs.iter().map(|need| outline::need(need)).collect(),
        outline: outline::steps(&case.steps),
        requirements,
        own,
        source: case.source.name.to_string(),
    }
}

fn requirement_text(row: &'static Row, cases: &[Case]) -> RequirementText {
    RequirementText {
        id: row.id,
        revision: row.revision,
        level: row.level,
        grade: row.grade,
        requirement: row.requirement,
        how: row.how_to_observe,
        broken_by: row.negative_example,
        link: row.link(),
        remedy: row.remedy(),
        contested: row.contested.clone(),
        cases: cases
            .iter()
            .filter(|case| {
                case.revisions.contains(&row.revision) && case.requirement_ids(row.revision).contains(&row.id)
            })
            .map(|case| case.id.node.clone())
            .collect(),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Case(case) => case.fmt(f),
            Self::Requirement(rows) => {
                for (at, row) in rows.iter().enumerate() {
                    if at > 0 {
                        writeln!(f)?;
                    }
                    row.fmt(f)?;
                }
                Ok(())
            }
            Self::Unknown { near } if near.is_empty() => f.write_str("nothing has this id"),
            Self::Unknown { near } => write!(f, "nothing has this id; did you mean {}?", near.join(" or ")),
        }
    }
}

impl fmt::Display for CaseText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.id, self.title)?;
        if let Some(about) = &self.about {
            writeln!(f, "\n{}", about.trim())?;
        }
        let revisions: Vec<&str> = self.revisions.iter().map(|revision| revision.as_str()).collect();
        let transports: Vec<&str> = self
            .transports
            .iter()
            .map(|transport| match transport {
                Transport::Http => "http",
                Transport::Stdio => "stdio",
            })
            .collect();
        writeln!(f, "\nFor {} over {}.", revisions.join(" and "), transports.join(" and "))?;
        if !self.needs.is_empty() {
            writeln!(f, "Needs {}.", self.needs.join(", "))?;
        }
        writeln!(f, "\nWhat is done:")?;
        for line in &self.outline {
            writeln!(f, "  {line}")?;
        }
        if !self.requirements.is_empty() || !self.own.is_empty() {
            writeln!(f, "\nWhat is judged:")?;
        }
        for row in &self.requirements {
            writeln!(f, "  {} ({}, {}, {})", row.id, row.revision, row.level, row.grade)?;
            writeln!(f, "    {}", row.requirement)?;
            writeln!(f, "    {}", row.link)?;
        }
        for own in &self.own {
            writeln!(f, "  {own}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RequirementText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({}, {}, a breach is graded {})", self.id, self.revision, self.level, self.grade)?;
        writeln!(f, "  {}", self.requirement)?;
        writeln!(f, "  {}", self.link)?;
        if let Some(remedy) = self.remedy {
            writeln!(f, "  To mend it: {remedy}")?;
        }
        for reference in &self.contested {
            let what = if reference.partial { "one outcome of it" } else { "it" };
            let title = reference.contested().map_or("", |contested| contested.title);
            writeln!(f, "  The text or the field disagrees about {what} (C{}: {title})", reference.item)?;
        }
        if !self.cases.is_empty() {
            writeln!(f, "  Judged by {}", self.cases.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::suite;

    #[test]
    fn a_case_is_told_with_its_steps_and_requirements() {
        insta::assert_snapshot!(explain("header-method-differs", suite()).to_string());
        insta::assert_snapshot!(explain("state-of-another-flow", suite()).to_string());
    }

    #[test]
    fn a_requirement_is_told_with_link_remedy_and_cases() {
        insta::assert_snapshot!(explain("response-id-echo-exact", suite()).to_string());
    }

    #[test]
    fn an_unknown_id_has_neighbours() {
        insta::assert_snapshot!(explain("header-method-difers", suite()).to_string());
    }
}

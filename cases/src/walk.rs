//! What a case judges, wherever in its steps it stands.

use mcp_conform_schemas::Revision;

use crate::ast::{Case, Judgement, LoopSource, Need, RequirementRef, Spanned, Step};

impl Case {
    /// Every requirement that the case can judge, in the order of the steps.
    pub fn requirements(&self) -> Vec<&RequirementRef> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        found
    }

    /// The ids of what the case can judge in one revision, each once, in the order of the steps.
    pub fn requirement_ids(&self, revision: Revision) -> Vec<&str> {
        let mut ids: Vec<&str> = Vec::new();
        for id in self.requirements().into_iter().filter_map(|requirement| requirement.of(revision)) {
            if !ids.contains(&id.node.as_str()) {
                ids.push(&id.node);
            }
        }
        ids
    }
}

impl Case {
    /// Whether it needs to know which tools there are to be called and what they do: by a need, a loop, or a named check.
    pub fn uses_tools(&self) -> bool {
        self.needs.iter().any(|need| matches!(need.node, Need::Tool { .. })) || self.steps.iter().any(uses_tools)
    }
}

fn uses_tools(step: &Spanned<Step>) -> bool {
    match &step.node {
        Step::Check(check) => check.name.node.starts_with("tools."),
        Step::ForEach(step) => matches!(step.over.node, LoopSource::Tools(_)) || step.steps.iter().any(uses_tools),
        Step::Parallel(branches) => branches.iter().flatten().any(uses_tools),
        _ => false,
    }
}

impl Step {
    /// The judgements of this step, without those of the steps inside it.
    pub fn judgements(&self) -> &[Judgement] {
        match self {
            Self::Await(step) => &step.judgements,
            Self::Expect(step) => &step.judgements,
            Self::Http(step) => &step.judgements,
            Self::HttpRaw(step) => &step.judgements,
            Self::Notify(step) => &step.judgements,
            Self::Probe(step) => &step.judgements,
            Self::Request(step) => &step.judgements,
            Self::Retry(step) => &step.judgements,
            Self::Answer { .. }
            | Self::Cancel { .. }
            | Self::Check(_)
            | Self::CloseStdin { .. }
            | Self::CloseStream { .. }
            | Self::DropConnection { .. }
            | Self::ExpectExit(_)
            | Self::ExpectNothing(_)
            | Self::ForEach(_)
            | Self::Open(_)
            | Self::Parallel(_)
            | Self::Raw(_)
            | Self::Require(_)
            | Self::Send(_)
            | Self::Signal { .. }
            | Self::Snapshot { .. } => &[],
        }
    }
}

fn collect<'a>(steps: &'a [Spanned<Step>], found: &mut Vec<&'a RequirementRef>) {
    for step in steps {
        found.extend(step.judgements().iter().map(|judgement| &judgement.requirement));
        match &step.node {
            Step::Check(check) => found.extend(check.judges.iter().map(|(_, requirement)| requirement)),
            Step::ExpectExit(exit) => found.push(&exit.requirement),
            Step::ExpectNothing(nothing) => found.push(&nothing.requirement),
            Step::ForEach(each) => collect(&each.steps, found),
            Step::Parallel(branches) => branches.iter().for_each(|branch| collect(branch, found)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, load::suite};

    #[test]
    fn every_requirement_that_a_script_judges_has_a_remedy() {
        let mut missing = Vec::new();
        for case in suite() {
            for revision in &case.revisions {
                for id in case.requirement_ids(*revision) {
                    let row = Catalogue::get().row(id, *revision);
                    if row.is_none_or(|row| row.remedy().is_none()) {
                        missing.push(format!("{id} {revision}"));
                    }
                }
            }
        }
        assert!(missing.is_empty(), "without a remedy: {missing:#?}");
    }
}

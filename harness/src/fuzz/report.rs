//! A campaign as the result of a run, so that every renderer of results serves it.

use std::collections::BTreeSet;

use mcp_conform_reports::model::{
    Cost, Report, RequirementInfo, RevisionSupport, Summary, Target, TargetStatus, Tool, VERSION,
};
use mcp_conform_schemas::Revision;

use super::{campaign::Campaign, finding::Finding, options::Status, oracle::Kind};
use crate::run::{Scouted, requirement_infos};

pub(super) fn report(
    campaign: &Campaign,
    findings: &[Finding],
    offered: &[Scouted],
    status: &Status,
    not_again: u64,
    interrupted: Option<String>,
) -> Report {
    let run = &campaign.options.run;
    let results: Vec<_> = findings.iter().map(Finding::result).collect();
    let mut requirements = requirement_infos(&results);
    requirements.extend(own(findings));
    let mut transports: Vec<String> =
        campaign.places.iter().map(|place| place.ground.transport.as_str().to_owned()).collect();
    transports.dedup();
    let support = |revision: &Revision| {
        let served = offered.iter().any(|scouted| scouted.era.judged() == *revision);
        RevisionSupport {
            revision: revision.to_string(),
            supported: served,
            how: if served { "was fuzzed" } else { "is not served, or was not asked for" }.to_owned(),
            transports: if served { transports.clone() } else { Vec::new() },
        }
    };
    let mut notes = vec![format!(
        "{} inputs with {} messages in {:.0} s reached {} states; {} inputs are kept",
        status.inputs,
        status.requests,
        status.elapsed.as_secs_f64(),
        status.states,
        status.corpus
    )];
    if not_again > 0 {
        notes.push(format!("{not_again} suspicions were not seen again, and are no findings"));
    }
    for kind in campaign.known().tired_of() {
        let kind = kind.as_str();
        notes.push(format!(
            "suspicions of the kind {kind} came to nothing so often that later ones were not looked into"
        ));
    }
    if findings.iter().any(|finding| finding.provisional) {
        notes.push("some findings could not be made small before the end; --resume goes on with them".to_owned());
    }
    if let Err((ids, error)) = campaign.store.write_rest() {
        notes.push(format!(
            "{} could not be written to {}, and {} only here: {error}",
            ids.join(", "),
            campaign.store.dir().join("findings").display(),
            if ids.len() == 1 { "stands" } else { "stand" }
        ));
    }
    Report {
        version: VERSION,
        tool: Tool {
            name: "mcp-conform fuzz".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: run.seed,
        },
        target: Target {
            status: TargetStatus::Ok,
            name: run.name.clone(),
            label: None,
            server: offered.iter().find_map(|scouted| scouted.surface.server.clone()),
            transports: transports.clone(),
            message: None,
            evidence: Vec::new(),
        },
        revisions: Revision::JUDGED.iter().map(support).collect(),
        summary: Summary::of(&results),
        contested: Vec::new(),
        times: Vec::new(),
        results,
        cost: Cost {
            process_starts: campaign.bench.process_starts(),
            requests: status.requests,
            waited_s: campaign.bench.waited().as_secs_f64(),
            took_s: status.elapsed.as_secs_f64(),
        },
        requirements,
        omissions: Vec::new(),
        notes,
        features: Vec::new(),
        started: None,
        interrupted,
        baseline: None,
        shard: None,
        requirement_sets: Vec::new(),
        policy: None,
        not_offered: Vec::new(),
    }
}

/// What stands for the oracles that no sentence of the specification has.
fn own(findings: &[Finding]) -> Vec<RequirementInfo> {
    let own = findings.iter().filter(|finding| finding.requirement.starts_with("own/"));
    let keys: BTreeSet<(Revision, &str, Kind)> =
        own.map(|finding| (finding.revision, finding.requirement.as_str(), finding.kind)).collect();
    keys.into_iter()
        .map(|(revision, id, kind)| RequirementInfo {
            id: id.to_owned(),
            revision: revision.to_string(),
            level: "MUST".to_owned(),
            grade: "fail".to_owned(),
            area: "fuzz".to_owned(),
            text: kind.title().to_owned(),
            link: String::new(),
        })
        .collect()
}

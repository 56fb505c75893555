//! Whether the results of machines that shared a run, or a fleet, are all there: [`check`].

use std::collections::BTreeMap;

use crate::model::{Report, Shard, ShardKind};

/// Why reports are no whole.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    #[error("{what} stands in two of the files")]
    Twice { what: String },
    #[error("{what} is missing")]
    Missing { what: String },
    #[error("parts of several divisions do not fit: {what}")]
    Mixed { what: String },
}

/// Whether the parts of shared runs are all there, and each once. Reports that are no parts are whole by themselves.
pub fn check(reports: &[Report]) -> Result<(), PartsError> {
    type Server<'a> = (&'a str, Option<&'a str>, Option<&'a str>);
    let mut cases: BTreeMap<Server<'_>, Vec<Shard>> = BTreeMap::new();
    let mut servers: Vec<(Shard, &str)> = Vec::new();
    for report in reports {
        let target = &report.target;
        let name = target.label.as_deref().unwrap_or(&target.name);
        match report.shard {
            None => {}
            Some(shard) if shard.kind == ShardKind::Servers => {
                if let Some((other, _)) =
                    servers.iter().find(|(other, _)| (other.of, other.total) != (shard.of, shard.total))
                {
                    let what = format!("{}/{} and {}/{}", other.part, other.of, shard.part, shard.of);
                    return Err(PartsError::Mixed { what });
                }
                if servers.iter().any(|(_, other)| *other == name) {
                    return Err(PartsError::Twice { what: format!("the server {name}") });
                }
                servers.push((shard, name));
            }
            Some(shard) => {
                let parts = cases.entry((&target.name, target.server.as_deref(), target.label.as_deref())).or_default();
                if let Some(other) = parts.iter().find(|other| (other.of, other.total) != (shard.of, shard.total)) {
                    let what = format!("{}/{} and {}/{} of {name}", other.part, other.of, shard.part, shard.of);
                    return Err(PartsError::Mixed { what });
                }
                if parts.contains(&shard) {
                    return Err(PartsError::Twice { what: format!("part {}/{} of {name}", shard.part, shard.of) });
                }
                parts.push(shard);
            }
        }
    }
    for ((name, _, label), parts) in cases {
        let of = parts.first().map_or(0, |shard| shard.of);
        if let Some(part) = (1..=of).find(|part| parts.iter().all(|shard| shard.part != *part)) {
            return Err(PartsError::Missing { what: format!("part {part}/{of} of {}", label.unwrap_or(name)) });
        }
    }
    if let Some((first, _)) = servers.first()
        && (servers.len() as u64) < first.total
    {
        let missing = first.total - servers.len() as u64;
        // A part without a server leaves none to tell of it.
        let parts: Vec<String> = (1..=first.of)
            .filter(|part| u64::from(*part) <= first.total && servers.iter().all(|(shard, _)| shard.part != *part))
            .map(|part| format!("{part}/{}", first.of))
            .collect();
        let from = if parts.is_empty() { String::new() } else { format!(", of parts {}", parts.join(", ")) };
        let what = format!("the result of {} of {} servers{from}", missing, first.total);
        return Err(PartsError::Missing { what });
    }
    Ok(())
}

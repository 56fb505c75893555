//! Which features of the protocol a server does not have, so that a report does not call them met because nothing of
//! them was broken.

use std::collections::{BTreeMap, BTreeSet};

use mcp_conform_reports::model::NotOffered;
use mcp_conform_schemas::Revision;

use super::surface::Surface;

/// By feature, why it is not there.
pub(super) type Lacking = BTreeMap<&'static str, String>;

/// The capability that a feature needs, where it needs one.
const CAPABILITIES: [(&str, &str); 7] = [
    ("tools", "tools"),
    ("resources", "resources"),
    ("templates", "resources"),
    ("prompts", "prompts"),
    ("logging", "logging"),
    ("completion", "completions"),
    ("tasks", "tasks"),
];

/// What one surface lacks.
pub(super) fn lacking(surface: &Surface) -> Lacking {
    let applies = |feature: &str| match feature {
        // Before that it had no name, and might be served all the same.
        "completion" => surface.version.is_none_or(|version| version >= Revision::V2025_03_26),
        // Later they are an extension.
        "tasks" => surface.version.is_none_or(|version| version <= Revision::V2025_11_25),
        _ => true,
    };
    let undeclared = CAPABILITIES
        .into_iter()
        .filter(|(feature, path)| applies(feature) && !surface.has_capability(path))
        .map(|(feature, path)| (feature, format!("the server does not declare the capability {path}")));
    let mut out: Lacking = undeclared.collect();
    // A list that could not be had says nothing of what is in it.
    if surface.templates.is_empty() && !surface.gaps.iter().any(|gap| gap.contains("resources/templates/list")) {
        out.entry("templates").or_insert_with(|| "the server lists no resource templates".to_owned());
    }
    out
}

/// What is lacking on every surface of a revision.
pub(super) fn lacking_everywhere(surfaces: &[(Revision, Lacking)]) -> Vec<NotOffered> {
    let revisions: BTreeSet<Revision> = surfaces.iter().map(|(revision, _)| *revision).collect();
    let mut out = Vec::new();
    for revision in revisions {
        let mut of = surfaces.iter().filter(|(known, _)| *known == revision).map(|(_, lacking)| lacking);
        let Some(first) = of.next() else { continue };
        let others: Vec<&Lacking> = of.collect();
        for (feature, why) in
            first.iter().filter(|(feature, _)| others.iter().all(|other| other.contains_key(*feature)))
        {
            let (feature, revision) = ((*feature).to_owned(), revision.to_string());
            out.push(NotOffered { feature, revision, why: why.clone() });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use mcp_conform_reports::feature;
    use serde_json::json;

    use super::*;

    fn surface(capabilities: serde_json::Value) -> Surface {
        Surface { capabilities, version: Some(Revision::V2025_11_25), ..Surface::default() }
    }

    #[test]
    fn what_is_not_declared_is_not_offered() {
        let bare = lacking(&surface(json!({"tools": {}, "resources": {}})));
        let names: Vec<&str> = bare.keys().copied().collect();
        assert_eq!(names, ["completion", "logging", "prompts", "tasks", "templates"]);
        assert!(bare["templates"].contains("lists no"), "{bare:?}");
        let full = Surface { templates: vec![json!({})], ..surface(json!({"resources": {}, "logging": {}})) };
        assert!(!lacking(&full).contains_key("templates") && !lacking(&full).contains_key("logging"));
        let old = Surface { version: Some(Revision::V2024_11_05), ..surface(json!({})) };
        assert!(!lacking(&old).contains_key("completion"), "the capability is younger than the method");
    }

    #[test]
    fn what_one_transport_offers_is_offered() {
        let revision = Revision::V2025_11_25;
        let (some, none) = (lacking(&surface(json!({"logging": {}}))), lacking(&surface(json!({}))));
        let both = lacking_everywhere(&[(revision, none.clone()), (revision, some)]);
        assert!(both.iter().all(|lacking| lacking.feature != "logging"), "{both:?}");
        assert!(lacking_everywhere(&[(revision, none)]).iter().any(|lacking| lacking.feature == "logging"));
    }

    #[test]
    fn the_features_are_those_of_the_reports() {
        for (id, _) in CAPABILITIES {
            assert!(feature::features().iter().any(|feature| feature.id == id), "{id}");
        }
    }
}

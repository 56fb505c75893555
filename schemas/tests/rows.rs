//! Each catalogue row that a constraint names: a value that gives it an occasion, one that does not, one that breaks it.
//!
//! `data/rows.json` holds, for each type of what a server sends, a rich value and the least one, and for each row one
//! change to a rich value that breaks it and nothing else. The rules of the harness are proved by the same file.

#![expect(clippy::unwrap_used, reason = "the helpers of a test read a file of ours")]

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::Unstructured;
use mcp_conform_schemas::{
    Revision, generate::Generator, occasions, rows, rows_within, takes, type_names, type_schema, validate,
};
use serde_json::Value;

struct Sample {
    name: String,
    kind: String,
    rich: Value,
    least: Option<Value>,
}

fn read(revision: Revision) -> (Vec<Sample>, Vec<(String, String, Value)>) {
    let file: Value = serde_json::from_str(include_str!("data/rows.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let part = &file[revision.as_str()];
    let samples: Vec<Sample> = part["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| Sample {
            name: text(&it["name"]),
            kind: text(&it["type"]),
            rich: it["rich"].clone(),
            least: it.get("least").cloned(),
        })
        .collect();
    let breaks = part["breaks"].as_array().unwrap().iter().map(|it| {
        let sample = samples.iter().find(|sample| it[1] == *sample.name).unwrap();
        (text(&it[0]), sample.name.clone(), changed(&sample.rich, it[2].as_str().unwrap(), it.get(3)))
    });
    let breaks = breaks.collect();
    (samples, breaks)
}

fn changed(value: &Value, pointer: &str, new: Option<&Value>) -> Value {
    let mut value = value.clone();
    let Some((parent, member)) = pointer.rsplit_once('/') else { return new.cloned().unwrap() };
    let member = member.replace("~1", "/");
    match (value.pointer_mut(parent), new) {
        (Some(Value::Array(items)), Some(new)) => items[member.parse::<usize>().unwrap()] = new.clone(),
        (Some(Value::Object(members)), Some(new)) => drop(members.insert(member, new.clone())),
        (Some(Value::Object(members)), None) => drop(members.shift_remove(&member).unwrap()),
        _ => panic!("{pointer} stands nowhere"),
    }
    value
}

#[test]
fn every_row_has_a_value_with_and_one_without_an_occasion() {
    for revision in Revision::JUDGED {
        let (samples, breaks) = read(revision);
        let mut with: BTreeMap<&str, usize> = BTreeMap::new();
        let mut without: BTreeSet<&str> = BTreeSet::new();
        for sample in &samples {
            for value in [Some(&sample.rich), sample.least.as_ref()].into_iter().flatten() {
                assert_eq!(validate(revision, &sample.kind, value), Ok(Vec::new()), "{}", sample.name);
                let rows = occasions(revision, &sample.kind, value).unwrap();
                without.extend(rows_within(revision, &sample.kind).unwrap().difference(&rows));
                rows.iter().for_each(|row| *with.entry(row).or_default() += 1);
            }
        }
        let sent: BTreeSet<&str> =
            samples.iter().flat_map(|sample| rows_within(revision, &sample.kind).unwrap()).collect();
        let never: Vec<_> = sent.iter().filter(|row| !with.contains_key(*row)).collect();
        assert!(never.is_empty(), "{revision} never: {never:?}");
        for row in &sent {
            // Rows that hold of every value of their types have no occasion in a value of another type.
            let elsewhere = samples.iter().any(|it| !rows_within(revision, &it.kind).unwrap().contains(row));
            assert!(without.contains(row) || elsewhere, "{revision} always: {row}");
        }
        for (row, name, _) in breaks.iter().filter(|(row, ..)| !row.starts_with("schema-")) {
            let sample = samples.iter().find(|sample| sample.name == *name).unwrap();
            assert!(occasions(revision, &sample.kind, &sample.rich).unwrap().contains(row.as_str()), "{row}");
        }
    }
}

#[test]
fn the_least_values_give_no_occasion_to_what_they_do_not_hold() {
    let least = |revision, name: &str| -> Vec<&str> {
        let (samples, _) = read(revision);
        let sample = samples.iter().find(|sample| sample.name == name).unwrap();
        occasions(revision, &sample.kind, sample.least.as_ref().unwrap()).unwrap().into_iter().collect()
    };
    let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
    assert_eq!(least(old, "tools/list"), ["base-result-is-object", "tools-list-shape"]);
    assert_eq!(
        least(old, "initialize"),
        [
            "lifecycle-capabilities-shape",
            "lifecycle-initialize-answered",
            "lifecycle-serverinfo-name-version",
            "version-value-string"
        ]
    );
    assert_eq!(
        least(new, "tools/list"),
        [
            "caching-hints-tools-list",
            "caching-scope-values",
            "caching-ttl-integer",
            "caching-ttl-non-negative",
            "result-is-object",
            "resulttype-present",
            "tools-list-result-complete",
            "tools-list-result-shape"
        ]
    );
    assert_eq!(
        least(new, "tools/call asks"),
        [
            "mrtr-one-of-inputs-or-state",
            "mrtr-request-state-string",
            "mrtr-resulttype",
            "result-is-object",
            "resulttype-present"
        ]
    );
}

#[test]
fn every_row_is_broken_alone_by_one_change() {
    let mut wrong = Vec::new();
    for revision in Revision::JUDGED {
        let (samples, breaks) = read(revision);
        for (row, name, value) in &breaks {
            let sample = samples.iter().find(|sample| sample.name == *name).unwrap();
            let problems = validate(revision, &sample.kind, value).unwrap();
            let whole = row.starts_with("schema-");
            let named =
                |row: &str| problems.iter().all(|it| it.requirement.as_deref() == Some(row) && it.contested.is_none());
            let fits = if whole { problems.iter().all(|it| it.requirement.is_none()) } else { named(row) };
            if problems.is_empty() || !fits {
                wrong.push(format!("{revision} {row}: {problems:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The walk has its own notion of a value that holds: it is the validator's.
#[test]
fn the_walk_takes_what_the_validator_takes() {
    for revision in Revision::JUDGED {
        let (samples, breaks) = read(revision);
        for sample in &samples {
            assert_eq!(takes(revision, &sample.kind, &sample.rich), Some(true), "{}", sample.name);
        }
        for (row, name, value) in &breaks {
            let kind = &samples.iter().find(|sample| sample.name == *name).unwrap().kind;
            assert_eq!(takes(revision, kind, value), Some(false), "{row}");
        }
        for name in type_names(revision) {
            let schema = type_schema(revision, name).unwrap();
            let Ok(generator) = Generator::new(&schema) else { continue };
            for seed in 0..20_u8 {
                let bytes: Vec<u8> =
                    (0..400_u32).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed.wrapping_mul(47))).collect();
                let mut source = Unstructured::new(&bytes);
                let Some(value) = generator.valid(&mut source) else { continue };
                let sound = validate(revision, name, &value).unwrap().is_empty();
                assert_eq!(takes(revision, name, &value), Some(sound), "{name} {value}");
                assert!(occasions(revision, name, &value).is_ok());
            }
        }
        let named: BTreeSet<&str> = rows(revision).map(|(_, row)| row).collect();
        let within: BTreeSet<&str> =
            type_names(revision).flat_map(|name| rows_within(revision, name).unwrap()).collect();
        assert!(within.is_subset(&named));
    }
}

//! Writes what the suite judges now as the requirement sets of a release: `cargo run -p mcp-conform --example freeze -- 1.1`.
//!
//! A set that is there is left alone: whoever chose it relies on it. `--again` is for a release that nobody has yet.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use mcp_conform::coverage::coverage;
use mcp_conform_cases::{Catalogue, suite};
use mcp_conform_schemas::Revision;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let release = args.next().ok_or("name the release, such as 1.1")?;
    let again = args.next().as_deref() == Some("--again");
    let coverage = coverage(&suite().iter().collect::<Vec<_>>());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/frozen");
    for revision in Revision::JUDGED {
        let path = folder.join(format!("{revision}@{release}.tsv"));
        if path.exists() && !again {
            return Err(format!("{} is there, and whoever chose it relies on it", path.display()).into());
        }
        let mut checks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for check in &coverage.checks {
            for key in &check.requirements {
                let Some((_, id)) = key.split_once('/').filter(|(of, _)| *of == revision.to_string()) else { continue };
                checks.entry(id).or_default().push(&check.id);
            }
        }
        let unjudged =
            |id: &str| coverage.unjudged.iter().any(|row| row.id == id && row.revision == revision.to_string());
        let mut text = "requirement\tgrade\tchecks\n".to_owned();
        let mut count = 0;
        for (id, mut checks) in checks {
            let Some(row) = Catalogue::get().row(id, revision).filter(|_| !unjudged(id)) else { continue };
            checks.sort_unstable();
            checks.dedup();
            text.push_str(&format!("{id}\t{}\t{}\n", row.grade, checks.join(" ")));
            count += 1;
        }
        fs::write(&path, text)?;
        println!("{revision}@{release}: {count} requirements");
    }
    Ok(())
}

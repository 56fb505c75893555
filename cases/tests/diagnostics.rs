//! Each script of `bad/` is refused, and what is said about it stands beside it as a snapshot.
//!
//! A new script is a new file: `INSTA_UPDATE=always cargo test -p mcp-conform-cases` writes what is said.

use std::{fs, path::Path};

use mcp_conform_cases::{ast::Source, parse};

#[test]
fn bad_scripts_are_refused_with_all_their_faults() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of bad scripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 15);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("bad");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for file in files {
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).expect("a script");
            let faults = parse(Source { name: name.as_str().into(), text: text.into() })
                .expect_err(&format!("{name} is meant to be refused"));
            let said: Vec<String> = faults.iter().map(|fault| fault.render(false)).collect();
            insta::assert_snapshot!(name.trim_end_matches(".yaml"), said.join("\n\n"));
        }
    });
}

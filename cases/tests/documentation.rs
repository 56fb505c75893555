//! The whole scripts in docs/language.md are sound, and equal to those of the suite where they have the same id.

use mcp_conform_cases::{ast::Source, embedded, parse};

const DOCS: &str = include_str!("../../docs/language.md");

#[test]
fn the_example_is_a_script_of_the_suite() {
    let mut examples = 0;
    for block in DOCS.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        let Some(id) = text.strip_prefix("id: ").and_then(|rest| rest.lines().next()) else { continue };
        let source = Source { name: "docs/language.md".into(), text: text.into() };
        if let Err(faults) = parse(source) {
            panic!("{}", faults.iter().map(|fault| fault.render(false)).collect::<Vec<_>>().join("\n"));
        }
        let script =
            embedded().find(|script| script.name.ends_with(&format!("/{id}.yaml"))).expect("it is in the suite");
        assert!(script.text.starts_with(text.trim_end()), "{id} differs from the suite's");
        examples += 1;
    }
    assert!(examples > 0);
}

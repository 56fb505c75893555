//! Bodies of fuzz targets, also run from fixed seeds as tests.

use crate::{ast::Source, parse::parse};

/// Any bytes as a script: a case or clear faults, within bounds, and every fault can be drawn.
pub fn case_script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(faults) = parse(Source { name: "fuzz.yaml".into(), text: text.into() }) {
        assert!(!faults.is_empty(), "a refused script has at least one fault");
        for fault in faults.iter().take(8) {
            assert!(!fault.render(false).is_empty());
        }
    }
}

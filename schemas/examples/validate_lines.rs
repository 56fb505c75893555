//! Validates lines of `{"as": TYPE, "value": VALUE}` from stdin: what a comparison with other validators calls.
//!
//! `validate_lines [validate] --revision REVISION --lines -` answers each line with `{"valid": true}` or
//! `{"valid": false, "problems": […]}`.

use std::io::{self, BufRead, Write};

use mcp_conform_schemas::{Revision, validate};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let revision = arguments.iter().skip_while(|a| *a != "--revision").nth(1).ok_or("--revision is missing")?;
    let revision: Revision = revision.parse()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let name = line.get("as").and_then(Value::as_str).ok_or("`as` is missing")?;
        let problems = validate(revision, name, line.get("value").unwrap_or(&Value::Null))?;
        let answer =
            if problems.is_empty() { json!({"valid": true}) } else { json!({"valid": false, "problems": problems}) };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

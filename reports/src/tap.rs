//! TAP version 14: [`Tap`].
//!
//! What warns, is advice or is contested is `not ok … # TODO`, which a TAP reader shows without failing; a warning that
//! fails the run is a plain `not ok`. What was not judged is skipped with its reason and with the flag that would judge it.

use std::io::{self, Write};

use crate::exit;
use crate::model::{Report, TargetStatus, Verdict};
use crate::order;
use crate::plain;
use crate::render::{Options, Renderer};
use crate::target;
use crate::text;

pub struct Tap;

impl Renderer for Tap {
    fn name(&self) -> &'static str {
        "tap"
    }

    fn about(&self) -> &'static str {
        "the Test Anything Protocol, version 14"
    }

    fn render(&self, report: &Report, _options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let results = order::sorted(report);
        let stale = plain::stales(report);
        writeln!(out, "TAP version 14\n1..{}", results.len() + stale.len())?;
        let names = plain::names(&results);
        let fail_on = report.policy.as_ref().map(|policy| policy.fail_on).unwrap_or_default();
        for (index, (result, name)) in results.iter().zip(&names).enumerate() {
            let (ok, directive) = match (result.verdict, &result.excuse) {
                (Verdict::Fail | Verdict::Warn, _) if exit::fails(result, fail_on) => ("not ok", String::new()),
                (Verdict::Fail | Verdict::Warn, Some(excuse)) => {
                    let told = text::clean(&text::bounded(&excuse.told(), plain::MESSAGE));
                    ("not ok", format!(" # TODO {}, {}", result.verdict.as_str(), escaped(&told)))
                }
                (Verdict::Pass, _) => ("ok", String::new()),
                (Verdict::Fail | Verdict::HarnessError, _) => ("not ok", String::new()),
                (Verdict::Warn | Verdict::Contested | Verdict::Advice, _) => {
                    ("not ok", format!(" # TODO {}", result.verdict.as_str()))
                }
                (Verdict::NotVerified | Verdict::NotApplicable, _) => {
                    let reason = escaped(&plain::open(result));
                    ("ok", format!(" # SKIP {}: {reason}", result.verdict.as_str()))
                }
            };
            let revision = escaped(&text::clean(&text::bounded(&result.revision, 40)));
            writeln!(out, "{ok} {} - {revision} {}{directive}", index + 1, escaped(name))?;
            if ok == "not ok" {
                // A string of JSON is one of YAML.
                writeln!(out, "  ---")?;
                writeln!(out, "  message: {}", serde_json::Value::from(plain::message(result)))?;
                writeln!(out, "  severity: {}", result.verdict.as_str())?;
                writeln!(out, "  details:")?;
                for line in plain::lines(report, result) {
                    writeln!(out, "    - {}", serde_json::Value::from(line))?;
                }
                writeln!(out, "  ...")?;
            }
        }
        for (index, line) in stale.iter().enumerate() {
            let number = results.len() + index + 1;
            writeln!(out, "not ok {number} - stale line of the baseline: {}", escaped(line))?;
        }
        if let Some(why) = &report.interrupted {
            writeln!(out, "Bail out! interrupted: {}", text::clean(&text::bounded(why, plain::MESSAGE)))?;
        } else if report.target.status != TargetStatus::Ok {
            let (what, _) = target::explain(report.target.status);
            let message = report.target.message.as_deref().unwrap_or_default();
            writeln!(out, "Bail out! {what}. {}", text::clean(&text::bounded(message, plain::MESSAGE)))?;
        }
        Ok(())
    }
}

/// A text that is no directive.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}

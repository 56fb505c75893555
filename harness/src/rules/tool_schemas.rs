//! The schemas that a server writes itself: each schema of a tool is one, and structured results keep to them.
//!
//! A schema is compiled by its declared dialect, 2020-12 without one. What our validator cannot decide (an unknown dialect,
//! a regular expression that it does not know, a reference that leads out) is no occasion. What the protocol demands of
//! the root of a schema is left to `schema`.

use std::{collections::BTreeMap, sync::Arc};

use mcp_conform_schemas::{Era, InstanceSchema, InstanceSchemaError, Revision};

use super::{
    Breach, Context, Likeness, Request, Row, Rule, Seen, Shape, Verdicts,
    register::Definition,
    seen::{clip, token},
};
use crate::{trace::Event, wire::Json};

static INPUT: Row = Row::both("tools-inputschema-valid-object", Revision::V2025_11_25, "tool-input-schema-valid");
static OUTPUT: Row = Row::modern("tool-output-schema-valid");
static DECLARED: Row = Row::legacy("schema-valid-for-declared-dialect", Revision::V2025_11_25);
static DEFAULT: Row = Row::legacy("schema-default-dialect-2020-12", Revision::V2025_11_25);
static CONFORMS: Row =
    Row::both("tools-output-conforms-to-schema", Revision::V2025_06_18, "structured-content-matches-output-schema");
static PRESENT: Row =
    Row::both("tools-output-present-with-schema", Revision::V2025_06_18, "structured-content-present");

pub(super) static DEFINITION: Definition = Definition {
    name: "tool_schemas",
    title: "The schemas of tools are schemas, and results keep to them",
    about: "Each inputSchema and outputSchema of tools/list is compiled by its dialect. The result of a later call of a tool \
            with an outputSchema in the same conversation has structuredContent that the schema accepts; what is amiss in \
            a result with isError is contested (C41), and results that ask for input or stand for a task are free.",
    rows: &[INPUT, OUTPUT, DECLARED, DEFAULT, CONFORMS, PRESENT],
    make: || Box::new(ToolSchemas::default()),
};

const MOST_TOOLS: usize = 1_024;
/// Text of the schemas that are kept compiled.
const MOST_BYTES: usize = 8 * 1024 * 1024;

#[derive(Default)]
struct ToolSchemas {
    /// The newest outputSchema of each tool.
    tools: BTreeMap<Box<str>, Declared>,
    kept: usize,
}

#[derive(Clone)]
enum Declared {
    Nothing,
    /// There is one, and only presence can be judged.
    Unusable,
    Schema(Arc<InstanceSchema>),
}

impl Rule for ToolSchemas {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            let Some(answer) = seen.answer.filter(|answer| !answer.again && answer.likeness != Likeness::Missing)
            else {
                continue;
            };
            let Some(request) = answer.request.and_then(|key| context.request(key)) else { continue };
            let clear = request.is_sound() && (context.era() == Era::Legacy || request.is_modern(context));
            if !clear || seen.shape != (Shape::Response { result: true, error: false }) {
                continue;
            }
            match &*request.method {
                "tools/list" => self.listed(&seen, context, out),
                "tools/call" => self.called(&seen, request, context, out),
                _ => {}
            }
        }
    }
}

impl ToolSchemas {
    fn listed(&mut self, seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
        let tools = seen.get("/result/tools").and_then(Json::as_array).unwrap_or_default();
        for (index, tool) in tools.iter().enumerate().take(MOST_TOOLS) {
            let Some(name) = tool.get("name").and_then(Json::as_str) else { continue };
            let mut declared = Declared::Nothing;
            for member in ["inputSchema", "outputSchema"] {
                let Some(schema) = tool.get(member).filter(|schema| schema.as_object().is_some()) else { continue };
                let compiled = InstanceSchema::new(&schema.to_value());
                let at = format!("/result/tools/{index}{}", token(member));
                tell(seen, name, member, &at, schema, compiled.as_ref().err(), context, out);
                if member == "outputSchema" {
                    self.kept += schema.to_string().len();
                    let usable = compiled.ok().filter(|_| self.kept <= MOST_BYTES);
                    declared = usable.map_or(Declared::Unusable, |schema| Declared::Schema(Arc::new(schema)));
                }
            }
            if self.tools.len() < MOST_TOOLS || self.tools.contains_key(name) {
                self.tools.insert(name.into(), declared);
            }
        }
    }

    fn called(&self, seen: &Seen<'_>, request: &Request, context: &Context, out: &mut Verdicts) {
        let Some(declared) = request.tool.as_ref().and_then(|name| self.tools.get(name)) else { return };
        let Some(result) = seen.get("/result").filter(|result| result.as_object().is_some()) else { return };
        let complete = match context.era() {
            Era::Legacy => result.get("task").is_none() || result.get("content").is_some(),
            Era::Modern => result.get("resultType").and_then(Json::as_str) == Some("complete"),
        };
        if !complete || matches!(declared, Declared::Nothing) {
            return;
        }
        let failed = result.get("isError").and_then(Json::as_bool) == Some(true);
        let tool = clip(request.tool.as_deref().unwrap_or_default());
        let graded = |breach: Breach| if failed { breach.contested("C41") } else { breach };
        let content = result.get("structuredContent");
        let missing = content.is_none();
        // An error without it is what the field does: nothing is seen there, neither kept nor broken.
        if !failed || !missing {
            let message = format!("{tool} has an outputSchema, and its result has no structuredContent");
            out.check(&PRESENT, context, missing.then(|| graded(Breach::at(seen, "/result", message))));
        }
        let (Some(content), Declared::Schema(schema)) = (content, declared) else { return };
        let Ok(problems) = schema.judge(&content.to_value()) else { return };
        let breach = problems.first().map(|problem| {
            let at = format!("/result/structuredContent{}", problem.pointer);
            graded(Breach::at(seen, &at, format!("{tool}: structuredContent breaks the outputSchema: {problem}")))
        });
        out.check(&CONFORMS, context, breach);
    }
}

/// One schema: whether it is one.
#[expect(clippy::too_many_arguments, reason = "the place of a schema in words and as a pointer")]
fn tell(
    seen: &Seen<'_>,
    tool: &str,
    member: &str,
    at: &str,
    schema: &Json,
    error: Option<&InstanceSchemaError>,
    context: &Context,
    out: &mut Verdicts,
) {
    let problem = match error {
        None => None,
        Some(InstanceSchemaError::Invalid(problem)) => Some(problem),
        Some(InstanceSchemaError::Inconclusive(_)) => return,
    };
    let breach = |of: &Row| {
        let problem = problem?;
        let dialect = schema.get("$schema").and_then(Json::as_str).map_or("2020-12", |uri| uri);
        let at = format!("{at}{}", problem.pointer);
        let message = format!("the {member} of {} is no schema of {}: {problem}", clip(tool), clip(dialect));
        let breach = Breach::at(seen, &at, message);
        if let Some(told) = context.told(&seen.at(&at)).next() {
            return Some(breach.told_under(told.requirement));
        }
        // The row about tools says more than the row about schemas of any kind.
        let input = member == "inputSchema" && *of != INPUT;
        Some(if input { breach.under(&INPUT) } else { breach })
    };
    let dialect = if schema.get("$schema").is_some() { &DECLARED } else { &DEFAULT };
    let own = if member == "inputSchema" { &INPUT } else { &OUTPUT };
    for row in [own, dialect] {
        if row.requirement(context).is_some() {
            out.check(row, context, breach(row));
        }
    }
}

//! Whether a case can be run on this target, and the tools that it is given.

use mcp_conform_cases::ast::{InputKind, Need, ServedEras, ToolKind};

use super::values::Values;
use crate::run::surface::{CallState, Surface, ToolFacts};

/// Why a case is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// The target's design rules the case out.
    NotApplicable(String),
    /// The case applies and something to provoke it with is missing; and the flag that may give it.
    NotVerified(String, Option<String>),
}

/// What else is known of the target.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub surface: &'a Surface,
    pub served: ServedEras,
    pub token: bool,
    pub fixture: bool,
    pub http: bool,
}

/// Checks every need and binds the tools to their variables.
pub fn meet<'a>(needs: impl Iterator<Item = &'a Need>, ground: Ground<'_>) -> Result<Values, Unmet> {
    let mut values = Values::default();
    let mut taken: Vec<&str> = Vec::new();
    for need in needs {
        match need {
            Need::Capability(path) => {
                if !ground.surface.has_capability(path) {
                    return Err(Unmet::NotApplicable(format!("the server does not declare the capability {path}")));
                }
            }
            Need::Lacks(path) => {
                if ground.surface.has_capability(path) {
                    return Err(Unmet::NotApplicable(format!("the server declares the capability {path}")));
                }
            }
            Need::Era(served) => {
                if *served != ground.served {
                    let reason = match served {
                        ServedEras::Dual => "only for servers of both eras",
                        ServedEras::LegacyOnly => "only for servers without 2026-07-28",
                        ServedEras::ModernOnly => "only for servers of 2026-07-28 alone",
                    };
                    return Err(Unmet::NotApplicable(reason.to_owned()));
                }
            }
            Need::Fixture if !ground.fixture => {
                let reason = "the server does not implement the official fixture contract";
                return Err(Unmet::NotVerified(reason.to_owned(), None));
            }
            Need::Loopback if ground.http && !ground.surface.loopback => {
                return Err(Unmet::NotApplicable("only for servers on a loopback address".to_owned()));
            }
            Need::Session if ground.http && !ground.surface.session => {
                return Err(Unmet::NotApplicable("the server issues no session ids".to_owned()));
            }
            Need::Resumable if ground.http && !ground.surface.resumable => {
                let reason = "the server's streams carry no event ids that it resumes from";
                return Err(Unmet::NotApplicable(reason.to_owned()));
            }
            Need::Token if !ground.token => {
                let flag = "--header Authorization=env:TOKEN".to_owned();
                return Err(Unmet::NotVerified("needs a credential".to_owned(), Some(flag)));
            }
            Need::Fixture | Need::Loopback | Need::Resumable | Need::Session | Need::Token => {}
            Need::Tool { name, kind } => {
                let free = |facts: &&ToolFacts| facts.is(kind) && !taken.contains(&facts.name());
                let Some(facts) = ground.surface.tools.iter().find(free) else {
                    return Err(missing_tool(kind, taken.len(), ground.surface));
                };
                taken.push(facts.name());
                values.set(name, facts.variable());
            }
        }
    }
    Ok(values)
}

fn missing_tool(kind: &ToolKind, taken: usize, surface: &Surface) -> Unmet {
    // What the list says needs no call: where every tool wants arguments there is nothing to look at.
    if kind.nothing_required && !surface.tools.is_empty() && !surface.tools.iter().any(ToolFacts::requires_nothing) {
        return Unmet::NotApplicable("every tool of the server requires an argument".to_owned());
    }
    let another = if taken == 0 { "" } else { "other " };
    let mut what = format!("no {another}tool was found that could be called");
    if let Some(asks) = kind.asks {
        what.push_str(match asks {
            InputKind::Elicitation => " and asks for an elicitation",
            InputKind::Roots => " and asks for roots",
            InputKind::Sampling => " and asks for sampling",
        });
    }
    if kind.state {
        what.push_str(" with a requestState");
    }
    if kind.progress {
        what.push_str(" and sends progress");
    }
    if kind.task {
        what.push_str(" as a task");
    }
    if kind.changes_list {
        what.push_str(" and changes the list of tools");
    }
    if kind.required_argument {
        what.push_str(" with a required argument");
    }
    if kind.nothing_required {
        what.push_str(" without arguments");
    }
    if kind.output_schema {
        what.push_str(" with an outputSchema");
    }
    let refused =
        surface.tools.iter().any(|facts| matches!(facts.call, CallState::Refused(_) | CallState::NoArguments(_)));
    let flag = if surface.not_allowed().next().is_some() {
        Some("--tools all".to_owned())
    } else if refused {
        Some("--tool-args NAME=JSON".to_owned())
    } else {
        None
    };
    Unmet::NotVerified(what, flag)
}

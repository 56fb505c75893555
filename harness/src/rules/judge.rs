//! Folding a trace: [`Judge`] feeds each event to the context and then to every rule, [`judge`] does so for a whole trace.

use std::sync::Arc;

use mcp_conform_schemas::Revision;

use super::{Context, Observation, Rule, Verdicts, Violation, register::rules};
use crate::trace::Event;

/// The rules at work on one conversation.
pub struct Judge {
    context: Context,
    rules: Vec<(&'static str, Box<dyn Rule>, Verdicts)>,
}

impl Judge {
    pub fn new() -> Self {
        let rules = rules().iter().map(|rule| (rule.name, (rule.make)(), Verdicts::default())).collect();
        Self { context: Context::default(), rules }
    }

    pub fn observe(&mut self, event: &Event) {
        self.context.enter(event);
        for (name, rule, out) in &mut self.rules {
            out.enter(name, self.context.step());
            rule.observe(event, &self.context, out);
            self.context.note_told(out.told());
        }
        self.context.leave(event);
    }

    /// What is known of the conversation by now.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The violations since the last call, each with its rule and requirement. What is taken is counted on, and not told
    /// again by [`Judge::finish`].
    pub fn take_violations(&mut self) -> Vec<(&'static str, &'static str, Revision, Violation)> {
        let rules = self.rules.iter_mut();
        rules.flat_map(|(name, _, out)| out.take_violations().map(|(id, of, it)| (*name, id, of, it))).collect()
    }

    /// What was seen, in the order of the register and of the requirements' names.
    pub fn finish(mut self) -> Vec<Observation> {
        for (name, rule, out) in &mut self.rules {
            out.enter(name, self.context.step());
            rule.finish(&self.context, out);
        }
        self.rules.into_iter().flat_map(|(_, _, out)| out.into_observations()).collect()
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}

/// What the rules say of a whole trace.
pub fn judge(events: &[Arc<Event>]) -> Vec<Observation> {
    let mut judge = Judge::new();
    for event in events {
        judge.observe(event);
    }
    judge.finish()
}

//! What a run is asked to do, checked once: nothing behind here holds a bad value.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use globset::GlobSet;
use mcp_conform_cases::ast::Case;
use mcp_conform_reports::model::CheckResult;
use mcp_conform_schemas::Revision;
use serde_json::Value;

use crate::{
    conversation::{Deadlines, StdioTarget},
    process::CommandSpec,
    repro::Repro,
    trace::Secrets,
    transport::Endpoint,
};

/// A run, ready to start.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub stdio: Option<StdioTarget>,
    pub http: Option<HttpTarget>,
    /// The judged revisions that were asked for.
    pub revisions: Vec<Revision>,
    pub cases: Vec<Arc<Case>>,
    /// Globs over case and rule ids; empty: all.
    pub case_filter: GlobSet,
    /// Catalogue areas; empty: all.
    pub areas: Vec<String>,
    pub jobs: usize,
    pub deadlines: Deadlines,
    pub max_time: Option<Duration>,
    pub tools: ToolChoice,
    pub tool_args: BTreeMap<String, Value>,
    /// The user's own results by the method that asks for them.
    pub answers: Arc<BTreeMap<String, Value>>,
    pub seed: u64,
    pub fail_fast: bool,
    /// What `fail_fast` does not stop at.
    pub excused: Excused,
    pub trace_dir: Option<PathBuf>,
    pub secrets: Arc<Secrets>,
    /// A credential was given.
    pub token: bool,
    /// How a finding is provoked again.
    pub repro: Arc<Repro>,
    /// What to show as the target's name.
    pub name: String,
}

impl RunOptions {
    /// Everything is judged, and every tool may be called: for a server that has nothing to lose.
    pub fn of_everything(stdio: Option<StdioTarget>, http: Option<HttpTarget>, cases: Vec<Arc<Case>>) -> Self {
        Self {
            stdio,
            http,
            revisions: Revision::JUDGED.to_vec(),
            cases,
            case_filter: GlobSet::empty(),
            areas: Vec::new(),
            jobs: 1,
            deadlines: Deadlines::default(),
            max_time: None,
            tools: ToolChoice::All,
            tool_args: BTreeMap::new(),
            answers: Arc::default(),
            seed: 0,
            fail_fast: false,
            excused: Excused::default(),
            trace_dir: None,
            secrets: Arc::default(),
            token: false,
            repro: Arc::default(),
            name: String::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct HttpTarget {
    pub endpoint: Endpoint,
    /// Started before and ended after the run.
    pub serve: Option<CommandSpec>,
}

/// Whether a failure does not count, as the user has it.
#[derive(Clone)]
pub struct Excused(pub Arc<dyn Fn(&CheckResult) -> bool + Send + Sync>);

impl Default for Excused {
    fn default() -> Self {
        Self(Arc::new(|_| false))
    }
}

impl fmt::Debug for Excused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Excused")
    }
}

/// Which tools may be called.
#[derive(Clone, Debug, Default)]
pub enum ToolChoice {
    All,
    Matching(GlobSet),
    None,
    /// Those that say `readOnlyHint: true`.
    #[default]
    ReadOnly,
}

impl ToolChoice {
    pub fn allows(&self, tool: &Value) -> bool {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::All => true,
            Self::None => false,
            Self::Matching(globs) => globs.is_match(name) || read_only(tool),
            Self::ReadOnly => read_only(tool),
        }
    }
}

fn read_only(tool: &Value) -> bool {
    tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
}

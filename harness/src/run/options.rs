//! What a run is asked to do, checked once: nothing behind here holds a bad value.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use globset::{Glob, GlobSet};
use mcp_conform_cases::{ast::Case, nearest};
use mcp_conform_reports::model::CheckResult;
use mcp_conform_schemas::Revision;
use serde_json::Value;

use super::runner::some_of;
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

impl RunOptions {
    /// What the user names that no tool is called: a slip would go unnoticed. A server may list other tools another time,
    /// so that it is told and no error.
    pub(super) fn unknown_tools(&self, listed: &BTreeSet<String>) -> Vec<String> {
        let globs = match &self.tools {
            ToolChoice::Matching(_, globs) => globs.as_slice(),
            ToolChoice::All | ToolChoice::None | ToolChoice::ReadOnly => &[],
        };
        let matches = |glob: &str| {
            let matcher = Glob::new(glob).ok().map(|glob| glob.compile_matcher());
            matcher.is_none_or(|matcher| listed.iter().any(|name| matcher.is_match(name)))
        };
        let unknown = globs.iter().filter(|glob| !matches(glob)).map(|glob| ("tools", glob));
        let unnamed = self.tool_args.keys().filter(|name| !listed.contains(*name)).map(|name| ("tool-args", name));
        let note = |(flag, name): (&str, &String)| {
            let way_out = match nearest(name, listed.iter().map(String::as_str)).first() {
                Some(near) => format!("did you mean {near}?"),
                None if listed.is_empty() => "the server lists none".to_owned(),
                None => format!("listed are {}", some_of(&listed.iter().map(String::as_str).collect::<Vec<_>>())),
            };
            format!("--{flag} {name}: no tool is called so; {way_out}")
        };
        unknown.chain(unnamed).map(note).collect()
    }
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
    /// Those that match, too; with the globs as they were written.
    Matching(GlobSet, Vec<String>),
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
            Self::Matching(globs, _) => globs.is_match(name) || read_only(tool),
            Self::ReadOnly => read_only(tool),
        }
    }
}

fn read_only(tool: &Value) -> bool {
    tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
}

//! Where a setting stands in a configuration, so that what is wrong with it is told there and not as a flag that nobody
//! typed.

use std::{collections::BTreeMap, path::Path};

use toml::de::DeTable;

use super::{args::RunArgs, error::UsageError};

/// Flags whose keys have another name. All others are named alike.
const KEYS: [(&str, &str); 6] = [
    ("answer", "answers"),
    ("area", "areas"),
    ("header", "headers"),
    ("report", "reports"),
    ("revision", "revisions"),
    ("server", "command"),
];

/// The settings that a configuration gave, by the flag that they stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(BTreeMap<String, Place>);

#[derive(Clone, Debug)]
struct Place {
    /// `FILE:LINE`.
    at: String,
    key: String,
}

impl Origins {
    /// Takes in the settings of a table. Those of an earlier one win.
    pub(crate) fn note(&mut self, file: &Path, text: &str, path: &[&str]) {
        for (key, line) in keys(text, path) {
            let flag = KEYS.iter().find(|(_, known)| *known == key).map_or(key.as_str(), |(flag, _)| flag);
            let at = format!("{}:{line}", file.display());
            self.0.entry(flag.to_owned()).or_insert(Place { at, key: key.clone() });
        }
    }

    /// What was typed is at fault by itself.
    pub(crate) fn typed(&mut self, args: &RunArgs) {
        let given = [
            ("answer", !args.answer.is_empty()),
            ("area", !args.area.is_empty()),
            ("baseline", args.baseline.is_some()),
            ("ca-file", args.ca_file.is_some()),
            ("cases", !args.cases.dirs.is_empty()),
            ("cwd", args.cwd.is_some()),
            ("env", !args.env.is_empty()),
            ("fail-on", args.fail_on.is_some()),
            ("header", !args.header.is_empty()),
            ("jobs", args.jobs.is_some()),
            ("max-time", args.max_time.is_some()),
            ("max-unverified", args.max_unverified.is_some()),
            ("patience", args.patience.is_some()),
            ("report", !args.report.is_empty()),
            ("requirements", !args.requirements.is_empty()),
            ("revision", !args.revision.is_empty()),
            ("seed", args.seed.is_some()),
            ("start-timeout", args.start_timeout.is_some()),
            ("timeout", args.timeout.is_some()),
            ("tool-args", !args.tool_args.is_empty()),
            ("tools", !args.tools.is_empty()),
            ("trace", args.trace.is_some()),
        ];
        for (flag, _) in given.into_iter().filter(|(_, given)| *given) {
            self.0.remove(flag);
        }
    }

    /// The error where its cause stands.
    pub(crate) fn place(&self, error: UsageError) -> UsageError {
        match error {
            UsageError::Flag { flag, value, reason, help } => match self.0.get(flag) {
                Some(Place { at, key }) => UsageError::Other(format!("{at}: {key} {value}: {reason}\n  {help}")),
                None => UsageError::Flag { flag, value, reason, help },
            },
            other => other,
        }
    }
}

/// The error with the place of its setting in one table.
pub(crate) fn at(file: &Path, text: &str, path: &[&str], error: UsageError) -> UsageError {
    let mut origins = Origins::default();
    origins.note(file, text, path);
    origins.place(error)
}

/// The keys of a table with their lines, from 1.
fn keys(text: &str, path: &[&str]) -> Vec<(String, usize)> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let mut table = root.get_ref();
    for name in path {
        let inner = table.iter().find(|(key, _)| key.get_ref().as_ref() == *name);
        let Some(inner) = inner.and_then(|(_, value)| value.get_ref().as_table()) else { return Vec::new() };
        table = inner;
    }
    let line = |start: usize| text.get(..start).unwrap_or_default().matches('\n').count() + 1;
    table.keys().map(|key| (key.get_ref().to_string(), line(key.span().start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "[run]\njobs = 0\nrevisions = [\"x\"]\n\n[servers.a]\ncommand = \"a\"\n[servers.a.headers]\nx = \"y\"\n";

    fn told(typed: &RunArgs, flag: &'static str) -> String {
        let mut origins = Origins::default();
        origins.note(Path::new("m.toml"), TEXT, &["run"]);
        origins.note(Path::new("m.toml"), TEXT, &["servers", "a"]);
        origins.typed(typed);
        origins.place(UsageError::flag(flag, "V", "is wrong", "do right")).to_string()
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_told_where_it_stands() {
        let nothing = RunArgs::default();
        assert_eq!(told(&nothing, "jobs"), "m.toml:2: jobs V: is wrong\n  do right");
        assert_eq!(told(&nothing, "revision"), "m.toml:3: revisions V: is wrong\n  do right");
        assert_eq!(told(&nothing, "server"), "m.toml:6: command V: is wrong\n  do right");
        assert_eq!(told(&nothing, "header"), "m.toml:7: headers V: is wrong\n  do right");
        assert_eq!(told(&nothing, "patience"), "--patience V: is wrong\n  do right", "it does not stand there");
        let typed = RunArgs { jobs: Some(0), ..RunArgs::default() };
        assert_eq!(told(&typed, "jobs"), "--jobs V: is wrong\n  do right", "what was typed wins");
    }
}

//! `mcp-conform init`: a commented configuration and a workflow, by asking or by flags.

use std::{
    fs,
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
};

use super::{
    args::InitArgs,
    config,
    error::UsageError,
    output,
    plan::{command, tools},
};

const WORKFLOW: &str = ".github/workflows/mcp-conform.yml";

/// What the files are made of.
struct Answers {
    target: Target,
    tools: String,
    workflow: bool,
}

enum Target {
    Command(String),
    Url(String),
}

pub(crate) fn init(args: &InitArgs) -> Result<u8, UsageError> {
    if !args.print {
        // Nobody is asked for what cannot be written.
        let workflow = args.workflow.then_some(Path::new(WORKFLOW));
        [Path::new(config::FILE)].into_iter().chain(workflow).try_for_each(|path| is_free(path, args))?;
    }
    let answers = answers(args)?;
    let config = configuration(&answers);
    let mut files = vec![(Path::new(config::FILE), config)];
    if answers.workflow {
        files.push((Path::new(WORKFLOW), workflow()));
    }
    if args.print {
        // Several files are told apart by their names; one alone can be taken as it is.
        let whole: String = match files.as_slice() {
            [(_, one)] => one.clone(),
            more => more.iter().map(|(path, text)| format!("# {}\n{text}\n", path.display())).collect(),
        };
        return output::print(&whole);
    }
    // All or nothing: half of it would be taken for the whole.
    files.iter().try_for_each(|(path, _)| is_free(path, args))?;
    let mut out = anstream::stdout();
    for (path, text) in &files {
        let unwritable = |error| UsageError::Unwritable { path: path.to_path_buf(), flag: "print", error };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(unwritable)?;
        }
        fs::write(path, text).map_err(unwritable)?;
        let _ = writeln!(out, "wrote {}", path.display());
    }
    let _ = writeln!(out, "\nNow judge the server:\n\n    mcp-conform run");
    Ok(0)
}

fn is_free(path: &Path, args: &InitArgs) -> Result<(), UsageError> {
    if path.exists() && !args.force {
        let help = "look at it first; --force writes over it, --print shows what would be written";
        return Err(UsageError::Other(format!("{} is there already\n  {help}", path.display())));
    }
    Ok(())
}

fn sound_url(text: &str) -> Result<String, UsageError> {
    let bad = |reason: String| UsageError::flag("url", text, reason, "write http://HOST:PORT/PATH or https://…");
    match url::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(text.to_owned()),
        Ok(url) => Err(bad(format!("{} is no scheme that MCP is served over", url.scheme()))),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn answers(args: &InitArgs) -> Result<Answers, UsageError> {
    let asks = io::stdin().is_terminal() && !args.yes;
    let target = match (&args.server, &args.url) {
        (Some(command), _) => sound_command(command)?,
        (None, Some(url)) => Target::Url(sound_url(url)?),
        (None, None) if asks => ask("Command that starts the server, or its URL", "node dist/index.js", |text| {
            match text.starts_with("http://") || text.starts_with("https://") {
                true => Ok(Target::Url(sound_url(text)?)),
                false => sound_command(text),
            }
        })?,
        (None, None) if args.print || args.yes => Target::Command("node dist/index.js".to_owned()),
        (None, None) => {
            let help = "give --server COMMAND or --url URL, or --yes for an example to edit";
            return Err(UsageError::Other(format!("nobody can be asked: standard input is no terminal\n  {help}")));
        }
    };
    let tools = match &args.tools {
        Some(tools) => sound_tools(tools)?,
        None if asks => ask("Tools that may be called: all, none, read-only, or globs", "read-only", sound_tools)?,
        None => "read-only".to_owned(),
    };
    let there = !args.force && !args.print && Path::new(WORKFLOW).exists();
    let workflow = match args.workflow {
        true => true,
        false if asks && !there => ask("Write a GitHub workflow, too", "yes", sound_choice)?,
        false => false,
    };
    Ok(Answers { target, tools, workflow })
}

fn sound_command(line: &str) -> Result<Target, UsageError> {
    command("server", line).map(|_| Target::Command(line.to_owned()))
}

fn sound_tools(text: &str) -> Result<String, UsageError> {
    let globs: Vec<String> = text.split(',').map(|glob| glob.trim().to_owned()).collect();
    if globs.iter().any(String::is_empty) {
        return Err(UsageError::flag("tools", text, "has an empty name in it", "write all, none, read-only, or globs"));
    }
    tools(&globs).map(|_| text.to_owned())
}

fn sound_choice(text: &str) -> Result<bool, UsageError> {
    match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(UsageError::Other(format!("{text:?} is neither yes nor no"))),
    }
}

/// Asks until an answer is sound; an empty line takes the proposal.
fn ask<T>(question: &str, proposal: &str, sound: impl Fn(&str) -> Result<T, UsageError>) -> Result<T, UsageError> {
    ask_from(question, proposal, sound, &mut io::stdin().lock(), &mut anstream::stderr())
}

fn ask_from<T>(
    question: &str,
    proposal: &str,
    sound: impl Fn(&str) -> Result<T, UsageError>,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<T, UsageError> {
    let failed = |error: io::Error| UsageError::Other(format!("standard input: {error}"));
    loop {
        write!(out, "{question} [{proposal}]: ").and_then(|()| out.flush()).map_err(failed)?;
        let mut line = String::new();
        if input.read_line(&mut line).map_err(failed)? == 0 {
            return Err(UsageError::Other("standard input ended before the answer; nothing was written".to_owned()));
        }
        let line = line.trim();
        match sound(if line.is_empty() { proposal } else { line }) {
            Ok(answer) => return Ok(answer),
            Err(error) => writeln!(out, "{error}").map_err(failed)?,
        }
    }
}

fn configuration(answers: &Answers) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let target = match &answers.target {
        Target::Command(command) => format!("command = {}", quoted(command)),
        Target::Url(url) => format!(
            "url = {}\n# Started before the run and ended after it, where nothing serves the URL yet:\n# serve = \"node dist/http.js\"",
            quoted(url)
        ),
    };
    let tools = match answers.tools.as_str() {
        "read-only" => "# tools = \"all\"".to_owned(),
        one @ ("all" | "none") => format!("tools = {}", quoted(one)),
        globs => {
            let globs: Vec<String> = globs.split(',').map(|glob| quoted(glob.trim())).collect();
            format!("tools = [{}]", globs.join(", "))
        }
    };
    format!(
        r#"# What mcp-conform judges here, and how. Flags of the command line win over this file.

[servers.main]
{target}
# Variables of its process. `env:NAME` takes a value from your own environment, `@FILE` from a file; both are never shown.
# env = {{ API_KEY = "env:API_KEY" }}
# headers = {{ Authorization = "env:MCP_AUTHORIZATION" }}
# cwd = "."
# Tools that may be called: "all", "none", or globs. Left out: those that say readOnlyHint: true.
{tools}
# Arguments for tools that do not take made-up ones.
# tool-args.search = {{ query = "mcp" }}
# What to answer when the server asks.
# answers."elicitation/create" = {{ action = "accept", content = {{ name = "Ada" }} }}

[run]
# Only these revisions; one that is not supported is a finding then.
# revisions = ["2026-07-28"]
# Cases of your own beside the suite.
# cases = ["conformance"]
# What fails the run: "fail", "warn" or "never".
# fail-on = "fail"
# What is judged as it was at a release; what came later is told and does not fail. mcp-conform list --requirements
# requirements = ["2025-11-25@1.0", "2026-07-28@1.0"]
# Failures that are known; --baseline-update writes the file.
# baseline = "mcp-conform-known.toml"
# max-unverified = 100
# Reports beside the terminal's.
# reports = ["markdown:mcp-conform.md", "json:mcp-conform.json"]
# Seconds for an answer, for the start of a server, for the whole run, and a factor on every wait but the answer's.
# timeout = 10.0
# start-timeout = 60.0
# max-time = 120.0
# patience = 1.0

# `--profile thorough` wins over [run].
[profiles.thorough]
patience = 4.0
fail-on = "warn"
"#
    )
}

fn workflow() -> String {
    // The braces of expressions are GitHub's.
    r#"name: MCP conformance

on:
  push:
    branches: [main]
  pull_request:

permissions:
  contents: read

jobs:
  conformance:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          persist-credentials: false
      # Build your server here; what is judged stands in mcp-conform.toml.
      - uses: mcp-conform/mcp-conform@main
        with:
          config: mcp-conform.toml
          # Findings in code scanning; the job needs `security-events: write`, too.
          sarif: "false"
          # A text for a comment, which a workflow of its own posts: see the README of mcp-conform.
          comment: "false"
"#
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_used_is_asked_for_again() {
        fn asked<T>(text: &str, sound: impl Fn(&str) -> Result<T, UsageError>) -> (Option<T>, usize) {
            let mut out = Vec::new();
            let answer = ask_from("What", "yes", sound, &mut text.as_bytes(), &mut out).ok();
            (answer, String::from_utf8(out).unwrap().matches("What [yes]").count())
        }
        assert_eq!(asked("maybe\nno\n", sound_choice), (Some(false), 2));
        assert_eq!(asked("\n", sound_choice), (Some(true), 1));
        assert_eq!(asked("maybe\n", sound_choice), (None, 2));
        assert_eq!(asked("get[*\nget-*, x\n", sound_tools), (Some("get-*, x".to_owned()), 2));
        assert_eq!(asked("a,,b\nread-only\n", sound_tools), (Some("read-only".to_owned()), 2));
        let (server, times) = asked("node \"oops\nnode x.js\n", sound_command);
        assert!(matches!(server, Some(Target::Command(line)) if line == "node x.js") && times == 2);
    }
}

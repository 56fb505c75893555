//! `mcp-conform.toml`, and servers out of a client's `mcpServers` file: both fill the gaps of the command line.
//!
//! [`resolve`] gives the arguments as if everything had been typed. What stands on the command line wins over the profile,
//! the profile over `[run]`. Paths in a file are relative to the folder of the file.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use mcp_conform_cases::nearest;
use mcp_conform_reports::render::ReportSpec;
use serde::Deserialize;
use serde_json::Value;

use super::{
    args::{FailOn, RunArgs},
    error::UsageError,
    origins::{Origins, at},
    plan::quoted,
};

/// The file that is looked for in the working folder.
pub(crate) const FILE: &str = "mcp-conform.toml";
/// A configuration is written by hand: more than this is another file.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    #[serde(default)]
    run: Settings,
    #[serde(default)]
    profiles: BTreeMap<String, Settings>,
    #[serde(default)]
    servers: BTreeMap<String, Server>,
}

/// What holds for every server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Settings {
    revisions: Option<Vec<String>>,
    /// Folders or files with cases of one's own.
    cases: Option<Vec<PathBuf>>,
    areas: Option<Vec<String>>,
    jobs: Option<usize>,
    timeout: Option<f64>,
    start_timeout: Option<f64>,
    max_time: Option<f64>,
    patience: Option<f64>,
    seed: Option<u64>,
    fail_on: Option<FailOn>,
    /// The file of known failures.
    baseline: Option<PathBuf>,
    /// Frozen requirement sets, one a revision.
    requirements: Option<Vec<String>>,
    max_unverified: Option<u64>,
    reports: Option<Vec<String>>,
    trace: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Server {
    command: Option<CommandLine>,
    url: Option<String>,
    serve: Option<String>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    ca_file: Option<PathBuf>,
    #[serde(default)]
    insecure: bool,
    tools: Option<OneOrMore>,
    #[serde(default)]
    tool_args: BTreeMap<String, Value>,
    #[serde(default)]
    answers: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a command is a text, or a list of texts")]
enum CommandLine {
    Line(String),
    Words(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a text, or a list of texts, is due here")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// The arguments with what the configuration adds.
pub(crate) fn resolve(args: &RunArgs) -> Result<RunArgs, UsageError> {
    let typed = args;
    let mut args = args.clone();
    let named_here = args.server.is_some() || args.url.is_some() || args.demo || !args.command.is_empty();
    if let Some(file) = args.from.clone() {
        let server = of_client(&file, args.name.as_deref())?;
        apply_server(&mut args, server, Path::new(""));
        args.label.clone_from(&args.name);
        let name = typed.name.as_ref().map(|name| format!(" --name {}", quoted(name))).unwrap_or_default();
        args.typed = Some((format!("--from {}{name}", quoted(&file.to_string_lossy())), Box::new(typed.clone())));
    }
    let Some((file, config, text)) = load(&args)? else {
        return match (&args.profile, &args.name) {
            (Some(profile), _) => Err(no_config("profile", profile)),
            (None, Some(name)) if args.from.is_none() => Err(no_config("name", name)),
            _ => Ok(args),
        };
    };
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut origins = Origins::default();
    if let Some(name) = args.profile.clone() {
        let profile = pick("profile", &name, &config.profiles, &file)?;
        apply_settings(&mut args, profile, &folder).map_err(|error| at(&file, &text, &["profiles", &name], error))?;
        origins.note(&file, &text, &["profiles", &name]);
    }
    apply_settings(&mut args, config.run.clone(), &folder).map_err(|error| at(&file, &text, &["run"], error))?;
    origins.note(&file, &text, &["run"]);
    if !named_here && args.from.is_none() {
        let server = match args.name.clone() {
            Some(name) => {
                let server = pick("name", &name, &config.servers, &file)?;
                args.label = Some(name);
                server
            }
            None => match config.servers.len() {
                0 => {
                    args.origins = origins;
                    return Ok(args);
                }
                1 => {
                    let (name, server) = config.servers.into_iter().next().unwrap_or_default();
                    args.label = Some(name);
                    server
                }
                _ => {
                    let names: Vec<&str> = config.servers.keys().map(String::as_str).collect();
                    let text = format!(
                        "{} names {} servers\n  choose one by --name: {}",
                        file.display(),
                        names.len(),
                        names.join(", ")
                    );
                    return Err(UsageError::Other(text));
                }
            },
        };
        if let Some(name) = &args.label {
            origins.note(&file, &text, &["servers", name]);
        }
        apply_server(&mut args, server, &folder);
        let mut repro = Vec::new();
        if let Some(file) = &typed.config {
            repro.push(format!("--config {}", quoted(&file.to_string_lossy())));
        }
        if let Some(name) = &typed.name {
            repro.push(format!("--name {}", quoted(name)));
        }
        args.typed = Some((repro.join(" "), Box::new(typed.clone())));
    }
    origins.typed(typed);
    args.origins = origins;
    Ok(args)
}

/// The file that a run would read, and the servers in it.
pub(crate) fn server_names(named: Option<&Path>) -> Result<Option<(PathBuf, Vec<String>)>, UsageError> {
    let args = RunArgs { config: named.map(Path::to_owned), ..RunArgs::default() };
    Ok(load(&args)?.map(|(file, config, _)| (file, config.servers.into_keys().collect())))
}

/// Whether a file is a client's JSON, and not a configuration.
pub(crate) fn is_client(file: &Path) -> Result<bool, UsageError> {
    Ok(fleet_text(file)?.trim_start().starts_with('{'))
}

/// The servers of a configuration or of a client's file, sorted.
pub(crate) fn names(file: &Path) -> Result<Vec<String>, UsageError> {
    let text = fleet_text(file)?;
    let names: Vec<String> = if is_client(file)? {
        client_servers(file)?.into_keys().collect()
    } else {
        let config: Config = toml::from_str(&text).map_err(|error| broken(file, &text, &error))?;
        config.servers.into_keys().collect()
    };
    if names.is_empty() {
        let help = "name them in tables: [servers.NAME], or in the mcpServers of a client's file";
        return Err(UsageError::Other(format!("{} names no server\n  {help}", file.display())));
    }
    Ok(names)
}

fn fleet_text(file: &Path) -> Result<String, UsageError> {
    read_bounded(file).map_err(|error| {
        let help =
            "name a configuration with [servers.NAME] tables, or a client's JSON file with mcpServers".to_owned();
        UsageError::Unreadable { path: file.to_owned(), error, help }
    })
}

fn no_config(flag: &'static str, value: &str) -> UsageError {
    let help = format!("write {FILE} (mcp-conform init), or name one by --config FILE");
    UsageError::flag(flag, value, "stands in a configuration, and there is none", help)
}

fn load(args: &RunArgs) -> Result<Option<(PathBuf, Config, String)>, UsageError> {
    if args.no_config {
        return Ok(None);
    }
    let file = args.config.clone().unwrap_or_else(|| PathBuf::from(FILE));
    let text = match read_bounded(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && args.config.is_none() => return Ok(None),
        Err(error) => {
            let help = "name another file by --config, or leave it out".to_owned();
            return Err(UsageError::Unreadable { path: file, error, help });
        }
    };
    let config = toml::from_str(&text).map_err(|error| broken(&file, &text, &error))?;
    Ok(Some((file, config, text)))
}

pub(crate) fn read_bounded(file: &Path) -> io::Result<String> {
    let length = fs::metadata(file)?.len();
    if length > MAX_BYTES {
        return Err(io::Error::other(format!("it has {length} bytes, and at most {MAX_BYTES} are read")));
    }
    fs::read_to_string(file)
}

/// One clear line for what is wrong in a TOML file, with the place and, for an unknown key, the nearest known one.
pub(crate) fn broken(file: &Path, text: &str, error: &toml::de::Error) -> UsageError {
    broken_with(file, text, error, "mcp-conform init --print shows a sound one with comments")
}

/// The same for another file, with the way out where there is no better one.
pub(crate) fn broken_with(file: &Path, text: &str, error: &toml::de::Error, otherwise: &str) -> UsageError {
    let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
    let place = line.map(|line| format!(":{line}")).unwrap_or_default();
    let message = error.message();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let help = match quoted.split_first() {
        // What clients' files have beside the command.
        Some((&"args", _)) if message.starts_with("unknown field") => {
            "arguments stand in command: one line, or a list of words".to_owned()
        }
        Some((unknown, known)) if message.starts_with("unknown field") || message.starts_with("unknown variant") => {
            match nearest(unknown, known.iter().copied()).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known here are {}", known.join(", ")),
            }
        }
        _ => otherwise.to_owned(),
    };
    // The words of the parser for what it is made of are not those of the file.
    let message = message.split(", expected").next().unwrap_or(message).replace("unknown variant", "unknown value");
    UsageError::Other(format!("{}{place}: {message}\n  {help}", file.display()))
}

fn pick<T: Clone>(flag: &'static str, name: &str, known: &BTreeMap<String, T>, file: &Path) -> Result<T, UsageError> {
    known.get(name).cloned().ok_or_else(|| {
        let names = known.keys().map(String::as_str);
        let help = match nearest(name, names.clone()).first() {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "there is none in it".to_owned(),
            None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
        };
        UsageError::flag(flag, name, format!("does not stand in {}", file.display()), help)
    })
}

fn apply_settings(args: &mut RunArgs, settings: Settings, folder: &Path) -> Result<(), UsageError> {
    fn fill<T>(place: &mut Vec<T>, given: Option<Vec<T>>) {
        if place.is_empty() {
            place.extend(given.unwrap_or_default());
        }
    }
    let Settings {
        revisions,
        cases,
        areas,
        jobs,
        timeout,
        start_timeout,
        max_time,
        patience,
        seed,
        fail_on,
        max_unverified,
        ..
    } = settings;
    fill(&mut args.revision, revisions);
    fill(&mut args.area, areas);
    fill(&mut args.cases.dirs, cases.map(|dirs| dirs.iter().map(|dir| folder.join(dir)).collect()));
    if args.report.is_empty() {
        for spec in settings.reports.unwrap_or_default() {
            let mut spec: ReportSpec = spec.parse().map_err(|error| {
                UsageError::flag("report", spec.clone(), format!("{error}"), "FORMAT[:PATH] is due")
            })?;
            spec.path = spec.path.map(|path| folder.join(path));
            args.report.push(spec);
        }
    }
    args.jobs = args.jobs.or(jobs);
    args.timeout = args.timeout.or(timeout);
    args.start_timeout = args.start_timeout.or(start_timeout);
    args.max_time = args.max_time.or(max_time);
    args.patience = args.patience.or(patience);
    args.seed = args.seed.or(seed);
    args.fail_on = args.fail_on.or(fail_on);
    args.max_unverified = args.max_unverified.or(max_unverified);
    fill(&mut args.requirements, settings.requirements);
    args.baseline = args.baseline.take().or(settings.baseline.map(|file| folder.join(file)));
    args.trace = args.trace.take().or(settings.trace.map(|dir| folder.join(dir)));
    Ok(())
}

fn apply_server(args: &mut RunArgs, server: Server, folder: &Path) {
    match server.command {
        Some(CommandLine::Line(line)) => args.server = Some(line),
        Some(CommandLine::Words(words)) => args.command = words.into_iter().map(Into::into).collect(),
        None => {}
    }
    args.url = server.url;
    args.serve = server.serve;
    args.cwd = args.cwd.take().or(server.cwd.map(|dir| folder.join(dir)));
    args.ca_file = args.ca_file.take().or(server.ca_file.map(|file| folder.join(file)));
    args.insecure |= server.insecure;
    // Before those of the command line, which win.
    let pairs = |map: BTreeMap<String, String>, given: &[String], any_case: bool| -> Vec<String> {
        let known = |name: &str| {
            given
                .iter()
                .filter_map(|pair| pair.split('=').next())
                .any(|other| other == name || (any_case && other.eq_ignore_ascii_case(name)))
        };
        map.into_iter().filter(|(name, _)| !known(name)).map(|(name, value)| format!("{name}={value}")).collect()
    };
    let env = pairs(server.env, &args.env, false);
    args.env.splice(0..0, env);
    let headers = pairs(server.headers, &args.header, true);
    args.header.splice(0..0, headers);
    if args.tools.is_empty() {
        args.tools = match server.tools {
            Some(OneOrMore::One(one)) => vec![one],
            Some(OneOrMore::More(more)) => more,
            None => Vec::new(),
        };
    }
    let tool_args = server.tool_args.into_iter().map(|(tool, value)| format!("{tool}={value}"));
    args.tool_args.splice(0..0, tool_args);
    let answers = server.answers.into_iter().map(|(method, value)| format!("{method}={value}"));
    args.answer.splice(0..0, answers);
}

/// A server of a client's configuration: `{"mcpServers": {NAME: {"command", "args", "env", "cwd", "url", "headers"}}}`, or
/// `servers` in its place. What else stands there is the client's own.
fn of_client(file: &Path, name: Option<&str>) -> Result<Server, UsageError> {
    let bad = |reason: String| not_of_client(file, &reason);
    let known = client_servers(file)?;
    let entry = match (name, known.len()) {
        (Some(name), _) => pick("name", name, &known, file)?,
        (None, 1) => known.into_values().next().unwrap_or_default(),
        (None, 0) => return Err(bad("it names no server".to_owned())),
        (None, _) => {
            let names = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let text = format!("{} names {} servers\n  choose one by --name: {names}", file.display(), known.len());
            return Err(UsageError::Other(text));
        }
    };
    let entry = expanded(entry, true).map_err(bad)?;
    let text = |member: &str| entry.get(member).and_then(Value::as_str).map(str::to_owned);
    let texts = |member: &str| -> Result<BTreeMap<String, String>, UsageError> {
        let members = entry.get(member).and_then(Value::as_object).into_iter().flatten();
        members
            .map(|(name, value)| match value.as_str() {
                Some(value) => Ok((name.clone(), value.to_owned())),
                None => Err(bad(format!("{name} of {member} is no text"))),
            })
            .collect()
    };
    let mut words: Vec<String> = text("command").into_iter().collect();
    for word in entry.get("args").and_then(Value::as_array).into_iter().flatten() {
        words.push(word.as_str().ok_or_else(|| bad("an entry of args is no text".to_owned()))?.to_owned());
    }
    let url = text("url").or_else(|| text("serverUrl"));
    if text("command").is_none() && url.is_none() {
        return Err(bad("the server has neither command nor url".to_owned()));
    }
    Ok(Server {
        command: text("command").map(|_| CommandLine::Words(words)),
        url,
        cwd: text("cwd").map(PathBuf::from),
        env: texts("env")?,
        headers: texts("headers")?,
        ..Server::default()
    })
}

/// A server's entry with the variables of the environment in place, as clients write them: `${NAME}`, `${env:NAME}` and
/// `${NAME:-default}`. What a client asks its user for, or fills in itself, is nowhere to be found.
fn expanded(value: Value, top: bool) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(with_variables(&text)?),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| expanded(item, false)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let filled = members.into_iter().map(|(name, value)| {
                // Values of these are secrets as a rule: they keep to the way by which a secret is known as one.
                let secret = top && matches!(name.as_str(), "env" | "headers");
                let value = if secret { by_name(value) } else { value };
                Ok((name, expanded(value, false)?))
            });
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other,
    })
}

/// Members that are one variable and nothing else, as `env:NAME`.
fn by_name(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let named = |text: &str| {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        let name = name.strip_prefix("env:").unwrap_or(name);
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain && std::env::var(name).is_ok()).then(|| format!("env:{name}"))
    };
    let member = |(name, value): (String, Value)| match value.as_str().and_then(named) {
        Some(by_name) => (name, Value::String(by_name)),
        None => (name, value),
    };
    Value::Object(members.into_iter().map(member).collect())
}

fn with_variables(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let bare = name.strip_prefix("env:").unwrap_or(name);
        if bare.contains(':') || bare.is_empty() {
            return Err(format!(
                "${{{name}}} is filled in by the client, and not known here: write the value in its place"
            ));
        }
        let value = std::env::var(bare).ok().filter(|value| default.is_none() || !value.is_empty());
        let value = value.or_else(|| default.map(str::to_owned));
        out.push_str(before);
        out.push_str(&value.ok_or_else(|| format!("the variable {bare} of ${{{name}}} is not set: set it"))?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn client_servers(file: &Path) -> Result<BTreeMap<String, Value>, UsageError> {
    let text = read_bounded(file).map_err(|error| {
        let help = "name the JSON file in which your client keeps its servers".to_owned();
        UsageError::Unreadable { path: file.to_owned(), error, help }
    })?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| not_of_client(file, &format!("it is no JSON: {error}")))?;
    let servers = value.get("mcpServers").or_else(|| value.get("servers")).and_then(Value::as_object);
    let servers = servers.ok_or_else(|| not_of_client(file, "there is no mcpServers in it"))?;
    Ok(servers.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn not_of_client(file: &Path, reason: &str) -> UsageError {
    let help = r#"it has to be {"mcpServers": {"NAME": {"command": …, "args": […]} or {"url": …}}}"#;
    UsageError::Other(format!("{}: {reason}\n  {help}", file.display()))
}

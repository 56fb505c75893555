//! From arguments to a run that can start: everything is checked here, once.

use std::{collections::BTreeMap, ffi::OsString, fs, net::TcpListener, path::Path, sync::Arc, time::Duration};

use globset::{Glob, GlobSet, GlobSetBuilder};
use mcp_conform_cases::{Catalogue, ast::Case, headings, load_dir, nearest, suite};
use mcp_conform_schemas::Revision;
use serde_json::Value;
use url::Url;

use super::{args::RunArgs, by_hand, error::UsageError};
use crate::{
    conversation::{Deadlines, StdioTarget},
    process::CommandSpec,
    repro::Repro,
    rules,
    run::{Excused, HttpTarget, RunOptions, ToolChoice, areas_of},
    trace::Secrets,
    transport::{Endpoint, TlsOptions},
};

/// What a server may ask its client for.
const ASKED: [&str; 3] = ["elicitation/create", "roots/list", "sampling/createMessage"];

pub(crate) fn plan(args: &RunArgs) -> Result<RunOptions, UsageError> {
    checked(args).map_err(|error| args.origins.place(error))
}

fn checked(args: &RunArgs) -> Result<RunOptions, UsageError> {
    let secrets = Secrets::new(secrets(args)?);
    let headers = headers(args)?;
    let token = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let (stdio, http, name, repro_target) = targets(args, headers)?;
    let place = by_hand::place(args, &stdio, &http, &secrets);
    if stdio.is_none() && http.is_none() {
        return Err(UsageError::NoServer);
    }
    fits(args)?;
    let cases = cases(&args.cases.dirs)?;
    let revisions = revisions(&args.revision)?;
    Ok(RunOptions {
        stdio,
        http,
        case_filter: case_filter(&args.case, &cases)?,
        areas: areas(&args.area, &cases, &revisions)?,
        revisions,
        cases,
        jobs: jobs(args.jobs)?,
        deadlines: deadlines(args)?,
        max_time: args.max_time.map(|time| seconds("max-time", time)).transpose()?,
        tools: if args.demo && args.tools.is_empty() { ToolChoice::All } else { tools(&args.tools)? },
        tool_args: objects("tool-args", "TOOL", &args.tool_args)?,
        answers: Arc::new(answers(&args.answer)?),
        seed: args.seed.unwrap_or_default(),
        fail_fast: args.fail_fast,
        excused: Excused::default(),
        trace_dir: trace_dir(args)?,
        repro: Arc::new(Repro { target: secrets.redact_text(&repro_target), place }),
        name: secrets.redact_text(&name),
        secrets: Arc::new(secrets),
        token,
    })
}

/// The suite and the user's own cases; ids must differ over all of them.
pub(crate) fn cases(dirs: &[std::path::PathBuf]) -> Result<Vec<Arc<Case>>, UsageError> {
    let own = own_cases(dirs)?;
    Ok(suite().iter().cloned().chain(own).map(Arc::new).collect())
}

/// The user's cases alone.
pub(crate) fn own_cases(dirs: &[std::path::PathBuf]) -> Result<Vec<Case>, UsageError> {
    let mut cases: Vec<Case> = Vec::new();
    for dir in dirs {
        let own = load_dir(dir).map_err(|error| UsageError::Cases(super::show::load_error(&error)))?;
        for case in own {
            let known =
                cases.iter().find(|known| known.id.node == case.id.node).map(|known| known.source.name.as_ref());
            let embedded = || headings().any(|heading| heading.id == case.id.node).then_some("the suite");
            if let Some(known) = known.or_else(embedded) {
                return Err(UsageError::Cases(format!(
                    "{} has the id {}, which stands in {known} already\n  give the case another id",
                    case.source.name, case.id.node
                )));
            }
            if let Some(unknown) = super::show::unknown_checks(&case).into_iter().next() {
                return Err(UsageError::Cases(unknown));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

/// A setting that nothing could use is a mistake, and better told than left out silently.
fn fits(args: &RunArgs) -> Result<(), UsageError> {
    let process = args.server.is_some() || args.serve.is_some() || !args.command.is_empty();
    let without_process = "is for a server that is started here, with --server or --serve";
    let without_url = "is for a server at a --url";
    let misfit = |flag: &str, why: &str| Err(UsageError::Other(format!("--{flag} {why}\n  leave it out")));
    match () {
        () if !process && !args.env.is_empty() => misfit("env", without_process),
        () if !process && args.cwd.is_some() => misfit("cwd", without_process),
        () if args.url.is_none() && !args.header.is_empty() => misfit("header", without_url),
        () if args.url.is_none() && args.ca_file.is_some() => misfit("ca-file", without_url),
        () if args.url.is_none() && args.insecure => misfit("insecure", without_url),
        () => Ok(()),
    }
}

type Targets = (Option<StdioTarget>, Option<HttpTarget>, String, String);

fn targets(args: &RunArgs, headers: Vec<(String, String)>) -> Result<Targets, UsageError> {
    if args.demo {
        return demo(args);
    }
    let mut names = Vec::new();
    let mut repro = Vec::new();
    let spec = match (&args.server, args.command.split_first()) {
        (Some(line), _) => {
            names.push(line.clone());
            repro.push(format!("--server {}", quoted(line)));
            Some(command("server", line)?)
        }
        (None, Some((program, rest))) => {
            let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            repro.push(format!("--server {}", quoted(&line)));
            names.push(line);
            Some(CommandSpec::new(program, rest))
        }
        (None, None) => None,
    };
    let stdio = spec.map(|spec| in_place(spec, args)).transpose()?.map(StdioTarget::Process);
    let http = match &args.url {
        None => None,
        Some(text) => {
            let serve = match &args.serve {
                None => None,
                Some(line) => {
                    repro.push(format!("--serve {}", quoted(line)));
                    Some(in_place(command("serve", line)?, args)?)
                }
            };
            names.push(text.clone());
            repro.push(format!("--url {}", quoted(text)));
            Some(HttpTarget { endpoint: endpoint(text, headers, args)?, serve })
        }
    };
    // What stands in a file is named there, and not shown.
    let repro: Vec<String> = match &args.typed {
        Some((named, typed)) => std::iter::once(named.clone()).chain(settings(typed)).collect(),
        None => repro.into_iter().chain(settings(args)).collect(),
    };
    let repro = repro.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Ok((stdio, http, names.join(" and "), repro))
}

/// The flags beside the target that decide what a case can do, for a repro line: without values that may be secret.
fn settings(args: &RunArgs) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |flag: &str, value: &str| out.push(format!("--{flag} {}", quoted(value)));
    for pair in &args.header {
        match pair.split_once('=') {
            Some((_, value)) if value.starts_with("env:") || value.starts_with('@') => add("header", pair),
            Some((name, _)) => add("header", &format!("{name}=env:VARIABLE")),
            None => {}
        }
    }
    for pair in &args.env {
        match pair.split_once('=') {
            Some((name, value)) if is_secret(name, value) && !value.starts_with("env:") && !value.starts_with('@') => {
                add("env", &format!("{name}=env:VARIABLE"));
            }
            _ => add("env", pair),
        }
    }
    if let Some(cwd) = &args.cwd {
        add("cwd", &cwd.to_string_lossy());
    }
    for dir in &args.cases.dirs {
        add("cases", &dir.to_string_lossy());
    }
    if !args.tools.is_empty() {
        add("tools", &args.tools.join(","));
    }
    for pair in &args.tool_args {
        add("tool-args", pair);
    }
    for pair in &args.answer {
        add("answer", pair);
    }
    if let Some(file) = &args.ca_file {
        add("ca-file", &file.to_string_lossy());
    }
    if args.insecure {
        out.push("--insecure".to_owned());
    }
    out
}

/// The reference server, started from this very binary over both transports.
fn demo(args: &RunArgs) -> Result<Targets, UsageError> {
    let own = std::env::current_exe()
        .map_err(|error| UsageError::Other(format!("the path of this binary cannot be found: {error}")))?;
    let mut options: Vec<OsString> = vec!["reference-server".into(), "--".into()];
    let mut repro = "--demo".to_owned();
    if let Some(fault) = &args.fault {
        if let Err(error) = mcp_reference_server::Faults::parse(fault) {
            let help = match error.suggestion {
                Some(near) => {
                    format!("did you mean {near}? mcp-conform reference-server -- --list-faults shows them all")
                }
                None => "mcp-conform reference-server -- --list-faults shows them all".to_owned(),
            };
            return Err(UsageError::flag("fault", fault, "is no fault of the reference server", help));
        }
        options.extend(["--fault".into(), fault.into()]);
        repro = format!("--demo --fault {fault}");
    }
    let with = |more: &[&str]| {
        let mut all = options.clone();
        all.extend(more.iter().map(OsString::from));
        CommandSpec::new(own.clone(), all)
    };
    // A port that was free a moment ago; the server reports when it is not.
    let port = TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| UsageError::Other(format!("no port can be opened on 127.0.0.1: {error}")))?
        .port();
    let text = format!("http://127.0.0.1:{port}/mcp");
    let serve = with(&["--transport", "http", "--port", &port.to_string()]);
    let http = HttpTarget { endpoint: endpoint(&text, Vec::new(), args)?, serve: Some(serve) };
    let stdio = StdioTarget::Process(with(&["--transport", "stdio"]));
    let name = match &args.fault {
        None => "the reference server".to_owned(),
        Some(fault) => format!("the reference server with the fault {fault}"),
    };
    let repro: Vec<String> = std::iter::once(repro).chain(settings(args)).collect();
    Ok((Some(stdio), Some(http), name, repro.join(" ")))
}

pub(super) fn command(flag: &'static str, line: &str) -> Result<CommandSpec, UsageError> {
    CommandSpec::parse(line)
        .map_err(|error| UsageError::flag(flag, quoted(line), error.to_string(), "quote the arguments as for a shell"))
}

fn in_place(mut command: CommandSpec, args: &RunArgs) -> Result<CommandSpec, UsageError> {
    for pair in &args.env {
        let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            UsageError::flag(
                "env",
                pair.split('=').next().unwrap_or_default(),
                "is no NAME=VALUE",
                "write --env NAME=VALUE",
            )
        })?;
        command.env.push((name.into(), indirect("env", value)?.into()));
    }
    if let Some(cwd) = &args.cwd {
        if !cwd.is_dir() {
            let shown = cwd.display().to_string();
            return Err(UsageError::flag("cwd", shown, "is no folder", "name a folder that exists"));
        }
        command.cwd = Some(cwd.clone());
    }
    Ok(command)
}

fn endpoint(text: &str, headers: Vec<(String, String)>, args: &RunArgs) -> Result<Endpoint, UsageError> {
    let bad = |reason: String| UsageError::flag("url", text, reason, "write http://HOST:PORT/PATH or https://…");
    let url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        let host = url.host_str().unwrap_or_default();
        let help = "leave it out and give --header 'Authorization=env:VARIABLE'";
        return Err(UsageError::flag("url", format!("…@{host}"), "holds a credential, which is never sent", help));
    }
    let tls = TlsOptions { ca_file: args.ca_file.clone(), insecure: args.insecure };
    let mut endpoint = Endpoint::new(url, &tls).map_err(|error| bad(error.to_string()))?;
    endpoint.headers = headers;
    Ok(endpoint)
}

fn headers(args: &RunArgs) -> Result<Vec<(String, String)>, UsageError> {
    args.header
        .iter()
        .map(|pair| {
            let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                let help = "write --header NAME=VALUE, NAME=@FILE or NAME=env:VARIABLE";
                UsageError::flag("header", pair.split('=').next().unwrap_or_default(), "is no NAME=VALUE", help)
            })?;
            if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
                return Err(UsageError::flag("header", name, "is no header name", "use letters, digits and hyphens"));
            }
            Ok((name.to_ascii_lowercase(), indirect("header", value)?))
        })
        .collect()
}

/// `@FILE` and `env:VARIABLE`, so that secrets need not stand on a command line.
fn indirect(flag: &'static str, value: &str) -> Result<String, UsageError> {
    if let Some(variable) = value.strip_prefix("env:") {
        return std::env::var(variable).map_err(|_| {
            UsageError::flag(flag, value, format!("the variable {variable} is not set"), "set it, or give the value")
        });
    }
    if let Some(file) = value.strip_prefix('@') {
        return read(Path::new(file), flag).map(|text| text.trim_end().to_owned());
    }
    Ok(value.to_owned())
}

/// Values that no output may show: headers of the user's, and variables that look like credentials.
fn secrets(args: &RunArgs) -> Result<Vec<(String, String)>, UsageError> {
    let mut out = headers(args)?;
    for pair in &args.env {
        if let Some((name, value)) = pair.split_once('=')
            && is_secret(name, value)
        {
            out.push((name.to_owned(), indirect("env", value)?));
        }
    }
    // Variables before the program, as in `API_KEY=… node server.js`.
    for line in args.server.iter().chain(&args.serve) {
        let variables = CommandSpec::parse(line).map(|spec| spec.env).unwrap_or_default();
        for (name, value) in variables {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if is_secret(&name, &value) {
                out.push((name.into_owned(), value.into_owned()));
            }
        }
    }
    for line in args.server.iter().chain(&args.serve) {
        out.extend(telling_arguments(&shlex::split(line).unwrap_or_default()));
    }
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    out.extend(telling_arguments(&words));
    let url = args.url.as_ref().and_then(|url| Url::parse(url).ok());
    for (name, value) in
        url.iter().flat_map(Url::query_pairs).filter(|(name, value)| is_telling(name) && is_long(value))
    {
        out.push((name.into_owned(), value.into_owned()));
    }
    // `Bearer TOKEN` is a secret for its second word too.
    let bare: Vec<(String, String)> = out
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.split_once(' ')?.1.trim().to_owned())))
        .collect();
    out.extend(bare);
    Ok(out)
}

/// By its name, by a credential in a URL, or because it was kept off the command line.
fn is_secret(name: &str, value: &str) -> bool {
    (is_telling(name) && is_long(value))
        || value.starts_with("env:")
        || value.starts_with('@')
        || value.split_once("://").is_some_and(|(_, rest)| rest.split('/').next().unwrap_or_default().contains('@'))
}

/// A guess by the name alone must not take `true` or `json` for a secret: each of them would be replaced in every message.
fn is_long(value: &str) -> bool {
    const LEAST: usize = 8;
    value.len() >= LEAST
}

/// Whether what has this name is a credential, as far as names go.
fn is_telling(name: &str) -> bool {
    const WITHIN: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];
    // Short ones also stand within other words, such as PAT in PATH.
    const WORDS: [&str; 7] = ["BEARER", "COOKIE", "DSN", "PASS", "PAT", "PWD", "SIGNATURE"];
    let name = name.to_ascii_uppercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    // PWD alone is the working folder.
    name != "PWD" && (WITHIN.iter().any(|word| name.contains(word)) || words.any(|word| WORDS.contains(&word)))
}

/// Values behind telling flags of a command, as in `--api-key VALUE` or `--token=VALUE`.
fn telling_arguments(words: &[String]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let Some(flag) = word.strip_prefix('-') else { continue };
        let flag = flag.trim_start_matches('-');
        match flag.split_once('=') {
            Some((name, value)) if is_telling(name) && is_long(value) => out.push((name.to_owned(), value.to_owned())),
            None if is_telling(flag) => {
                let next = words.get(index + 1).filter(|next| !next.starts_with('-') && is_long(next));
                out.extend(next.map(|value| (flag.to_owned(), value.clone())));
            }
            _ => {}
        }
    }
    out
}

fn revisions(names: &[String]) -> Result<Vec<Revision>, UsageError> {
    if names.is_empty() {
        return Ok(Revision::JUDGED.to_vec());
    }
    let mut out = Vec::new();
    for name in names {
        let help = "judged are 2025-11-25 and 2026-07-28; older ones are negotiated and reported in every run";
        let revision: Revision =
            name.parse().map_err(|_| UsageError::flag("revision", name, "is no published revision", help))?;
        if !Revision::JUDGED.contains(&revision) {
            return Err(UsageError::flag("revision", name, "has no requirements of its own here", help));
        }
        if !out.contains(&revision) {
            out.push(revision);
        }
    }
    out.sort();
    Ok(out)
}

fn case_filter(globs: &[String], cases: &[Arc<Case>]) -> Result<GlobSet, UsageError> {
    let set = glob_set("case", globs)?;
    let names: Vec<&str> =
        cases.iter().map(|case| case.id.node.as_str()).chain(rules::rules().iter().map(|rule| rule.name)).collect();
    for glob in globs {
        let one = glob_set("case", std::slice::from_ref(glob))?;
        if !names.iter().any(|name| one.is_match(name)) {
            let near = nearest(glob, names.iter().copied());
            let help = match near.first() {
                Some(near) => format!("did you mean {near}? mcp-conform list shows them all"),
                None => "mcp-conform list shows them all".to_owned(),
            };
            return Err(UsageError::flag("case", glob, "matches no case and no rule", help));
        }
    }
    Ok(set)
}

fn areas(wanted: &[String], cases: &[Arc<Case>], revisions: &[Revision]) -> Result<Vec<String>, UsageError> {
    let known: std::collections::BTreeSet<&str> = Catalogue::get().rows().iter().map(|row| row.area).collect();
    for area in wanted {
        if !known.contains(area.as_str()) {
            let near = nearest(area, known.iter().copied());
            let help = match near.first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known are {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
            };
            return Err(UsageError::flag("area", area, "is no area of the catalogue", help));
        }
        let judged = revisions.iter().any(|revision| {
            cases.iter().any(|case| areas_of(case, *revision).contains(&area.as_str()))
                || rules::rules()
                    .iter()
                    .flat_map(|rule| &rule.requirements)
                    .any(|(id, of)| of == revision && Catalogue::get().row(id, *of).is_some_and(|row| row.area == area))
        });
        if !judged {
            let help = "mcp-conform coverage shows what is judged";
            return Err(UsageError::flag("area", area, "has nothing that is judged yet", help));
        }
    }
    Ok(wanted.to_vec())
}

pub(super) fn tools(globs: &[String]) -> Result<ToolChoice, UsageError> {
    match globs {
        [] => Ok(ToolChoice::ReadOnly),
        [one] if one == "all" => Ok(ToolChoice::All),
        [one] if one == "none" => Ok(ToolChoice::None),
        [one] if one == "read-only" => Ok(ToolChoice::ReadOnly),
        globs => Ok(ToolChoice::Matching(glob_set("tools", globs)?, globs.to_vec())),
    }
}

pub(super) fn glob_set(flag: &'static str, globs: &[String]) -> Result<GlobSet, UsageError> {
    let bad = |glob: &str, error: &globset::Error| {
        UsageError::flag(flag, glob, error.kind().to_string(), "write a glob such as `tools-*`")
    };
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(Glob::new(glob).map_err(|error| bad(glob, &error))?);
    }
    builder.build().map_err(|error| bad(&globs.join(","), &error))
}

/// `NAME=JSON` or `NAME=@FILE`, where JSON is an object.
fn objects(flag: &'static str, what: &str, pairs: &[String]) -> Result<BTreeMap<String, Value>, UsageError> {
    let mut out = BTreeMap::new();
    for pair in pairs {
        let help = format!("write --{flag} '{what}={{\"name\": \"value\"}}' or {what}=@FILE");
        let (name, text) = pair
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| UsageError::flag(flag, pair, format!("is no {what}=JSON"), help.clone()))?;
        let text = match text.strip_prefix('@') {
            Some(file) => read(Path::new(file), flag)?,
            None => text.to_owned(),
        };
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| UsageError::flag(flag, pair, format!("is no JSON: {error}"), help.clone()))?;
        if !value.is_object() {
            return Err(UsageError::flag(flag, pair, "has to be a JSON object", help));
        }
        out.insert(name.to_owned(), value);
    }
    Ok(out)
}

/// Results by the method that asks for them.
fn answers(pairs: &[String]) -> Result<BTreeMap<String, Value>, UsageError> {
    let out = objects("answer", "METHOD", pairs)?;
    for method in out.keys() {
        if !ASKED.contains(&method.as_str()) {
            let help = match nearest(method, ASKED).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("servers ask for {}", ASKED.join(", ")),
            };
            return Err(UsageError::flag("answer", method, "is nothing that a server asks for", help));
        }
    }
    Ok(out)
}

fn jobs(jobs: Option<usize>) -> Result<usize, UsageError> {
    match jobs {
        Some(0) => Err(UsageError::flag("jobs", "0", "nothing would run", "give 1 or more")),
        Some(jobs) => Ok(jobs.min(256)),
        None => Ok(std::thread::available_parallelism().map_or(4, |cores| (cores.get() * 4).max(12))),
    }
}

fn deadlines(args: &RunArgs) -> Result<Deadlines, UsageError> {
    let answer = seconds("timeout", args.timeout.unwrap_or(10.0))?;
    let plain = Deadlines::default();
    let start = match args.start_timeout {
        Some(time) => seconds("start-timeout", time)?,
        None => plain.start.max(answer),
    };
    let patience = args.patience.unwrap_or(1.0);
    if !(patience.is_finite() && patience > 0.0 && patience <= 1000.0) {
        let help = "give a factor above 0, such as 2 on a slow machine";
        return Err(UsageError::flag("patience", patience.to_string(), "is no factor", help));
    }
    Ok(Deadlines {
        answer,
        start: start.mul_f64(patience),
        exit: plain.exit.mul_f64(patience),
        grace: plain.grace.mul_f64(patience),
    })
}

fn seconds(flag: &'static str, value: f64) -> Result<Duration, UsageError> {
    if value.is_finite() && value > 0.0 && value <= 1_000_000.0 {
        return Ok(Duration::from_secs_f64(value));
    }
    Err(UsageError::flag(flag, value.to_string(), "is no time", "give seconds above 0"))
}

fn trace_dir(args: &RunArgs) -> Result<Option<std::path::PathBuf>, UsageError> {
    let Some(dir) = &args.trace else { return Ok(None) };
    let unwritable = |error| UsageError::Unwritable { path: dir.clone(), flag: "trace", error };
    fs::create_dir_all(dir).map_err(unwritable)?;
    // A folder that is there may still take no files.
    let proof = dir.join(".mcp-conform");
    fs::write(&proof, "").and_then(|()| fs::remove_file(&proof)).map_err(unwritable)?;
    Ok(Some(dir.clone()))
}

fn read(path: &Path, flag: &'static str) -> Result<String, UsageError> {
    fs::read_to_string(path).map_err(|error| UsageError::Unreadable {
        path: path.to_owned(),
        error,
        help: format!("--{flag} names it"),
    })
}

/// A word as a shell would need it.
pub(crate) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

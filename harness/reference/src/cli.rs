//! The command line: [`main_with_args`] reads it, makes the [`Config`] and serves until the end.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};

use crate::bugs::{Bug, BugInfo, bugs};
use crate::config::{AnswerForm, Config, Eras, LEGACY_VERSIONS, Tier};
use crate::faults::{FaultInfo, Faults, faults};
use crate::process;

/// A Model Context Protocol server of both revisions that can be broken on purpose.
#[derive(Debug, Parser)]
#[command(name = "mcp-reference-server", version)]
struct Args {
    /// How clients reach the server.
    #[arg(long, value_enum, default_value = "stdio")]
    transport: TransportArg,
    /// The port for HTTP; 0 takes any that is free.
    #[arg(long, default_value_t = 0, value_name = "N")]
    port: u16,
    /// What to break; may be given several times.
    #[arg(long, value_name = "NAME")]
    fault: Vec<String>,
    /// Lists what can be broken.
    #[arg(long)]
    list_faults: bool,
    /// A deep bug, as a fuzzer has to find it.
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
    /// Lists the deep bugs.
    #[arg(long, conflicts_with = "list_faults")]
    list_bugs: bool,
    /// The form of these lists.
    #[arg(long, value_enum, default_value = "text")]
    format: FormatArg,
    /// Which eras are served.
    #[arg(long, value_enum, default_value = "dual")]
    eras: ErasArg,
    /// How requests are answered over HTTP.
    #[arg(long, value_enum, default_value = "auto")]
    answers: AnswersArg,
    /// Whether legacy HTTP clients get a session.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "true|false")]
    sessions: bool,
    /// Whether legacy event streams can be resumed.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "true|false")]
    resumable: bool,
    /// Whether nothing is offered beside what every server has to.
    #[arg(long)]
    bare: bool,
    /// Items on one page of a list; 0 for no pages.
    #[arg(long, default_value_t = 3, value_name = "N")]
    page_size: usize,
    /// An origin that is accepted besides those of the loopback hosts; may be given several times.
    #[arg(long, value_name = "ORIGIN")]
    allowed_origin: Vec<String>,
    /// A bearer token that every HTTP request has to bring.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Whether only the HTTP+SSE transport of 2024-11-05 is offered.
    #[arg(long)]
    old_transport: bool,
    /// A legacy version that is negotiated; may be given several times, all of them by default.
    #[arg(long, value_name = "VERSION")]
    legacy_version: Vec<String>,
    /// Whether clients that declared roots are asked for them.
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "true|false")]
    asks_roots: bool,
    /// Milliseconds after which the server ends a subscription.
    #[arg(long, value_name = "MS")]
    listen_limit: Option<u64>,
    /// Milliseconds that the client has for the server's own requests.
    #[arg(long, default_value_t = 60_000, value_name = "MS")]
    request_timeout: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TransportArg {
    Stdio,
    Http,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ErasArg {
    Dual,
    Legacy,
    Modern,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AnswersArg {
    Auto,
    Json,
    Sse,
}

/// Runs the server as the arguments say; the first one is the program's name.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to stdout and mistakes to stderr; neither can be told anybody if that fails.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    if args.list_faults {
        let text = |info: &FaultInfo| format!("{:<38} {:?}  {}\n", info.name, info.tier, info.what);
        return list(args.format, faults(), text, row);
    }
    if args.list_bugs {
        let text = |info: &BugInfo| format!("{:<26} {}  {}\n", info.name, info.messages, info.what);
        return list(args.format, bugs(), text, bug_row);
    }
    let config = match config(&args) {
        Ok(config) => config,
        Err(why) => {
            complain(&why);
            return ExitCode::from(2);
        }
    };
    match args.transport {
        TransportArg::Stdio => process::stdio(config),
        TransportArg::Http => process::http(config, args.port),
    }
}

fn config(args: &Args) -> Result<Config, String> {
    let mut config = Config {
        eras: match args.eras {
            ErasArg::Dual => Eras::Dual,
            ErasArg::Legacy => Eras::LegacyOnly,
            ErasArg::Modern => Eras::ModernOnly,
        },
        answers: match args.answers {
            AnswersArg::Auto => AnswerForm::Auto,
            AnswersArg::Json => AnswerForm::Json,
            AnswersArg::Sse => AnswerForm::Sse,
        },
        sessions: args.sessions,
        resumable: args.resumable,
        bare: args.bare,
        page_size: (args.page_size > 0).then_some(args.page_size),
        allowed_origins: args.allowed_origin.clone(),
        token: args.token.clone(),
        old_transport: args.old_transport,
        asks_roots: args.asks_roots,
        listen_limit: args.listen_limit.map(Duration::from_millis),
        request_timeout: Duration::from_millis(args.request_timeout),
        ..Config::default()
    };
    if !args.legacy_version.is_empty() {
        let known = |name: &String| LEGACY_VERSIONS.iter().copied().find(|version| version == name);
        config.strict_legacy_versions = args
            .legacy_version
            .iter()
            .map(|name| known(name).ok_or_else(|| format!("{name:?} is no legacy version")))
            .collect::<Result<_, _>>()?;
    }
    if let Some(name) = &args.bug {
        config.bug = Some(Bug::parse(name).map_err(|error| error.to_string())?);
    }
    for name in &args.fault {
        let fault = Faults::parse(name).map_err(|error| error.to_string())?;
        config.faults = config.faults.and(fault);
        let personality = faults().iter().find(|info| info.fault == fault).and_then(|info| info.personality);
        if let Some(personality) = personality {
            personality(&mut config);
        }
    }
    Ok(config)
}

fn list<T>(format: FormatArg, rows: &[T], text: impl Fn(&T) -> String, json: impl Fn(&T) -> Value) -> ExitCode {
    let text = match format {
        FormatArg::Json => format!("{:#}\n", Value::Array(rows.iter().map(json).collect())),
        FormatArg::Text => rows.iter().map(text).collect(),
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn row(info: &FaultInfo) -> Value {
    let requirements = |list: &[(&str, &str)]| -> Value {
        list.iter().map(|(id, revision)| json!({"id": id, "revision": revision})).collect()
    };
    let tier = match info.tier {
        Tier::T0 => "T0",
        Tier::T1 => "T1",
        Tier::T2 => "T2",
    };
    json!({
        "name": info.name,
        "what": info.what,
        "tier": tier,
        "transports": info.transports.iter().map(|transport| format!("{transport:?}").to_lowercase()).collect::<Vec<_>>(),
        "breaks": requirements(info.breaks),
        "collateral": requirements(info.collateral),
    })
}

fn bug_row(info: &BugInfo) -> Value {
    let lower = |word: &dyn std::fmt::Debug| format!("{word:?}").to_lowercase();
    json!({
        "name": info.name,
        "what": info.what,
        "eras": info.eras.iter().map(|era| lower(era)).collect::<Vec<_>>(),
        "transports": info.transports.iter().map(|transport| lower(transport)).collect::<Vec<_>>(),
        "messages": info.messages,
        "shows": format!("{:?}", info.shows),
        "after": info.after,
    })
}

/// Says something on stderr; if that is closed, nobody listens.
pub(crate) fn complain(why: &str) {
    let _ = writeln!(std::io::stderr(), "mcp-reference-server: {why}");
}

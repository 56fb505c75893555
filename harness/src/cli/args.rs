//! The command line as clap reads it: plain values, checked by `plan`.

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use mcp_conform_reports::render::{Format, ReportSpec};

use super::origins::Origins;

#[derive(Debug, Parser)]
#[command(
    name = "mcp-conform",
    version,
    about = "Judges any MCP server: which protocol revisions it supports, where it breaks them, and the proof",
    after_help = "Exit codes: 0 clean, 1 findings, 2 wrong usage, 3 the server could not be judged, 4 nothing was judged \
                  or too much not verified, 5 a bug of mcp-conform, 130 interrupted.",
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge a server
    Run(Box<RunArgs>),
    /// Look for what no case foresees: hours of generated traffic, each finding made small and kept
    Fuzz(Box<FuzzArgs>),
    /// Keep what a server answers, and tell what changed since
    Snapshot {
        #[command(subcommand)]
        command: SnapshotCommand,
    },
    /// Turn result files into any format; several of them into a matrix
    Report(Box<ReportArgs>),
    /// Play one finding of a result file again, and show what goes over the wire
    Replay(Box<ReplayArgs>),
    /// Write mcp-conform.toml, and a workflow for GitHub
    Init(InitArgs),
    /// List the cases and rules
    List(ListArgs),
    /// Tell what a case, a rule, a requirement, a contested item or a fault is about, and what proves it
    Explain(ExplainArgs),
    /// Check case scripts, or print the schema of their language
    Cases {
        #[command(subcommand)]
        command: CasesCommand,
    },
    /// Judge trace files by the rules, without a server
    Judge {
        /// Files that `run --trace DIR` wrote, or the folder
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        format: TextFormat,
    },
    /// Tell which requirements are judged, by what, and which fault proves it
    Coverage {
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        format: TextFormat,
        #[command(flatten)]
        cases: CasesArgs,
    },
    /// Hold JSON files against a type of a revision
    Validate(ValidateArgs),
    /// Look whether this machine and the configuration have what a run needs
    Doctor(DoctorArgs),
    /// Print the completions for a shell
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of the whole or of one command
    Man {
        /// A command, such as run
        command: Option<String>,
    },
    /// Be the reference server (what `run --demo` starts)
    #[command(hide = true)]
    ReferenceServer {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct FuzzArgs {
    #[command(subcommand)]
    pub(crate) command: Option<FuzzCommand>,
    /// How long, such as 90s, 10m or 8h; without it until it is interrupted
    #[arg(long = "for", value_name = "TIME", value_parser = super::fuzz::duration, help_heading = "Fuzzing")]
    pub(crate) time: Option<std::time::Duration>,
    /// End when so many findings were made
    #[arg(long, value_name = "N", help_heading = "Fuzzing")]
    pub(crate) max_findings: Option<usize>,
    /// End after so many inputs
    #[arg(long, value_name = "N", help_heading = "Fuzzing")]
    pub(crate) max_inputs: Option<u64>,
    /// Folder for findings and corpus
    #[arg(long, value_name = "DIR", default_value = "mcp-conform-fuzz", help_heading = "Fuzzing")]
    pub(crate) out: PathBuf,
    /// Inputs to begin from: a folder, such as the corpus of another campaign
    #[arg(long, value_name = "DIR", help_heading = "Fuzzing")]
    pub(crate) corpus: Vec<PathBuf>,
    /// Go on with the campaign in --out
    #[arg(long, help_heading = "Fuzzing")]
    pub(crate) resume: bool,
    /// Megabytes that the server's processes may hold
    #[arg(long, value_name = "MB", default_value_t = 2048, help_heading = "Fuzzing")]
    pub(crate) rss_limit: u64,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FuzzCommand {
    /// Play the findings of a campaign once more; the exit code tells whether one is still there
    Replay {
        /// The folder of the campaign
        dir: PathBuf,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
}

#[derive(Debug, Subcommand)]
#[command(
    after_help = "Exit codes: 0 nothing differs, 1 something does, 2 wrong usage or a record that cannot be used, 3 the server \
                  could not be asked, 130 interrupted."
)]
pub(crate) enum SnapshotCommand {
    /// Ask twice, and keep the answers: one file a revision and transport
    Record {
        #[command(flatten)]
        place: SnapshotPlace,
        /// Write over a record that is there
        #[arg(long)]
        force: bool,
        /// Mask what varied between the two times without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Tell what is answered otherwise than it was recorded; the exit code is 1 then
    Check {
        #[command(flatten)]
        place: SnapshotPlace,
        /// Only answers with such names, as in `tools/call *` or `2025-11-25-stdio/*`
        #[arg(long, value_name = "GLOB")]
        only: Vec<String>,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        format: TextFormat,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Go through the differences one by one, and take what is meant to be
    Review {
        #[command(flatten)]
        place: SnapshotPlace,
        /// Only answers with such names
        #[arg(long, value_name = "GLOB")]
        only: Vec<String>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Take all differences into the record
    Accept {
        #[command(flatten)]
        place: SnapshotPlace,
        /// Only answers with such names
        #[arg(long, value_name = "GLOB")]
        only: Vec<String>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Compare the answers of two revisions, or of two transports: those of the record, or of the server where one is named
    Diff {
        #[command(flatten)]
        place: SnapshotPlace,
        /// The two sides
        #[arg(long, value_name = "2025-11-25..2026-07-28|stdio..http")]
        between: crate::snapshot::Sides,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        format: TextFormat,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotPlace {
    /// The folder of the record
    #[arg(long, value_name = "DIR", default_value = "snapshots")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CasesCommand {
    /// Check scripts and show what is wrong in them
    Check {
        /// A folder or a file; the embedded suite when left out
        path: Option<PathBuf>,
    },
    /// Print the JSON Schema of the case language, for editors
    Schema,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    Json,
    Text,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CasesArgs {
    /// Cases of your own beside the suite: a folder or a file
    #[arg(long = "cases", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List the requirement sets that `run --requirements` takes, instead
    #[arg(long)]
    pub(crate) requirements: bool,
    #[command(flatten)]
    pub(crate) cases: CasesArgs,
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The server is started as the result file says: look at a file of somebody else's before you replay it.\n\n\
                  Exit codes: 0 it shows no more, 1 it still shows, 2 wrong usage, 3 the server could not be judged, \
                  4 it could not be provoked."
)]
pub(crate) struct ReplayArgs {
    /// What `run --report json:FILE` wrote
    pub(crate) file: PathBuf,
    /// The finding, by the eight digits that the reports show; all of them are listed when it is left out
    pub(crate) finding: Option<String>,
    /// Print the shell line that shows it without mcp-conform, and run nothing
    #[arg(long)]
    pub(crate) by_hand: bool,
    /// Command of another server over stdio
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Option<String>,
    /// URL of another server over HTTP
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Command that starts the HTTP server of --url
    #[arg(long, value_name = "COMMAND", requires = "url")]
    pub(crate) serve: Option<String>,
    /// Environment variable of the server's process, added to those of the run
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// HTTP header of every request, added to those of the run; VALUE may be @FILE or env:VARIABLE
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// Seconds from a request to its answer
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<f64>,
    /// Seconds from the start of a server to its first answer
    #[arg(long, value_name = "SECONDS")]
    pub(crate) start_timeout: Option<f64>,
    /// Factor on every wait for a start, an end or what may come late
    #[arg(long, value_name = "FACTOR")]
    pub(crate) patience: Option<f64>,
    /// Keep the trace of every conversation in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) trace: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing stands in the way, 1 something does, 2 wrong usage.")]
pub(crate) struct DoctorArgs {
    /// Configuration; by default mcp-conform.toml of the working folder, if there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Id of a case, a rule, a requirement (also REVISION/ID), a contested item (C18) or a fault of the reference server
    pub(crate) id: String,
    /// Print the script of a case
    #[arg(long)]
    pub(crate) yaml: bool,
    #[command(flatten)]
    pub(crate) cases: CasesArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Command of the server
    #[arg(long, value_name = "COMMAND", conflicts_with = "url")]
    pub(crate) server: Option<String>,
    /// URL of the server
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Tools that may be called: `all`, `none`, `read-only`, or globs
    #[arg(long, value_name = "all|none|read-only|GLOB,…")]
    pub(crate) tools: Option<String>,
    /// Write a GitHub workflow, too
    #[arg(long)]
    pub(crate) workflow: bool,
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// The revision whose types are meant
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: String,
    /// The type, by its name in the protocol
    #[arg(long = "as", value_name = "TYPE", default_value = "JSONRPCMessage")]
    pub(crate) as_type: String,
    /// Read one {"as": TYPE, "value": VALUE} a line (`-`: standard input), and answer one line each
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) lines: Option<PathBuf>,
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ReportCommand>,
    /// What `run --report json:FILE` or `report merge` wrote
    pub(crate) files: Vec<PathBuf>,
    /// The format [default: terminal]; of several servers html, json or markdown [default: markdown]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Where it goes, instead of standard output
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// What the server supports of each revision and what is missing, without the single results
    #[arg(long)]
    pub(crate) support: bool,
    /// Only what was found in this revision
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Vec<String>,
    /// Only the verdicts and what fails
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// What passes and what does not apply, too
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReportCommand {
    /// Join results: those of one server become one result, several servers one file
    Merge {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Where it goes, instead of standard output
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Join what is there, even if parts of a shared run are missing or stand twice
        #[arg(long)]
        partial: bool,
        /// End with the exit code that the whole earns; without it with 0
        #[arg(long, value_enum)]
        fail_on: Option<FailOn>,
    },
    /// Print the JSON Schema of a result file
    Schema,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct RunArgs {
    /// Command of a stdio server, split as a shell splits
    #[arg(long, value_name = "COMMAND", conflicts_with = "command")]
    pub(crate) server: Option<String>,
    /// URL of an HTTP server
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Command that starts the HTTP server of --url; ended with the run
    #[arg(long, value_name = "COMMAND", requires = "url")]
    pub(crate) serve: Option<String>,
    /// Judge the embedded reference server, over both transports
    #[arg(long, conflicts_with_all = ["server", "url", "serve", "command"])]
    pub(crate) demo: bool,
    /// Break the reference server of --demo in one way
    #[arg(long, value_name = "NAME", requires = "demo")]
    pub(crate) fault: Option<String>,
    /// A server of the configuration, or of --from
    #[arg(long, value_name = "NAME", conflicts_with_all = ["server", "url", "serve", "command", "demo"])]
    pub(crate) name: Option<String>,
    /// A client's JSON file with `mcpServers`, to take the server of --name from
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "url", "serve", "command", "demo"])]
    pub(crate) from: Option<PathBuf>,
    /// Judge every server of a file: a configuration, or a client's `mcpServers`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "url", "serve", "command", "demo", "name", "from"])]
    pub(crate) fleet: Option<PathBuf>,
    /// Servers of --fleet that are judged side by side [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub(crate) fleet_jobs: Option<usize>,
    /// Folder for the results of --fleet: NAME.json each, matrix.html and matrix.md [default: mcp-conform-results]
    #[arg(long, value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// Only the K-th of N parts: of the servers of --fleet, else of the cases; report merge puts the results together
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<String>,
    /// This run is one of a fleet, which tells what holds for all of them
    #[arg(long, hide = true)]
    pub(crate) in_fleet: bool,
    /// Configuration; by default mcp-conform.toml of the working folder, if there is one
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Do without mcp-conform.toml
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Settings of the configuration that win over its [run]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// What was typed, where a configuration added to it, and the flags that stand for what it added
    #[arg(skip)]
    pub(crate) typed: Option<(String, Box<RunArgs>)>,
    /// Where the settings of a configuration stand
    #[arg(skip)]
    pub(crate) origins: Origins,
    /// What a configuration calls the server.
    #[arg(skip)]
    pub(crate) label: Option<String>,
    /// The same as --server, already split
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Environment variable of the server's process
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Working folder of the server's process
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// HTTP header of every request; VALUE may be @FILE or env:VARIABLE
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// PEM file of a certificate authority to trust beside the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Accept any certificate of the server
    #[arg(long)]
    pub(crate) insecure: bool,

    /// Judge only this revision (2025-11-25 or 2026-07-28); not supported is a finding then
    #[arg(long, value_name = "REVISION", help_heading = "What is judged")]
    pub(crate) revision: Vec<String>,
    /// Only cases and rules whose id matches
    #[arg(long, value_name = "GLOB", help_heading = "What is judged")]
    pub(crate) case: Vec<String>,
    /// Only requirements of this area of the catalogue
    #[arg(long, value_name = "AREA", help_heading = "What is judged")]
    pub(crate) area: Vec<String>,
    #[command(flatten)]
    pub(crate) cases: CasesArgs,
    /// Tools that may be called: `all`, `none`, or globs; by default `read-only`, those with readOnlyHint: true
    #[arg(long, value_name = "all|none|read-only|GLOB", value_delimiter = ',', help_heading = "What is judged")]
    pub(crate) tools: Vec<String>,
    /// Arguments for a tool, JSON or @FILE
    #[arg(long, value_name = "TOOL=JSON", help_heading = "What is judged")]
    pub(crate) tool_args: Vec<String>,

    /// What to answer when the server asks for METHOD (`elicitation/create`, `roots/list`, `sampling/createMessage`): the
    /// result, JSON or @FILE
    #[arg(long, value_name = "METHOD=JSON", help_heading = "What is judged")]
    pub(crate) answer: Vec<String>,

    /// Cases that run side by side
    #[arg(long, value_name = "N", help_heading = "How long")]
    pub(crate) jobs: Option<usize>,
    /// Seconds from a request to its answer [default: 10]
    #[arg(long, value_name = "SECONDS", help_heading = "How long")]
    pub(crate) timeout: Option<f64>,
    /// Seconds from the start of a server to its first answer [default: 60, and at least --timeout]
    #[arg(long, value_name = "SECONDS", help_heading = "How long")]
    pub(crate) start_timeout: Option<f64>,
    /// Seconds that the whole run may take; what was found until then is reported
    #[arg(long, value_name = "SECONDS", help_heading = "How long")]
    pub(crate) max_time: Option<f64>,
    /// Factor on every wait for a start, an end or what may come late [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = "How long")]
    pub(crate) patience: Option<f64>,
    /// Stop at the first failure
    #[arg(long, help_heading = "How long")]
    pub(crate) fail_fast: bool,
    /// Seed of generated values [default: 0]
    #[arg(long, value_name = "N", help_heading = "What is judged")]
    pub(crate) seed: Option<u64>,

    /// What counts as findings for the exit code [default: fail]
    #[arg(long, value_enum, help_heading = "Outcome")]
    pub(crate) fail_on: Option<FailOn>,
    /// File of known failures: what is not listed fails, and so does a line that is needed no more
    #[arg(long, value_name = "FILE", help_heading = "Outcome")]
    pub(crate) baseline: Option<PathBuf>,
    /// What counts is what this set has, and as it is graded there; what came later informs. One a revision
    #[arg(long, value_name = "REVISION@RELEASE", help_heading = "Outcome")]
    pub(crate) requirements: Vec<String>,
    /// Write the file of --baseline anew from what is found; reasons and comments of lines that hold stay
    #[arg(long, help_heading = "Outcome")]
    pub(crate) baseline_update: bool,
    /// More not-verified verdicts than this end with exit code 4
    #[arg(long, value_name = "N", help_heading = "Outcome")]
    pub(crate) max_unverified: Option<u64>,
    /// A report, to standard output or a file: terminal, json, html, markdown, junit, sarif, tap, badge or github
    #[arg(long, value_name = "FORMAT[:PATH]", help_heading = "Outcome")]
    pub(crate) report: Vec<ReportSpec>,
    /// Keep the trace of every conversation in this folder
    #[arg(long, value_name = "DIR", help_heading = "Outcome")]
    pub(crate) trace: Option<PathBuf>,
    /// Judge again when a file of the server changes, and tell what that changed; Ctrl-C ends
    #[arg(long, conflicts_with_all = ["fleet", "shard", "baseline_update"], help_heading = "Outcome")]
    pub(crate) watch: bool,
    /// A file or folder to watch beside the files of the command
    #[arg(long, value_name = "PATH", requires = "watch", help_heading = "Outcome")]
    pub(crate) watch_path: Vec<PathBuf>,
    /// Only the verdicts and what fails
    #[arg(long, short, help_heading = "Outcome")]
    pub(crate) quiet: bool,
    /// What passes and what does not apply, too
    #[arg(long, short, action = ArgAction::SetTrue, conflicts_with = "quiet", help_heading = "Outcome")]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FailOn {
    Fail,
    Warn,
    Never,
}

impl FailOn {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Never => "never",
        }
    }
}

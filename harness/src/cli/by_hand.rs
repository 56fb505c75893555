//! Where the server is, as a shell finds it: for lines that provoke a finding again without us.

use std::ffi::OsStr;

use super::args::RunArgs;
use crate::{
    conversation::StdioTarget,
    process::CommandSpec,
    repro::{Place, Variables, WebPlace, word},
    run::HttpTarget,
    trace::Secrets,
};

pub(super) fn place(
    args: &RunArgs,
    stdio: &Option<StdioTarget>,
    http: &Option<HttpTarget>,
    secrets: &Secrets,
) -> Place {
    let stdio = match stdio {
        Some(StdioTarget::Process(spec)) => command(args, spec, secrets),
        Some(StdioTarget::Memory(_)) | None => None,
    };
    let http = http.as_ref().and_then(|target| {
        let serve = match &target.serve {
            Some(spec) => Some(command(args, spec, secrets)?),
            None => None,
        };
        let mut options = String::new();
        if args.insecure {
            options.push_str(" -k");
        }
        if let Some(file) = &args.ca_file {
            options.push_str(&format!(" --cacert {}", plain(file.as_os_str(), secrets)?));
        }
        let url = &target.endpoint.url;
        WebPlace::new(url, &secrets.redact_text(url.as_str()), options, serve)
    });
    Place { stdio, http }
}

/// The command with its variables and its folder. What came from a file and may be secret there is a variable here.
fn command(args: &RunArgs, spec: &CommandSpec, secrets: &Secrets) -> Option<String> {
    let mut words = Vec::new();
    let typed = |name: &str| {
        let given = args.typed.as_ref().map_or(args, |(_, typed)| typed);
        let line = given.server.iter().chain(&given.serve).any(|line| line.contains(&format!("{name}=")));
        line || given.env.iter().any(|pair| pair.split('=').next() == Some(name))
    };
    for (name, value) in &spec.env {
        let name = name.to_str()?;
        let value = match typed(name) {
            true => plain(value, secrets)?,
            false => format!("\"${name}\""),
        };
        words.push(format!("{name}={value}"));
    }
    // Its own binary is on nobody else's path by this name, and a path of this machine is not for a report.
    let own = args.demo.then(|| "mcp-conform".to_owned());
    words.push(match own {
        Some(own) => own,
        None => plain(&spec.program, secrets)?,
    });
    for argument in &spec.args {
        words.push(plain(argument, secrets)?);
    }
    let line = words.join(" ");
    Some(match &spec.cwd {
        Some(folder) => format!("(cd {} && exec {line})", plain(folder.as_os_str(), secrets)?),
        None => line,
    })
}

fn plain(text: &OsStr, secrets: &Secrets) -> Option<String> {
    word(secrets.redact_text(text.to_str()?).as_bytes(), &Variables::default())
}

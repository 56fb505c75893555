//! Prints the figures that the design sets goals for: start of `list`, our CPU time per exchange, and what a run costs.
//!
//! `cargo run --release -p mcp-conform --example figures` after `cargo build --release`. Nothing here is a test: times
//! depend on the machine, and are for reading.

#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The echo servers of the exchange figures are this very program.
    if std::env::args().nth(1).as_deref() == Some("echo") {
        return unix::echo();
    }
    unix::figures()
}

#[cfg(not(unix))]
fn main() {
    println!("the figures are taken on Unix only");
}

#[cfg(unix)]
mod unix {
    use std::{
        error::Error,
        io::{self, BufRead, BufReader, Read, Write},
        path::{Path, PathBuf},
        process::{Command, Stdio},
        sync::Arc,
        time::{Duration, Instant},
    };

    use mcp_conform::{
        conversation::{Bench, Call, Deadlines, Opening, StdioTarget, Target, connect},
        process::CommandSpec,
        trace::Secrets,
        wire::Limits,
    };
    use mcp_conform_schemas::Era;
    use nix::sys::{
        resource::{Usage, UsageWho, getrusage},
        time::TimeValLike,
    };
    use serde_json::{Value, json};

    type Outcome<T> = Result<T, Box<dyn Error>>;

    const EXCHANGES: u32 = 3000;
    const PADDING: usize = 1900;

    pub(super) fn figures() -> Outcome<()> {
        let binary = binary()?;
        list(&binary)?;
        exchanges()?;
        reference(&binary)?;
        run(&binary)
    }

    /// The binary that was built with this example, two folders up.
    fn binary() -> Outcome<PathBuf> {
        let own = std::env::current_exe()?;
        let folder = own.parent().and_then(Path::parent).ok_or("the example lies in no target folder")?;
        let binary = folder.join("mcp-conform");
        if !binary.exists() {
            return Err(format!("{} is not there: build it first, in the same profile", binary.display()).into());
        }
        Ok(binary)
    }

    /// The least of several starts is what the program costs; the rest is what else the machine did.
    fn list(binary: &Path) -> Outcome<()> {
        const STARTS: usize = 30;
        let mut least = Duration::MAX;
        for _ in 0..STARTS {
            let started = Instant::now();
            let status = Command::new(binary).arg("list").stdout(Stdio::null()).status()?;
            least = least.min(started.elapsed());
            if !status.success() {
                return Err(format!("list ended with {status}").into());
            }
        }
        // Of all children so far, and they were all the same.
        let resident = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
        println!("list: {:.1} ms, {:.1} MB resident (goal: 30 ms, 30 MB)", millis(least), megabytes(resident));
        Ok(())
    }

    /// Our side of a conversation with a server that does nothing, beside a loop that does nothing either.
    fn exchanges() -> Outcome<()> {
        let own = std::env::current_exe()?;
        let before = cpu()?;
        bare(&own)?;
        let bare = (cpu()? - before) / EXCHANGES;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let before = cpu()?;
        runtime.block_on(driven(own))?;
        let driven = (cpu()? - before) / EXCHANGES;
        println!(
            "exchange of 2 KB over stdio, {EXCHANGES} of them: {:.1} µs of our CPU time, a bare loop {:.1} µs",
            micros(driven),
            micros(bare)
        );
        Ok(())
    }

    /// How fast the reference server is when nobody holds it up: pings that do not wait for each other.
    fn reference(binary: &Path) -> Outcome<()> {
        const PINGS: usize = 200_000;
        let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let mut child =
            Command::new(binary).arg("reference-server").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().ok_or("no stdin")?;
        let mut stdout = child.stdout.take().ok_or("no stdout")?;
        let lines: String =
            (0..PINGS).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")).collect();
        let started = Instant::now();
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).map(|()| stdin));
        let (mut answered, mut bytes) = (0, vec![0; 64 * 1024]);
        while answered < PINGS {
            let read = stdout.read(&mut bytes)?;
            if read == 0 {
                return Err(format!("the server ended after {answered} pings").into());
            }
            answered += bytes.iter().take(read).filter(|byte| **byte == b'\n').count();
        }
        let took = started.elapsed();
        let stdin = writer.join().map_err(|_| "the writer panicked")??;
        drop(stdin);
        child.wait()?;
        let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let each = (used(&after)? - used(&before)?) / u32::try_from(PINGS)?;
        #[expect(clippy::cast_precision_loss, reason = "for reading")]
        let each_second = PINGS as f64 / took.as_secs_f64();
        println!(
            "reference server: {each_second:.0} pings a second over stdio, {:.1} µs of its CPU time each (goal: 40000)",
            micros(each)
        );
        Ok(())
    }

    /// Write a line, read a line, parse it: what cannot be saved.
    fn bare(own: &Path) -> Outcome<()> {
        let mut child = Command::new(own).arg("echo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().ok_or("no stdin")?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut line = String::new();
        for id in 0..EXCHANGES {
            let mut request = serde_json::to_vec(&request(u64::from(id)))?;
            request.push(b'\n');
            stdin.write_all(&request)?;
            line.clear();
            stdout.read_line(&mut line)?;
            let answer: Value = serde_json::from_str(&line)?;
            if answer.get("id") != Some(&id.into()) {
                return Err("the answer has another id".into());
            }
        }
        drop(stdin);
        child.wait()?;
        Ok(())
    }

    async fn driven(own: PathBuf) -> Outcome<()> {
        let bench = Arc::new(Bench::new(Deadlines::default(), Limits::default(), Arc::new(Secrets::default())));
        let target = Target::Stdio(StdioTarget::Process(CommandSpec::new(own, ["echo"])));
        let talk = connect(&target, &bench, Opening::new(Era::Legacy)).await.map_err(|error| error.to_string())?;
        for _ in 0..EXCHANGES {
            let params = json!({ "padding": "x".repeat(PADDING) });
            let call = Call { method: "ping".to_owned(), params: Some(params.into()), ..Call::default() };
            let (_, answer) = talk.request(call, None).await.map_err(|error| error.to_string())?;
            if answer.result().is_none() {
                return Err(format!("the echo answered with {}", answer.describe()).into());
            }
        }
        talk.end().await;
        Ok(())
    }

    fn request(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"padding": "x".repeat(PADDING)}})
    }

    /// Answers each line with its own id and as many bytes.
    pub(super) fn echo() -> Outcome<()> {
        let mut out = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            let request: Value = serde_json::from_str(&line?)?;
            if let Some(id) = request.get("id") {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"padding": "x".repeat(PADDING)}});
                writeln!(out, "{answer}")?;
            }
        }
        Ok(())
    }

    /// What the whole suite costs on the reference server over both transports.
    fn run(binary: &Path) -> Outcome<()> {
        let output = Command::new(binary).args(["run", "--demo", "--report", "json"]).output()?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
        let verdicts = report.get("results").and_then(Value::as_array).map_or(0, Vec::len);
        let took = number("/cost/took_s");
        println!(
            "run --demo: {} process starts, {} requests, {:.1} s waited on purpose, {took:.2} s in all",
            number("/cost/process_starts"),
            number("/cost/requests"),
            number("/cost/waited_s"),
        );
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^52 verdicts")]
        let each_second = verdicts as f64 / took;
        println!("verdicts: {verdicts}, {each_second:.0} a second");
        Ok(())
    }

    /// Of this process, in user and system mode.
    fn cpu() -> Outcome<Duration> {
        used(&getrusage(UsageWho::RUSAGE_SELF)?)
    }

    fn used(usage: &Usage) -> Outcome<Duration> {
        let (user, system) = (usage.user_time(), usage.system_time());
        // Not `tv_usec`, whose type is another one on macOS.
        let micros = user.num_microseconds() + system.num_microseconds();
        Ok(Duration::from_micros(u64::try_from(micros)?))
    }

    fn millis(time: Duration) -> f64 {
        time.as_secs_f64() * 1e3
    }

    fn micros(time: Duration) -> f64 {
        time.as_secs_f64() * 1e6
    }

    /// Linux counts in KiB, macOS in bytes.
    fn megabytes(resident: i64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for reading")]
        let resident = resident as f64;
        if cfg!(target_os = "macos") { resident / 1e6 } else { resident * 1024.0 / 1e6 }
    }
}

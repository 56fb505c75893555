//! Reports as a run would leave them, for every renderer's tests.

use mcp_conform_reports::model::*;

pub(crate) fn clean() -> Report {
    let mut report = empty();
    report.requirements = vec![
        info("base-jsonrpc-member-2-0", "2025-11-25", "MUST", "base", JSONRPC, "2025-11-25/basic/index#messages"),
        info("base-jsonrpc-member-2-0", "2026-07-28", "MUST", "base", JSONRPC, "2026-07-28/basic/index#messages"),
        info("tools-name-unique", "2026-07-28", "SHOULD", "tools", UNIQUE, "2026-07-28/server/tools#tool-names"),
    ];
    report.results = vec![
        CheckResult { occasions: 42, ..result("envelope", "base-jsonrpc-member-2-0", "2025-11-25", Verdict::Pass) },
        CheckResult { occasions: 61, ..result("envelope", "base-jsonrpc-member-2-0", "2026-07-28", Verdict::Pass) },
        result("tool-names", "tools-name-unique", "2026-07-28", Verdict::Pass),
    ];
    finish(report)
}

/// A run in which everything was seen that a report can hold.
pub(crate) fn everything() -> Report {
    let mut report = empty();
    report.target.transports = vec!["stdio".into(), "http".into()];
    report.revisions[0].supported = false;
    report.revisions[0].how = "initialize was answered with -32601 over both transports".into();
    report.revisions[0].transports.clear();
    report.revisions[1].transports = vec!["stdio".into(), "http".into()];
    report.requirements = vec![
        info("base-jsonrpc-member-2-0", "2025-11-25", "MUST", "base", JSONRPC, "2025-11-25/basic/index#messages"),
        info("base-jsonrpc-member-2-0", "2026-07-28", "MUST", "base", JSONRPC, "2026-07-28/basic/index#messages"),
        info(
            "header-method-mismatch",
            "2026-07-28",
            "MUST",
            "http",
            "A request whose Mcp-Method header names another method than its body is refused with 400 and -32020.",
            "2026-07-28/basic/transports#standard-headers",
        ),
        info(
            "tools-call-schema-checked",
            "2026-07-28",
            "MUST",
            "tools",
            "Arguments that the tool's input schema rules out are never executed.",
            "2026-07-28/server/tools#security",
        ),
        info(
            "stdio-exit-on-eof",
            "2026-07-28",
            "SHOULD",
            "stdio",
            "The server exits soon after its standard input was closed.",
            "2026-07-28/basic/transports#shutdown",
        ),
        info(
            "base-id-exact",
            "2026-07-28",
            "MUST",
            "base",
            "An answer carries the id of its request, equal in value and type.",
            "2026-07-28/basic/index#responses",
        ),
        info("logging-deprecated", "2026-07-28", "MAY", "logging", "Logging is deprecated.", ""),
    ];
    let sent = excerpt(
        &["POST /mcp", "content-type: application/json", "mcp-method: tools/list", "mcp-protocol-version: 2026-07-28"],
        r#"{"jsonrpc":"2.0","id":"mc-17","method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        None,
    );
    let received = r#"{"jsonrpc":"2.0","id":"mc-17","result":{"resultType":"complete","content":[{"type":"text","text":"hello"}]}}"#;
    report.results.push(CheckResult {
        transport: "http".into(),
        message: "the request was served although the header names tools/list and the body tools/call".into(),
        evidence: Evidence {
            sent: Some(sent.clone()),
            received: Some(excerpt(&["HTTP/1.1 200 OK", "content-type: application/json"], received, Some((9 + 7, 4)))),
            control: Some(excerpt(
                &["POST /mcp", "mcp-method: tools/call"],
                r#"{"jsonrpc":"2.0","id":"mc-16", …}"#,
                None,
            )),
            repro: Some(
                "mcp-conform run --url http://127.0.0.1:3001/mcp --case header-method-mismatch --seed 7".into(),
            ),
            by_hand: Some("curl -isSN http://127.0.0.1:3001/mcp -H 'mcp-method: tools/list' --data-raw '{…}'".into()),
            trace: Some(TraceRef { file: "0003-http-modern.trace".into(), event: 41 }),
        },
        fix: Some("compare the header with the method of the body before the request is dispatched".into()),
        ..result("header-method-mismatch", "header-method-mismatch", "2026-07-28", Verdict::Fail)
    });
    for tool in ["add", "echo", "get-sum", "long-running-operation", "sample-llm", "structured", "toggle", "zip"] {
        for transport in ["stdio", "http"] {
            report.results.push(CheckResult {
                transport: transport.into(),
                subject: format!("tool {tool}"),
                part: None,
                message: format!("tool {tool} ran although `a` was a string where the schema wants a number"),
                evidence: Evidence {
                    sent: Some(excerpt(
                        &[],
                        &format!(r#"{{"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":"1"}}}}}}"#),
                        None,
                    )),
                    received: Some(excerpt(
                        &[],
                        &format!("{}FAULT{}", "x".repeat(5_000), "y".repeat(5_000)),
                        Some((5_000, 5)),
                    )),
                    repro: Some(format!(
                        "mcp-conform run --server 'node dist/index.js' --case near-miss --tools {tool}"
                    )),
                    ..Evidence::default()
                },
                fix: Some("validate the arguments before the handler runs".into()),
                ..result("near-miss", "tools-call-schema-checked", "2026-07-28", Verdict::Fail)
            });
        }
    }
    for revision in ["2025-11-25", "2026-07-28"] {
        report.results.push(CheckResult {
            message: "`jsonrpc` is the number 2.0".into(),
            evidence: Evidence {
                received: Some(excerpt(&[], r#"{"jsonrpc":2.0,"id":1,"result":{}}"#, Some((11, 3)))),
                ..Evidence::default()
            },
            occasions: 12,
            fix: Some("write the string \"2.0\"".into()),
            ..result("envelope", "base-jsonrpc-member-2-0", revision, Verdict::Fail)
        });
    }
    report.results.push(CheckResult {
        message: "a frame of ours does not fit its schema at /params/_meta".into(),
        ..result("frames", "base-jsonrpc-member-2-0", "2026-07-28", Verdict::HarnessError)
    });
    report.results.push(CheckResult {
        message: "the process was still there 2 s after its standard input was closed".into(),
        mild: Some(
            "the specification says it without a keyword (mcp-conform explain 2026-07-28/stdio-exit-on-eof)".into(),
        ),
        fix: Some("end the process when reading standard input gives the end of the file".into()),
        ..result("eof", "stdio-exit-on-eof", "2026-07-28", Verdict::Warn)
    });
    report.results.push(CheckResult {
        message: "id 9007199254740993 came back as 9007199254740992; JavaScript cannot hold it, and the text does not say (C20)".into(),
        ..result("big-id", "base-id-exact", "2026-07-28", Verdict::Contested)
    });
    report.results.push(CheckResult {
        message: "the server still offers logging/setLevel".into(),
        fix: Some("write diagnostics to stderr".into()),
        ..result("deprecated", "logging-deprecated", "2026-07-28", Verdict::Advice)
    });
    for id in ["mrtr-retry-new-id", "mrtr-state-exact", "mrtr-state-tampered"] {
        report.results.push(CheckResult {
            message: "no tool that asks for input was found".into(),
            verify_with: Some("--tools all".into()),
            ..result("mrtr", id, "2026-07-28", Verdict::NotVerified)
        });
    }
    report.results.push(CheckResult {
        message: "the stream was never interrupted".into(),
        ..result("resume", "http-resumable", "2026-07-28", Verdict::NotVerified)
    });
    for id in ["session-id-visible-ascii", "session-delete-405"] {
        report.results.push(CheckResult {
            message: "the server serves no revision with sessions".into(),
            ..result("sessions", id, "2025-11-25", Verdict::NotApplicable)
        });
    }
    report.results.push(result("tool-names", "tools-name-unique", "2026-07-28", Verdict::Pass));
    report.omissions = vec![Omission {
        what: "5 of 8 tools were not called: they are not marked readOnlyHint".into(),
        flag: "--tools all, or --tools GLOB for some".into(),
    }];
    report.notes = vec!["capabilities seen: tools, prompts, resources, logging, completions".into()];
    report.contested = vec![ContestedInfo {
        item: "C20".into(),
        title: "Integers that a double cannot hold".into(),
        text: "JSON sets no limit, most parsers do. Open: the nearest double. Fails: a string.".into(),
    }];
    let time = |check: &str, revision: &str, seconds| CheckTime {
        check: check.into(),
        revision: revision.into(),
        transport: "stdio".into(),
        seconds,
    };
    report.times = vec![time("near-miss", "2026-07-28", 1.25), time("big-id", "2026-07-28", 0.0321)];
    finish(report)
}

/// A server that tries to act on the reader's terminal.
pub(crate) fn hostile() -> Report {
    let mut report = empty();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}txet\u{202c}\r\n\u{9b}31m FAIL none\u{200b}\u{0}";
    report.tool.version = format!("1{evil}");
    report.target.name = format!("node {evil}");
    report.target.server = Some(evil.repeat(50));
    report.revisions[0].how = evil.into();
    report.requirements = vec![RequirementInfo {
        text: evil.into(),
        link: format!("javascript:{evil}"),
        ..info("evil", "2025-11-25", "MUST", "base", "", "")
    }];
    report.results = vec![CheckResult {
        subject: format!("<script>|`{evil}`|{}", "日本語🎉".repeat(100)),
        part: None,
        message: format!("{evil} {}", "word ".repeat(5_000)),
        evidence: Evidence {
            sent: Some(excerpt(
                &[evil, "a: b"],
                "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301} 日本語 ↵ \u{feff}",
                Some((usize::MAX, usize::MAX)),
            )),
            received: Some(Excerpt {
                cut: 123_456,
                ..excerpt(&[], &"\u{1b}[31m日本\n".repeat(100_000), Some((350_000, 3)))
            }),
            control: Some(excerpt(&[], "", Some((3, 0)))),
            repro: Some(format!("printf '{evil}'")),
            by_hand: Some(format!("printf '{evil}' | server")),
            trace: Some(TraceRef { file: evil.into(), event: u64::MAX }),
        },
        fix: Some(evil.into()),
        ..result("evil", "evil", "2025-11-25", Verdict::Fail)
    }];
    report.results.push(CheckResult {
        message: evil.into(),
        verify_with: Some(evil.into()),
        ..result("evil", "evil", "2025-11-25", Verdict::NotVerified)
    });
    report.notes = vec![evil.into()];
    report.omissions = vec![Omission { what: evil.into(), flag: evil.into() }];
    finish(report)
}

/// Three hundred findings under three hundred requirements.
pub(crate) fn many() -> Report {
    let mut report = empty();
    for index in 0..300 {
        let id = format!("requirement-{index:03}");
        let verdict = if index % 3 == 0 { Verdict::Fail } else { Verdict::Warn };
        report.requirements.push(info(&id, "2026-07-28", "MUST", "area", "It holds.", "2026-07-28/basic/index#it"));
        report.results.push(CheckResult {
            message: format!("it did not hold the {index}th time, and the message goes on for longer than a line of the page has columns"),
            ..result("check", &id, "2026-07-28", verdict)
        });
    }
    finish(report)
}

/// What was found in a run that was held against a baseline and a requirement set.
pub(crate) fn excused() -> Report {
    let mut report = everything();
    report.requirement_sets = vec!["2026-07-28@1.0".into()];
    let excuse = |kind, reason: &str, counts_as| Some(Excuse { kind, reason: reason.into(), counts_as });
    for result in &mut report.results {
        result.excuse = match (result.requirement.as_str(), result.verdict) {
            ("tools-call-schema-checked", _) => excuse(ExcuseKind::Known, "waits for <the> SDK, issue #12", None),
            ("stdio-exit-on-eof", _) => excuse(ExcuseKind::New, "not in 2026-07-28@1.0", None),
            ("header-method-mismatch", _) => {
                excuse(ExcuseKind::Regraded, "warn in 2026-07-28@1.0", Some(Verdict::Warn))
            }
            _ => None,
        };
    }
    let entry = |line, check: &str, reason: &str, standing, why: &str| BaselineEntry {
        line,
        check: check.into(),
        reason: reason.into(),
        standing,
        why: why.into(),
        ..BaselineEntry::default()
    };
    report.baseline = Some(Baseline {
        file: "known.toml".into(),
        entries: vec![
            BaselineEntry {
                results: 16,
                ..entry(3, "tools-call-*", "waits for <the> SDK, issue #12", Standing::Used, "16 results broken still")
            },
            BaselineEntry {
                revision: Some("2026-07-28".into()),
                transport: Some("stdio".into()),
                ..entry(8, "tools-name-unique/tool-names", "TODO", Standing::Stale, "it passes now")
            },
            entry(12, "mrtr-*", "no time", Standing::Open, "no tool that asks for input was found"),
        ],
    });
    finish(report)
}

pub(crate) fn interrupted() -> Report {
    Report { interrupted: Some("Ctrl-C after 12 of 61 cases".into()), ..clean() }
}

/// A server that could not be judged, one for each way.
pub(crate) fn unavailable(status: TargetStatus) -> Report {
    let mut report = empty();
    report.revisions.clear();
    report.target.server = None;
    report.target.transports.clear();
    report.target.status = status;
    report.target.evidence = match status {
        TargetStatus::NotFound => vec![],
        TargetStatus::Exited => vec![
            "Error: Cannot find module 'zod'".into(),
            "    at Module._resolveFilename (node:internal/modules/cjs/loader:1212:15)".into(),
            "exit status 1 after 0.2 s".into(),
        ],
        TargetStatus::NotMcp => (0..40).map(|line| format!("<p>line {line}</p>")).collect(),
        _ => vec!["HTTP/1.1 401 Unauthorized".into(), "www-authenticate: Bearer realm=\"x\"".into()],
    };
    if status == TargetStatus::Redirects {
        report.target.message = Some("The URL answers 308 and names https://example.com/mcp/. Use that URL.".into());
    }
    report
}

pub(crate) const STATUSES: [TargetStatus; 9] = [
    TargetStatus::NotFound,
    TargetStatus::Exited,
    TargetStatus::NoAnswer,
    TargetStatus::NotMcp,
    TargetStatus::Unreachable,
    TargetStatus::NeedsAuth,
    TargetStatus::Redirects,
    TargetStatus::OldTransport,
    TargetStatus::NeedsConfiguration,
];

const JSONRPC: &str = "Every message is a JSON-RPC 2.0 message: its jsonrpc member is the string 2.0.";
const UNIQUE: &str = "No two tools of a server share a name.";

pub(crate) fn empty() -> Report {
    Report {
        version: VERSION,
        tool: Tool { name: "mcp-conform".into(), version: "0.1.0".into(), seed: 7 },
        target: Target {
            status: TargetStatus::Ok,
            name: "node dist/index.js stdio".into(),
            label: None,
            server: Some("example-server 1.2.3".into()),
            transports: vec!["stdio".into()],
            message: None,
            evidence: vec![],
        },
        revisions: vec![
            RevisionSupport {
                revision: "2025-11-25".into(),
                supported: true,
                how: "initialize was answered with this version".into(),
                transports: vec!["stdio".into()],
            },
            RevisionSupport {
                revision: "2026-07-28".into(),
                supported: true,
                how: "server/discover lists it and tools/list was served under it".into(),
                transports: vec!["stdio".into()],
            },
        ],
        results: vec![],
        summary: Summary::default(),
        cost: Cost { process_starts: 4, requests: 1_234, waited_s: 2.0, took_s: 3.4567 },
        requirements: vec![],
        contested: Vec::new(),
        times: Vec::new(),
        omissions: vec![],
        notes: vec![],
        features: vec![],
        started: Some("2026-07-28T12:00:00Z".into()),
        interrupted: None,
        baseline: None,
        shard: None,
        requirement_sets: vec![],
        policy: None,
        not_offered: vec![],
    }
}

fn finish(mut report: Report) -> Report {
    report.summary = Summary::of(&report.results);
    report
}

fn result(check: &str, requirement: &str, revision: &str, verdict: Verdict) -> CheckResult {
    CheckResult {
        check: check.into(),
        requirement: requirement.into(),
        revision: revision.into(),
        transport: "stdio".into(),
        verdict,
        level: "MUST".into(),
        subject: String::new(),
        part: None,
        message: "as it should be".into(),
        evidence: Evidence::default(),
        occasions: 1,
        mild: None,
        fix: None,
        verify_with: None,
        excuse: None,
    }
}

fn info(id: &str, revision: &str, level: &str, area: &str, text: &str, page: &str) -> RequirementInfo {
    RequirementInfo {
        id: id.into(),
        revision: revision.into(),
        level: level.into(),
        grade: "fail".into(),
        area: area.into(),
        text: text.into(),
        link: if page.is_empty() {
            String::new()
        } else {
            format!("https://modelcontextprotocol.io/specification/{page}")
        },
    }
}

fn excerpt(head: &[&str], text: &str, caret: Option<(usize, usize)>) -> Excerpt {
    Excerpt { head: head.iter().map(|line| (*line).to_owned()).collect(), text: text.to_owned(), caret, cut: 0 }
}

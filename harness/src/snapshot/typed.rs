//! The built-in redactions: what varies by its nature. Order matters, and new ones are added at the end.
//!
//! They are kept narrow on purpose, as what is masked can change unseen: a duration in whole seconds, a plain date or a hash
//! may be what a server means to say. What else varies is found by asking twice.

use std::path::{Path, PathBuf};

use regex::Regex;

use super::redact::{Look, Rule, Target};

/// Folders of this machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub home: Option<PathBuf>,
    pub working: Option<PathBuf>,
}

impl Places {
    pub(super) fn of_this_process() -> Self {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
        Self { home, working: std::env::current_dir().ok() }
    }
}

enum Kind {
    /// A part of a text, outside of definitions.
    Text,
    /// A member by its name, outside of definitions.
    Member(Look),
    /// A member by its name, in definitions, too.
    Everywhere(Look),
}

const DATE: &str = r"[0-9]{4}-[0-9]{2}-[0-9]{2}";
const CLOCK: &str = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:[ \u{202F}]?[AP]M)?";

pub(super) fn built_in(places: &Places) -> Vec<Rule> {
    let month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*";
    let zone = r"(?:[ ]?(?:Z\b|UTC\b|GMT|[+-][0-9]{2}:?[0-9]{2}\b))*(?: \([A-Z][A-Za-z ]+\))?";
    let texts = [
        ("time", format!(r"\b{DATE}[T ][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]+)?)?{zone}")),
        (
            "time",
            format!(
                r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:[0-9]{{1,2}} {month}|{month} [0-9]{{1,2}}),?(?: [0-9]{{4}})?,?(?: at)? {CLOCK}{zone}(?: [0-9]{{4}}\b{zone})?"
            ),
        ),
        ("time", format!(r"\b[0-9]{{1,2}}[/.][0-9]{{1,2}}[/.][0-9]{{4}},? {CLOCK}")),
        ("time", format!(r"\b{CLOCK}\b")),
        ("id", r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b".to_owned()),
        ("port", r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):([0-9]{2,5})\b".to_owned()),
        ("path", r#"(?:/private)?(?:/tmp|/var/tmp|/var/folders/[^/\s"']+/[^/\s"']+/T)/[^/\s"'`\\:;,<>()]+"#.to_owned()),
        ("path", r#"(?i)\b[A-Z]:\\Users\\[^\\\s"']+\\AppData\\Local\\Temp\\[^\\\s"']+"#.to_owned()),
        (
            "duration",
            r"\b(?:[0-9]+(?:\.[0-9]+)?[ ]?(?:ms|µs|us|ns|milliseconds)|[0-9]+\.[0-9]+[ ]?(?:s|sec|seconds))\b"
                .to_owned(),
        ),
        // What we say of ourselves, and a server may repeat.
        (
            "version",
            format!(
                r#"\bmcp-conform(?:/| |["'],? ?(?:["']?version["']?: ?)?["'])({})\b"#,
                regex::escape(env!("CARGO_PKG_VERSION"))
            ),
        ),
    ];
    let members = [
        (
            "time",
            Kind::Member(Look::Time),
            r"^(?:ts|now|time|date|timestamp|.*(?:[tT]imestamp|[a-z]At|_at|[a-z]Time|_time|[a-z]Date|_date|[mM]odified|[eE]xpires))$",
        ),
        ("time", Kind::Everywhere(Look::Any), r"^lastModified$"),
        (
            "duration",
            Kind::Member(Look::Number),
            r"(?i)^(?:.*[_a-z])?(?:duration|elapsed|took|latency|uptime)(?:_?(?:s|ms|us|ns|seconds|millis|milliseconds))?$",
        ),
        (
            "id",
            Kind::Member(Look::Any),
            r"^(?:pid|processId|process_id|sessionId|session_id|taskId|task_id|requestId|request_id|traceId|trace_id)$",
        ),
        ("port", Kind::Member(Look::Number), r"^port$"),
        ("cursor", Kind::Everywhere(Look::Any), r"^nextCursor$"),
        ("state", Kind::Everywhere(Look::Any), r"^requestState$"),
    ];
    let mut out = Vec::new();
    let mut add = |word: &str, kind: Kind, regex: &str| {
        // The expressions are fixed, or escaped; a test reads them all.
        let Ok(regex) = Regex::new(regex) else { return };
        let (definitions, what) = match kind {
            Kind::Text => (false, Target::Text(regex)),
            Kind::Member(value) => (false, Target::Member { names: regex, value }),
            Kind::Everywhere(value) => (true, Target::Member { names: regex, value }),
        };
        out.push(Rule { word: word.to_owned(), answers: None, definitions, what });
    };
    texts.iter().for_each(|(word, regex)| add(word, Kind::Text, regex));
    for (word, kind, regex) in members {
        add(word, kind, regex);
    }
    // The longer one first: a working folder mostly lies below the home.
    for (word, folder) in [("working folder", &places.working), ("home", &places.home)] {
        if let Some(path) = folder.as_deref().and_then(telling) {
            add(word, Kind::Text, &format!(r"({})(?:[/\\]|\b|$)", regex::escape(path)));
        }
    }
    // What a server says of its own version changes with every build and says nothing of its answers.
    for place in ["serverInfo", "_meta/io.modelcontextprotocol~1serverInfo"] {
        let what = Target::Place(super::doc::tokens(&format!("/result/{place}/version")));
        out.push(Rule { word: "version".to_owned(), answers: None, definitions: true, what });
    }
    // What we set in the environment of each process, which a server may show.
    if let Some(name) = crate::process::MARK {
        let shown = format!(r#"\b{name}["']?\s*[=:]\s*["']?([0-9]+-[0-9]+)\b"#);
        let shown = Regex::new(&shown).map(Target::Text);
        let member = Regex::new(&format!("^{name}$")).map(|names| Target::Member { names, value: Look::Any });
        let rule = |what| Rule { word: "process".to_owned(), answers: None, definitions: true, what };
        out.extend([shown, member].into_iter().flatten().map(rule));
    }
    out
}

/// A folder that is no part of ordinary texts.
fn telling(path: &Path) -> Option<&str> {
    const LEAST: usize = 5;
    path.to_str().filter(|text| text.len() >= LEAST && path.components().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        snapshot::{doc, redact::Rules, view::Kept},
        wire::Json,
    };

    fn rules() -> Rules {
        let places = Places { home: Some("/home/ada".into()), working: Some("/home/ada/project".into()) };
        Rules::only(built_in(&places))
    }

    fn answered(method: &str, answer: Json) -> String {
        let mut kept = Kept { name: method.to_owned(), method: method.to_owned(), params: None, answer };
        rules().answer(&mut kept);
        kept.answer.to_string()
    }

    fn in_text(text: &str) -> String {
        let whole = answered("tools/call", doc::object([("a".to_owned(), doc::text(text))]));
        Json::parse(whole.as_bytes()).unwrap().get("a").unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn every_expression_is_read() {
        assert_eq!(built_in(&Places::default()).len(), if cfg!(target_os = "linux") { 21 } else { 19 });
    }

    #[test]
    fn what_varies_by_its_nature_is_masked_in_texts() {
        for (text, is) in [
            ("at 2026-11-30T20:35:04.123Z.", "at ‹time›."),
            ("\"datetime\": \"2026-11-30T20:35:04+00:00\"", "\"datetime\": \"‹time›\""),
            ("2026-11-30 20:35", "‹time›"),
            ("Mon, 30 Nov 2026 20:35:04 GMT", "‹time›"),
            ("Mon Nov 30 2026 20:35:04 GMT+0000 (Coordinated Universal Time)", "‹time›"),
            ("Date: Mon Nov 30 20:35:04 2026 +0000", "Date: ‹time›"),
            ("created at 8:35:04 PM", "created at ‹time›"),
            ("11/30/2026, 8:35:04\u{202F}PM", "‹time›"),
            ("id 0191d7c0-1f5a-7c3e-9a41-7a1f6e0b2c3d!", "id ‹id›!"),
            ("http://127.0.0.1:43121/x", "http://127.0.0.1:‹port›/x"),
            ("/tmp/xyz123/file.txt", "‹path›/file.txt"),
            ("took 12.5 ms, or 0.0125s", "took ‹duration›, or ‹duration›"),
            ("/home/ada/project/a and /home/ada", "‹working folder›/a and ‹home›"),
            (concat!("you are mcp-conform/", env!("CARGO_PKG_VERSION")), "you are mcp-conform/‹version›"),
        ] {
            assert_eq!(in_text(text), is);
        }
    }

    #[test]
    fn what_a_server_may_mean_to_say_is_left() {
        for text in [
            "revision 2025-11-25",
            "waits 10 seconds",
            "ratio 16:9",
            "v1.2.3",
            "/usr/share/x",
            "port 8080",
            "sha256:9f86d081884c7d659a2feaa0c55ad015",
            "/home/adam/x",
            "9007199254740993",
            "10 s",
        ] {
            assert_eq!(in_text(text), text);
        }
    }

    #[test]
    fn members_are_masked_by_name_and_look() {
        let answer = r#"{"result":{"createdAt":1790000000,"updated_at":1790000000123,"date":"2026-11-30","format":1790000000,"pid":7,
            "time":"noon","count":1790000000,"elapsedMs":3,"port":8080,"nextCursor":"x","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}}"#;
        let json = Json::parse(answer.as_bytes()).unwrap();
        assert_eq!(
            answered("tools/call", json.clone()),
            r#"{"result":{"createdAt":"‹time›","updated_at":"‹time›","date":"‹time›","format":1790000000,"pid":"‹id›","time":"noon","count":1790000000,"elapsedMs":"‹duration›","port":"‹port›","nextCursor":"‹cursor›","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"‹version›"}}}}"#
        );
        let list = answered("tools/list", json);
        assert!(list.contains(r#""port":8080"#) && list.contains(r#""nextCursor":"‹cursor›""#), "{list}");
    }
}

//! The root of a script: what the case is for, what it needs, how its conversation is set up.

use mcp_conform_schemas::Revision;

use super::{
    fields::shown,
    judging::transpose,
    lower::Lower,
    node::{self, Kind, Node},
    scope::{Binding, Scope},
    shape::{CASE, ERAS, INPUTS, NEEDS, POLICIES, SETUP, TOOL_KIND, TRANSPORTS},
};
use crate::{
    ast::{AnswerPolicy, Case, InputKind, Need, ServedEras, Setup, Source, Spanned, ToolKind, Transport},
    diagnostic::Diagnostic,
};

/// Parses one script. All faults that can be found are reported, in the order of the text.
pub fn parse(source: Source) -> Result<Case, Vec<Diagnostic>> {
    let root = node::read(&source).map_err(|fault| vec![*fault])?;
    let mut lower = Lower {
        source: &source,
        faults: Vec::new(),
        revisions: Vec::new(),
        transports: Vec::new(),
        scope: Scope::new(),
    };
    let case = lower.case(&root);
    let mut faults = lower.faults;
    match case {
        Some(case) if faults.is_empty() => Ok(case),
        _ => {
            if faults.is_empty() {
                faults.push(Diagnostic::error(&source, root.span, "the script cannot be understood"));
            }
            faults.sort_by_key(|fault| fault.span.start);
            Err(faults)
        }
    }
}

impl Lower<'_> {
    fn case(&mut self, root: &Node) -> Option<Case> {
        if matches!(root.kind, Kind::Null) {
            self.report(root.span, "the script is empty").help("a case has at least id, title, revisions and steps");
            return None;
        }
        let fields = self.fields(root, &CASE)?;
        // What the case is for decides how everything below is read, wherever it stands in the file. When it is broken,
        // the rest is read as for both, so that one fault is not reported ten times.
        let revisions = fields.value("revisions").and_then(|node| self.case_revisions(node));
        self.revisions = revisions.clone().unwrap_or_else(|| Revision::JUDGED.to_vec());
        let transports = match fields.value("transports") {
            None => Some(vec![Transport::Http, Transport::Stdio]),
            Some(node) => self.case_transports(node),
        };
        self.transports = transports.clone().unwrap_or_default();
        let id = fields.value("id").and_then(|node| self.case_id(node));
        let title = fields.value("title").and_then(|node| self.sentence(node));
        let about = fields.value("about").map(|node| self.sentence(node));
        let needs = fields.value("needs").map(|node| self.needs(node)).unwrap_or_default();
        let conversation = match fields.value("conversation") {
            None => Some(Setup::default()),
            Some(node) => self.fields(node, &SETUP).and_then(|fields| self.setup(&fields)),
        };
        let steps = fields.value("steps").and_then(|node| {
            let steps = self.steps(node)?;
            if steps.is_empty() && matches!(&node.kind, Kind::List(items) if items.is_empty()) {
                self.report(node.span, "the case does nothing");
            }
            Some(steps)
        });
        Some(Case {
            id: id?,
            title: title?,
            about: transpose(about)?,
            revisions: revisions?,
            transports: transports?,
            needs,
            conversation: conversation?,
            steps: steps?,
            source: self.source.clone(),
        })
    }

    fn case_id(&mut self, node: &Node) -> Option<Spanned<String>> {
        let id = self.text(node)?;
        let words = |text: &str| {
            text.split('-')
                .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
        };
        if id.node.len() > 80 || !id.node.split('/').all(words) {
            self.report(node.span, format!("`{}` is no id of a case", shown(&id.node)))
                .help("an id is made of lower-case words and digits, joined by hyphens");
            return None;
        }
        Some(id)
    }

    fn case_revisions(&mut self, node: &Node) -> Option<Vec<Revision>> {
        let items = self.list(node, "a list of revisions")?;
        let mut revisions = Vec::new();
        let faults = self.faults.len();
        for item in items {
            let Some(text) = self.text(item) else { continue };
            let Some(revision) = self.revision(&text.node, text.span) else { continue };
            if revisions.contains(&revision) {
                self.report(item.span, format!("{revision} is listed twice"));
            } else {
                revisions.push(revision);
            }
        }
        if self.faults.len() > faults {
            return None;
        }
        if revisions.is_empty() {
            self.report(node.span, "the case is for no revision");
            return None;
        }
        revisions.sort_unstable();
        Some(revisions)
    }

    fn case_transports(&mut self, node: &Node) -> Option<Vec<Transport>> {
        let items = self.list(node, "a list of transports")?;
        let mut transports = Vec::new();
        for item in items {
            let transport = match self.word(item, TRANSPORTS, "transport")? {
                "http" => Transport::Http,
                _ => Transport::Stdio,
            };
            if !transports.contains(&transport) {
                transports.push(transport);
            }
        }
        if transports.is_empty() {
            self.report(node.span, "the case is for no transport").help("leave the line out for both");
            return None;
        }
        Some(transports)
    }

    fn needs(&mut self, node: &Node) -> Vec<Spanned<Need>> {
        let Some(fields) = self.fields(node, &NEEDS) else { return Vec::new() };
        let mut needs = Vec::new();
        for (name, need) in [("capability", Need::Capability as fn(String) -> Need), ("lacks", Need::Lacks)] {
            let Some(node) = fields.value(name) else { continue };
            for item in self.one_or_many(node) {
                if let Some(path) = self.text(item) {
                    needs.push(Spanned { node: need(path.node), span: item.span });
                }
            }
        }
        if let Some(node) = fields.value("era")
            && let Some(word) = self.word(node, ERAS, "kind of server")
        {
            let era = match word {
                "dual" => ServedEras::Dual,
                "legacy-only" => ServedEras::LegacyOnly,
                _ => ServedEras::ModernOnly,
            };
            needs.push(Spanned { node: Need::Era(era), span: node.span });
        }
        for (name, need) in [
            ("fixture", Need::Fixture),
            ("loopback", Need::Loopback),
            ("resumable", Need::Resumable),
            ("token", Need::Token),
        ] {
            if let Some(node) = fields.value(name) {
                match self.boolean(node) {
                    Some(true) => needs.push(Spanned { node: need, span: node.span }),
                    Some(false) => {
                        self.report(node.span, format!("`{name}` can only be true")).help("leave the line out");
                    }
                    None => {}
                }
            }
        }
        if let Some(node) = fields.value("session")
            && self.word(node, &["issued"], "state of a session").is_some()
        {
            needs.push(Spanned { node: Need::Session, span: node.span });
        }
        if let Some(node) = fields.value("tools") {
            for (key, value) in self.map(node, "a mapping from variables to kinds of tools").unwrap_or_default() {
                let name = Node { kind: Kind::String(key.name.clone()), span: key.span };
                let name = self.new_name(&name, Binding::Tool);
                let kind = self.tool_kind(value);
                if let (Some(name), Some(kind)) = (name, kind) {
                    needs.push(Spanned { node: Need::Tool { name: name.node, kind }, span: key.span });
                }
            }
        }
        needs
    }

    pub(crate) fn tool_kind(&mut self, node: &Node) -> Option<ToolKind> {
        let fields = self.fields(node, &TOOL_KIND)?;
        let mut kind = ToolKind::default();
        if let Some(node) = fields.value("asks") {
            kind.asks = Some(match self.word(node, INPUTS, "kind of input")? {
                "elicitation" => InputKind::Elicitation,
                "roots" => InputKind::Roots,
                _ => InputKind::Sampling,
            });
        }
        for (name, flag) in [
            ("changes_list", &mut kind.changes_list),
            ("nothing_required", &mut kind.nothing_required),
            ("output_schema", &mut kind.output_schema),
            ("progress", &mut kind.progress),
            ("required_argument", &mut kind.required_argument),
            ("state", &mut kind.state),
            ("task", &mut kind.task),
        ] {
            if let Some(node) = fields.value(name) {
                *flag = self.boolean(node)?;
            }
        }
        Some(kind)
    }

    /// The keys that a conversation and `open` share.
    pub(crate) fn setup(&mut self, fields: &super::fields::Fields<'_>) -> Option<Setup> {
        let fresh = fields.value("fresh").map(|node| self.boolean(node));
        let capabilities = fields.value("capabilities").map(|node| self.capabilities(node));
        let answers = fields.value("answers").map(|node| self.answers(node));
        let silent = fields.value("silent").map(|node| self.boolean(node));
        Some(Setup {
            silent: transpose(silent)?.unwrap_or_default(),
            fresh: transpose(fresh)?.unwrap_or_default(),
            capabilities: transpose(capabilities)?,
            answers: transpose(answers)?.unwrap_or_default(),
        })
    }

    pub(crate) fn capabilities(&mut self, node: &Node) -> Option<Spanned<crate::ast::Template>> {
        match &node.kind {
            Kind::Map(_) => self.template(node),
            Kind::String(text) if text.starts_with('$') => self.template(node),
            _ => {
                self.wrong_type(node, "a mapping of client capabilities");
                None
            }
        }
    }

    fn answers(&mut self, node: &Node) -> Option<Vec<(String, AnswerPolicy)>> {
        let entries = self.map(node, "a mapping from methods to policies")?;
        let lowered: Vec<_> =
            entries.iter().map(|(key, value)| self.policy(value).map(|policy| (key.name.clone(), policy))).collect();
        lowered.into_iter().collect()
    }

    fn policy(&mut self, node: &Node) -> Option<AnswerPolicy> {
        if let Kind::Map(entries) = &node.kind {
            return match entries.as_slice() {
                [(key, value)] if key.name == "delay" => self.duration(value).map(AnswerPolicy::Delay),
                [(key, value)] if key.name == "error" => self.integer(value).map(AnswerPolicy::Error),
                _ => {
                    self.report(node.span, "this is no answering policy")
                        .help("write {delay: 200ms}, {error: -32603}, or one of the words");
                    None
                }
            };
        }
        Some(match self.word(node, POLICIES, "answering policy")? {
            "cancel" => AnswerPolicy::Cancel,
            "decline" => AnswerPolicy::Decline,
            "hold" => AnswerPolicy::Hold,
            "malformed" => AnswerPolicy::Malformed,
            _ => AnswerPolicy::Answer,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        ast::{Change, Class, JsonType, Matcher, OutcomeVerdict, Span, StatusRange, Step, Template},
        load::suite,
    };

    fn case(steps: &str) -> Case {
        let text = format!("id: a\ntitle: T\nrevisions: [2026-07-28]\nsteps:\n{steps}");
        parse(Source { name: "test.yaml".into(), text: text.into() })
            .unwrap_or_else(|faults| panic!("{}", faults.iter().map(|fault| fault.render(false)).collect::<String>()))
    }

    fn step(steps: &str, at: usize) -> Step {
        case(steps).steps[at].node.clone()
    }

    fn cut(case: &Case, span: Span) -> &str {
        &case.source.text[span.start..span.end]
    }

    #[test]
    fn spans_lie_on_what_they_name() {
        for case in suite() {
            assert_eq!(cut(case, case.id.span), case.id.node);
            for step in &case.steps {
                let name = cut(case, step.span);
                assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}: {name}", case.id.node);
            }
        }
    }

    #[test]
    fn spans_count_bytes_behind_other_letters() {
        let case = case("  - request: {method: 'é', params: {x: 'ü'}, as: call}\n  - await: {of: call}\n");
        let Step::Await(step) = &case.steps[1].node else { panic!("an await") };
        let crate::ast::AwaitTarget::Answer { of } = &step.target else { panic!("an answer") };
        assert_eq!(cut(&case, of.span), "call");
    }

    #[test]
    fn a_probe_is_a_base_a_change_and_its_judgements() {
        let Step::Probe(probe) = step(
            "  - probe:\n      base: {method: tools/list}\n      change: {header: {Gone: null}}\n      within: 200ms\n      expect: {status: [400, '404-405'], error: {code: -32020}}\n      requirement: http-header-method-mismatch\n",
            0,
        ) else {
            panic!("a probe")
        };
        assert_eq!(probe.change.node, Change::Header { name: "Gone".to_owned(), value: None });
        assert_eq!(probe.within, Some(Duration::from_millis(200)));
        let [judgement] = probe.judgements.as_slice() else { panic!("one judgement") };
        let [outcome] = judgement.outcomes.as_slice() else { panic!("one outcome") };
        assert_eq!(outcome.verdict, OutcomeVerdict::Pass);
        assert_eq!(outcome.see.status, [StatusRange { from: 400, to: 400 }, StatusRange { from: 404, to: 405 }]);
        assert_eq!(outcome.see.error.as_ref().map(|error| error.code.clone()), Some(vec![-32020]));
    }

    #[test]
    fn values_keep_their_holes_and_raw_literals() {
        let Step::Request(request) = step(
            "  - request: {method: a, as: first}\n  - request: {method: a, id: {json: '1.0e3'}, params: {a: [1, '$$x', $first/result/y], b: {c: null}}}\n",
            1,
        ) else {
            panic!("a request")
        };
        assert_eq!(request.request.id.as_ref().map(|id| &id.node), Some(&Template::Raw("1.0e3".to_owned())));
        let rendered = request.request.params.as_ref().map(|params| params.node.render(&|_| Some(json!(7))));
        assert_eq!(rendered, Some(Ok(r#"{"a":[1,"$x",7],"b":{"c":null}}"#.to_owned())));
    }

    #[test]
    fn patterns_and_words_are_told_apart() {
        let Step::Request(request) = step(
            "  - request: {method: a, expect: {class: refused, result: {a: $absent, b: {$type: integer}, $$ref: {$min: 1}, c: '$$d'}}, requirement: own/x}\n",
            0,
        ) else {
            panic!("a request")
        };
        let see = &request.judgements[0].outcomes[0].see;
        assert_eq!(see.class, Some(Class::Refused));
        assert_eq!(
            see.result,
            Some(Matcher::Object(vec![
                ("a".to_owned(), Matcher::Absent),
                ("b".to_owned(), Matcher::Type(JsonType::Integer)),
                ("$ref".to_owned(), Matcher::Range { min: Some(1.0), max: None }),
                ("c".to_owned(), Matcher::Literal(json!("$d"))),
            ]))
        );
    }

    #[test]
    fn a_state_of_null_is_left_out_and_no_state_is_the_given_one() {
        let steps = "  - request: {method: tools/call, as: first}\n  - retry: {of: first, state: null}\n  - retry: {of: first}\n  - retry: {of: first, state: x}\n";
        let state = |at| match step(steps, at) {
            Step::Retry(retry) => retry.state.map(|state| state.map(|state| state.node)),
            _ => panic!("a retry"),
        };
        assert_eq!(state(1), Some(None));
        assert_eq!(state(2), None);
        assert_eq!(state(3), Some(Some(Template::Literal(json!("x")))));
    }
}

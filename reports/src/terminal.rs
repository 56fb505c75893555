//! The report that a person reads: [`Terminal`].
//!
//! From what matters most to what matters least: which revisions are supported, what is broken with proof, what could
//! not be judged and how it could be, what the run cost, how it ends. Everything from outside is escaped and bounded.

mod baseline;
pub mod fleet;
mod sheet;
pub mod support;
mod tally;

use std::io::{self, Write};

use anstyle::Style;

use crate::excerpt;
use crate::exit;
use crate::key;
use crate::merge::{self, Finding, Reason, Variant};
use crate::model::{CheckResult, Excerpt, ExcuseKind, Report, Summary, TargetStatus, Verdict};
use crate::render::{Detail, Options, Renderer};
use crate::target;
use crate::text;

use sheet::{BOLD, CARET, DIM, LINK, PLAIN, Sheet};
use tally::tally;

pub struct Terminal;

impl Renderer for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn about(&self) -> &'static str {
        "for people"
    }

    fn render(&self, report: &Report, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut page = Page::begun(report, options);
        page.findings(report);
        page.baseline(report);
        if options.detail > Detail::Quiet {
            page.not_verified(report);
            page.omissions(report);
        }
        if options.detail == Detail::Verbose {
            page.not_applicable(report);
            page.passes(report);
        }
        if options.detail > Detail::Quiet {
            if report.target.status == TargetStatus::Ok {
                support::short(&mut page, report);
            }
            page.closing(report);
        }
        page.last(report, options);
        out.write_all(page.sheet.into_string().as_bytes())
    }
}

/// How much of anything is shown: a hostile server must not decide the length of the page.
struct Bounds {
    /// Findings shown in full; the others take one line each.
    findings: usize,
    variants: usize,
    names: usize,
    /// Characters of a message.
    message: usize,
    rows: usize,
    head: usize,
    /// Lines of what a server that could not be judged left behind.
    evidence: usize,
}

impl Bounds {
    const fn of(detail: Detail) -> Self {
        match detail {
            Detail::Quiet | Detail::Normal => {
                Self { findings: 40, variants: 3, names: 6, message: 600, rows: 4, head: 6, evidence: 20 }
            }
            Detail::Verbose => {
                Self { findings: 1_000, variants: 50, names: 100, message: 4_000, rows: 16, head: 40, evidence: 200 }
            }
        }
    }
}

/// Characters of a command to be copied. Beyond that nobody copies it from a terminal.
const COMMAND: usize = 4_000;

/// A shell line is whole or of no use.
const BY_HAND: usize = 20_000;

struct Page {
    sheet: Sheet,
    bounds: Bounds,
    detail: Detail,
    /// The result file, for commands that name it.
    result: Option<String>,
}

impl Page {
    /// What every report of the terminal begins with: the server, and which revisions it supports.
    fn begun(report: &Report, options: &Options) -> Self {
        let mut page = Self {
            sheet: Sheet::new(options.width, options.styled),
            bounds: Bounds::of(options.detail),
            detail: options.detail,
            result: options.result.clone(),
        };
        page.head(report);
        if report.target.status == TargetStatus::Ok {
            page.support(report);
        } else {
            page.target(report);
        }
        page
    }

    fn head(&mut self, report: &Report) {
        let target = &report.target;
        let tool = format!("{} {}", text::bounded(&report.tool.name, 40), text::bounded(&report.tool.version, 40));
        let mut pieces = vec![(BOLD, tool)];
        if let Some(server) = &target.server {
            pieces.extend([(PLAIN, "on".to_owned()), (BOLD, text::bounded(server, 80))]);
        }
        if !target.transports.is_empty() {
            pieces.push((PLAIN, over(&target.transports)));
        }
        self.sheet.flow(0, " ", &pieces);
        self.sheet.paragraph(0, DIM, &text::bounded(&target.name, self.bounds.message));
        if !report.requirement_sets.is_empty() {
            let sets = text::list(report.requirement_sets.iter().map(String::as_str), 10);
            self.sheet.paragraph(0, DIM, &text::bounded(&format!("counted by {sets}"), self.bounds.message));
        }
        if let Some(shard) = report.shard {
            self.sheet.paragraph(0, DIM, &shard.told());
        }
        if let Some(why) = &report.interrupted {
            let why = text::bounded(why.trim_end_matches('.'), self.bounds.message);
            self.sheet.paragraph(
                0,
                sheet::style(Verdict::Warn),
                &format!("Interrupted: {why}. What was judged until then stands."),
            );
        }
    }

    /// The verdict for each revision.
    fn support(&mut self, report: &Report) {
        self.sheet.gap();
        let mut told: Vec<&str> = Vec::new();
        for support in &report.revisions {
            told.push(&support.revision);
            let (style, word) = if support.supported {
                (sheet::style(Verdict::Pass), "supported")
            } else {
                (sheet::style(Verdict::Warn), "not supported")
            };
            let mut pieces = vec![(BOLD, text::bounded(&support.revision, 40)), (style.bold(), word.to_owned())];
            if !support.transports.is_empty() {
                pieces.push((PLAIN, over(&support.transports)));
            }
            self.sheet.flow(0, "  ", &pieces);
            self.sheet.paragraph(12, DIM, &text::bounded(&support.how, self.bounds.message));
            self.counts(report, &support.revision);
        }
        // Results of a revision that nobody announced must not vanish from the counts.
        let mut others: Vec<_> = report.results.iter().map(|result| result.revision.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        for revision in others.into_iter().filter(|revision| !told.contains(revision)) {
            self.sheet.put(BOLD, &text::bounded(revision, 40)).end();
            self.counts(report, revision);
        }
    }

    fn counts(&mut self, report: &Report, revision: &str) {
        let summary = Summary::of(report.results.iter().filter(|result| result.revision == revision));
        if summary != Summary::default() {
            self.sheet.flow(12, " ", &tally(&summary, &[]));
        }
    }

    /// Why the server could not be judged.
    fn target(&mut self, report: &Report) {
        let (what, way_out) = target::explain(report.target.status);
        let target = &report.target;
        self.sheet.gap();
        let pieces = [(sheet::style(Verdict::Fail), "NOT JUDGED".to_owned()), (BOLD, what.to_owned())];
        self.sheet.flow(0, "  ", &pieces);
        match &target.message {
            Some(message) => self.sheet.paragraph(2, PLAIN, &text::bounded(message, self.bounds.message)),
            None => self.sheet.paragraph(2, PLAIN, way_out),
        };
        if !target.evidence.is_empty() {
            self.sheet.gap();
            // The end of what a process said tells more than its beginning.
            let skipped = target.evidence.len().saturating_sub(self.bounds.evidence);
            if skipped > 0 {
                let lines = text::plural(skipped as u64, "line");
                self.sheet.indent(2).put(DIM, &format!("({lines} before)")).end();
            }
            for line in target.evidence.iter().skip(skipped) {
                let line = Excerpt { text: line.clone(), ..Excerpt::default() };
                let room = self.sheet.width() - 4;
                for row in excerpt::layout(&line, room, self.bounds.rows).rows {
                    self.sheet.indent(2).put(DIM, "| ").put(PLAIN, &row.text).end();
                }
            }
        }
    }

    fn findings(&mut self, report: &Report) {
        let findings = merge::merge_findings(report);
        let (excused, counted): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.excuse.is_some());
        let (loud, soft): (Vec<_>, Vec<_>) = counted
            .into_iter()
            .partition(|finding| matches!(finding.verdict, Verdict::Fail | Verdict::HarnessError | Verdict::Warn));
        let loud: Vec<_> = loud
            .into_iter()
            .filter(|finding| self.detail > Detail::Quiet || finding.verdict != Verdict::Warn)
            .collect();
        for (index, finding) in loud.iter().enumerate() {
            if index < self.bounds.findings {
                self.block(finding);
                continue;
            }
            if index == self.bounds.findings {
                let left = text::thousands((loud.len() - index) as u64);
                let flag = if self.detail == Detail::Verbose { "" } else { "--verbose shows them in full, " };
                self.sheet.gap();
                self.sheet.paragraph(
                    0,
                    BOLD,
                    &format!("{left} more in one line each ({flag}--report json:FILE keeps all)"),
                );
            }
            self.one_line(finding);
        }
        if self.detail == Detail::Quiet {
            return;
        }
        for kind in [ExcuseKind::Known, ExcuseKind::New, ExcuseKind::Regraded] {
            let title = match kind {
                ExcuseKind::Known => "broken, listed in the baseline, and not counted",
                ExcuseKind::New => "broken, not in the requirement set, and not counted",
                ExcuseKind::Regraded => "broken, and counted as the requirement set grades it",
            };
            let of_kind: Vec<_> =
                excused.iter().filter(|finding| finding.excuse.is_some_and(|excuse| excuse.kind == kind)).collect();
            self.soft(&of_kind, sheet::style(Verdict::Warn), &kind.word().to_uppercase(), title);
        }
        for (verdict, title) in [
            (Verdict::Contested, "the specification or its implementers disagree here; not counted against the server"),
            (Verdict::Advice, "worth knowing, not a matter of the specification"),
        ] {
            let of_verdict: Vec<_> = soft.iter().filter(|finding| finding.verdict == verdict).collect();
            self.soft(&of_verdict, sheet::style(verdict), word(verdict), title);
            if verdict == Verdict::Contested {
                self.contested(report, &of_verdict);
            }
        }
    }

    /// Findings that are no failures, under a heading of their own.
    fn soft(&mut self, findings: &[&Finding<'_>], style: Style, word: &str, title: &str) {
        if findings.is_empty() {
            return;
        }
        self.headed(style, word, findings.len(), title);
        for (index, finding) in findings.iter().enumerate() {
            if index < self.bounds.findings {
                self.compact(finding);
            } else {
                self.one_line(finding);
            }
        }
    }

    /// What the items are about that these findings name, a line each.
    fn contested(&mut self, report: &Report, findings: &[&Finding<'_>]) {
        let messages: Vec<&str> =
            findings.iter().flat_map(|finding| finding.results()).map(|result| result.message.as_str()).collect();
        let named = report.contested.iter().filter(|info| messages.iter().any(|message| info.is_named_in(message)));
        for info in named.take(self.bounds.findings) {
            let line = format!("{} is: {} (mcp-conform explain {})", info.item, info.title, info.item);
            self.sheet.paragraph(2, DIM, &text::bounded(&line, self.bounds.message));
        }
    }

    fn heading(&mut self, verdict: Verdict, count: usize, title: &str) {
        self.headed(sheet::style(verdict), word(verdict), count, title);
    }

    fn headed(&mut self, style: Style, word: &str, count: usize, title: &str) {
        self.sheet.gap();
        let head = format!("{word} {}:", text::thousands(count as u64));
        let pieces: Vec<_> =
            [(style, head)].into_iter().chain(title.split(' ').map(|word| (DIM, word.to_owned()))).collect();
        self.sheet.flow(0, " ", &pieces);
    }

    /// A finding with its proof.
    fn block(&mut self, finding: &Finding<'_>) {
        self.sheet.gap();
        let pieces = [(sheet::style(finding.verdict), word(finding.verdict).to_owned())];
        self.sheet.flow(0, "  ", &[&pieces[..], &name(finding)].concat());
        if let Some(excuse) = finding.excuse {
            self.sheet.paragraph(2, BOLD, &text::bounded(&excuse.told(), self.bounds.message));
        }
        if let Some(text) = finding.text() {
            self.sheet.paragraph(2, PLAIN, &text::bounded(text, self.bounds.message));
        }
        let mut links: Vec<_> =
            finding.infos.iter().map(|info| info.link.as_str()).filter(|link| !link.is_empty()).collect();
        links.dedup();
        for link in links {
            self.sheet.indent(2).put(LINK, &text::bounded(link, COMMAND)).end();
        }
        let fix = finding.fix();
        for variant in finding.variants.iter().take(self.bounds.variants) {
            self.sheet.gap();
            self.variant(variant);
            if fix.is_none() {
                self.fix(variant.shown.fix.as_deref());
            }
            self.repro(variant.shown);
        }
        let left = finding.variants.len().saturating_sub(self.bounds.variants);
        if left > 0 {
            let flag = if self.detail == Detail::Verbose { "--report json:FILE" } else { "--verbose" };
            let left = text::plural(left as u64, "other way");
            self.sheet.gap();
            self.sheet.label("").put(DIM, &format!("{left} in which it shows: {flag}")).end();
        }
        if fix.is_some() && finding.variants.len() > 1 {
            self.sheet.gap();
        }
        self.fix(fix);
    }

    fn variant(&mut self, variant: &Variant<'_>) {
        let shown = variant.shown;
        self.sheet.field("found", BOLD, &text::bounded(&shown.message, self.bounds.message));
        if let Some(mild) = &shown.mild {
            self.sheet.field("mild", PLAIN, &text::bounded(mild, self.bounds.message));
        }
        self.sheet.field("where", PLAIN, &place(variant));
        let subjects = variant.subjects();
        if !subjects.is_empty() {
            self.sheet.field("on", PLAIN, &self.names(&subjects));
        }
        let evidence = &shown.evidence;
        self.excerpt("control", evidence.control.as_ref());
        self.excerpt("sent", evidence.sent.as_ref());
        self.excerpt("received", evidence.received.as_ref());
        if let Some(trace) = &evidence.trace {
            let file = text::bounded(&trace.file, self.bounds.message);
            self.sheet.field("trace", DIM, &format!("{file}, event {}", trace.event));
        }
    }

    fn excerpt(&mut self, label: &str, excerpt: Option<&Excerpt>) {
        let Some(excerpt) = excerpt else { return };
        let room = self.sheet.room();
        let mut label = label;
        for (index, line) in excerpt.head.iter().enumerate() {
            if index == self.bounds.head {
                let left = text::plural((excerpt.head.len() - index) as u64, "line");
                self.sheet.label(label).put(DIM, &format!("({left} more)")).end();
                break;
            }
            let line = Excerpt { text: line.clone(), ..Excerpt::default() };
            for row in excerpt::layout(&line, room, 2).rows {
                self.sheet.label(label).put(DIM, &row.text).end();
                label = "";
            }
        }
        // A message that is all head, such as a 202, has nothing to show below.
        if excerpt.text.is_empty() && excerpt.cut == 0 && !excerpt.head.is_empty() {
            return;
        }
        let layout = excerpt::layout(excerpt, room, self.bounds.rows);
        for row in layout.rows {
            self.sheet.label(label).put(PLAIN, &row.text).end();
            label = "";
            if !row.carets.is_empty() {
                self.sheet.label("").put(CARET, row.carets.trim_end()).end();
            }
        }
        if !layout.rest.is_empty() {
            self.sheet.field("", DIM, &layout.rest);
        }
    }

    fn fix(&mut self, fix: Option<&str>) {
        if let Some(fix) = fix {
            self.sheet.field("fix", sheet::style(Verdict::Pass), &text::bounded(fix, self.bounds.message));
        }
    }

    fn repro(&mut self, result: &CheckResult) {
        if let Some(repro) = &result.evidence.repro {
            self.sheet.verbatim("repro", PLAIN, &text::bounded(repro, COMMAND));
        }
        // The result file may be gone, or on another machine, by the time that this is read.
        if let Some(replay) = self.result.as_ref().and_then(|file| key::replay(file, result)) {
            self.sheet.verbatim("replay", PLAIN, &replay);
        }
        if self.detail == Detail::Verbose
            && let Some(line) = &result.evidence.by_hand
        {
            self.sheet.verbatim("by hand", PLAIN, &text::bounded(line, BY_HAND));
        }
    }

    /// A finding that is no failure: what, where, and what to do.
    fn compact(&mut self, finding: &Finding<'_>) {
        if self.detail == Detail::Verbose {
            return self.block(finding);
        }
        self.sheet.flow(2, "  ", &name(finding));
        if let Some(excuse) = finding.excuse {
            self.sheet.paragraph(4, BOLD, &text::bounded(&excuse.told(), self.bounds.message));
        }
        for variant in finding.variants.iter().take(self.bounds.variants) {
            self.sheet.paragraph(4, PLAIN, &text::bounded(&variant.shown.message, self.bounds.message));
            let subjects = variant.subjects();
            let mut place = place(variant);
            if !subjects.is_empty() {
                place.push_str(&format!(", on {}", self.names(&subjects)));
            }
            self.sheet.paragraph(4, DIM, &place);
        }
        let left = finding.variants.len().saturating_sub(self.bounds.variants);
        if left > 0 {
            let left = text::plural(left as u64, "other way");
            self.sheet.paragraph(4, DIM, &format!("{left} in which it shows: --verbose"));
        }
        if let Some(fix) = finding.fix() {
            self.sheet.paragraph(4, sheet::style(Verdict::Pass), &text::bounded(fix, self.bounds.message));
        }
    }

    fn one_line(&mut self, finding: &Finding<'_>) {
        let message = finding.variants.first().map(|variant| variant.shown.message.as_str()).unwrap_or_default();
        let line = format!("{}: {message}", finding.requirement);
        let line = text::wrap(&text::clean(&text::bounded(&line, 300)), self.sheet.width().saturating_sub(8));
        let (Some(first), more) = (line.first(), line.len() > 1) else { return };
        self.sheet
            .put(sheet::style(finding.verdict), word(finding.verdict))
            .indent(2)
            .put(PLAIN, first)
            .put(DIM, if more { "…" } else { "" })
            .end();
    }

    fn not_verified(&mut self, report: &Report) {
        let reasons = merge::merge_by_reason(report, Verdict::NotVerified);
        let count = reasons.iter().map(|reason| reason.results.len()).sum();
        if count > 0 {
            self.heading(Verdict::NotVerified, count, "applies to this server, but could not be provoked");
            self.reasons(&reasons);
        }
    }

    fn not_applicable(&mut self, report: &Report) {
        let reasons = merge::merge_by_reason(report, Verdict::NotApplicable);
        let count = reasons.iter().map(|reason| reason.results.len()).sum();
        if count > 0 {
            self.heading(Verdict::NotApplicable, count, "ruled out by revision, transport, capability or design");
            self.reasons(&reasons);
        }
    }

    fn reasons(&mut self, reasons: &[Reason<'_>]) {
        for (index, reason) in reasons.iter().enumerate() {
            if index == self.bounds.findings {
                let left = &reasons[index..];
                let results: usize = left.iter().map(|reason| reason.results.len()).sum();
                let line = format!(
                    "{} for {}",
                    text::thousands(results as u64),
                    text::plural(left.len() as u64, "other reason")
                );
                self.sheet.paragraph(2, DIM, &line);
                break;
            }
            let count = text::thousands(reason.results.len() as u64);
            let message = text::bounded(reason.message, self.bounds.message);
            self.hanging(&format!("{count:>4}  "), &message);
            if let Some(flag) = reason.verify_with {
                let flag = text::bounded(flag, self.bounds.message);
                self.sheet.paragraph(8, sheet::style(Verdict::Pass), &format!("to verify: {flag}"));
            }
            let names = text::list(reason.requirements(), self.bounds.names.min(12));
            self.sheet.paragraph(8, DIM, &text::bounded(&names, 2_000));
        }
    }

    /// A line with a number before it, wrapped under its text.
    fn hanging(&mut self, lead: &str, message: &str) {
        let lines = text::wrap(&text::clean(message), self.sheet.width().saturating_sub(8));
        for (index, line) in lines.iter().enumerate() {
            self.sheet.indent(2).put(BOLD, if index == 0 { lead } else { "      " }).put(PLAIN, line).end();
        }
    }

    fn omissions(&mut self, report: &Report) {
        if report.omissions.is_empty() {
            return;
        }
        self.sheet.gap();
        self.sheet.put(BOLD, "Left undone on purpose").end();
        for omission in report.omissions.iter().take(self.bounds.findings) {
            let what = text::bounded(&omission.what, self.bounds.message);
            self.sheet.paragraph(2, PLAIN, &what);
            let flag = text::bounded(&omission.flag, self.bounds.message);
            self.sheet.paragraph(8, sheet::style(Verdict::Pass), &format!("to do it: {flag}"));
        }
        let left = report.omissions.len().saturating_sub(self.bounds.findings);
        if left > 0 {
            self.sheet.paragraph(2, DIM, &format!("{} more", text::thousands(left as u64)));
        }
    }

    fn passes(&mut self, report: &Report) {
        let passes = merge::merge(report, |verdict| verdict == Verdict::Pass);
        if passes.is_empty() {
            return;
        }
        let count = passes.iter().flat_map(Finding::results).count();
        self.heading(Verdict::Pass, count, "by requirement");
        for finding in &passes {
            let checks = finding.results().map(|result| result.check.as_str());
            let occasions: u64 = finding.results().map(|result| result.occasions.max(1)).fold(0, u64::saturating_add);
            let mut names: Vec<_> = checks.collect();
            names.sort_unstable();
            names.dedup();
            let line =
                format!("by {}, {}", text::list(names, self.bounds.names.min(4)), text::plural(occasions, "occasion"));
            let requirement = (PLAIN, text::bounded(finding.requirement, 200));
            self.sheet.flow(2, "  ", &[requirement, (DIM, text::bounded(&line, 400))]);
        }
    }

    fn closing(&mut self, report: &Report) {
        self.sheet.gap();
        for note in report.notes.iter().take(self.bounds.findings) {
            self.sheet.paragraph(0, DIM, &text::bounded(note, self.bounds.message));
        }
        let cost = &report.cost;
        let line = format!(
            "{}, {}, {} waited on purpose, {} in all, seed {}",
            text::plural(cost.process_starts, "process start"),
            text::plural(cost.requests, "request"),
            seconds(cost.waited_s),
            seconds(cost.took_s),
            report.tool.seed
        );
        self.sheet.paragraph(0, DIM, &line);
    }

    fn last(&mut self, report: &Report, options: &Options) {
        let summary = Summary::of(&report.results);
        self.sheet.gap();
        let pieces = if summary == Summary::default() {
            // A campaign that found nothing ends clean, a run that judged nothing does not.
            let clean = options.exit == Some(exit::Exit::Clean);
            vec![(BOLD, if clean { "No findings" } else { "Nothing was judged" }.to_owned())]
        } else {
            tally(&summary, &merge::merge_findings(report))
        };
        self.sheet.flow(0, " ", &pieces);
        if let Some(excused) = summary.excused() {
            self.sheet.paragraph(0, PLAIN, &excused);
        }
        if let Some(exit) = options.exit {
            self.sheet.paragraph(0, BOLD, &format!("Exit code {}: {}.", exit.code(), exit::told(exit, report)));
        }
    }

    fn names(&self, names: &[&str]) -> String {
        let short: Vec<_> = names.iter().take(self.bounds.names).map(|name| text::bounded(name, 80)).collect();
        let mut out = short.join(", ");
        let left = names.len().saturating_sub(self.bounds.names);
        if left > 0 {
            out.push_str(&format!(" and {} more", text::thousands(left as u64)));
        }
        out
    }
}

fn place(variant: &Variant<'_>) -> String {
    let mut parts = vec![variant.shown.check.clone()];
    parts.push(variant.revisions().join(" and "));
    parts.push(variant.transports().join(" and "));
    parts.retain(|part| !part.is_empty());
    text::bounded(&parts.join(", "), 400)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fail => "FAIL",
        Verdict::HarnessError => "OUR FAULT",
        Verdict::Warn => "WARN",
        Verdict::Contested => "CONTESTED",
        Verdict::Advice => "ADVICE",
        Verdict::NotVerified => "NOT VERIFIED",
        Verdict::NotApplicable => "NOT APPLICABLE",
        Verdict::Pass => "PASSED",
    }
}

fn over(transports: &[String]) -> String {
    text::bounded(&format!("over {}", transports.join(" and ")), 80)
}

/// A finding's requirement and level.
fn name(finding: &Finding<'_>) -> [(Style, String); 2] {
    [(BOLD, text::bounded(finding.requirement, 200)), (DIM, text::bounded(finding.level, 20))]
}

fn seconds(seconds: f64) -> String {
    if seconds.is_finite() && seconds >= 0.0 { format!("{seconds:.1} s") } else { "unknown time".to_owned() }
}

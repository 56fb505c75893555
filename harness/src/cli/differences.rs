//! Differences between snapshots on a terminal, and as JSON.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use mcp_conform_reports::text::{clean, plural, thousands};

use super::only::stem;
use crate::{
    snapshot::{Change, Difference, Finding, Nature, NotKept, Pair, Shares, What, leaves, pretty},
    wire::Json,
};

const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();
const HEAD: Style = Style::new().bold();
const GRAVE: Style = AnsiColor::Yellow.on_default().bold();
/// Characters alike that are shown beside a difference in a long text.
const BESIDE: usize = 40;
/// Characters of one side that are shown; all of them stand in the JSON.
const MOST: usize = 4_000;
/// Lines of a value that came or went.
const MOST_LINES: usize = 200;

/// The heading under which a difference stands: those with one stand together.
pub(super) fn heading(finding: &Finding) -> String {
    let answer = clean(&finding.answer);
    match (&finding.what, finding.nature, &finding.subject) {
        (What::NewView(answers), ..) => {
            format!("was not recorded ({})", plural(*answers as u64, "answer"))
        }
        (What::ViewGone(answers), ..) => format!("is not served any more ({})", plural(*answers as u64, "answer")),
        (What::Unsteady(_), ..) => format!("{answer}: differs from the first answer, and did not when it was recorded"),
        (_, Nature::Unsteady, _) => format!("{answer}: does not differ from the first answer any more"),
        (What::MemberOrder, ..) => format!("{answer}: its members stand in another order"),
        (What::At(difference), Nature::Definition, Some(subject)) if is_entry(difference) => {
            let came = if matches!(difference.change, Change::Added(_)) { "new" } else { "gone" };
            format!("{answer}: the {} is {came} since it was recorded", clean(subject))
        }
        (What::At(_), Nature::Definition, Some(subject)) => {
            format!("{answer}: the definition of the {} changed since it was recorded", clean(subject))
        }
        (What::At(_), Nature::Definition, None) => format!("{answer}: a definition changed since it was recorded"),
        (What::NewAnswer(_), ..) => format!("{answer}: was not recorded"),
        (What::AnswerGone(_), ..) => format!("{answer}: is not there any more"),
        (What::At(_), Nature::Answer, _) => answer,
    }
}

/// Whether an entry of a list as a whole came or went.
fn is_entry(difference: &Difference) -> bool {
    const ENTRY: usize = 3;
    matches!(difference.change, Change::Added(_) | Change::Removed(_))
        && difference.pointer.matches('/').count() == ENTRY
}

/// All findings, by view and answer.
pub(super) fn tell(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut last: Option<(&str, String)> = None;
    for finding in findings {
        if last.as_ref().is_none_or(|(view, _)| *view != finding.view) {
            writeln!(out, "{HEAD}{}{HEAD:#}", finding.view)?;
        }
        let heading = heading(finding);
        if last.as_ref() != Some(&(finding.view.as_str(), heading.clone())) {
            let style = if finding.nature == Nature::Answer { Style::new() } else { GRAVE };
            writeln!(out, "\n  {style}{heading}{style:#}")?;
        }
        body(finding, out)?;
        last = Some((&finding.view, heading));
    }
    if !findings.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// What differs in one finding.
pub(super) fn body(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    match &finding.what {
        What::At(difference) => at(difference, out),
        What::Unsteady(differences) => differences.iter().try_for_each(|difference| at(difference, out)),
        What::NewAnswer(answer) => lines(answer, '+', NEW, out),
        What::AnswerGone(answer) => lines(answer, '-', OLD, out),
        What::NewView(_) => {
            let file = stem(&finding.view);
            writeln!(out, "  take it into the record: snapshot accept --only '{file}/*'")?;
            writeln!(out, "  do not ask for it: --revision with the revisions that are recorded")
        }
        What::ViewGone(_) | What::MemberOrder => Ok(()),
    }
}

pub(super) fn at(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let place = if difference.pointer.is_empty() { "the whole" } else { &difference.pointer };
    writeln!(out, "  {}", clean(place))?;
    match &difference.change {
        Change::Added(new) => lines(new, '+', NEW, out),
        Change::Removed(old) => lines(old, '-', OLD, out),
        Change::Changed { old, new } => match (old.as_str(), new.as_str()) {
            (Some(one), Some(two)) => {
                let (one, two) = cut(one, two);
                writeln!(out, "  {OLD}- {one}{OLD:#}")?;
                writeln!(out, "  {NEW}+ {two}{NEW:#}")
            }
            _ => {
                lines(old, '-', OLD, out)?;
                lines(new, '+', NEW, out)
            }
        },
        Change::Order { old, new } => {
            writeln!(out, "  the same entries in another order")?;
            writeln!(out, "  {OLD}- {}{OLD:#}", names(old))?;
            writeln!(out, "  {NEW}+ {}{NEW:#}", names(new))
        }
    }
}

fn names(list: &Json) -> String {
    let names = list.as_array().unwrap_or_default().iter();
    let names: Vec<String> = names.map(|name| clean(name.as_str().unwrap_or_default())).collect();
    names.join(", ").chars().take(MOST).collect()
}

fn lines(json: &Json, sign: char, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let text = pretty(json);
    let total = text.lines().count();
    for line in text.lines().take(MOST_LINES) {
        writeln!(out, "  {style}{sign} {}{style:#}", bounded(line))?;
    }
    if total > MOST_LINES {
        writeln!(out, "    ({} lines more)", total - MOST_LINES)?;
    }
    Ok(())
}

/// Two texts as JSON, without most of what they have in common at their ends.
fn cut(one: &str, two: &str) -> (String, String) {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let shorter = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    // A little more is no shorter than what would stand in its place.
    let skip = |alike: usize| if alike > BESIDE * 2 { alike - BESIDE } else { 0 };
    let (front, back) = (skip(head), skip(tail));
    let side = |chars: &[char]| {
        let kept: String = chars.iter().take(chars.len() - back).skip(front).collect();
        let text = bounded(&pretty_string(&kept));
        let alike = |count: usize| match count {
            0 => String::new(),
            count => format!("({} alike)", thousands(count as u64)),
        };
        format!("{} {text} {}", alike(front), alike(back)).trim().to_owned()
    };
    (side(&a), side(&b))
}

fn pretty_string(text: &str) -> String {
    pretty(&Json { kind: crate::wire::JsonKind::String(text.into()), span: crate::wire::Span { start: 0, end: 0 } })
}

fn bounded(text: &str) -> String {
    let length = text.chars().count();
    match length > MOST {
        true => format!("{} ({} characters more)", text.chars().take(MOST).collect::<String>(), length - MOST),
        false => text.to_owned(),
    }
}

/// How much is masked, by which words.
pub(super) fn shares(shares: &Shares) -> String {
    let words: Vec<String> = shares.words.iter().map(|(word, count)| format!("{word} {}", thousands(*count))).collect();
    let list = if words.is_empty() { String::new() } else { format!(": {}", clean(&words.join(", "))) };
    format!(
        "{} of {} leaf values are masked ({:.1} %){list}",
        thousands(shares.masked),
        thousands(shares.leaves),
        shares.masked as f64 * 100.0 / (shares.leaves.max(1)) as f64
    )
}

/// What was not asked, with those that have one reason in one line.
pub(super) fn not_asked(not_kept: &[NotKept], out: &mut dyn Write) -> io::Result<()> {
    const SHOWN: usize = 8;
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for NotKept { name, reason } in not_kept {
        match groups.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) if names.contains(&name.as_str()) => {}
            Some((_, names)) => names.push(name),
            None => groups.push((reason, vec![name])),
        }
    }
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "{HEAD}Not asked{HEAD:#}")?;
    for (reason, names) in groups {
        let shown: Vec<String> = names.iter().take(SHOWN).map(|name| clean(name)).collect();
        let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
        writeln!(out, "  {}{more}\n    {}", shown.join(", "), clean(reason))?;
    }
    Ok(())
}

/// Answers that differ in nothing but the order of their members.
pub(super) fn reordered(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    const SHOWN: usize = 8;
    let mut names: Vec<String> = Vec::new();
    for finding in findings {
        let name = clean(&finding.answer);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    let shown: Vec<String> = names.into_iter().take(SHOWN).collect();
    writeln!(out, "{HEAD}Only the order of members changed{HEAD:#}\n  {}{more}", shown.join(", "))?;
    writeln!(out, "    that is no difference; accept takes the new order")
}

/// Rules of the user's that had no effect, a line each.
pub(super) fn idle(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "{HEAD}Rules without effect{HEAD:#}")?;
    lines.iter().try_for_each(|line| writeln!(out, "  {}", clean(line)))
}

/// The last line: how many differences of which kind.
pub(super) fn summary(findings: &[Finding]) -> String {
    let count = |nature: Nature| findings.iter().filter(|finding| finding.nature == nature).count() as u64;
    let mut kinds: Vec<String> = Vec::new();
    for (nature, noun) in [
        (Nature::Definition, "in a definition"),
        (Nature::Unsteady, "in a definition that does not stay the same"),
        (Nature::Answer, "in an answer"),
    ] {
        if count(nature) > 0 {
            kinds.push(format!("{} {noun}", thousands(count(nature))));
        }
    }
    format!("{}: {}", plural(findings.len() as u64, "difference"), kinds.join(", "))
}

/// Two sides against each other.
pub(super) fn tell_pair(pair: &Pair, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEAD}{} against {}{HEAD:#}", pair.one, pair.two)?;
    let mut last = "";
    for (answer, difference) in &pair.differences {
        if answer != last {
            writeln!(out, "\n  {}", clean(answer))?;
        }
        last = answer;
        at(difference, out)?;
    }
    for (side, only) in [(&pair.one, &pair.only_one), (&pair.two, &pair.only_two)] {
        for name in only {
            writeln!(out, "\n  {}\n  only in {side}", clean(name))?;
        }
    }
    let differing = pair.differences.len() + pair.only_one.len() + pair.only_two.len();
    writeln!(
        out,
        "\n  {} in {} that both have",
        plural(differing as u64, "difference"),
        plural(pair.compared as u64, "answer")
    )?;
    if !pair.left.0.is_empty() {
        let left: Vec<String> = pair.left.0.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        writeln!(out, "  taken out by rule: {}", left.join(", "))?;
    }
    writeln!(out)
}

/// Findings as JSON, for other programs: values stand as they came.
pub(super) fn json(findings: &[Finding], reordered: &[Finding], not_kept: &[NotKept]) -> String {
    let findings = findings.iter().map(|finding| {
        let nature = match finding.nature {
            Nature::Answer => "answer",
            Nature::Definition => "definition",
            Nature::Unsteady => "unsteady-definition",
        };
        let mut members = vec![member("view", &finding.view), member("answer", &finding.answer), member("in", nature)];
        members.extend(finding.subject.iter().map(|subject| member("subject", subject)));
        match &finding.what {
            What::At(difference) => members.extend(of_difference(difference)),
            What::Unsteady(differences) => {
                members.push(member("change", "unsteady"));
                let list: Vec<String> =
                    differences.iter().map(|difference| object(&of_difference(difference))).collect();
                members.push(format!("\"differences\":[{}]", list.join(",")));
            }
            What::NewAnswer(new) => members.extend([member("change", "added"), format!("\"new\":{new}")]),
            What::AnswerGone(old) => members.extend([member("change", "removed"), format!("\"old\":{old}")]),
            What::NewView(_) => members.push(member("change", "view-added")),
            What::ViewGone(_) => members.push(member("change", "view-removed")),
            What::MemberOrder => members.push(member("change", "member-order")),
        }
        object(&members)
    });
    let findings: Vec<String> = findings.collect();
    let not_kept: Vec<String> =
        not_kept.iter().map(|not| object(&[member("answer", &not.name), member("reason", &not.reason)])).collect();
    let reordered: Vec<String> = reordered
        .iter()
        .map(|finding| object(&[member("view", &finding.view), member("answer", &finding.answer)]))
        .collect();
    document(&[
        format!("\"differences\":[{}]", findings.join(",")),
        format!("\"memberOrder\":[{}]", reordered.join(",")),
        format!("\"notAsked\":[{}]", not_kept.join(",")),
    ])
}

pub(super) fn pairs_json(pairs: &[Pair]) -> String {
    let texts = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        format!("[{}]", names.join(","))
    };
    let pairs = pairs.iter().map(|pair| {
        let differences: Vec<String> = pair
            .differences
            .iter()
            .map(|(answer, difference)| {
                let members: Vec<String> =
                    std::iter::once(member("answer", answer)).chain(of_difference(difference)).collect();
                object(&members)
            })
            .collect();
        let left: Vec<String> = pair.left.0.iter().map(|(what, count)| format!("{}:{count}", quoted(what))).collect();
        object(&[
            member("one", &pair.one),
            member("two", &pair.two),
            format!("\"compared\":{}", pair.compared),
            format!("\"differences\":[{}]", differences.join(",")),
            format!("\"onlyInOne\":{}", texts(&pair.only_one)),
            format!("\"onlyInTwo\":{}", texts(&pair.only_two)),
            format!("\"takenOut\":{}", object(&left)),
        ])
    });
    let pairs: Vec<String> = pairs.collect();
    document(&[format!("\"pairs\":[{}]", pairs.join(","))])
}

fn of_difference(difference: &Difference) -> Vec<String> {
    let mut members = vec![member("pointer", &difference.pointer)];
    match &difference.change {
        Change::Added(new) => members.extend([member("change", "added"), format!("\"new\":{new}")]),
        Change::Removed(old) => members.extend([member("change", "removed"), format!("\"old\":{old}")]),
        Change::Changed { old, new } => {
            members.extend([member("change", "changed"), format!("\"old\":{old}"), format!("\"new\":{new}")]);
        }
        Change::Order { old, new } => {
            members.extend([member("change", "order"), format!("\"old\":{old}"), format!("\"new\":{new}")]);
        }
    }
    members
}

fn document(members: &[String]) -> String {
    let all: Vec<String> = [member("mcp-conform", "snapshot differences"), "\"version\":1".to_owned()]
        .into_iter()
        .chain(members.iter().cloned())
        .collect();
    let text = object(&all);
    // Written and read by ourselves, so that only our limits could keep it from being shown on lines of its own.
    match Json::read(
        text.as_bytes(),
        &crate::wire::Limits { bytes: usize::MAX, nodes: usize::MAX, ..Default::default() },
    ) {
        Ok(reading) => crate::snapshot::pretty_text(&reading.json),
        Err(_) => format!("{text}\n"),
    }
}

fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

fn member(name: &str, value: &str) -> String {
    format!("{}:{}", quoted(name), quoted(value))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One difference in a line.
pub(super) fn in_a_line(difference: &Difference) -> String {
    let pointer = clean(&difference.pointer);
    match &difference.change {
        Change::Added(new) => format!("+ {pointer} {}", brief(new)),
        Change::Removed(old) => format!("- {pointer} {}", brief(old)),
        Change::Changed { old, new } => {
            let (old, new) = apart(old, new);
            format!("~ {pointer} {old} is {new}")
        }
        Change::Order { .. } => format!("~ {pointer} in another order"),
    }
}

const BRIEF: usize = 60;

/// A value in a line.
fn brief(json: &Json) -> String {
    let text = in_words(json);
    match text.chars().count() > BRIEF {
        true => format!("{}… ({})", text.chars().take(BRIEF).collect::<String>(), plural(leaves(json), "value")),
        false => text,
    }
}

/// Two values in a line each, from a little before where they differ.
pub(super) fn apart(one: &Json, two: &Json) -> (String, String) {
    const BEFORE: usize = 20;
    let (one, two): (Vec<char>, Vec<char>) = (in_words(one).chars().collect(), in_words(two).chars().collect());
    let alike = one.iter().zip(&two).take_while(|(one, two)| one == two).count();
    let short = one.len().max(two.len()) <= BRIEF;
    let from = if short { 0 } else { alike.saturating_sub(BEFORE) };
    let side = |chars: &[char]| {
        let rest: String = chars.iter().skip(from).take(BRIEF).collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if chars.len() > from + BRIEF { "…" } else { "" });
        format!("{before}{rest}{after}")
    };
    (side(&one), side(&two))
}

fn in_words(json: &Json) -> String {
    pretty(json).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_values_is_shown_where_it_differs() {
        let value = |text: &str| pretty_value(text);
        let (one, two) = apart(&value("a"), &value("b"));
        assert_eq!((one.as_str(), two.as_str()), ("\"a\"", "\"b\""));
        let long = "x".repeat(500);
        let (one, two) = apart(&value(&format!("{long}one{long}")), &value(&format!("{long}two{long}")));
        let before = "x".repeat(20);
        assert!(one.starts_with(&format!("…{before}one")) && two.starts_with(&format!("…{before}two")), "{one} {two}");
        assert!(one.chars().count() < 70 && one.ends_with('…'));
    }

    fn pretty_value(text: &str) -> Json {
        Json { kind: crate::wire::JsonKind::String(text.into()), span: crate::wire::Span { start: 0, end: 0 } }
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        assert_eq!(cut("abc", "abd"), ("\"abc\"".to_owned(), "\"abd\"".to_owned()));
        let long = "x".repeat(500);
        let (one, two) = cut(&format!("{long}a{long}"), &format!("{long}\u{200B}b{long}"));
        let beside = "x".repeat(BESIDE);
        assert_eq!(one, format!("(460 alike) \"{beside}a{beside}\" (460 alike)"));
        assert_eq!(two, format!("(460 alike) \"{beside}\\u200bb{beside}\" (460 alike)"));
        assert_eq!(cut("aaa", "aaaa"), ("\"aaa\"".to_owned(), "\"aaaa\"".to_owned()));
    }
}

//! What was kept against what is answered now, revision by revision and transport by transport.

use super::{
    diff::{Change, Difference, differences, merge},
    doc::{members, object, tokens},
    take::Taken,
    view::{Kept, LISTS, View},
};
use crate::wire::Json;

/// How grave a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// An answer to a question.
    Answer,
    /// What a host shows its user or its model before anything is called: what was agreed to is not what is there now.
    Definition,
    /// A definition that does not stay the same within one recording: from one list to the next, or from one connection to
    /// another.
    Unsteady,
}

/// One difference, to be shown, and taken or left.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The view that it is in.
    pub view: String,
    /// The name of the answer; empty where it is about the whole view.
    pub answer: String,
    pub nature: Nature,
    /// Such as `tool echo`.
    pub subject: Option<String>,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    At(Difference),
    /// An answer that came or went.
    NewAnswer(Json),
    AnswerGone(Json),
    /// A revision over a transport that came or went, with the number of its answers.
    NewView(usize),
    ViewGone(usize),
    /// A definition that is another one when it is asked for again: how it differs from the first.
    Unsteady(Vec<Difference>),
    /// Members that stand in another order, and nothing else: no difference, but not as it was written.
    MemberOrder,
}

#[derive(Debug)]
pub struct Compared {
    pub findings: Vec<Finding>,
    /// Answers of which the order of members alone is another one. They are taken or left as findings are.
    pub reordered: Vec<Finding>,
    /// What was kept, with the differences that were taken.
    pub merged: Vec<View>,
}

/// Compares what was kept with what was asked. `within` says which views were asked for at all; `take` sees each difference
/// once.
pub fn compare(
    stored: &[View],
    taken: &[Taken],
    within: &dyn Fn(&View) -> bool,
    take: &mut dyn FnMut(&Finding) -> bool,
) -> Compared {
    let (mut findings, mut reordered) = (Vec::new(), Vec::new());
    let mut tell = |finding: Finding| {
        let taken = take(&finding);
        let kind = if matches!(finding.what, What::MemberOrder) { &mut reordered } else { &mut findings };
        kind.push(finding);
        taken
    };
    let mut merged = Vec::new();
    for old in stored {
        let new = taken.iter().find(|taken| taken.view.is_at(old));
        match new {
            None if within(old) => {
                let what = What::ViewGone(old.answers.len());
                if !tell(Finding::of_view(old, what)) {
                    merged.push(old.clone());
                }
            }
            None => merged.push(old.clone()),
            Some(new) => merged.push(views(old, new, &mut tell)),
        }
    }
    for new in taken.iter().filter(|taken| !stored.iter().any(|old| taken.view.is_at(old))) {
        if tell(Finding::of_view(&new.view, What::NewView(new.view.answers.len()))) {
            merged.push(new.view.clone());
        }
    }
    Compared { findings, reordered, merged }
}

fn views(old: &View, new: &Taken, tell: &mut dyn FnMut(Finding) -> bool) -> View {
    let finding = |kept: &Kept, nature, what| Finding {
        view: old.title(),
        answer: kept.name.clone(),
        nature,
        subject: None,
        what,
    };
    let nature = |kept: &Kept| if kept.is_definition() { Nature::Definition } else { Nature::Answer };
    let not_asked = |name: &str| new.not_kept.iter().any(|not_kept| not_kept.name == name);
    let mut answers = Vec::new();
    // A definition that changed is told once, although it was asked for again: what was decided of the first counts.
    let mut decided: Vec<(String, String, bool)> = Vec::new();
    for kept in &old.answers {
        match new.view.answer(&kept.name) {
            // Nothing is known of it.
            None if not_asked(&kept.name) => answers.push(kept.clone()),
            None => {
                let nature = if kept.repeats().is_some() { Nature::Unsteady } else { nature(kept) };
                if !tell(finding(kept, nature, What::AnswerGone(kept.answer.clone()))) {
                    answers.push(kept.clone());
                }
            }
            Some(now) => {
                let (mut any, mut differs) = (false, false);
                let merged = merge(&kept.answer, &now.answer, &mut |difference| {
                    differs = true;
                    let key = format!("{difference}");
                    let same = |(method, known, _): &&(String, String, bool)| *method == kept.method && *known == key;
                    let known = decided.iter().find(same).map(|(.., taken)| *taken);
                    let taken = known.filter(|_| kept.repeats().is_some()).unwrap_or_else(|| {
                        let what = What::At(difference.clone());
                        tell(Finding { subject: subject(kept, now, difference), ..finding(kept, nature(kept), what) })
                    });
                    if kept.is_definition() && known.is_none() {
                        decided.push((kept.method.clone(), key, taken));
                    }
                    any |= taken;
                    taken
                });
                // What is left says the same in both, so that only the order of members can make the texts differ.
                if !differs && kept.answer.to_string() != now.answer.to_string() {
                    any = tell(finding(kept, nature(kept), What::MemberOrder));
                }
                // What differs in nothing stays as it was written.
                let answer = if any { merged } else { kept.answer.clone() };
                answers.push(Kept { answer, ..kept.clone() });
            }
        }
    }
    for (at, now) in new.view.answers.iter().enumerate() {
        if old.answer(&now.name).is_some() {
            continue;
        }
        let first = now.repeats().and_then(|name| new.view.answer(name));
        let taken = match first {
            Some(first) => {
                let what = What::Unsteady(differences(&first.answer, &now.answer));
                tell(finding(now, Nature::Unsteady, what))
            }
            None => tell(finding(now, nature(now), What::NewAnswer(now.answer.clone()))),
        };
        if taken {
            let before = new
                .view
                .answers
                .iter()
                .take(at)
                .rev()
                .find_map(|earlier| answers.iter().position(|kept: &Kept| kept.name == earlier.name));
            answers.insert(before.map_or(0, |before| before + 1), now.clone());
        }
    }
    View { answers, ..old.clone() }
}

impl Finding {
    fn of_view(view: &View, what: What) -> Self {
        Self { view: view.title(), answer: String::new(), nature: Nature::Answer, subject: None, what }
    }
}

/// The entry of a list that a difference is in.
fn subject(old: &Kept, new: &Kept, difference: &Difference) -> Option<String> {
    let (_, list) = LISTS.iter().find(|(method, _)| *method == old.method)?;
    let tokens = tokens(&difference.pointer);
    let [result, member, index, ..] = tokens.as_slice() else { return None };
    if result != "result" || member != list {
        return None;
    }
    let of = match difference.change {
        Change::Removed(_) if tokens.len() == 3 => old,
        _ => new,
    };
    let entry = of.answer.get(result)?.get(member)?.as_array()?.get(index.parse::<usize>().ok()?)?;
    let name = ["name", "uri", "uriTemplate"].iter().find_map(|member| entry.get(member)?.as_str())?;
    let kind = match *list {
        "tools" => "tool",
        "prompts" => "prompt",
        "resources" => "resource",
        _ => "resource template",
    };
    Some(format!("{kind} {name}"))
}

/// A view without the repeated definitions that say the same as the first.
pub(super) fn without_echoes(view: &mut View) {
    let firsts: Vec<Kept> = view.answers.iter().filter(|kept| kept.repeats().is_none()).cloned().collect();
    view.answers.retain(|kept| {
        let Some(first) = kept.repeats() else { return true };
        let first = firsts.iter().find(|known| known.name == first);
        first.is_none_or(|first| !differences(&first.answer, &kept.answer).is_empty())
    });
}

/// An answer without some members of its result.
pub(super) fn without(answer: &Json, gone: &dyn Fn(&str) -> bool) -> Json {
    object(members(answer).iter().map(|member| {
        let value = match &*member.name {
            "result" => {
                let kept = members(&member.value).iter().filter(|part| !gone(&part.name));
                match member.value.as_object() {
                    Some(_) => object(kept.map(|part| (part.name.to_string(), part.value.clone()))),
                    None => member.value.clone(),
                }
            }
            _ => member.value.clone(),
        };
        (member.name.to_string(), value)
    }))
}

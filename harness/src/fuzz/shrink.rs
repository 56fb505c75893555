//! Makes an input smaller that shows a bug: first messages, then the nodes of their values, then bytes. Every attempt costs
//! the start of a server, so their number is bounded.

use serde_json::Value;

use super::input::{Act, Input, Message, Octets};

/// Whether a smaller input still shows the bug.
pub(super) trait Attempt {
    /// `None`: no attempt is left.
    async fn shows(&mut self, input: &Input) -> Option<bool>;
}

/// The smallest input that was found.
pub(super) async fn shrink(input: &Input, attempt: &mut impl Attempt) -> Input {
    let mut best = input.clone();
    // What is smaller opens new ways; the number of attempts is what ends it.
    for _ in 0..3 {
        let before = best.clone();
        fewer(&mut best, attempt).await;
        nodes(&mut best, attempt).await;
        bytes(&mut best, attempt).await;
        if best == before {
            break;
        }
    }
    best
}

/// Fewer and plainer messages, whose values stay.
pub(super) async fn fewer(best: &mut Input, attempt: &mut impl Attempt) {
    messages(best, attempt).await;
    let few = best.clone();
    plain(best, attempt).await;
    if *best != few {
        // What does not depend on several conversations or on what is in flight needs fewer messages.
        messages(best, attempt).await;
    }
    alike(best, attempt).await;
}

async fn take(best: &mut Input, smaller: Input, attempt: &mut impl Attempt) -> Option<bool> {
    if smaller == *best || smaller.steps.is_empty() {
        return Some(false);
    }
    let shows = attempt.shows(&smaller).await?;
    if shows {
        *best = smaller;
    }
    Some(shows)
}

/// Leaves out steps: halves, quarters, down to single ones.
async fn messages(best: &mut Input, attempt: &mut impl Attempt) {
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = best.steps.len();
        while at > 0 {
            let start = at.saturating_sub(size);
            let smaller = best.only(|index| index < start || index >= at);
            let Some(_) = take(best, smaller, attempt).await else { return };
            at = start.min(best.steps.len());
        }
        size = if size == 1 { 0 } else { size / 2 };
    }
}

/// One step instead of two that say the same: what came of the second may come of the first as well.
async fn alike(best: &mut Input, attempt: &mut impl Attempt) {
    for at in (1..best.steps.len()).rev() {
        for earlier in 0..at {
            let same = best.steps.get(at).is_some_and(|step| best.steps.get(earlier) == Some(step));
            if !same {
                continue;
            }
            match take(best, best.merged(at, earlier), attempt).await {
                None => return,
                Some(true) => break,
                Some(false) => {}
            }
        }
    }
}

/// Steps in the plainest form: one conversation, each answer waited for, nothing said beside the message.
async fn plain(best: &mut Input, attempt: &mut impl Attempt) {
    for index in 0..best.steps.len() {
        let changes: [fn(&mut super::input::Step); 6] = [
            |step| step.on = 0,
            |step| step.wait = true,
            |step| step.message_mut().into_iter().for_each(|message| message.token = None),
            |step| step.message_mut().into_iter().for_each(|message| message.id = None),
            |step| step.message_mut().into_iter().for_each(|message| message.headers.clear()),
            |step| step.message_mut().into_iter().for_each(|message| message.capabilities = None),
        ];
        for change in changes {
            let mut smaller = best.clone();
            smaller.steps.get_mut(index).into_iter().for_each(change);
            if take(best, smaller, attempt).await.is_none() {
                return;
            }
        }
    }
}

/// Members and elements left out, values made small.
async fn nodes(best: &mut Input, attempt: &mut impl Attempt) {
    for index in 0..best.steps.len() {
        // What makes a request a forbidden one is not known here, and must not be taken away.
        let message = best.steps.get(index).and_then(|step| step.message()).filter(|it| it.forbidden.is_none());
        let pointers = message.map(pointers).unwrap_or_default();
        // From the leaves up, so that what is left out takes nothing with it that is still to come.
        for pointer in pointers.iter().rev() {
            let mut smaller = best.clone();
            let message = smaller.steps.get_mut(index).and_then(|step| step.message_mut());
            if !message.is_some_and(|message| without(message, pointer)) {
                continue;
            }
            let Some(shows) = take(best, smaller, attempt).await else { return };
            if shows {
                continue;
            }
            for _ in 0..24 {
                let mut smaller = best.clone();
                let message = smaller.steps.get_mut(index).and_then(|step| step.message_mut());
                if !message.is_some_and(|message| shorter(message, pointer)) {
                    break;
                }
                match take(best, smaller, attempt).await {
                    None => return,
                    Some(true) => {}
                    Some(false) => break,
                }
            }
        }
    }
}

/// Bytes of lines and of raw steps left out.
async fn bytes(best: &mut Input, attempt: &mut impl Attempt) {
    for index in 0..best.steps.len() {
        let length = |input: &Input| match input.steps.get(index).map(|step| &step.act) {
            Some(Act::Line(text)) => text.len(),
            Some(Act::Raw(bytes)) => bytes.bytes().len(),
            _ => 0,
        };
        let mut size = length(best).div_ceil(2);
        while size > 0 {
            let mut at = length(best);
            while at > 0 {
                let start = at.saturating_sub(size);
                let mut smaller = best.clone();
                if let Some(step) = smaller.steps.get_mut(index) {
                    match &mut step.act {
                        // Only whole characters can be left out of a text.
                        Act::Line(text) if text.is_char_boundary(start) && text.is_char_boundary(at) => {
                            text.drain(start..at);
                        }
                        Act::Raw(bytes) => {
                            let mut rest = bytes.bytes();
                            rest.drain(start..at.min(rest.len()));
                            *bytes = Octets::new(&rest);
                        }
                        _ => {}
                    }
                }
                if take(best, smaller, attempt).await.is_none() {
                    return;
                }
                at = start.min(length(best));
            }
            size = if size == 1 { 0 } else { size / 2 };
        }
    }
}

fn pointers(message: &Message) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(params) = &message.params {
        collect(params, "", &mut out);
    }
    out
}

fn collect(value: &Value, at: &str, out: &mut Vec<String>) {
    const MOST: usize = 200;
    if out.len() >= MOST {
        return;
    }
    out.push(at.to_owned());
    match value {
        Value::Object(members) if !members.keys().any(|name| name.starts_with('$')) => {
            for (name, member) in members {
                collect(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
}

/// Leaves the node out; false where there is none any more.
fn without(message: &mut Message, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return message.params.take().is_some() };
    let last = last.replace("~1", "/").replace("~0", "~");
    match message.params.as_mut().and_then(|params| params.pointer_mut(parent)) {
        Some(Value::Object(members)) => members.shift_remove(&last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Halves a text or a raw literal.
fn shorter(message: &mut Message, pointer: &str) -> bool {
    match message.params.as_mut().and_then(|params| params.pointer_mut(pointer)) {
        Some(Value::String(text)) if text.chars().nth(1).is_some() => {
            *text = text.chars().take(text.chars().count() / 2).collect();
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use mcp_conform_schemas::Era;
    use serde_json::json;

    use super::*;
    use crate::fuzz::input::{Retry, Step};

    struct Fake<F: FnMut(&Input) -> bool> {
        left: u32,
        shows: F,
    }

    impl<F: FnMut(&Input) -> bool> Attempt for Fake<F> {
        async fn shows(&mut self, input: &Input) -> Option<bool> {
            self.left = self.left.checked_sub(1)?;
            Some((self.shows)(input))
        }
    }

    fn long() -> Input {
        let steps = (0..20).map(|n| {
            let arguments = json!({"text": "x".repeat(64), "n": n, "list": [1, 2, 3]});
            Step {
                on: 1,
                wait: false,
                ..Step::request("tools/call", Some(json!({"name": "t", "arguments": arguments})))
            }
        });
        Input { era: Era::Legacy, manner: Default::default(), steps: steps.collect() }
    }

    #[tokio::test]
    async fn what_is_left_is_what_shows_it() {
        let shows = |input: &Input| {
            let has = |n: i64| {
                input.steps.iter().any(|step| {
                    step.message().and_then(|it| it.params.as_ref()?.pointer("/arguments/n")) == Some(&json!(n))
                })
            };
            has(3) && has(17)
        };
        let small = shrink(&long(), &mut Fake { left: 1_000, shows }).await;
        assert_eq!(small.steps.len(), 2);
        for step in &small.steps {
            assert_eq!((step.on, step.wait), (0, true));
            let params = step.message().and_then(|it| it.params.clone()).unwrap();
            assert_eq!(params.to_string().matches(':').count(), 2, "{params}");
        }
    }

    #[tokio::test]
    async fn one_of_two_alike_does_for_both() {
        let call = || Step::request("tools/call", Some(json!({"name": "ask"})));
        let retry = |of| Step::of(Act::Retry(Retry { of, state: None, responses: None, without: 0, name: None }));
        let steps = vec![call(), call(), retry(0), retry(1), retry(3)];
        let input = Input { era: Era::Modern, manner: Default::default(), steps };
        let retries = |input: &Input| input.steps.iter().filter(|step| matches!(step.act, Act::Retry(_))).count();
        let small = shrink(&input, &mut Fake { left: 1_000, shows: |input: &Input| retries(input) >= 3 }).await;
        assert_eq!(small.messages(), 4);
        // Nothing hangs in the air.
        assert_eq!(small.mended(), small);
    }

    #[tokio::test]
    async fn the_number_of_attempts_is_kept_and_bytes_go_last() {
        let mut fake = Fake { left: 7, shows: |_: &Input| true };
        shrink(&long(), &mut fake).await;
        assert_eq!(fake.left, 0);
        let line = Step::of(Act::Line("some {\"key\": BROKEN} and more".to_owned()));
        let input = Input { era: Era::Modern, manner: Default::default(), steps: vec![line] };
        let shows = |input: &Input| matches!(input.steps.first().map(|step| &step.act), Some(Act::Line(text)) if text.contains("BROKEN"));
        let small = shrink(&input, &mut Fake { left: 1_000, shows }).await;
        assert_eq!(small.steps.first().unwrap().act, Act::Line("BROKEN".to_owned()));
    }
}

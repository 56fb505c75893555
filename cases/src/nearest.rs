//! "Did you mean": the closest of some names to one that is unknown.

/// The names that are near enough to `name` to be what was meant, best first, at most three.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // A name of hostile length is never a slip of the finger, and would make the distance expensive.
    if name.len() > LONGEST {
        return Vec::new();
    }
    let bound = (name.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .filter_map(|candidate| Some((score(name, candidate, bound)?, candidate)))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(3);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

const LONGEST: usize = 128;

/// Lower is nearer; nothing when the two have too little in common.
fn score(name: &str, candidate: &str, bound: usize) -> Option<usize> {
    let distance = edits(name, candidate);
    if distance <= bound {
        return Some(distance);
    }
    // The same words in another order, or a part of a longer id, rank behind a slip of the finger.
    let words = |s: &str| -> Vec<String> { s.split(['-', '.', '_', '/']).map(str::to_lowercase).collect() };
    let (ours, theirs) = (words(name), words(candidate));
    let shared = ours.iter().filter(|word| word.len() > 2 && theirs.contains(word)).count();
    (shared >= 2 || (shared == 1 && ours.len() == 1))
        .then(|| bound + 1 + (ours.len() - shared) * 4 + theirs.len().saturating_sub(shared))
}

/// Insertions, deletions, replacements and swaps of neighbours.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut older = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(older[j - 1] + 1);
            }
            row.push(best);
        }
        older = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let known = ["expect", "expect_exit", "expect_nothing", "send"];
        assert_eq!(nearest("exepct", known), ["expect"]);
        assert_eq!(nearest("expect-exit", known), ["expect_exit"]);
        assert!(nearest("zebra", known).is_empty());
    }

    #[test]
    fn the_words_of_an_id_in_another_order_are_found() {
        assert_eq!(
            nearest("mismatch-method-header", ["http-header-method-mismatch", "sub-ack-first"]),
            ["http-header-method-mismatch"]
        );
    }
}

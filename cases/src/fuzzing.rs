//! Bodies of fuzz targets, also run from fixed seeds as tests.

use crate::{ast::Source, parse::parse};

/// Any bytes as a script: a case or clear faults, within bounds, and every fault can be drawn.
pub fn case_script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(faults) = parse(Source { name: "fuzz.yaml".into(), text: text.into() }) {
        assert!(!faults.is_empty(), "a refused script has at least one fault");
        for fault in faults.iter().take(8) {
            assert!(text.get(fault.span.start..fault.span.end).is_some(), "a fault lies in the script");
            assert!(!fault.render(false).is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::load::embedded;

    proptest! {
        #[test]
        fn any_bytes_are_a_case_or_clear_faults(data in vec(any::<u8>(), 0..400)) {
            case_script(&data);
        }

        #[test]
        fn text_that_looks_like_a_script_is_a_case_or_clear_faults(text in "[-a-z:{}\\[\\]$'\"&*!|>#é \n]{0,200}") {
            case_script(text.as_bytes());
        }

        /// A sound script with one piece cut out and another put in is where the lowering is met, not only the YAML.
        #[test]
        fn a_damaged_script_is_a_case_or_clear_faults(
            pick in any::<prop::sample::Index>(),
            from in any::<prop::sample::Index>(),
            len in 0_usize..40,
            piece in "([-a-z:{}$ \n]{0,12}|null|true|-1|1.5|\\[\\]|\\{\\}|'\\$x/y')",
        ) {
            let scripts: Vec<_> = embedded().collect();
            let text = pick.get(&scripts).text.to_string();
            let chars: Vec<char> = text.chars().collect();
            let at = from.index(chars.len());
            let rest = (at + len).min(chars.len());
            let damaged: String = chars[..at].iter().chain(piece.chars().collect::<Vec<_>>().iter()).chain(&chars[rest..]).collect();
            case_script(damaged.as_bytes());
        }
    }

    #[test]
    fn hostile_files_end_quickly() {
        let mut laughs = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
        for (last, next) in ('a'..='h').zip('b'..='i') {
            laughs.push_str(&format!("{next}: &{next} [{}]\n", std::vec![format!("*{last}"); 9].join(", ")));
        }
        case_script(laughs.as_bytes());
        case_script("[".repeat(100_000).as_bytes());
        case_script("{a: ".repeat(100_000).as_bytes());
        case_script("- ".repeat(100_000).as_bytes());
        case_script(("steps:\n".to_owned() + &"- request: {}\n".repeat(10_000)).as_bytes());
        case_script(format!("id: {}\n", "x".repeat(1 << 20)).as_bytes());
    }
}

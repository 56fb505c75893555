//! `--only` of the commands for snapshots: which answers are meant. A glob that means none is a mistake, as with it nothing
//! would be compared.

use globset::GlobSet;
use mcp_conform_cases::nearest;
use mcp_conform_reports::text::clean;

use super::{error::UsageError, plan::glob_set};
use crate::snapshot::{Finding, Nature, Taken, View, What};

/// Which answers are meant; all of them without a glob.
pub(super) struct Only(Vec<(String, GlobSet)>);

impl Only {
    pub(super) fn new(globs: &[String]) -> Result<Self, UsageError> {
        let one = |glob: &String| Ok((glob.clone(), glob_set("only", std::slice::from_ref(glob))?));
        Ok(Self(globs.iter().map(one).collect::<Result<_, UsageError>>()?))
    }

    /// By the name of the answer, or with that of its file before it. A definition is named by its first answer, too.
    fn names(&self, file: &str, answer: &str, method: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|(_, glob)| names(glob, file, answer, method))
    }

    /// Whether a difference between these views is meant. A whole view is, where one of its answers is.
    pub(super) fn takes<'a>(&self, finding: &Finding, mut views: impl Iterator<Item = &'a View>) -> bool {
        let file = stem(&finding.view);
        match finding.what {
            What::NewView(_) | What::ViewGone(_) => {
                let mine = views.find(|view| view.title() == finding.view);
                self.0.is_empty() || mine.is_some_and(|view| !self.of(view).answers.is_empty())
            }
            _ => {
                let first = finding.answer.split(", ").next().unwrap_or_default();
                let definition = finding.nature != Nature::Answer;
                self.names(&file, &finding.answer, if definition { first } else { &finding.answer })
            }
        }
    }

    /// A view with those of its answers that are meant.
    pub(super) fn of(&self, view: &View) -> View {
        let file = stem(&view.title());
        let mut out = view.clone();
        out.answers.retain(|kept| self.names(&file, &kept.name, kept.repeats().unwrap_or(&kept.name)));
        out
    }

    /// Refuses a glob that means nothing of what is compared.
    pub(super) fn means<'a>(
        &self,
        recorded: impl Iterator<Item = &'a View> + Clone,
        taken: &'a [Taken],
    ) -> Result<(), UsageError> {
        let views = || recorded.clone().chain(taken.iter().map(|taken| &taken.view));
        for (text, glob) in &self.0 {
            let means = |view: &View| {
                let file = stem(&view.title());
                let mut kept = view.answers.iter();
                kept.any(|kept| names(glob, &file, &kept.name, kept.repeats().unwrap_or(&kept.name)))
            };
            if views().any(means) {
                continue;
            }
            let mut not_kept = taken.iter().flat_map(|taken| &taken.not_kept);
            if let Some(not) = not_kept.find(|not| glob.is_match(&not.name)) {
                let help = format!("{}: {}", clean(&not.name), clean(&not.reason));
                return Err(UsageError::flag("only", text, "names only what was not asked", help));
            }
            let known: Vec<&str> =
                views().flat_map(|view| &view.answers).filter(|kept| kept.repeats().is_none()).map(name).collect();
            let help = match nearest(text, known.iter().copied()).first() {
                Some(near) => format!("did you mean {:?}?", clean(near)),
                None => format!("there are {}", some_of(&known)),
            };
            return Err(UsageError::flag("only", text, "names no answer, so that nothing would be compared", help));
        }
        Ok(())
    }
}

fn name(kept: &crate::snapshot::Kept) -> &str {
    &kept.name
}

fn names(glob: &GlobSet, file: &str, answer: &str, method: &str) -> bool {
    [answer, method].into_iter().any(|name| glob.is_match(name) || glob.is_match(format!("{file}/{name}")))
}

/// The name of the file of a view, without its extension.
pub(super) fn stem(title: &str) -> String {
    title.replace(" over ", "-")
}

fn some_of(known: &[&str]) -> String {
    const SHOWN: usize = 6;
    let mut names: Vec<&str> = Vec::new();
    known.iter().for_each(|name| {
        if !names.contains(name) {
            names.push(name);
        }
    });
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{:?}", clean(name))).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

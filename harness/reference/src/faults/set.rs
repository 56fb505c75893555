//! What one server is broken by: [`Fault`], [`Faults`], and reading a name.

use std::fmt;

use super::table::faults;

/// One fault, by its name. The constants are declared by the tables of the areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fault(pub(super) &'static str);

/// The faults of one server: none or one, or more when somebody wants to see how they mix.
#[derive(Clone, Debug, Default)]
pub struct Faults(Vec<Fault>);

/// A name that no fault has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFault {
    /// The name as it was given.
    pub name: String,
    /// The nearest name that a fault has, if one is near.
    pub suggestion: Option<&'static str>,
}

impl Fault {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl Faults {
    /// A sound server.
    pub fn none() -> Self {
        Self::default()
    }

    /// A server with one fault.
    pub fn one(fault: Fault) -> Self {
        Self(vec![fault])
    }

    /// This and one more.
    #[must_use]
    pub fn and(mut self, fault: Fault) -> Self {
        self.0.push(fault);
        self
    }

    /// Whether the server is sound.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the server has a fault.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Fault> + '_ {
        self.0.iter().copied()
    }

    /// The fault of a name.
    pub fn parse(name: &str) -> Result<Fault, UnknownFault> {
        if let Some(info) = faults().iter().find(|info| info.name == name) {
            return Ok(info.fault);
        }
        let suggestion = nearest(name, faults().iter().map(|info| info.name));
        Err(UnknownFault { name: name.to_owned(), suggestion })
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self::one(fault)
    }
}

impl fmt::Display for UnknownFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no fault named {:?}", self.name)?;
        match self.suggestion {
            Some(suggestion) => write!(formatter, "; did you mean {suggestion:?}?"),
            None => write!(formatter, "; --list-faults names them all"),
        }
    }
}

impl std::error::Error for UnknownFault {}

/// The known name that is nearest to another one, if one is near.
pub(crate) fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let nearest = known.map(|known| (distance(known, name), known)).min();
    nearest.filter(|(distance, known)| distance * 3 <= known.len()).map(|(_, known)| known)
}

/// How many letters have to change to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut next = vec![line + 1];
        for (column, against) in other.iter().enumerate() {
            let at = |index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
            let left = next.last().copied().unwrap_or(usize::MAX - 1);
            let replaced = at(column) + usize::from(letter != *against);
            next.push(replaced.min(at(column + 1) + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_or_a_near_one_is_told() {
        assert_eq!(Faults::parse("id-stringified"), Ok(Fault::IdStringified));
        let error = Faults::parse("id-stringifed").expect_err("the name is misspelt");
        assert_eq!(error.suggestion, Some("id-stringified"));
        let error = Faults::parse("qqqqqq").expect_err("there is no such fault");
        assert_eq!(error.suggestion, None);
    }
}

//! Memory of the past that cannot grow: [`Bounded`] keeps the newest entries of a map and knows that it forgot some.

use std::collections::BTreeMap;

/// Keys that grow with time, so that the first entry is the oldest.
#[derive(Debug)]
pub(super) struct Bounded<K, V> {
    entries: BTreeMap<K, V>,
    most: usize,
}

impl<K: Ord, V> Bounded<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most }
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.entries.insert(key, value);
        while self.entries.len() > self.most {
            self.entries.pop_first();
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key)
    }
}

/// The newest hashes of a stream of values: enough to notice a repeat, small enough for a long night.
#[derive(Debug)]
pub(super) struct Remembered {
    order: std::collections::VecDeque<u64>,
    seen: std::collections::HashMap<u64, u64>,
    most: usize,
}

impl Remembered {
    pub(super) fn new(most: usize) -> Self {
        Self { order: std::collections::VecDeque::new(), seen: std::collections::HashMap::new(), most }
    }

    /// What was noted with the same value before, if anything; notes the new one in its place.
    pub(super) fn note(&mut self, value: u64, with: u64) -> Option<u64> {
        let before = self.seen.insert(value, with);
        if before.is_none() {
            self.order.push_back(value);
            if self.order.len() > self.most
                && let Some(oldest) = self.order.pop_front()
            {
                self.seen.remove(&oldest);
            }
        }
        before
    }
}

/// A hash that is equal for equal values within one process; never written anywhere.
pub(super) fn hash(value: impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut bounded = Bounded::new(2);
        for key in 0..5 {
            bounded.insert(key, ());
        }
        assert!(bounded.get(&2).is_none() && bounded.get(&3).is_some() && bounded.get(&4).is_some());
        let mut remembered = Remembered::new(2);
        assert_eq!([1, 2, 1, 3, 1].map(|value| remembered.note(value, value)), [None, None, Some(1), None, None]);
    }
}

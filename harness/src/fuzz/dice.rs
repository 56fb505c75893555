//! Where every choice of the fuzzer comes from: a seed, or the bytes of a coverage-guided fuzzer.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Choices, the same ones for the same source.
#[derive(Debug)]
pub struct Dice(Source);

#[derive(Debug)]
enum Source {
    /// Choices come to their end with the bytes: from there on the first of every kind is taken.
    Bytes {
        data: Vec<u8>,
        next: usize,
    },
    Seed(Box<ChaCha8Rng>),
}

impl Dice {
    /// One stream of a seed; streams of one seed have nothing to do with each other.
    pub fn seeded(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(Source::Seed(Box::new(rng)))
    }

    pub fn bytes(data: &[u8]) -> Self {
        Self(Source::Bytes { data: data.to_vec(), next: 0 })
    }

    /// The bytes came to their end.
    pub fn is_spent(&self) -> bool {
        matches!(&self.0, Source::Bytes { data, next } if *next >= data.len())
    }

    pub fn number(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(rng) => rng.next_u64(),
            Source::Bytes { data, next } => {
                let mut out = 0;
                for _ in 0..2 {
                    out = (out << 8) | u64::from(data.get(*next).copied().unwrap_or_default());
                    *next += 1;
                }
                out
            }
        }
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0 | 1 => 0,
            end => usize::try_from(self.number() % end as u64).unwrap_or_default(),
        }
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 1 % times.max(1)
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index)
    }

    /// An index by weights; `None` where nothing weighs anything.
    pub fn weighted(&mut self, weights: impl Iterator<Item = u64> + Clone) -> Option<usize> {
        let sum: u64 = weights.clone().sum();
        if sum == 0 {
            return None;
        }
        let mut at = self.number() % sum;
        weights.into_iter().position(|weight| match at.checked_sub(weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        })
    }

    pub fn fill(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| u8::try_from(self.number() & 0xff).unwrap_or_default()).collect()
    }
}

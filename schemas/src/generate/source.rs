//! Where the choices of the generator come from: fuzzer bytes, a seed, or always the plainest one.

use arbitrary::Unstructured;

/// Makes choices.
pub(super) trait Source {
    /// An index below `len`; 0 is the plainest choice. `len` is at least 1.
    fn index(&mut self, len: usize) -> usize;
    /// A number of the closed range.
    fn int(&mut self, low: i64, high: i64) -> i64;
    /// Whether to do what is not needed: add an optional member, another item.
    fn more(&mut self) -> bool;
    /// Whether this source wants the plainest value everywhere.
    fn plain(&self) -> bool {
        false
    }
}

/// Always the plainest choice.
pub(super) struct Plain;

impl Source for Plain {
    fn index(&mut self, _len: usize) -> usize {
        0
    }

    fn int(&mut self, low: i64, high: i64) -> i64 {
        1.clamp(low, high.max(low))
    }

    fn more(&mut self) -> bool {
        false
    }

    fn plain(&self) -> bool {
        true
    }
}

/// The plainest choice of everything, with all optional members there.
pub(super) struct Full;

impl Source for Full {
    fn index(&mut self, _len: usize) -> usize {
        0
    }

    fn int(&mut self, low: i64, high: i64) -> i64 {
        1.clamp(low, high.max(low))
    }

    fn more(&mut self) -> bool {
        true
    }

    fn plain(&self) -> bool {
        true
    }
}

/// A reproducible sequence of choices (a 64-bit xorshift; quality does not matter, determinism does).
pub(super) struct Seeded(u64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Source for Seeded {
    fn index(&mut self, len: usize) -> usize {
        usize::try_from((self.next() >> 16) % u64::try_from(len.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    fn int(&mut self, low: i64, high: i64) -> i64 {
        let span = high.abs_diff(low).saturating_add(1);
        let offset = (self.next() >> 1) % span;
        low.saturating_add_unsigned(offset).min(high)
    }

    fn more(&mut self) -> bool {
        self.next() & 0x100 != 0
    }
}

/// Choices out of a fuzzer's bytes; plain ones when the bytes run out.
pub(super) struct Bytes<'u, 'b>(pub(super) &'u mut Unstructured<'b>);

impl Source for Bytes<'_, '_> {
    fn index(&mut self, len: usize) -> usize {
        self.0.choose_index(len.max(1)).unwrap_or(0)
    }

    fn int(&mut self, low: i64, high: i64) -> i64 {
        if low >= high {
            return low;
        }
        self.0.int_in_range(low..=high).unwrap_or(low)
    }

    fn more(&mut self) -> bool {
        self.0.arbitrary::<bool>().unwrap_or(false)
    }
}

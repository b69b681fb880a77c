//! The one source of chance: the same seed throws the same numbers, on every machine and release.

use std::time::Duration;

/// Seeded dice (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that will throw what this seed always throws.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from the first to the last, both included.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.throw() % (last - first + 1)
    }

    /// Returns true this often in a hundred.
    pub(crate) fn percent(&mut self, often: u64) -> bool {
        self.throw() % 100 < often
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.between(0, of.len() as u64 - 1)).expect("an index")]
    }

    /// An index below this.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.between(0, end as u64 - 1)).expect("an index")
    }

    /// A duration within these milliseconds.
    pub(crate) fn ms(&mut self, first: u64, last: u64) -> Duration {
        Duration::from_millis(self.between(first, last))
    }

    /// A duration up to this many milliseconds, of every order of magnitude as often as of any other.
    pub(crate) fn ms_of_any_order(&mut self, last: u64) -> Duration {
        let order = self.between(1, u64::from(last.ilog2()) + 1);
        self.ms(0, (1 << order).min(last))
    }

    /// In another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

//! Chance that a seed repeats.

/// A sequence of numbers that depends on its seed alone: splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of this span, both ends included.
    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = u64::try_from(to - from).expect("from is not above to") + 1;
        from + i64::try_from(self.next() % span).expect("below the span")
    }

    /// An index below a length.
    pub(crate) fn below(&mut self, length: usize) -> usize {
        usize::try_from(self.between(0, i64::try_from(length).expect("short") - 1)).expect("not negative")
    }

    /// The same in another order.
    pub(crate) fn shuffled<T: Clone>(&mut self, all: &[T]) -> Vec<T> {
        let mut left = all.to_vec();
        let mut shuffled = Vec::new();
        while !left.is_empty() {
            shuffled.push(left.swap_remove(self.below(left.len())));
        }
        shuffled
    }
}

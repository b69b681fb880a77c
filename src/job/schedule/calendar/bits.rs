//! A set of small numbers: the values of one field, or the days of one month.
//! Finding the nearest member takes an instruction or two.

/// A set of numbers from 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bits(pub(crate) u64);

impl Bits {
    /// Returns the set of this number alone.
    pub(crate) const fn one(number: u8) -> Self {
        Self(1 << number)
    }

    /// Returns the set of every `step`-th number from `first` to `last`, both below 64; `step` is at least 1.
    pub(crate) fn stepped(first: u8, last: u8, step: u8) -> Self {
        (first..=last).step_by(step.into()).map(Self::one).fold(Self::default(), Self::or)
    }

    /// Returns the numbers that are in either set.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the numbers that are in both sets.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether it has no number.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has this number.
    pub(crate) const fn contains(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Returns its lowest number from `number` on.
    pub(crate) const fn at_or_above(self, number: u8) -> Option<u8> {
        if number > 63 {
            return None;
        }
        match self.0 & u64::MAX << number {
            0 => None,
            left => Some(left.trailing_zeros() as u8),
        }
    }

    /// Returns its highest number up to `number`, which is below 64.
    pub(crate) const fn at_or_below(self, number: u8) -> Option<u8> {
        match self.0 & u64::MAX >> (63 - number) {
            0 => None,
            left => Some(63 - left.leading_zeros() as u8),
        }
    }

    /// Returns its highest number below `number`, which is below 65.
    pub(crate) const fn below(self, number: u8) -> Option<u8> {
        match number {
            0 => None,
            _ => self.at_or_below(number - 1),
        }
    }

    /// Iterates over its numbers, lowest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |&number| self.contains(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_those_of_a_sorted_list() {
        for set in [Bits(0), Bits(1), Bits(1 << 63), Bits::stepped(3, 59, 7), Bits(u64::MAX)] {
            let list: Vec<u8> = set.iter().collect();
            for n in 0..64 {
                assert_eq!(set.at_or_above(n), list.iter().copied().find(|&m| m >= n), "{set:?} {n}");
                assert_eq!(set.at_or_below(n), list.iter().copied().rfind(|&m| m <= n), "{set:?} {n}");
                assert_eq!(set.below(n), list.iter().copied().rfind(|&m| m < n), "{set:?} {n}");
            }
            assert_eq!(set.at_or_above(64), None);
            assert_eq!(set.below(64), list.last().copied());
        }
    }

    #[test]
    fn steps_start_at_the_first_number_and_stay_within_the_last() {
        assert_eq!(Bits::stepped(5, 59, 15).iter().collect::<Vec<_>>(), [5, 20, 35, 50]);
        assert_eq!(Bits::stepped(0, 6, 7), Bits::one(0));
    }
}

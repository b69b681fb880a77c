//! Slots of `H`: values that are hashed from the job's name, so that jobs are spread without configuration. A slot
//! depends only on the key, the field and the number of choices, and is the same in every release.

use sha2::{Digest, Sha256};

use super::field::Field;

/// The slots of one job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots<'a> {
    key: &'a str,
}

impl<'a> Slots<'a> {
    /// Returns the slots of the job with this key.
    pub(crate) const fn of(key: &'a str) -> Self {
        Self { key }
    }

    /// Returns the slot among this many choices, from 0; `choices` is at least 1.
    pub(crate) fn slot(self, field: Field, choices: u8) -> u8 {
        let hash =
            Sha256::new().chain_update(self.key).chain_update([0]).chain_update(field.name()).finalize();
        let head = hash.first_chunk().expect("a sha256 has 32 bytes");
        let slot = u64::from_be_bytes(*head) % u64::from(choices);
        u8::try_from(slot).expect("below `choices`")
    }

    /// Returns the first and last value among which a plain `H` chooses.
    pub(crate) const fn range(field: Field) -> (u8, u8) {
        match field {
            // Every month has a 28th, so that a monthly job runs each month.
            Field::DayOfMonth => (1, 28),
            _ => (field.first(), field.last()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A changed slot would move the jobs of every user on the day of the upgrade.
    #[test]
    fn slots_are_the_same_for_ever() {
        let slots = Slots::of("nightly-backup");
        let all =
            [Field::Second, Field::Minute, Field::Hour, Field::DayOfMonth, Field::Month, Field::DayOfWeek]
                .map(|field| slots.slot(field, field.count()));
        assert_eq!(all, [57, 49, 5, 1, 11, 2]);
        assert_eq!(Slots::of("payout").slot(Field::Minute, 60), 25);
    }

    #[test]
    fn slots_of_different_jobs_spread_over_the_whole_field() {
        let mut seen = [0u32; 60];
        for job in 0..6_000 {
            seen[usize::from(Slots::of(&format!("job-{job}")).slot(Field::Minute, 60))] += 1;
        }
        assert!(seen.iter().all(|&jobs| (60..140).contains(&jobs)), "{seen:?}");
    }
}

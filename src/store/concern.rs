//! Findings about how a store is set up: what voids the promise, what may be lost, and what could not be checked.
//! `check --probe` reports them, and so does every replica when it reaches the store.

/// How much a finding matters. The worst sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Jobs cannot run, or a promise is void.
    Error,
    /// Jobs run, but data may be lost or requests refused later.
    Warning,
    /// It could not be checked, so it may be in any state.
    Unchecked,
    /// For information only.
    Note,
}

/// One finding about a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concern {
    /// How much it matters.
    pub grade: Grade,
    /// The subject, and what it means for jobs.
    pub what: String,
    /// What was found.
    pub value: String,
    /// What to do about it; `None` if nothing need be done.
    pub help: Option<String>,
}

impl Concern {
    /// Returns a finding of [`Grade::Error`].
    pub fn error(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { grade: Grade::Error, what: what.into(), value: value.into(), help: None }
    }

    /// Returns a finding of [`Grade::Warning`].
    pub fn warning(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { grade: Grade::Warning, ..Self::error(what, value) }
    }

    /// Returns a finding of [`Grade::Unchecked`] about the subject `what`.
    pub fn unchecked(what: &str, value: impl Into<String>) -> Self {
        Self { grade: Grade::Unchecked, ..Self::error(format!("{what} could not be checked"), value) }
    }

    /// Returns a finding of [`Grade::Note`].
    pub fn note(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { grade: Grade::Note, ..Self::error(what, value) }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// Formats a size for people, rounded down: `512 MiB`, `1.5 GiB`.
pub(super) fn shown_bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| bytes >> shift > 0) {
        None => format!("{bytes} bytes"),
        Some((unit, shift)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            match tenths % 10 {
                0 => format!("{} {unit}", tenths / 10),
                _ if tenths >= 1_000 => format!("{} {unit}", tenths / 10),
                tenth => format!("{}.{tenth} {unit}", tenths / 10),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_largest_unit_that_fits() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1 KiB"),
            (1_610_612_736, "1.5 GiB"),
            (134_742_016, "128 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(shown_bytes(bytes), shown);
        }
    }

    #[test]
    fn errors_come_first_and_notes_last() {
        assert!(Grade::Error < Grade::Warning && Grade::Warning < Grade::Unchecked);
        assert!(Grade::Unchecked < Grade::Note);
    }
}

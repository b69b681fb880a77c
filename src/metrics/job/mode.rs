//! Which jobs have series.

/// A job has some nine series on every replica. Above so many enabled jobs, only those in trouble have series
/// unless a scrape asks for all.
const MOST_BY_DEFAULT: usize = 1_000;

/// Which jobs have series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesMode {
    /// All that are enabled.
    All,
    /// Those that failed last, that are overdue or paused, and those that run on this replica.
    Trouble,
    /// None.
    None,
}

impl SeriesMode {
    /// Parses a word of the query `jobs=`; `None` if it is no mode.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "trouble" => Some(Self::Trouble),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// Returns the mode for a scrape that asks for none, with so many enabled jobs.
    pub fn by_default(jobs: usize) -> Self {
        if jobs <= MOST_BY_DEFAULT { Self::All } else { Self::Trouble }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_have_series_up_to_a_thousand() {
        assert_eq!(SeriesMode::by_default(0), SeriesMode::All);
        assert_eq!(SeriesMode::by_default(1_000), SeriesMode::All);
        assert_eq!(SeriesMode::by_default(1_001), SeriesMode::Trouble);
    }

    #[test]
    fn a_scrape_asks_by_a_word() {
        for (word, mode) in [
            ("all", Some(SeriesMode::All)),
            ("trouble", Some(SeriesMode::Trouble)),
            ("none", Some(SeriesMode::None)),
            ("All", None),
            ("", None),
        ] {
            assert_eq!(SeriesMode::parse(word), mode, "{word}");
        }
    }
}

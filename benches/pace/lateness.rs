//! How late jobs started, by what they wrote down themselves.

use std::collections::BTreeMap;
use std::path::Path;

/// Starts of one measurement.
pub(crate) struct Starts {
    /// When each tick was started, in microseconds since the epoch; by tick in milliseconds, and job.
    by_tick: BTreeMap<(i64, String), Vec<i64>>,
}

impl Starts {
    /// Reads what the jobs wrote.
    pub(crate) fn read(records: &Path) -> Self {
        let text = std::fs::read_to_string(records).unwrap_or_default();
        let mut by_tick: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (Some(job), Some(tick), Some(at)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let number = |word: &str| word.parse::<i64>().expect("a number");
            by_tick.entry((number(tick), job.to_owned())).or_default().push(number(at));
        }
        Self { by_tick }
    }

    /// The first start of each tick from the first of these instants up to before the last, in microseconds after it.
    pub(crate) fn lateness_us(&self, from_ms: i64, to_ms: i64) -> Vec<i64> {
        let mut late: Vec<i64> = self.within(from_ms, to_ms).map(|(tick, at)| at[0] - tick * 1_000).collect();
        late.sort_unstable();
        late
    }

    /// When what started since then did so, in microseconds since the epoch.
    pub(crate) fn since_us(&self, from_us: i64) -> impl Iterator<Item = i64> {
        self.by_tick.values().flatten().copied().filter(move |at| *at >= from_us)
    }

    /// Starts beyond the first of each tick.
    pub(crate) fn doubled(&self, from_ms: i64, to_ms: i64) -> usize {
        self.within(from_ms, to_ms).map(|(_, at)| at.len() - 1).sum()
    }

    fn within(&self, from_ms: i64, to_ms: i64) -> impl Iterator<Item = (i64, &Vec<i64>)> {
        let is_within = move |tick: &i64| (from_ms..to_ms).contains(tick);
        self.by_tick.iter().map(|((tick, _), at)| (*tick, at)).filter(move |(tick, _)| is_within(tick))
    }
}

/// The value below which so many of a thousand lie; nothing of nothing.
pub(crate) fn quantile(sorted: &[i64], of_thousand: usize) -> Option<i64> {
    sorted.get(sorted.len().checked_sub(1)? * of_thousand / 1_000).copied()
}

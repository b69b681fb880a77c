//! What a row of ticks looks like.

use proptest::prelude::*;

use crate::job::{Cause, Outcome, Tick, Verdict};
use crate::lease::HistoryEntry;
use crate::time::UtcMillis;

use super::bars::SLOTS;
use super::*;

/// A tick that ended so, after this many milliseconds if it ran.
fn ended(outcome: Outcome, cause: Cause, took_ms: i64) -> HistoryEntry {
    let tick = Tick::at_millis(0);
    let entry = HistoryEntry::without_run(tick, cause, Verdict::plain(outcome), UtcMillis(took_ms));
    HistoryEntry { started: Some(tick.instant()), ..entry }
}

/// Runs that succeeded after these seconds.
fn took(seconds: &[i64]) -> Vec<HistoryEntry> {
    seconds.iter().map(|took| ended(Outcome::Succeeded, Cause::Schedule, took * 1_000)).collect()
}

/// One entry of each outcome, and a rerun.
fn of_each_form() -> Vec<HistoryEntry> {
    let mut all: Vec<HistoryEntry> = Outcome::ALL
        .iter()
        .filter(|outcome| **outcome != Outcome::Running)
        .map(|outcome| ended(*outcome, Cause::Schedule, 20_000))
        .collect();
    all.push(ended(Outcome::Succeeded, Cause::Rerun, 20_000));
    all
}

#[test]
fn the_height_of_a_bar_is_its_duration_beside_the_median_of_the_row() {
    for (seconds, bars) in [
        (&[][..], ""),
        (&[20], "▄"),
        (&[20, 20, 20, 5, 80], "▄▄▄▁█"),
        (&[20, 20, 20, 1, 3_600], "▄▄▄▁█"),
        (&[20, 20, 20, 10, 14, 28, 40, 60], "▄▄▄▂▃▅▆▇"),
        (&[0, 0, 0], "▄▄▄"),
    ] {
        let text = Sparkline::of(&took(seconds)).terminal(SparkSigns::Unicode);
        assert_eq!(text, bars, "{seconds:?}");
    }
}

#[test]
fn each_form_has_a_sign_of_its_own_also_where_there_are_letters_only() {
    let line = Sparkline::of(&of_each_form());
    assert_eq!(line.terminal(SparkSigns::Unicode), "▄✗✗□✗◇◆?↻");
    assert_eq!(line.terminal(SparkSigns::Ascii), "4xxkxsm?r");
}

#[test]
fn the_newest_sixty_are_shown_and_the_newest_is_at_the_right() {
    let mut entries = took(&[20; 100]);
    entries.push(ended(Outcome::Failed, Cause::Schedule, 1_000));
    let line = Sparkline::of(&entries);
    assert_eq!(line.terminal(SparkSigns::Ascii), format!("{}x", "4".repeat(59)));
    let [ran, failed] = &line.paths()[..] else { panic!("two forms") };
    assert!(ran.data.starts_with("M2 24v-12m4 12v-12"), "{}", ran.data);
    assert_eq!((failed.form, failed.data.as_str()), (SparkForm::Failed, "M238 12h0"));
}

#[test]
fn a_short_row_begins_further_right_and_each_form_is_one_path() {
    let paths = Sparkline::of(&of_each_form()).paths();
    let data: Vec<(SparkForm, &str)> = paths.iter().map(|path| (path.form, path.data.as_str())).collect();
    assert_eq!(
        data,
        [
            (SparkForm::Ran, "M206 24v-12"),
            (SparkForm::Rerun, "M238 12h0"),
            (SparkForm::Failed, "M210 12h4h8"),
            (SparkForm::Killed, "M218 12h0"),
            (SparkForm::Skipped, "M226 12h0"),
            (SparkForm::Missed, "M230 12h0"),
            (SparkForm::Unknown, "M234 12h0"),
        ]
    );
    assert_eq!(Sparkline::of(&[]).paths(), []);
    assert_eq!((SPARK_WIDTH, SPARK_HEIGHT), (240, 24));
}

#[test]
fn every_form_but_the_bar_has_a_shape() {
    let without: Vec<SparkForm> = SparkForm::ALL.into_iter().filter(|form| form.shape().is_none()).collect();
    assert_eq!(without, [SparkForm::Ran]);
}

#[test]
fn the_title_counts_the_ticks_and_says_what_is_usual() {
    let folded = |count: Option<u64>| HistoryEntry {
        after: Some(UtcMillis(0)),
        count,
        started: None,
        ..ended(Outcome::Missed, Cause::Schedule, 0)
    };
    for (entries, title) in [
        (Vec::new(), "no tick has been decided yet"),
        (took(&[21, 21, 60]), "newest ticks: 3 succeeded; a run usually takes 21s"),
        (vec![folded(Some(37))], "newest ticks: 37 missed"),
        (vec![folded(Some(37)), folded(None)], "newest ticks: at least 38 missed"),
        (
            of_each_form(),
            "newest ticks: 2 succeeded, 1 failed, 1 timed out, 1 killed, 1 interrupted, 1 skipped, 1 missed, 1 unknown; \
             a run usually takes 20s",
        ),
    ] {
        assert_eq!(Sparkline::of(&entries).title(), title);
    }
}

proptest! {
    #[test]
    fn a_row_takes_at_most_800_bytes_and_shows_each_tick_once(
        ticks in prop::collection::vec((0..Outcome::ALL.len(), any::<bool>(), 0..100_000_000_i64), 0..100),
    ) {
        let entries: Vec<HistoryEntry> = ticks
            .iter()
            .map(|(outcome, is_rerun, took)| {
                let cause = if *is_rerun { Cause::Rerun } else { Cause::Schedule };
                ended(Outcome::ALL[*outcome], cause, *took)
            })
            .collect();
        let line = Sparkline::of(&entries);
        let paths = line.paths();
        prop_assert!(paths.iter().map(|path| path.data.len()).sum::<usize>() <= 800);
        prop_assert!(paths.iter().all(|path| path.data.is_ascii() && !path.data.contains('.')));
        prop_assert_eq!(line.terminal(SparkSigns::Unicode).chars().count(), entries.len().min(SLOTS));
        prop_assert_eq!(line.terminal(SparkSigns::Ascii).len(), entries.len().min(SLOTS));
        for (at, path) in paths.iter().enumerate() {
            prop_assert!(paths[at + 1..].iter().all(|other| other.form != path.form));
        }
    }
}

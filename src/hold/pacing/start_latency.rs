//! Measures the stages between a tick's instant and the first instruction of its command, over the lifetime of a
//! replica. Heartbeats report them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::events::StartStages;
use crate::run::Birth;
use crate::store::StageTimes;
use crate::time::BootInstant;

/// The stages in order, and their sum.
const NAMES: [&str; 5] = ["claim", "grant", "prepare", "spawn", "late"];

/// Histogram steps per doubling of the time: a reported time is at most a quarter too long.
const STEPS: usize = 4;

/// Doublings that are distinguished, from one microsecond on: the longest is above an hour.
const DOUBLINGS: usize = 32;

/// When the stages of one start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The tick's instant, by the boot clock.
    pub(crate) instant: BootInstant,
    /// When the claim was sent.
    pub(crate) sent: BootInstant,
    /// When the grant was received.
    pub(crate) granted: BootInstant,
    /// When the guard was requested, and when the main process existed.
    pub(crate) birth: Birth,
}

impl Start {
    /// Returns how long the stages took; `None` if the command was not started.
    fn stages(&self) -> Option<StartStages> {
        let Birth { asked: Some(asked), born: Some(born) } = self.birth else { return None };
        let [sent, granted, asked, born] =
            [self.sent, self.granted, asked, born].map(|end| end.max(self.instant));
        Some(StartStages {
            claim: sent.since(self.instant),
            grant: granted.since(sent),
            prepare: asked.since(granted),
            spawn: born.since(asked),
        })
    }
}

/// How long the stages of all starts took.
#[derive(Debug, Default)]
pub(crate) struct StartLatency(Mutex<[Histogram; NAMES.len()]>);

impl StartLatency {
    /// Counts a start, and returns how long its stages took; `None` if the command was not started. Time before the
    /// instant does not count.
    pub(crate) fn count(&self, start: &Start) -> Option<StartStages> {
        let stages = start.stages()?;
        let StartStages { claim, grant, prepare, spawn } = stages;
        let late = claim + grant + prepare + spawn;
        let mut histograms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (histogram, took) in histograms.iter_mut().zip([claim, grant, prepare, spawn, late]) {
            histogram.count(took);
        }
        Some(stages)
    }

    /// Returns how long each stage takes; empty until a command has been started.
    pub(crate) fn times(&self) -> Vec<StageTimes> {
        let histograms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = |(name, histogram): (&&str, &Histogram)| {
            let (p50_us, p99_us) = (histogram.quantile(50)?, histogram.quantile(99)?);
            Some(StageTimes { stage: (*name).to_owned(), p50_us, p99_us })
        };
        NAMES.iter().zip(histograms.iter()).filter_map(times).collect()
    }
}

/// How often a stage took how long.
#[derive(Debug)]
struct Histogram([u64; STEPS * DOUBLINGS]);

impl Default for Histogram {
    fn default() -> Self {
        Self([0; STEPS * DOUBLINGS])
    }
}

impl Histogram {
    fn count(&mut self, took: Duration) {
        self.0[step(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))] += 1;
    }

    /// Returns the time in microseconds that so many of a hundred did not exceed; `None` if nothing was counted.
    fn quantile(&self, of_hundred: u64) -> Option<u64> {
        let all: u64 = self.0.iter().sum();
        let wanted = (all * of_hundred).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.map(longest)
    }
}

/// Returns the step of a time: its largest power of two, divided into quarters.
fn step(micros: u64) -> usize {
    let micros = micros.clamp(1, (1 << DOUBLINGS) - 1);
    let doubling = micros.ilog2() as usize;
    let quarter = ((micros - (1 << doubling)) * STEPS as u64) >> doubling;
    doubling * STEPS + quarter as usize
}

/// Returns the longest time of a step, in microseconds.
fn longest(step: usize) -> u64 {
    let (doubling, quarter) = (step / STEPS, step % STEPS);
    (1 << doubling) + ((quarter as u64 + 1) << doubling) / STEPS as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> BootInstant {
        BootInstant(Duration::from_micros(us))
    }

    fn start(born: u64) -> Start {
        let birth = Birth { asked: Some(at(1_900)), born: Some(at(born)) };
        Start { instant: at(1_000), sent: at(1_100), granted: at(1_500), birth }
    }

    #[test]
    fn every_stage_is_told_within_a_quarter_and_never_too_short() {
        let start_latency = StartLatency::default();
        assert_eq!(start_latency.times(), []);
        start_latency.count(&start(2_900));
        let took: Vec<_> =
            start_latency.times().into_iter().map(|times| (times.stage, times.p50_us)).collect();
        for ((stage, told), (expected, took)) in took.into_iter().zip([
            ("claim", 100),
            ("grant", 400),
            ("prepare", 400),
            ("spawn", 1_000),
            ("late", 1_900),
        ]) {
            assert_eq!(stage, expected);
            assert!((took..=took * 5 / 4 + 1).contains(&told), "{stage}: {told} for {took}");
        }
    }

    #[test]
    fn what_was_granted_ahead_of_the_instant_is_no_part_of_being_late() {
        let start_latency = StartLatency::default();
        start_latency.count(&Start { sent: at(200), granted: at(900), ..start(2_900) });
        let took: Vec<_> = start_latency.times().into_iter().map(|times| times.p50_us).collect();
        assert!(took[0] <= 1 && took[1] <= 1, "{took:?}");
        assert!((900..=1_126).contains(&took[2]) && (1_900..=2_376).contains(&took[4]), "{took:?}");
    }

    #[test]
    fn of_many_starts_the_slowest_of_a_hundred_is_not_in_the_middle() {
        let start_latency = StartLatency::default();
        for born in [2_000; 98].into_iter().chain([102_000; 2]) {
            start_latency.count(&start(born));
        }
        let late = start_latency.times().pop().expect("all together come last");
        assert!(late.p50_us < 1_300 && late.p99_us >= 101_000, "{late:?}");
    }

    #[test]
    fn what_never_started_does_not_count() {
        let start_latency = StartLatency::default();
        start_latency.count(&Start { birth: Birth { born: None, ..start(2_000).birth }, ..start(2_000) });
        assert_eq!(start_latency.times(), []);
    }

    #[test]
    fn any_time_has_its_step() {
        for micros in [0, 1, 2, 3, 4, 5, 7, 1_000, 1_023, 1_024, u64::MAX] {
            let step = step(micros);
            assert!(longest(step) >= micros || step == STEPS * DOUBLINGS - 1, "{micros}");
        }
    }
}

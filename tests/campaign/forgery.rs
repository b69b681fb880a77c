//! Messages on the channel of hints that no replica sent: noise, and what looks true and is false.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::{Commands, RedisResult};

use crate::dice::Dice;
use crate::pause::pause;
use crate::world::World;

/// The campaign's channel.
const CHANNEL: &str = "solocron:{campaign}:hints:0";

/// Between two rounds of messages; and how many the first one has for each job.
const EVERY: Duration = Duration::from_millis(500);
const BURST: usize = 200;

/// What somebody tells who wants jobs not to run.
pub(crate) const LIES: &[Lie] = &[Lie::Decided, Lie::LongLease, Lie::MarkAhead, Lie::GivenBack];

/// What is published.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lie {
    /// What is no hint, or one of another life.
    Noise,
    /// The next tick is decided.
    Decided,
    /// The same, by one with a lease of thirty years.
    LongLease,
    /// Everything up to ten years from now is decided.
    MarkAhead,
    /// What was decided is open again.
    GivenBack,
}

/// Somebody who publishes until the flag says that it is enough.
pub(crate) struct Forger(Arc<AtomicBool>);

impl Forger {
    /// Begins to tell these, of all jobs.
    pub(crate) fn begin(world: &mut World, lies: &'static [Lie], mut dice: Dice) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let jobs: Vec<String> = world.jobs.iter().map(|job| job.name.clone()).collect();
        let opened = world.server().connect();
        std::thread::spawn(move || {
            let Ok(mut to) = opened else { return };
            let mut times = BURST;
            // A server that has gone has nobody to be told anything.
            while !ends.load(Ordering::SeqCst) && publish(&mut to, (&jobs, times), lies, &mut dice).is_ok() {
                times = 1;
                pause(EVERY);
            }
        });
        Self(is_over)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn publish(
    to: &mut redis::Connection,
    (jobs, times): (&[String], usize),
    lies: &[Lie],
    dice: &mut Dice,
) -> RedisResult<()> {
    let said: String = redis::cmd("INFO").arg("replication").query(to)?;
    let era = said.lines().find_map(|line| line.strip_prefix("master_replid:")).unwrap_or_default();
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query(to)?;
    let now_ms = seconds * 1_000 + micros / 1_000;
    for _ in 0..times {
        for job in jobs {
            let lie = lies[dice.below(lies.len())];
            let hint = format!("{era}\n{job}\n{}", lie.told(now_ms));
            let is_noise = matches!(lie, Lie::Noise);
            let message = if is_noise { noise(&hint, dice) } else { hint.into_bytes() };
            let _: i64 = to.publish(CHANNEL, message)?;
        }
    }
    Ok(())
}

impl Lie {
    /// The answer of a hint: its name, the store's time, the mark, the lease, the rerun, and by whom it was decided how.
    fn told(self, now_ms: i64) -> String {
        // As far ahead as what is news may be: the tick of the next second is among what is decided.
        let (now_ms, next) = (now_ms + 900, now_ms + 1_090);
        let (mark, lease): (i64, i64) = match self {
            Self::Noise | Self::Decided => (next, 5_000),
            Self::LongLease => (next, 1_000_000_000_000),
            Self::MarkAhead => (next + 315_360_000_000, 5_000),
            Self::GivenBack => return format!("abandoned\n{now_ms}\n{}\n5000\n\n\n\n", next - 10_000),
        };
        format!("decided\n{now_ms}\n{mark}\n{lease}\n\n\n\n\nn9\nrunning\n")
    }
}

/// A hint of which some bytes are others, or the rest is missing; its life is another in any case.
fn noise(hint: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = format!("0{hint}").into_bytes();
    for _ in 0..dice.below(8) {
        let at = dice.below(bytes.len() - 1) + 1;
        bytes[at] = u8::try_from(dice.below(256)).expect("a byte");
    }
    bytes.truncate(dice.below(bytes.len()) + 1);
    bytes
}

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
const LIES: [Lie; 4] = [Lie::Decided, Lie::LongLease, Lie::MarkAhead, Lie::GivenBack];

#[derive(Debug, Clone, Copy)]
enum Lie {
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
    /// Begins. What looks true is told as of the server's present life.
    pub(crate) fn begin(world: &mut World, looks_true: bool, dice: &mut Dice) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, mut dice) = (Arc::clone(&is_over), dice.clone());
        let jobs: Vec<String> = world.jobs.iter().map(|job| job.name.clone()).collect();
        let opened = world.server().connect();
        std::thread::spawn(move || {
            let Ok(mut to) = opened else { return };
            let mut times = BURST;
            // A server that has gone has nobody to be told anything.
            while !ends.load(Ordering::SeqCst)
                && publish(&mut to, &jobs, times, looks_true, &mut dice).is_ok()
            {
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
    jobs: &[String],
    times: usize,
    looks_true: bool,
    dice: &mut Dice,
) -> RedisResult<()> {
    let said: String = redis::cmd("INFO").arg("replication").query(to)?;
    let era = said.lines().find_map(|line| line.strip_prefix("master_replid:")).unwrap_or_default();
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query(to)?;
    let now_ms = seconds * 1_000 + micros / 1_000;
    for _ in 0..times {
        for job in jobs {
            let lie = LIES[dice.below(LIES.len())];
            let hint = format!("{era}\n{job}\n{}", lie.told(now_ms));
            let _: i64 =
                to.publish(CHANNEL, if looks_true { hint.into_bytes() } else { noise(&hint, dice) })?;
        }
    }
    Ok(())
}

impl Lie {
    /// The answer of a hint: its name, the store's time, the mark, the lease, the rerun, and by whom it was decided how.
    fn told(self, now_ms: i64) -> String {
        let next = now_ms - now_ms.rem_euclid(1_000) + 1_000;
        let (mark, lease): (i64, i64) = match self {
            Self::Decided => (next, 5_000),
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

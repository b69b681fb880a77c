//! The floor: one process that sleeps to each instant and spawns the command of every job. No lock, nothing recorded.

use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::Duration;

use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use solocron::time::{Clock, SystemClock};

use crate::contender::Plan;

/// Spawns until it is killed.
pub(crate) fn run(words: &[&str]) {
    let plan = Plan::of(words);
    let (started, to_reap) = mpsc::channel::<Child>();
    std::thread::spawn(move || to_reap.into_iter().for_each(|mut child| drop(child.wait())));
    loop {
        let now = SystemClock.utc().0;
        let at_ms = match plan.every_s {
            0 => plan.once_s * 1_000,
            every => (now / (every * 1_000) + 1) * every * 1_000,
        };
        if at_ms <= now {
            return std::thread::park();
        }
        let at = Duration::from_millis(u64::try_from(at_ms).expect("after the epoch"));
        // Who is woken early spawns early, and that is seen.
        let _ = clock_nanosleep(ClockId::CLOCK_REALTIME, ClockNanosleepFlags::TIMER_ABSTIME, &at.into());
        for job in 0..plan.jobs {
            let mut command = Command::new(&plan.program);
            command.args([&plan.records, &format!("job{job}"), &at_ms.to_string()]);
            started.send(command.spawn().expect("the program was compiled")).expect("it is reaped");
        }
    }
}

//! Reads the machine's clocks through libc, so that a clock shim can replace them, and waits by timerfd. A wait is
//! exact to well below a millisecond, notices a step of the wall clock, and counts suspend.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use futures_util::future::BoxFuture;
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};
use tokio::io::unix::AsyncFd;

use super::{BootInstant, Clock, UtcMillis, Waiting, Woke};

/// A wait for which no timer could be created ends after this long.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The machine's own clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock).expect("every Linux has this clock");
    Duration::new(u64::try_from(time.tv_sec()).unwrap_or(0), u32::try_from(time.tv_nsec()).unwrap_or(0))
}

/// Returns the time since the machine started, suspend excluded, by `CLOCK_MONOTONIC_RAW`: the only clock that no time
/// daemon makes faster or slower.
pub fn raw_clock() -> Duration {
    read(ClockId::CLOCK_MONOTONIC_RAW)
}

impl Clock for SystemClock {
    fn utc(&self) -> UtcMillis {
        UtcMillis(i64::try_from(read(ClockId::CLOCK_REALTIME).as_millis()).unwrap_or(i64::MAX))
    }

    fn boot(&self) -> BootInstant {
        BootInstant(read(ClockId::CLOCK_BOOTTIME))
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        Box::pin(async move {
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
            let at = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
            match expire(TimerClock::CLOCK_REALTIME, at, flags).await {
                Err(error) if error.raw_os_error() == Some(Errno::ECANCELED as i32) => Woke::Stepped,
                Err(_) => {
                    look_again().await;
                    Woke::Due
                }
                Ok(()) => Woke::Due,
            }
        })
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
            if expire(TimerClock::CLOCK_BOOTTIME, at.0, flags).await.is_err() {
                look_again().await;
            }
        })
    }
}

/// Sleeps for a moment in place of a timer that could not be created, e.g. because the process can open no more files.
/// The caller then checks whether the instant has come.
async fn look_again() {
    tokio::time::sleep(LOOK_AGAIN).await;
}

/// A timer that the runtime can wait for.
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

async fn expire(clock: TimerClock, at: Duration, flags: TimerSetTimeFlags) -> io::Result<()> {
    let timer = TimerFd::new(clock, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
    // A time of zero would disarm the timer.
    let at = TimeSpec::from_duration(at.max(Duration::from_nanos(1)));
    timer.set(Expiration::OneShot(at), flags)?;
    #[expect(
        deprecated,
        reason = "its successor asks for a promise that this type keeps: the fd is the timer's own and never changes"
    )]
    let timer = AsyncFd::new(Timer(timer))?;
    loop {
        let mut ready = timer.readable().await?;
        let mut buffer = [0_u8; 8];
        match nix::unistd::read(timer.as_fd(), &mut buffer) {
            Ok(_) => return Ok(()),
            Err(Errno::EAGAIN) => ready.clear_ready(),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Returns the id of the machine's current boot; it changes at every restart.
///
/// # Errors
/// If the kernel's file with the id cannot be read.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Returns by how many milliseconds this process's boot clock is ahead of the machine's own: 0 except in a time
/// namespace.
///
/// # Errors
/// If the offset cannot be read, or the process is in another time namespace than the one whose offset the kernel
/// reports.
pub fn boot_clock_lead() -> io::Result<i64> {
    let of = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}"));
    let own = match of("time") {
        // A kernel without time namespaces.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        own => own?,
    };
    // The file reports the namespace of the children. On older kernels that may differ from the process's own until it
    // forks.
    if own != of("time_for_children")? {
        return Err(io::Error::other("its time namespace is not that of its children: start it by a fork"));
    }
    let text = std::fs::read_to_string("/proc/self/timens_offsets")?;
    lead_of(&text).ok_or_else(|| io::Error::other(format!("/proc/self/timens_offsets reads {text:?}")))
}

/// Parses `boottime SECONDS NANOSECONDS`, on a line of its own, to milliseconds. The nanoseconds count forward, also
/// from negative seconds.
fn lead_of(offsets: &str) -> Option<i64> {
    let line = offsets.lines().find_map(|line| line.strip_prefix("boottime"))?;
    let mut numbers = line.split_whitespace().map(str::parse::<i64>);
    let (seconds, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    seconds.checked_mul(1_000)?.checked_add(nanoseconds / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_is_ahead_by_what_the_kernel_tells_of_the_time_namespace() {
        assert_eq!(lead_of("monotonic 7 0\nboottime      100000   250000000\n"), Some(100_000_250));
        assert_eq!(lead_of("monotonic 0 0\nboottime -2 999000000\n"), Some(-1_001));
        assert_eq!(lead_of("monotonic 0 0\n"), None);
        boot_clock_lead().expect("a namespace of one's own, or none");
    }

    #[tokio::test]
    async fn waits_end_at_their_instant_and_not_before() {
        let clock = SystemClock;
        let at = clock.utc().plus(Duration::from_millis(30));
        assert_eq!(clock.wait_until(at).await, Woke::Due);
        assert!(clock.utc() >= at);

        let at = clock.boot().plus(Duration::from_millis(30));
        clock.wait_until_boot(at).await;
        assert!(clock.boot() >= at);
    }

    #[tokio::test]
    async fn an_instant_in_the_past_is_due_at_once() {
        let clock = SystemClock;
        assert_eq!(clock.wait_until(UtcMillis(0)).await, Woke::Due);
        clock.wait_until_boot(BootInstant(Duration::ZERO)).await;
    }

    #[test]
    fn the_boot_id_stays_the_same() {
        assert_eq!(boot_id().expect("linux"), boot_id().expect("linux"));
    }
}

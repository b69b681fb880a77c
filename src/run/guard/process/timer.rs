//! A timer that counts suspend, for a process that waits in poll(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::time::BootInstant;

/// A timer that becomes readable at an instant of the boot clock.
pub(crate) struct Alarm(TimerFd);

impl Alarm {
    /// Returns an alarm that is not set.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self(TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?))
    }

    /// Sets the alarm; `None` disarms it. An instant in the past is due at once, and setting it anew clears an
    /// earlier expiry.
    pub(super) fn set(&self, at: Option<BootInstant>) {
        // A time of zero would disarm the timer, and the kernel would refuse one beyond its range.
        let longest = Duration::from_secs(i32::MAX.unsigned_abs().into());
        let set = match at.map(|at| at.0.max(Duration::from_nanos(1))).filter(|at| *at < longest) {
            Some(at) => {
                let at = Expiration::OneShot(TimeSpec::from_duration(at));
                self.0.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
            None => self.0.unset(),
        };
        set.expect("the timer and its time are valid");
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

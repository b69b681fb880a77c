//! A run as the world sees it: a process, its guard, and what it is a witness to.

use solocron::job::{Fence, RunId, Tick};
use solocron::lease::{Deadline, Pace};
use solocron::time::{BootInstant, UtcMillis};

use crate::setting::Setting;

/// What a process may take from SIGKILL until it is gone: the deadline's margin allows for it.
const KILLED_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Whether a run's process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Alive,
    /// Its replica is gone, and the guard is stopping it.
    Dying,
    Succeeded,
    Killed,
}

/// A run that was started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) who: usize,
    pub(crate) tick: Tick,
    pub(crate) fence: Fence,
    pub(crate) tries: u32,
    /// When it was granted, by the store's clock.
    pub(crate) granted: UtcMillis,
    pub(crate) lease: std::time::Duration,
    /// The deadline that its replica and its guard know is counted from here.
    pub(crate) counted_from: BootInstant,
    pub(crate) state: State,
}

impl Run {
    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.state, State::Alive | State::Dying)
    }

    fn pace(&self) -> Pace {
        Setting::pace(self.lease)
    }

    /// The instant from which on it is stopped.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::granted(self.pace(), self.counted_from)
    }

    /// The latest instant at which a run that is stopped at its deadline is gone.
    pub(crate) fn is_gone(&self, now: BootInstant) -> bool {
        now >= self.deadline().at().plus(self.pace().loss_grace() + KILLED_WITHIN)
    }
}

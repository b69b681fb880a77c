//! Protections that a test build can switch off, to show that the checkers notice it. In a shipped build all of them are on.

use std::fmt;

macro_rules! protections {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// One protection of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Protection {
            $($(#[$doc])* $variant),+
        }

        impl Protection {
            /// All protections.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the protection's name, as used in `SOLOCRON_SWITCH_OFF` of a test build and in the Redis scripts.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

protections! {
    /// A tick at or below the mark is not granted again.
    Mark = "mark",
    /// In a new era the mark rises to the latest store time that was seen before it.
    MarkReset = "mark-reset",
    /// Waits last as long as the longest lease that may be held.
    LargestLease = "largest-lease",
    /// Only a caller that has watched a steady store for long enough takes over a lock.
    Calm = "calm",
    /// A request that arrives later than expected is refused.
    Expect = "expect",
    /// A claim is built when it can be sent, not when its tick is due: in a queue it would become out of date.
    FreshClaims = "fresh-claims",
    /// A tick is not granted before its instant.
    Early = "early",
    /// A run that was granted a moment before its tick's instant begins at the instant.
    AtInstant = "at-instant",
    /// A lock is renewed and finished only by the run and the fence that it was granted to.
    HolderCheck = "holder-check",
    /// A holder's deadline counts from when the request was sent, not from when its answer arrived.
    DeadlineFromSending = "deadline-from-sending",
    /// A separate process stops a run whose replica died or hangs.
    Guard = "guard",
    /// The last finish is sent again when the store may have forgotten it, and only for a run that has ended.
    ResentFinish = "resent-finish",
    /// A tick is skipped for overlap only if the holder is proven to have been alive at the tick's instant.
    LivingHolder = "living-holder",
    /// A hint about a tick is verified in the store before a replica relies on it.
    HintCheck = "hint-check",
    /// A store's clock that runs more than 1 % too fast or too slow is not taken for steady.
    SteadyRate = "steady-rate",
    /// A record that knows less than an answer of the store did shows that the store went back to an older state.
    AnsweredMark = "answered-mark",
    /// With each heartbeat a replica looks whether the records still show its runs.
    RecordCheck = "record-check",
    /// A replica starts no second run of a job while one is going there.
    OwnRun = "own-run",
    /// The lock of a run that outlives its deadline is renewed all the same.
    LateRenewal = "late-renewal",
    /// A record whose mark lies ahead is opened again once the clock is right.
    AheadReopened = "ahead-reopened",
    /// A longer lease is forgotten when no replica can hold it any more.
    LeaseForgotten = "lease-forgotten",
    /// A replica runs no more jobs at once than `max_running`.
    MaxRunning = "max-running",
    /// A slot that is free again goes to the job that has waited longest.
    SlotPassedOn = "slot-passed-on",
    /// A fence follows the store's clock, and so is above those that the store has forgotten.
    FenceFromClock = "fence-from-clock",
    /// Ticks that the mark passes without a claim of their own get an entry.
    PassedRecorded = "passed-recorded",
    /// After a loss, replicas have a few seconds to report what ran before the rest is recorded as unknown.
    Settling = "settling",
    /// Entries that a clock which was ahead has written of ticks to come are withdrawn once the clock is right.
    EntriesWithdrawn = "entries-withdrawn",
    /// A swap writes only over the version of the record that it was decided from.
    SwapVersion = "swap-version",
    /// Versions of different records differ, although their counts may be equal.
    SwapNonce = "swap-nonce",
    /// A swap writes only in the era in which its record was read.
    SwapEra = "swap-era",
    /// A swap that arrives late writes nothing.
    SwapAge = "swap-age",
    /// A swap that was decided with a time that the store's clock does not show yet writes nothing.
    SwapNotAhead = "swap-not-ahead",
    /// A request is refused only after its record was read anew.
    FreshRead = "fresh-read",
    /// A run that is recorded as lost is not rerun while a live replica lists it.
    LiveRun = "live-run",
    /// A request that gives a tick back makes a new version of the record even if it changes nothing else.
    AbandonWrites = "abandon-writes",
}

impl Protection {
    /// Whether the protection is on: always, in a shipped build.
    #[cfg(not(feature = "test-switches"))]
    pub(crate) const fn is_on(self) -> bool {
        true
    }

    /// Whether the protection is on: not if `SOLOCRON_SWITCH_OFF` names it, or inside of [`Protection::without`] on this thread.
    #[cfg(feature = "test-switches")]
    pub(crate) fn is_on(self) -> bool {
        static OFF: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| std::env::var("SOLOCRON_SWITCH_OFF").unwrap_or_default());
        OFF_HERE.get() != Some(self) && !OFF.split(',').any(|name| name == self.as_str())
    }

    /// Calls `act` on this thread with one protection switched off, or with none.
    #[cfg(feature = "test-switches")]
    pub fn without<T>(off: Option<Self>, act: impl FnOnce() -> T) -> T {
        let before = OFF_HERE.replace(off);
        let result = act();
        OFF_HERE.set(before);
        result
    }
}

#[cfg(feature = "test-switches")]
thread_local! {
    static OFF_HERE: std::cell::Cell<Option<Protection>> = const { std::cell::Cell::new(None) };
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

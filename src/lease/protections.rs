//! Protections that a test build can switch off, to show that the checkers notice; a shipped build has all of them on.

use std::fmt;

macro_rules! protections {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// One protection of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Protection {
            $($(#[$doc])* $variant),+
        }

        impl Protection {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name: in `SOLOCRON_SWITCH_OFF` of a test build, and in the Redis scripts.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

protections! {
    /// A tick at or below the mark is not granted again.
    Mark = "mark",
    /// A new era raises the mark to what was heard before it.
    MarkReset = "mark-reset",
    /// Waits last as long as the longest lease that anybody may hold.
    LargestLease = "largest-lease",
    /// Only who has watched a steady store for long enough takes over a lock.
    Calm = "calm",
    /// A request that comes later than expected is refused.
    Expect = "expect",
    /// A claim is made when it can be sent, and not when it is due, to wait then until what it says is out of date.
    FreshClaims = "fresh-claims",
    /// A tick is not granted before its instant.
    Early = "early",
    /// What was granted a moment ahead of its instant begins at it.
    AtInstant = "at-instant",
    /// Only the run and the fence that a lock was granted to renew and finish it.
    HolderCheck = "holder-check",
    /// A holder's deadline is counted from when the request was sent, not from when its answer came.
    DeadlineFromSending = "deadline-from-sending",
    /// A process of its own stops a run whose replica died or hangs.
    Guard = "guard",
    /// The last finish is sent again when the store may have forgotten it, and only for a run that has ended.
    ResentFinish = "resent-finish",
    /// A tick is skipped for overlap only on proof that the holder lived at its instant.
    LivingHolder = "living-holder",
    /// What hints tell of a tick is looked up in the store before it is believed.
    HintCheck = "hint-check",
}

impl Protection {
    /// Whether it is on: always, in a shipped build.
    #[cfg(not(feature = "test-switches"))]
    pub(crate) const fn is_on(self) -> bool {
        true
    }

    /// Whether it is on: unless `SOLOCRON_SWITCH_OFF` names it, or this thread is inside of [`Protection::without`].
    #[cfg(feature = "test-switches")]
    pub(crate) fn is_on(self) -> bool {
        static OFF: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| std::env::var("SOLOCRON_SWITCH_OFF").unwrap_or_default());
        OFF_HERE.get() != Some(self) && !OFF.split(',').any(|name| name == self.as_str())
    }

    /// Does something on this thread with a protection switched off, or with none.
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

//! Protections that a test build can switch off, to show that the checkers notice; a shipped build has all of them on.

use std::fmt;

/// One protection of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// A tick at or below the mark is not granted again.
    Mark,
}

impl Protection {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Mark];

    /// Its name: in `SOLOCRON_SWITCH_OFF` of a test build, and in the Redis scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mark => "mark",
        }
    }

    /// Whether it is on: always, in a shipped build.
    #[cfg(not(feature = "test-switches"))]
    pub(crate) const fn is_on(self) -> bool {
        true
    }

    /// Whether it is on: unless `SOLOCRON_SWITCH_OFF` names it.
    #[cfg(feature = "test-switches")]
    pub(crate) fn is_on(self) -> bool {
        static OFF: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| std::env::var("SOLOCRON_SWITCH_OFF").unwrap_or_default());
        !OFF.split(',').any(|name| name == self.as_str())
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

//! What must never be, each with its evidence.

use std::fmt;

use crate::inspector::Named;

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A run started while a process of the one before still lived.
    Overlap { job: String, runs: [String; 2], nodes: [String; 2], by_ms: i64 },
    /// A tick was run twice.
    Twice { job: String, tick_ms: i64, runs: [String; 2], nodes: [String; 2] },
    /// A later run did not have a higher fence.
    Fence { job: String, run: String, fence: i64, before: i64 },
    /// A process lived on after its lock may have been another's.
    Overstay { job: String, run: String, node: String, by_ms: i64 },
    /// A tick was granted before its instant by the store's own clock, or begun before it by the machine's.
    Early { job: String, tick_ms: i64, by_ms: i64 },
    /// No record stands for a tick.
    Uncovered { job: String, tick_ms: i64 },
    /// Two records say what became of a tick.
    CoveredTwice { job: String, tick_ms: i64, records: [String; 2] },
    /// A record says that nobody knows, and no store had forgotten anything.
    NeedlesslyUnknown { job: String, tick_ms: i64 },
    /// A record says that a tick did not run, and it ran; or that it ran, and it did not.
    Untrue { job: String, tick_ms: i64, record: String },
    /// A record counts other ticks than it stands for.
    Miscounted { job: String, tick_ms: i64, says: i64, is: i64 },
    /// Skipped for a run that was not going on.
    SkippedForNothing { job: String, tick_ms: i64 },
    /// A tick without a fault anywhere near did not run.
    NotRun { job: String, tick_ms: i64, records: Vec<String> },
    /// Something was wrong for long, and `status --check` said that nothing was.
    Unnoticed { job: String, what: String, since_ms: i64, at_ms: i64 },
    /// `status --check` said for long that something was wrong, and nothing was.
    FalseAlarm { from_ms: i64, at_ms: i64, named: Vec<Named> },
    /// A process was left behind, or a replica ended as it should not.
    Trouble(String),
}

impl Violation {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Overlap { .. } => "overlap",
            Self::Twice { .. } => "twice",
            Self::Fence { .. } => "fence",
            Self::Overstay { .. } => "overstay",
            Self::Early { .. } => "early",
            Self::Uncovered { .. } => "uncovered",
            Self::CoveredTwice { .. } => "covered twice",
            Self::NeedlesslyUnknown { .. } => "needlessly unknown",
            Self::Untrue { .. } => "untrue",
            Self::Miscounted { .. } => "miscounted",
            Self::SkippedForNothing { .. } => "skipped for nothing",
            Self::NotRun { .. } => "not run",
            Self::Unnoticed { .. } => "unnoticed",
            Self::FalseAlarm { .. } => "false alarm",
            Self::Trouble(_) => "trouble",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self:?}", self.name())
    }
}

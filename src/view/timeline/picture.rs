//! A timeline as it is drawn.

use crate::job::{JobName, NodeName, Outcome, RunId};

use super::axis::Axis;

/// A timeline as it is drawn. Lanes are named by their place in `lanes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// From the top to the bottom.
    pub lanes: Vec<Lane>,
    /// What stands in the lanes: by lane, row and place. At most 350, and 40 stretches in which nobody may
    /// run.
    pub marks: Vec<TimelineMark>,
    /// What stands behind the marks.
    pub bands: Vec<Band>,
    /// From where a run was cut short to where its job runs next.
    pub arrows: Vec<Arrow>,
    /// The times below.
    pub axis: Axis,
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name, for people.
    pub name: String,
    /// What it stands for.
    pub kind: LaneKind,
    /// How many rows of marks it has: one at least, four at most.
    pub rows: u8,
    /// What is special about it: `draining`, `another file: 3f9c21ab`.
    pub note: Option<String>,
    /// What it shows, in words: `12 succeeded, 1 failed`; empty if it shows nothing.
    pub summary: String,
    /// Its ticks, if they are too many to be marks, from the left to the right.
    pub columns: Vec<ColumnRun>,
}

/// What a lane stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneKind {
    /// A replica.
    Replica(NodeName),
    /// The replicas that are too many to have lanes of their own.
    OtherReplicas,
    /// What did not run, and at the right of the present what comes.
    DidNotRun,
    /// A job.
    Job(JobName),
}

/// A mark in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineMark {
    /// The lane.
    pub lane: usize,
    /// The row of the lane, from 0.
    pub row: u8,
    /// Where it begins.
    pub x: u16,
    /// How wide it is; 0 for a tick that did not run.
    pub width: u16,
    /// What it looks like.
    pub shape: MarkShape,
    /// The job.
    pub job: JobName,
    /// The run, if it is about one.
    pub run: Option<RunId>,
    /// What it stands for, in a sentence.
    pub title: String,
}

/// What a mark looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkShape {
    /// A run: a bar.
    Run {
        /// How the right end of the bar is drawn.
        end: BarEnd,
        /// Where the run's tick is, if it began more than a second late: a thin stroke.
        tick_x: Option<u16>,
    },
    /// A tick that did not run, or several.
    DidNotRun {
        /// Skipped, missed or unknown.
        outcome: Outcome,
        /// If it stands for several ticks: the text beside their bracket, `×37 the store did not answer`.
        folded: Option<String>,
    },
    /// The time in which nobody may run a job, as its lock is still that of a holder that is gone: hatched.
    /// It stands right of the bar.
    Reserved,
    /// A tick to come: hollow.
    Coming {
        /// Whether it stands for several ticks, which are too many to be drawn one by one.
        is_folded: bool,
    },
}

/// How the right end of a run's bar is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarEnd {
    /// It succeeded: plain.
    Plain,
    /// It failed: a cross.
    Cross,
    /// It ran too long: a clock.
    Clock,
    /// It was killed: a square.
    Square,
    /// It was interrupted, or its holder has not shown lately that it lives: broken.
    Broken,
    /// It is not known how it ended.
    Unknown,
    /// It has not ended: open.
    Open,
}

/// Neighbouring columns that look the same. All columns of a lane have the same width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRun {
    /// Where they begin.
    pub x: u16,
    /// How wide they are together.
    pub width: u16,
    /// The worst of the ticks in each of them.
    pub worst: ColumnKind,
    /// How many ticks are in them, whole or in part.
    pub count: usize,
}

/// What a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Only ticks to come.
    Coming,
    /// Ticks that ended so, and better ones.
    Ended(Outcome),
}

/// A band or a line behind the marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// Behind which lanes.
    pub lanes: BandLanes,
    /// Where it begins.
    pub x: u16,
    /// How wide it is; 0 for a line.
    pub width: u16,
    /// What it stands for.
    pub kind: BandKind,
    /// The same in words.
    pub text: String,
}

/// Behind which lanes a band stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BandLanes {
    /// All lanes.
    All,
    /// One lane.
    One(usize),
}

/// What a band stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BandKind {
    /// The store does not answer.
    StoreAway,
    /// The store is in a new era, or its clock was stepped or is slewed: a line.
    StoreChanged,
    /// The clock of a machine was stepped: a line.
    ClockStepped,
    /// The job is paused.
    Paused,
    /// The replica sends no heartbeats.
    Silent,
    /// The replica drains.
    Draining,
    /// What ran is older than the entries that were read.
    Unread,
}

/// From where a run was cut short to where its job runs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// Where it begins: at the end of the bar, or of the stretch in which nobody may run.
    pub from: ArrowPoint,
    /// Where the next run begins.
    pub to: ArrowPoint,
    /// The fencing token of the next run, short: `f18`, `f…241123`.
    pub text: String,
    /// Whether the next run is for the same tick.
    pub is_rerun: bool,
    /// What happened, in a sentence.
    pub title: String,
}

/// An end of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrowPoint {
    /// The lane.
    pub lane: usize,
    /// The row of the lane.
    pub row: u8,
    /// The place.
    pub x: u16,
}

impl BarEnd {
    /// Returns the end of the bar of a run that ended so.
    pub(super) const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeded => Self::Plain,
            Outcome::Failed => Self::Cross,
            Outcome::TimedOut => Self::Clock,
            Outcome::Killed => Self::Square,
            Outcome::Interrupted => Self::Broken,
            Outcome::Unknown | Outcome::Skipped | Outcome::Missed => Self::Unknown,
            Outcome::Running => Self::Open,
        }
    }

    /// Returns its name, as a class of style sheets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Cross => "cross",
            Self::Clock => "clock",
            Self::Square => "square",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
            Self::Open => "open",
        }
    }
}

//! The conditions by which lists of jobs are narrowed down.

use crate::view::snapshot::Snapshot;

use super::definition::Definition;
use super::state::JobState;

/// The word of a job that is in no condition, and one of whose runs succeeded.
pub(crate) const WELL: &str = "ok";

/// The word of a job that is in no condition, and no run of which has succeeded yet.
pub(crate) const NEW: &str = "new";

/// A condition that a job may be in. A job may be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JobCondition {
    /// It is enabled, and its newest ticks did not succeed.
    Failing,
    /// It has a run whose holder shows that it lives.
    Running,
    /// Its ticks are skipped.
    Paused,
    /// A tick should have been decided by now.
    Late,
    /// The file disables it.
    Disabled,
    /// The file does not name it.
    Absent,
}

impl JobCondition {
    /// Every condition.
    pub(crate) const ALL: [Self; 6] =
        [Self::Failing, Self::Running, Self::Paused, Self::Late, Self::Disabled, Self::Absent];

    /// Returns its word in addresses and answers.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Late => "late",
            Self::Disabled => "disabled",
            Self::Absent => "absent",
        }
    }

    /// Returns the condition with this word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|condition| condition.as_str() == word)
    }
}

/// The conditions of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JobConditions([bool; JobCondition::ALL.len()]);

impl JobConditions {
    /// Returns the conditions of a job of this snapshot. `is_late`: whether a tick should have been decided by now.
    pub(crate) fn of(job: &JobState, snapshot: &Snapshot, is_late: bool) -> Self {
        let record = job.record.as_ref();
        let is_enabled = job.spec().is_some_and(|spec| spec.enabled);
        let is_in = |condition| match condition {
            JobCondition::Failing => is_enabled && job.is_failing(),
            JobCondition::Running => {
                job.running().is_some() && record.is_some_and(|record| snapshot.is_holder_alive(record))
            }
            JobCondition::Paused => record.is_some_and(|record| record.paused > Some(snapshot.now)),
            JobCondition::Late => is_late,
            JobCondition::Disabled => job.spec().is_some_and(|spec| !spec.enabled),
            JobCondition::Absent => matches!(job.definition, Definition::Absent),
        };
        Self(JobCondition::ALL.map(is_in))
    }

    /// Whether the job is in this condition.
    pub(crate) fn has(self, condition: JobCondition) -> bool {
        JobCondition::ALL.into_iter().zip(self.0).any(|(own, is_in)| own == condition && is_in)
    }
}

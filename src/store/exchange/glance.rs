//! What a list shows of a job: its record, and its newest entries without their output.

use crate::lease::{HistoryEntry, Record};
use crate::store::StoreError;

/// At most this many entries of a job are read with a glance.
pub const GLANCED_ENTRIES: usize = 60;

/// One job at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobGlance {
    /// Its record, if it has one.
    pub record: Option<Record>,
    /// Its newest entries, oldest first, without the end of their output.
    pub entries: Vec<HistoryEntry>,
    /// Why its record, or its entries, cannot be read.
    pub unread: Option<String>,
}

impl JobGlance {
    /// Returns the job whose record and entries were read with these results.
    ///
    /// # Errors
    ///
    /// Any error that does not concern the data of this job alone.
    pub(crate) fn of(
        record: Result<Option<Record>, StoreError>,
        entries: Result<Vec<HistoryEntry>, StoreError>,
    ) -> Result<Self, StoreError> {
        let unread = record.as_ref().err().or(entries.as_ref().err()).map(ToString::to_string);
        let record = record.or_else(StoreError::unless_of_one_job)?;
        let mut entries = entries.or_else(StoreError::unless_of_one_job)?;
        for entry in &mut entries {
            entry.tail = None;
        }
        Ok(Self { record, entries, unread })
    }
}

#[cfg(test)]
mod tests {
    use crate::job::{Cause, JobName, Outcome, Tick, Verdict};
    use crate::lease::Era;
    use crate::store::{Diagnosis, FailureCause};
    use crate::time::UtcMillis;

    use super::*;

    #[test]
    fn what_can_be_read_is_kept_without_output_and_what_cannot_is_said() {
        let damaged = |said: &str| {
            let job = JobName::parse("j").expect("a name");
            StoreError::Refused(Diagnosis::of(FailureCause::DamagedJob(job), said))
        };
        let record = || Record::empty(Era("e".into()));
        let verdict = Verdict::plain(Outcome::Failed);
        let bare = HistoryEntry::without_run(Tick(UtcMillis(1)), Cause::Schedule, verdict, UtcMillis(2));
        let entries = || vec![HistoryEntry { tail: Some("output".into()), ..bare.clone() }];

        let whole = JobGlance::of(Ok(Some(record())), Ok(entries())).expect("a job");
        assert_eq!(whole, JobGlance { record: Some(record()), entries: vec![bare.clone()], unread: None });
        let lost = JobGlance::of(Err(damaged("a")), Ok(entries())).expect("the entries");
        assert_eq!(lost, JobGlance { record: None, entries: vec![bare.clone()], unread: Some("a".into()) });
        let lost = JobGlance::of(Ok(Some(record())), Err(damaged("b"))).expect("the record");
        assert_eq!(lost, JobGlance { record: Some(record()), entries: Vec::new(), unread: Some("b".into()) });
        let outage = StoreError::NotSent("away".into());
        assert_eq!(JobGlance::of(Err(damaged("a")), Err(outage.clone())), Err(outage));
    }
}

//! Notices from operators and `exec`: they come with heartbeats and name the records to read. The replica also
//! remembers the last pause or resume of each job, for a store that forgets.

use std::collections::HashMap;
use std::sync::Arc;

use crate::events::event::Event;
use crate::job::{JobName, RunId, Tick};
use crate::lease::{Pausing, Record};
use crate::replica::core::{Core, Effect};
use crate::store::{Notice, StoreError};

use super::manual::{Order, Orders};

/// What has been received so far.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The stamp of the newest notice of each job that was acted on.
    seen: HashMap<JobName, i64>,
    /// The last pause or resume of each job.
    pausings: HashMap<JobName, Pausing>,
    /// The last run of each job that an operator wanted stopped, as was logged.
    stops: HashMap<JobName, RunId>,
    /// The orders that this replica tries to take.
    pub(crate) orders: Orders,
}

impl Notices {
    /// Whether an order for the job may be granted to this replica at any moment.
    pub(crate) fn may_be_granted(&self, job: &JobName) -> bool {
        self.orders.get(job).is_some_and(Order::may_be_granted)
    }

    /// Records the notice. Returns whether it is new.
    fn is_news(&mut self, notice: &Notice) -> bool {
        self.seen.insert(notice.job.clone(), notice.stamp) != Some(notice.stamp)
    }

    /// Makes the job's notice new again, because the record could not be read.
    fn forget(&mut self, job: &JobName) {
        self.seen.remove(job);
    }

    /// Returns the last pause or resume of the job.
    pub(crate) fn pausing(&self, job: &JobName) -> Option<Pausing> {
        self.pausings.get(job).cloned()
    }

    /// Records that an operator wants a run of the job stopped. Returns whether that is new: the request is repeated until the
    /// run has ended, and others may want the same.
    fn is_first_stop(&mut self, job: &JobName, run: RunId) -> bool {
        self.stops.insert(job.clone(), run) != Some(run)
    }

    /// Records a pause or resume of the job. Returns true if it is later than the recorded one.
    fn remember(&mut self, job: &JobName, said: &Pausing) -> bool {
        let is_later = self.pausings.get(job).is_none_or(|known| known.at < said.at);
        if is_later {
            self.pausings.insert(job.clone(), said.clone());
        }
        is_later
    }
}

impl Core {
    /// Reads the records that operators and `exec` have changed, by the notices that are new.
    pub(crate) fn heed(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            let Some(spec) = self.contests.get(&notice.job).map(|contest| Arc::clone(contest.spec())) else {
                continue;
            };
            if !self.notices.is_news(&notice) {
                continue;
            }
            // The job's run may have been ordered to stop: the holder learns that by renewing.
            let own = self.runs.iter().filter(|(_, own)| own.job == notice.job);
            self.effects.extend(own.map(|(run, _)| Effect::Renew(*run)));
            // The first replica that reads an order takes it: replicas take turns at that as they do with ticks.
            let after = self.health.roster.stagger(&spec, Tick::at_millis(notice.stamp));
            self.effects.push(Effect::ReadRecord { job: notice.job, after });
        }
    }

    /// Takes in a record that was read. If it could not be read, it is read again after the next heartbeat.
    pub(crate) fn looked(&mut self, job: &JobName, record: Result<Option<Box<Record>>, StoreError>) {
        match record {
            Err(_) => self.notices.forget(job),
            Ok(None) => {}
            Ok(Some(record)) => {
                self.hear_lease(job, &record);
                self.hear_pausing(job, record.pausing());
                self.hear_stop(job, &record);
                self.hear_mark(job, &record);
                self.hear_free(job, &record);
                self.hear_order(job, &record);
            }
        }
    }

    /// Records for how long the lock of the record may be held, perhaps by an `exec`.
    fn hear_lease(&mut self, job: &JobName, record: &Record) {
        if let Some(contest) = self.contests.get_mut(job) {
            contest.saw(Some(record.lease));
        }
    }

    /// Opens the record anew if an operator has set back a mark that lies ahead, or may have: after the next
    /// heartbeat, together with those of other jobs.
    fn hear_mark(&mut self, job: &JobName, record: &Record) {
        let now = self.now();
        let Some(contest) = self.contests.get_mut(job) else { return };
        if contest.is_ahead(now) || contest.reopened_ahead_count() < record.reopened_ahead_count {
            contest.close();
            self.outdate_opening(job);
        }
    }

    /// Logs which operator wants the run of this replica stopped, once for each run. The renewal of its lock makes it stop.
    fn hear_stop(&mut self, job: &JobName, record: &Record) {
        if let (Some(run), Some(by)) = (record.stop_run, record.stop_requested_by.clone())
            && self.runs.contains_key(&run)
            && self.notices.is_first_stop(job, run)
        {
            self.report(Event::KillHeard { job: job.clone(), run, by });
        }
    }

    /// Claims at once if the record has no holder, perhaps because the lock was removed. If the record's run was
    /// interrupted, the replicas that have a free slot claim its rerun in turns.
    fn hear_free(&mut self, job: &JobName, record: &Record) {
        let now = self.now();
        let Some(contest) = self.contests.get_mut(job).filter(|_| !record.is_running()) else { return };
        if let Some(rerun) = record.cut_short() {
            contest.hear_of_rerun(Some(&rerun), now);
        }
        if contest.rerun_at_hand(now).is_none() {
            contest.hurry(now);
        }
        self.look_at(job, now);
    }

    /// Records the pause or resume that a record contains, and logs it.
    pub(crate) fn hear_pausing(&mut self, job: &JobName, said: Option<Pausing>) {
        let Some(said) = said else { return };
        let was_known = self.notices.pausings.contains_key(job);
        if !self.notices.remember(job, &said) {
            return;
        }
        // A pause that was over before this replica started is not worth a log line.
        let is_over = said.until.is_none_or(|until| until <= self.store_time());
        if was_known || !is_over {
            self.report(Event::PausingHeard { job: job.clone(), said });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::time::UtcMillis;

    use super::*;

    fn job() -> JobName {
        JobName::parse("j").expect("a name")
    }

    #[test]
    fn a_notice_is_news_once_and_again_when_its_record_could_not_be_looked_at() {
        let mut notices = Notices::default();
        let notice = |stamp| Notice { job: job(), stamp };
        assert!(notices.is_news(&notice(1)));
        assert!(!notices.is_news(&notice(1)));
        assert!(notices.is_news(&notice(2)));
        notices.forget(&job());
        assert!(notices.is_news(&notice(2)));
    }

    #[test]
    fn of_all_requests_to_stop_a_run_the_first_is_news() {
        let (mut notices, other) = (Notices::default(), JobName::parse("k").expect("a name"));
        let (one, two) = (RunId::new(), RunId::new());
        assert!(notices.is_first_stop(&job(), one));
        assert!(!notices.is_first_stop(&job(), one));
        assert!(notices.is_first_stop(&other, one));
        assert!(notices.is_first_stop(&job(), two));
        assert!(!notices.is_first_stop(&job(), two));
    }

    #[test]
    fn of_two_words_about_a_pause_the_later_is_remembered() {
        let mut notices = Notices::default();
        let said = |at, until: Option<i64>| Pausing {
            until: until.map(UtcMillis),
            at: UtcMillis(at),
            by: "ann@db1".into(),
            why: None,
        };
        assert!(notices.remember(&job(), &said(10, Some(99))));
        assert!(notices.remember(&job(), &said(20, None)));
        assert!(!notices.remember(&job(), &said(10, Some(99))), "an older one, from a copy");
        assert_eq!(notices.pausing(&job()), Some(said(20, None)));
    }
}

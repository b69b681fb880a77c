//! What a replica hears of operators and guests: notices that come with heartbeats tell it which records to look at, and it
//! remembers who paused which job, for a store that forgets.

use std::collections::HashMap;
use std::sync::Arc;

use crate::events::event::Event;
use crate::job::{JobName, Tick};
use crate::lease::{Pausing, Record};
use crate::replica::driver::Driver;
use crate::replica::errand;
use crate::store::{Notice, StoreError};

use super::manual::{Order, Orders};

/// What was heard so far.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The newest notice of each job that was looked into.
    seen: HashMap<JobName, i64>,
    /// The last word about whether a job is paused.
    pausings: HashMap<JobName, Pausing>,
    /// The orders that this replica tries to take.
    pub(crate) orders: Orders,
}

impl Notices {
    /// Whether an order for the job may be granted to this replica any moment.
    pub(crate) fn may_be_granted(&self, job: &JobName) -> bool {
        self.orders.get(job).is_some_and(Order::may_be_granted)
    }

    /// Whether this is the first time that the notice is heard.
    fn is_news(&mut self, notice: &Notice) -> bool {
        self.seen.insert(notice.job.clone(), notice.stamp) != Some(notice.stamp)
    }

    /// The record could not be looked at: the notice counts as unheard.
    fn forget(&mut self, job: &JobName) {
        self.seen.remove(job);
    }

    /// The last word about whether the job is paused.
    pub(crate) fn pausing(&self, job: &JobName) -> Option<Pausing> {
        self.pausings.get(job).cloned()
    }

    /// Remembers a word about whether the job is paused; true if it is the latest, and new.
    fn remember(&mut self, job: &JobName, said: &Pausing) -> bool {
        let is_later = self.pausings.get(job).is_none_or(|known| known.at < said.at);
        if is_later {
            self.pausings.insert(job.clone(), said.clone());
        }
        is_later
    }
}

impl Driver {
    /// Looks at the records that operators and guests have changed since.
    pub(crate) fn heed(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            let Some(spec) = self.contests.get(&notice.job).map(|contest| Arc::clone(contest.spec())) else {
                continue;
            };
            if !self.notices.is_news(&notice) {
                continue;
            }
            // Somebody may want its run stopped: the holder learns that by renewing.
            let own = self.handles.values().filter(|(job, _)| *job == notice.job);
            own.for_each(|(_, handle)| handle.renew.notify_one());
            // Orders are taken by whoever looks first: replicas take turns at that as they do with ticks.
            let turn = self.health.roster.stagger(&spec, Tick::at_millis(notice.stamp));
            self.errands.spawn(errand::look(Arc::clone(&self.context), notice.job, turn));
        }
    }

    /// A record was looked at, or not: then it is looked at again after the next heartbeat.
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

    /// The record tells for how long its lock may be held, perhaps by a guest.
    fn hear_lease(&mut self, job: &JobName, record: &Record) {
        if let Some(contest) = self.contests.get_mut(job) {
            contest.saw(Some(record.lease));
        }
    }

    /// An operator may have set back a mark that lies ahead, or has: the record is opened anew after the next heartbeat, together
    /// with those of other jobs.
    fn hear_mark(&mut self, job: &JobName, record: &Record) {
        let now = self.context.now();
        let Some(contest) = self.contests.get_mut(job) else { return };
        if contest.is_ahead(now) || contest.returns_ahead() < record.returns_ahead {
            contest.close();
            self.outdate_opening(job);
        }
    }

    /// The record tells who wants the run of this replica stopped. That it stops, its renewal sees to.
    fn hear_stop(&self, job: &JobName, record: &Record) {
        if let (Some(run), Some(by)) = (record.stop, record.stop_by.clone())
            && self.handles.contains_key(&run)
        {
            self.context.events.tell(Event::KillHeard { job: job.clone(), run, by });
        }
    }

    /// The record tells that nobody holds the lock, perhaps as it was removed: whoever waits for it asks. A run that was cut
    /// short is taken up by whoever has room for it, in turns.
    fn hear_free(&mut self, job: &JobName, record: &Record) {
        let now = self.context.now();
        let Some(contest) = self.contests.get_mut(job).filter(|_| !record.is_running()) else { return };
        if let Some(rerun) = record.cut_short() {
            contest.hear_of_rerun(Some(&rerun), now);
        }
        if contest.rerun_at_hand(now).is_none() {
            contest.hurry(now);
        }
        self.look_at(job, now);
    }

    /// The record tells who paused the job, or resumed it.
    pub(crate) fn hear_pausing(&mut self, job: &JobName, said: Option<Pausing>) {
        let Some(said) = said else { return };
        let was_known = self.notices.pausings.contains_key(job);
        if !self.notices.remember(job, &said) {
            return;
        }
        // Of a pause that was over before this replica came there is nothing to say.
        let is_over = said.until.is_none_or(|until| until <= self.context.store_time());
        if was_known || !is_over {
            self.context.events.tell(Event::PausingHeard { job: job.clone(), said });
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

//! What a simulated replica notes on disk, and reports to a store that may not know it: the counterparts of
//! `lease_file`, `resync.rs`, `orphans.rs`, and of the end of `errand.rs`.

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{Outcome, Reason, RunId, Verdict};
use crate::lease::{Answer, Finish, Open, Protection, Reply, Request, Rerun};
use crate::replica::recovery::orphans::finish_in_mid_run;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::store::StoreError;

use super::errand::Errand;
use super::node::Node;

impl Node {
    /// `Book::turn`: notes this, unless a lock that was granted later is noted.
    pub(super) fn jot(&mut self, job: usize, note: LeaseNote) {
        let is_newer = |known: &LeaseNote| known.lease().fence > note.lease().fence;
        if !self.disk.get(&job).is_some_and(is_newer) {
            self.disk.insert(job, note);
        }
    }

    /// `orphans::end_orphan`, and `Driver::orphan_ended`: a former run is surely dead, or left to its lease.
    pub(crate) fn orphan_ended(&mut self, job: usize, run: RunId, is_sure: bool, reads: Reads) {
        self.reads = reads;
        if !self.awaited.remove(&(job, run)) {
            return;
        }
        let note = self.disk.get(&job).filter(|note| is_sure && note.lease().run == run);
        if let Some(LeaseNote::Running { lease, era, .. }) = note {
            // As if the record could not be read, which would show a later sign of life.
            let ended = lease.started;
            let verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
            let finish =
                Finish { era: era.clone(), verdict, ..finish_in_mid_run(lease.clone(), era.clone(), ended) };
            self.jot(job, LeaseNote::Ended(finish));
        }
        self.open_records();
    }

    /// `Driver::is_busy`.
    fn is_busy(&self, job: usize) -> bool {
        self.opening.contains(&job) || self.awaited.iter().any(|(of, _)| *of == job)
    }

    /// `Driver::open_records`, and the beginning of `errand::open`.
    pub(super) fn open_records(&mut self) {
        if self.visit.is_none() && !self.health.joining.is_over() {
            return;
        }
        let Some(store_clock) = self.store_clock.clone() else { return };
        let mut opens = Vec::new();
        for (job, contest) in self.contests.iter().enumerate() {
            if contest.is_unopened() && !self.is_busy(job) && !self.is_elsewhere(job) {
                let caller = store_clock.caller(&self.name, self.reads.boot, self.known(job));
                let since = store_clock.store_time(contest.begun());
                let open = contest.proposal().open(
                    caller,
                    since,
                    store_clock.earlier(self.reads.wall, self.reads.boot),
                    self.reads.wall,
                );
                opens.push((job, self.as_guest(open)));
            }
        }
        let ends = self.take_untold();
        if opens.is_empty() && ends.is_empty() {
            return;
        }
        let jobs: Vec<usize> = opens.iter().map(|(job, _)| *job).collect();
        self.opening.extend(jobs.iter().chain(ends.iter().map(|(job, _)| job)));
        self.send(Ask::Known(jobs), Errand::Known(opens, ends));
    }

    /// `Driver::take_untold`.
    fn take_untold(&mut self) -> Vec<(usize, Finish)> {
        let untold = std::mem::take(&mut self.untold);
        let (later, now): (Vec<_>, Vec<_>) = untold.into_iter().partition(|job| self.is_busy(*job));
        self.untold.extend(later);
        let end = |job: usize| match self.disk.get(&job)? {
            LeaseNote::Ended(finish) => Some((job, finish.clone())),
            LeaseNote::Running { .. } if Protection::ResentFinish.is_on() => None,
            LeaseNote::Running { lease, .. } => {
                Some((job, finish_in_mid_run(lease.clone(), self.era(), self.store_time())))
            }
        };
        now.into_iter().filter_map(end).collect()
    }

    /// The rest of `errand::open`.
    pub(super) fn knows(
        &mut self,
        opens: Vec<(usize, Open)>,
        ends: Vec<(usize, Finish)>,
        answered: Answered,
    ) {
        let Ok(Told::Known(known)) = answered else {
            opens.iter().for_each(|(job, _)| {
                self.opening.remove(job);
                self.outdated.remove(job);
            });
            let lost = || Err(StoreError::Unknown("no answer".into()));
            return ends.iter().for_each(|(job, _)| self.told(*job, lost()));
        };
        for ((job, mut open), known) in opens.into_iter().zip(known) {
            open.is_known_job |= known;
            self.send(Ask::Submit(job, Request::Open(open)), Errand::Open { job });
        }
        for (job, finish) in ends {
            self.send(Ask::Submit(job, Request::Finish(finish)), Errand::Tell { job });
        }
    }

    /// `Driver::told`.
    pub(super) fn told(&mut self, job: usize, told: Result<Option<Rerun>, StoreError>) {
        self.opening.remove(&job);
        self.outdated.remove(&job);
        match told {
            Err(_) => {
                self.untold.insert(job);
            }
            Ok(rerun) => {
                let now = self.now();
                if let Some(rerun) = rerun.filter(|rerun| !rerun.goes_on) {
                    self.contests[job].hear_of_rerun(Some(&rerun), now);
                    self.look_at(job);
                }
            }
        }
    }

    /// `Driver::opened`, and the end of `errand::open`.
    pub(super) fn opened(&mut self, job: usize, result: Result<Reply, StoreError>) {
        self.opening.remove(&job);
        if result.is_ok() {
            self.send(Ask::Enroll(vec![job]), Errand::Told);
        }
        if self.outdated.remove(&job) {
            return self.open_records();
        }
        if let Ok(Reply {
            mark,
            answer: Answer::Opened { since, ahead, reopened_ahead_count, .. },
            lease,
            rerun,
            ..
        }) = result
        {
            let now = self.now();
            self.contests[job].hear_of_rerun(rerun.as_ref(), now);
            self.contests[job].saw(lease);
            self.contests[job].opened(mark.unwrap_or_default(), since, now);
            self.contests[job].told_ahead(ahead, reopened_ahead_count);
            self.ask_as_guest();
            self.look_at(job);
        }
    }
}

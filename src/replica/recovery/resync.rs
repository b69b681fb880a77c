//! Re-synchronises a store that does not know, or may have forgotten: opens the records of all jobs and sends the
//! last finish of each job again. At its start the replica first makes sure that the runs of its earlier process are
//! dead; the other jobs do not wait for that.

use std::collections::{BTreeMap, BTreeSet};

use crate::events::event::Event;
use crate::events::marks_ahead::MarksAhead;
use crate::events::run_ref::Run;
use crate::job::{Fence, JobName, OnInterrupt};
use crate::lease::{Answer, Open, Rerun};
use crate::replica::core::{Core, Effect, PastRead};
use crate::replica::tick::claiming::Contest;
use crate::store::Replied;

use super::orphans::OrphanEnded;

/// What an earlier process left behind, and what has still to be sent to the store.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Whether what an earlier process left behind has been read.
    is_read: bool,
    /// How many orphans each job waits for.
    awaited: BTreeMap<JobName, usize>,
    /// The largest fencing token that an earlier process noted: the store may have forgotten it.
    largest_fence: Fence,
    /// Jobs that may have a note on disk, of this process or of an earlier one.
    pub(crate) noted: BTreeSet<JobName>,
    /// Jobs for which the store may not know how the last run ended.
    untold: BTreeSet<JobName>,
}

impl Core {
    /// Takes in what an earlier process left behind, and ends its runs.
    pub(crate) fn past_read(&mut self, PastRead { orphans, largest_fence, noted }: PastRead) {
        self.past.is_read = true;
        for orphan in orphans {
            *self.past.awaited.entry(orphan.job.clone()).or_default() += 1;
            self.effects.push(Effect::CheckOrphan { orphan: Box::new(orphan), is_first: true });
        }
        self.past.largest_fence = largest_fence;
        self.past.untold.extend(noted.iter().cloned());
        self.past.noted.extend(noted);
        self.open_records();
    }

    /// Takes in the result of checking an orphan. One that may still be running is left to its lease, and then
    /// checked again.
    pub(crate) fn orphan_ended(&mut self, OrphanEnded { job, is_first, left }: OrphanEnded) {
        if let Some(orphan) = left {
            self.effects.push(Effect::CheckOrphan { orphan: Box::new(orphan), is_first: false });
        }
        if !is_first {
            return;
        }
        if let Some(awaited) = self.past.awaited.get_mut(&job) {
            *awaited -= 1;
            if *awaited == 0 {
                self.past.awaited.remove(&job);
            }
        }
        self.open_records();
    }

    /// Takes in that the store may have forgotten how runs ended, and later holders.
    pub(crate) fn doubt_the_store(&mut self) {
        self.effects.push(Effect::DoubtNotedEnds);
        self.past.untold.extend(self.past.noted.iter().cloned());
    }

    /// Opens the records of all jobs that need it, and sends the finishes that the store may not know.
    pub(crate) fn open_records(&mut self) {
        if self.draining || !self.past.is_read || !self.health.joining.is_over() {
            return;
        }
        self.store_clock.record_fence(self.past.largest_fence);
        let store_clock = self.store_clock.read(Clone::clone);
        let Some(store_clock) = store_clock else { return };
        let (now, wall, due_time) = (self.at.boot, self.at.wall, self.now());
        let (have_agreed, calm) = (self.health.config_drift.have_agreed(now), store_clock.calm(now));
        let mut opens = Vec::new();
        for (job, contest) in &mut self.contests {
            let agreed = have_agreed && !contest.is_unopened() && contest.may_forget_lease(calm);
            let is_busy = self.opening.contains_key(job) || self.past.awaited.contains_key(job);
            if is_busy || !agreed && !contest.is_unopened() {
                continue;
            }
            if agreed {
                contest.ask_for_lease();
            }
            let caller = store_clock.caller(&self.node, now, contest.known());
            let pausing = self.notices.pausing(job);
            // By the earlier of the two clocks, as ticks are due: a clock that is ahead would put `since` into the
            // future.
            let held = now.since(contest.begun());
            let since = store_clock.store_time(contest.begun()).min(due_time.minus(held));
            let open = contest.proposal().open(caller, since, store_clock.earlier(wall, now), wall);
            // A store that does not know a job which was noted has forgotten it.
            let is_known_job = open.is_known_job || self.past.noted.contains(job);
            opens.push((job.clone(), Open { pausing, files_agree: agreed, is_known_job, ..open }));
        }
        let resend = self.take_untold();
        if opens.is_empty() && resend.is_empty() {
            return;
        }
        self.opening.extend(resend.iter().map(|job| (job.clone(), None)));
        let begun = |job: &JobName| Some(self.contests[job].begun());
        self.opening.extend(opens.iter().map(|(job, _)| (job.clone(), begun(job))));
        self.effects.push(Effect::OpenRecords { opens, resend });
    }

    /// If the record has to be opened anew, makes the answer to an opening under way not count.
    pub(crate) fn outdate_opening(&mut self, job: &JobName) {
        let is_unopened = self.contests.get(job).is_some_and(Contest::is_unopened);
        if let Some(begun) = self.opening.get_mut(job).filter(|_| is_unopened) {
            *begun = None;
        }
    }

    /// Whether the job's record is being opened, or an orphan of the job is being checked.
    fn is_busy(&self, job: &JobName) -> bool {
        self.opening.contains_key(job) || self.past.awaited.contains_key(job)
    }

    /// Returns the jobs whose noted ends the store may not know, without those that are busy.
    fn take_untold(&mut self) -> Vec<JobName> {
        let untold = std::mem::take(&mut self.past.untold);
        let (later, now): (BTreeSet<_>, BTreeSet<_>) = untold.into_iter().partition(|job| self.is_busy(job));
        self.past.untold = later;
        now.into_iter().collect()
    }

    /// Takes in the answers to requests to open records, and to finishes that were sent again.
    pub(crate) fn opened(
        &mut self,
        opened: Vec<(JobName, Replied)>,
        resent: Vec<(JobName, Option<(Run, Replied)>)>,
    ) {
        let (now, mut is_outdated, mut lies_ahead) = (self.now(), false, Vec::new());
        for (job, reply) in opened {
            let begun = self.opening.remove(&job).flatten();
            let Some(contest) = self.contests.get_mut(&job) else { continue };
            contest.told_lease(reply.as_ref().ok().and_then(|reply| reply.lease));
            if begun != Some(contest.begun()) {
                // Meanwhile another file was loaded, or the store's era changed.
                is_outdated = true;
                continue;
            }
            if let Ok(reply) = &reply {
                contest.hear_of_rerun(reply.rerun.as_ref(), now);
            }
            match reply.map(|reply| (reply.mark, reply.answer)) {
                Ok((mark, Answer::Opened { since, pausing, ahead, closed, reopened_ahead_count })) => {
                    contest.opened(mark.unwrap_or_default(), since, now);
                    contest.told_ahead(ahead, reopened_ahead_count);
                    let before = std::mem::replace(&mut contest.closed_ahead, closed);
                    lies_ahead
                        .extend(closed.filter(|_| closed != before).map(|closed| (job.clone(), closed)));
                    self.hear_pausing(&job, pausing);
                    self.look_at(&job, now);
                }
                Ok((_, Answer::NewerSchema(schema))) if contest.may_complain(now) => {
                    self.report(Event::NewerSchema { job, schema });
                }
                // Anything else is tried again after the next heartbeat, and logged now and then.
                other => {
                    let error =
                        other.map_or_else(|error| error.to_string(), |(_, answer)| answer.name().to_owned());
                    if contest.may_complain(now) {
                        self.report(Event::OpenFailed { job, error });
                    }
                }
            }
        }
        if let Some((job, mark)) = lies_ahead.first().cloned() {
            self.report(Event::MarksAhead(MarksAhead { jobs: lies_ahead.len(), job, mark }));
        }
        // After the answers to the openings: the finishes were sent later, so their answers are newer.
        for (job, told) in resent {
            // A record that was not opened by this call may have to be opened since then.
            let was_only_resent = self.opening.remove(&job).is_some();
            is_outdated |= was_only_resent && self.contests.get(&job).is_some_and(Contest::is_unopened);
            if let Some((run, reply)) = told {
                self.told(run, reply);
            }
        }
        if is_outdated {
            self.open_records();
        }
    }

    /// Whether the job wants a rerun of an interrupted run.
    pub(crate) fn reruns(&self, job: &JobName) -> bool {
        self.jobs.get(job).is_some_and(|job| job.spec.enabled && job.spec.on_interrupt == OnInterrupt::Rerun)
    }

    /// Takes in that a run of an earlier process was interrupted: another replica reruns it, or this one does.
    fn hear_of_former(&mut self, job: &JobName, rerun: Option<&Rerun>) {
        let now = self.now();
        if let (Some(rerun), Some(contest)) =
            (rerun.filter(|rerun| !rerun.goes_on), self.contests.get_mut(job))
        {
            contest.hear_of_rerun(Some(rerun), now);
            self.look_at(job, now);
            if self.reruns(job) {
                self.effects.push(Effect::Announce(job.clone()));
            }
        }
    }

    /// Takes in the store's answer to a finish. Without an answer, the finish is sent again.
    fn told(&mut self, run: Run, reply: Replied) {
        let job = run.job.clone();
        if let Ok(reply) = &reply {
            self.hear_of_former(&job, reply.rerun.as_ref());
        }
        match reply.map(|reply| reply.answer) {
            Ok(Answer::Finished) => self.report(Event::RunRecalled { run }),
            Ok(_) => {}
            Err(_) => {
                self.past.untold.insert(job);
                return;
            }
        }
        if !self.jobs.contains_key(&job) {
            // The job does not exist any more: no run will ever replace the note.
            self.past.noted.remove(&job);
            self.effects.push(Effect::ForgetNote(job));
        }
    }
}

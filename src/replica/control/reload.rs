//! Applies a jobs.toml that was loaded again: all of it takes effect in one step of the loop. Runs that are going
//! keep the definition they started with.

use std::sync::{Arc, PoisonError};

use crate::events::config_diff::{Change, Changes};
use crate::events::event::Event;
use crate::job::JobName;
use crate::replica::core::Core;
use crate::replica::replica::LoadedFile;
use crate::replica::tick::claiming::Contest;
use crate::replica::tick::ticker::take_coming;
use crate::run::Job;
use crate::time::UtcMillis;

impl Core {
    /// Applies another jobs.toml. A replica that drains applies nothing.
    pub(crate) fn reload(&mut self, file: LoadedFile) {
        if self.draining {
            return;
        }
        let LoadedFile { jobs, hash: file, expected_replicas, drain, labels, max_running, retention } = file;
        let changes = Changes::between(&self.jobs, &jobs);
        let relabelled = self.beat.labels != labels;
        let now = self.now();
        // Ticks that were due before the file was loaded stay due. An alarm for a tick that does not exist any more
        // is harmless.
        let coming = take_coming(&self.next_ticks, now);
        self.expect(coming);
        for name in changes.jobs() {
            self.change(name, jobs.get(name));
        }
        let scheduled = jobs.values().map(|job| Arc::clone(&job.spec));
        self.next_ticks.lock().unwrap_or_else(PoisonError::into_inner).plan(scheduled, now);
        self.jobs = jobs;
        self.drain = drain;
        self.retention = retention;
        self.health.expected = expected_replicas;
        self.health.config_drift.load(file.clone());
        self.health.roster.carry(labels.clone());
        self.update_beat(|beat| (beat.file, beat.labels) = (file.clone(), labels));
        // Sends a heartbeat at once: the other replicas shall not see different files for longer than they differ.
        self.beats_now = true;
        self.report(Event::Reloaded { file, changes: changes.clone() });
        self.open_records();
        let coming = take_coming(&self.next_ticks, now);
        self.expect(coming);
        for name in changes.jobs() {
            self.look_at(name, now);
        }
        self.resize_capacity(max_running);
        // A job that waits for a slot has it before one that has just got its labels.
        self.pass_slots_on();
        if relabelled {
            self.ask_anew(now);
        }
        self.reloaded = Some(changes);
    }

    /// Revises the claims of jobs that require labels, because the labels of this replica have changed: a claim under
    /// way may be granted for a job that it may not run any more.
    fn ask_anew(&mut self, now: UtcMillis) {
        let is_labelled =
            |contest: &&mut Contest| !contest.spec().only_on.is_empty() && !contest.is_retired();
        let labelled: Vec<JobName> = self
            .contests
            .values_mut()
            .filter(is_labelled)
            .map(|contest| {
                contest.revise(Arc::clone(contest.spec()));
                contest.spec().name.clone()
            })
            .collect();
        labelled.iter().for_each(|name| self.look_at(name, now));
    }

    fn change(&mut self, name: &JobName, new: Option<&Job>) {
        let (now, begun) = (self.now(), self.at.boot);
        let (change, spec) = (Change::of(self.jobs.get(name), new), new.map(|job| &job.spec));
        let Some(change) = change else {
            // A new job that is not enabled: its record has to contain that.
            if let Some(spec) = spec {
                let contest = || Contest::new(Arc::clone(spec), self.node.clone(), begun);
                self.contests.entry(name.clone()).or_insert_with(contest);
            }
            return;
        };
        let dropped =
            self.contests.get(name).filter(|_| change != Change::Revised).and_then(Contest::waits_for);
        if let Some(tick) = dropped {
            self.report(Event::TickDropped { job: name.clone(), tick });
        }
        let doubt = match (change, self.contests.get_mut(name), spec) {
            (Change::Ends, Some(contest), _) => contest.retire(now, begun),
            (Change::Revised, Some(contest), Some(spec)) => {
                contest.revise(Arc::clone(spec));
                None
            }
            (Change::Starts, Some(contest), Some(spec)) => contest.restart(Arc::clone(spec), now, begun),
            (_, None, Some(spec)) => {
                let contest = Contest::since(Arc::clone(spec), self.node.clone(), now, begun);
                self.contests.insert(name.clone(), contest);
                None
            }
            (_, _, None) => None,
        };
        self.outdate_opening(name);
        if let Some(doubt) = doubt {
            self.give_back(name, doubt);
        }
    }
}

//! Runs of replicas that are down: survivors record that they were interrupted once their locks are over, whatever the policies of
//! their jobs, and one of them tells it. Nothing rests on it: the next claim of such a job would do the same, however late.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, NodeName, Outcome, RunId, Tick, UtcMillis};
use crate::lease::{Answer, BootInstant, Entry, Manual, Record};
use crate::store::{Pulse, Replied};

use super::contest::Contest;
use super::driver::Driver;
use super::errand;
use super::event::{Event, PeerEvent};
use super::run_ref::RunRef;
use super::silence::{Down, Silence};

/// Of all survivors one looks after a run. The others forget it after this long: should that one die as well, they search anew.
const LOOKED_AFTER: Duration = Duration::from_secs(15);

/// A run whose replica is down.
#[derive(Debug, Clone)]
pub(super) struct LostRun {
    pub(super) run: RunRef,
    pub(super) node: NodeName,
    /// When its lock is over.
    due: BootInstant,
    is_asked: bool,
}

/// What is known of them.
#[derive(Debug, Default)]
pub(super) struct LostRuns {
    silence: Silence,
    /// Whether a replica is down whose runs have not been searched for.
    is_search_due: bool,
    runs: BTreeMap<RunId, LostRun>,
}

impl LostRun {
    /// The run that the record says is going on.
    fn of(job: &JobName, record: &Record, store_now: UtcMillis, now: BootInstant) -> Option<Self> {
        let run = RunRef {
            job: job.clone(),
            tick: record.tick?,
            run: record.run?,
            fence: record.fence,
            cause: record.cause?,
        };
        let left = record.lock_left(store_now);
        let node = record.owner.clone().filter(|_| record.is_running())?;
        Some(Self { run, node, due: now.plus(left), is_asked: false })
    }

    /// Whether it is over, by what the store answered.
    fn is_over(&self, replied: &Replied) -> Option<bool> {
        match replied.as_ref().ok()?.answer {
            Answer::Decided { ref by, how } => {
                let goes_on = how.is_some_and(|how| how.outcome == Outcome::Running);
                Some(!(goes_on && by.as_ref() == Some(&self.node)))
            }
            Answer::NewerSchema(_) => Some(true),
            _ => None,
        }
    }
}

impl Driver {
    /// Heartbeats were exchanged: who is down is told, and what it was running is looked after.
    pub(super) fn look_after_lost_runs(&mut self, pulse: &Pulse) {
        let now = self.shop.clock.boot();
        let news = self.lost.silence.learn(&self.shop.node, &pulse.peers, now);
        self.lost.is_search_due |= !news.down.is_empty();
        for Down { peer, silent, jobs, is_news } in news.down {
            if is_news && self.watch.roster.leads(peer.as_str(), Tick::at_millis(0)) {
                self.shop.events.tell(Event::Peer(PeerEvent::Down { peer, silent, jobs }));
            }
        }
        for peer in news.back {
            if self.watch.roster.leads(peer.as_str(), Tick::at_millis(0)) {
                self.shop.events.tell(Event::Peer(PeerEvent::Back { peer }));
            }
        }
        if self.lost.is_search_due && !self.draining && self.watch.joining.is_over() {
            self.lost.is_search_due = false;
            let jobs = self.contests.keys().cloned().collect();
            self.errands.spawn(errand::search(Arc::clone(&self.shop), jobs));
        }
        let is_alive = |lost: &LostRun| {
            let mut peers = pulse.peers.iter().filter(|peer| !self.lost.silence.is_down(&peer.beat.node));
            peers.any(|peer| peer.beat.running.iter().any(|running| running.run == lost.run.run))
        };
        let is_left = |lost: &LostRun| now.since(lost.due) <= LOOKED_AFTER || lost.is_asked;
        let kept: BTreeMap<RunId, LostRun> = std::mem::take(&mut self.lost.runs)
            .into_iter()
            .filter(|(_, lost)| is_left(lost) && !is_alive(lost))
            .collect();
        self.lost.runs = kept;
        self.ask_for_lost_runs(now);
    }

    fn ask_for_lost_runs(&mut self, now: BootInstant) {
        if self.draining {
            return;
        }
        for lost in self.lost.runs.values_mut().filter(|lost| !lost.is_asked && lost.due <= now) {
            let job = &lost.run.job;
            let open = self.contests.get(job).filter(|contest| !contest.is_unopened());
            let leads = self.watch.roster.leads(job.as_str(), lost.run.tick);
            let Some(contest) = open.filter(|_| leads) else { continue };
            let caller = {
                let memory = self.shop.memory.borrow();
                let Some(memory) = memory.as_ref() else { return };
                memory.caller(&self.shop.node, now, contest.known())
            };
            // An order that nobody gave: nothing is granted, but a run whose lock is over is ended.
            let settle = Manual {
                caller,
                run: RunId::new(),
                tick: lost.run.tick,
                asked: self.shop.store_time(),
                order: Some(RunId::new()),
                lease: contest.spec().lease,
                overlap: contest.spec().overlap,
                reruns_within: None,
            };
            lost.is_asked = true;
            self.errands.spawn(errand::settle(Arc::clone(&self.shop), lost.run.clone(), settle));
        }
    }

    /// Records were read, after a replica fell silent, or not: then they are read after the next heartbeat.
    pub(super) fn searched(&mut self, records: Option<Vec<(JobName, Record)>>) {
        let Some(records) = records else {
            self.lost.is_search_due = true;
            return;
        };
        let (now, store_now) = (self.shop.clock.boot(), self.shop.store_time());
        let found = records.iter().filter_map(|(job, record)| LostRun::of(job, record, store_now, now));
        for lost in found.filter(|lost| self.lost.silence.is_down(&lost.node)) {
            self.lost.runs.entry(lost.run.run).or_insert(lost);
        }
    }

    /// The store was asked to end a lost run, and what it has recorded of it was read; or it did not answer.
    pub(super) fn settled_lost(&mut self, run: &RunRef, replied: &Replied, entry: Option<Entry>) {
        let now = self.shop.clock.boot();
        self.hear_answer(&run.job, replied);
        let Some(lost) = self.lost.runs.get_mut(&run.run) else { return };
        lost.is_asked = false;
        if lost.is_over(replied) != Some(true) {
            // Its holder renewed the lock later than was known, or this replica has not watched the store for long enough.
            lost.due = lost.due.max(now);
            return;
        }
        let peer = lost.node.clone();
        self.lost.runs.remove(&run.run);
        if let Some(entry) = entry.filter(|entry| entry.outcome == Outcome::Interrupted) {
            let took = entry.started.map(|started| entry.finished.since(started)).unwrap_or_default();
            let (run, verdict) = (run.clone(), entry.verdict());
            self.shop.events.tell(Event::Peer(PeerEvent::RunInterrupted { run, peer, verdict, took }));
        }
        let rerun = replied.as_ref().ok().and_then(|reply| reply.rerun.as_ref());
        let looks = self.shop.now();
        if let Some(contest) = self.contests.get_mut(&run.job).filter(|contest| !Contest::is_retired(contest))
        {
            contest.hear_of_rerun(rerun, looks);
            self.look_at(&run.job, looks);
        }
    }
}

//! Runs of replicas that are down: survivors record them as interrupted once their locks are over, whatever the
//! policies of their jobs, and one survivor logs it. Nothing depends on this: the next claim of such a job does the
//! same, however late it comes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::events::event::Event;
use crate::events::peer_event::PeerEvent;
use crate::events::run_ref::Run;
use crate::hold::lock_request::LockRequest;
use crate::job::{JobName, NodeName, Outcome, Reason, RunId, Tick};
use crate::lease::{HistoryEntry, LiveRuns, Manual, Record};
use crate::replica::cluster::down::{Down, DownNews, DownReplicas};
use crate::replica::core::{Core, Effect};
use crate::store::{Pulse, UnrecordedEnd};
use crate::time::{BootInstant, UtcMillis};

/// All records are read this often in any case: a holder may have died unnoticed.
const SEARCH_EVERY: Duration = Duration::from_secs(600);

/// How many records are read in one errand: a drain need not wait for all of them.
const SEARCHED_TOGETHER: usize = 512;

/// For how many runs a settling request is under way at the same time.
const ASKED_AT_A_TIME: usize = 64;

/// Survivors try to settle a run one after the other, this far apart, and all of them after so many turns: the first
/// may lack the job, run an earlier release, or not have watched the store for long enough.
const TURN: Duration = Duration::from_secs(2);
const TURNS: u32 = 2;

/// A run that could not be settled is tried again after this long.
const AGAIN: Duration = Duration::from_secs(2);

/// The survivor whose turn it is logs that a replica is down, if it gets its turn within this time: replicas that die
/// together may count as survivors at first.
const TELL_WITHIN: Duration = Duration::from_secs(6);

/// A run whose replica may be gone.
#[derive(Debug, Clone)]
struct LostRun {
    run: Run,
    node: NodeName,
    /// When its lock is over, as far as is known.
    due: BootInstant,
    is_asked: bool,
    /// Whether this replica has tried in vain: then only the replica that ends the run logs it.
    was_in_vain: bool,
}

/// The replicas that are down and the runs without a replica, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct LostRuns {
    pub(in crate::replica) silence: DownReplicas,
    /// The runs that other live replicas listed when heartbeats were last exchanged.
    pub(in crate::replica) listed: BTreeMap<JobName, LiveRuns>,
    /// Replicas that are down and have not been logged, with the time since when.
    untold: Vec<(Down, BootInstant)>,
    /// Jobs whose records have still to be read.
    unread: Vec<JobName>,
    is_searching: bool,
    searched: Option<BootInstant>,
    runs: BTreeMap<RunId, LostRun>,
}

/// The result of asking the store about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Its lock holds for this long.
    Held(Duration),
    /// The store did not answer, or did not end it.
    InVain,
    /// It has ended: because of this replica's request (`here`), or otherwise. With its entry, if that is among the
    /// newest.
    Over { here: bool, entry: Option<Box<HistoryEntry>> },
}

impl LostRun {
    /// The run that is going by the record, if there is one.
    fn of(job: &JobName, record: &Record, store_now: UtcMillis, now: BootInstant) -> Option<Self> {
        let run = Run {
            job: job.clone(),
            tick: record.tick?,
            run: record.run?,
            fence: record.fence,
            cause: record.cause?,
        };
        let node = record.owner.clone().filter(|_| record.is_running())?;
        let due = now.plus(record.lock_left(store_now));
        Some(Self { run, node, due, is_asked: false, was_in_vain: false })
    }
}

impl Core {
    /// Takes in an exchange of heartbeats: logs which replicas are down, and sees that their runs are recorded.
    pub(crate) fn look_after_lost_runs(&mut self, pulse: &Pulse, news: DownNews) {
        let now = self.at.boot;
        let is_due = self.lost.searched.is_none_or(|before| now.since(before) >= SEARCH_EVERY);
        if is_due || news.lives_ended {
            self.lost.searched = Some(now);
            self.lost.unread = self.contests.keys().cloned().collect();
        }
        self.lost.untold.extend(news.down.into_iter().filter(|down| down.is_news).map(|down| (down, now)));
        self.tell_who_is_down(now);
        for peer in news.back {
            self.lost.untold.retain(|(down, _)| down.peer != peer);
            if self.turn(peer.as_str(), Tick::at_millis(0), Some(&peer)) == 0 && !self.draining {
                self.report(Event::Peer(PeerEvent::Back { peer }));
            }
        }
        let fresh = pulse.peers.iter().filter(|peer| !self.lost.silence.is_down(&peer.beat.node));
        // The store may refuse to record that a run was cut short, for as long as its replica lives.
        let listed = fresh.flat_map(|peer| &peer.beat.running);
        let running = listed.filter(|run| run.end != Some(UnrecordedEnd::CutShort)).map(|run| &run.run);
        for run in running.chain(self.runs.keys()) {
            self.lost.runs.remove(run);
        }
        self.search_on();
        self.ask_about_lost_runs();
    }

    fn tell_who_is_down(&mut self, now: BootInstant) {
        let untold = std::mem::take(&mut self.lost.untold);
        for (down, since) in untold {
            if self.draining || now.since(since) > TELL_WITHIN {
                continue;
            }
            if self.turn(down.peer.as_str(), Tick::at_millis(0), Some(&down.peer)) > 0 {
                self.lost.untold.push((down, since));
                continue;
            }
            let Down { peer, silent, jobs, .. } = down;
            let silent = silent + now.since(since);
            self.report(Event::Peer(PeerEvent::Down { peer, silent, jobs }));
        }
    }

    /// Returns how many live replicas come before this one in a task that one of them is to do. `but`, the replica
    /// that the task is about, does not count.
    fn turn(&self, what: &str, tick: Tick, but: Option<&NodeName>) -> usize {
        let is_out = |node: &NodeName| Some(node) == but || self.lost.silence.is_down(node);
        self.health.roster.turn(what, tick, is_out)
    }

    /// Reads the next records.
    fn search_on(&mut self) {
        if self.lost.is_searching
            || self.lost.unread.is_empty()
            || self.draining
            || !self.health.joining.is_over()
        {
            return;
        }
        let rest = self.lost.unread.len().saturating_sub(SEARCHED_TOGETHER);
        let jobs = self.lost.unread.split_off(rest);
        self.lost.is_searching = true;
        self.effects.push(Effect::FindRuns(jobs));
    }

    /// Takes in records that were read. Those of the jobs in `unread` are read after the next heartbeat.
    pub(crate) fn searched(&mut self, records: &[(JobName, Record)], unread: Vec<JobName>) {
        self.lost.is_searching = false;
        let (now, store_now) = (self.at.boot, self.store_time());
        for lost in records.iter().filter_map(|(job, record)| LostRun::of(job, record, store_now, now)) {
            if !self.runs.contains_key(&lost.run.run) {
                self.lost.runs.entry(lost.run.run).or_insert(lost);
            }
        }
        let is_through = unread.is_empty();
        self.lost.unread.extend(unread);
        if is_through {
            self.search_on();
        }
    }

    fn ask_about_lost_runs(&mut self) {
        let now = self.at.boot;
        let mut left =
            ASKED_AT_A_TIME.saturating_sub(self.lost.runs.values().filter(|lost| lost.is_asked).count());
        if self.draining {
            return;
        }
        let is_due = |lost: &LostRun| lost.due <= now && !lost.is_asked;
        let due: Vec<RunId> =
            self.lost.runs.iter().filter(|(_, lost)| is_due(lost)).map(|(id, _)| *id).collect();
        for id in due {
            if left == 0 {
                return;
            }
            let lost = &self.lost.runs[&id];
            let (job, tick) = (&lost.run.job, lost.run.tick);
            let Some(contest) = self.contests.get(job).filter(|contest| !contest.is_unopened()) else {
                continue;
            };
            let turn = u32::try_from(self.turn(job.as_str(), tick, None)).unwrap_or(TURNS).min(TURNS);
            if now < lost.due.plus(TURN * turn) {
                continue;
            }
            let Some(caller) = self.caller(contest.known()) else { return };
            // An order that does not exist: nothing is granted, but a run whose lock is over is ended (rule 7).
            let (lease, overlap) = (contest.spec().lease, contest.spec().overlap);
            let request = LockRequest::new().manual(caller, tick, self.store_time(), lease);
            let settle = Manual { order: Some(RunId::new()), overlap, ..request };
            left -= 1;
            let (run, manual) = (lost.run.clone(), Box::new(settle));
            self.effects.push(Effect::SettleLostRun { run, manual });
            self.lost.runs.get_mut(&id).expect("it is due").is_asked = true;
        }
    }

    /// Takes in the result of asking the store about a lost run.
    pub(crate) fn settled_lost(&mut self, run: &Run, settled: Settled) {
        let now = self.at.boot;
        let Some(lost) = self.lost.runs.get_mut(&run.run) else { return };
        lost.is_asked = false;
        match settled {
            Settled::Held(left) => lost.due = now.plus(left),
            Settled::InVain => {
                lost.due = now.plus(AGAIN);
                lost.was_in_vain = true;
            }
            Settled::Over { here, entry } => {
                let (peer, was_in_vain) = (lost.node.clone(), lost.was_in_vain);
                self.lost.runs.remove(&run.run);
                let is_down = self.lost.silence.is_down(&peer);
                let falls_here = !was_in_vain && is_down && self.turn(run.job.as_str(), run.tick, None) == 0;
                let node_lost = |entry: &HistoryEntry| {
                    (entry.outcome, entry.reason) == (Outcome::Interrupted, Some(Reason::NodeLost))
                };
                if let Some(entry) = entry.filter(|entry| node_lost(entry) && (here || falls_here)) {
                    let took = entry.started.map(|started| entry.finished.since(started)).unwrap_or_default();
                    let (run, verdict, at) = (run.clone(), entry.verdict(), entry.finished);
                    self.report(Event::Peer(PeerEvent::RunInterrupted { run, peer, verdict, took, at }));
                }
            }
        }
        self.ask_about_lost_runs();
    }
}

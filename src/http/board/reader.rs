//! Reads the store for the board and for metrics, one read at a time. How all jobs stand is read once at the start, and then
//! only while somebody scrapes or looks: every replica does so in its turn, so that the cluster as a whole reads the store as
//! often, however many replicas it has. What viewers look at is read when it is asked for, and when it changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::sleep;
use tracing::debug;

use crate::events::Event;
use crate::http::state::Shared;
use crate::job::JobName;
use crate::replica::ReplicaFacts;
use crate::run::release_free_memory;
use crate::store::{FailureCause, Hint, LIVE_FOR, Store, StoreError};
use crate::time::BootInstant;
use crate::view::snapshot::{Snapshot, errors_of};

use super::changes::{Changed, ListedRuns, changed_by};
use super::standings::SweepFindings;
use super::table::{BoardRead, ReadAt};

/// How often it is looked whether something is to read, and how long nothing is read after an error.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time between two sweeps of the cluster.
const SWEEP_EVERY: Duration = Duration::from_secs(20);

/// Sweeps go on for this long after the last scrape.
const SCRAPED_WITHIN: Duration = Duration::from_secs(300);

/// How often the store's settings are read while a job waits for something.
const ASK_WHY_EVERY: Duration = Duration::from_secs(10);

/// How often jobs that somebody looks at are checked, with hints and without.
const CHECK_EVERY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));

/// At most this many messages are taken in between two reads.
const HEARD_TOGETHER: usize = 4_096;

/// So many jobs of a sweep are judged together: the records of all of them would take tens of megabytes.
const SWEPT_TOGETHER: usize = 512;

/// What is read next.
#[derive(Debug)]
enum Due {
    /// How all jobs stand.
    Sweep,
    /// How the store is set up.
    Why,
    /// Something that a viewer needs.
    Board(BoardRead),
}

/// Reads the store.
#[derive(Debug)]
struct BoardReader {
    shared: Arc<Shared>,
    facts: watch::Receiver<ReplicaFacts>,
    /// What tells of changes, while somebody looks.
    sources: Option<ChangeSources>,
    runs: ListedRuns,
    last_sweep: Option<BootInstant>,
    last_why: Option<BootInstant>,
    last_check: Option<BootInstant>,
    /// Nothing is read before this: the store did not answer.
    rests_until: BootInstant,
}

/// What tells of changes.
#[derive(Debug)]
struct ChangeSources {
    events: broadcast::Receiver<Arc<Event>>,
    /// `None` where the store sends no hints.
    hints: Option<mpsc::Receiver<Hint>>,
}

/// Something that tells of changes.
#[derive(Debug)]
enum Heard {
    Event(Arc<Event>),
    Hint(JobName),
    /// Messages were lost.
    Gap,
    NoHints,
}

/// Reads the store of the board whenever something is due, without end.
pub(crate) async fn read_when_due(shared: Arc<Shared>, store: Arc<dyn Store>) {
    shared.board.turns.open(store);
    let mut facts = shared.facts.clone();
    facts.mark_changed();
    let mut reader = BoardReader {
        shared,
        facts,
        sources: None,
        runs: ListedRuns::default(),
        last_sweep: None,
        last_why: None,
        last_check: None,
        rests_until: BootInstant(Duration::ZERO),
    };
    loop {
        reader.hear();
        match reader.due() {
            Some(due) => reader.read(due).await,
            None => reader.rest().await,
        }
    }
}

impl BoardReader {
    /// Takes in everything that was told since the last time.
    fn hear(&mut self) {
        let is_looked_at = self.shared.board.if_looked_at(|_| ()).is_some();
        if !is_looked_at {
            if self.sources.take().is_some() {
                // What was kept of thousands of jobs is free now.
                release_free_memory();
            }
        } else if self.sources.is_none() {
            let hints = self.shared.board.turns.store().map(|store| store.hints());
            self.sources = Some(ChangeSources { events: self.shared.events.listen(), hints });
            // What changed before is read with the sweep.
        }
        if self.facts.has_changed().unwrap_or(false) {
            self.hear_heartbeats();
        }
        for _ in 0..HEARD_TOGETHER {
            let Some(heard) = self.sources.as_mut().and_then(ChangeSources::next) else { return };
            self.take_in(heard);
        }
    }

    fn hear_heartbeats(&mut self) {
        let peers = Arc::clone(&self.facts.borrow_and_update().peers);
        let changed = self.runs.hear(&peers);
        let now = self.shared.clock.boot();
        let has_hints = self.sources.as_ref().is_some_and(|sources| sources.hints.is_some());
        let every = if has_hints { CHECK_EVERY.0 } else { CHECK_EVERY.1 };
        let is_check_due = self.last_check.is_none_or(|last| now.since(last) >= every);
        if is_check_due {
            self.last_check = Some(now);
        }
        let runs = &self.runs;
        self.shared.board.if_looked_at(|kept| {
            changed.iter().for_each(|job| kept.table.note_change(job));
            kept.table.forget(now);
            kept.table.doubt_running(runs, now);
            if is_check_due {
                kept.table.doubt_viewed(every, now);
            }
        });
        self.shared.board.note_read();
    }

    fn take_in(&mut self, heard: Heard) {
        let board = &self.shared.board;
        match heard {
            Heard::Event(event) => match changed_by(&event) {
                Changed::Nothing => {}
                Changed::Job(job) => {
                    board.if_looked_at(|kept| kept.table.note_change(job));
                }
                Changed::AnyJob => {
                    board.if_looked_at(|kept| kept.table.doubt_all());
                }
            },
            Heard::Hint(job) => {
                board.if_looked_at(|kept| kept.table.note_change(&job));
            }
            Heard::Gap => {
                board.if_looked_at(|kept| kept.table.doubt_all());
            }
            Heard::NoHints => {
                if let Some(sources) = &mut self.sources {
                    sources.hints = None;
                }
            }
        }
    }

    /// Returns what is due; `None` while there is nothing to read, or no store to read from.
    fn due(&mut self) -> Option<Due> {
        let now = self.shared.clock.boot();
        let live = {
            let facts = self.shared.facts.borrow();
            let store_now = facts.store_now.filter(|_| !facts.is_store_away)?;
            facts.peers.iter().filter(|peer| store_now.since(peer.at) <= LIVE_FOR).count()
        };
        if now < self.rests_until {
            return None;
        }
        let lacks_sweep = self.shared.board.if_looked_at(|kept| kept.lacks_sweep());
        let every = SWEEP_EVERY.saturating_mul(u32::try_from(live.max(1)).unwrap_or(u32::MAX));
        let is_wanted = lacks_sweep.is_some() || self.shared.was_scraped_within(SCRAPED_WITHIN, now);
        let is_sweep_due = self.last_sweep.is_none_or(|last| is_wanted && now.since(last) >= every);
        if is_sweep_due || lacks_sweep == Some(true) {
            return Some(Due::Sweep);
        }
        lacks_sweep?;
        if self.last_why.is_none_or(|last| now.since(last) >= ASK_WHY_EVERY) {
            return Some(Due::Why);
        }
        self.shared.board.if_looked_at(|kept| kept.table.next_read(now)).flatten().map(Due::Board)
    }

    /// Reads what is due.
    async fn read(&mut self, due: Due) {
        let shared = Arc::clone(&self.shared);
        let Some(store) = shared.board.turn().await else { return self.rest().await };
        let read = match due {
            Due::Sweep => {
                self.last_sweep = Some(shared.clock.boot());
                sweep(&shared, &*store).await
            }
            Due::Why => {
                self.last_why = Some(shared.clock.boot());
                ask_why(&shared, &*store).await
            }
            Due::Board(read) => read_board(&shared, &*store, read).await,
        };
        drop(store);
        if let Err(error) = read {
            // The replica logs why the store does not answer.
            debug!(%error, "jobs not read for HTTP");
            self.rests_until = shared.clock.boot().plus(LOOK_EVERY);
        }
        shared.board.note_read();
    }

    /// Waits until something may be due.
    async fn rest(&mut self) {
        let heard = tokio::select! {
            () = self.shared.board.asked.notified() => None,
            // The replica has ended if there are no more reports; then this ends with its thread.
            Ok(()) = self.facts.changed() => {
                self.facts.mark_changed();
                None
            }
            heard = next_of(self.sources.as_mut()) => Some(heard),
            () = sleep(LOOK_EVERY) => None,
        };
        heard.into_iter().for_each(|heard| self.take_in(heard));
    }
}

impl ChangeSources {
    /// Returns something that waits to be taken in.
    fn next(&mut self) -> Option<Heard> {
        match self.events.try_recv() {
            Ok(event) => return Some(Heard::Event(event)),
            Err(broadcast::error::TryRecvError::Lagged(_)) => return Some(Heard::Gap),
            Err(_) => {}
        }
        match self.hints.as_mut()?.try_recv() {
            Ok(hint) => Some(Heard::Hint(hint.job)),
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => Some(Heard::NoHints),
        }
    }
}

/// Waits for what is told next; without end where nothing tells of changes.
async fn next_of(sources: Option<&mut ChangeSources>) -> Heard {
    let Some(ChangeSources { events, hints }) = sources else { return std::future::pending().await };
    let hint = async {
        match hints {
            Some(hints) => hints.recv().await.map_or(Heard::NoHints, |hint| Heard::Hint(hint.job)),
            None => std::future::pending().await,
        }
    };
    let event = async {
        match events.recv().await {
            Ok(event) => Heard::Event(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Gap,
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    };
    tokio::select! {
        heard = event => heard,
        heard = hint => heard,
    }
}

/// Reads how all jobs stand: those of the file for metrics, and those that only the store knows, if somebody looks.
async fn sweep(shared: &Shared, store: &dyn Store) -> Result<(), StoreError> {
    let jobs = Arc::clone(&shared.options.borrow().jobs);
    let read = ReadAt { store: shared.store_now(), boot: shared.clock.boot() };
    let is_looked_at = shared.board.if_looked_at(|_| ()).is_some();
    let (mut findings, mut all) = (SweepFindings::default(), Vec::new());
    let specs: Vec<_> = jobs.values().collect();
    for specs in specs.chunks(SWEPT_TOGETHER) {
        let names: Vec<JobName> = specs.iter().map(|spec| spec.name.clone()).collect();
        let standings = store.standings(&names).await?;
        let (peers, now) = (Arc::clone(&shared.facts.borrow().peers), shared.store_now());
        findings.take_in(specs, &standings, &peers, now);
        if is_looked_at {
            all.extend(names.into_iter().zip(standings));
        }
    }
    shared.take_in(&jobs, findings);
    if !is_looked_at {
        return Ok(());
    }
    let mut others = match store.jobs().await {
        Err(error) if error.cause() == Some(&FailureCause::NoRight) => Vec::new(),
        others => others?,
    };
    others.retain(|name| !jobs.contains_key(name));
    let standings = store.standings(&others).await?;
    all.extend(others.into_iter().zip(standings));
    shared.board.if_looked_at(|kept| {
        kept.table.take_in_all(all, read);
        kept.note_sweep();
    });
    Ok(())
}

/// Reads why jobs wait, if some do.
async fn ask_why(shared: &Shared, store: &dyn Store) -> Result<(), StoreError> {
    let (peers, now) = (Arc::clone(&shared.facts.borrow().peers), shared.store_now());
    let asks = shared.board.if_looked_at(|kept| kept.look_at_all(now, &peers, Snapshot::asks_why));
    let concerns = match asks {
        None => return Ok(()),
        Some(true) => errors_of(store).await,
        Some(false) => Vec::new(),
    };
    let blocked = store.blocked().await?;
    shared.board.if_looked_at(|kept| (kept.concerns, kept.blocked) = (concerns, blocked));
    Ok(())
}

async fn read_board(shared: &Shared, store: &dyn Store, read: BoardRead) -> Result<(), StoreError> {
    let at = ReadAt { store: shared.store_now(), boot: shared.clock.boot() };
    match read {
        BoardRead::Glance(jobs, newest) => {
            let glances = store.glance(&jobs, newest).await?;
            shared.board.if_looked_at(|kept| {
                for (job, glance) in jobs.iter().zip(glances) {
                    kept.table.take_in_glance(job, glance, newest, at);
                }
            });
        }
        BoardRead::Standings(jobs) => {
            let standings = store.standings(&jobs).await?;
            shared.board.if_looked_at(|kept| {
                for (job, standing) in jobs.iter().zip(standings) {
                    kept.table.take_in_standing(job, standing, at);
                }
            });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;

//! Reads the store for the board and for metrics, one read at a time. How all jobs stand is read once at the start, and then
//! only while somebody scrapes or looks: every replica does so in its turn, so that the cluster as a whole reads the store as
//! often, however many replicas it has. What viewers look at is read when it is asked for, and when it changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::yield_now;
use tokio::time::sleep;
use tracing::debug;

use crate::events::Event;
use crate::http::state::HttpState;
use crate::job::JobName;
use crate::news::LineItem;
use crate::replica::ReplicaFacts;
use crate::run::release_free_memory;
use crate::store::{FailureCause, Feed, FeedLine, Hint, Store, StoreError, Wake};
use crate::time::BootInstant;
use crate::view::snapshot::{Snapshot, errors_of};
use crate::view::timeline::TimelineNews;

use super::board_view::HeardNews;
use super::changes::{Changed, ListedRuns, changed_by};
use super::recent::{FeedProgress, LineRead, RecentNews};
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

/// So many lines of news are parsed before others may use the thread: about a millisecond.
const PARSED_TOGETHER: usize = 32;

/// What is read next.
#[derive(Debug)]
enum Due {
    /// How all jobs stand.
    Sweep,
    /// How the store is set up.
    Why,
    /// What other replicas told.
    News,
    /// Something that a viewer needs.
    Board(BoardRead),
}

/// Reads the store.
#[derive(Debug)]
struct BoardReader {
    shared: Arc<HttpState>,
    facts: watch::Receiver<ReplicaFacts>,
    /// What tells of changes, while somebody looks.
    sources: Option<ChangeSources>,
    /// How far the news of other replicas were read, while somebody looks.
    feed: Option<FeedProgress>,
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
    /// `None` where the store sends no wakes.
    wakes: Option<mpsc::Receiver<Wake>>,
}

/// Something that tells of changes.
#[derive(Debug)]
enum Heard {
    Event(Arc<Event>),
    Hint(JobName),
    Wake(Wake),
    /// Messages were lost.
    Gap,
    NoHints,
    NoWakes,
}

/// Reads the store of the board whenever something is due, without end.
pub(crate) async fn read_when_due(shared: Arc<HttpState>, store: Arc<dyn Store>) {
    shared.board.turns.open(store);
    let mut facts = shared.facts.clone();
    facts.mark_changed();
    let mut reader = BoardReader {
        shared,
        facts,
        sources: None,
        feed: None,
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
        let board = &self.shared.board;
        if board.if_looked_at(|_| ()).is_none() && !board.is_streamed() {
            self.feed = None;
            *board.recent() = RecentNews::default();
            if self.sources.take().is_some() {
                // What was kept of thousands of jobs is free now.
                release_free_memory();
            }
        } else if self.sources.is_none() {
            let store = board.turns.store();
            let (hints, wakes) = (store.map(|store| store.hints()), store.map(|store| store.wakes()));
            self.sources = Some(ChangeSources { events: self.shared.events.listen(), hints, wakes });
            self.feed = Some(FeedProgress::of(board.own.life(), self.shared.store_now()));
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
                    self.feed.iter_mut().for_each(FeedProgress::start_over);
                }
            },
            Heard::Hint(job) => {
                board.if_looked_at(|kept| kept.table.note_change(&job));
            }
            Heard::Gap => {
                board.if_looked_at(|kept| kept.table.doubt_all());
            }
            Heard::Wake(Wake::Feed(Feed::Recent)) => self.feed.iter_mut().for_each(FeedProgress::wake),
            Heard::Wake(_) => {}
            Heard::NoHints => self.sources.iter_mut().for_each(|sources| sources.hints = None),
            Heard::NoWakes => {
                self.sources.iter_mut().for_each(|sources| sources.wakes = None);
                self.feed.iter_mut().for_each(FeedProgress::expect_no_wakes);
            }
        }
    }

    /// Returns what is due; `None` while there is nothing to read, or no store to read from.
    fn due(&mut self) -> Option<Due> {
        let now = self.shared.clock.boot();
        let live = {
            let facts = self.shared.facts.borrow();
            facts.store_now.filter(|_| !facts.is_store_away)?;
            facts.live_replicas()
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
        if self.feed.as_ref().is_some_and(|feed| feed.due() <= now) {
            return Some(Due::News);
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
            Due::News => {
                self.read_news(&*store).await;
                Ok(())
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

    /// Reads what other replicas told since the last time. A feed that cannot be read keeps nothing else from being read.
    async fn read_news(&mut self, store: &dyn Store) {
        let shared = Arc::clone(&self.shared);
        let Some(feed) = &mut self.feed else { return };
        feed.begin(shared.clock.boot());
        let read = store.newest(Feed::Recent, feed.after(), Feed::Recent.kept()).await;
        feed.end(read.is_err(), shared.clock.boot());
        match read {
            Ok(lines) => {
                for (number, line) in lines.iter().enumerate() {
                    if number % PARSED_TOGETHER == PARSED_TOGETHER - 1 {
                        yield_now().await;
                    }
                    take_in_line(&shared, feed, line);
                }
            }
            // The replica logs why the store does not answer.
            Err(error) => debug!(%error, "news of other replicas not read"),
        }
        shared.board.recent().note_read();
    }

    /// Waits until something may be due.
    async fn rest(&mut self) {
        let now = self.shared.clock.boot();
        // What is due and cannot be read is looked at again like everything else.
        let news = self.feed.as_ref().map(|feed| feed.due().since(now)).filter(|wait| !wait.is_zero());
        let pause = news.unwrap_or(LOOK_EVERY).min(LOOK_EVERY);
        let heard = tokio::select! {
            () = self.shared.board.asked.notified() => None,
            // The replica has ended if there are no more reports; then this ends with its thread.
            Ok(()) = self.facts.changed() => {
                self.facts.mark_changed();
                None
            }
            heard = next_of(self.sources.as_mut()) => Some(heard),
            () = sleep(pause) => None,
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
        match self.wakes.as_mut().map(mpsc::Receiver::try_recv) {
            Some(Ok(wake)) => return Some(Heard::Wake(wake)),
            Some(Err(mpsc::error::TryRecvError::Disconnected)) => return Some(Heard::NoWakes),
            Some(Err(mpsc::error::TryRecvError::Empty)) | None => {}
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
    let Some(ChangeSources { events, hints, wakes }) = sources else {
        return std::future::pending().await;
    };
    let hint = async {
        match hints {
            Some(hints) => hints.recv().await.map_or(Heard::NoHints, |hint| Heard::Hint(hint.job)),
            None => std::future::pending().await,
        }
    };
    let wake = async {
        match wakes {
            Some(wakes) => wakes.recv().await.map_or(Heard::NoWakes, Heard::Wake),
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
        heard = wake => heard,
    }
}

/// Takes in a line of news: streams get what is new, the timeline what it shows, and jobs that it is about are read again.
fn take_in_line(shared: &HttpState, feed: &mut FeedProgress, line: &FeedLine) {
    let board = &shared.board;
    let (news, lost) = match feed.take_in(line) {
        LineRead::Known => return,
        LineRead::Malformed => return shared.tally.count_feed_lost(1),
        LineRead::News(news, lost) => (news, lost),
    };
    if lost > 0 {
        board.tell(HeardNews::Missed(lost));
    }
    let now = shared.store_now();
    for LineItem { item, again } in news.items {
        if let Some(shown) = TimelineNews::of(&item) {
            board.recent().add(shown, now);
        }
        if again || !feed.is_new(item.at()) {
            continue;
        }
        if let Some(job) = item.job() {
            board.if_looked_at(|kept| kept.table.note_change(job));
        }
        board.tell(HeardNews::Item(Arc::new(item)));
    }
}

/// Reads how all jobs stand: those of the file for metrics, and those that only the store knows, if somebody looks.
async fn sweep(shared: &HttpState, store: &dyn Store) -> Result<(), StoreError> {
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
async fn ask_why(shared: &HttpState, store: &dyn Store) -> Result<(), StoreError> {
    let (peers, now) = (Arc::clone(&shared.facts.borrow().peers), shared.store_now());
    let rest = Snapshot::of(now, peers.to_vec(), Vec::new());
    let asks = shared.board.if_looked_at(|kept| kept.look_at_all(rest, Snapshot::asks_why));
    let concerns = match asks {
        None => return Ok(()),
        Some(true) => errors_of(store).await,
        Some(false) => Vec::new(),
    };
    let blocked = store.blocked().await?;
    shared.board.if_looked_at(|kept| (kept.concerns, kept.blocked) = (concerns, blocked));
    Ok(())
}

async fn read_board(shared: &HttpState, store: &dyn Store, read: BoardRead) -> Result<(), StoreError> {
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

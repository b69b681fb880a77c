//! The board: the jobs that are kept while somebody looks, and what viewers get of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Instant, timeout_at};

use crate::events::NewsItem;
use crate::http::state::HttpOptions;
use crate::job::{JobName, JobSpec, RunId, nearest};
use crate::news::OwnNews;
use crate::replica::ReplicaFacts;
use crate::store::{Concern, Peer, Store};
use crate::time::{BootInstant, Clock, UtcMillis};
use crate::view::expected::Expected;
use crate::view::job::{JobList, JobState};
use crate::view::snapshot::Snapshot;
use crate::view::timeline::TimelineNews;

use super::recent::RecentNews;
use super::standings::JobsByName;
use super::table::{JobTable, KEPT_FOR};
use super::tails::KeptTails;
use super::turns::{StoreTurn, StoreTurns};

/// How long a viewer waits for what the board does not know yet; then the viewer gets what it knows.
const WAITS_FOR: Duration = Duration::from_secs(2);

/// How long the list of all jobs is used again, at least and at most.
const LISTED_FOR: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// The list of all jobs is used again for this many times what it took to make it: that is a twentieth of a processor.
const LISTED_FOR_TIMES: u32 = 20;

/// A stream that falls this far behind misses the oldest news of other replicas, and is told how many.
const BACKLOG: usize = 1_024;

/// What the HTTP side knows of all jobs.
#[derive(Debug)]
pub(crate) struct Board {
    options: watch::Receiver<HttpOptions>,
    facts: watch::Receiver<ReplicaFacts>,
    clock: Arc<dyn Clock>,
    /// Tells its versions apart from those of other processes.
    life: RunId,
    pub(super) turns: StoreTurns,
    /// `None` while nobody looks.
    looked_at: Mutex<Option<LookedAt>>,
    /// What other processes told lately, while somebody looks.
    recent: Mutex<RecentNews>,
    /// What this process told lately.
    pub(super) own: Arc<OwnNews>,
    /// The streams of what other replicas tell.
    streams: broadcast::Sender<HeardNews>,
    /// Wakes the reader: somebody asks for what is not known yet.
    pub(super) asked: Notify,
    /// Raised after each read and each heartbeat.
    reads: watch::Sender<u64>,
    pub(super) tails: KeptTails,
}

/// What is kept while somebody looks.
#[derive(Debug)]
pub(super) struct LookedAt {
    /// When somebody last looked.
    at: BootInstant,
    /// The jobs, as far as they were read.
    pub(super) table: JobTable,
    /// Whether how all jobs stand was read.
    is_swept: bool,
    /// What the store's settings say about why no job can run.
    pub(super) concerns: Vec<Concern>,
    /// The process that keeps all others from writing to the store, for people.
    pub(super) blocked: Option<String>,
    /// The list of all jobs, and until when it is used again.
    list: Option<(BootInstant, Arc<JobList>)>,
}

/// What is heard of another replica.
#[derive(Debug, Clone)]
pub(crate) enum HeardNews {
    /// Something happened there.
    Item(Arc<NewsItem>),
    /// So many of its items were lost.
    Missed(u64),
}

/// What a viewer sees of some jobs, or of all.
#[derive(Debug)]
pub(crate) struct BoardView {
    /// The jobs, the replicas and the store. While the store does not answer, its time stands still, and ages go on.
    pub(crate) snapshot: Snapshot,
    /// The instant up to which all of it is known, by the store's clock.
    pub(crate) as_of: UtcMillis,
    /// Whether everything that was asked for was read.
    pub(crate) is_complete: bool,
    /// Whether the store did not answer the last heartbeat.
    pub(crate) is_store_away: bool,
    /// Differs whenever what is known differs.
    pub(crate) version: String,
}

/// How all jobs stand.
#[derive(Debug)]
pub(crate) struct BoardList {
    /// The jobs, sorted.
    pub(crate) list: Arc<JobList>,
    /// The instant up to which all of it is known, by the store's clock.
    pub(crate) as_of: UtcMillis,
}

/// The jobs of the file, while nothing was read of them.
#[derive(Debug)]
pub(crate) struct UnreadJobs {
    file: Arc<JobsByName>,
    /// The jobs, sorted by their next ticks.
    pub(crate) list: Arc<JobList>,
    /// The time by the store's clock, as far as its last answer tells.
    now: UtcMillis,
    /// Whether the store does not answer; else it is being read.
    pub(crate) is_store_away: bool,
    /// What the store's clock showed when it last answered.
    pub(crate) answered: Option<UtcMillis>,
}

impl UnreadJobs {
    /// Returns these jobs; a name that the file does not have is left out.
    pub(crate) fn snapshot<'a>(&self, names: impl IntoIterator<Item = &'a JobName>) -> Snapshot {
        let states = names.into_iter().filter_map(|name| self.file.get(name)).map(unread_state);
        Snapshot::of(self.now, Vec::new(), states.collect())
    }
}

fn unread_state(spec: &Arc<JobSpec>) -> JobState {
    JobState::of(Arc::clone(spec).into(), Ok(None), Ok(Vec::new()))
}

/// Why a viewer sees nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The store has not answered since somebody looks.
    Store,
    /// Neither the file nor the store has this job; with the name that is nearest to it.
    NoSuchJob(Option<JobName>),
}

impl Board {
    /// Returns a board that nobody looks at. `own` is what this process told lately.
    pub(crate) fn new(
        options: watch::Receiver<HttpOptions>,
        facts: watch::Receiver<ReplicaFacts>,
        clock: Arc<dyn Clock>,
        own: Arc<OwnNews>,
    ) -> Self {
        Self {
            options,
            facts,
            life: RunId::new(),
            turns: StoreTurns::new(Arc::clone(&clock)),
            clock,
            looked_at: Mutex::new(None),
            recent: Mutex::default(),
            own,
            streams: broadcast::channel(BACKLOG).0,
            asked: Notify::new(),
            reads: watch::Sender::new(0),
            tails: KeptTails::default(),
        }
    }

    /// Returns these jobs with all glanced entries, without output; a name that nobody knows is left out. Waits a moment for
    /// what was not read yet.
    pub(crate) async fn view(&self, jobs: &[JobName]) -> Result<BoardView, Unread> {
        self.view_jobs(Some(jobs)).await
    }

    /// Returns one job, as [`Board::view`] does.
    pub(crate) async fn view_one(&self, job: &JobName) -> Result<BoardView, Unread> {
        let view = self.view(std::slice::from_ref(job)).await?;
        if view.snapshot.jobs.is_empty() { Err(Unread::NoSuchJob(self.nearest_to(job))) } else { Ok(view) }
    }

    /// Returns all jobs, each with its newest entry. A failing job whose newest entry does not tell how it failed has all
    /// glanced ones. Waits a moment for what was not read yet.
    pub(crate) async fn view_all(&self) -> Result<BoardView, Unread> {
        self.view_jobs(None).await
    }

    /// Returns how all jobs stand. It is at most half a second older than what is known.
    pub(crate) async fn list(&self) -> Result<BoardList, Unread> {
        self.see(|kept| self.list_of(kept)).await
    }

    /// Returns how all jobs stand, as [`Board::list`] does, if it was read; else that begins.
    pub(crate) fn list_at_once(&self) -> Result<BoardList, Unread> {
        let list = self.look(|kept| self.list_of(kept));
        if list.is_none() {
            self.asked.notify_one();
        }
        list.ok_or(Unread::Store)
    }

    /// Returns the jobs of the file while the board has read nothing; `None` after that.
    pub(crate) fn unread_jobs(&self) -> Option<UnreadJobs> {
        let facts = self.facts.borrow().clone();
        let (file, now) = (Arc::clone(&self.options.borrow().jobs), facts.store_time(&*self.clock));
        self.keep(|kept| {
            if kept.is_swept {
                return None;
            }
            let list = self.list_again(kept, |_| {
                JobList::unread(&Snapshot::of(now, Vec::new(), file.values().map(unread_state).collect()))
            });
            let (is_store_away, answered) = (facts.is_store_away, facts.store_now);
            Some(UnreadJobs { file: Arc::clone(&file), list, now, is_store_away, answered })
        })
    }

    /// Returns the jobs of the runs that heartbeats list.
    pub(crate) fn listed_jobs(&self) -> Vec<JobName> {
        let peers = Arc::clone(&self.facts.borrow().peers);
        let mut jobs: Vec<JobName> =
            peers.iter().flat_map(|peer| &peer.beat.running).map(|run| run.job.clone()).collect();
        jobs.sort();
        jobs.dedup();
        jobs
    }

    /// Returns the names of all jobs of the file and of the store, in order.
    pub(crate) async fn names(&self) -> Result<Vec<JobName>, Unread> {
        self.see(|kept| kept.table.names().cloned().collect()).await
    }

    /// Returns the job that has this run, or had it lately, as far as the board knows.
    pub(crate) async fn job_of_run(&self, run: RunId) -> Result<Option<JobName>, Unread> {
        let peers = Arc::clone(&self.facts.borrow().peers);
        let listed = peers.iter().flat_map(|peer| &peer.beat.running).find(|listed| listed.run == run);
        if let Some(listed) = listed {
            return Ok(Some(listed.job.clone()));
        }
        self.see(|kept| kept.table.job_of_run(run).cloned()).await
    }

    /// Whether the file or the store has this job.
    pub(crate) async fn knows(&self, job: &JobName) -> Result<(), Unread> {
        let is_known = self.see(|kept| kept.table.has(job)).await?;
        if is_known { Ok(()) } else { Err(Unread::NoSuchJob(self.nearest_to(job))) }
    }

    /// Returns what all replicas told within the last hour, as far as a timeline shows it, in the order of time. Waits a
    /// moment for what was not read yet.
    pub(crate) async fn news(&self) -> Vec<TimelineNews> {
        self.wait_until(|_| self.recent().is_read()).await;
        let own = self.own.recent();
        let now = self.store_now().unwrap_or_else(|| self.clock.utc());
        self.recent().with(own.iter().filter_map(TimelineNews::of), now)
    }

    /// Returns a receiver of what other replicas tell from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<HeardNews> {
        let receiver = self.streams.subscribe();
        self.asked.notify_one();
        receiver
    }

    /// Waits for a turn to read the store; `None` if the store could not be opened.
    pub(crate) async fn turn(&self) -> Option<StoreTurn<'_>> {
        self.turns.take().await
    }

    /// Returns the store, for acts and for what is no reading of jobs; `None` if it could not be opened, or does not answer.
    /// Whoever reads jobs waits for a turn.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        self.turns.store().filter(|_| !self.facts.borrow().is_store_away).cloned()
    }

    /// Notes that something about this job has changed: the next look at it reads it again.
    pub(crate) fn note_change(&self, job: &JobName) {
        self.if_looked_at(|kept| kept.table.note_change(job));
    }

    /// Returns what is expected of the cluster, with this function: the file of this replica says it.
    pub(crate) fn expecting<T>(&self, judge: impl FnOnce(Expected<'_>) -> T) -> T {
        let facts = self.facts.borrow().clone();
        let file = facts.beat.as_ref().map(|beat| beat.file.as_str());
        judge(Expected { replicas: facts.expected_replicas, file, flaw: None })
    }

    /// Returns what the store's clock shows now, as far as its last answer tells. While it does not answer, that time.
    pub(crate) fn store_now(&self) -> Option<UtcMillis> {
        let facts = self.facts.borrow();
        let (answered, then) = facts.answered.zip(facts.store_now)?;
        Some(if facts.is_store_away { then } else { then.plus(self.clock.boot().since(answered)) })
    }

    /// Returns what other processes told lately.
    pub(super) fn recent(&self) -> MutexGuard<'_, RecentNews> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a stream of what other replicas tell.
    pub(super) fn is_streamed(&self) -> bool {
        self.streams.receiver_count() > 0
    }

    /// Sends news of another replica to the streams.
    pub(super) fn tell(&self, news: HeardNews) {
        // There may be no stream.
        let _ = self.streams.send(news);
    }

    /// Notes that something was read, or that heartbeats came.
    pub(super) fn note_read(&self) {
        self.reads.send_modify(|reads| *reads += 1);
    }

    /// Calls a function with what is kept while somebody looks, with the definitions of the file in effect; `None` while
    /// nobody looks.
    pub(super) fn if_looked_at<T>(&self, change: impl FnOnce(&mut LookedAt) -> T) -> Option<T> {
        let file = Arc::clone(&self.options.borrow().jobs);
        let mut kept = self.lock();
        let now = self.clock.boot();
        if kept.as_ref().is_some_and(|kept| now.since(kept.at) > KEPT_FOR) {
            *kept = None;
        }
        let kept = kept.as_mut()?;
        kept.table.reload(&file);
        Some(change(kept))
    }

    /// Waits until what is kept is enough, a moment at most, and not while the store does not answer.
    async fn wait_until(&self, is_enough: impl Fn(&mut LookedAt) -> bool) {
        let until = Instant::now() + WAITS_FOR;
        let mut reads = self.reads.subscribe();
        while !self.look(&is_enough).unwrap_or(false) && !self.facts.borrow().is_store_away {
            self.asked.notify_one();
            if timeout_at(until, reads.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Looks at what is kept, once how all jobs stand was read.
    async fn see<T>(&self, see: impl Fn(&mut LookedAt) -> T) -> Result<T, Unread> {
        self.wait_until(|_| true).await;
        self.look(see).ok_or(Unread::Store)
    }

    /// Looks at what is kept; `None` before how all jobs stand was read.
    fn look<T>(&self, look: impl Fn(&mut LookedAt) -> T) -> Option<T> {
        self.keep(|kept| kept.is_swept.then(|| look(kept)))
    }

    /// Calls a function with what is kept, from now on.
    fn keep<T>(&self, look: impl FnOnce(&mut LookedAt) -> T) -> T {
        let now = self.clock.boot();
        let file: Arc<JobsByName> = Arc::clone(&self.options.borrow().jobs);
        let mut kept = self.lock();
        let kept = kept.get_or_insert_with(|| LookedAt::new(&file, now));
        kept.at = now;
        kept.table.reload(&file);
        look(kept)
    }

    /// Notes that somebody looks at these jobs, or at all. Returns whether everything about them was read.
    fn note_view(&self, kept: &mut LookedAt, jobs: Option<&[JobName]>) -> bool {
        let now = self.clock.boot();
        match jobs {
            Some(jobs) => {
                kept.table.note_view(jobs.iter(), true, now);
                kept.table.is_current(jobs.iter(), now)
            }
            None => {
                let all: Vec<JobName> = kept.table.names().cloned().collect();
                kept.table.note_view(all.iter(), false, now);
                kept.table.is_current(all.iter(), now)
            }
        }
    }

    async fn view_jobs(&self, jobs: Option<&[JobName]>) -> Result<BoardView, Unread> {
        self.wait_until(|kept| self.note_view(kept, jobs)).await;
        self.look(|kept| self.view_of(kept, jobs)).ok_or(Unread::Store)
    }

    fn view_of(&self, kept: &mut LookedAt, jobs: Option<&[JobName]>) -> BoardView {
        let is_complete = self.note_view(kept, jobs);
        let facts = self.facts.borrow().clone();
        let store_now = self.store_now().unwrap_or_default();
        let latest = facts.store_now.unwrap_or(store_now);
        let ages_to = facts.store_time(&*self.clock);
        BoardView {
            snapshot: Snapshot { ages_to, ..kept.snapshot(store_now, &peers_of(&facts), jobs) },
            as_of: match jobs {
                Some(jobs) => kept.table.as_of(jobs.iter(), latest),
                None => kept.table.all_as_of(latest),
            },
            is_complete,
            is_store_away: facts.is_store_away,
            version: self.version(kept, &facts),
        }
    }

    fn list_of(&self, kept: &mut LookedAt) -> BoardList {
        let facts = self.facts.borrow().clone();
        let store_now = self.store_now().unwrap_or_default();
        let list = self.list_again(kept, |kept| {
            let rest = kept.snapshot(store_now, &peers_of(&facts), Some(&[]));
            let rest = Snapshot { ages_to: facts.store_time(&*self.clock), ..rest };
            kept.look_at_all(rest, |snapshot| self.expecting(|expected| JobList::of(snapshot, expected)))
        });
        let as_of = kept.table.all_as_of(facts.store_now.unwrap_or(store_now));
        BoardList { list, as_of }
    }

    /// Returns the list of all jobs: the last one, or one that is made now and used again for a while.
    fn list_again(&self, kept: &mut LookedAt, make: impl FnOnce(&mut LookedAt) -> JobList) -> Arc<JobList> {
        let now = self.clock.boot();
        if let Some((_, list)) = kept.list.as_ref().filter(|(until, _)| now < *until) {
            return Arc::clone(list);
        }
        let list = Arc::new(make(kept));
        let due = list.jobs().iter().filter(|job| job.due.is_some()).map(|job| &job.name);
        kept.table.doubt_due(due, now);
        let (least, most) = LISTED_FOR;
        let took = self.clock.boot().since(now);
        let lasts = took.saturating_mul(LISTED_FOR_TIMES).clamp(least, most);
        kept.list = Some((now.plus(lasts), Arc::clone(&list)));
        list
    }

    fn version(&self, kept: &LookedAt, facts: &ReplicaFacts) -> String {
        let answered = facts.answered.map_or(0, |answered| answered.0.as_millis());
        format!("{}-{}-{answered}-{}", self.life, kept.table.version(), u8::from(facts.is_store_away))
    }

    /// Returns the known name that is nearest to this one.
    fn nearest_to(&self, job: &JobName) -> Option<JobName> {
        let kept = self.lock();
        let names = || kept.iter().flat_map(|kept| kept.table.names());
        let name = nearest(job.as_str(), names().map(JobName::as_str))?;
        JobName::parse(name).ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<LookedAt>> {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the replicas by name. This one is missing from the answer to its own first heartbeat.
fn peers_of(facts: &ReplicaFacts) -> Vec<Peer> {
    let mut peers = facts.peers.to_vec();
    if let (Some(at), Some(beat)) = (facts.store_now, &facts.beat)
        && !peers.iter().any(|peer| peer.beat.node == beat.node)
    {
        peers.push(Peer { at, beat: beat.clone() });
        peers.sort_by(|one, other| one.beat.node.cmp(&other.beat.node));
    }
    peers
}

impl LookedAt {
    fn new(file: &Arc<JobsByName>, at: BootInstant) -> Self {
        let table = JobTable::of(file);
        Self { at, table, is_swept: false, concerns: Vec::new(), blocked: None, list: None }
    }

    /// Whether how all jobs stand is not known yet.
    pub(super) fn lacks_sweep(&self) -> bool {
        !self.is_swept
    }

    /// Notes that how all jobs stand was read.
    pub(super) fn note_sweep(&mut self) {
        if !std::mem::replace(&mut self.is_swept, true) {
            self.list = None;
        }
    }

    /// Returns these jobs, or all, as a snapshot at this time by the store's clock.
    pub(super) fn snapshot(&self, now: UtcMillis, peers: &[Peer], jobs: Option<&[JobName]>) -> Snapshot {
        let states = match jobs {
            Some(jobs) => self.table.states(jobs.iter()),
            None => self.table.all_states(),
        };
        let snapshot = Snapshot::of(now, peers.to_vec(), states);
        Snapshot { concerns: self.concerns.clone(), blocked: self.blocked.clone(), ..snapshot }
    }

    /// Calls a function with this snapshot, to which all jobs are added.
    pub(super) fn look_at_all<T>(&mut self, rest: Snapshot, look: impl FnOnce(&Snapshot) -> T) -> T {
        self.table.lend_all(|jobs| {
            let snapshot = Snapshot { jobs, ..rest };
            let seen = look(&snapshot);
            (snapshot.jobs, seen)
        })
    }
}

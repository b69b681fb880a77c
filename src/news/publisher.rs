//! Appends the news of this replica to the feed. It runs beside the replica's work, and nothing of that waits for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::events::{Event, Events, NewsItem, StoreChange};
use crate::job::NodeName;
use crate::metrics::HttpTally;
use crate::replica::ReplicaFacts;
use crate::store::{Feed, Store, StoreError};
use crate::time::Clock;

use super::outbox::Outbox;
use super::own::OwnNews;

/// What happens within this time is taken together. It also lets the end of a run be recorded before it is told.
const GATHERED_FOR: Duration = Duration::from_millis(100);

/// The replicas of a cluster append about one line a second together, but each at least one a minute.
const MOST_BETWEEN_LINES: u64 = 60;

/// What is left when the replica ends is appended within this time, or lost.
const ENDS_WITHIN: Duration = Duration::from_millis(400);

/// Appends the news of a replica.
#[derive(Debug)]
pub struct NewsPublisher {
    node: NodeName,
    events: Receiver<Arc<Event>>,
    facts: watch::Receiver<ReplicaFacts>,
    clock: Arc<dyn Clock>,
    own: Arc<OwnNews>,
}

/// The work of a publisher.
struct Publishing {
    publisher: NewsPublisher,
    outbox: Outbox,
    store: Arc<dyn Store>,
    tally: Arc<HttpTally>,
    /// The line that is being appended, if any.
    appending: Option<Append>,
}

/// A line that is being appended.
type Append = BoxFuture<'static, Result<(), StoreError>>;

/// Waits for the end of an append; without end if there is none.
async fn finished(appending: &mut Option<Append>) -> Result<(), StoreError> {
    let Some(append) = appending else { return std::future::pending().await };
    let result = append.await;
    *appending = None;
    result
}

impl NewsPublisher {
    /// Returns the publisher of what happens on a replica from now on. `facts` is what the replica reports about itself.
    pub fn new(events: &Events, facts: watch::Receiver<ReplicaFacts>, clock: Arc<dyn Clock>) -> Self {
        let (node, events) = (events.node().clone(), events.listen());
        Self { node, events, facts, clock, own: Arc::default() }
    }

    /// Returns what this process told lately.
    pub fn own(&self) -> &Arc<OwnNews> {
        &self.own
    }

    /// Appends news until it is stopped, then those that are left, for a moment. Counts what is lost.
    pub async fn run(self, store: Arc<dyn Store>, tally: Arc<HttpTally>, stop: CancellationToken) {
        let outbox = Outbox::new(self.own.life());
        let mut work = Publishing { publisher: self, outbox, store, tally, appending: None };
        let mut is_gathering = false;
        loop {
            let wait = if is_gathering { None } else { work.append_if_due() };
            tokio::select! {
                () = stop.cancelled() => break,
                result = finished(&mut work.appending) => work.settle(result),
                heard = work.publisher.events.recv(), if !is_gathering => {
                    is_gathering = true;
                    match heard {
                        Ok(event) => work.take(&event),
                        Err(RecvError::Lagged(count)) => work.lose(count),
                        Err(RecvError::Closed) => break,
                    }
                }
                () = sleep(GATHERED_FOR), if is_gathering => {
                    is_gathering = false;
                    work.take_all();
                }
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
            }
        }
        work.take_all();
        // A store that does not answer in time keeps no replica from its end.
        let _ = timeout(ENDS_WITHIN, work.append_rest()).await;
    }

    /// Returns the time between two lines.
    fn between_lines(&self) -> Duration {
        let live = u64::try_from(self.facts.borrow().live_replicas()).unwrap_or(u64::MAX);
        Duration::from_secs(live.clamp(1, MOST_BETWEEN_LINES))
    }
}

impl Publishing {
    /// Takes everything that was told since the last time.
    fn take_all(&mut self) {
        loop {
            match self.publisher.events.try_recv() {
                Ok(event) => self.take(&event),
                Err(TryRecvError::Lagged(count)) => self.lose(count),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn take(&mut self, event: &Event) {
        let NewsPublisher { node, facts, clock, own, .. } = &self.publisher;
        let now = facts.borrow().store_time(&**clock);
        let mut lost = 0;
        if let Event::StoreChanged { what: StoreChange::NewEra | StoreChange::DataLost } = event {
            lost += self.outbox.put_again(own.recent());
        }
        if let Some(item) = NewsItem::of(event, node, now) {
            own.note(&item);
            lost += self.outbox.put(item);
        }
        self.tally.count_feed_lost(lost);
    }

    /// Notes that so many events were not heard: this thread had no processor time.
    fn lose(&mut self, count: u64) {
        self.outbox.note_lost(count);
        self.tally.count_feed_lost(count);
    }

    /// Begins to append the next line, if it is due. Returns how long it is until then; `None` if there is nothing to
    /// append, or a line is being appended.
    fn append_if_due(&mut self) -> Option<Duration> {
        if self.appending.is_some() {
            return None;
        }
        let now = self.publisher.clock.boot();
        let wait = self.outbox.due(self.publisher.between_lines())?.since(now);
        if wait.is_zero() {
            self.append();
            return None;
        }
        Some(wait)
    }

    fn append(&mut self) {
        if let Some(line) = self.outbox.next_line(self.publisher.clock.boot()) {
            let store = Arc::clone(&self.store);
            self.appending = Some(Box::pin(async move { store.append(Feed::Recent, &line).await }));
        }
    }

    fn settle(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = &result {
            // The replica logs why the store does not answer.
            debug!(node = %self.publisher.node, %error, "news not appended, trying again");
        }
        self.outbox.settle(result, self.publisher.clock.boot());
    }

    /// Appends everything that is left, until the store does not take it.
    async fn append_rest(&mut self) {
        loop {
            if self.appending.is_none() {
                self.append();
            }
            if self.appending.is_none() {
                return;
            }
            let result = finished(&mut self.appending).await;
            let is_over = result.is_err();
            self.settle(result);
            if is_over {
                return;
            }
        }
    }
}

//! News from what a replica tells to what is in the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::events::{Event, EventWord, Events, StoreChange};
use crate::job::{JobName, NodeName, RunId};
use crate::metrics::HttpTally;
use crate::replica::ReplicaFacts;
use crate::store::{Feed, Store};
use crate::time::SystemClock;
use crate::view::testing::{Bench, FILE};

use super::line::NewsLine;
use super::publisher::NewsPublisher;

/// A replica that publishes to an embedded store.
struct Replica {
    store: Arc<dyn Store>,
    events: Events,
    stop: CancellationToken,
    work: JoinHandle<()>,
    _facts: watch::Sender<ReplicaFacts>,
    _folder: tempfile::TempDir,
}

impl Replica {
    async fn start() -> Self {
        let Bench { folder, store, .. } = Bench::new(FILE).await;
        let store: Arc<dyn Store> = Arc::new(store);
        let events = Events::of(NodeName::parse("n1").expect("a name"));
        let facts = watch::Sender::default();
        let publisher = NewsPublisher::new(&events, facts.subscribe(), Arc::new(SystemClock));
        let stop = CancellationToken::new();
        let tally = Arc::new(HttpTally::of(&[]));
        let work = tokio::spawn(publisher.run(Arc::clone(&store), tally, stop.clone()));
        Self { store, events, stop, work, _facts: facts, _folder: folder }
    }

    fn kill_ordered(&self) {
        let job = JobName::parse("backup").expect("a name");
        self.events.tell(Event::KillHeard { job, run: RunId::new(), by: "ann".into() });
    }

    /// The lines of the feed.
    async fn lines(&self) -> Vec<NewsLine> {
        let lines = self.store.newest(Feed::Recent, None, 100).await.expect("it is read");
        lines
            .iter()
            .map(|line| NewsLine::parse(line.text.as_deref().expect("a text")).expect("a line"))
            .collect()
    }

    /// Waits until there are so many lines.
    async fn wait_for(&self, count: usize) -> Vec<NewsLine> {
        let read = async {
            loop {
                let lines = self.lines().await;
                if lines.len() >= count {
                    return lines;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(30), read).await.expect("they are appended")
    }
}

fn words(line: &NewsLine) -> Vec<(EventWord, bool)> {
    line.items.iter().map(|item| (item.item.what(), item.again)).collect()
}

#[tokio::test]
async fn what_happens_together_is_one_line_and_the_rest_is_appended_at_the_end() {
    let replica = Replica::start().await;
    replica.events.tell(Event::ClockStepped);
    replica.kill_ordered();
    replica.events.tell(Event::ClockAgrees);
    let lines = replica.wait_for(1).await;
    assert_eq!(words(&lines[0]), [(EventWord::ClockStepped, false), (EventWord::KillOrdered, false)]);
    replica.events.tell(Event::Stopped);
    replica.stop.cancel();
    timeout(Duration::from_secs(30), replica.work).await.expect("it ends").expect("it does not panic");
    let lines = replica.store.newest(Feed::Recent, None, 100).await.expect("it is read");
    let last = lines.last().and_then(|line| line.text.as_deref()).unwrap_or_default();
    assert!(lines.len() == 2 && last.contains(r#""what":"stopped""#), "{lines:?}");
}

#[tokio::test]
async fn after_a_loss_of_the_store_what_a_timeline_shows_is_told_again() {
    let replica = Replica::start().await;
    replica.events.tell(Event::ClockStepped);
    replica.kill_ordered();
    replica.wait_for(1).await;
    replica.events.tell(Event::StoreChanged { what: StoreChange::DataLost });
    let lines = replica.wait_for(2).await;
    assert_eq!(words(&lines[1]), [(EventWord::StoreChanged, false), (EventWord::ClockStepped, true)]);
    replica.events.tell(Event::StoreChanged { what: StoreChange::ClockStepped });
    let lines = replica.wait_for(3).await;
    assert_eq!(words(&lines[2]), [(EventWord::StoreChanged, false)]);
}

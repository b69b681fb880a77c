//! What viewers get of a store, by a board that reads it.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use crate::events::Events;
use crate::http::board::Unread;
use crate::http::health::Progress;
use crate::http::state::{HttpOptions, HttpSources};
use crate::job::{Outcome, Verdict};
use crate::metrics::Metrics;
use crate::time::{Clock, SystemClock, UtcMillis};
use crate::view::testing::{Bench, FILE, NOON, node, run_id};

use super::*;

/// The time of the store.
const NOW: UtcMillis = UtcMillis(NOON + 400_000);

/// A board of a store in which `backup` has failed once, and what its replica reports.
struct Looked {
    shared: Arc<Shared>,
    facts: watch::Sender<ReplicaFacts>,
    _tasks: JoinSet<()>,
    _folder: tempfile::TempDir,
}

async fn looked() -> Looked {
    let bench = Bench::new(FILE).await;
    bench.open("backup").await;
    bench.open("payout").await;
    bench.at(300);
    let lease = bench.win("backup", "n1", 1, 300).await;
    bench.at(305);
    bench.finish("backup", lease, Verdict::plain(Outcome::Failed), Some(3)).await;
    let Bench { folder, config, store, .. } = bench;
    let options = HttpOptions { jobs: Arc::new(config.jobs), ..HttpOptions::default() };
    let (options, facts) = (watch::Sender::new(options), watch::Sender::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let sources = HttpSources {
        options: options.subscribe(),
        facts: facts.subscribe(),
        progress: Arc::new(Progress::from(clock.boot())),
        metrics: Metrics::new(std::iter::empty(), Arc::clone(&clock)),
        events: Events::of(node("n1")),
        store_kind: "local",
        dropped_log_lines: || 0,
        clock,
    };
    let shared = Arc::new(Shared::new(([127, 0, 0, 1], 0).into(), sources));
    let mut tasks = JoinSet::new();
    tasks.spawn(read_when_due(Arc::clone(&shared), Arc::new(store)));
    Looked { shared, facts, _tasks: tasks, _folder: folder }
}

impl Looked {
    /// Reports that the store answers, or does not any more.
    fn report(&self, is_store_away: bool) {
        let answered = Some(self.shared.clock.boot());
        self.facts.send_replace(ReplicaFacts {
            answered,
            store_now: Some(NOW),
            is_store_away,
            ..ReplicaFacts::default()
        });
    }
}

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

#[tokio::test]
async fn a_viewer_gets_the_jobs_with_their_newest_entries_and_without_output() {
    let looked = looked().await;
    looked.report(false);
    let view = looked.shared.board.view(&[job("backup"), job("nobody")]).await.expect("it was read");
    let found: BTreeMap<&str, usize> =
        view.snapshot.jobs.iter().map(|job| (job.name.as_str(), job.entries.len())).collect();
    assert_eq!(found, BTreeMap::from([("backup", 1)]));
    assert!(view.snapshot.jobs[0].entries[0].tail.is_none());
    assert!(view.is_complete && !view.is_store_away && view.as_of == NOW, "{view:?}");
    let run = looked.shared.board.job_of_run(run_id(1)).await;
    assert_eq!(run, Ok(Some(job("backup"))));
}

#[tokio::test]
async fn all_jobs_are_listed_and_an_unknown_one_is_told_with_its_nearest() {
    let looked = looked().await;
    looked.report(false);
    let listed = looked.shared.board.list().await.expect("it was read");
    let names: Vec<&str> = listed.list.jobs().iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["backup", "payout", "retired"]);
    let board = &looked.shared.board;
    assert_eq!(board.knows(&job("backup")).await, Ok(()));
    assert_eq!(board.knows(&job("backups")).await, Err(Unread::NoSuchJob(Some(job("backup")))));
    let whole = board.view_all().await.expect("it was read");
    assert!(whole.is_complete && whole.snapshot.jobs.len() == 3, "{whole:?}");
    assert_eq!(whole.snapshot.jobs[0].entries.len(), 1);
}

#[tokio::test]
async fn while_the_store_is_away_the_last_state_is_shown_and_without_one_nothing() {
    let looked = looked().await;
    looked.report(true);
    let refused = looked.shared.board.view(&[job("backup")]).await.expect_err("nothing was read");
    assert_eq!(refused, Unread::Store);
    looked.report(false);
    let before = looked.shared.board.view(&[job("backup")]).await.expect("it was read");
    looked.report(true);
    let after = looked.shared.board.view(&[job("backup")]).await.expect("it is kept");
    assert!(after.is_store_away && after.version != before.version, "{after:?}");
    assert_eq!((after.as_of, after.snapshot.now, after.snapshot.jobs.len()), (NOW, NOW, 1));
}

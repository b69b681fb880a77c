//! What viewers get of a store, by a board that reads it.

use std::collections::BTreeMap;

use tokio::time::timeout;

use crate::events::{EventWord, NewsItem};
use crate::http::board::Unread;
use crate::http::testing::{NOW, Served};
use crate::job::NodeName;
use crate::view::testing::run_id;
use crate::view::timeline::NewsKind;

use super::*;

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

#[tokio::test]
async fn a_viewer_gets_the_jobs_with_their_newest_entries_and_without_output() {
    let served = Served::new().await;
    served.report(false);
    let view = served.shared.board.view(&[job("backup"), job("nobody")]).await.expect("it was read");
    let found: BTreeMap<&str, usize> =
        view.snapshot.jobs.iter().map(|job| (job.name.as_str(), job.entries.len())).collect();
    assert_eq!(found, BTreeMap::from([("backup", 1)]));
    assert!(view.snapshot.jobs[0].entries[0].tail.is_none());
    assert!(view.is_complete && !view.is_store_away && view.as_of == NOW, "{view:?}");
    let run = served.shared.board.job_of_run(run_id(1)).await;
    assert_eq!(run, Ok(Some(job("backup"))));
}

#[tokio::test]
async fn all_jobs_are_listed_and_an_unknown_one_is_told_with_its_nearest() {
    let served = Served::new().await;
    served.report(false);
    let listed = served.shared.board.list().await.expect("it was read");
    let names: Vec<&str> = listed.list.jobs().iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["backup", "payout", "retired"]);
    let board = &served.shared.board;
    assert_eq!(board.knows(&job("backup")).await, Ok(()));
    assert_eq!(board.knows(&job("backups")).await, Err(Unread::NoSuchJob(Some(job("backup")))));
    let whole = board.view_all().await.expect("it was read");
    assert!(whole.is_complete && whole.snapshot.jobs.len() == 3, "{whole:?}");
    assert_eq!(whole.snapshot.jobs[0].entries.len(), 1);
}

#[tokio::test]
async fn while_the_store_is_away_the_last_state_is_shown_and_without_one_nothing() {
    let served = Served::new().await;
    served.report(true);
    let refused = served.shared.board.view(&[job("backup")]).await.expect_err("nothing was read");
    assert_eq!(refused, Unread::Store);
    served.report(false);
    let before = served.shared.board.view(&[job("backup")]).await.expect("it was read");
    served.report(true);
    let after = served.shared.board.view(&[job("backup")]).await.expect("it is kept");
    assert!(after.is_store_away && after.version != before.version, "{after:?}");
    assert_eq!((after.as_of, after.snapshot.now, after.snapshot.jobs.len()), (NOW, NOW, 1));
}

/// Appends what another replica tells.
async fn tell(served: &Served, number: u64, events: &[Event]) {
    let node = NodeName::parse("n2").expect("a name");
    let items = events.iter().filter_map(|event| NewsItem::of(event, &node, served.shared.store_now()));
    let items: Vec<String> =
        items.map(|item| serde_json::to_string(&item.for_others()).expect("plain JSON")).collect();
    let life = run_id(2);
    let line = format!(r#"{{"life":"{life}","line":{number},"news":[{}]}}"#, items.join(","));
    served.append(&line).await;
}

async fn next(heard: &mut broadcast::Receiver<HeardNews>) -> EventWord {
    let news = timeout(Duration::from_secs(30), heard.recv()).await.expect("in time").expect("it is told");
    match news {
        HeardNews::Item(item) => item.what(),
        HeardNews::Missed(count) => panic!("{count} were lost"),
    }
}

#[tokio::test]
async fn what_another_replica_told_before_is_drawn_and_what_it_tells_then_is_streamed() {
    let served = Served::new().await;
    served.report(false);
    tell(&served, 1, &[Event::ClockStepped]).await;
    served.append("what no replica wrote").await;
    let news = served.shared.board.news().await;
    let kinds: Vec<&NewsKind> = news.iter().map(|news| &news.what).collect();
    assert_eq!(kinds, [&NewsKind::ClockStepped]);
    let mut heard = served.shared.board.listen();
    tell(&served, 1, &[Event::Stopped]).await;
    tell(&served, 2, &[Event::Draining { running: 0, limit: Duration::ZERO }]).await;
    assert_eq!(next(&mut heard).await, EventWord::Draining);
    assert_eq!(served.shared.board.news().await.len(), 2);
}

#[tokio::test]
async fn a_stream_hears_other_replicas_though_nobody_looks_at_the_board() {
    let served = Served::new().await;
    let mut heard = served.shared.board.listen();
    served.report(false);
    // What is told before the reader notices the stream is nothing new to it.
    while !served.shared.board.recent().is_read() {
        sleep(Duration::from_millis(5)).await;
    }
    tell(&served, 1, &[Event::Stopped]).await;
    assert_eq!(next(&mut heard).await, EventWord::Stopped);
    assert!(served.shared.board.if_looked_at(|_| ()).is_none());
}

//! Requests to a store that gives a set answer, and what they count.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio::sync::mpsc;

use crate::hold::lease_file::entry::tests::lease;
use crate::job::Outcome;
use crate::job::{Fence, JobName, RunId, Tick, Verdict};
use crate::lease::testing;
use crate::lease::{Abandon, Answer, Era, Record, Renew, Reply, Request};
use crate::metrics::samples::SampleValue;
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, Pulse, Replied, Slip, Store,
    StoreError, Wake,
};
use crate::time::{BootInstant, Clock, UtcMillis, Waiting};

use super::{MeasuredStore, StoreTally};

/// The wall clock of the tests.
const NOW: UtcMillis = UtcMillis(1_800_000_000_000);

/// A clock that moves by three milliseconds each time it is read.
#[derive(Debug, Default)]
struct Moving(AtomicU64);

impl Clock for Moving {
    fn utc(&self) -> UtcMillis {
        NOW
    }

    fn boot(&self) -> BootInstant {
        BootInstant(Duration::from_millis(self.0.fetch_add(3, Ordering::Relaxed)))
    }

    fn wait_until(&self, _: UtcMillis) -> Waiting<'_> {
        unreachable!("nobody waits here")
    }

    fn wait_until_boot(&self, _: BootInstant) -> BoxFuture<'_, ()> {
        unreachable!("nobody waits here")
    }
}

/// A store that answers every request alike.
#[derive(Debug)]
struct OneAnswer(Replied);

fn all_well<'a, T: Send + 'a>(value: T) -> Answered<'a, T> {
    ready(Ok(value)).boxed()
}

impl Store for OneAnswer {
    fn ready(&self) -> Answered<'_, ()> {
        all_well(())
    }

    fn submit<'a>(&'a self, _: &'a JobName, _: &'a Request) -> Answered<'a, Reply> {
        ready(self.0.clone()).boxed()
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        ready(vec![self.0.clone(); requests.len()]).boxed()
    }

    fn pulse<'a>(&'a self, _: Option<&'a Beat>) -> Answered<'a, Pulse> {
        ready(Err(StoreError::NotSent("down".into()))).boxed()
    }

    fn announce<'a>(&'a self, _: &'a JobName) -> Answered<'a, ()> {
        all_well(())
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        mpsc::channel(1).1
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        all_well(vec![true; jobs.len()])
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        all_well(Vec::new())
    }

    fn enroll<'a>(&'a self, _: &'a [JobName]) -> Answered<'a, ()> {
        all_well(())
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        all_well(vec![None; jobs.len()])
    }

    fn history<'a>(&'a self, _: &'a [JobName], _: usize) -> Answered<'a, Vec<JobEntries>> {
        all_well(Vec::new())
    }

    fn append<'a>(&'a self, _: Feed, _: &'a str) -> Answered<'a, ()> {
        all_well(())
    }

    fn newest(&self, _: Feed, _: Option<FeedId>, _: usize) -> Answered<'_, Vec<FeedLine>> {
        all_well(Vec::new())
    }

    fn leave<'a>(&'a self, _: &'a Slip, _: &'a str, _: Duration) -> Answered<'a, ()> {
        all_well(())
    }

    fn collect<'a>(&'a self, _: &'a Slip) -> Answered<'a, Vec<String>> {
        all_well(Vec::new())
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        mpsc::channel(1).1
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        all_well(Vec::new())
    }

    fn label(&self) -> String {
        "store".to_owned()
    }
}

fn job() -> JobName {
    JobName::parse("j").expect("a name")
}

fn claim() -> Request {
    Request::Claim(testing::claim(testing::caller("n", NOW, Era::default()), Tick(NOW)))
}

fn renewal() -> Request {
    Request::Renew(Renew { lease: lease(1), expect: NOW, leapt: None })
}

fn abandoning() -> Request {
    Request::Abandon(Abandon { run: RunId::new(), era: Era::default(), edited: false })
}

fn replied(answer: Answer) -> Replied {
    Ok(testing::reply(NOW, answer))
}

/// A store with this answer, and what is counted of it.
fn measured(answer: Replied) -> (MeasuredStore, Arc<StoreTally>) {
    let tally = Arc::<StoreTally>::default();
    let store =
        MeasuredStore::new(Arc::new(OneAnswer(answer)), Arc::clone(&tally), Arc::new(Moving::default()));
    (store, tally)
}

/// Returns what is not zero, by name and labels without what they have in common; of a histogram, count and
/// sum.
fn counted(tally: &StoreTally) -> BTreeMap<String, (f64, f64)> {
    let mut counted = BTreeMap::new();
    for (family, samples) in tally.samples() {
        for sample in samples {
            let numbers = match sample.value {
                SampleValue::Number(number) => (number, 0.0),
                SampleValue::Histogram(histogram) => (histogram.count as f64, histogram.sum),
            };
            let name = family.name.trim_start_matches("solocron_");
            counted.insert(format!("{name} {}", sample.labels.join(" ")).trim_end().to_owned(), numbers);
        }
    }
    counted.retain(|_, numbers| *numbers != (0.0, 0.0));
    counted
}

fn expected(numbers: &[(&str, (f64, f64))]) -> BTreeMap<String, (f64, f64)> {
    numbers.iter().map(|(name, numbers)| ((*name).to_owned(), *numbers)).collect()
}

const ANSWERED: (&str, (f64, f64)) = ("store_answer_timestamp_seconds", (1_800_000_000.0, 0.0));

#[tokio::test]
async fn each_request_counts_with_its_time_its_result_and_its_answer() {
    let refused = || StoreError::Refused("READONLY".into());
    let unknown = || StoreError::Unknown("timed out".into());
    let won = Answer::Won { fence: Fence(1), tries: 1, started: NOW };
    let consumed = Answer::Consumed(Verdict::plain(Outcome::Skipped));
    let held = Answer::Held { by: None, frees_in: Duration::ZERO };
    for (request, answer, kind, result, counter) in [
        (claim(), replied(won), "claim", "applied", "claims_total won"),
        (
            claim(),
            replied(Answer::Decided { by: None, how: None }),
            "claim",
            "applied",
            "claims_total decided",
        ),
        (claim(), replied(consumed), "claim", "applied", "claims_total consumed"),
        (claim(), replied(held), "claim", "applied", "claims_total held"),
        (claim(), replied(Answer::Early { wait: Duration::ZERO }), "claim", "applied", "claims_total early"),
        (claim(), replied(Answer::Unsynced), "claim", "applied", "claims_total refused"),
        (claim(), Err(refused()), "claim", "refused", "claims_total refused"),
        (claim(), Err(unknown()), "claim", "unknown", "claims_total unknown"),
        (renewal(), replied(Answer::Renewed { stop: None }), "renew", "applied", "renewals_total ok"),
        (renewal(), replied(Answer::Lost), "renew", "applied", "renewals_total lost"),
        (renewal(), Err(unknown()), "renew", "unknown", "renewals_total failed"),
    ] {
        let (store, tally) = measured(answer.clone());
        assert_eq!(store.submit(&job(), &request).await, answer);
        let mut numbers = vec![
            (format!("store_request_duration_seconds {kind}"), (1.0, 0.003)),
            (format!("store_requests_total {result}"), (1.0, 0.0)),
            (counter.to_owned(), (1.0, 0.0)),
        ];
        numbers.extend((result != "unknown").then(|| (ANSWERED.0.to_owned(), ANSWERED.1)));
        assert_eq!(counted(&tally), numbers.into_iter().collect(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_batch_is_one_exchange_with_a_result_for_each_request() {
    let (store, tally) = measured(replied(Answer::Abandoned));
    let requests = [(job(), abandoning()), (job(), abandoning())];
    assert_eq!(store.submit_all(&requests).await.len(), 2);
    assert_eq!(store.submit_all(&[]).await, []);
    let numbers = [
        ("store_request_duration_seconds other", (1.0, 0.003)),
        ("store_requests_total applied", (2.0, 0.0)),
        ANSWERED,
    ];
    assert_eq!(counted(&tally), expected(&numbers));
}

#[tokio::test]
async fn heartbeats_reads_and_the_rest_have_their_own_kinds() {
    let (store, tally) = measured(replied(Answer::Finished));
    assert!(store.pulse(None).await.is_err());
    let (job, jobs) = (job(), [job()]);
    store.records(&jobs).await.expect("it answers");
    store.record_of(&job).await.expect("it answers");
    store.known(&jobs).await.expect("it answers");
    store.announce(&job).await.expect("it answers");
    let numbers = [
        ("store_request_duration_seconds pulse", (1.0, 0.003)),
        ("store_request_duration_seconds read", (3.0, 0.009)),
        ("store_request_duration_seconds other", (1.0, 0.003)),
        ("store_requests_total applied", (4.0, 0.0)),
        ("store_requests_total not_sent", (1.0, 0.0)),
        ANSWERED,
    ];
    assert_eq!(counted(&tally), expected(&numbers));
}

/// A call with a default implementation that is not passed on would run on the wrapper, and take the slower
/// way.
#[test]
fn every_call_of_a_store_is_passed_on() {
    let calls = |text: &str| -> Vec<String> {
        let heads = text.lines().filter_map(|line| line.strip_prefix("    fn "));
        heads.map(|head| head.split(['(', '<']).next().unwrap_or_default().to_owned()).collect()
    };
    let of_trait = include_str!("../../store/trait_.rs").split_once("pub trait Store").expect("the trait").1;
    let passed = calls(include_str!("store.rs").split_once("impl Store for").expect("the wrapper").1);
    let asked = calls(of_trait);
    assert!(asked.len() > 15, "{asked:?}");
    for call in asked {
        assert!(passed.contains(&call), "{call} is not passed on");
    }
}

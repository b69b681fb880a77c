//! An orphan is checked while the process that started it is still alive, and ends it well.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::mpsc;

use crate::events::log::Events;
use crate::hold::context::{Context, Traffic};
use crate::hold::lease_file::LeaseFile;
use crate::hold::lease_file::entry::LeaseNote;
use crate::hold::lease_file::entry::tests::lease;
use crate::job::{ClusterName, JobName, Outcome, Verdict};
use crate::lease::{Era, Lease, Phase, Record, Reply, Request};
use crate::run::{Guards, Identity, JobOutput, RunLogs};
use crate::store::clock::shared::SharedStoreClock;
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, Pulse, Replied, Slip, Store, Wake,
};
use crate::time::{SystemClock, UtcMillis};

use super::orphans::{end_orphan, orphans};

/// A store that answers at once with the job's record.
#[derive(Debug)]
struct OneRecord(Mutex<Record>);

impl Store for OneRecord {
    fn ready(&self) -> Answered<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn records<'a>(&'a self, _: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        async { Ok(vec![Some(self.0.lock().unwrap().clone())]) }.boxed()
    }

    fn submit<'a>(&'a self, _: &'a JobName, _: &'a Request) -> Answered<'a, Reply> {
        unreachable!("nothing is told here")
    }

    fn submit_all<'a>(&'a self, _: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        unreachable!("nothing is told here")
    }

    fn pulse<'a>(&'a self, _: Option<&'a Beat>) -> Answered<'a, Pulse> {
        unreachable!("nobody beats here")
    }

    fn announce<'a>(&'a self, _: &'a JobName) -> Answered<'a, ()> {
        unreachable!("nothing is told here")
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        unreachable!("nobody listens here")
    }

    fn known<'a>(&'a self, _: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        unreachable!("nothing is opened here")
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        unreachable!("nobody lists jobs here")
    }

    fn enroll<'a>(&'a self, _: &'a [JobName]) -> Answered<'a, ()> {
        unreachable!("nothing is opened here")
    }

    fn history<'a>(&'a self, _: &'a [JobName], _: usize) -> Answered<'a, Vec<JobEntries>> {
        unreachable!("nobody reads here")
    }

    fn append<'a>(&'a self, _: Feed, _: &'a str) -> Answered<'a, ()> {
        unreachable!("nothing is appended here")
    }

    fn newest(&self, _: Feed, _: Option<FeedId>, _: usize) -> Answered<'_, Vec<FeedLine>> {
        unreachable!("nobody reads here")
    }

    fn leave<'a>(&'a self, _: &'a Slip, _: &'a str, _: Duration) -> Answered<'a, ()> {
        unreachable!("nothing is left here")
    }

    fn collect<'a>(&'a self, _: &'a Slip) -> Answered<'a, Vec<String>> {
        unreachable!("nothing is left here")
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        unreachable!("nobody listens here")
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        unreachable!("nobody looks here")
    }

    fn label(&self) -> String {
        "s".to_owned()
    }
}

fn record(lease: &Lease, phase: Phase, last: Option<Verdict>) -> Record {
    let (run, fence, ended) = (Some(lease.run), lease.fence, Some(lease.started));
    Record { run, fence, phase, verdict: last, ended, ..Record::empty(Era::default()) }
}

fn identity(job: &JobName, lease: &Lease) -> Identity {
    Identity {
        job: job.clone(),
        tick: lease.tick,
        tick_local: String::new(),
        fence: lease.fence,
        run: lease.run,
        attempt: 1,
        cause: lease.cause,
        node: lease.node.clone(),
    }
}

#[tokio::test]
async fn a_run_that_ends_well_while_its_sign_is_waited_for_is_not_told_as_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (job, lease) = (JobName::parse("j").unwrap(), lease(1));
    let logs = || RunLogs::new(folder.path(), Arc::new(|| UtcMillis(0)));
    let former_life = logs();
    let sign = former_life.begin(&identity(&job, &lease)).await;
    let lease_file =
        LeaseFile::new(folder.path(), &ClusterName::parse("c").unwrap(), &lease.node, "s".to_owned());
    lease_file.take_over().await.unwrap();
    let note = LeaseNote::running(&lease, &Era::default(), std::time::Duration::ZERO, lease_file.site());
    lease_file.keep(&job, note).await;
    let store = Arc::new(OneRecord(Mutex::new(record(&lease, Phase::Running, None))));
    let context = Arc::new(Context {
        node: lease.node.clone(),
        store: Arc::clone(&store) as Arc<dyn Store>,
        clock: Arc::new(SystemClock),
        guards: Arc::new(Guards::of_this_program()),
        logs: logs(),
        lease_file,
        output: JobOutput::File,
        events: Events::of(lease.node.clone()),
        traffic: Traffic::default(),
        store_clock: SharedStoreClock::default(),
    });
    let notes = context.lease_file.read().await;
    let orphan = orphans(&notes, context.logs.marked(&lease.node)).pop().expect("it has a note and a sign");

    // The earlier process ends the run once the new one has begun to wait for it.
    let ended_well = Verdict::plain(Outcome::Succeeded);
    let former_life = async {
        *store.0.lock().unwrap() = record(&lease, Phase::Idle, Some(ended_well));
        former_life.forget(sign).await;
    };
    tokio::join!(end_orphan(Arc::clone(&context), orphan, true), former_life);

    let noted = context.lease_file.note(&job);
    assert!(matches!(&noted, Some(LeaseNote::Ended(finish)) if finish.verdict == ended_well), "{noted:?}");
}

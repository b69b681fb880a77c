//! What the store tells of many jobs at once: how they stand, and what a list shows of them.

use solocron::job::{JobName, Outcome};
use solocron::lease::{Answer, Finish, Phase, Request};
use solocron::store::{GLANCED_ENTRIES, JobStanding};

use crate::support::sample;
use crate::world::{Replica, World, job};

fn name(of: &str) -> JobName {
    JobName::parse(of).expect("a good name")
}

/// Opens the records of these jobs.
async fn open(replica: &Replica, jobs: &[JobName]) {
    let caller = replica.caller().await;
    let request = |job: &JobName| (job.clone(), Request::Open(sample::open(caller.clone())));
    let requests: Vec<_> = jobs.iter().map(request).collect();
    for reply in replica.store.submit_all(&requests).await {
        let answer = reply.expect("an answer").answer;
        assert!(matches!(answer, Answer::Opened { .. }), "{answer:?}");
    }
}

/// Runs the job once, with this as its output.
async fn run(replica: &Replica, output: &str) {
    let finish = sample::finish(&replica.win().await, &replica.era);
    let finish = Finish { tail: output.to_owned(), ..finish };
    assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
}

pub(crate) async fn standings_of_ten_thousand_jobs_come_in_their_order(world: &World) {
    let replica = world.replica().await;
    let jobs: Vec<JobName> = (0..10_000).map(|n| name(&format!("job-{n}"))).collect();
    let opened: Vec<JobName> = jobs.iter().step_by(77).cloned().collect();
    open(&replica, &opened).await;

    let standings = replica.store.standings(&jobs).await.expect("standings");

    assert_eq!(standings.len(), jobs.len());
    let records = replica.store.records(&opened).await.expect("records");
    for (n, standing) in standings.iter().enumerate() {
        let record = (n % 77 == 0).then(|| records[n / 77].as_ref().expect("a record"));
        assert_eq!(*standing, record.map(JobStanding::of), "{}", jobs[n]);
    }
    assert_eq!(replica.store.standings(&[]).await, Ok(Vec::new()));
}

pub(crate) async fn a_job_whose_record_cannot_be_read_has_no_standing(world: &World) {
    let replica = world.opened().await;
    let (spoilt, missing) = (name("spoilt"), name("missing"));
    open(&replica, std::slice::from_ref(&spoilt)).await;
    world.spoil_record(&spoilt);
    let lease = replica.win().await;

    let standings = replica.store.standings(&[spoilt, job(), missing]).await.expect("standings");

    assert_eq!((&standings[0], &standings[2]), (&None, &None));
    let standing = standings[1].as_ref().expect("it has a record");
    assert_eq!(
        (standing.phase, standing.run, standing.fence),
        (Phase::Running, Some(lease.run), lease.fence)
    );
    assert_eq!(*standing, JobStanding::of(&replica.record().await));
}

pub(crate) async fn a_glance_has_the_record_and_the_newest_entries_without_their_output(world: &World) {
    let replica = world.opened().await;
    for output in ["one", "two", "three"] {
        run(&replica, output).await;
    }
    let (_, all) = replica.store.history(&[job()], 10).await.expect("history").remove(0);
    assert_eq!(all.last().and_then(|entry| entry.tail.as_deref()), Some("three"));
    let jobs = [name("missing"), job()];

    for (newest, shown) in [(2, &all[all.len() - 2..]), (10, &all[..]), (0, &[])] {
        let glances = replica.store.glance(&jobs, newest).await.expect("a glance");

        assert_eq!(glances.len(), 2);
        assert!(glances[0].record.is_none() && glances[0].entries.is_empty(), "{glances:?}");
        let mut shown = shown.to_vec();
        shown.iter_mut().for_each(|entry| entry.tail = None);
        assert_eq!(glances[1].entries, shown, "{newest}");
        assert_eq!(glances[1].record, Some(replica.record().await));
        assert!(glances.iter().all(|glance| glance.unread.is_none()), "{glances:?}");
    }
}

pub(crate) async fn a_glance_shows_at_most_60_entries_of_a_job(world: &World) {
    let replica = world.opened().await;
    for n in 0..GLANCED_ENTRIES + 3 {
        run(&replica, &n.to_string()).await;
    }
    // More jobs than one request has room for.
    let jobs: Vec<JobName> =
        (0..25).map(|n| if n % 12 == 0 { job() } else { name(&format!("x{n}")) }).collect();

    let glances = replica.store.glance(&jobs, usize::MAX).await.expect("a glance");

    let runs: Vec<usize> = glances.iter().map(|glance| glance.entries.len()).collect();
    let expected: Vec<usize> = (0..25).map(|n| if n % 12 == 0 { GLANCED_ENTRIES } else { 0 }).collect();
    assert_eq!(runs, expected);
    let newest = replica.store.history(&[job()], 1).await.expect("history").remove(0).1.remove(0);
    assert_eq!(glances[12].entries.last().map(|entry| entry.run), Some(newest.run));
}

pub(crate) async fn a_job_that_cannot_be_read_hides_no_other_at_a_glance(world: &World) {
    let replica = world.opened().await;
    run(&replica, "").await;
    let (spoilt, forged) = (name("spoilt"), name("forged"));
    open(&replica, &[spoilt.clone(), forged.clone()]).await;
    world.spoil_record(&spoilt);
    world.forge_entry(&forged);

    let glances = replica.store.glance(&[spoilt, forged, job()], 10).await.expect("a glance");

    let [spoilt, forged, well] = &glances[..] else { panic!("{glances:?}") };
    let why = spoilt.unread.as_ref().expect("why it is not shown");
    assert!(spoilt.record.is_none() && why.contains("`spoilt`"), "{why}");
    let why = forged.unread.as_ref().expect("why its entries are not shown");
    assert!(forged.record.is_some() && forged.entries.is_empty() && why.contains("`forged`"), "{why}");
    assert!(well.unread.is_none() && well.record.is_some());
    assert_eq!(well.entries.last().map(|entry| entry.outcome), Some(Outcome::Succeeded));
}

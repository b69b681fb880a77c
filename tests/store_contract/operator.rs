//! What every store does for an operator.

use std::time::Duration;

use solocron::job::{Outcome, Reason, RunId, Tick, Verdict};
use solocron::lease::{Act, Answer, Manual, Operate, Request};

use crate::support::sample;
use crate::world::{Replica, World, job};

async fn operate(replica: &Replica, act: Act) -> Answer {
    let expect = replica.now().await;
    let operate = Operate { expect, by: "ann@db1".into(), act };
    replica.ask(Request::Operate(operate)).await.answer
}

pub(crate) async fn a_paused_job_skips_its_ticks_until_it_is_resumed(world: &World) {
    let replica = world.opened().await;
    let pause = Act::Pause { lasts: Some(Duration::from_secs(60)), why: Some("month end\u{201d}".into()) };
    assert_eq!(operate(&replica, pause).await, Answer::Noted);
    let record = replica.record().await;
    let said = record.pausing().expect("a pause");
    assert_eq!((said.by.as_str(), said.why.as_deref()), ("ann@db1", Some("month end\u{201d}")));
    assert_eq!(said.until, Some(said.at.plus(Duration::from_secs(60))));

    let paused = Verdict::because(Outcome::Skipped, Reason::Paused);
    let claim = replica.claim(Duration::ZERO).await;
    assert_eq!(replica.ask(Request::Claim(claim)).await.answer, Answer::Consumed(paused));

    assert_eq!(operate(&replica, Act::Resume).await, Answer::Noted);
    assert_eq!(operate(&replica, Act::Resume).await, Answer::AlreadyDecided);
    replica.win().await;
}

pub(crate) async fn a_holder_learns_by_renewing_that_an_operator_kills_its_run(world: &World) {
    let replica = world.opened().await;
    assert_eq!(operate(&replica, Act::Kill { run: None }).await, Answer::AlreadyDecided);
    let lease = replica.win().await;
    let answer = operate(&replica, Act::Kill { run: None }).await;
    assert!(matches!(answer, Answer::Held { by: Some(holder), .. } if holder.run == lease.run));
    let renew = sample::renew(&lease, replica.now().await);
    let answer = replica.ask(Request::Renew(renew)).await.answer;
    assert_eq!(answer, Answer::Renewed { stop: Some(Reason::Operator) });
    let record = replica.record().await;
    assert_eq!((record.stop_run, record.stop_requested_by.as_deref()), (Some(lease.run), Some("ann@db1")));
}

pub(crate) async fn an_order_is_taken_by_one_run_and_told_which(world: &World) {
    let (a, b) = (world.opened().await, world.replica().await);
    let (order, tick) = (RunId::new(), Tick::at_millis(1_700_000_000_123));
    assert_eq!(operate(&a, Act::Trigger { order, tick: Some(tick) }).await, Answer::Noted);
    let record = b.record().await;
    assert_eq!((record.order, record.order_tick), (Some(order), Some(tick)));
    let mark = record.mark;
    let manual = |caller| Manual { order: Some(order), tick, ..sample::manual(caller) };

    let first = manual(a.caller().await);
    let run = first.run;
    assert!(matches!(a.ask(Request::Manual(first)).await.answer, Answer::Won { .. }));
    let second = b.ask(Request::Manual(manual(b.caller().await))).await.answer;
    assert!(matches!(second, Answer::Decided { .. }), "{second:?}");

    let record = b.record().await;
    assert_eq!((record.order, record.order_taken, record.order_taken_by), (None, Some(order), Some(run)));
    assert_eq!((record.mark, record.tick), (mark, Some(tick)));
    assert_eq!(operate(&a, Act::Withdraw { order }).await, Answer::AlreadyDecided);
}

pub(crate) async fn a_lock_is_removed_from_a_silent_holder_alone(world: &World) {
    let replica = world.opened().await;
    let lease = replica.win().await;
    let answer = operate(&replica, Act::Unlock { run: Some(lease.run) }).await;
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    world.age(Duration::from_secs(10));
    assert_eq!(operate(&replica, Act::Unlock { run: Some(lease.run) }).await, Answer::Noted);
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    assert_eq!(entries.last().map(|entry| (entry.run, entry.verdict())), Some((Some(lease.run), lost)));
    assert!(!replica.record().await.is_running());
}

pub(crate) async fn a_replica_puts_back_the_pause_that_the_store_forgot(world: &World) {
    let replica = world.opened().await;
    operate(&replica, Act::Pause { lasts: None, why: None }).await;
    let pausing = replica.record().await.pausing();
    operate(&replica, Act::Resume).await;
    let resumed = replica.record().await.pausing();

    let open = |pausing| async { solocron::lease::Open { pausing, ..sample::open(replica.caller().await) } };
    let answer = replica.ask(Request::Open(open(pausing.clone()).await)).await.answer;
    assert!(matches!(answer, Answer::Opened { pausing, .. } if pausing == resumed), "the later word holds");

    let later = pausing.map(|said| solocron::lease::Pausing {
        at: said.at.plus(Duration::from_secs(10)),
        why: Some("copy".into()),
        ..said
    });
    let answer = replica.ask(Request::Open(open(later.clone()).await)).await.answer;
    assert!(matches!(answer, Answer::Opened { pausing, .. } if pausing == later));
    assert_eq!(replica.record().await.pausing(), later);
}

pub(crate) async fn a_job_that_no_replica_has_opened_is_not_operated_on(world: &World) {
    let replica = world.replica().await;
    assert_eq!(operate(&replica, Act::Resume).await, Answer::NoRecord);
    assert_eq!(replica.store.records(&[job()]).await, Ok(vec![None]));
}

pub(crate) async fn replicas_hear_of_what_was_announced(world: &World) {
    let (a, b) = (world.replica().await, world.replica().await);
    assert_eq!(a.store.pulse(None).await.expect("a pulse").notices, []);

    b.store.announce(&job()).await.expect("announced");
    let first = a.store.pulse(None).await.expect("a pulse").notices;
    b.store.announce(&job()).await.expect("announced");
    let second = a.store.pulse(None).await.expect("a pulse").notices;

    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((&first[0].job, &second[0].job), (&job(), &job()));
    assert_ne!(first[0].stamp, second[0].stamp, "each one shows");
}

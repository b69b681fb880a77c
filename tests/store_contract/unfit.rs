//! What any store answers to replicas that cannot run the job.

use std::time::Duration;

use solocron::job::{Outcome, Reason, Verdict};
use solocron::lease::{Answer, Claim, Request};

use crate::world::{World, job};

pub(crate) async fn who_cannot_run_a_tick_has_it_recorded_as_missed_for_that_reason(world: &World) {
    let replica = world.opened().await;
    let unfit = |claim: Claim| Claim { unfit: Some(Reason::NoReplica), ..claim };
    let young = unfit(replica.claim(Duration::from_secs(1)).await);

    let answer = replica.ask(Request::Claim(young)).await.answer;
    assert!(matches!(answer, Answer::Early { wait } if wait > Duration::from_secs(50)), "{answer:?}");
    assert!(!replica.record().await.is_running());

    let late = unfit(replica.claim(Duration::from_secs(61)).await);
    let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
    assert_eq!(replica.ask(Request::Claim(late.clone())).await.answer, Answer::Consumed(missed));
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    let told = entries.iter().filter(|entry| entry.tick == late.tick).map(|entry| entry.verdict());
    assert_eq!(told.collect::<Vec<_>>(), [missed]);
}

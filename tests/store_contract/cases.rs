//! The contract suite: one function per promise, for any store.

use std::time::Duration;

use solocron::job::{Fence, JobName, Label, Outcome, Overlap, Reason, RunId, Tick, Verdict};
use solocron::lease::{Answer, Claim, Finish, Lease, Manual, Request};
use solocron::store::{Beat, BeatRun, Pulse, Slewed, StageTimes};
use solocron::time::UtcMillis;

use crate::support::sample;
use crate::support::sample::LEASE;
use crate::world::{Replica, World, job};

fn won(answer: &Answer) -> Fence {
    match answer {
        Answer::Won { fence, .. } => *fence,
        other => panic!("not won: {other:?}"),
    }
}

async fn frees_in(replica: &Replica) -> Duration {
    let mut claim = replica.claim(Duration::ZERO).await;
    // Above the mark of a record opened just now, and not yet early.
    claim.tick = Tick(replica.record().await.mark.plus(Duration::from_millis(1)));
    loop {
        match replica.ask(Request::Claim(claim.clone())).await.answer {
            Answer::Held { by: None, frees_in } => return frees_in,
            Answer::Early { .. } => {}
            other => panic!("not held: {other:?}"),
        }
    }
}

pub(crate) async fn the_first_open_of_an_unknown_job_waits_two_seconds_at_most(world: &World) {
    let replica = world.replica().await;
    let mut open = sample::open(replica.caller().await);
    open.is_known_job = false;
    replica.ask(Request::Open(open)).await;

    let wait = frees_in(&replica).await;

    assert!(wait <= Duration::from_secs(2) && wait > Duration::from_secs(1), "{wait:?}");
    world.age(Duration::from_secs(2));
    replica.win().await;
}

pub(crate) async fn an_open_of_a_known_job_waits_its_lease(world: &World) {
    let replica = world.replica().await;
    replica.ask(Request::Open(sample::open(replica.caller().await))).await;

    let wait = frees_in(&replica).await;

    assert!(wait <= LEASE && wait > LEASE - Duration::from_secs(2), "{wait:?}");
}

pub(crate) async fn a_tick_is_granted_once_and_held_meanwhile_and_decided_after(world: &World) {
    let (a, b) = (world.opened().await, world.replica().await);
    let claim = a.claim(Duration::from_millis(50)).await;
    let fence = won(&a.ask(Request::Claim(claim.clone())).await.answer);
    let lease = sample::lease(&a.record().await);
    assert_eq!((lease.run, lease.fence, lease.tick), (claim.run, fence, claim.tick));

    let same_tick = sample::claim(b.caller().await, claim.tick);
    let decided = |how| Answer::Decided { by: Some(sample::node("a")), how: Some(Verdict::plain(how)) };
    let answer = b.ask(Request::Claim(same_tick.clone())).await.answer;
    assert_eq!(answer, decided(Outcome::Running));

    let waiting = Manual { overlap: Overlap::Wait, ..sample::manual(b.caller().await) };
    let answer = b.ask(Request::Manual(waiting)).await.answer;
    assert!(matches!(&answer, Answer::Held { by: Some(by), .. } if by.run == claim.run), "{answer:?}");

    let finished = a.ask(Request::Finish(sample::finish(&lease, &a.era))).await.answer;
    assert_eq!(finished, Answer::Finished);
    let again = a.ask(Request::Finish(sample::finish(&lease, &a.era))).await.answer;
    assert_eq!(again, Answer::AlreadyDecided);

    let answer = b.ask(Request::Claim(same_tick)).await.answer;
    assert_eq!(answer, decided(Outcome::Succeeded));
}

pub(crate) async fn asking_again_with_the_same_run_is_harmless(world: &World) {
    let replica = world.opened().await;
    let claim = replica.claim(Duration::ZERO).await;
    let first = replica.ask(Request::Claim(claim.clone())).await.answer;
    let second = replica.ask(Request::Claim(claim.clone())).await.answer;
    won(&first);
    assert_eq!(first, second);

    let lease = sample::lease(&replica.record().await);
    replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    let after = replica.ask(Request::Claim(claim)).await.answer;
    assert!(matches!(after, Answer::Decided { .. }), "{after:?}");
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    assert_eq!(entries.iter().filter(|entry| entry.run == Some(lease.run)).count(), 1);
}

pub(crate) async fn a_renewal_moves_the_end_of_the_lock(world: &World) {
    let replica = world.opened().await;
    let lease = replica.win().await;
    world.age(Duration::from_secs(20));
    let aged = replica.record().await;

    let answer = replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await.answer;

    assert_eq!(answer, Answer::Renewed { stop: None });
    let moved = replica.record().await.locked_until.since(aged.locked_until);
    assert!(moved >= Duration::from_secs(20) && moved < Duration::from_secs(25), "{moved:?}");
}

pub(crate) async fn a_lock_that_was_given_to_another_is_lost(world: &World) {
    let (a, b) = (world.opened().await, world.replica().await);
    // The history is not made older: it must not tell of earlier ticks.
    let claim = Claim { prev: None, ..a.claim(Duration::ZERO).await };
    won(&a.ask(Request::Claim(claim)).await.answer);
    world.age(LEASE * 2);
    let lost = sample::lease(&a.record().await);

    b.win().await;

    assert_eq!(a.ask(Request::Renew(sample::renew(&lost, a.now().await))).await.answer, Answer::Lost);
    let finish = sample::finish(&lost, &a.era);
    assert_eq!(a.ask(Request::Finish(finish)).await.answer, Answer::AlreadyDecided);
    let entries = b.store.history(&[job()], 10).await.expect("history").remove(0).1;
    let verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    let of_lost: Vec<_> = entries.iter().filter(|entry| entry.run == Some(lost.run)).collect();
    assert!(matches!(of_lost[..], [entry] if entry.verdict() == verdict), "{entries:?}");
}

pub(crate) async fn an_abandoned_tick_can_be_claimed_again(world: &World) {
    let (a, b) = (world.opened().await, world.replica().await);
    let lease = a.win().await;

    let answer = a.ask(Request::Abandon(sample::abandon(lease.run, &a.era))).await.answer;

    assert_eq!(answer, Answer::Abandoned);
    let claim = sample::claim(b.caller().await, lease.tick);
    let fence = won(&b.ask(Request::Claim(claim)).await.answer);
    assert!(fence > lease.fence);
    let again = sample::abandon(lease.run, &a.era);
    assert_eq!(a.ask(Request::Abandon(again)).await.answer, Answer::AlreadyDecided);
}

pub(crate) async fn a_tick_past_its_start_deadline_is_recorded_as_missed(world: &World) {
    let replica = world.opened().await;
    let claim = replica.claim(Duration::from_secs(61)).await;

    let answer = replica.ask(Request::Claim(claim.clone())).await.answer;

    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert_eq!(answer, Answer::Consumed(late));
    assert_eq!(replica.record().await.mark, claim.tick.instant());
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    assert_eq!(entries.last().map(|entry| (entry.tick, entry.verdict())), Some((claim.tick, late)));
}

pub(crate) async fn ticks_missed_one_after_the_other_have_one_entry(world: &World) {
    let replica = world.opened().await;
    let first = replica.claim(Duration::from_secs(70)).await.tick;
    let tick = |n| Tick(first.instant().plus(Duration::from_millis(n)));
    let missed = Answer::Consumed(Verdict::because(Outcome::Missed, Reason::Late));
    for n in 0..3 {
        let late = Claim { prev: None, ..sample::claim(replica.caller().await, tick(n)) };
        assert_eq!(replica.ask(Request::Claim(late)).await.answer, missed);
    }

    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;

    let told: Vec<_> = entries.iter().map(|entry| (entry.after, entry.tick, entry.count)).collect();
    let before = UtcMillis(first.as_millis() - 1);
    assert_eq!(told, [(Some(before), tick(2), Some(3))]);
}

/// Writes `count` entries: ends of runs that the store is made to believe it forgot.
async fn write_entries(replica: &Replica, count: i64) {
    let base = replica.now().await;
    for n in 0..count {
        let tick = Tick(base.minus(Duration::from_secs(1000)).plus(Duration::from_millis(n.unsigned_abs())));
        let mut finish = sample::finish(&sample::forgotten(tick, base.0 + n), &replica.era);
        finish.tail = format!("tail {n}\n");
        assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
    }
}

pub(crate) async fn history_is_kept_in_order_with_its_tails(world: &World) {
    let replica = world.opened().await;
    write_entries(&replica, 3).await;

    let all = replica.store.history(&[job()], 10).await.expect("history").remove(0);
    let newest = replica.store.history(&[job()], 2).await.expect("history").remove(0);

    assert_eq!(all.0, job());
    let tails: Vec<_> = all.1.iter().map(|entry| entry.tail.as_deref().expect("a tail")).collect();
    assert_eq!(tails, ["tail 0\n", "tail 1\n", "tail 2\n"]);
    assert_eq!(newest.1, all.1[1..]);
}

pub(crate) async fn history_keeps_the_newest_200_entries_of_a_job(world: &World) {
    let replica = world.opened().await;
    write_entries(&replica, 203).await;

    let entries = replica.store.history(&[job()], 1000).await.expect("history").remove(0).1;

    assert_eq!(entries.len(), 200);
    assert_eq!(entries[0].tail.as_deref(), Some("tail 3\n"));
    assert_eq!(entries[199].tail.as_deref(), Some("tail 202\n"));
}

/// Runs a tick that ends so; returns the tick, and when it ended.
async fn run(replica: &Replica, verdict: Verdict) -> (Tick, UtcMillis) {
    let lease = replica.win().await;
    let finish = Finish { verdict, ..sample::finish(&lease, &replica.era) };
    assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
    (lease.tick, replica.record().await.ended.expect("an end"))
}

pub(crate) async fn a_record_tells_the_newest_success_and_the_failures_since(world: &World) {
    let replica = world.opened().await;
    let (tick, ended) = run(&replica, Verdict::plain(Outcome::Succeeded)).await;
    let (_, since) = run(&replica, Verdict::plain(Outcome::Failed)).await;
    run(&replica, Verdict::because(Outcome::Killed, Reason::Operator)).await;
    run(&replica, Verdict::plain(Outcome::TimedOut)).await;

    let record = replica.record().await;

    assert_eq!((record.last_success_tick, record.last_success_end), (Some(tick), Some(ended)));
    assert_eq!((record.failures_in_row, record.failing_since), (2, Some(since)));
    let (tick, ended) = run(&replica, Verdict::plain(Outcome::Succeeded)).await;
    let record = replica.record().await;
    assert_eq!((record.last_success_tick, record.last_success_end), (Some(tick), Some(ended)));
    assert_eq!((record.failures_in_row, record.failing_since), (0, None));
}

pub(crate) fn beat(name: &str) -> Beat {
    Beat {
        node: sample::node(name),
        life: RunId::new(),
        version: "0.1.0".into(),
        file: "00ff".into(),
        started: UtcMillis(1),
        draining: false,
        running: vec![BeatRun { job: job(), run: RunId::new(), lease_ms: 0, end: None }],
        labels: vec![Label::parse("gpu").expect("a label")],
        full: true,
        name_taken: true,
        ahead_ms: Some(-700),
        slewed: Some(Slewed { since: UtcMillis(1_767_268_790_000), faster_ppm: -83_333 }),
        stages: vec![StageTimes { stage: "late".into(), p50_us: 2_000, p99_us: 15_000 }],
        largest_fence: Fence(2_110_930_443_429),
        count: 0,
        told: None,
    }
}

pub(crate) async fn replicas_hear_of_each_other_by_heartbeats(world: &World) {
    let (a, b) = (world.replica().await, world.replica().await);
    let (of_a, of_b) = (beat("a"), beat("b"));

    assert_eq!(a.store.pulse(None).await.expect("a pulse").marker, None, "nobody has beaten yet");
    let first = a.store.pulse(Some(&of_a)).await.expect("a pulse");
    assert!(first.marker.is_some() && first.peers.is_empty(), "{first:?}");
    let second = b.store.pulse(Some(&of_b)).await.expect("a pulse");
    let counted = |beat: &Beat, count| Beat { count, ..beat.clone() };
    let beats = |pulse: &Pulse| pulse.peers.iter().map(|peer| peer.beat.clone()).collect::<Vec<_>>();
    assert_eq!(beats(&second), [counted(&of_a, 1)]);
    let third = a.store.pulse(Some(&of_a)).await.expect("a pulse");
    assert_eq!([first.count, second.count, third.count], [1, 2, 3]);
    assert_eq!([&second.marker, &third.marker], [&first.marker; 2]);
    assert_eq!(beats(&third), [counted(&of_a, 1), counted(&of_b, 2)]);
    assert_eq!(third.peers[0].at, first.now);
    assert_eq!(third.era, second.era);

    let listener = b.store.pulse(None).await.expect("a pulse");
    assert_eq!((listener.peers.len(), listener.marker), (2, first.marker));
}

pub(crate) async fn a_job_is_known_once_it_was_enrolled(world: &World) {
    let replica = world.replica().await;
    let names = ["x", "y", "z"].map(|name| JobName::parse(name).expect("a good name"));
    assert_eq!(replica.store.known(&names).await, Ok(vec![false; 3]));

    replica.store.enroll(&[names[2].clone(), names[0].clone()]).await.expect("enrolled");
    replica.store.enroll(&names[..1]).await.expect("again");

    assert_eq!(replica.store.known(&names).await, Ok(vec![true, false, true]));
    assert_eq!(replica.store.known(&[]).await, Ok(vec![]));
    assert_eq!(replica.store.jobs().await, Ok(vec![names[0].clone(), names[2].clone()]));
    replica.store.enroll(&[]).await.expect("nothing to do");
}

pub(crate) async fn records_come_in_the_order_asked(world: &World) {
    let replica = world.opened().await;
    let other = JobName::parse("other").expect("a good name");

    let records = replica.store.records(&[other.clone(), job(), other]).await.expect("records");

    let there: Vec<bool> = records.iter().map(Option::is_some).collect();
    assert_eq!(there, [false, true, false]);
}

pub(crate) async fn a_manual_run_takes_the_same_lock(world: &World) {
    let (a, b) = (world.opened().await, world.replica().await);
    let mark = a.record().await.mark;
    let manual = sample::manual(a.caller().await);

    won(&a.ask(Request::Manual(manual)).await.answer);

    assert_eq!(a.record().await.mark, mark);
    let answer = b.ask(Request::Claim(b.claim(Duration::ZERO).await)).await.answer;
    let overlap = Verdict::because(Outcome::Skipped, Reason::Overlap);
    assert!(matches!(answer, Answer::Held { .. }) || answer == Answer::Consumed(overlap), "{answer:?}");
}

/// However slow the disk, no tick of a race is too late.
pub(crate) const ALL_DAY: Duration = Duration::from_secs(86_400);

pub(crate) async fn of_many_claimants_exactly_one_wins_each_tick(world: &World) {
    const TICKS: u64 = 200;
    let first = world.opened().await;
    let base = first.now().await.minus(Duration::from_secs(30));
    let mut claimants = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let replica = world.replica().await;
        claimants.spawn(async move {
            let mut wins = Vec::new();
            for n in 0..TICKS {
                let tick = Tick(base.plus(Duration::from_millis(n)));
                if claim_until_decided(&replica, tick).await {
                    wins.push(tick);
                }
            }
            wins
        });
    }
    let mut wins = claimants.join_all().await.concat();
    wins.sort_unstable();
    let expected: Vec<Tick> = (0..TICKS).map(|n| Tick(base.plus(Duration::from_millis(n)))).collect();
    assert_eq!(wins, expected);
}

/// Asks until the tick is decided; `true` if this replica ran it.
async fn claim_until_decided(replica: &Replica, tick: Tick) -> bool {
    loop {
        let mut claim = sample::claim(replica.caller().await, tick);
        claim.prev = Some(Tick(tick.instant().minus(Duration::from_millis(1))));
        (claim.overlap, claim.start_deadline) = (Overlap::Wait, ALL_DAY);
        let run = claim.run;
        match replica.ask(Request::Claim(claim)).await.answer {
            Answer::Won { fence, .. } => {
                let lease = Lease { run, fence, ..sample::forgotten(tick, fence.0) };
                let finish = sample::finish(&lease, &replica.era);
                assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
                return true;
            }
            Answer::Held { .. } => {}
            Answer::Decided { .. } => return false,
            other => panic!("neither granted nor refused: {other:?}"),
        }
    }
}

//! The contest step by step: what it does at an instant, and with every kind of answer.

mod policy;
mod redefine;
mod rerun;

use std::time::Duration;

use crate::config::testing::spec;
use crate::job::{Fence, JobSpec, NodeName, Outcome, Overlap, Reason, RunId, Tick, Verdict};
use crate::lease::testing;
use crate::lease::{Ahead, Answer, Caller, Era, Holder, MOST_AHEAD, Reply};
use crate::replica::tick::action::{Action, Bid, Finding};
use crate::replica::tick::claiming::Contest;
use crate::time::{BootInstant, UtcMillis};

pub(crate) const T0: UtcMillis = UtcMillis(1_767_225_600_000);
pub(crate) const SENT: BootInstant = BootInstant(Duration::ZERO);

pub(crate) fn at(ms: i64) -> UtcMillis {
    UtcMillis(T0.0 + ms)
}

pub(crate) fn this_node() -> NodeName {
    NodeName::parse("a").expect("name")
}

pub(crate) fn contest(keys: &str) -> Contest {
    let mut contest = Contest::new(spec(keys), this_node(), SENT);
    contest.opened(T0, UtcMillis(0), T0);
    contest
}

pub(crate) fn every_second() -> Contest {
    contest("schedule = \"* * * * * *\"")
}

pub(crate) fn no_stagger(_: Tick) -> Duration {
    Duration::ZERO
}

pub(crate) fn claimed(action: Action) -> Bid {
    match action {
        Action::Claim { bid, .. } => bid,
        other => panic!("expected a claim, got {other:?}"),
    }
}

pub(crate) fn reply(answer: Answer) -> Reply {
    testing::reply(T0, answer)
}

pub(crate) fn won() -> Reply {
    reply(Answer::Won { fence: Fence(1), tries: 1, started: T0 })
}

pub(crate) fn holder() -> Holder {
    Holder { node: NodeName::parse("b").expect("name"), run: RunId::new(), since: T0 }
}

pub(crate) fn held(frees_in: Duration) -> Reply {
    reply(Answer::Held { by: Some(holder()), frees_in })
}

pub(crate) fn caller() -> Caller {
    Caller { node: this_node(), ..testing::caller("a", T0, Era("e".into())) }
}

#[test]
fn nothing_is_claimed_before_the_record_is_open_nor_before_the_instant() {
    let mut contest = every_second();
    assert_eq!(contest.wake(at(999), no_stagger), Action::Nothing);
    contest.close();
    assert_eq!(contest.wake(at(1_000), no_stagger), Action::Nothing);
}

#[test]
fn the_first_ranked_claims_at_the_instant_and_others_a_little_later() {
    assert_eq!(claimed(every_second().wake(at(1_000), no_stagger)).tick, Tick(at(1_000)));

    let mut later = every_second();
    let stagger = |_| Duration::from_millis(20);
    assert_eq!(later.wake(at(1_000), stagger), Action::WakeAt(at(1_020)));
    assert_eq!(claimed(later.wake(at(1_020), stagger)).tick, Tick(at(1_000)));
}

#[test]
fn a_larger_lease_that_an_answer_tells_of_is_remembered() {
    let mut contest = every_second();
    let own = contest.known().largest_lease;
    claimed(contest.wake(at(1_000), no_stagger));
    let larger = Reply { lease: Some(own * 9), ..held(Duration::from_secs(60)) };
    contest.answered(&larger, at(1_001), SENT, true);
    contest.saw(Some(own * 2));
    assert_eq!(contest.known().largest_lease, own * 9);
}

#[test]
fn a_grant_starts_its_run_and_a_late_one_is_given_back_and_claimed_again() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    let (_, action) = contest.answered(&won(), at(1_001), SENT, true);
    assert!(
        matches!(action, Action::Start { won, .. } if won.lease.run == bid.request.run && won.lease.tick == bid.tick)
    );
    assert_eq!(contest.wake(at(1_002), no_stagger), Action::Nothing);

    let mut late = every_second();
    let bid = claimed(late.wake(at(1_000), no_stagger));
    let (_, action) = late.answered(&won(), at(1_500), SENT, false);
    let Action::Claim { bid: again, instead_of: Some(doubt) } = action else { panic!("it is claimed anew") };
    assert_eq!((again.tick, doubt.run), (bid.tick, bid.request.run));
    assert_ne!(again.request.run, bid.request.run, "a run id that was given back is never used again");
}

#[test]
fn no_answer_is_asked_again_under_the_same_run_id() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    assert_eq!(contest.failed(true, at(1_010)), Action::WakeAt(at(1_110)));
    assert_eq!(contest.wake(at(1_050), no_stagger), Action::WakeAt(at(1_110)));
    assert_eq!(claimed(contest.wake(at(1_110), no_stagger)).request.run, bid.request.run);
    assert_eq!(contest.failed(true, at(1_120)), Action::WakeAt(at(1_320)), "the pause doubles");
}

#[test]
fn after_a_refusal_a_claim_is_as_calm_as_that_is_long_ago() {
    let mut contest = every_second();
    let patient = || Caller { calm: Duration::from_secs(60), ..caller() };
    let calm = |contest: &mut Contest, ms| {
        let bid = claimed(contest.wake(at(ms), no_stagger));
        contest.proposal().claim(&bid, patient(), at(ms), at(ms)).caller.calm
    };
    assert_eq!(calm(&mut contest, 1_000), Duration::from_secs(60));
    contest.failed(true, at(1_010));
    assert_eq!(calm(&mut contest, 1_200), Duration::from_secs(60), "it may have been applied");
    contest.failed(false, at(1_210));
    assert_eq!(calm(&mut contest, 3_210), Duration::from_secs(2), "the holder's end may be refused as well");
    contest.failed(false, at(3_600_000));
    contest.forget();
    assert_eq!(calm(&mut contest, 4_210), Duration::from_secs(60), "the clock was set back");
}

#[test]
fn a_newer_tick_is_claimed_and_the_grant_an_older_claim_may_have_is_given_back() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    contest.claims(&contest.proposal().claim(&bid, caller(), at(1_000), at(1_000)));
    contest.failed(true, at(1_990));
    let Action::Claim { bid: newer, instead_of: Some(doubt) } = contest.wake(at(2_000), no_stagger) else {
        panic!("the newer tick is claimed");
    };
    assert_eq!((newer.tick, doubt.run, doubt.era), (Tick(at(2_000)), bid.request.run, Era("e".into())));
    let claim = contest.proposal().claim(&newer, caller(), at(2_000), at(2_000));
    assert_eq!((claim.prev, claim.gap_reason), (Some(Tick(at(1_000))), Reason::StoreUnreachable));
    assert_eq!(claim.gap.map(|gap| (gap.after, gap.count)), Some((T0, 1)));
}

#[test]
fn a_claim_that_may_be_in_the_mark_already_is_asked_again_and_not_forgotten() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    contest.failed(true, at(1_010));
    // The store is back after a restart, and remembers the grant whose answer was lost.
    contest.close();
    contest.opened(at(1_000), UtcMillis(0), at(1_500));
    assert_eq!(claimed(contest.wake(at(1_500), no_stagger)).request.run, bid.request.run);
    let (_, action) = contest.answered(&won(), at(1_501), SENT, true);
    assert!(matches!(action, Action::Start { won, .. } if won.lease.run == bid.request.run));
}

#[test]
fn what_was_certainly_not_sent_need_not_be_given_back() {
    let mut contest = every_second();
    contest.wake(at(1_000), no_stagger);
    contest.failed(false, at(1_990));
    assert!(matches!(contest.wake(at(2_000), no_stagger), Action::Claim { instead_of: None, .. }));
}

#[test]
fn within_its_start_deadline_an_older_tick_goes_first() {
    let mut contest = contest("schedule = \"* * * * * *\"\nstart_deadline = \"10s\"");
    assert_eq!(claimed(contest.wake(at(4_500), no_stagger)).tick, Tick(at(1_000)));
    contest.answered(&won(), at(4_501), SENT, true);
    assert_eq!(claimed(contest.wake(at(4_502), no_stagger)).tick, Tick(at(2_000)));

    let mut late = self::contest("schedule = \"* * * * * *\"\nstart_deadline = \"2s\"");
    assert_eq!(claimed(late.wake(at(9_500), no_stagger)).tick, Tick(at(8_000)));
}

#[test]
fn a_tick_too_late_for_anybody_is_claimed_all_the_same_so_that_it_gets_its_record() {
    let mut contest = contest("schedule = \"0 * * * *\"\nstart_deadline = \"1m\"");
    let bid = claimed(contest.wake(at(2 * 3_600_000 + 600_000), no_stagger));
    assert_eq!(bid.tick, Tick(at(2 * 3_600_000)));
}

#[test]
fn a_held_lock_is_asked_for_again_when_it_may_be_free_and_every_sixth_of_the_lease() {
    let mut soon = every_second();
    soon.wake(at(1_000), no_stagger);
    let (finding, action) = soon.answered(&held(Duration::from_millis(300)), at(1_001), SENT, true);
    assert!(matches!(finding, Some(Finding::Held(Some(_)))));
    assert_eq!(action, Action::WakeAt(at(1_301)));

    let mut long = every_second();
    long.wake(at(1_000), no_stagger);
    let (_, action) = long.answered(&held(Duration::from_secs(25)), at(1_001), SENT, true);
    assert_eq!(action, Action::WakeAt(at(6_001)));
}

#[test]
fn a_lock_that_its_own_unanswered_claim_holds_stays_in_doubt() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    contest.failed(true, at(1_001));
    contest.wake(at(1_101), no_stagger);
    let by = Some(Holder { node: NodeName::parse("a").expect("name"), run: bid.request.run, since: T0 });
    let held = reply(Answer::Held { by, frees_in: Duration::from_secs(3) });
    let (_, action) = contest.answered(&held, at(1_102), SENT, true);
    assert_eq!(action, Action::WakeAt(at(4_102)));
    assert_eq!(contest.doubt().map(|doubt| doubt.run), Some(bid.request.run));
}

#[test]
fn the_holders_own_proof_of_life_ends_the_wait_at_once() {
    let mut contest = every_second();
    contest.wake(at(1_000), no_stagger);
    contest.answered(&held(Duration::from_secs(25)), at(1_001), SENT, true);
    contest.hurry(at(1_010));
    assert_eq!(claimed(contest.wake(at(1_010), no_stagger)).tick, Tick(at(1_000)));
}

#[test]
fn an_answer_from_before_the_end_of_a_run_here_is_asked_for_again_at_once() {
    let mut contest = every_second();
    contest.wake(at(1_000), no_stagger);
    contest.own_run_is_over();
    let (_, action) = contest.answered(&held(Duration::from_secs(25)), at(1_001), SENT, true);
    assert_eq!(action, Action::WakeAt(at(1_001)));
    claimed(contest.wake(at(1_001), no_stagger));
    let (_, action) = contest.answered(&held(Duration::from_secs(25)), at(1_002), SENT, true);
    assert_eq!(action, Action::WakeAt(at(6_002)), "another one holds it now");
}

#[test]
fn only_a_run_that_began_by_a_skipped_ticks_instant_has_to_prove_it_is_alive() {
    let spec = JobSpec::clone(every_second().spec());
    let waits = JobSpec { overlap: Overlap::Wait, ..spec.clone() };
    let finding = Finding::Held(Some(holder()));
    assert!(finding.awaits_proof(&spec, Tick(T0)).is_some());
    assert!(finding.awaits_proof(&spec, Tick(at(-1_000))).is_none(), "it began later");
    assert!(finding.awaits_proof(&waits, Tick(T0)).is_none(), "no proof would decide the tick");
    assert!(Finding::Held(None).awaits_proof(&spec, Tick(T0)).is_none());
}

#[test]
fn what_the_store_decided_is_told_and_not_asked_again() {
    let verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
    for answer in [Answer::Consumed(verdict), Answer::Decided { by: None, how: Some(verdict) }] {
        let mut contest = every_second();
        contest.wake(at(1_000), no_stagger);
        let (finding, action) = contest.answered(&reply(answer), at(1_001), SENT, true);
        assert!(finding.is_some());
        assert_eq!(action, Action::Nothing);
        assert_eq!(contest.wake(at(1_500), no_stagger), Action::Nothing);
    }
}

#[test]
fn an_early_claim_is_made_again_at_its_instant() {
    let mut contest = every_second();
    contest.wake(at(1_000), no_stagger);
    let early = reply(Answer::Early { wait: Duration::from_millis(700) });
    assert_eq!(contest.answered(&early, at(1_001), SENT, true).1, Action::WakeAt(at(1_701)));
}

#[test]
fn a_new_life_of_the_store_is_learned_and_opened_before_anything_is_claimed_again() {
    let mut contest = every_second();
    let bid = claimed(contest.wake(at(1_000), no_stagger));
    let (_, action) = contest.answered(&reply(Answer::NewEra(Era("f".into()))), at(1_001), SENT, true);
    assert!(matches!(action, Action::Resync(_)));
    assert!(contest.is_unopened());
    assert_eq!(contest.wake(at(1_500), no_stagger), Action::Nothing);
    contest.opened(T0, UtcMillis(0), at(1_600));
    assert_eq!(claimed(contest.wake(at(1_600), no_stagger)).request.run, bid.request.run);
}

#[test]
fn ticks_that_ran_stay_known_to_where_a_store_that_forgot_may_have_decided_more() {
    let mut contest = every_second();
    let runs = |contest: &mut Contest, ms| {
        claimed(contest.wake(at(ms), no_stagger));
        contest.answered(&Reply { mark: Some(at(ms)), ..won() }, at(ms), SENT, true);
        contest.known_to_have_run().to_vec()
    };
    assert_eq!(runs(&mut contest, 1_000), [Ahead { after: at(999), to: at(1_000) }]);
    let row = Ahead { after: at(999), to: at(2_000) };
    assert_eq!(runs(&mut contest, 2_000), [row]);
    for mark in [2_700, 4_200] {
        contest.opened(at(mark), UtcMillis(0), at(mark));
        assert_eq!(contest.known_to_have_run(), [row], "{mark}");
    }
    assert_eq!(runs(&mut contest, 5_000), [row, Ahead { after: at(4_999), to: at(5_000) }]);
    contest.given_back(Tick(at(5_000)));
    assert_eq!(contest.known_to_have_run(), [row]);
}

#[test]
fn of_too_many_spans_of_ticks_that_ran_the_oldest_are_joined() {
    let mut contest = every_second();
    let every_other = (0..).map(|count| at(1_000 + 2_000 * count)).take(MOST_AHEAD + 2);
    let ran: Vec<_> = every_other.map(|to| Ahead { after: UtcMillis(to.0 - 1), to }).collect();
    for span in &ran {
        contest.decide(span.to, true);
    }
    let known = contest.known_to_have_run();
    assert_eq!(known[0], Ahead { after: ran[0].after, to: ran[2].to });
    assert_eq!(known[1..], ran[3..]);
}

#[test]
fn under_an_edited_schedule_the_past_is_not_claimed() {
    let mut contest = every_second();
    contest.close();
    contest.opened(at(-60_000), at(5_500), at(5_500));
    assert_eq!(contest.wake(at(5_999), no_stagger), Action::Nothing);
    assert_eq!(claimed(contest.wake(at(6_000), no_stagger)).tick, Tick(at(6_000)));
}

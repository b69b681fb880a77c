//! Whether a replica may take a job's ticks, and which ticks it claims otherwise: every replica watches the end of each
//! tick's `start_deadline`, so that a tick that no replica took gets its entry. Pure.

use std::time::Duration;

use crate::job::{CatchUp, JobSpec, Reason, Tick};
use crate::time::UtcMillis;

use super::action::Action;
use super::claiming::Contest;
use super::request::candidate;

/// An ineligible replica waits this long before it records a tick as missed, so that an eligible one can record the
/// real reason.
const FIRST_WORD: Duration = Duration::from_secs(1);

/// Whether a replica may take a job's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eligibility {
    /// It takes them.
    #[default]
    Takes,
    /// It runs as many jobs as it may. It claims, so that a tick that is to be skipped is skipped, but is granted
    /// nothing. A tick that no replica took is missed for this reason.
    Full(Reason),
    /// It lacks a label of the job, and only claims ticks whose start deadline is over. A tick that no replica took is
    /// missed for this reason.
    Watches(Reason),
}

impl Eligibility {
    /// Returns why nothing may be granted to the replica; `None` if something may.
    pub(crate) fn excuse(self) -> Option<Reason> {
        match self {
            Self::Takes => None,
            Self::Full(reason) | Self::Watches(reason) => Some(reason),
        }
    }
}

impl Contest {
    /// Sets whether this replica may take the job's ticks from now on.
    pub fn stand(&mut self, standing: Eligibility) {
        self.standing = standing;
    }

    /// Returns why nothing may be granted to this replica for a tick. Right after an outage of the store, this replica has
    /// received no other's heartbeat yet. A tick that came during the outage is missed for the outage, and not because no
    /// replica is there.
    pub(super) fn excuse(&self, tick: Tick) -> Option<Reason> {
        let was_away = self.unheard_at >= tick.instant();
        let excuse =
            |reason| if was_away && reason == Reason::NoReplica { Reason::StoreUnreachable } else { reason };
        self.standing.excuse().map(excuse)
    }

    /// Returns the tick to claim by now.
    pub(crate) fn tick_at_hand(&self, now: UtcMillis) -> Option<Tick> {
        match self.standing {
            // A rerun goes first.
            Eligibility::Takes => {
                let come = || candidate(self.spec(), self.past(), now);
                self.rerun_at_hand(now).or_else(come).or_else(|| self.ahead_of_its_instant(now))
            }
            Eligibility::Full(_) => self.overdue(now).or_else(|| {
                let may_start = |tick: &Tick| now < end_of(self.spec(), *tick);
                candidate(self.spec(), self.past(), now).filter(may_start)
            }),
            Eligibility::Watches(_) => self.overdue(now),
        }
    }

    /// Returns when to claim a tick that was not claimed yet.
    pub(crate) fn asked_at(&self, tick: Tick, stagger: Duration, now: UtcMillis) -> UtcMillis {
        match self.standing {
            Eligibility::Takes if stagger.is_zero() && self.ahead_of_its_instant(now) == Some(tick) => now,
            Eligibility::Takes => self.due(tick).plus(stagger),
            Eligibility::Full(_) if self.overdue(now) != Some(tick) => tick.instant().plus(stagger),
            Eligibility::Full(_) | Eligibility::Watches(_) => {
                end_of(self.spec(), tick).plus(self.first_word() + stagger)
            }
        }
    }

    /// Returns the newest tick whose start deadline is over, once it is this replica's turn to record that.
    fn overdue(&self, now: UtcMillis) -> Option<Tick> {
        overdue(self.spec(), self.past(), now.minus(self.first_word()))
    }

    /// Returns how long other replicas may record the tick first.
    fn first_word(&self) -> Duration {
        if self.standing.excuse() == Some(Reason::Late) { FIRST_WORD } else { Duration::ZERO }
    }

    /// Returns when to check the job again, while there is nothing to claim.
    pub(crate) fn look_again(&self, now: UtcMillis) -> Action {
        if self.standing == Eligibility::Takes {
            return Action::Nothing;
        }
        let undecided = self.spec().schedule.next_after(self.past()).filter(|tick| tick.instant() <= now);
        let end = undecided.map(|tick| end_of(self.spec(), tick).plus(self.first_word()));
        end.filter(|end| *end > now).map_or(Action::Nothing, Action::WakeAt)
    }
}

/// Returns the first instant at which the tick may not start any more.
fn end_of(spec: &JobSpec, tick: Tick) -> UtcMillis {
    tick.instant().plus(spec.start_deadline_of(tick) + Duration::from_millis(1))
}

/// Returns the newest tick after `decided` whose start deadline is over. `None` where missed ticks are caught up with.
fn overdue(spec: &JobSpec, decided: UtcMillis, now: UtcMillis) -> Option<Tick> {
    if spec.catch_up == CatchUp::Last {
        return None;
    }
    let is_over = |tick: &Tick| now.since(tick.instant()) >= spec.start_deadline_of(*tick);
    let newest = match spec.start_deadline {
        Some(limit) => spec.schedule.at_or_before(now.minus(limit)),
        None => spec.schedule.at_or_before(now),
    };
    // Without a configured deadline, a tick is over when the next one comes, at the latest.
    let before = |tick: Tick| spec.schedule.at_or_before(UtcMillis(tick.as_millis() - 1));
    newest.filter(is_over).or_else(|| newest.and_then(before)).filter(|tick| tick.instant() > decided)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::job::{Outcome, Verdict};
    use crate::lease::{Answer, testing};
    use crate::replica::tick::claiming::tests::{T0, at, contest, this_node};
    use crate::time::BootInstant;

    use super::*;

    const WATCHES: Eligibility = Eligibility::Watches(Reason::NoReplica);

    fn every_minute() -> Contest {
        contest("schedule = \"* * * * *\"\nstart_deadline = \"10s\"")
    }

    fn at_once(_: Tick) -> Duration {
        Duration::ZERO
    }

    /// The tick that is claimed, and why the replica could not run it.
    fn claimed(action: Action) -> (Tick, Option<Reason>) {
        match action {
            Action::Claim { bid, .. } => (bid.tick, bid.unfit),
            other => panic!("expected a claim, got {other:?}"),
        }
    }

    fn consumed(contest: &mut Contest, now: UtcMillis) {
        let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
        answered(contest, now, Answer::Consumed(missed));
    }

    fn answered(contest: &mut Contest, now: UtcMillis, answer: Answer) -> Action {
        contest.answered(&testing::reply(now, answer), now, BootInstant(Duration::ZERO), true).1
    }

    #[test]
    fn who_is_not_fit_asks_for_a_tick_only_once_its_start_deadline_is_over() {
        let mut contest = every_minute();
        contest.stand(WATCHES);
        assert_eq!(contest.wake(at(59_999), at_once), Action::Nothing);
        assert_eq!(contest.wake(at(60_000), at_once), Action::WakeAt(at(70_001)));
        assert_eq!(contest.wake(at(70_000), at_once), Action::WakeAt(at(70_001)));
        assert_eq!(claimed(contest.wake(at(70_001), at_once)), (Tick(at(60_000)), Some(Reason::NoReplica)));
        consumed(&mut contest, at(70_002));
        assert_eq!(contest.wake(at(70_003), at_once), Action::Nothing, "it is decided");
    }

    #[test]
    fn a_tick_that_was_over_before_the_store_answered_again_is_missed_for_that() {
        let mut contest = every_minute();
        contest.stand(WATCHES);
        assert_eq!(contest.wake(at(60_000), at_once), Action::WakeAt(at(70_001)));
        contest.unheard(at(60_000));
        let claim = claimed(contest.wake(at(75_000), at_once));
        assert_eq!(claim, (Tick(at(60_000)), Some(Reason::StoreUnreachable)));
        consumed(&mut contest, at(75_001));
        let claim = claimed(contest.wake(at(135_000), at_once));
        assert_eq!(claim, (Tick(at(120_000)), Some(Reason::NoReplica)), "the next one has its own reason");
    }

    #[test]
    fn an_outage_is_no_reason_for_a_tick_that_came_after_it() {
        let mut contest = every_minute();
        contest.stand(WATCHES);
        contest.unheard(at(60_000));
        contest.opened(at(60_000), at(0), at(61_000));
        let claim = claimed(contest.wake(at(135_000), at_once));
        assert_eq!(claim, (Tick(at(120_000)), Some(Reason::NoReplica)));
    }

    #[test]
    fn without_a_deadline_of_its_own_a_tick_is_over_with_the_next_one() {
        let mut contest = contest("schedule = \"* * * * *\"");
        contest.stand(WATCHES);
        assert_eq!(contest.wake(at(60_000), at_once), Action::WakeAt(at(120_001)));
        assert_eq!(contest.wake(at(120_000), at_once), Action::WakeAt(at(120_001)));
        assert_eq!(claimed(contest.wake(at(120_001), at_once)).0, Tick(at(60_000)));
        consumed(&mut contest, at(120_002));
        assert_eq!(contest.wake(at(120_003), at_once), Action::WakeAt(at(180_001)));
    }

    #[test]
    fn after_an_outage_the_newest_tick_that_is_over_is_asked_for_and_passes_the_others() {
        let mut contest = every_minute();
        contest.stand(WATCHES);
        let (tick, _) = claimed(contest.wake(at(305_000), at_once));
        assert_eq!(tick, Tick(at(240_000)), "the tick of five minutes may still start");
    }

    #[test]
    fn who_could_run_it_has_the_first_word_about_why_it_did_not() {
        let mut contest = every_minute();
        contest.stand(Eligibility::Watches(Reason::Late));
        let stagger = |_: Tick| Duration::from_millis(40);
        assert_eq!(contest.wake(at(70_001), stagger), Action::WakeAt(at(71_001)));
        assert_eq!(contest.wake(at(71_001), stagger), Action::WakeAt(at(71_041)));
        assert_eq!(claimed(contest.wake(at(71_041), stagger)).1, Some(Reason::Late));
    }

    #[test]
    fn who_is_full_asks_at_the_instant_and_again_once_the_tick_is_over() {
        let mut contest = every_minute();
        contest.stand(Eligibility::Full(Reason::Capacity));
        let asked = (Tick(at(60_000)), Some(Reason::Capacity));
        assert_eq!(claimed(contest.wake(at(60_000), at_once)), asked);
        let early = Answer::Early { wait: Duration::from_millis(10_001) };
        let action = answered(&mut contest, at(60_000), early);
        assert_eq!(action, Action::WakeAt(at(70_001)));
        assert_eq!(claimed(contest.wake(at(70_001), at_once)), asked);
    }

    #[test]
    fn who_finds_room_meanwhile_asks_for_the_tick_itself() {
        let mut contest = every_minute();
        contest.stand(Eligibility::Full(Reason::Capacity));
        claimed(contest.wake(at(60_000), at_once));
        let early = Answer::Early { wait: Duration::from_millis(10_001) };
        answered(&mut contest, at(60_000), early);
        contest.stand(Eligibility::Takes);
        assert_eq!(claimed(contest.wake(at(62_000), at_once)), (Tick(at(60_000)), None));
    }

    #[test]
    fn ticks_that_come_while_a_replica_is_full_are_each_told_of() {
        let mut contest = contest("schedule = \"* * * * *\"");
        contest.stand(Eligibility::Full(Reason::Capacity));
        claimed(contest.wake(at(60_000), at_once));
        let early = Answer::Early { wait: Duration::from_millis(60_001) };
        answered(&mut contest, at(60_000), early);
        assert_eq!(contest.wake(at(120_000), at_once), Action::WakeAt(at(120_001)));
        assert_eq!(claimed(contest.wake(at(120_001), at_once)).0, Tick(at(60_000)));
        consumed(&mut contest, at(120_002));
        assert_eq!(claimed(contest.wake(at(120_002), at_once)).0, Tick(at(120_000)));
    }

    #[test]
    fn ticks_that_come_faster_than_others_speak_are_asked_for_all_the_same() {
        let mut contest = contest("schedule = \"* * * * * *\"");
        contest.stand(Eligibility::Watches(Reason::Late));
        let stagger = |_: Tick| Duration::from_millis(40);
        for wake in [1_000, 2_000, 2_001, 3_000, 3_001] {
            assert!(matches!(contest.wake(at(wake), stagger), Action::WakeAt(_)), "{wake}");
        }
        assert_eq!(claimed(contest.wake(at(3_041), stagger)).0, Tick(at(1_000)));
    }

    #[test]
    fn what_is_caught_up_with_is_left_to_who_can_do_that() {
        let spec = JobSpec { catch_up: CatchUp::Last, ..JobSpec::clone(every_minute().spec()) };
        let mut contest = Contest::new(Arc::new(spec), this_node(), BootInstant(Duration::ZERO));
        contest.opened(T0, UtcMillis(0), T0);
        contest.stand(WATCHES);
        assert_eq!(contest.wake(at(75_000), at_once), Action::Nothing);
    }

    #[test]
    fn who_is_not_fit_any_more_gives_back_what_it_may_have_been_granted() {
        let mut contest = every_minute();
        let Action::Claim { bid, .. } = contest.wake(at(60_000), at_once) else { panic!("no claim") };
        contest.failed(true, at(60_010));
        contest.stand(WATCHES);
        let action = contest.wake(at(60_110), at_once);
        assert!(matches!(&action, Action::GiveBack(doubt) if doubt.run == bid.request.run), "{action:?}");
        assert_eq!(contest.doubt(), None);
    }

    #[test]
    fn an_unanswered_claim_of_who_cannot_run_it_leaves_nothing_in_doubt() {
        let mut contest = every_minute();
        contest.stand(WATCHES);
        claimed(contest.wake(at(70_001), at_once));
        assert_eq!(contest.failed(true, at(70_010)), Action::WakeAt(at(70_110)));
        assert_eq!(contest.doubt(), None);
        assert_eq!(claimed(contest.wake(at(70_110), at_once)).0, Tick(at(60_000)));
    }
}

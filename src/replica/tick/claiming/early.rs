//! Claims ahead of the tick's instant, by the replica that claims first. The store grants them or answers `early`; a
//! granted run begins at the instant.

use std::time::Duration;

use crate::job::Tick;
use crate::lease::EARLY_TOLERANCE;
use crate::replica::tick::next_ticks::Coming;
use crate::time::UtcMillis;

use super::super::action::Bid;
use super::{ClaimState, Contest};

/// A claim takes far less than this to the store and back.
const BASE: Duration = Duration::from_millis(20);

/// CPU time of a claim, on its replica and the store together, and somewhat more.
const PER_TICK: Duration = Duration::from_micros(150);

/// The largest lead: somewhat less than what the store grants ahead of an instant, because its clock is not known to
/// the millisecond.
const MOST: Duration = Duration::from_millis(170);

/// Returns when to claim each of these ticks, which are all that come in their time, in order: the earlier, the more of
/// them have the same instant. `apart`: how much earlier instants come by this clock than by the store's.
pub(crate) fn asked_ahead(coming: &[Coming], apart: Duration) -> impl Iterator<Item = (&Coming, UtcMillis)> {
    coming.chunk_by(|one, next| one.tick == next.tick).flat_map(move |same| {
        let lead = BASE + PER_TICK.saturating_mul(u32::try_from(same.len()).unwrap_or(u32::MAX));
        same.iter()
            .map(move |coming| (coming, coming.tick.instant().minus(lead.min(MOST.saturating_sub(apart)))))
    })
}

impl Contest {
    /// Plans the claim of a tick for `from` on, ahead of its instant.
    pub fn call(&mut self, tick: Tick, from: UtcMillis, now: UtcMillis) {
        self.called.retain(|(tick, _)| now < tick.instant());
        self.called.push((tick, from));
    }

    /// Returns `until`, the time of the next claim, or the tick's instant if that comes before.
    pub(super) fn not_beyond_its_instant(bid: &Bid, now: UtcMillis, until: UtcMillis) -> UtcMillis {
        let instant = bid.tick.instant();
        if now < instant { until.min(instant) } else { until }
    }

    /// Returns the tick to claim before its instant, or to claim again. One that is farther ahead than the store grants
    /// was claimed by a clock that has been set back since.
    pub(in crate::replica) fn ahead_of_its_instant(&self, now: UtcMillis) -> Option<Tick> {
        let waits = match &self.state {
            ClaimState::Waiting { bid, .. } => Some(bid.tick),
            ClaimState::Idle | ClaimState::Asking { .. } => None,
        };
        let called = self.called.iter().filter(|(_, from)| *from <= now).map(|(tick, _)| *tick);
        let soon = now.plus(EARLY_TOLERANCE);
        let is_left =
            |tick: &Tick| now < tick.instant() && tick.instant() <= soon && self.past() < tick.instant();
        waits.into_iter().chain(called).find(is_left)
    }
}

#[cfg(test)]
mod tests {
    use crate::job::{JobName, Reason};
    use crate::lease::Answer;
    use crate::replica::tick::claiming::tests::{
        SENT, T0, at, claimed, contest, every_second, no_stagger, reply, won,
    };
    use crate::replica::tick::eligibility::Eligibility;

    use super::super::super::action::{Action, Finding};
    use super::*;

    const SECOND: Tick = Tick(UtcMillis(T0.0 + 1_000));

    /// A contest that claims its next tick 20 ms ahead.
    fn called() -> Contest {
        let mut contest = every_second();
        contest.call(SECOND, at(980), at(0));
        contest
    }

    #[test]
    fn the_more_ticks_at_an_instant_the_earlier_their_claims_within_the_tolerance() {
        let coming = |job: usize, ms| Coming {
            tick: Tick(at(ms)),
            job: JobName::parse(&format!("j{job}")).expect("a name"),
        };
        let one = [coming(0, 1_000)];
        let many: Vec<Coming> = (0..100).map(|job| coming(job, 1_000)).chain([coming(0, 2_000)]).collect();
        let most: Vec<Coming> = (0..10_000).map(|job| coming(job, 1_000)).collect();
        let asked =
            |coming| asked_ahead(coming, Duration::ZERO).map(|(_, at)| at.0 - T0.0).collect::<Vec<_>>();
        assert_eq!(asked(&one), [980]);
        assert_eq!((asked(&many)[0], asked(&many)[99], asked(&many)[100]), (965, 965, 1_980));
        assert_eq!(asked(&most)[9_999], 830);
        assert!(MOST < EARLY_TOLERANCE);
        let apart = Duration::from_millis(100);
        assert_eq!(asked_ahead(&most, apart).next().map(|(_, at)| at.0 - T0.0), Some(930));
    }

    #[test]
    fn who_asks_first_asks_ahead_and_is_done_with_the_tick_when_its_instant_comes() {
        let mut contest = called();
        assert_eq!(contest.wake(at(979), no_stagger), Action::Nothing);
        assert_eq!(claimed(contest.wake(at(980), no_stagger)).tick, SECOND);
        let (_, action) = contest.answered(&won(), at(982), SENT, true);
        assert!(matches!(action, Action::Start { won, .. } if won.lease.tick == SECOND));
        assert_eq!(contest.wake(at(990), no_stagger), Action::Nothing);
        assert_eq!(contest.wake(at(1_000), no_stagger), Action::Nothing);
    }

    #[test]
    fn who_asks_later_than_others_does_so_after_the_instant() {
        let mut contest = called();
        let stagger = |_| Duration::from_millis(20);
        assert_eq!(contest.wake(at(980), stagger), Action::WakeAt(at(1_020)));
        assert_eq!(contest.wake(at(1_000), stagger), Action::WakeAt(at(1_020)));
    }

    #[test]
    fn who_was_too_early_asks_again_at_the_instant() {
        let mut contest = called();
        claimed(contest.wake(at(980), no_stagger));
        let early = reply(Answer::Early { wait: Duration::from_millis(19) });
        let (finding, action) = contest.answered(&early, at(981), SENT, true);
        assert_eq!((finding, action), (None::<Finding>, Action::WakeAt(at(1_000))));
        assert_eq!(contest.wake(at(990), no_stagger), Action::WakeAt(at(1_000)));
        assert_eq!(claimed(contest.wake(at(1_000), no_stagger)).tick, SECOND);
    }

    #[test]
    fn a_tick_far_ahead_after_the_clock_was_set_back_blocks_no_earlier_claim() {
        let mut contest = every_second();
        claimed(contest.wake(at(100_010), no_stagger));
        let early = reply(Answer::Early { wait: Duration::from_secs(99) });
        contest.answered(&early, at(1_010), SENT, true);
        assert_eq!(claimed(contest.wake(at(1_020), no_stagger)).tick, SECOND);
    }

    #[test]
    fn a_claim_ahead_that_got_no_answer_is_asked_again_as_the_same_run() {
        let mut contest = called();
        let bid = claimed(contest.wake(at(980), no_stagger));
        assert_eq!(contest.failed(true, at(985)), Action::WakeAt(at(1_000)), "no later than at its instant");
        assert_eq!(contest.wake(at(990), no_stagger), Action::WakeAt(at(1_000)), "it is not given up");
        assert_eq!(claimed(contest.wake(at(1_000), no_stagger)).request.run, bid.request.run);
        assert_eq!(contest.failed(true, at(1_005)), Action::WakeAt(at(1_205)));
    }

    #[test]
    fn what_is_not_this_replicas_to_take_is_not_asked_for_ahead() {
        let mut contest = called();
        contest.stand(Eligibility::Full(Reason::Capacity));
        assert_eq!(contest.wake(at(990), no_stagger), Action::Nothing);
    }

    #[test]
    fn ticks_of_a_schedule_that_is_over_are_not_asked_for() {
        let mut contest = called();
        let hourly = self::contest("schedule = \"@hourly\"").spec().clone();
        contest.restart(hourly, at(970), SENT);
        contest.opened(at(970), at(970), at(970));
        assert_eq!(contest.wake(at(990), no_stagger), Action::Nothing);
    }

    #[test]
    fn of_several_that_were_called_each_is_asked_for_in_its_time() {
        let mut contest = called();
        let next = Tick(at(2_000));
        contest.call(next, at(1_980), at(500));
        assert_eq!(claimed(contest.wake(at(980), no_stagger)).tick, SECOND);
        contest.answered(&won(), at(982), SENT, true);
        assert_eq!(contest.wake(at(1_979), no_stagger), Action::Nothing);
        assert_eq!(claimed(contest.wake(at(1_980), no_stagger)).tick, next);
    }
}

//! What others are told of their claims, taken for the answer to a question of one's own.

use std::time::Duration;

use crate::job::{Tick, UtcMillis};
use crate::lease::{Answer, EARLY_TOLERANCE, Reply};

use super::super::action::Finding;
use super::{Contest, State};

impl Contest {
    /// What was told of another's claim: whether that is new here, and what is thereby known of which tick. While this
    /// replica's own claim is under way, or may have been granted unheard, only its own answer counts.
    pub fn overhear(&mut self, reply: &Reply, now: UtcMillis) -> (bool, Option<(Tick, Finding)>) {
        let waits_for_its_own = self.is_unopened() || self.is_asking() || self.doubt().is_some();
        let Some(mark) = reply.mark.filter(|_| !waits_for_its_own && !self.retired) else {
            return (false, None);
        };
        match &reply.answer {
            // No store decides a tick that is further ahead by its own clock.
            Answer::Decided { by, how } if mark > self.decided && mark <= reply.now.plus(EARLY_TOLERANCE) => {
                let finding = Finding::Decided { by: by.clone(), how: *how };
                (true, Some(self.overhear_decided(reply, (Tick(mark), finding), now)))
            }
            Answer::Abandoned => {
                // The tick is open again, unless something newer is known to be decided.
                let tick = Tick(mark.plus(Duration::from_millis(1)));
                let is_it = self.decided == tick.instant();
                if is_it {
                    self.given_back(tick);
                }
                (is_it, None)
            }
            _ => (false, None),
        }
    }

    fn overhear_decided(
        &mut self,
        reply: &Reply,
        (tick, finding): (Tick, Finding),
        now: UtcMillis,
    ) -> (Tick, Finding) {
        self.decide(tick.instant(), matches!(finding, Finding::Decided { by: Some(_), .. }));
        self.saw(reply.lease);
        let waited_for = self.waits_for().filter(|waited_for| !self.is_rerun(*waited_for));
        let waited_for = waited_for.filter(|waited_for| *waited_for <= tick);
        self.overhear_rerun(reply.rerun.as_ref(), now);
        match &self.state {
            State::Waiting { bid, .. } if waited_for.is_some() => {
                let bid = bid.clone();
                self.settled(&bid, false);
            }
            State::Idle => self.delayed_by = None,
            State::Waiting { .. } | State::Asking { .. } => {}
        }
        // Of an older tick that was waited for, nothing else is known but that it is decided.
        match waited_for.filter(|waited_for| *waited_for != tick) {
            Some(older) => (older, Finding::Decided { by: None, how: None }),
            None => (tick, finding),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::action::Action;
    use super::super::super::contest_tests::{at, contest};
    use super::*;
    use crate::job::{NodeName, Outcome, Reason, Verdict};
    use crate::lease::Rerun;

    const STAGGER: Duration = Duration::from_millis(20);
    const NOTHING: (bool, Option<(Tick, Finding)>) = (false, None);

    fn decided(mark: UtcMillis, now: UtcMillis) -> Reply {
        let (by, how) = (NodeName::parse("n2").ok(), Some(Verdict::plain(Outcome::Running)));
        let answer = Answer::Decided { by, how };
        Reply { now, mark: Some(mark), lease: Some(Duration::from_secs(60)), rerun: None, answer }
    }

    fn given_back(mark: UtcMillis, now: UtcMillis) -> Reply {
        Reply { answer: Answer::Abandoned, ..decided(mark, now) }
    }

    fn every_minute() -> Contest {
        contest("schedule = \"* * * * *\"")
    }

    #[test]
    fn a_tick_that_was_heard_to_be_decided_is_not_asked_for() {
        let mut contest = every_minute();
        assert_eq!(contest.wake(at(60_000), |_| STAGGER), Action::WakeAt(at(60_020)));
        let (is_news, found) = contest.overhear(&decided(at(60_000), at(60_003)), at(60_005));
        let (tick, finding) = found.filter(|_| is_news).expect("it is news");
        assert_eq!(tick, Tick(at(60_000)));
        assert!(matches!(finding, Finding::Decided { by: Some(by), .. } if by.as_str() == "n2"));
        assert_eq!(contest.wake(at(60_020), |_| STAGGER), Action::Nothing);
        assert_eq!(contest.known().largest_lease, Duration::from_secs(60));
        assert_eq!(contest.overhear(&decided(at(60_000), at(60_003)), at(60_030)), NOTHING, "told already");
        assert_eq!(
            contest.wake(at(120_000), |_| STAGGER),
            Action::WakeAt(at(120_020)),
            "the next one is not"
        );
    }

    #[test]
    fn a_tick_whose_instant_has_not_come_here_is_known_to_be_decided_when_it_comes() {
        let mut contest = every_minute();
        assert!(contest.overhear(&decided(at(60_000), at(59_900)), at(59_901)).0);
        assert_eq!(contest.wake(at(60_000), |_| STAGGER), Action::Nothing);
    }

    #[test]
    fn while_a_claim_is_under_way_or_in_doubt_only_its_own_answer_counts() {
        let mut contest = every_minute();
        let Action::Claim { bid, .. } = contest.wake(at(60_000), |_| Duration::ZERO) else {
            panic!("no claim")
        };
        assert_eq!(contest.overhear(&decided(at(60_000), at(60_001)), at(60_002)), NOTHING);
        contest.failed(true, at(60_010));
        assert_eq!(contest.overhear(&decided(at(60_000), at(60_011)), at(60_012)), NOTHING);
        let asked = contest.wake(at(60_110), |_| Duration::ZERO);
        assert!(matches!(&asked, Action::Claim { bid: again, .. } if again.run == bid.run), "{asked:?}");
    }

    #[test]
    fn a_tick_that_was_given_back_is_asked_for_after_all() {
        let mut contest = every_minute();
        contest.overhear(&decided(at(60_000), at(60_003)), at(60_005));
        assert_eq!(contest.overhear(&given_back(at(59_999), at(60_050)), at(60_051)), (true, None));
        let asked = contest.wake(at(60_051), |_| STAGGER);
        assert!(matches!(&asked, Action::Claim { bid, .. } if bid.tick == Tick(at(60_000))), "{asked:?}");
    }

    #[test]
    fn that_an_older_tick_was_given_back_opens_nothing() {
        let mut contest = every_minute();
        contest.overhear(&decided(at(120_000), at(120_003)), at(120_005));
        assert_eq!(contest.overhear(&given_back(at(59_999), at(120_050)), at(120_051)), NOTHING);
        assert_eq!(contest.wake(at(120_051), |_| STAGGER), Action::Nothing);
    }

    #[test]
    fn a_mark_that_no_claim_can_have_set_is_not_believed() {
        let mut contest = every_minute();
        let told = decided(UtcMillis(i64::MAX), at(60_003));
        assert_eq!(contest.overhear(&told, at(60_005)), NOTHING);
        assert!(contest.overhear(&decided(at(60_203), at(60_003)), at(60_005)).0);
    }

    #[test]
    fn the_tick_that_was_waited_for_is_told_of_though_a_newer_one_was_decided() {
        let mut contest = every_minute();
        contest.wake(at(60_000), |_| Duration::from_secs(90));
        let (_, found) = contest.overhear(&decided(at(120_000), at(120_003)), at(120_005));
        assert_eq!(found, Some((Tick(at(60_000)), Finding::Decided { by: None, how: None })));
    }

    #[test]
    fn what_was_in_the_way_of_a_tick_that_others_have_decided_is_no_reason_for_later_ones() {
        let mut contest = every_minute();
        contest.unheard(at(60_000));
        contest.overhear(&decided(at(60_000), at(60_003)), at(60_005));
        assert_eq!(contest.delayed_by, None);
        contest.wake(at(120_000), |_| STAGGER);
        contest.delayed_by = Some(Reason::Overlap);
        contest.overhear(&decided(at(120_000), at(120_003)), at(120_005));
        assert_eq!(contest.delayed_by, None);
    }

    #[test]
    fn who_reruns_what_was_cut_short_hears_when_the_lock_would_be_over() {
        let mut contest = contest("schedule = \"* * * * *\"\non_interrupt = \"rerun\"");
        let rerun = Rerun {
            tick: Tick(at(60_000)),
            by: NodeName::parse("n2").ok(),
            goes_on: true,
            frees_in: Duration::from_secs(30),
        };
        let told = Reply { rerun: Some(rerun), ..decided(at(60_000), at(60_003)) };
        contest.overhear(&told, at(60_003));
        assert_eq!(contest.wake(at(60_020), |_| STAGGER), Action::WakeAt(at(90_003)));
        // Whoever waits for that hears of the next tick as well.
        assert!(matches!(contest.wake(at(90_003), |_| STAGGER), Action::WakeAt(_)));
        contest.overhear(&decided(at(120_000), at(120_003)), at(120_004));
        assert_eq!(contest.wake(at(120_020), |_| STAGGER), Action::Nothing, "it was not cut short");
    }

    #[test]
    fn nothing_is_overheard_before_the_record_is_open() {
        let mut contest = every_minute();
        contest.close();
        assert_eq!(contest.overhear(&decided(at(60_000), at(60_003)), at(60_005)), NOTHING);
    }
}

//! How many acts there may be: at once, and within a minute for each job and each token. A script that has gone wild stops
//! there, and keeps nobody with another token from acts, on its job neither; and the feed of acts is not washed out by what was
//! refused.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::http::access::client_slots::{ClientSlot, ClientSlots};
use crate::job::{JobName, TokenName};
use crate::time::BootInstant;

/// The most acts at once, with those that go on after their answer.
const AT_ONCE: usize = 16;

/// The most of them with one token.
const OF_TOKEN_AT_ONCE: usize = 8;

/// The most acts on one job with one token within a minute.
const OF_JOB: u32 = 10;

/// The most acts with one token within a minute.
const OF_TOKEN: u32 = 60;

/// So many acts that a token does not allow are noted within a minute.
const REFUSED: u32 = 2;

/// How long an act counts.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// The most jobs and tokens of which acts are counted. Beyond that the oldest is forgotten.
const MOST: usize = 1_024;

/// The limits of acts, and what counts against them.
#[derive(Debug)]
pub(crate) struct ActLimits {
    slots: ClientSlots<TokenName>,
    counts: Mutex<HashMap<CountedActs, ActCount>>,
}

/// What acts are counted of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CountedActs {
    OfJob(JobName, TokenName),
    OfToken(TokenName),
    Refused(TokenName),
}

/// How many acts there were.
#[derive(Debug, Clone, Copy)]
struct ActCount {
    since: BootInstant,
    count: u32,
}

impl Default for ActLimits {
    fn default() -> Self {
        Self { slots: ClientSlots::new(AT_ONCE, OF_TOKEN_AT_ONCE), counts: Mutex::default() }
    }
}

impl ActLimits {
    /// Takes a slot for an act with this token; `None` if all are taken, or all that one token may have.
    pub(super) fn slot(&self, by: &TokenName) -> Option<ClientSlot<TokenName>> {
        self.slots.take(by.clone()).ok()
    }

    /// Waits until every act has ended.
    pub(crate) async fn all_ended(&self) {
        self.slots.all_free().await;
    }

    /// Counts an act on this job with this token. Returns how long to wait, if there are too many.
    pub(super) fn count(&self, job: &JobName, by: &TokenName, now: BootInstant) -> Option<Duration> {
        let of_token = self.count_one(CountedActs::OfToken(by.clone()), OF_TOKEN, now);
        of_token.or_else(|| self.count_one(CountedActs::OfJob(job.clone(), by.clone()), OF_JOB, now))
    }

    /// Counts an act that this token does not allow. Returns whether it is noted.
    pub(super) fn count_refused(&self, by: &TokenName, now: BootInstant) -> bool {
        self.count_one(CountedActs::Refused(by.clone()), REFUSED, now).is_none()
    }

    fn count_one(&self, of: CountedActs, most: u32, now: BootInstant) -> Option<Duration> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.retain(|_, count| now.since(count.since) < COUNTED_FOR);
        if counts.len() >= MOST && !counts.contains_key(&of) {
            let oldest = counts.iter().min_by_key(|(_, count)| count.since).map(|(of, _)| of.clone());
            oldest.map(|of| counts.remove(&of));
        }
        let counted = counts.entry(of).or_insert(ActCount { since: now, count: 0 });
        if counted.count >= most {
            return Some(COUNTED_FOR.saturating_sub(now.since(counted.since)));
        }
        counted.count += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    fn job(name: &str) -> JobName {
        JobName::parse(name).expect("a name")
    }

    fn token(name: &str) -> TokenName {
        TokenName::parse(name).expect("a name")
    }

    #[test]
    fn with_a_token_ten_acts_a_minute_on_a_job_and_sixty_in_all_are_allowed() {
        let limits = ActLimits::default();
        for _ in 0..OF_JOB {
            assert_eq!(limits.count(&job("backup"), &token("maria"), at(0)), None);
        }
        let wait = Some(Duration::from_secs(50));
        assert_eq!(limits.count(&job("backup"), &token("maria"), at(10)), wait);
        assert_eq!(limits.count(&job("backup"), &token("ann"), at(10)), None, "another token");
        // The one that was refused counts for the token.
        for number in 0..OF_TOKEN - OF_JOB - 1 {
            assert_eq!(limits.count(&job(&format!("j{}", number / 5)), &token("maria"), at(10)), None);
        }
        assert_eq!(limits.count(&job("payout"), &token("maria"), at(10)), wait);
        assert_eq!(limits.count(&job("backup"), &token("maria"), at(60)), None, "a minute later");
    }

    #[test]
    fn of_acts_that_a_token_does_not_allow_two_a_minute_are_noted() {
        let limits = ActLimits::default();
        let noted = (0..9).filter(|second| limits.count_refused(&token("grafana"), at(*second)));
        assert_eq!(noted.count(), 2);
        assert_eq!(limits.count(&job("backup"), &token("grafana"), at(9)), None);
    }

    #[test]
    fn no_more_than_a_thousand_jobs_and_tokens_are_remembered() {
        let limits = ActLimits::default();
        for number in 0..3_000 {
            limits.count(&job(&format!("j{number}")), &token(&format!("t{number}")), at(1));
        }
        assert_eq!(limits.counts.lock().expect("a lock").len(), MOST);
    }

    #[tokio::test]
    async fn a_slot_is_free_again_once_its_act_has_ended() {
        let limits = ActLimits::default();
        let slots = |by| (0..AT_ONCE).filter_map(|_| limits.slot(&token(by))).collect::<Vec<_>>();
        let mut taken = slots("maria");
        assert_eq!(taken.len(), OF_TOKEN_AT_ONCE, "others may act, too");
        taken.extend(slots("ann"));
        assert_eq!(taken.len(), AT_ONCE);
        assert!(limits.slot(&token("ben")).is_none());
        taken.pop();
        assert!(limits.slot(&token("maria")).is_none());
        assert!(limits.slot(&token("ben")).is_some());
        taken.clear();
        limits.all_ended().await;
    }
}

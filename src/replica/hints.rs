//! What the store tells everybody of ticks that are decided, or given back: taken for the answer that this replica would
//! have got, had it asked right then. A hint that is lost, late, or of another life of the store leads to a question.

use std::time::Duration;

use crate::lease::BootInstant;
use crate::store::Hint;

use super::driver::Driver;
use super::memory::Memory;

/// What was decided longer ago may have been given back since, without a word of that having been heard.
const FRESH: Duration = Duration::from_secs(1);

impl Driver {
    /// A tick is decided, and whoever would have asked for it need not; or it is open again.
    pub(super) fn take_hint(&mut self, hint: &Hint) {
        let counts = {
            let memory = self.shop.memory.borrow();
            memory.as_ref().is_some_and(|memory| counts(hint, memory, self.shop.clock.boot()))
        };
        let Some(contest) = self.contests.get_mut(&hint.job).filter(|_| counts) else { return };
        self.shop.hear(&hint.reply);
        let now = self.shop.now();
        let (is_news, found) = contest.overhear(&hint.reply, now);
        if let Some((tick, finding)) = found {
            self.tell_finding(&hint.job, tick, finding);
        }
        if is_news {
            // The next tick may be due already, or this one again.
            self.look_at(&hint.job, now);
            self.vacate(&hint.job);
        }
    }
}

/// Whether a hint that comes now tells what a question would.
pub(super) fn counts(hint: &Hint, memory: &Memory, now: BootInstant) -> bool {
    let age = Duration::from_millis(memory.store_time(now).0.abs_diff(hint.reply.now.0));
    hint.era == *memory.era() && age <= FRESH
}

#[cfg(test)]
mod tests {
    use super::super::memory::Reading;
    use super::*;
    use crate::job::{JobName, UtcMillis};
    use crate::lease::{Answer, Era, Reply};

    #[test]
    fn a_hint_counts_while_it_is_news_and_of_the_stores_present_life() {
        let at = |ms| BootInstant(Duration::from_millis(ms));
        let reading = Reading { sent: at(1_000), received: at(1_000), store: UtcMillis(501_000) };
        let memory = Memory::first(reading, Era("e".into()));
        let hint = |era: &str, now| Hint {
            job: JobName::parse("pay").expect("a name"),
            era: Era(era.into()),
            reply: Reply {
                now: UtcMillis(now),
                mark: Some(UtcMillis(now)),
                lease: None,
                rerun: None,
                answer: Answer::Decided { by: None, how: None },
            },
        };
        for (hint, expected) in [
            (hint("e", 502_000), true),
            (hint("e", 501_000), true),
            (hint("e", 500_999), false),
            (hint("e", 503_001), false),
            (hint("f", 502_000), false),
        ] {
            assert_eq!(counts(&hint, &memory, at(2_000)), expected, "{hint:?}");
        }
    }
}

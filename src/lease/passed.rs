//! Ticks that the mark passes without a claim of their own: nobody claimed them, or the store forgot who did. Each of
//! them gets its entry from the next claim, which knows the schedule.

use crate::job::{Cause, Outcome, Reason, UtcMillis, Verdict};

use super::draft::Draft;
use super::{Claim, Entry};

/// A claim that found no record: its own tick may have been forgotten, if the mark now covers it.
pub(super) fn remember_lost(draft: &mut Draft<'_>, claim: &Claim) {
    let Some(record) = draft.record.as_mut() else { return };
    let before = UtcMillis(claim.tick.as_millis() - 1);
    record.lost = record.lost.or(Some(before).filter(|before| *before < record.mark));
    record.sched = claim.sched.clone();
}

/// Records the claimed tick, if the mark was raised past it when the store forgot; `None` if it was decided.
pub(super) fn record_lost(draft: &mut Draft<'_>, claim: &Claim) -> Option<Verdict> {
    let now = draft.server.now;
    let record = draft.record_mut();
    let after = record.lost.filter(|lost| *lost < claim.tick.instant() && record.tick != Some(claim.tick))?;
    let after = Some(after).filter(|_| record.is_under(&claim.sched));
    // Of a record that was never granted it stays known up to where ticks were told of.
    record.lost = Some(claim.tick.instant()).filter(|tick| *tick < record.mark || record.run.is_none());
    let verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    let entry = Entry::without_run(claim.tick, Cause::Schedule, verdict, now);
    draft.entries.push(Entry { after, ..entry });
    Some(verdict)
}

/// Records the ticks between the mark and the claimed one, which nobody claimed, or which the store forgot.
pub(super) fn record_passed(draft: &mut Draft<'_>, claim: &Claim) {
    let now = draft.server.now;
    let record = draft.record_mut();
    let lost = record.lost.take().filter(|lost| *lost < record.mark);
    let after = lost.unwrap_or(record.mark);
    let Some(prev) = claim.prev.filter(|prev| prev.instant() > after) else { return };
    if !record.is_under(&claim.sched) {
        return;
    }
    let verdict = match lost {
        Some(_) => Verdict::because(Outcome::Unknown, Reason::StoreReset),
        None => Verdict::because(Outcome::Missed, claim.gap_reason),
    };
    let count = claim.gap.filter(|gap| gap.mark == after).map(|gap| gap.count);
    draft.entries.push(Entry {
        after: Some(after),
        count,
        ..Entry::without_run(prev, Cause::Schedule, verdict, now)
    });
}

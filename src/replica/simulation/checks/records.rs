//! Checks what is recorded: every tick has its entry, and the entry says what happened.

use std::time::Duration;

use crate::job::{Cause, Outcome, Reason, Tick, Verdict};
use crate::lease::{EARLY_TOLERANCE, HistoryEntry};
use crate::replica::simulation::world::World;
use crate::replica::simulation::world::clock::Moment;
use crate::time::UtcMillis;

use super::liveness::SLACK;
use super::safety::{Broken, Violation};

/// The entry of a tick that the store forgot: whether it ran is unknown.
const FORGOTTEN: Verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);

/// No clock is ahead for longer than this.
const AHEAD: Duration = Duration::from_secs(60);

impl World {
    /// No entry exists of a tick that has not come, unless it was claimed while a clock was ahead.
    pub(super) fn is_foretold(&self, job: usize) -> Result<(), Violation> {
        let now = self.now.utc().plus(SLACK);
        let is_told = |entry: &&HistoryEntry| {
            entry.tick.instant() > now && entry.run.is_none() && !self.was_claimed(job, entry)
        };
        match self.server.told[job].iter().rfind(is_told) {
            Some(entry) => Err(Violation::of(Broken::Foretold, format!("j{job}: {entry:#?}"))),
            None => Ok(()),
        }
    }

    /// Every tick up to the mark has an entry.
    pub(super) fn is_told(&mut self, job: usize) -> Result<(), Violation> {
        let stalled = || Violation::of(Broken::Stalled, format!("j{job} has no record at the end"));
        let first = self.server.first_marks[job].ok_or_else(stalled)?;
        let record = self.server.shelf.records[job].clone().ok_or_else(stalled)?;
        // A tick that is open again, as a clock was ahead, gets its entry when its time has come.
        let decided = record.decided_up_to(self.now.utc().plus(EARLY_TOLERANCE));
        let told = record.lost_after.map_or(decided, |lost| lost.min(decided)).min(self.now.utc());
        let entries = by_tick(&self.server.told[job]);
        let schedule = self.scenario.spec(job).schedule.clone();
        // Without its protection, a mark may be as low as it gets.
        let mut at = first.max(Moment(0).utc());
        while let Some(tick) = schedule.next_after(at).filter(|tick| tick.instant() <= told) {
            at = tick.instant();
            let told: Vec<&HistoryEntry> =
                entries.iter().filter(|entry| covers(entry, tick)).copied().collect();
            self.tally.count("tick");
            self.is_told_rightly(job, tick, &told)?;
            self.is_skipped_rightly(job, tick, &told)?;
            if self.is_calm_around(job, tick) {
                self.tally.count("tick without a fault near");
                self.has_good_cause(job, tick, &told)?;
            }
        }
        Ok(())
    }

    /// Each tick has one entry; where the store forgot, at least one, or a run that was forgotten with its holder.
    fn is_told_rightly(&self, job: usize, tick: Tick, told: &[&HistoryEntry]) -> Result<(), Violation> {
        let first_runs =
            told.iter().filter(|entry| !matches!(entry.cause, Cause::Rerun | Cause::Manual)).count();
        // A grant may be forgotten together with its holder, before any entry is written.
        let was_granted = self.server.granted[job].contains(&tick);
        // A clock that was ahead may have written the entry before the tick came, and the store may have forgotten it
        // since. That is no worse than the loss of an entry for a tick that had come: it did have one.
        let was_told = || self.server.forgotten[job].iter().any(|entry| covers(entry, tick));
        // Its grant may still be on the way to the replica.
        let record = self.server.shelf.records[job].as_ref();
        let is_running = record.is_some_and(|record| record.is_running() && record.tick == Some(tick));
        let has_forgotten = self.server.has_forgotten[job];
        let broken = match first_runs {
            0 if has_forgotten && (was_granted || was_told()) || is_running => return Ok(()),
            0 => Broken::Untold,
            1 => return Ok(()),
            _ if has_forgotten => return Ok(()),
            // Passed by a store that had just been restarted, and once more by clocks that were behind after it.
            _ if told.iter().any(|entry| entry.verdict() == FORGOTTEN) => return Ok(()),
            _ => Broken::ToldTwice,
        };
        Err(Violation::of(broken, format!("j{job}, tick {tick}: {told:#?}")))
    }

    /// No record has both an entry with the outcome of a tick's run and one that it is unknown whether the tick ran.
    /// One record may have the second where another, which was deleted or lost, had the first; and where the run was
    /// over, and a replica that knows that recorded it later.
    pub(super) fn is_known_to_have_run(&self, job: usize) -> Result<(), Violation> {
        for life in self.server.lives(job) {
            for (at, unknown) in life.iter().enumerate().filter(|(_, entry)| entry.verdict() == FORGOTTEN) {
                let is_same = |(told, entry): &(usize, &HistoryEntry)| {
                    let is_first = !matches!(entry.cause, Cause::Rerun | Cause::Manual);
                    let is_told_later = at < *told && entry.finished < unknown.finished;
                    entry.run.is_some() && is_first && covers(unknown, entry.tick) && !is_told_later
                };
                if let Some((_, ran)) = life.iter().enumerate().find(is_same) {
                    let how = format!("j{job}, tick {}: {ran:#?} and {unknown:#?}", ran.tick);
                    return Err(Violation::of(Broken::ToldTwice, how));
                }
            }
        }
        Ok(())
    }

    /// Only a run that cannot be killed is recorded as left behind.
    pub(super) fn is_left_behind_rightly(&self, job: usize) -> Result<(), Violation> {
        let is_unkillable = |entry: &HistoryEntry| {
            self.runs(job).any(|run| run.is_unkillable && entry.run == Some(run.lease.run))
        };
        let told = |entry: &&HistoryEntry| entry.reason == Some(Reason::LeftBehind) && !is_unkillable(entry);
        match self.server.told[job].iter().find(told) {
            Some(entry) => Err(Violation::of(Broken::Unjust, format!("j{job}: {entry:#?}"))),
            None => Ok(()),
        }
    }

    /// A tick is skipped for overlap only on proof that a run was alive at its instant. While clocks are wrong, the
    /// order of events cannot be judged.
    fn is_skipped_rightly(&self, job: usize, tick: Tick, told: &[&HistoryEntry]) -> Result<(), Violation> {
        let overlap = Verdict::because(Outcome::Skipped, Reason::Overlap);
        let Some(came) = self.came(tick).filter(|_| told.iter().any(|entry| entry.verdict() == overlap))
        else {
            return Ok(());
        };
        let (from, to) = (Moment(came.0.saturating_sub(1_500)), came.plus(SLACK));
        let is_near = |(start, end): &(Moment, Moment)| *start <= to && *end >= from;
        let is_alive = || self.runs(job).any(|run| is_near(&(run.started, run.ends.max(run.learned))));
        let (early, late) = (tick.instant().minus(SLACK), tick.instant().plus(SLACK));
        let was_heard =
            || self.server.signs[job].iter().any(|(first, last)| *first <= late && *last >= early);
        if self.confusions.iter().any(is_near) || is_alive() || was_heard() {
            return Ok(());
        }
        Err(Violation::of(Broken::Unjust, format!("j{job}, tick {tick}, skipped for a run that was over")))
    }

    /// Whether its ticks were claimed, one by one, by a clock that was ahead: these stay decided, as do those that ran,
    /// and are no more than come while that clock is ahead.
    pub(super) fn was_claimed(&self, job: usize, entry: &HistoryEntry) -> bool {
        let after = entry.after.unwrap_or(entry.tick.instant());
        let is_short = entry.tick.instant().since(after) <= AHEAD;
        is_short && self.server.foretold[job].contains(&entry.tick)
    }

    /// Notes that a run was alive until now. The store may learn of this last sign of life only with the run's end. A
    /// tick is skipped by the store's clock, which may be ahead: true time does not show whether the run covered the
    /// instant.
    pub(crate) fn note_end(&mut self, run: usize) {
        let (now, run) = (self.store_reads().wall, &self.witness.runs[run]);
        self.server.note_alive(run.job, run.lease.started, now);
    }
}

/// Whether the entry stands for the tick.
pub(crate) fn covers(entry: &HistoryEntry, tick: Tick) -> bool {
    let is_above = |after: UtcMillis| after < tick.instant() && tick < entry.tick;
    entry.cause != Cause::Manual && (entry.tick == tick || entry.after.is_some_and(is_above))
}

pub(super) fn by_tick(entries: &[HistoryEntry]) -> Vec<&HistoryEntry> {
    entries.iter().filter(|entry| entry.cause != Cause::Manual).collect()
}

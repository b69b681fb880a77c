//! Explains in a sentence what happened to one instant of a job, and why: from the job's record, history and schedule.
//! Pure.

use std::time::Duration;

use crate::job::{Cause, JobSpec, Outcome, Reason, Schedule, Tick, quoted};
use crate::lease::{LeaseInstant, Record};
use crate::store::{Concern, KEPT_ENTRIES};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::problems::named_labels;
use crate::view::text::short_text::short_id;
use crate::view::text::time_format::{Rfc3339, from_now, local, span, utc};

/// The facts that an explanation is based on.
pub(crate) struct TickFacts<'a> {
    /// The job by name, for people.
    pub(crate) job: &'a str,
    /// What the file says about it, if anything.
    pub(crate) spec: Option<&'a JobSpec>,
    /// Its record, if the store has one.
    pub(crate) record: Option<&'a Record>,
    /// Its history, oldest first, and then its current run.
    pub(crate) past: &'a [TickView],
    /// Why no job can run, as far as the store's settings show.
    pub(crate) concern: Option<&'a Concern>,
    /// Why no live replica can take it; `None` if one can.
    pub(crate) no_taker: Option<&'a str>,
    /// The store's time.
    pub(crate) now: UtcMillis,
}

impl TickFacts<'_> {
    /// Explains what happened to this instant, in one or a few sentences.
    pub(crate) fn explain(&self, at: UtcMillis) -> String {
        let told: Vec<String> =
            self.past.iter().filter(|past| self.covers(past, at)).map(|past| self.worded(past, at)).collect();
        if !told.is_empty() {
            return format!("{}: {}", self.named(at), told.join("; then "));
        }
        let Some(spec) = self.spec else {
            return format!("{}: the store's history of `{}` has no tick then", self.time(at), self.job);
        };
        if !spec.enabled {
            return format!("`{}` is not enabled (enabled = false): it has no ticks", self.job);
        }
        if !spec.schedule.has_tick_at(at) {
            return no_tick(self.job, &spec.schedule, at);
        }
        if at > self.now {
            return self.to_come(at);
        }
        format!("{}: {}", self.named(at), self.undecided(spec, at))
    }

    /// `` `nightly`, tick of 2026-11-26 02:30:00 +01:00 ``
    fn named(&self, at: UtcMillis) -> String {
        format!("`{}`, tick of {}", self.job, self.time(at))
    }

    /// Formats an instant in the job's zone, or in UTC if that is not known.
    fn time(&self, at: UtcMillis) -> String {
        match self.spec {
            Some(spec) => local(&spec.schedule, Tick::at_millis(at.0)),
            None => format!("{} UTC", utc(at)),
        }
    }

    /// Whether the entry is about the tick of this instant. A manual run is about a tick of the schedule only if it was
    /// ordered for it. One that was ordered for now has a tick within a second, and tables show the second.
    fn covers(&self, past: &TickView, at: UtcMillis) -> bool {
        let (tick, after) = (past.tick.0, past.after.map(|Rfc3339(after)| after));
        let is_tick = || self.spec.is_none_or(|spec| spec.schedule.has_tick_at(at));
        let is_in_second =
            past.cause == Some(Cause::Manual) && UtcMillis(tick.0 - tick.0.rem_euclid(1_000)) == at;
        tick == at || is_in_second || after.is_some_and(|after| after < at && at < tick) && is_tick()
    }

    /// Describes one entry.
    fn worded(&self, past: &TickView, at: UtcMillis) -> String {
        let on = past.node.as_ref().map_or_else(|| "a replica".to_owned(), ToString::to_string);
        let took = past.took(self.now).map_or_else(String::new, |took| format!(" after {}", span(took)));
        let what = match past.cause {
            Some(Cause::Rerun) => "its rerun",
            Some(Cause::Manual) => "a manual run",
            Some(Cause::CatchUp) => "its run, caught up after an outage,",
            Some(Cause::Schedule) | None => "its run",
        };
        let ended = |how: &str| format!("{what} on {on} {how}{took}{}", run(past));
        let exit = past.exit().map_or_else(String::new, |exit| match past.signal {
            Some(_) => format!(" by {exit}"),
            None => format!(" with exit code {exit}"),
        });
        match (past.outcome, past.reason) {
            (Outcome::Running, _) => {
                let since = past.started.map_or_else(String::new, |Rfc3339(since)| {
                    format!(" for {}", span(self.now.since(since)))
                });
                format!("{what} has been running on {on}{since}{}", run(past))
            }
            (Outcome::Succeeded, _) => {
                let late = past.late().filter(|_| past.cause == Some(Cause::Schedule));
                let late = late.map_or_else(String::new, |late| format!("started {} late and ", span(late)));
                ended(&format!("{late}succeeded"))
            }
            (Outcome::Failed, Some(Reason::SpawnFailed)) => {
                format!(
                    "its command could not be started on {on}; see `solocron logs {}`{}",
                    self.job,
                    run(past)
                )
            }
            (Outcome::Failed, _) => {
                let attempts = past.attempt.filter(|attempt| *attempt > 1);
                let attempts =
                    attempts.map_or_else(String::new, |last| format!(", in attempt {last}, the last,"));
                ended(&format!("failed{exit}{attempts}"))
            }
            (Outcome::TimedOut, _) => ended("was stopped, because it ran longer than its `timeout`,"),
            (Outcome::Killed, Some(Reason::Replaced)) => {
                ended("was stopped for a newer tick (overlap = \"replace\")")
            }
            (Outcome::Killed, _) => ended("was stopped by an operator"),
            (Outcome::Interrupted, reason) => ended(&interrupted(reason)),
            (Outcome::Skipped, Some(Reason::Paused)) => {
                format!("it was skipped, because the job was paused{}", self.row(past))
            }
            (Outcome::Skipped, _) => {
                format!("it was skipped, because {}{}", self.in_the_way(at), self.row(past))
            }
            (Outcome::Missed, reason) => {
                format!("it was missed: {}{}", self.missed(reason, at), self.row(past))
            }
            (Outcome::Unknown, Some(Reason::LeftBehind)) => ended(
                "may have overlapped with the next run, because one of its processes could not be killed; it ended",
            ),
            (Outcome::Unknown, _) => format!(
                "whether it ran is unknown, because the store lost its records and no replica remembers{}",
                self.row(past)
            ),
        }
    }

    /// Describes why a tick was missed.
    fn missed(&self, reason: Option<Reason>, at: UtcMillis) -> String {
        let deadline = self.spec.map_or_else(String::new, |spec| {
            format!(" ({})", span(spec.start_deadline_of(Tick::at_millis(at.0))))
        });
        match reason {
            Some(Reason::Edited) => "its schedule was changed before it started".to_owned(),
            Some(Reason::StoreUnreachable) => {
                format!("no replica reached the store within its `start_deadline`{deadline}")
            }
            Some(Reason::StoreReset) => {
                "the store was reset, and it was too late once jobs could start again".to_owned()
            }
            Some(Reason::Capacity) => "each replica that could run it was at its `max_running`".to_owned(),
            Some(Reason::NoReplica) => match self.spec.filter(|spec| !spec.only_on.is_empty()) {
                Some(spec) => format!("no live replica had {}", named_labels(spec)),
                None => "no replica was live".to_owned(),
            },
            Some(Reason::Abandoned) => "a replica took it, and could not start it in time".to_owned(),
            Some(Reason::Overlap) => {
                format!("{} until its `start_deadline`{deadline} was over", self.in_the_way(at))
            }
            _ => {
                let waits =
                    self.run_at(at).map_or_else(String::new, |_| format!("; {}", self.in_the_way(at)));
                format!("it was not started within its `start_deadline`{deadline}{waits}")
            }
        }
    }

    /// Returns the run of another tick that was going at this instant.
    fn run_at(&self, at: UtcMillis) -> Option<&TickView> {
        let covers = |past: &&TickView| {
            let started = past.started.is_some_and(|Rfc3339(started)| started <= at);
            past.run.is_some() && past.tick.0 != at && started && past.ended() >= at
        };
        self.past.iter().find(covers)
    }

    fn in_the_way(&self, at: UtcMillis) -> String {
        match self.run_at(at) {
            Some(past) => {
                let on = past.node.as_ref().map_or_else(String::new, |node| format!(" on {node}"));
                let until = past.finished.map_or_else(
                    || "is still running".to_owned(),
                    |Rfc3339(until)| format!("was running until {}", self.time(until)),
                );
                format!("the run of {}{on} {until}", self.time(past.tick.0))
            }
            None => "the previous run was still running".to_owned(),
        }
    }

    /// `, as one of 12 in a row, the last at …`, if the entry stands for several ticks.
    fn row(&self, past: &TickView) -> String {
        match (past.after, past.count) {
            (Some(_), Some(count)) if count > 1 => {
                format!(", as one of {count} in a row, the last at {}", self.time(past.tick.0))
            }
            (Some(_), None) => {
                format!(", as one of several in a row, the last at {}", self.time(past.tick.0))
            }
            _ => String::new(),
        }
    }

    /// Describes a tick that has not come.
    fn to_come(&self, at: UtcMillis) -> String {
        let comes = format!("{} comes {}", self.named(at), from_now(at, self.now));
        let pause = self.record.and_then(Record::pausing);
        let Some(pause) = pause.filter(|pause| pause.until.is_some_and(|until| at < until)) else {
            return comes;
        };
        let by = if pause.by.is_empty() { String::new() } else { format!(" by {}", quoted(&pause.by)) };
        format!("{comes}, and will be skipped: the job is paused{by}")
    }

    /// Explains a tick that is decided, and has no entry: the oldest entries are dropped, a new job has none, and a store
    /// that lost records has gaps. Runs by hand tell nothing about the schedule.
    fn unrecorded(&self, record: &Record, at: UtcMillis) -> String {
        let scheduled = self.past.iter().filter(|past| past.cause != Some(Cause::Manual));
        let oldest = scheduled.map(|past| past.tick.0).min();
        if oldest.is_some_and(|oldest| oldest <= at) {
            return "it has no entry, although older ticks have: the store lost records".to_owned();
        }
        let began = record.created_mark.min(record.decided_by(self.now));
        if at <= began && oldest.is_none_or(|oldest| began < oldest) {
            return format!(
                "the store has a record of the job only since {}: before, no replica had the job, or the store lost its \
                 records",
                self.time(began)
            );
        }
        let kept = self.past.iter().filter(|past| past.outcome != Outcome::Running).count();
        match oldest {
            Some(oldest) if kept >= KEPT_ENTRIES => format!(
                "the history has only the newest {KEPT_ENTRIES} ticks of a job; its oldest entry is from {}. A time that \
                 you write without a zone is in the time zone of the job, while `solocron history` shows UTC",
                self.time(oldest)
            ),
            _ => "it has no entry, and neither has an older tick: no replica had the job then, or the store lost its \
                  records"
                .to_owned(),
        }
    }

    /// Explains a tick that has come, and has no entry.
    fn undecided(&self, spec: &JobSpec, at: UtcMillis) -> String {
        let Some(record) = self.record else {
            return "the store has no record of the job: no replica has scheduled it yet".to_owned();
        };
        if at <= record.schedule_since {
            return format!(
                "it was not due: the schedule is as it is since {}",
                self.time(record.schedule_since)
            );
        }
        if at <= record.decided_by(self.now) {
            return self.unrecorded(record, at);
        }
        let until = at.plus(spec.start_deadline_of(Tick::at_millis(at.0)));
        let left = until.since(self.now);
        if let Some(running) = self.past.iter().find(|past| past.outcome == Outcome::Running) {
            let on = running.node.as_ref().map_or_else(String::new, |node| format!(" on {node}"));
            let tick = self.time(running.tick.0);
            return format!("it waits for the run of {tick}{on} to end, until {}", self.time(until));
        }
        if record.waits_without_holder(LeaseInstant(self.now.0)) {
            let wait = UtcMillis(record.locked_until.0);
            return format!(
                "it waits: the store was restarted or lost records, and no run starts before {}",
                self.time(wait)
            );
        }
        let concern = self.concern.map(|concern| concern.what.as_str());
        let why = concern.or(self.no_taker).map_or_else(String::new, |why| format!(": {why}"));
        match left > Duration::ZERO {
            true => format!("no replica has taken it yet{why}; it may start until {}", self.time(until)),
            false => format!("no replica has decided it{why}; see `solocron status`"),
        }
    }
}

/// Explains that the schedule has no tick at this instant, and names the ticks around it.
pub(crate) fn no_tick(job: &str, schedule: &Schedule, at: UtcMillis) -> String {
    let time = |at| local(schedule, Tick(at));
    let around =
        |tick: Option<Tick>, which: &str| tick.map(|tick| format!("{which} at {}", time(tick.instant())));
    let before = around(schedule.at_or_before(at), "one");
    let after = around(schedule.next_after(at), "the next");
    let known: Vec<String> = before.into_iter().chain(after).collect();
    let known = if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) };
    format!("`{job}` has no tick at {}{known}", time(at))
}

/// ` (run 01939d2c-0000)`: as much of its id as `logs --run` needs.
fn run(past: &TickView) -> String {
    past.run.map_or_else(String::new, |run| format!(" (run {})", short_id(&run.to_string())))
}

fn interrupted(reason: Option<Reason>) -> String {
    let why = match reason {
        Some(Reason::NodeLost) => "its replica died or hung",
        Some(Reason::Shutdown) => "its replica was shut down",
        Some(Reason::LockLost) => "its replica could not renew the lock in time",
        _ => "its replica cut it short",
    };
    format!("was interrupted, because {why},")
}

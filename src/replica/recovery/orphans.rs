//! Orphans, the runs of an earlier process of this replica: whether they are certainly dead, and how their end is
//! recorded. A run that may still be alive is left to its lease.

use std::sync::Arc;
use std::time::Duration;

use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::hold::context::Context;
use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{JobName, Outcome, Reason, RunId, Verdict};
use crate::lease::{Era, Finish, Lease, Record};
use crate::run::{RunEntry, Sign, Site, StopSignals};
use crate::time::UtcMillis;

use super::sweep_orphans::{StillAlive, make_sure};

/// How long the guard of a run may take beyond the grace until no process is left: it kills them, and waits until
/// they are gone.
const KILL_ALLOWANCE: Duration = Duration::from_secs(3);

/// The grace of a run without a note: as long as that of any usual job.
const UNKNOWN_GRACE: Duration = Duration::from_secs(10);

/// The lease of a run without a note: the usual one.
const UNKNOWN_LEASE: Duration = Duration::from_secs(30);

/// Within this time after its lease a run is recorded by another replica, if one can.
const AFTER_LEASE: Duration = Duration::from_secs(6);

/// A run that an earlier process of this replica left behind.
#[derive(Debug, Clone)]
pub(crate) struct Orphan {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
    /// The note of its lock.
    pub(crate) note: Option<LeaseNote>,
    /// The sign that it left among the run logs.
    pub(crate) sign: Option<Sign>,
}

/// Returns the orphans that notes and signs show.
pub(crate) fn orphans(notes: &[(JobName, LeaseNote)], signs: Vec<Sign>) -> Vec<Orphan> {
    let note_of = |job: &JobName, run: RunId| {
        let is_it = |(of, note): &&(JobName, LeaseNote)| of == job && note.lease().run == run;
        notes.iter().find(is_it).map(|(_, note)| note.clone())
    };
    let signed: Vec<Orphan> = signs
        .into_iter()
        .map(|sign| Orphan {
            note: note_of(&sign.entry.job, sign.entry.run),
            job: sign.entry.job.clone(),
            run: sign.entry.run,
            sign: Some(sign),
        })
        .collect();
    let unsigned = notes.iter().filter(|(_, note)| {
        let run = note.lease().run;
        matches!(note, LeaseNote::Running { .. }) && !signed.iter().any(|orphan| orphan.run == run)
    });
    let unsigned: Vec<Orphan> = unsigned
        .map(|(job, note)| Orphan {
            job: job.clone(),
            run: note.lease().run,
            note: Some(note.clone()),
            sign: None,
        })
        .collect();
    signed.into_iter().chain(unsigned).collect()
}

impl Orphan {
    /// Returns how long its guard may take to end it.
    pub(crate) fn kill_limit(&self) -> Duration {
        let grace = match &self.note {
            Some(LeaseNote::Running { loss_grace, .. }) => *loss_grace,
            Some(LeaseNote::Ended(_)) => Duration::ZERO,
            None => UNKNOWN_GRACE,
        };
        grace + KILL_ALLOWANCE
    }

    /// Returns why its processes might be alive and not visible from here, if so: a state folder may have been moved
    /// or copied, and the original may be in use.
    fn elsewhere(&self, here: Option<&Site>) -> Option<&'static str> {
        let by_sign = self.sign.as_ref().and_then(|sign| sign.elsewhere);
        match &self.note {
            Some(LeaseNote::Running { site, .. }) => Site::difference(site.as_ref(), here).or(by_sign),
            Some(LeaseNote::Ended(_)) => None,
            None => by_sign,
        }
    }

    /// Whether the run is over by the job's record: its end is recorded, or the record is of another run.
    fn is_over_by(&self, record: &Record) -> bool {
        record.run != Some(self.run) || !record.is_running()
    }

    /// Returns after how long it is checked again, if it may be running: its lease may be over by then.
    pub(crate) fn check_again_after(&self) -> Duration {
        self.note.as_ref().map_or(UNKNOWN_LEASE, |note| note.lease().length) + AFTER_LEASE
    }

    /// Returns how it ended, from what is seen of it and its job's record; `None` if it is left to its lease.
    /// `is_elsewhere`: whether its processes might be on another machine.
    pub(crate) fn conclude(
        &self,
        seen: Seen,
        is_elsewhere: bool,
        record: Option<&Record>,
    ) -> Option<OrphanEnd> {
        let is_over = record.is_some_and(|record| self.is_over_by(record));
        let is_told = record.is_some_and(|record| record.run == Some(self.run));
        let is_left = seen != Seen::Dead && !(is_over && seen == Seen::Unseen);
        let (verdict, ended) = self.end(record);
        let is_seen = !is_elsewhere && (seen == Seen::Dead || is_told);
        (!is_left).then_some(OrphanEnd { verdict, ended, is_seen, is_over })
    }

    /// Returns how it ended, and when: at its last sign of life, as the store would record it once the lease is over.
    fn end(&self, record: Option<&Record>) -> (Verdict, UtcMillis) {
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        if let Some(LeaseNote::Ended(finish)) = &self.note {
            return (finish.verdict, finish.ended);
        }
        let record = record.filter(|record| record.run == Some(self.run));
        let told = record.filter(|record| !record.is_running()).and_then(|record| record.verdict);
        let started = match (&self.note, &self.sign) {
            (Some(note), _) => note.lease().started,
            (None, sign) => sign.as_ref().map_or(UtcMillis(0), |sign| sign.entry.started),
        };
        (told.unwrap_or(lost), record.and_then(|record| record.ended).unwrap_or(started))
    }
}

/// What the processes of this machine show of an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing is left of it.
    Dead,
    /// Whether it is running cannot be seen from here.
    Unseen,
    /// It may be running.
    Alive,
}

/// How an orphan ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OrphanEnd {
    pub(crate) verdict: Verdict,
    pub(crate) ended: UtcMillis,
    /// Whether this replica knows the end by itself or from the record of this run, and notes it. Otherwise the store has
    /// the end from a process that knew it.
    pub(crate) is_seen: bool,
    /// Whether the run is over by the record: its end has been logged by the process that recorded it.
    pub(crate) is_over: bool,
}

/// The result of checking an orphan.
#[derive(Debug)]
pub(crate) struct OrphanEnded {
    pub(crate) job: JobName,
    /// Whether this was the first check: the job waits for that one.
    pub(crate) is_first: bool,
    /// The orphan, if it is left to its lease.
    pub(crate) left: Option<Orphan>,
}

/// Checks an orphan that was left to its lease again, once the lease may be over.
pub(crate) async fn end_orphan_later(context: Arc<Context>, orphan: Orphan) -> OrphanEnded {
    tokio::time::sleep(orphan.check_again_after()).await;
    end_orphan(context, orphan, false).await
}

/// Makes sure that nothing of an orphan is left, and then notes how it ended.
pub(crate) async fn end_orphan(context: Arc<Context>, orphan: Orphan, is_first: bool) -> OrphanEnded {
    let job = orphan.job.clone();
    let elsewhere = orphan.elsewhere(context.lease_file.site());
    let sure = if let Some(why) = elsewhere {
        Err(StillAlive::Unseen(why))
    } else {
        make_sure(&context, &orphan).await
    };
    // Only now: until the earlier process was dead, it may have recorded that the run ended well.
    let record = last_record(&context, &job).await;
    let seen = match &sure {
        Ok(()) => Seen::Dead,
        Err(StillAlive::Unseen(_)) => Seen::Unseen,
        Err(_) => Seen::Alive,
    };
    let Some(end) = orphan.conclude(seen, elsewhere.is_some(), record.as_ref()) else {
        if let Err(doubt) = sure
            && is_first
        {
            let why = doubt.to_string();
            context.events.tell(Event::FormerRunLeft { job: job.clone(), run: orphan.run, why });
        }
        return OrphanEnded { job, is_first, left: Some(orphan) };
    };
    let OrphanEnd { verdict, ended, is_seen, is_over } = end;
    if let Some(LeaseNote::Running { lease, era, .. }) = orphan.note {
        let (run, took) = (Run::of(&job, &lease), ended.since(lease.started));
        // The sign contains only the number of the first attempt.
        let attempt = orphan.sign.as_ref().map_or(lease.tries, |sign| sign.entry.attempt);
        if is_seen {
            context
                .lease_file
                .keep(&job, LeaseNote::Ended(cut_short(lease, era, attempt, verdict, ended)))
                .await;
        } else {
            // The store has its end from a process that knew it.
            context.lease_file.forget_run(&job, orphan.run).await;
        }
        // A run that is over by the record has been logged by the process that recorded its end.
        if !is_over {
            context.events.tell(Event::RunEnded {
                run,
                attempt,
                verdict,
                exit_code: None,
                signal: None,
                took,
                at: ended,
                stop_signals: StopSignals::default(),
                stages: None,
                error: None,
            });
        }
    }
    if let Some(Sign { entry, .. }) = orphan.sign {
        let Verdict { outcome, reason } = verdict;
        let entry = RunEntry { outcome, reason, finished: Some(ended.max(entry.started)), ..entry };
        context.logs.end_orphan(&entry).await;
    }
    OrphanEnded { job, is_first, left: None }
}

/// Returns the job's record if the store answers: it contains the run's last sign of life.
pub(crate) async fn last_record(context: &Context, job: &JobName) -> Option<Record> {
    context.store.ready().await.ok()?;
    context.store.record_of(job).await.ok()?
}

/// Returns a finish for a run that is still going. Only a test build without the protection sends it.
pub(crate) fn finish_in_mid_run(lease: Lease, era: Era, now: UtcMillis) -> Finish {
    let verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    cut_short(lease, era, 1, verdict, now)
}

/// Returns the finish of a run of which nothing else is known.
pub(crate) fn cut_short(lease: Lease, era: Era, attempt: u32, verdict: Verdict, ended: UtcMillis) -> Finish {
    let (exit_code, signal, tail) = (None, None, String::new());
    Finish { lease, era, attempt, verdict, ended, exit_code, signal, tail, leapt: None }
}

#[cfg(test)]
mod tests {
    use crate::hold::lease_file::entry::tests::{ended, lease, running};
    use crate::job::Fence;
    use crate::lease::Phase;

    use super::*;

    fn job() -> JobName {
        JobName::parse("j").expect("name")
    }

    fn sign(lease: &Lease) -> Sign {
        let entry = RunEntry {
            job: job(),
            tick: lease.tick,
            tick_ms: lease.tick,
            run: lease.run,
            node: lease.node.clone(),
            fence: lease.fence,
            attempt: 1,
            cause: lease.cause,
            outcome: Outcome::Interrupted,
            reason: Some(Reason::NodeLost),
            exit_code: None,
            signal: None,
            started: lease.started,
            finished: None,
            tail: None,
            log: None,
        };
        Sign { entry, elsewhere: None }
    }

    fn record(lease: &Lease, phase: Phase) -> Record {
        Record {
            run: Some(lease.run),
            fence: lease.fence,
            phase,
            ended: Some(UtcMillis(lease.started.0 + 7_000)),
            verdict: (phase == Phase::Idle).then_some(Verdict::plain(Outcome::Succeeded)),
            ..Record::empty(Era::default())
        }
    }

    const LOST: Verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);

    #[test]
    fn a_note_and_a_sign_of_one_run_are_one_orphan_and_an_ended_note_alone_is_none() {
        let (goes_on, has_ended) = (running(1), ended(lease(2), ""));
        let (of_two, unnoted) = (lease(3), lease(4));
        let with_sign = ended(of_two.clone(), "");
        let notes = [
            (JobName::parse("a").expect("name"), goes_on.clone()),
            (JobName::parse("b").expect("name"), has_ended),
            (job(), with_sign.clone()),
        ];

        let orphans = orphans(&notes, vec![sign(&of_two), sign(&unnoted)]);

        let found: Vec<_> = orphans.iter().map(|orphan| (orphan.run, orphan.note.clone())).collect();
        assert_eq!(
            found,
            [(of_two.run, Some(with_sign)), (unnoted.run, None), (goes_on.lease().run, Some(goes_on))]
        );
        assert_eq!(orphans.iter().filter(|orphan| orphan.sign.is_some()).count(), 2);
    }

    fn orphan(note: LeaseNote) -> Orphan {
        Orphan { job: job(), run: note.lease().run, note: Some(note), sign: None }
    }

    #[test]
    fn a_run_ended_at_its_last_sign_of_life_as_far_as_the_store_knows_it() {
        let orphan = orphan(running(1));
        let lease = orphan.note.as_ref().map(LeaseNote::lease).expect("a note").clone();
        assert_eq!(orphan.end(None), (LOST, lease.started));
        let alive = UtcMillis(lease.started.0 + 7_000);
        assert_eq!(orphan.end(Some(&record(&lease, Phase::Running))), (LOST, alive));
        let told = Verdict::plain(Outcome::Succeeded);
        assert_eq!(orphan.end(Some(&record(&lease, Phase::Idle))), (told, alive));
        let of_another = Lease { run: RunId::new(), fence: Fence(9), ..lease.clone() };
        assert_eq!(orphan.end(Some(&record(&of_another, Phase::Idle))), (LOST, lease.started));
    }

    #[test]
    fn what_is_seen_and_what_is_recorded_decide_together_whether_an_orphan_is_over() {
        let orphan = orphan(running(1));
        let own = orphan.note.as_ref().map(LeaseNote::lease).expect("a note").clone();
        let of_another = Lease { run: RunId::new(), ..own.clone() };
        let (going, over) = (record(&own, Phase::Running), record(&own, Phase::Idle));
        let replaced = record(&of_another, Phase::Running);
        let conclude = |seen, is_elsewhere, record| {
            let end = orphan.conclude(seen, is_elsewhere, record);
            end.map(|OrphanEnd { is_seen, is_over, .. }| (is_seen, is_over))
        };
        assert_eq!(conclude(Seen::Dead, false, None), Some((true, false)));
        assert_eq!(conclude(Seen::Dead, false, Some(&going)), Some((true, false)));
        assert_eq!(conclude(Seen::Dead, false, Some(&over)), Some((true, true)));
        assert_eq!(conclude(Seen::Unseen, false, None), None);
        assert_eq!(conclude(Seen::Unseen, false, Some(&going)), None);
        assert_eq!(conclude(Seen::Unseen, false, Some(&over)), Some((true, true)));
        assert_eq!(conclude(Seen::Unseen, true, Some(&over)), Some((false, true)));
        assert_eq!(conclude(Seen::Unseen, false, Some(&replaced)), Some((false, true)));
        assert_eq!(conclude(Seen::Alive, false, Some(&over)), None, "it may be running all the same");
        assert_eq!(orphan.check_again_after(), own.length + AFTER_LEASE);
    }

    #[test]
    fn a_run_that_ended_in_time_keeps_its_own_end() {
        let orphan = orphan(ended(lease(1), ""));
        let Some(LeaseNote::Ended(finish)) = &orphan.note else { unreachable!("it was made so") };
        assert_eq!(orphan.end(None), (finish.verdict, finish.ended));
    }

    #[test]
    fn a_run_from_another_machine_or_boot_is_over_only_once_the_record_shows_it() {
        let another = tempfile::tempfile().expect("a temporary file");
        let mut orphan = orphan(running(1));
        let Some(LeaseNote::Running { site, .. }) = &orphan.note else { unreachable!("it was made so") };
        let (here, another) = (site.clone(), Site::of(&another));
        assert_eq!(orphan.elsewhere(here.as_ref()), None);
        assert!(orphan.elsewhere(another.as_ref()).is_some() && orphan.elsewhere(None).is_some());
        let lease = orphan.note.as_ref().map(LeaseNote::lease).expect("a note").clone();
        orphan.sign = Some(Sign { elsewhere: Some("a copy"), ..sign(&lease) });
        assert_eq!(orphan.elsewhere(here.as_ref()), Some("a copy"));
        assert!(!orphan.is_over_by(&record(&lease, Phase::Running)));
        assert!(orphan.is_over_by(&record(&lease, Phase::Idle)));
        let of_another = Lease { run: RunId::new(), ..lease };
        assert!(orphan.is_over_by(&record(&of_another, Phase::Running)));
    }
}

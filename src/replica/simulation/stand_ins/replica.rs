//! Performs what the core of a simulated replica decides: in place of `runtime/perform.rs` and `runtime/errand.rs`.

use std::time::Duration;

use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::hold::holder::HolderInput;
use crate::hold::lease_file::entry::LeaseNote;
use crate::job::{Cause, JobName, RunId, Tick};
use crate::lease::{Answer, Claim, Era, Finish, Manual, Open, Protection, Record, Request};
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::core::{CoreInput, Effect, PastRead, RunStart};
use crate::replica::recovery::lost_runs::Settled;
use crate::replica::recovery::orphans::finish_in_mid_run;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::replica::tick::action::{Bid, Won};
use crate::store::{self, Pulse, Replied, StoreError};
use crate::time::BootInstant;

use super::errand::{Chore, Errand, reply};
use super::node::{Deed, Node};

/// As in `runtime/errand.rs`.
const PROOF_LIMIT: Duration = Duration::from_secs(2);

/// Records that are being opened, and ends that are sent again: `errand::open`.
#[derive(Debug)]
pub(super) struct Opening {
    jobs: Vec<JobName>,
    opens: Vec<Open>,
    opened: Vec<Option<Replied>>,
    ends: Vec<(JobName, Finish)>,
    resent: Vec<Option<Replied>>,
    resend: Vec<JobName>,
}

/// How far the question to the store about a lost run is: `settle_lost_runs::settle`.
#[derive(Debug)]
pub(crate) enum Settling {
    /// Its record is read.
    Before(Box<Manual>),
    /// The store is asked to end it.
    Asked,
    /// Its record is read again.
    After,
    /// Its entry is read. `here`: whether the store was asked to end it.
    Entry { here: bool },
}

fn records(answered: Answered) -> Result<Vec<Option<Record>>, StoreError> {
    answered.map(|told| match told {
        Told::Records(records) => records,
        other => unreachable!("records, and no {other:?}"),
    })
}

impl Node {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Claim(claims) => claims.into_iter().for_each(|(job, claim)| self.send_claim(job, claim)),
            Effect::ClaimInstead { job, claim, doubt } => {
                let job = self.number(&job);
                self.abandon(job, doubt, Some(claim));
            }
            Effect::GiveBack { job, doubt } => {
                let job = self.number(&job);
                self.abandon(job, doubt, None);
            }
            Effect::RequestManualRun { job, manual } => {
                let errand = Errand::Manual { run: manual.run, sent: self.reads.boot, job: job.clone() };
                self.send(Ask::Submit(self.number(&job), Box::new(Request::Manual(*manual))), errand);
            }
            Effect::OpenRecords { opens, resend } => self.open(opens, resend),
            Effect::Announce(job) => self.send_only(Ask::Announce(self.number(&job))),
            Effect::ReadRecord { job, after } => self.put_off(after, Chore::ReadRecord(job)),
            Effect::ReadMarks(jobs) => self.send(Ask::Marks(self.numbers(&jobs)), Errand::Marks(jobs)),
            Effect::InspectStore => self.tell_core(CoreInput::StoreInspected(Some(Vec::new()))),
            Effect::CheckLocks(locks) => {
                let jobs = self.numbers(locks.iter().map(|(job, _)| job));
                self.send(Ask::Records(jobs), Errand::Locks(locks));
            }
            Effect::FindRuns(jobs) => self.send(Ask::Records(self.numbers(&jobs)), Errand::Find(jobs)),
            Effect::SettleLostRun { run, manual } => {
                let settling = Settling::Before(manual);
                self.send(Ask::Records(vec![self.number(&run.job)]), Errand::Settle { run, settling });
            }
            Effect::Start(start) => self.start(*start),
            Effect::Stop { run, order } => self.stop_run(run, order),
            Effect::EndAttempts(run) => self.end_attempts(run),
            Effect::Renew(run) => self.tell_lock(run, HolderInput::Hurry),
            Effect::Prove { job, run } => {
                self.put_off(PROOF_LIMIT, Chore::EndProof(run, job.clone()));
                self.prove(run, job);
            }
            Effect::GiveUpRecording => {
                let runs: Vec<RunId> = self.locks.keys().copied().collect();
                runs.into_iter().for_each(|run| self.tell_lock(run, HolderInput::GiveUp));
            }
            Effect::SetBeat(beat) => self.beat = Some(*beat),
            Effect::BeatNow => self.beats_now = true,
            Effect::ReadPast => self.read_past(),
            Effect::CheckOrphan { orphan, is_first: true } => self.check_orphan(orphan, true),
            Effect::CheckOrphan { orphan, is_first: false } => self.check_orphan_later(orphan),
            Effect::DoubtNotedEnds => self.doubt_noted_ends(),
            Effect::ForgetNote(job) => {
                let job = self.number(&job);
                self.disk.remove(&job);
            }
            Effect::Report(event) => self.report(&event),
            Effect::Reloaded(_) => self.deeds.push(Deed::Count("file loaded")),
            Effect::LeaveBehind => self.is_left = true,
            Effect::ExplainNotRerun { .. }
            | Effect::Prepare { .. }
            | Effect::HurryFinishes(_)
            | Effect::PruneLogs(_) => {}
        }
    }

    fn report(&mut self, event: &Event) {
        let job = |run: &Run| self.number(&run.job);
        match event {
            Event::RunRecalled { run } => {
                let note = self.disk.get(&job(run)).filter(|note| note.lease().run == run.run);
                if let Some(LeaseNote::Ended(finish)) = note {
                    self.deeds.push(Deed::Recorded { run: run.run, verdict: finish.verdict });
                }
            }
            Event::LeftBehind(_) => self.deeds.push(Deed::Count("run left behind")),
            _ => {}
        }
    }

    fn read_past(&mut self) {
        let orphans = std::mem::take(&mut self.orphans);
        let largest_fence = self.disk.values().map(|note| note.lease().fence).max().unwrap_or_default();
        let noted = self.disk.keys().map(|job| self.jobs[*job].name.clone()).collect();
        self.tell_core(CoreInput::PastRead(PastRead { orphans, largest_fence, noted }));
    }

    fn doubt_noted_ends(&mut self) {
        for note in self.disk.values_mut() {
            if let LeaseNote::Ended(finish) = note {
                finish.era = Era::default();
            }
        }
    }

    fn start(&mut self, start: RunStart) {
        let RunStart { grant, start_deadline, is_last_attempt, .. } = start;
        let run = grant.lease.run;
        self.keep_lock(&grant, start_deadline);
        self.take_in_all();
        if is_last_attempt {
            self.end_attempts(run);
        }
    }

    /// Notes when a request was sent that was granted.
    pub(super) fn note_grant(&mut self, run: RunId, sent: BootInstant, reply: &Replied) {
        if reply.as_ref().is_ok_and(|reply| matches!(reply.answer, Answer::Won { .. })) {
            self.granted_by.insert(run, sent);
        }
    }

    pub(crate) fn claim_answered(&mut self, job: JobName, run: RunId, sent: BootInstant, reply: Replied) {
        self.note_grant(run, sent, &reply);
        self.tell_core(CoreInput::ClaimsAnswered { sent, answers: vec![(job, reply)] });
    }

    /// Sends a claim that no shipped code makes: for a tick that may be decided.
    pub(crate) fn claim_again(&mut self, job: usize, tick: Tick) {
        let (now, due_time, wall) = (self.now(), self.due_time(), self.reads.wall);
        let Some(core) = &self.core else { return };
        let name = self.jobs[job].name.clone();
        let Some(contest) = core.contests.get(&name).filter(|contest| !contest.is_unopened()) else { return };
        let Some(caller) = self.store_clock.caller(&self.name, now.boot, contest.known()) else { return };
        let (bid, era) = (Bid::new(tick), caller.era.clone());
        let claim = contest.proposal().claim(&bid, caller, due_time, wall);
        let errand = Errand::ClaimAgain { job: name, run: bid.run, tick, era, sent: now.boot };
        self.send(Ask::Submit(job, Box::new(Request::Claim(claim))), errand);
    }

    pub(super) fn claimed_again(
        &mut self,
        job: &JobName,
        run: RunId,
        tick: Tick,
        era: Era,
        sent: BootInstant,
        reply: Replied,
    ) {
        self.note_grant(run, sent, &reply);
        let (Ok(reply), now) = (reply, self.now()) else { return };
        let (Answer::Won { fence, tries, started }, Some(core)) = (&reply.answer, &mut self.core) else {
            return;
        };
        let cause = if *tries > 1 { Cause::Rerun } else { Cause::Schedule };
        let mark = reply.mark.unwrap_or(tick.instant());
        let (fence, tries, started) = (*fence, *tries, *started);
        let won = Won { run, tick, fence, cause, tries, started, era, mark, waited: false };
        core.at = now;
        if core.stopping || core.runs_itself(job) {
            core.refuse(job, won);
        } else {
            core.start(job, won, sent);
        }
        self.tell_core(CoreInput::Woke);
        self.deeds.push(Deed::ClaimedAgain);
    }

    pub(super) fn exchanged(&mut self, sent: BootInstant, answered: Answered) {
        self.is_beating = false;
        let result = answered.map(|told| match told {
            Told::Pulse(pulse) => *pulse,
            other => unreachable!("a pulse for a pulse, and no {other:?}"),
        });
        if let Ok(Pulse { count, era, marker: Some(marker), .. }) = &result {
            self.told = Some(store::Told { count: *count, era: era.clone(), marker: marker.clone() });
        }
        let exchange = Exchange { sent, received: self.reads.boot, wall: self.reads.wall, result };
        match self.core {
            Some(_) => self.tell_core(CoreInput::Heartbeat { exchange, stages: Vec::new() }),
            None => self.guest_listened(exchange),
        }
    }

    /// `errand::open`.
    fn open(&mut self, opens: Vec<(JobName, Open)>, resend: Vec<JobName>) {
        let ends =
            resend.iter().filter_map(|job| Some((job.clone(), self.noted_end(job)?))).collect::<Vec<_>>();
        let (jobs, opens): (Vec<JobName>, Vec<Open>) = opens.into_iter().unzip();
        if opens.is_empty() && ends.is_empty() {
            let resent = resend.into_iter().map(|job| (job, None)).collect();
            return self.tell_core(CoreInput::RecordsOpened { opened: Vec::new(), resent });
        }
        let id = self.openings.last_key_value().map_or(0, |(id, _)| id + 1);
        let numbers = self.numbers(&jobs);
        let opened = opens.iter().map(|_| None).collect();
        let resent = ends.iter().map(|_| None).collect();
        self.openings.insert(id, Opening { jobs, opens, opened, ends, resent, resend });
        self.send(Ask::Known(numbers), Errand::Known(id));
    }

    /// `errand::noted_end`.
    fn noted_end(&self, job: &JobName) -> Option<Finish> {
        match self.disk.get(&self.number(job))? {
            LeaseNote::Ended(finish) => Some(finish.clone()),
            LeaseNote::Running { .. } if Protection::ResentFinish.is_on() => None,
            LeaseNote::Running { lease, .. } => {
                Some(finish_in_mid_run(lease.clone(), self.store_clock.era(), self.store_time()))
            }
        }
    }

    /// The store has answered which jobs it knows: now the records are opened.
    pub(super) fn knows(&mut self, id: u64, answered: Answered) {
        let known = match answered {
            Ok(Told::Known(known)) => known,
            Ok(other) => unreachable!("which jobs are known, and no {other:?}"),
            Err(error) => {
                let Some(opening) = self.openings.get_mut(&id) else { return };
                opening
                    .opened
                    .iter_mut()
                    .chain(&mut opening.resent)
                    .for_each(|one| *one = Some(Err(error.clone())));
                return self.enrolled(id);
            }
        };
        let Some(opening) = self.openings.get_mut(&id) else { return };
        let mut requests = Vec::new();
        for (at, known) in known.into_iter().enumerate() {
            opening.opens[at].is_known_job |= known;
            requests.push((opening.jobs[at].clone(), Request::Open(opening.opens[at].clone())));
        }
        for (at, (job, request)) in requests.into_iter().enumerate() {
            self.send(Ask::Submit(self.number(&job), Box::new(request)), Errand::Open { opening: id, at });
        }
        self.resend_if_opened(id);
    }

    pub(super) fn opened(&mut self, id: u64, at: usize, reply: Replied) {
        self.openings.get_mut(&id).into_iter().for_each(|opening| opening.opened[at] = Some(reply.clone()));
        self.resend_if_opened(id);
    }

    /// Sends the ends of runs once all records are opened.
    fn resend_if_opened(&mut self, id: u64) {
        let Some(opening) = self.openings.get(&id) else { return };
        if opening.opened.iter().any(Option::is_none) {
            return;
        }
        let ends = opening.ends.clone();
        for (at, (job, finish)) in ends.into_iter().enumerate() {
            let request = Box::new(Request::Finish(finish));
            self.send(Ask::Submit(self.number(&job), request), Errand::Resend { opening: id, at });
        }
        self.enroll_if_resent(id);
    }

    pub(super) fn resent(&mut self, id: u64, at: usize, reply: Replied) {
        self.openings.get_mut(&id).into_iter().for_each(|opening| opening.resent[at] = Some(reply.clone()));
        self.enroll_if_resent(id);
    }

    fn enroll_if_resent(&mut self, id: u64) {
        let Some(opening) = self.openings.get(&id) else { return };
        if opening.resent.iter().any(Option::is_none) {
            return;
        }
        let has_record = |reply: &Option<Replied>| {
            reply.as_ref().is_some_and(|reply| reply.as_ref().is_ok_and(|reply| reply.mark.is_some()))
        };
        let made = opening.jobs.iter().zip(&opening.opened).filter(|(_, reply)| has_record(reply));
        let made = self.numbers(made.map(|(job, _)| job));
        self.send(Ask::Enroll(made), Errand::Enroll(id));
    }

    pub(super) fn enrolled(&mut self, id: u64) {
        let Some(opening) = self.openings.remove(&id) else { return };
        let Opening { jobs, opened, ends, resent, resend, .. } = opening;
        let opened = jobs.into_iter().zip(opened).filter_map(|(job, reply)| Some((job, reply?))).collect();
        let mut told: Vec<(JobName, Run, Replied)> = Vec::new();
        for ((job, finish), reply) in ends.into_iter().zip(resent) {
            let run = Run::of(&job, &finish.lease);
            told.extend(reply.map(|reply| (job, run, reply)));
        }
        let of_job = |job: JobName| {
            let at = told.iter().position(|(of, ..)| *of == job);
            let told = at.map(|at| told.remove(at)).map(|(_, run, reply)| (run, reply));
            (job, told)
        };
        let resent = resend.into_iter().map(of_job).collect();
        self.tell_core(CoreInput::RecordsOpened { opened, resent });
    }

    /// `errand::look_at_locks`.
    pub(super) fn looked_at_locks(&mut self, locks: &[(JobName, RunId)], answered: Answered) {
        let Ok(records) = records(answered) else { return };
        for ((_, run), record) in locks.iter().zip(records) {
            let is_known = record.is_some_and(|record| record.is_running() && record.run == Some(*run));
            if !is_known {
                self.tell_lock(*run, HolderInput::Hurry);
            }
        }
    }

    /// `settle_lost_runs::search`.
    pub(super) fn found_runs(&mut self, jobs: Vec<JobName>, answered: Answered) {
        let (mut running, mut unread) = (Vec::new(), Vec::new());
        match records(answered) {
            Ok(records) => {
                let found = jobs.into_iter().zip(records);
                running.extend(
                    found.filter_map(|(job, record)| Some((job, record.filter(Record::is_running)?))),
                );
            }
            Err(_) => unread = jobs,
        }
        self.tell_core(CoreInput::RunsFound { running, unread });
    }

    /// `settle_lost_runs::settle`, step by step.
    pub(super) fn settle_on(&mut self, run: Run, settling: Settling, answered: Answered) {
        let job = self.number(&run.job);
        if answered.is_err() {
            return self.tell_core(CoreInput::LostRunSettled { run, settled: Settled::InVain });
        }
        let goes_on = |record: &Record| record.is_running() && record.run == Some(run.run);
        let record =
            |told| records(told).ok().and_then(|mut records| records.pop().flatten()).filter(goes_on);
        let (ask, settling) = match settling {
            Settling::Before(manual) => match record(answered)
                .map(|record| record.lock_left(self.store_time()))
            {
                None => (Ask::History(job), Settling::Entry { here: false }),
                Some(Duration::ZERO) => {
                    (Ask::Submit(job, Box::new(Request::Manual(*manual))), Settling::Asked)
                }
                Some(left) => {
                    return self.tell_core(CoreInput::LostRunSettled { run, settled: Settled::Held(left) });
                }
            },
            Settling::Asked => {
                reply(answered).iter().for_each(|reply| self.store_clock.hear(reply));
                (Ask::Records(vec![job]), Settling::After)
            }
            Settling::After => match record(answered) {
                None => (Ask::History(job), Settling::Entry { here: true }),
                Some(_) => {
                    return self.tell_core(CoreInput::LostRunSettled { run, settled: Settled::InVain });
                }
            },
            Settling::Entry { here } => {
                let entries = if let Ok(Told::History(entries)) = answered { entries } else { Vec::new() };
                let entry = entries.into_iter().find(|entry| entry.run == Some(run.run)).map(Box::new);
                if here {
                    self.deeds.push(Deed::Count("lost run settled"));
                }
                let settled = Settled::Over { here, entry };
                return self.tell_core(CoreInput::LostRunSettled { run, settled });
            }
        };
        self.send(ask, Errand::Settle { run, settling });
    }

    /// `errand::claim`, and the queue before a slow line.
    pub(super) fn send_claim(&mut self, job: JobName, claim: Claim) {
        let sent = self.reads.boot;
        self.line.add(job, claim, sent);
        self.send_waiting();
    }
}

//! Performs what the core of a simulated replica decides: in place of `runtime/perform.rs` and `runtime/errand.rs`.

use std::sync::Arc;
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
use crate::replica::runtime::errand::PROOF_LIMIT;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::replica::tick::action::{Bid, LockTerms};
use crate::store::{self, Pulse, Replied};
use crate::time::BootInstant;

use super::errand::{Chore, Errand, record, records, reply};
use super::node::{Deed, Node};

/// Records that are being opened, and then ends that are sent again: `errand::open`.
#[derive(Debug)]
pub(super) struct Opening {
    opens: Vec<(JobName, Open)>,
    /// The jobs whose ends are to be sent again, with the ends that are noted.
    resend: Vec<(JobName, Option<Finish>)>,
    /// The answers to the openings, and then to the ends.
    replies: Vec<Option<Replied>>,
}

impl Opening {
    /// The ends to send.
    fn ends(&self) -> impl Iterator<Item = (&JobName, &Finish)> {
        self.resend.iter().filter_map(|(job, end)| Some((job, end.as_ref()?)))
    }

    /// Whether the records are opened.
    fn is_opened(&self) -> bool {
        self.replies[..self.opens.len()].iter().all(Option::is_some)
    }
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
        let mut bid = Bid::new(tick);
        bid.request.sent_in(&caller.era);
        let claim = contest.proposal().claim(&bid, caller, due_time, wall);
        let claim = Claim { live_runs: core.live_runs(&name), ..claim };
        let errand = Errand::ClaimAgain { job: name, bid, sent: now.boot };
        self.send(Ask::Submit(job, Box::new(Request::Claim(claim))), errand);
    }

    pub(super) fn claimed_again(&mut self, job: &JobName, bid: &Bid, sent: BootInstant, reply: Replied) {
        self.note_grant(bid.request.run, sent, &reply);
        let (Ok(reply), now) = (reply, self.now()) else { return };
        let (Answer::Won { tries, .. }, Some(core)) = (&reply.answer, &mut self.core) else { return };
        let cause = if *tries > 1 { Cause::Rerun } else { Cause::Schedule };
        let spec = Arc::clone(core.contests[job].spec());
        let terms = LockTerms::of_job(&spec, &self.name);
        let Some(won) = bid.request.won(&reply, bid.tick, cause, terms) else { return };
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
        self.was_answered(sent, answered.is_ok());
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
        let end = |job: JobName| {
            let end = self.noted_end(&job);
            (job, end)
        };
        let resend: Vec<_> = resend.into_iter().map(end).collect();
        let count = opens.len() + resend.iter().filter(|(_, end)| end.is_some()).count();
        let jobs = self.numbers(opens.iter().map(|(job, _)| job));
        let id = self.openings.last_key_value().map_or(0, |(id, _)| id + 1);
        self.openings.insert(id, Opening { opens, resend, replies: vec![None; count] });
        if count == 0 {
            return self.enrolled(id);
        }
        self.send(Ask::Known(jobs), Errand::Known(id));
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
        let Some(opening) = self.openings.get_mut(&id) else { return };
        let known = match answered {
            Ok(Told::Known(known)) => known,
            Ok(other) => unreachable!("which jobs are known, and no {other:?}"),
            Err(error) => {
                opening.replies.fill(Some(Err(error)));
                return self.enrolled(id);
            }
        };
        opening.opens.iter_mut().zip(known).for_each(|((_, open), known)| open.is_known_job |= known);
        let opens = opening.opens.clone();
        if opens.is_empty() {
            return self.resend(id);
        }
        for (at, (job, open)) in opens.into_iter().enumerate() {
            let request = Box::new(Request::Open(open));
            self.send(Ask::Submit(self.number(&job), request), Errand::Reopen { opening: id, at });
        }
    }

    /// A record is opened, or an end was sent again: once all records are opened, the ends follow, and then the jobs
    /// are enrolled.
    pub(super) fn reopened(&mut self, id: u64, at: usize, reply: Replied) {
        let Some(opening) = self.openings.get_mut(&id) else { return };
        opening.replies[at] = Some(reply);
        if opening.replies.iter().all(Option::is_some) {
            self.enroll(id);
        } else if at < opening.opens.len() && opening.is_opened() {
            self.resend(id);
        }
    }

    fn resend(&mut self, id: u64) {
        let Some(opening) = self.openings.get(&id) else { return };
        let first = opening.opens.len();
        let ends: Vec<_> = opening.ends().map(|(job, end)| (job.clone(), end.clone())).collect();
        for (at, (job, finish)) in ends.into_iter().enumerate() {
            let (request, at) = (Box::new(Request::Finish(finish)), first + at);
            self.send(Ask::Submit(self.number(&job), request), Errand::Reopen { opening: id, at });
        }
    }

    fn enroll(&mut self, id: u64) {
        let Some(opening) = self.openings.get(&id) else { return };
        let has_record = |reply: &Option<Replied>| matches!(reply, Some(Ok(reply)) if reply.mark.is_some());
        let made = opening.opens.iter().zip(&opening.replies).filter(|(_, reply)| has_record(reply));
        let made = self.numbers(made.map(|((job, _), _)| job));
        self.send(Ask::Enroll(made), Errand::Enroll(id));
    }

    pub(super) fn enrolled(&mut self, id: u64) {
        let Some(Opening { opens, resend, replies }) = self.openings.remove(&id) else { return };
        let mut replies = replies.into_iter().flatten();
        let opened: Vec<_> = opens.into_iter().map(|(job, _)| job).zip(&mut replies).collect();
        let resent = resend.into_iter().map(|(job, end)| {
            let told = end.and_then(|end| Some((Run::of(&job, &end.lease), replies.next()?)));
            (job, told)
        });
        let resent = resent.collect();
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
        let record = |told| record(told).ok().flatten().filter(goes_on);
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

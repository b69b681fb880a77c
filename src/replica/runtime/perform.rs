//! Performs the effects of a step: starts tasks, passes orders on to holders, logs.

use std::sync::Arc;
use std::time::Duration;

use crate::config::LogRetention;
use crate::hold::handle::LockHandle;
use crate::hold::holder::keep;
use crate::hold::start_gate::OVERSLEPT;
use crate::job::{JobName, RunId};
use crate::lease::Open;
use crate::replica::core::{Effect, RunStart};
use crate::replica::recovery::orphans::{end_orphan, end_orphan_later};
use crate::replica::recovery::{not_rerun, settle_lost_runs};
use crate::run::{StopOrder, StopReason};
use crate::time::BootInstant;

use super::errand::Done;
use super::{Runtime, errand};

impl Runtime {
    /// Begins to perform an effect. Does not wait for its end.
    pub(super) fn perform(&mut self, effect: Effect) {
        let context = Arc::clone(&self.context);
        match effect {
            Effect::Report(event) => context.events.tell(event),
            Effect::Claim(claims) => self.spawn(errand::claim(context, claims)),
            Effect::ClaimInstead { job, claim, doubt } => {
                self.spawn(errand::claim_instead(context, job, *claim, doubt));
            }
            Effect::GiveBack { job, doubt } => self.spawn(errand::abandon(context, job, doubt)),
            Effect::RequestManualRun { job, manual } => self.spawn(errand::obey(context, job, *manual)),
            Effect::OpenRecords { opens, resend } => self.open(opens, resend),
            Effect::Announce(job) => self.spawn(errand::announce(context, job)),
            Effect::ReadRecord { job, after } => self.spawn(errand::look(context, job, after)),
            Effect::ReadMarks(jobs) => self.spawn(errand::read_marks(context, jobs)),
            Effect::InspectStore => self.spawn(errand::inspect(context)),
            Effect::CheckLocks(locks) => self.check_locks(locks),
            Effect::FindRuns(jobs) => {
                self.spawn(
                    async move { Done::Input(Box::new(settle_lost_runs::search(context, jobs).await)) },
                );
            }
            Effect::SettleLostRun { run, manual } => {
                self.spawn(async move {
                    Done::Input(Box::new(settle_lost_runs::settle(context, run, *manual).await))
                });
            }
            Effect::ExplainNotRerun { spec, tick } => self.spawn(async move {
                not_rerun::tell(context, spec, tick).await;
                Done::Nothing
            }),
            Effect::Prepare { runs, until, jobs } => self.prepare(runs, until, jobs),
            Effect::Start(start) => self.start(*start),
            Effect::Stop { run, order } => self.with(run, |handle| order.give(&handle.stops)),
            Effect::EndAttempts(run) => self.with(run, |handle| handle.no_more_attempts.cancel()),
            Effect::Renew(run) => self.with(run, |handle| handle.renew.notify_one()),
            Effect::Prove { job, run } => {
                if let Some(handle) = self.handles.get(&run).cloned() {
                    self.spawn(errand::prove(job, handle));
                }
            }
            Effect::GiveUpRecording => self.handles.values().for_each(|handle| handle.give_up.cancel()),
            Effect::HurryFinishes(hurry) => context.traffic.finish_window.hurry(hurry),
            Effect::SetBeat(beat) => drop(self.beat.send_replace(*beat)),
            Effect::BeatNow => self.beat_now.notify_one(),
            Effect::ReadPast => self.spawn(errand::recall(context)),
            Effect::CheckOrphan { orphan, is_first: true } => {
                self.orphan_checks.spawn(end_orphan(context, *orphan, true));
            }
            Effect::CheckOrphan { orphan, is_first: false } => {
                self.orphan_checks.spawn(end_orphan_later(context, *orphan));
            }
            Effect::DoubtNotedEnds => context.lease_file.doubt_ends(),
            Effect::ForgetNote(job) => self.spawn(errand::forget(context, job)),
            Effect::PruneLogs(retention) => self.prune(retention),
            Effect::Reloaded(changes) => {
                // The caller may not wait any more.
                let _ = self.reloaded.take().map(|done| done.send(changes));
            }
            Effect::LeaveBehind => self.is_left = true,
        }
    }

    fn spawn(&mut self, errand: impl Future<Output = Done> + Send + 'static) {
        self.errands.spawn(errand);
    }

    fn with(&self, run: RunId, order: impl FnOnce(&LockHandle)) {
        self.handles.get(&run).map(order).unwrap_or_default();
    }

    fn open(&mut self, opens: Vec<(JobName, Open)>, resend: Vec<JobName>) {
        let noted = |job: JobName| {
            let end = errand::noted_end(&self.context, &job);
            (job, end)
        };
        let resend = resend.into_iter().map(noted).collect();
        self.spawn(errand::open(Arc::clone(&self.context), opens, resend));
    }

    fn check_locks(&mut self, locks: Vec<(JobName, RunId)>) {
        let held = |(job, run): (JobName, RunId)| Some((job, run, self.handles.get(&run)?.clone()));
        let held = locks.into_iter().filter_map(held).collect();
        self.spawn(errand::look_at_locks(Arc::clone(&self.context), held));
    }

    fn prepare(&self, runs: usize, until: BootInstant, jobs: Vec<JobName>) {
        let (context, guards) = (Arc::clone(&self.context), Arc::clone(&self.context.guards));
        // The zygote, which makes guards, may be frozen. Nothing waits for it: a run that finds no guard ready requests
        // one.
        let now = self.context.clock.boot();
        tokio::task::spawn_blocking(move || guards.reserve(runs, until, now));
        tokio::spawn(async move { context.logs.expect(&jobs).await });
    }

    fn start(&mut self, start: RunStart) {
        let RunStart { mut grant, start_deadline, decided, is_last_attempt } = start;
        let (run, cause, tick) = (grant.lease.run, grant.lease.cause, grant.lease.tick);
        grant.start_gate = self.start_gates.of(cause, tick, start_deadline, &self.context);
        let handle = LockHandle::telling(self.ended.0.clone());
        if is_last_attempt {
            handle.no_more_attempts.cancel();
        }
        if self.context.clock.boot().since(decided) > OVERSLEPT {
            // The process was held up: what the core found may not be so any more, and the tick is claimed anew.
            StopOrder { reason: StopReason::LockLost, grace: Duration::ZERO }.give(&handle.stops);
        }
        self.handles.insert(run, handle.clone());
        self.holders.spawn(keep(Arc::clone(&self.context), grant, handle));
    }

    /// Deletes logs that are past their retention, unless that is going on.
    fn prune(&mut self, retention: LogRetention) {
        while self.pruning.try_join_next().is_some() {}
        if self.pruning.is_empty() {
            let context = Arc::clone(&self.context);
            self.pruning.spawn(async move { context.logs.prune(retention).await });
        }
    }
}

//! An `exec` at its store: takes the lock as `acquire` decides, and holds it while the command runs, by the same
//! holder code as a replica.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::events::event::Event;
use crate::hold::Stop;
use crate::hold::attempts::Retries;
use crate::hold::context::{Context, Traffic};
use crate::hold::give_back::give_back;
use crate::hold::granted::Grant;
use crate::hold::handle::LockHandle;
use crate::hold::holder::keep;
use crate::hold::lease_file::LeaseFile;
use crate::hold::lock_request::{LockTerms, Won};
use crate::hold::start_gate::StartGate;
use crate::job::{JobName, JobSpec, NodeName};
use crate::lease::{Abandon, Answer, Caller, Deadline, Open, Pace, Reply, Request};
use crate::run::{Ended, Identity, JobOutput, RunLogs};
use crate::store::StoreError;
use crate::store::clock::Known;
use crate::store::clock::shared::SharedStoreClock;
use crate::time::{BootInstant, UtcMillis};

use super::acquire::{AcquireError, Asking, Held, Next, chance};
use super::command::ExecCommand;
use super::shutdown::steer;
use super::store_watch::StoreWatch;
use super::work::Work;

/// How long to try to give back what may have been granted. After that the lock frees itself.
const GIVE_BACK_LIMIT: Duration = Duration::from_secs(5);

/// One `exec` at its store.
pub(super) struct ExecSession {
    context: Arc<Context>,
    store_watch: Arc<StoreWatch>,
    handle: LockHandle,
    tasks: JoinSet<()>,
    asking: Asking,
    lock: JobName,
    job: Option<Arc<JobSpec>>,
    work: Work,
    pace: Pace,
    lease: Duration,
    kill_grace: Duration,
    /// What was last logged about the wait for the lock: its holder, if known.
    told: Option<Option<NodeName>>,
}

impl ExecSession {
    pub(super) fn begin(command: ExecCommand) -> Self {
        let ExecCommand { node, lock, job, work, lease, kill_grace, max_wait, store, clock, guards, events } =
            command;
        let asking = Asking::begin(clock.boot().plus(max_wait));
        let wall_clock = Arc::clone(&clock);
        let context = Arc::new(Context {
            node,
            lease_file: LeaseFile::unwritten(store.label()),
            store,
            clock,
            guards: Arc::new(guards),
            logs: RunLogs::unkept(Arc::new(move || wall_clock.utc())),
            output: JobOutput::File,
            events,
            traffic: Traffic::default(),
            store_clock: SharedStoreClock::default(),
        });
        let store_watch = Arc::new(StoreWatch::new(Arc::clone(&context), lock.clone()));
        let pace = Pace::new(lease, kill_grace);
        Self {
            context,
            store_watch,
            handle: LockHandle::new(),
            tasks: JoinSet::new(),
            asking,
            lock,
            job,
            work,
            pace,
            lease,
            kill_grace,
            told: None,
        }
    }

    /// Requests the lock until it is granted or the wait is over. When the future is dropped, something may have been
    /// granted: see `give_back`.
    pub(super) async fn take_lock(&mut self) -> Result<Grant, AcquireError> {
        self.tasks.spawn(Arc::clone(&self.store_watch).keep_listening(Arc::clone(&self.handle.renew)));
        let mut next = Next::LearnAt(self.context.clock.boot());
        loop {
            next = match next {
                Next::LearnAt(at) => {
                    self.context.clock.wait_until_boot(at).await;
                    let sent = self.context.clock.boot();
                    let opened = self.learn().await;
                    let now = self.context.clock.boot();
                    match opened {
                        Ok(answer) => self.asking.answered(&answer, || Held::WithoutHolder, now, 0.0),
                        Err(error) => self.failed(&error, sent),
                    }
                }
                Next::AskAt(at) => {
                    self.context.clock.wait_until_boot(at).await;
                    match self.ask().await {
                        Ok(grant) => return Ok(*grant),
                        Err(next) => next,
                    }
                }
                Next::Leave(refusal) => return Err(refusal),
                Next::Start => unreachable!("only a request for the lock starts anything"),
            }
        }
    }

    /// Reads the store's clock and era, and makes sure that the record exists. The schedule in the record is left to
    /// replicas.
    async fn learn(&self) -> Result<Answer, StoreError> {
        self.context.store.ready().await?;
        self.store_watch.listen().await?;
        let known = self.store_watch.knows().await?;
        let (wall, now) = (self.context.clock.utc(), self.context.clock.boot());
        let earlier = self.context.store_clock.read(|store_clock| store_clock.earlier(wall, now));
        let earlier = earlier.unwrap_or(UtcMillis(0));
        let open = Open::by_exec(self.caller(), self.lease, wall);
        let open = Open { is_known_job: known, latest_of_earlier_eras: earlier, ..open };
        let reply = self.context.store.submit(&self.lock, &Request::Open(open)).await?;
        self.context.store_clock.hear(&reply);
        if matches!(reply.answer, Answer::Opened { .. }) {
            self.store_watch.enroll().await?;
        }
        Ok(reply.answer)
    }

    /// Requests the lock once.
    async fn ask(&mut self) -> Result<Box<Grant>, Next> {
        let now = self.context.store_time();
        let manual = self.asking.ask(self.caller(), now, self.lease, self.job.as_deref());
        let sent = self.context.clock.boot();
        let reply = match self.context.store.submit(&self.lock, &Request::Manual(manual)).await {
            Ok(reply) => reply,
            Err(error) => return Err(self.failed(&error, sent)),
        };
        self.context.store_clock.hear(&reply);
        let held = self.holder_of(&reply).await;
        let next = self.asking.answered(&reply.answer, || held, self.context.clock.boot(), chance());
        let schedule = self.job.as_ref().map(|job| &job.schedule);
        let terms = LockTerms { node: &self.context.node, length: self.lease, schedule };
        let Some(won) = self.asking.won(&reply, terms) else {
            if let Next::AskAt(_) = next {
                self.tell_wait(&reply.answer);
            }
            return Err(next);
        };
        let sent = reply.leased_from(sent);
        let deadline = Deadline::granted(self.pace, sent);
        if deadline.is_over(self.context.clock.boot()) {
            self.abandon(won.abandon()).await;
            return Err(self.asking.begin_anew(self.context.clock.boot()));
        }
        let store_watch = Arc::clone(&self.store_watch);
        self.tasks.spawn(async move { store_watch.announce().await });
        Ok(Box::new(self.grant(won, deadline, sent)))
    }

    fn grant(&self, won: Won, deadline: Deadline, sent: BootInstant) -> Grant {
        let Won { lease, era, waited } = won;
        let (job, tick) = (self.job.as_ref(), lease.tick);
        let local = job.map_or_else(|| tick.to_string(), |job| job.schedule.local_text(tick));
        let identity = Identity::of(&self.lock, &lease, local);
        let launch = self.work.launch(identity, self.kill_grace, self.pace.loss_grace());
        let (retries, start_gate) = (Retries::default(), StartGate::default());
        Grant { launch, retries, lease, deadline, sent, start_gate, era, waited }
    }

    /// Returns the holder of a lock that is held. Reads the record only where that decides whether to wait for the lock.
    async fn holder_of(&self, reply: &Reply) -> Held {
        let Answer::Held { by: Some(holder), .. } = &reply.answer else {
            let is_kept = reply.rerun.as_ref().is_some_and(|rerun| !rerun.goes_on);
            return if is_kept { Held::ForRerun } else { Held::WithoutHolder };
        };
        let by = Held::By(holder.clone());
        if !self.asking.is_impatient(self.context.clock.boot()) {
            return by;
        }
        let record = self.context.store.record_of(&self.lock).await.ok().flatten();
        let is_silent =
            record.is_some_and(|record| record.run == Some(holder.run) && record.has_lapsed(reply.now));
        if is_silent { Held::WithoutHolder } else { by }
    }

    /// Runs the command. Returns when nothing of it is left and its end is recorded, as far as possible.
    pub(super) async fn run(mut self, grant: Grant, stop: &Stop) -> Ended {
        self.store_watch.hold(grant.lease.run);
        let holding = keep(Arc::clone(&self.context), grant, self.handle.clone());
        let steering = steer(&self.handle, stop, self.kill_grace, self.lease);
        let kept = tokio::select! {
            kept = holding => kept,
            () = steering => unreachable!("it ends only with the run"),
        };
        self.tasks.shutdown().await;
        kept.ended
    }

    /// Gives back what may have been granted without the grant being received.
    pub(super) async fn give_back(&mut self) {
        self.tasks.shutdown().await;
        if let Some(doubt) = self.asking.doubt() {
            self.abandon(doubt).await;
        }
    }

    async fn abandon(&self, doubt: Abandon) {
        let abandoning = give_back(&self.context, &self.lock, doubt);
        // A lock that is not given back by then frees itself.
        let _ = tokio::time::timeout(GIVE_BACK_LIMIT, abandoning).await;
    }

    fn caller(&self) -> Caller {
        let of_job = self.job.as_ref().map_or(Duration::ZERO, |job| job.lease);
        let known = Known { largest_lease: self.lease.max(of_job), mark: None, answered: None };
        self.context.caller(known).expect("the store's clock was read before anything is requested")
    }

    fn tell_wait(&mut self, answer: &Answer) {
        if let Answer::Held { by, .. } = answer {
            let holder = by.as_ref().map(|holder| holder.node.clone());
            if self.told.replace(holder.clone()) != Some(holder.clone()) {
                let (job, tick) = (self.lock.clone(), self.asking.tick());
                self.context.events.tell(Event::TickHeld { job, tick, holder });
            }
        }
    }

    /// Takes in that the store did not answer a request sent at `sent`.
    fn failed(&mut self, error: &StoreError, sent: BootInstant) -> Next {
        self.told = None;
        let (job, tick) = (self.lock.clone(), self.asking.tick());
        self.context.events.tell(Event::TickUndecided { job, tick, error: error.to_string() });
        self.asking.failed(error, sent, self.context.clock.boot())
    }
}

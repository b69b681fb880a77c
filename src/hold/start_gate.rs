//! Holds back runs whose ticks were granted before their instants. All runs of one instant share one wait.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, Shared, WeakShared};
use tokio_util::sync::CancellationToken;

use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::job::{Cause, Tick};
use crate::lease::{EARLY_TOLERANCE, Protection};
use crate::run::{StopOrder, StopReason};
use crate::time::{BootInstant, UtcMillis};

use super::context::Context;
use super::handle::LockHandle;

type GateWait = Shared<BoxFuture<'static, ()>>;

/// A replica that was held up for longer than this at an instant may have missed what happened meanwhile.
pub(crate) const OVERSLEPT: Duration = Duration::from_secs(1);

/// What a run waits for: the instant of its tick, or nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartGate(Option<Awaited>);

#[derive(Debug, Clone)]
struct Awaited {
    wait: GateWait,
    instant: UtcMillis,
    start_deadline: Duration,
}

impl StartGate {
    /// Waits for the instant.
    pub(crate) async fn wait(self) {
        if let Some(awaited) = self.0 {
            awaited.wait.await;
        }
    }

    /// Waits for the instant, and logs that the run begins; `sent` is when its claim was sent, `waited` whether its tick
    /// waited for another run. If the run must not begin, gives it a stop order instead, and the tick is given back.
    /// Returns the tick's instant by the boot clock, and a token that the caller cancels once the command has begun or
    /// will not begin.
    pub(crate) async fn begin(
        self,
        context: &Context,
        run: Run,
        handle: &LockHandle,
        sent: BootInstant,
        waited: bool,
    ) -> (BootInstant, CancellationToken) {
        let not_to_begin = match self.0 {
            Some(awaited) => awaited.reason_not_to_begin(context, handle).await,
            None => None,
        };
        let late = context.now().since(run.tick.instant());
        let instant = BootInstant(context.clock.boot().0.saturating_sub(late));
        match not_to_begin {
            Some(reason) => StopOrder { reason, grace: Duration::ZERO }.give(&handle.stops),
            None => context.events.tell(Event::RunStarted { run, late, waited, sent }),
        }
        (instant, context.traffic.start_priority.begin())
    }
}

impl Awaited {
    /// Waits for the instant; returns the reason if the run must not begin. A replica that drains meanwhile leaves
    /// the tick to others. One that has slept past the instant treats the lock as lost, and the tick is claimed anew.
    async fn reason_not_to_begin(self, context: &Context, handle: &LockHandle) -> Option<StopReason> {
        tokio::select! {
            biased;
            () = handle.no_more_attempts.cancelled() => Some(StopReason::Shutdown),
            () = self.wait => {
                has_overslept(self.instant, context.now(), self.start_deadline).then_some(StopReason::LockLost)
            }
        }
    }
}

/// The waits under way, by instant.
#[derive(Debug, Default)]
pub(crate) struct StartGates(Vec<(UtcMillis, WeakShared<BoxFuture<'static, ()>>)>);

impl StartGates {
    /// Returns what a run of the tick waits for; `start_deadline` is how late it may start. Nothing if the instant
    /// has come, or if the run is manual.
    pub(crate) fn of(
        &mut self,
        cause: Cause,
        tick: Tick,
        start_deadline: Duration,
        context: &Arc<Context>,
    ) -> StartGate {
        let instant = tick.instant();
        if cause == Cause::Manual || instant <= context.now() || !Protection::AtInstant.is_on() {
            return StartGate::default();
        }
        self.0.retain(|(_, wait)| wait.upgrade().is_some());
        let under_way = self.0.iter().find(|(other, _)| *other == instant);
        let wait = under_way.and_then(|(_, wait)| wait.upgrade()).unwrap_or_else(|| {
            let wait = wait_for_instant(Arc::clone(context), instant).boxed().shared();
            self.0.extend(wait.downgrade().map(|weak| (instant, weak)));
            wait
        });
        StartGate(Some(Awaited { wait, instant, start_deadline }))
    }
}

/// Whether a run that waited for its instant must not begin under its lock any more.
pub(crate) fn has_overslept(instant: UtcMillis, now: UtcMillis, start_deadline: Duration) -> bool {
    now.since(instant) > start_deadline.min(OVERSLEPT)
}

/// Waits until the instant has come by the clock that decides when ticks are due. If that clock was set back, waits
/// no longer than the store grants ahead of an instant.
async fn wait_for_instant(context: Arc<Context>, instant: UtcMillis) {
    let clock = &context.clock;
    let limit = clock.boot().plus(EARLY_TOLERANCE);
    while context.now() < instant && clock.boot() < limit {
        let at = instant.plus(clock.utc().since(context.now()));
        tokio::select! {
            _ = clock.wait_until(at) => {}
            () = clock.wait_until_boot(limit) => {}
        }
    }
}

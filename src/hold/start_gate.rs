//! The instants of ticks that were granted ahead of them: their runs wait. All runs of one instant share one wait.

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

/// Who was held up for longer than this at an instant does not know what was said meanwhile.
const OVERSLEPT: Duration = Duration::from_secs(1);

/// What a run waits for, if anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartGate(Option<Awaited>);

#[derive(Debug, Clone)]
struct Awaited {
    wait: GateWait,
    instant: UtcMillis,
    start_deadline: Duration,
}

impl StartGate {
    /// Waits for it.
    pub(crate) async fn come(self) {
        if let Some(awaited) = self.0 {
            awaited.wait.await;
        }
    }

    /// Waits for it, and tells that the run begins, by a claim sent at `sent`; or orders that it does not: its tick is given
    /// back then. Returns the tick's instant by the machine's boot clock, and what is to be cancelled once the command has
    /// begun.
    pub(crate) async fn begin(
        self,
        context: &Context,
        (run, handle): (Run, &LockHandle),
        sent: BootInstant,
    ) -> (BootInstant, CancellationToken) {
        let not_to_begin = match self.0 {
            Some(awaited) => awaited.reason_not_to_begin(context, handle).await,
            None => None,
        };
        let late = context.now().since(run.tick.instant());
        let instant = BootInstant(context.clock.boot().0.saturating_sub(late));
        match not_to_begin {
            Some(reason) => StopOrder { reason, grace: Duration::ZERO }.give(&handle.stops),
            None => context.events.tell(Event::RunStarted { run, late, sent }),
        }
        (instant, context.traffic.start_priority.begin())
    }
}

impl Awaited {
    /// Waits for it. Whoever drains meanwhile leaves the tick to others; to who has slept through it the lock is as good as
    /// lost, and the tick is claimed anew.
    async fn reason_not_to_begin(self, context: &Context, handle: &LockHandle) -> Option<StopReason> {
        tokio::select! {
            biased;
            () = handle.no_more.cancelled() => Some(StopReason::Shutdown),
            () = self.wait => {
                has_overslept(self.instant, context.now(), self.start_deadline).then_some(StopReason::LockLost)
            }
        }
    }
}

/// The waits under way.
#[derive(Debug, Default)]
pub(crate) struct StartGates(Vec<(UtcMillis, WeakShared<BoxFuture<'static, ()>>)>);

impl StartGates {
    /// What a run of the tick waits for, which may start so late: nothing if its instant has come, or somebody wants it now.
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
            let wait = come(Arc::clone(context), instant).boxed().shared();
            self.0.extend(wait.downgrade().map(|weak| (instant, weak)));
            wait
        });
        StartGate(Some(Awaited { wait, instant, start_deadline }))
    }
}

/// Whether a run that waited for its instant is not to begin any more under its lock.
pub(crate) fn has_overslept(instant: UtcMillis, now: UtcMillis, start_deadline: Duration) -> bool {
    now.since(instant) > start_deadline.min(OVERSLEPT)
}

/// Waits until the instant has come by the clock that ticks are due by; where that was set back, no longer than the store
/// grants ahead of an instant.
async fn come(context: Arc<Context>, instant: UtcMillis) {
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

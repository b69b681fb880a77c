//! How orders to stop reach a guest's run, and how long its end is worth waiting for.

use std::time::Duration;

use crate::hold::Stop;
use crate::hold::handle::LockHandle;
use crate::run::{StopOrder, StopReason};

/// Passes orders to stop on to the run, for as long as it goes on. Once it is over, recording its end is worth one lease,
/// or one try where the lock was lost: after that the lock has freed itself.
pub(super) async fn steer(handle: &LockHandle, stop: &Stop, (kill_grace, lease): (Duration, Duration)) {
    let order = |grace| StopOrder { reason: StopReason::Shutdown, grace };
    let stopping = async {
        stop.drain.cancelled().await;
        order(kill_grace).give(&handle.stops);
        stop.at_once.cancelled().await;
        order(Duration::ZERO).give(&handle.stops);
        handle.give_up.cancel();
    };
    let giving_up = async {
        handle.over.cancelled().await;
        if !is_lost(handle) {
            tokio::time::sleep(lease).await;
        }
        handle.give_up.cancel();
    };
    tokio::join!(stopping, giving_up);
    std::future::pending().await
}

fn is_lost(handle: &LockHandle) -> bool {
    handle.stops.borrow().is_some_and(|order| order.reason == StopReason::LockLost)
}

//! How stop orders reach the run of an `exec`, and how long recording its end is tried.

use std::time::Duration;

use crate::hold::Stop;
use crate::hold::handle::LockHandle;
use crate::run::{StopOrder, StopReason};

/// Passes stop orders on to the run while it is going. Once it is over, recording its end is tried for one lease, or
/// once if the lock was lost: after that the lock has freed itself.
pub(super) async fn steer(handle: &LockHandle, stop: &Stop, kill_grace: Duration, lease: Duration) {
    let order = |grace| StopOrder { reason: StopReason::Shutdown, grace };
    let stopping = async {
        stop.drain.cancelled().await;
        order(kill_grace).give(&handle.stops);
        stop.at_once.cancelled().await;
        order(Duration::ZERO).give(&handle.stops);
        handle.give_up.cancel();
    };
    let giving_up = async {
        handle.run_ended.cancelled().await;
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

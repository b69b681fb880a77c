//! Reads how all jobs stand: once at the start, and then only while somebody scrapes. Every replica does so in its turn,
//! so that the cluster as a whole reads the store as often, however many replicas it has.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;

use crate::http::state::Shared;
use crate::job::JobName;
use crate::store::{LIVE_FOR, Store, StoreError};
use crate::time::BootInstant;

use super::standings::findings_of;

/// How often it is looked whether a sweep is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time between two sweeps of the cluster.
const SWEEP_EVERY: Duration = Duration::from_secs(20);

/// Sweeps go on for this long after the last scrape.
const SCRAPED_WITHIN: Duration = Duration::from_secs(300);

/// Sweeps the store whenever it is due, without end.
pub(crate) async fn sweep_when_due(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let mut last: Option<BootInstant> = None;
    loop {
        sleep(LOOK_EVERY).await;
        if !is_due(&shared, last) {
            continue;
        }
        match sweep(&shared, &*store).await {
            Ok(()) => {}
            // The replica logs why the store does not answer.
            Err(error) => debug!(%error, "jobs not read for metrics"),
        }
        last = Some(shared.clock.boot());
    }
}

fn is_due(shared: &Shared, last: Option<BootInstant>) -> bool {
    let (now, facts) = (shared.clock.boot(), shared.facts.borrow());
    let Some(store_now) = facts.store_now.filter(|_| !facts.is_store_away) else { return false };
    let Some(last) = last else { return true };
    let live = facts.peers.iter().filter(|peer| store_now.since(peer.at) <= LIVE_FOR).count();
    let every = SWEEP_EVERY.saturating_mul(u32::try_from(live.max(1)).unwrap_or(u32::MAX));
    shared.was_scraped_within(SCRAPED_WITHIN, now) && now.since(last) >= every
}

async fn sweep(shared: &Shared, store: &dyn Store) -> Result<(), StoreError> {
    let jobs = Arc::clone(&shared.options.borrow().jobs);
    let names: Vec<JobName> = jobs.keys().cloned().collect();
    let standings = store.standings(&names).await?;
    let (peers, now) = (Arc::clone(&shared.facts.borrow().peers), shared.store_now());
    let findings = findings_of(&jobs, &standings, &peers, now);
    shared.take_in(&jobs, findings);
    Ok(())
}

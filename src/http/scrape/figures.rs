//! What the replica reports about itself, as the numbers of a scrape.

use std::collections::BTreeSet;

use crate::http::state::HttpState;
use crate::metrics::{ReplicaCounts, ReplicaFigures, WaitingCounts};
use crate::replica::ReplicaFacts;
use crate::store::{Beat, LIVE_FOR};
use crate::time::UtcMillis;

use super::health::not_ready;

/// Returns the figures at this moment.
pub(super) fn figures_of(shared: &HttpState) -> ReplicaFigures {
    let facts = shared.facts.borrow().clone();
    let counts = shared.sweep_counts();
    let beat = facts.beat.as_ref();
    let (node, version, file) =
        beat.map(|beat| (beat.node.to_string(), beat.version.clone(), beat.file.clone())).unwrap_or_default();
    ReplicaFigures {
        node,
        version,
        file,
        store_kind: shared.store_kind,
        is_taking_ticks: not_ready(&facts, shared.clock.boot()).is_empty(),
        replicas: replicas(&facts, shared.store_now()),
        jobs: counts.jobs,
        troubles: counts.troubles,
        runs_running: beat.map_or(0, |beat| beat.running.len() as u64),
        runs_limit: facts.max_running.map(u64::from),
        waiting: WaitingCounts {
            held: facts.ticks_waiting.for_lock,
            undecided: facts.ticks_waiting.for_answer,
            capacity: facts.ticks_waiting.for_slot,
        },
        locks_held: facts.locks_held,
        clock_difference: facts.answered.map(|_| facts.ahead_ms as f64 / 1_000.0),
        concerns_error: facts.concerns_error,
        concerns_warning: facts.concerns_warning,
        guards: facts.guards,
        run_log_bytes: facts.run_log_bytes,
        is_disk_ok: facts.is_disk_ok,
        log_lines_dropped: (shared.dropped_log_lines)(),
    }
}

/// Counts the live replicas, this one included.
fn replicas(facts: &ReplicaFacts, now: UtcMillis) -> ReplicaCounts {
    let own = facts.beat.as_ref();
    let others = facts.peers.iter().filter(|peer| now.since(peer.at) <= LIVE_FOR).map(|peer| &peer.beat);
    let others = others.filter(|beat| own.is_none_or(|own| own.node != beat.node));
    let live: Vec<&Beat> = own.into_iter().chain(others).collect();
    let count = |is_it: fn(&Beat) -> bool| live.iter().filter(|beat| is_it(beat)).count() as u64;
    let different =
        |what: fn(&Beat) -> &str| live.iter().map(|beat| what(beat)).collect::<BTreeSet<_>>().len() as u64;
    ReplicaCounts {
        taking: count(|beat| !beat.draining),
        draining: count(|beat| beat.draining),
        full: count(|beat| beat.full),
        expected: facts.expected_replicas.map(u64::from),
        files: different(|beat| &beat.file),
        versions: different(|beat| &beat.version),
    }
}

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
    let is_taking_ticks = not_ready(&facts, shared.clock.boot()).is_empty();
    let beat = facts.beat.as_ref();
    let (node, version, file) =
        beat.map(|beat| (beat.node.to_string(), beat.version.clone(), beat.file.clone())).unwrap_or_default();
    ReplicaFigures {
        node,
        version,
        file,
        store_kind: shared.store_kind,
        is_taking_ticks,
        replicas: replicas(&facts, is_taking_ticks, shared.store_now()),
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

/// Counts the live replicas, this one included. Of the others their heartbeats tell whether they take ticks.
fn replicas(facts: &ReplicaFacts, is_taking_ticks: bool, now: UtcMillis) -> ReplicaCounts {
    let own = facts.beat.as_ref();
    let is_own = |beat: &Beat| own.is_some_and(|own| own.node == beat.node);
    let others = facts.peers.iter().filter(|peer| now.since(peer.at) <= LIVE_FOR).map(|peer| &peer.beat);
    let others = others.filter(|beat| !is_own(beat));
    let live: Vec<&Beat> = own.into_iter().chain(others).collect();
    let takes = |beat: &Beat| !beat.draining && (is_taking_ticks || !is_own(beat));
    let count = |is_it: &dyn Fn(&Beat) -> bool| live.iter().filter(|beat| is_it(beat)).count() as u64;
    let different =
        |what: fn(&Beat) -> &str| live.iter().map(|beat| what(beat)).collect::<BTreeSet<_>>().len() as u64;
    ReplicaCounts {
        taking: count(&takes),
        draining: count(&|beat| beat.draining),
        full: count(&|beat| beat.full && takes(beat)),
        expected: facts.expected_replicas.map(u64::from),
        files: different(|beat| &beat.file),
        versions: different(|beat| &beat.version),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::job::RunId;
    use crate::store::Peer;
    use crate::view::testing::node;

    use super::*;

    #[test]
    fn a_replica_is_among_those_that_take_ticks_only_while_it_takes_them_itself() {
        let now = UtcMillis(1_000);
        let beat = |name| Beat { full: true, ..Beat::of(node(name), RunId::new(), "one".to_owned(), now) };
        let peers = Arc::new([Peer { at: now, beat: beat("n2") }]);
        let facts = ReplicaFacts { beat: Some(beat("n1")), peers, ..ReplicaFacts::default() };
        for (is_taking_ticks, taking) in [(true, 2), (false, 1)] {
            let counts = replicas(&facts, is_taking_ticks, now);
            assert_eq!((counts.taking, counts.full, counts.draining), (taking, taking, 0));
        }
        let drains = ReplicaFacts { beat: Some(Beat { draining: true, ..beat("n1") }), ..facts };
        let counts = replicas(&drains, false, now);
        assert_eq!((counts.taking, counts.full, counts.draining), (1, 1, 1));
    }
}

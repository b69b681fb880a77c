//! Whether a manual run can start, and what it waits for until then. Pure: it judges a snapshot of one job.

use crate::job::{JobSpec, Overlap};
use crate::lease::{LeaseInstant, Record, ScheduleHash};
use crate::store::Peer;
use crate::time::UtcMillis;
use crate::view::snapshot::Snapshot;
use crate::view::text::short_text::short_id;
use crate::view::text::time_format::{span, utc};

use super::replicas::last_heartbeat;
use super::{fits, labels, misses_labels};

/// What happens to a manual run that is ordered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// A live replica starts it at once.
    Open,
    /// It waits for this.
    Waits(String),
    /// It waits for the end of another run, as the job's `overlap` says.
    WaitsForRun(String),
    /// No live replica can start it: why, and what to do about it.
    Hopeless(String),
}

/// Returns the prospect of this job. The snapshot must contain this job alone.
pub(crate) fn prospect(spec: &JobSpec, snapshot: &Snapshot) -> Prospect {
    let record = snapshot.jobs.first().and_then(|job| job.record.as_ref());
    let live: Vec<&Peer> = snapshot.peers.iter().filter(|peer| snapshot.is_live(peer)).collect();
    let taking: Vec<&Peer> = live.iter().copied().filter(|peer| !peer.beat.draining).collect();
    if let Some(why) = hopeless(spec, record, snapshot, &live, &taking) {
        return Prospect::Hopeless(why);
    }
    if let Some(who) = &snapshot.blocked {
        return Prospect::Waits(format!("no replica can write to the store: {who}"));
    }
    if let Some(record) = record.filter(|record| record.is_running()) {
        return behind_run(spec.overlap, record, snapshot);
    }
    if let Some(record) = record.filter(|record| record.waits_without_holder(LeaseInstant(snapshot.now.0))) {
        return Prospect::Waits(reserved(spec, record));
    }
    let mut fitting = taking.iter().filter(|peer| fits(spec, peer));
    if fitting.all(|peer| peer.beat.full) {
        return Prospect::Waits("every replica that could run it is full (max_running)".to_owned());
    }
    Prospect::Open
}

/// Returns why no live replica can start it, and what to do about it; `None` if one can.
fn hopeless(
    spec: &JobSpec,
    record: Option<&Record>,
    snapshot: &Snapshot,
    live: &[&Peer],
    taking: &[&Peer],
) -> Option<String> {
    let name = &spec.name;
    if !spec.enabled {
        return Some(format!("job `{name}` is disabled (enabled = false)\n  help: enable it in the file"));
    }
    if taking.is_empty() {
        let why = if live.is_empty() {
            let last = last_heartbeat(snapshot).unwrap_or("no heartbeat within the last hour".to_owned());
            format!("no live replica ({last})")
        } else {
            "every live replica is draining".to_owned()
        };
        return Some(format!("{why}: nothing ran\n  help: start one with `solocron run`"));
    }
    if let Some(missing) = misses_labels(spec, taking) {
        return Some(format!(
            "{missing}: nothing ran\n  help: start one with `solocron run --label {}`",
            labels(spec, ",")
        ));
    }
    let record = record?;
    if record.schedule_hash == ScheduleHash::none() && has_one_file(live) {
        return Some(format!(
            "the replicas' jobs.toml does not have job `{name}`, or has it disabled: nothing ran\n  help: have them load the \
             file at hand: `solocron reload`"
        ));
    }
    // Other commands create a record of this name, too; only a replica sets its schedule.
    (record.schedule_hash == ScheduleHash::default()).then(|| {
        format!(
            "no replica has registered job `{name}` yet: nothing ran\n  help: have the replicas load the file at hand: \
             `solocron reload`; just after a start, try again in a few seconds"
        )
    })
}

/// Whether all of them have loaded the same jobs.toml, so that the schedule that one of them has set counts for all.
fn has_one_file(live: &[&Peer]) -> bool {
    live.windows(2).all(|pair| pair[0].beat.file == pair[1].beat.file)
}

/// Returns the prospect while another run holds the lock.
fn behind_run(overlap: Overlap, record: &Record, snapshot: &Snapshot) -> Prospect {
    let run =
        record.run.map_or("another run".to_owned(), |run| format!("run {}", short_id(&run.to_string())));
    let on = record.owner.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    if !snapshot.is_holder_alive(record) {
        let lease = span(record.lease);
        return Prospect::Waits(format!(
            "{run}{on} holds the lock, but sends no heartbeat: its lock expires within {lease}"
        ));
    }
    match overlap {
        Overlap::Skip => Prospect::Open,
        Overlap::Wait => Prospect::WaitsForRun(format!("{run}{on} is running (overlap = \"wait\")")),
        Overlap::Replace => {
            Prospect::WaitsForRun(format!("{run}{on} is stopped first (overlap = \"replace\")"))
        }
    }
}

/// Describes the wait for a holder that the store may have forgotten.
fn reserved(spec: &JobSpec, record: &Record) -> String {
    let until = utc(UtcMillis(record.locked_until.0));
    if record.lease < spec.lease {
        // A first start waits two seconds.
        return format!("its record in the store is new: no start before {until} UTC");
    }
    format!(
        "the store was restarted or lost records, and a holder may still run: no start before {until} UTC"
    )
}

#[cfg(test)]
#[path = "trigger_prospect_tests.rs"]
mod tests;

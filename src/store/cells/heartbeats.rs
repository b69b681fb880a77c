//! Heartbeats and notices: texts in folders of the server.

use uuid::Uuid;

use crate::job::JobName;
use crate::store::{
    Beat, FORGET_NODES_MS, FORGET_NOTICES_MS, MOST_BEATS, Marker, Notice, Peer, Pulse, StoreError, Told,
};
use crate::time::UtcMillis;

use super::{Engine, Note, NoteKind, Put, ServerMoment};

/// Sends a heartbeat, if there is one, and returns what the server knew before.
pub(super) async fn pulse<E: Engine>(engine: &E, beat: Option<&Beat>) -> Result<Pulse, StoreError> {
    let (lists, ServerMoment { now, era }) =
        engine.exchange(&[], None, &[NoteKind::Nodes, NoteKind::Notices, NoteKind::Marker]).await?;
    let [nodes, notices, marker] = <[Vec<Note>; 3]>::try_from(lists)
        .map_err(|_| StoreError::Unknown("the store did not answer about each folder".into()))?;
    let is_recent = |at: UtcMillis, limit: i64| at.0 >= now.0.saturating_sub(limit);
    let mut peers: Vec<Peer> = nodes.iter().filter_map(peer_of).collect();
    // Also those that are too old to be returned: their numbers were used.
    let counts = peers.iter().map(|peer| peer.beat.count).filter(|count| *count <= MOST_BEATS);
    let newest = counts.max().unwrap_or_default();
    peers.retain(|peer| is_recent(peer.at, FORGET_NODES_MS));
    peers.sort_by(|a, b| a.beat.node.cmp(&b.beat.node));
    let notices = notices.iter().filter(|note| is_recent(note.at, FORGET_NOTICES_MS));
    let notices = notices.filter_map(notice_of).collect();
    let marker = marker.into_iter().next().map(|note| Marker(note.text));
    let mut pulse = Pulse { now, era, marker, count: 0, peers, notices };
    if let Some(beat) = beat {
        send(engine, beat, newest, &mut pulse).await?;
    }
    Ok(pulse)
}

/// Stores a heartbeat. Before that, stores a new marker if the store has none, or if its newest heartbeat of this replica is
/// older than the one that it confirmed.
async fn send<E: Engine>(engine: &E, beat: &Beat, newest: u64, pulse: &mut Pulse) -> Result<(), StoreError> {
    let own = pulse.peers.iter().find(|peer| peer.beat.node == beat.node).map(|peer| peer.beat.count);
    let own = own.filter(|count| *count > 0);
    let is_forgotten = |told: &Told| told.is_forgotten(&pulse.era, pulse.marker.as_ref(), own, newest);
    if pulse.marker.is_none() || beat.told.as_ref().is_some_and(is_forgotten) {
        engine.replace_marker(pulse.marker.as_ref(), &Marker::fresh()).await?;
        // Another replica may have been first.
        let (lists, _) = engine.exchange(&[], None, &[NoteKind::Marker]).await?;
        pulse.marker = lists.into_iter().flatten().next().map(|note| Marker(note.text));
    }
    pulse.count = newest + 1;
    let put = put_of(&Beat { count: pulse.count, ..beat.clone() });
    // A heartbeat that arrives late could overwrite the next one: the store refuses it.
    let (_, moment) = engine.exchange(&[put], Some(pulse.now), &[]).await?;
    (pulse.now, pulse.era) = (moment.now, moment.era);
    Ok(())
}

/// Leaves a notice about a job.
pub(super) async fn announce<E: Engine>(engine: &E, job: &JobName) -> Result<(), StoreError> {
    let stamp = Uuid::new_v4().as_u64_pair().0 >> 1;
    let (name, text) = (job.to_string(), stamp.to_string());
    engine.exchange(&[Put { folder: NoteKind::Notices, name, text, number: None }], None, &[]).await.map(drop)
}

fn put_of(beat: &Beat) -> Put {
    let text = serde_json::to_string(beat).expect("a beat is plain JSON");
    Put { folder: NoteKind::Nodes, name: beat.node.to_string(), text, number: Some(beat.count) }
}

/// Parses a heartbeat; `None` unless it is that of the replica under whose name it is stored.
fn peer_of(note: &Note) -> Option<Peer> {
    let beat: Beat = serde_json::from_str(&note.text).ok()?;
    (beat.node.as_str() == note.name).then_some(Peer { at: note.at, beat })
}

fn notice_of(note: &Note) -> Option<Notice> {
    Some(Notice { job: JobName::parse(&note.name).ok()?, stamp: note.text.parse().ok()? })
}

//! Heartbeats as stored on the server, and the fields there that no replica wrote.

use std::collections::BTreeSet;

use redis::Value;

use crate::job::JobName;
use crate::lease::Era;
use crate::store::redis::connection::batch;
use crate::store::redis::connection::connect::RESPONSE_TIMEOUT;
use crate::store::redis::records::RedisStore;
use crate::store::redis::reply::Texts;
use crate::store::redis::scripts;
use crate::store::{Beat, FORGET_NODES_MS, FORGET_NOTICES_MS, Marker, Notice, Peer, Pulse, StoreError, Told};
use crate::time::UtcMillis;

impl RedisStore {
    /// Sends a heartbeat, if there is one, and returns what the server knows.
    pub(crate) async fn beat(&self, beat: Option<&Beat>) -> Result<Pulse, StoreError> {
        let node = beat.map_or("", |beat| beat.node.as_str());
        let said = beat.map(|beat| serde_json::to_string(beat).expect("a beat is plain JSON"));
        let told = beat.and_then(|beat| beat.told.as_ref());
        let told = told.map(|Told { count, era, marker }| format!(" {count} {} {}", era.0, marker.0));
        let told = told.unwrap_or_default();
        let args = [
            node.into(),
            said.unwrap_or_default().into_bytes(),
            FORGET_NODES_MS.to_string().into_bytes(),
            FORGET_NOTICES_MS.to_string().into_bytes(),
            (Marker::fresh().0 + &told).into_bytes(),
        ];
        let keys = [self.keys.nodes(), self.keys.notices()];
        let answers = batch::run(&self.others, scripts::pulse(), &keys, &args, RESPONSE_TIMEOUT).await?;
        let mut lists = answers.into_iter();
        // An error of the script stands alone, in place of the first list.
        let mut next =
            || lists.next().map_or(Ok(Value::Array(Vec::new())), |list| Ok(list?)).and_then(Texts::of);
        let (mut head, notices, foreign, beats) = (next()?, next()?, next()?, next()?);
        let (now, era, marker) = (UtcMillis(head.value()?), Era(head.text()), head.text());
        let count = head.value()?;
        let marker = Some(marker).filter(|marker| !marker.is_empty()).map(Marker);
        let mut foreign: BTreeSet<(String, String)> = pairs(foreign).into_iter().collect();
        let notices = readable(pairs(notices), notice, &keys[1], &mut foreign);
        let mut peers = readable(pairs(beats), peer, &keys[0], &mut foreign);
        peers.sort_by(|a, b| a.beat.node.cmp(&b.beat.node));
        self.foreign.found(&self.label, foreign);
        Ok(Pulse { now, era, marker, count, peers, notices })
    }
}

/// Parses a field of the nodes; `None` unless it is the heartbeat of the replica that the field is named after.
fn peer(node: &str, text: &str) -> Option<Peer> {
    let (at, said) = text.split_once(' ')?;
    let peer = Peer { at: UtcMillis(at.parse().ok()?), beat: serde_json::from_str(said).ok()? };
    (peer.beat.node.as_str() == node).then_some(peer)
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(value: Value) {
    let Ok(texts) = Texts::of(value) else { return };
    let (pairs, mut foreign) = (pairs(texts), BTreeSet::new());
    let count = pairs.len();
    let peers = readable(pairs.clone(), peer, "nodes", &mut foreign);
    let notices = readable(pairs, notice, "notices", &mut foreign);
    assert!(peers.len() <= count && notices.len() <= count);
}

fn notice(job: &str, stamp: &str) -> Option<Notice> {
    Some(Notice { job: JobName::parse(job).ok()?, stamp: stamp.parse().ok()? })
}

/// Returns the pairs in a list of texts.
fn pairs(texts: Texts) -> Vec<(String, String)> {
    let mut texts = texts.rest();
    std::iter::from_fn(|| Some((texts.next()?, texts.next()?))).collect()
}

/// Returns the pairs that can be parsed. Adds the names of the others, with their key, to `foreign`.
fn readable<T>(
    pairs: Vec<(String, String)>,
    read: impl Fn(&str, &str) -> Option<T>,
    key: &str,
    foreign: &mut BTreeSet<(String, String)>,
) -> Vec<T> {
    let read = |(name, text): (String, String)| {
        let value = read(&name, &text);
        if value.is_none() {
            foreign.insert((key.to_owned(), name));
        }
        value
    };
    pairs.into_iter().filter_map(read).collect()
}

//! What replicas and commands leave for each other on a Redis server: heartbeats and notices, feeds, slips; and the channels by
//! which they are told, where whatever is published by others changes nothing.

pub(super) mod feeds;
pub(super) mod heartbeats;
pub(super) mod hints;
pub(super) mod slips;
pub(super) mod subscription;
pub(super) mod wakes;

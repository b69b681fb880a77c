//! Heartbeats and notices on a Redis server, and the channel of hints, where whatever is published by others changes nothing.

pub(super) mod heartbeats;
pub(super) mod hints;
pub(super) mod subscription;

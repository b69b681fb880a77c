//! What a server's error says to people: in its own words, and in plain ones where those do not tell what to do.

use redis::RedisError;

use crate::job::quoted_within;

/// As much of an error is shown: with it, the scripts quote names of keys and what they hold.
const SHOWN: usize = 500;

/// An error in words, with what it means where its own do not tell.
pub(super) fn shown(error: &RedisError) -> String {
    let said = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    let said = quoted_within(&said, SHOWN);
    match meaning(&said) {
        Some(meaning) => format!("{meaning} ({said})"),
        None => said,
    }
}

/// What an answer means whose own words do not tell people what to do.
fn meaning(said: &str) -> Option<&'static str> {
    // Redis 6.2 wraps what a script's command was refused for into an error of its own.
    if said.contains("READONLY") {
        Some("the server is a replica, and takes no claims: name its primary in `store`")
    } else if said.starts_with("LOADING") {
        Some("the server is still loading its data")
    } else if said.starts_with("MASTERDOWN") {
        Some("the server is a replica that has lost its primary: name the primary in `store`")
    } else if said.starts_with("CLUSTERDOWN") || said.starts_with("MOVED") || said.starts_with("CROSSSLOT") {
        Some("the server is a node of a Redis Cluster, which is not supported yet: use one server")
    } else if said.contains("NOERA") {
        Some(
            "the server tells no replication id, by which a restart or a failover would be noticed: name a Redis or \
             Valkey server itself in `store`, with INFO neither renamed nor answered by something else",
        )
    } else {
        None
    }
}

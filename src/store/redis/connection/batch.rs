//! Sends many requests at once. Requests of one kind share one call of their script, so that the cost of a call, here and
//! at the server, is paid once for all of them.

use std::time::Duration;

use redis::Value;

use crate::job::JobName;
use crate::lease::Request;
use crate::store::redis::scripts::{Call, LeaseScript};
use crate::store::redis::{RedisKeys, reply, scripts};
use crate::store::{Replied, StoreError, fail_from};

use super::connect::{Answers, CallError, Connector, RESPONSE_TIMEOUT};

/// At most this many requests share a call: it takes one or two milliseconds of the server's time, for which others wait,
/// and with the longest tails it holds 256 KiB.
pub(crate) const MOST: usize = 32;

/// Sends these requests, all of one kind, in one call.
pub(crate) async fn decide(
    connector: &Connector,
    limit: Duration,
    calls: Vec<Call>,
) -> Result<Vec<Replied>, StoreError> {
    let Some(script) = calls.first().map(|call| call.script) else { return Ok(Vec::new()) };
    let asked = calls.len();
    let (keys, args) = scripts::together(calls);
    let answers = run(connector, script, &keys, &args, limit).await?;
    if answers.len() != asked {
        let why = format!("the store gave {} answers to {asked} requests", answers.len());
        return Err(StoreError::Unknown(why.into()));
    }
    let read = |answer: Result<Value, CallError>| Ok(answer?).and_then(reply::read);
    Ok(answers.into_iter().map(read).collect())
}

/// Calls a script by its hash. If the server does not know it, sends all scripts that decide requests; if that does not
/// help, sends this script whole.
pub(crate) async fn run(
    connector: &Connector,
    script: &LeaseScript,
    keys: &[String],
    args: &[Vec<u8>],
    limit: Duration,
) -> Result<Answers, StoreError> {
    let by_hash = script.by_hash(keys, args);
    match connector.call_for_each(&by_hash, limit).await {
        Err(CallError::NoScript) => {}
        result => return Ok(result?),
    }
    connector.teach(limit).await?;
    match connector.call_for_each(&by_hash, limit).await {
        Err(CallError::NoScript) => Ok(connector.call_for_each(&script.whole(keys, args), limit).await?),
        result => Ok(result?),
    }
}

/// Sends all requests in their order. After a call that failed, the rest is not sent.
pub(crate) async fn submit_all(
    connector: &Connector,
    keys: &RedisKeys,
    requests: &[(JobName, Request)],
) -> Vec<Replied> {
    let (mut replies, mut rest) = (Vec::with_capacity(requests.len()), requests);
    while !rest.is_empty() {
        let calls = first_alike(rest, keys);
        let asked = calls.len();
        match decide(connector, RESPONSE_TIMEOUT, calls).await {
            Ok(decided) => replies.extend(decided),
            Err(error) => {
                fail_from(&mut replies, asked, requests.len(), &error);
                break;
            }
        }
        rest = &rest[asked..];
    }
    replies
}

/// Returns the calls of as many of the first requests as can share one call.
fn first_alike(requests: &[(JobName, Request)], keys: &RedisKeys) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::with_capacity(MOST);
    for (job, request) in requests.iter().take(MOST) {
        let call = scripts::call_of(request, keys, job);
        if calls.first().is_some_and(|first| !first.is_alike(&call)) {
            break;
        }
        calls.push(call);
    }
    calls
}

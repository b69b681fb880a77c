//! Many requests at once: a pipeline of scripts, whose cost is a few round trips however many jobs there are.

use std::collections::HashSet;

use redis::{Pipeline, Value};

use crate::job::JobName;
use crate::lease::Request;
use crate::store::{Replied, StoreError, fail_from};

use super::RedisKeys;
use super::connect::{CallError, Connector};
use super::reply;
use super::scripts::{self, Call};

/// Requests that share a pipeline at the most: some 5 ms of the server's time, which others wait for, and with the
/// longest tails 1 MiB, far from what takes as long as an answer may.
const BATCH: usize = 256;

/// Makes all requests in their order. After a pipeline that failed, the rest is not sent.
pub(super) async fn submit_all(
    connector: &Connector,
    keys: &RedisKeys,
    requests: &[(JobName, Request)],
) -> Vec<Replied> {
    let mut replies = Vec::with_capacity(requests.len());
    for batch in requests.chunks(BATCH) {
        let calls: Vec<Call> =
            batch.iter().map(|(job, request)| scripts::call_of(request, keys, job)).collect();
        match answers(connector, &calls).await {
            Ok(answers) => {
                let read = |answer: Result<Value, CallError>| Ok(answer?).and_then(reply::read);
                replies.extend(answers.into_iter().map(read));
            }
            Err(error) => {
                fail_from(&mut replies, batch.len(), requests.len(), &error);
                break;
            }
        }
    }
    replies
}

/// The answers to all calls; scripts that the server does not know are sent whole, once each.
async fn answers(connector: &Connector, calls: &[Call]) -> Result<Vec<Result<Value, CallError>>, StoreError> {
    let mut pipeline = Pipeline::with_capacity(calls.len());
    for call in calls {
        pipeline.add_command(call.script.by_hash(&call.keys, &call.args));
    }
    let mut answers = connector.call_all(&pipeline).await?;
    let is_unknown = |at: &usize| matches!(answers[*at], Err(CallError::NoScript));
    let unknown: Vec<usize> = (0..answers.len()).filter(is_unknown).collect();
    if unknown.is_empty() {
        return Ok(answers);
    }
    let (mut again, mut sent) = (Pipeline::with_capacity(unknown.len()), HashSet::new());
    for Call { script, keys, args } in unknown.iter().map(|at| &calls[*at]) {
        let is_first = sent.insert(script.hash());
        again.add_command(if is_first { script.whole(keys, args) } else { script.by_hash(keys, args) });
    }
    match connector.call_all(&again).await {
        Ok(answered) => unknown.into_iter().zip(answered).for_each(|(at, answer)| answers[at] = answer),
        Err(error) => {
            let error = StoreError::from(error);
            unknown.into_iter().for_each(|at| answers[at] = Err(CallError::Store(error.clone())));
        }
    }
    Ok(answers)
}

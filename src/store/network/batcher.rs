//! Batches requests that independent tasks make at about the same time: they share a call. Requests that come while calls
//! are under way share the next one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::job::format_duration;
use crate::lease::{Protection, Reply};

use crate::store::{Replied, StoreError};

/// This many calls are under way without a pause: one that the server works on, and the next. Requests that come meanwhile
/// share a call.
const AT_ONCE: usize = 2;

/// If a call is not answered by then, the network is slow, and another one is sent. A server that is only busy has answered a
/// full call by then. So at least one call is sent in this time, up to `max_calls`.
const PACE: Duration = Duration::from_millis(10);

/// How long a request waits for its turn and its answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(4);

/// How requests of one kind are batched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPolicy {
    /// How long the first request of a call waits for others.
    linger: Duration,
    /// At most this many calls are under way.
    max_calls: usize,
    /// A request that has waited longer for its turn is not sent.
    max_wait: Option<Duration>,
}

impl BatchPolicy {
    /// Claims carry the time at which they should arrive, and are refused a second later: so they do not wait for others. 50
    /// calls: over a round trip of half a second, one call may be sent every [`PACE`]. The replica limits how many claims there
    /// are.
    pub(crate) const CLAIMS: Self =
        Self { linger: Duration::ZERO, max_calls: 50, max_wait: Some(Duration::from_millis(500)) };

    /// A finish waits for others: it delays only the replicas that wait for the same lock. With the longest tails, this
    /// many calls hold 2 MiB.
    pub(crate) const FINISHES: Self = Self { linger: Duration::from_millis(1), max_calls: 8, max_wait: None };
}

/// Requests that share a call, each with the channel for its reply.
pub(crate) type Together<Q> = Vec<(Q, oneshot::Sender<Replied>)>;

/// Batches requests of one kind, until this is dropped.
pub(crate) struct Batcher<Q> {
    requests: mpsc::UnboundedSender<Pending<Q>>,
}

/// A request that waits to be sent, and the channel for its answer.
struct Pending<Q> {
    request: Q,
    since: Instant,
    reply_to: oneshot::Sender<Replied>,
}

impl<Q: Send + 'static> Batcher<Q> {
    /// Starts to batch requests, at most `most` of them in a call. `call` makes one, and sends the reply to each request.
    /// Needs a running Tokio runtime.
    pub(crate) fn start(
        policy: BatchPolicy,
        most: usize,
        call: impl Fn(Together<Q>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let (requests, to_send) = mpsc::unbounded_channel();
        tokio::spawn(send_out(policy, most, call, to_send));
        Self { requests }
    }

    /// Adds the request to the next call, and waits for its answer. It is left out if the caller has been cancelled before
    /// that call.
    pub(crate) async fn submit(&self, request: Q) -> Result<Reply, StoreError> {
        let (reply_to, answer) = oneshot::channel();
        // If the task has ended, the request is dropped, and the channel for its answer with it.
        let _ = self.requests.send(Pending { request, since: Instant::now(), reply_to });
        match timeout(ANSWER_LIMIT, answer).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(_)) => Err(StoreError::Unknown("the request ended without an answer".into())),
            Err(_) => {
                Err(StoreError::Unknown(format!("no answer within {}", format_duration(ANSWER_LIMIT)).into()))
            }
        }
    }
}

async fn send_out<Q: Send + 'static>(
    policy: BatchPolicy,
    most: usize,
    call: impl Fn(Together<Q>) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    mut requests: mpsc::UnboundedReceiver<Pending<Q>>,
) {
    let all = Arc::new(Semaphore::new(policy.max_calls));
    let quick = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let permit = Arc::clone(&all).acquire_owned().await.expect("the semaphore is never closed");
        // Without a permit, the call is sent beside those that are not answered yet.
        let quick_permit = timeout(PACE, Arc::clone(&quick).acquire_owned()).await;
        let Some(first) = requests.recv().await else { return };
        // Gives other tasks that are ready now the chance to make their requests.
        yield_now().await;
        if !policy.linger.is_zero() && requests.len() + 1 < most {
            sleep(policy.linger).await;
        }
        let mut together = Vec::from_iter(policy.unless_expired(first));
        while together.len() < most
            && let Ok(next) = requests.try_recv()
        {
            together.extend(policy.unless_expired(next));
        }
        let call = call(together.into_iter().map(|pending| (pending.request, pending.reply_to)).collect());
        tokio::spawn(async move {
            call.await;
            drop((permit, quick_permit));
        });
    }
}

impl BatchPolicy {
    /// Returns the request if its caller still waits for it, and it has not waited too long for its turn. One that has
    /// waited too long is answered that it was not sent.
    fn unless_expired<Q>(self, waiting: Pending<Q>) -> Option<Pending<Q>> {
        let limit = self.max_wait.filter(|limit| waiting.since.elapsed() > *limit);
        let Some(limit) = limit.filter(|_| Protection::FreshClaims.is_on()) else {
            return Some(waiting).filter(|waiting| !waiting.reply_to.is_closed());
        };
        let why = format!("the connection to the server was busy for {}", format_duration(limit));
        // The caller may have gone.
        let _ = waiting.reply_to.send(Err(StoreError::NotSent(why.into())));
        None
    }
}

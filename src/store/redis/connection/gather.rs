//! Requests that come at about the same time, from tasks that know nothing of each other, go to the server together, and
//! what comes while others are under way goes with the next call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::job::format_duration;
use crate::lease::{Protection, Reply};
use crate::store::redis::scripts::Call;
use crate::store::{Replied, StoreError};

use super::batch::{MOST, decide};
use super::connect::{Connector, RESPONSE_TIMEOUT};

/// So many calls are under way without a pause: one that the server is at, and the next. What comes meanwhile shares a call.
const AT_ONCE: usize = 2;

/// A call that is not answered by then is on a slow line, and another is sent. A server at work has answered: it decides a
/// full call in some 3 ms. So at least [`MOST`] requests are sent in this time, up to what the habit allows for.
const PACE: Duration = Duration::from_millis(10);

/// A request waits this long for its turn and its answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// How requests of one kind are gathered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habit {
    /// The first waits so long for others.
    for_company: Duration,
    /// Calls under way at the most.
    at_a_time: usize,
    /// What has waited longer for its turn is not worth sending.
    worth_for: Option<Duration>,
}

impl Habit {
    /// Claims tell when they expect to arrive, and are refused a second later. Without company for a call, one may be sent in
    /// each pace of a round trip of half a second; how many claims that are is up to the replica.
    pub(crate) const CLAIMS: Self =
        Self { for_company: Duration::ZERO, at_a_time: 50, worth_for: Some(Duration::from_millis(500)) };

    /// Nobody waits for the end of a run but whoever waits for its lock. With the longest tails, as many calls are 2 MiB.
    pub(crate) const FINISHES: Self =
        Self { for_company: Duration::from_millis(1), at_a_time: 8, worth_for: None };
}

/// Gathers requests of one kind, until this is dropped.
pub(crate) struct Gatherer {
    waiting: mpsc::UnboundedSender<PendingCall>,
}

/// A request that waits to be made, and who waits for its answer.
struct PendingCall {
    call: Call,
    since: Instant,
    asker: oneshot::Sender<Replied>,
}

impl Gatherer {
    /// Gathers requests for this connection. Needs a running runtime.
    pub(crate) fn start(connector: Arc<Connector>, habit: Habit) -> Self {
        let (waiting, requests) = mpsc::unbounded_channel();
        tokio::spawn(send_out(connector, requests, habit));
        Self { waiting }
    }

    /// Makes the request with the next call. One that nobody waits for any more when that is made is left out.
    pub(crate) async fn submit(&self, call: Call) -> Result<Reply, StoreError> {
        let (asker, answer) = oneshot::channel();
        // What is not taken up is dropped, and its answer with it.
        let _ = self.waiting.send(PendingCall { call, since: Instant::now(), asker });
        match timeout(PATIENCE, answer).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(_)) => Err(StoreError::Unknown("the runtime is being shut down".into())),
            Err(_) => {
                Err(StoreError::Unknown(format!("no answer within {}", format_duration(PATIENCE)).into()))
            }
        }
    }
}

async fn send_out(
    connector: Arc<Connector>,
    mut requests: mpsc::UnboundedReceiver<PendingCall>,
    habit: Habit,
) {
    let all = Arc::new(Semaphore::new(habit.at_a_time));
    let quick = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let turn = Arc::clone(&all).acquire_owned().await.expect("it is never closed");
        // Without one, it is sent beside those that are not answered yet.
        let quick = timeout(PACE, Arc::clone(&quick).acquire_owned()).await;
        let Some(first) = requests.recv().await else { return };
        // Who asks at the same instant gets the chance to have asked.
        yield_now().await;
        if !habit.for_company.is_zero() && requests.len() + 1 < MOST {
            sleep(habit.for_company).await;
        }
        let mut together = Vec::from_iter(habit.still_worth(first));
        while together.len() < MOST
            && let Ok(next) = requests.try_recv()
        {
            together.extend(habit.still_worth(next));
        }
        let connector = Arc::clone(&connector);
        tokio::spawn(async move {
            let (calls, askers): (Vec<Call>, Vec<_>) =
                together.into_iter().map(|waiting| (waiting.call, waiting.asker)).unzip();
            let replies = match decide(&connector, RESPONSE_TIMEOUT, calls).await {
                Ok(replies) => replies,
                Err(error) => vec![Err(error); askers.len()],
            };
            drop((turn, quick));
            for (asker, reply) in askers.into_iter().zip(replies) {
                // Who has gone meanwhile knows that it may have been applied.
                let _ = asker.send(reply);
            }
        });
    }
}

impl Habit {
    /// The request, if somebody waits for it still, and it has not waited too long for its turn: then it is answered that it
    /// was not sent.
    fn still_worth(self, waiting: PendingCall) -> Option<PendingCall> {
        let limit = self.worth_for.filter(|limit| waiting.since.elapsed() > *limit);
        let Some(limit) = limit.filter(|_| Protection::FreshClaims.is_on()) else {
            return Some(waiting).filter(|waiting| !waiting.asker.is_closed());
        };
        let why = format!("the line to the server was busy for {}", format_duration(limit));
        // Who has gone meanwhile does not wait for it.
        let _ = waiting.asker.send(Err(StoreError::NotSent(why.into())));
        None
    }
}

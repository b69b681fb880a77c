//! Requests that come at about the same time, from tasks that know nothing of each other, go to the server together, and
//! what comes while others are under way goes with the next call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use crate::job::format_duration;
use crate::lease::Reply;
use crate::store::{Replied, StoreError};

use super::batch::{MOST, decide};
use super::connect::{Connector, RESPONSE_TIMEOUT};
use super::scripts::Call;

/// So many calls are under way at a time: one that the server is at, and the next.
const AT_A_TIME: usize = 2;

/// A request waits this long for its turn and its answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Gathers requests of one kind, until this is dropped.
pub(super) struct Gatherer {
    waiting: mpsc::UnboundedSender<Waiting>,
}

/// A request that waits to be made, and who waits for its answer.
struct Waiting {
    call: Call,
    asker: oneshot::Sender<Replied>,
}

impl Gatherer {
    /// Gathers requests for this connection; the first of them waits so long for others. Needs a running runtime.
    pub(super) fn start(connector: Arc<Connector>, for_company: Duration) -> Self {
        let (waiting, requests) = mpsc::unbounded_channel();
        tokio::spawn(send_out(connector, requests, for_company));
        Self { waiting }
    }

    /// Makes the request with the next call. One that nobody waits for any more when that is made is left out.
    pub(super) async fn submit(&self, call: Call) -> Result<Reply, StoreError> {
        let (asker, answer) = oneshot::channel();
        // What is not taken up is dropped, and its answer with it.
        let _ = self.waiting.send(Waiting { call, asker });
        match timeout(PATIENCE, answer).await {
            Ok(Ok(replied)) => replied,
            Ok(Err(_)) => Err(StoreError::Unknown("the runtime is being shut down".to_owned())),
            Err(_) => Err(StoreError::Unknown(format!("no answer within {}", format_duration(PATIENCE)))),
        }
    }
}

async fn send_out(
    connector: Arc<Connector>,
    mut requests: mpsc::UnboundedReceiver<Waiting>,
    for_company: Duration,
) {
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    loop {
        let turn = Arc::clone(&turns).acquire_owned().await.expect("it is never closed");
        let Some(first) = requests.recv().await else { return };
        // Who asks at the same instant gets the chance to have asked.
        yield_now().await;
        if !for_company.is_zero() && requests.len() + 1 < MOST {
            sleep(for_company).await;
        }
        let mut together = vec![first];
        while together.len() < MOST
            && let Ok(next) = requests.try_recv()
        {
            together.push(next);
        }
        together.retain(|waiting| !waiting.asker.is_closed());
        let connector = Arc::clone(&connector);
        tokio::spawn(async move {
            let (calls, askers): (Vec<Call>, Vec<_>) =
                together.into_iter().map(|waiting| (waiting.call, waiting.asker)).unzip();
            let replies = match decide(&connector, RESPONSE_TIMEOUT, calls).await {
                Ok(replies) => replies,
                Err(error) => vec![Err(error); askers.len()],
            };
            drop(turn);
            for (asker, reply) in askers.into_iter().zip(replies) {
                // Who has gone meanwhile knows that it may have been applied.
                let _ = asker.send(reply);
            }
        });
    }
}

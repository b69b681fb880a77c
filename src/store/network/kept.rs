//! A connection that is either up or known to be down, and is opened again by a task of its own whenever it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::store::{Diagnosis, StoreError};

/// The pauses between connection attempts grow from the first to the second.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A connection that is up.
pub(crate) struct Live<C> {
    pub(crate) client: C,
    number: u64,
    /// How many answers arrived over it.
    heard: AtomicU64,
    /// The task that moves its data.
    _driver: AbortOnDropHandle<()>,
}

enum State<C> {
    /// `tried`: whether an attempt to open it again has failed.
    Down {
        why: Diagnosis,
        tried: bool,
    },
    Up(Arc<Live<C>>),
}

/// One connection, kept up until this is dropped.
pub(crate) struct Kept<C> {
    state: Arc<watch::Sender<State<C>>>,
    _keeper: AbortOnDropHandle<()>,
}

impl<C> Live<C> {
    /// Returns the connection's number: each one has a larger number than the one before.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Counts an answer.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many answers have arrived.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }
}

impl<C: Send + Sync + 'static> Kept<C> {
    /// Starts to connect, and returns at once. `label` names the server for people. `connect` makes one attempt, which is
    /// bounded in time; it returns the client, and the future that moves the data and tells why the connection ended. Needs a
    /// running Tokio runtime.
    pub(crate) fn start<F, D>(label: String, connect: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(C, D), Diagnosis>> + Send + 'static,
        D: Future<Output = Diagnosis> + Send + 'static,
    {
        let down = State::Down { why: "not connected yet".into(), tried: false };
        let state = Arc::new(watch::Sender::new(down));
        let keeper = tokio::spawn(keep_up(label, connect, Arc::clone(&state)));
        Self { state, _keeper: AbortOnDropHandle::new(keeper) }
    }

    /// Waits until the connection is up, or until a cause is known for which another attempt would fail as well; no longer
    /// than `limit`.
    pub(crate) async fn ready(&self, limit: Duration) -> Result<(), StoreError> {
        let mut states = self.state.subscribe();
        let is_settled = |state: &State<C>| match state {
            State::Up(_) => true,
            State::Down { why, .. } => why.certain_cause().is_some(),
        };
        // The result is read from the state below.
        let _ = timeout(limit, states.wait_for(is_settled)).await;
        self.live().map(drop)
    }

    /// Whether the connection that was just dropped comes up again by the first attempt, and within this limit.
    pub(crate) async fn is_back(&self, limit: Duration) -> bool {
        let mut states = self.state.subscribe();
        let outcome = states.wait_for(|state| !matches!(state, State::Down { tried: false, .. }));
        timeout(limit, outcome).await.is_ok_and(|state| matches!(state.as_deref(), Ok(State::Up(_))))
    }

    /// Returns the connection, or why there is none: nothing was sent.
    pub(crate) fn live(&self) -> Result<Arc<Live<C>>, StoreError> {
        match &*self.state.borrow() {
            State::Up(live) => Ok(Arc::clone(live)),
            State::Down { why, .. } => Err(StoreError::NotSent(why.clone())),
        }
    }

    /// Drops the connection of this number, unless another one has taken its place.
    pub(crate) fn drop_connection(&self, doubted: u64, why: &Diagnosis) {
        drop_connection(&self.state, doubted, why);
    }
}

fn drop_connection<C>(state: &watch::Sender<State<C>>, doubted: u64, why: &Diagnosis) {
    state.send_if_modified(|state| {
        let is_it = matches!(state, State::Up(live) if live.number == doubted);
        if is_it {
            *state = State::Down { why: why.clone(), tried: false };
        }
        is_it
    });
}

async fn keep_up<C, F, D>(label: String, connect: impl Fn() -> F, state: Arc<watch::Sender<State<C>>>)
where
    F: Future<Output = Result<(C, D), Diagnosis>>,
    D: Future<Output = Diagnosis> + Send + 'static,
{
    let mut states = state.subscribe();
    let (mut pause, mut number) = (RETRY_PAUSES.0, 0);
    loop {
        let (client, driver) = match connect().await {
            Ok(connected) => connected,
            Err(why) => {
                state.send_replace(State::Down { why, tried: true });
                sleep(pause).await;
                pause = (pause * 2).min(RETRY_PAUSES.1);
                continue;
            }
        };
        (number, pause) = (number + 1, RETRY_PAUSES.0);
        debug!(store = %label, "connected");
        let since = Instant::now();
        let (ended, end) = oneshot::channel();
        let _driver = AbortOnDropHandle::new(tokio::spawn(async move {
            // The keeper may have gone.
            let _ = ended.send(driver.await);
        }));
        let live = Live { client, number, heard: AtomicU64::new(0), _driver };
        state.send_replace(State::Up(Arc::new(live)));
        // A connection that ends while it is idle is opened again as well, so that the next call finds it up.
        tokio::select! {
            doubted = states.wait_for(|state| matches!(state, State::Down { .. })) => {
                if doubted.is_err() {
                    return;
                }
            }
            why = end => {
                let why = why.unwrap_or_else(|_| "the connection was closed".into());
                drop_connection(&state, number, &why);
            }
        }
        debug!(store = %label, "connection dropped");
        if since.elapsed() < RETRY_PAUSES.1 {
            sleep(pause).await;
        }
    }
}

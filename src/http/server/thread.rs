//! The thread of the HTTP server, with a runtime of its own, so that no request can delay the replica's work. It also answers
//! questions for the output of runs and appends the replica's news to the feed, and exists for that where HTTP is off.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, spawn_blocking, yield_now};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::http::board::read_when_due;
use crate::http::route::serve::router;
use crate::http::state::{HttpSources, HttpState};
use crate::metrics::HttpTally;
use crate::news::{NewsPublisher, OwnNews};
use crate::relay::OutputResponder;
use crate::run::lower_thread_priority;
use crate::store::{Store, StoreError};

use super::connection;
use super::slots::ConnectionSlots;

/// The name of the thread, as `top -H` shows it; the second where HTTP is off.
const NAMES: (&str, &str) = ("http", "output");

/// How much lower its priority is than that of the replica, as a difference of nice values.
const LOWER_BY: i32 = 10;

/// The pause after a connection could not be accepted: no descriptor may be free.
const PAUSE: Duration = Duration::from_millis(100);

/// The pause after the reading of jobs has panicked.
const READS_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Threads for calls that block, such as reading a log. A disk that hangs holds four of them.
const BLOCKING_THREADS: usize = 8;

/// How long the end waits for connections, and the caller of `stop` for the thread.
const ENDS_WITHIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));

/// Starts the thread.
#[derive(Debug)]
pub struct HttpThread;

/// The running thread.
#[derive(Debug)]
pub struct HttpHandle {
    /// Where it listens; `None` where HTTP is off.
    pub address: Option<SocketAddr>,
    stop: CancellationToken,
    ended: mpsc::Receiver<()>,
}

impl HttpThread {
    /// Serves connections of this listener, if there is one, answers questions and appends news, until the handle is stopped.
    /// `open_store` connects to the store of the replica once more, on the thread's runtime: no reading for a page delays
    /// a request of the replica.
    ///
    /// # Errors
    /// If the thread or its runtime cannot be created.
    pub fn start(
        listener: Option<TcpListener>,
        sources: HttpSources,
        responder: OutputResponder,
        open_store: impl FnOnce() -> Result<Arc<dyn Store>, StoreError> + Send + 'static,
    ) -> io::Result<HttpHandle> {
        let stop = CancellationToken::new();
        let publisher =
            NewsPublisher::new(&sources.events, sources.facts.clone(), Arc::clone(&sources.clock));
        let served = listener.map(|listener| Served::new(listener, sources, publisher.own())).transpose()?;
        let address = served.as_ref().map(|served| served.shared.address);
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_keep_alive(Duration::MAX)
            .enable_all()
            .build()?;
        let (end, ended) = mpsc::channel();
        let (name, stopped) = (if served.is_some() { NAMES.0 } else { NAMES.1 }, stop.clone());
        let work = SideWork { served, responder, publisher };
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            lower_thread_priority(LOWER_BY);
            run(&runtime, work, open_store, stopped);
            // Nobody may wait for it.
            let _ = end.send(());
        })?;
        Ok(HttpHandle { address, stop, ended })
    }
}

/// What the thread does.
struct SideWork {
    /// `None` where HTTP is off.
    served: Option<Served>,
    responder: OutputResponder,
    publisher: NewsPublisher,
}

/// What is served over HTTP.
struct Served {
    listener: TcpListener,
    shared: Arc<HttpState>,
}

impl Served {
    fn new(listener: TcpListener, sources: HttpSources, own: &Arc<OwnNews>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let shared = Arc::new(HttpState::new(listener.local_addr()?, sources, Arc::clone(own)));
        Ok(Self { listener, shared })
    }
}

impl HttpHandle {
    /// Stops the server: connections end, and the thread with them. Waits a second at most.
    pub fn stop(self) {
        self.stop.cancel();
        // A thread that does not end in time ends with the process.
        let _ = self.ended.recv_timeout(ENDS_WITHIN.1);
    }
}

fn run(
    runtime: &Runtime,
    work: SideWork,
    open_store: impl FnOnce() -> Result<Arc<dyn Store>, StoreError>,
    stop: CancellationToken,
) {
    runtime.block_on(async move {
        let SideWork { served, responder, publisher } = work;
        // The first thread for blocking calls is started here and never ends: once the jobs have used up the process limit of
        // the user, no thread can be created, and tokio panics if it has none.
        let _ = spawn_blocking(|| ()).await;
        let (mut readers, mut publishing) = (JoinSet::new(), JoinSet::new());
        match open_store() {
            Ok(store) => {
                let tally = served.as_ref().map(|served| Arc::clone(&served.shared.tally));
                let tally = tally.unwrap_or_else(|| Arc::new(HttpTally::of(&[])));
                publishing.spawn(publisher.run(Arc::clone(&store), Arc::clone(&tally), stop.clone()));
                readers.spawn(responder.run(Arc::clone(&store), tally, stop.clone()));
                if let Some(served) = &served {
                    readers.spawn(keep_reading(Arc::clone(&served.shared), store));
                }
            }
            Err(error) => warn!(
                %error,
                "the store cannot be opened once more: metrics tell only what this replica saw, and its news and the \
                 output of its runs are shown on this machine alone"
            ),
        }
        match served {
            Some(served) => serve(served, stop).await,
            None => stop.cancelled().await,
        }
        // The last news were being appended meanwhile, within a bound.
        while publishing.join_next().await.is_some() {}
    });
}

/// Reads the store for pages and metrics, without end. If that panics, it starts again: pages would stay as they are.
async fn keep_reading(shared: Arc<HttpState>, store: Arc<dyn Store>) {
    loop {
        let mut reading = JoinSet::new();
        reading.spawn(read_when_due(Arc::clone(&shared), Arc::clone(&store)));
        if let Some(Err(error)) = reading.join_next().await {
            error!(%error, "jobs are not read for HTTP: trying again");
        }
        sleep(READS_AGAIN_AFTER).await;
    }
}

/// Serves connections until it is stopped.
async fn serve(served: Served, stop: CancellationToken) {
    let Served { listener, shared } = served;
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let (router, slots) = (router(Arc::clone(&shared)), ConnectionSlots::default());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match slots.take() {
                    Some(slot) => {
                        let served = connection::serve(stream, peer, slot, router.clone(), stop.clone());
                        connections.spawn(served);
                        // A request that is there already is read before the connection might have to make room.
                        yield_now().await;
                    }
                    None => {
                        shared.tally.count_refused();
                        refuse(&stream);
                    }
                },
                Err(_) => sleep(PAUSE).await,
            },
        }
    }
    drop(listener);
    let end = async {
        while connections.join_next().await.is_some() {}
        // Orders that no replica has taken are withdrawn.
        shared.acts.all_ended().await;
    };
    let _ = timeout(ENDS_WITHIN.0, end).await;
}

/// Tells a client that all connections are in use, as far as the socket takes that at once.
fn refuse(stream: &TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let _ = stream.try_write(ANSWER);
}

//! The thread of the HTTP server, with a runtime of its own, so that no request can delay the replica's work.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::http::board::read_when_due;
use crate::http::route::serve::router;
use crate::http::state::{HttpSources, Shared};
use crate::run::set_thread_nice;
use crate::store::{Store, StoreError};

use super::connection;
use super::slots::ConnectionSlots;

/// The name of the thread, as `top -H` shows it.
const NAME: &str = "http";

/// How much lower its priority is than that of the replica.
const NICE: i32 = 10;

/// The pause after a connection could not be accepted: no descriptor may be free.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the end waits for connections, and the caller of `stop` for the thread.
const ENDS_WITHIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));

/// Starts the thread.
#[derive(Debug)]
pub struct HttpThread;

/// The running thread.
#[derive(Debug)]
pub struct HttpHandle {
    /// Where it listens.
    pub address: SocketAddr,
    stop: CancellationToken,
    ended: mpsc::Receiver<()>,
}

impl HttpThread {
    /// Serves connections of this listener until the handle is stopped. `open_store` connects to the store of the
    /// replica once more, on the thread's runtime: no reading for a page delays a request of the replica.
    ///
    /// # Errors
    /// If the thread or its runtime cannot be created.
    pub fn start(
        listener: TcpListener,
        sources: HttpSources,
        open_store: impl FnOnce() -> Result<Arc<dyn Store>, StoreError> + Send + 'static,
    ) -> io::Result<HttpHandle> {
        let (address, stop) = (listener.local_addr()?, CancellationToken::new());
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = mpsc::channel();
        let (shared, stopped) = (Arc::new(Shared::new(address, sources)), stop.clone());
        std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            set_thread_nice(NICE);
            run(&runtime, listener, shared, open_store, stopped);
            // Nobody may wait for it.
            let _ = end.send(());
        })?;
        Ok(HttpHandle { address, stop, ended })
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
    listener: TcpListener,
    shared: Arc<Shared>,
    open_store: impl FnOnce() -> Result<Arc<dyn Store>, StoreError>,
    stop: CancellationToken,
) {
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let (router, slots) = (router(Arc::clone(&shared)), ConnectionSlots::default());
        let mut connections = JoinSet::new();
        let mut reader = JoinSet::new();
        match open_store() {
            Ok(store) => drop(reader.spawn(read_when_due(Arc::clone(&shared), store))),
            Err(error) => {
                warn!(%error, "HTTP: the store cannot be opened, only what this replica saw is served")
            }
        }
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => match slots.take() {
                        Some(slot) => drop(connections.spawn(connection::serve(
                            stream, peer, slot, router.clone(), stop.clone(),
                        ))),
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
        let _ = timeout(ENDS_WITHIN.0, async { while connections.join_next().await.is_some() {} }).await;
    });
}

/// Tells a client that all connections are in use, as far as the socket takes that at once.
fn refuse(stream: &TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let _ = stream.try_write(ANSWER);
}

//! A connection whose peer has to read: if it takes nothing for a while, or next to nothing, the connection is closed.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long a write may wait for the peer without progress.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// So many bytes are progress, or whatever is left to write: a peer that takes a byte now and then would keep an answer in
/// memory for hours.
const PROGRESS: usize = 16 << 10;

/// A connection with a limit on how long a write may stall.
#[derive(Debug)]
pub(super) struct LimitedStream {
    stream: TcpStream,
    stalled: Pin<Box<Sleep>>,
    /// How many bytes the peer has taken since a write had to wait for it; `None` while none has.
    taken_since: Option<usize>,
}

impl LimitedStream {
    /// Limits the writes of a connection.
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, stalled: Box::pin(sleep(STALLED_AFTER)), taken_since: None }
    }

    /// Fails once writes have made too little progress for too long.
    fn limit(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = written {
            self.taken_since =
                self.taken_since.map(|taken| taken.saturating_add(count)).filter(|taken| *taken < PROGRESS);
        }
        if written.is_ready() {
            return written;
        }
        if self.taken_since.is_none() {
            self.taken_since = Some(0);
            self.stalled.as_mut().reset(Instant::now() + STALLED_AFTER);
        }
        ready!(self.stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.limit(progress, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.limit(progress, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Everything was written: the peer has kept up.
        self.taken_since = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

//! A connection whose peer has to read: if it takes nothing for a while, the connection is closed.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long a write may wait for the peer without any progress.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// A connection with a limit on how long a write may stall.
#[derive(Debug)]
pub(super) struct LimitedStream {
    stream: TcpStream,
    stalled: Pin<Box<Sleep>>,
    is_stalling: bool,
}

impl LimitedStream {
    /// Limits the writes of a connection.
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, stalled: Box::pin(sleep(STALLED_AFTER)), is_stalling: false }
    }

    /// Fails once writes have made no progress for too long.
    fn limit<T>(&mut self, progress: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.is_stalling = false;
            return progress;
        }
        if !std::mem::replace(&mut self.is_stalling, true) {
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
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

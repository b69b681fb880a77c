//! The byte stream of a connection. It fails if the server sends more than its answers can be, or begins with something
//! that is no answer of a Redis server.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::job::quoted_within;

/// Answers of RESP 2 and 3 begin with one of these bytes.
const FIRST_BYTES: &[u8] = b"+-:$*_#,(!=%~>|";

/// A TLS alert begins with this byte.
const TLS_ALERT: u8 = 0x15;

/// At most this many characters of what is no answer are shown.
const SHOWN: usize = 60;

/// Why the other end is no Redis server that can be used in this way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It does not answer the TLS handshake.
    NoHandshake,
    /// It answers in TLS.
    Tls,
    /// It closed the connection instead of sending a first answer.
    Silent,
    /// It sent this instead of an answer.
    Other(String),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHandshake => f.write_str("does not answer the TLS handshake"),
            Self::Tls => f.write_str("answers in TLS"),
            Self::Silent => f.write_str("closed the connection without an answer"),
            Self::Other(said) => write!(f, "does not speak the Redis protocol: it sent `{said}`"),
        }
    }
}

impl std::error::Error for Misfit {}

impl From<Misfit> for io::Error {
    fn from(misfit: Misfit) -> Self {
        Self::new(io::ErrorKind::InvalidData, misfit)
    }
}

impl Misfit {
    /// Returns what the first bytes of a stream show; `None` if an answer may begin so.
    fn of(first: &[u8]) -> Option<Self> {
        match first.first() {
            None => Some(Self::Silent),
            Some(byte) if FIRST_BYTES.contains(byte) => None,
            Some(&TLS_ALERT) => Some(Self::Tls),
            Some(_) => {
                let line = first.split(|byte| *byte == b'\n').next().unwrap_or(first);
                Some(Self::Other(quoted_within(String::from_utf8_lossy(line).trim_end(), SHOWN)))
            }
        }
    }
}

/// How many bytes a server has sent since its last answer was processed, and how many it may send.
#[derive(Debug)]
pub(crate) struct Untaken {
    bytes: AtomicUsize,
    most: usize,
}

impl Untaken {
    /// Returns a counter that allows this many bytes.
    pub(crate) fn up_to(most: usize) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), most })
    }

    /// Records that an answer was processed.
    pub(crate) fn take(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }
}

/// What carries a connection: TCP, TLS or a Unix socket.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A stream that fails if the server sends too much, which would all stay in memory until the answer is complete, or if it
/// sends something that is no answer.
pub(crate) struct Bounded {
    stream: Box<dyn ByteStream>,
    untaken: Arc<Untaken>,
    is_new: bool,
}

impl Bounded {
    /// Wraps a stream that was just opened.
    pub(crate) fn new(stream: Box<dyn ByteStream>, untaken: &Arc<Untaken>) -> Self {
        Self { stream, untaken: Arc::clone(untaken), is_new: true }
    }
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        let is_reset = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionReset;
        if std::mem::take(&mut self.is_new)
            && (result.is_ok() || result.as_ref().is_err_and(is_reset))
            && let Some(misfit) = Misfit::of(&into.filled()[before..])
        {
            return Poll::Ready(Err(misfit.into()));
        }
        result?;
        let read = into.filled().len() - before;
        let Untaken { bytes, most } = &*self.untaken;
        if bytes.fetch_add(read, Ordering::Relaxed) + read > *most {
            let message = format!("the server sent more than {} MiB, and no end of an answer", most >> 20);
            return Poll::Ready(Err(io::Error::other(message)));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_tells_what_is_at_the_other_end() {
        let other = |said: &str| Some(Misfit::Other(said.to_owned()));
        for (first, misfit) in [
            (b"+OK\r\n".as_slice(), None),
            (b"-NOAUTH Authentication required.\r\n", None),
            (b"%7\r\n", None),
            (b"", Some(Misfit::Silent)),
            (b"\x15\x03\x01\x00\x02\x02\x28", Some(Misfit::Tls)),
            (b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n", other("HTTP/1.1 400 Bad Request")),
            (b"\x1b[2Jx", other("\\u{1b}[2Jx")),
        ] {
            assert_eq!(Misfit::of(first), misfit, "{first:?}");
        }
    }
}

//! Copies what a job prints to the stdout and stderr of this process. The job gets pipes instead of the terminal: with the
//! terminal it could read what the caller types, or control the terminal.

use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::print::escapes::escape_for_terminal;

/// Bytes that are read at once. A longer line reaches a terminal in pieces.
const CHUNK: usize = 16 * 1024;

/// Bytes that may still be read from a pipe after the end of the job. More than that comes from a background process that
/// prints without end.
const MAX_REST: usize = 1 << 20;

/// Two pipes, and the tasks that copy from them.
#[derive(Debug)]
pub(crate) struct Relay {
    writers: Arc<[OwnedFd; 2]>,
    over: CancellationToken,
    copying: JoinSet<()>,
}

impl Relay {
    /// Starts to copy. Needs a running runtime.
    pub(crate) fn start() -> io::Result<Self> {
        let (out, from_out) = pipe::pipe()?;
        let (err, from_err) = pipe::pipe()?;
        let (over, mut copying) = (CancellationToken::new(), JoinSet::new());
        copying.spawn(copy(from_out, tokio::io::stdout(), io::stdout().is_terminal(), over.clone()));
        copying.spawn(copy(from_err, tokio::io::stderr(), io::stderr().is_terminal(), over.clone()));
        let writers = Arc::new([out.into_blocking_fd()?, err.into_blocking_fd()?]);
        Ok(Self { writers, over, copying })
    }

    /// Returns what the job prints to: its stdout and its stderr.
    pub(crate) fn writers(&self) -> Arc<[OwnedFd; 2]> {
        Arc::clone(&self.writers)
    }

    /// Ends the relay after the end of the job: returns once everything that the job printed is copied. Does not wait for
    /// processes that the job left in the background.
    pub(crate) async fn finish(mut self) {
        self.over.cancel();
        while self.copying.join_next().await.is_some() {}
    }
}

/// Copies until the pipe is closed, until it is empty after the end of the job, or until the reader of the output is gone. In
/// the last case the job's next write fails, as in any pipeline.
async fn copy(
    mut from: pipe::Receiver,
    mut to: impl AsyncWrite + Unpin,
    is_terminal: bool,
    over: CancellationToken,
) {
    let mut kept = Vec::with_capacity(CHUNK);
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        let is_last = tokio::select! {
            biased;
            read = from.read_buf(&mut chunk) => !read.is_ok_and(|count| count > 0),
            () = over.cancelled() => {
                chunk = rest(&from);
                true
            }
        };
        kept.append(&mut chunk);
        let length =
            if is_last || !is_terminal || kept.len() >= CHUNK { kept.len() } else { whole_lines(&kept) };
        let ready: Vec<u8> = kept.drain(..length).collect();
        let shown = if is_terminal { escape_for_terminal(&ready) } else { ready.as_slice().into() };
        if to.write_all(&shown).await.is_err() || to.flush().await.is_err() || is_last {
            return;
        }
    }
}

/// Reads what the pipe still holds, directly from the kernel: the runtime may not have reported the last bytes yet.
fn rest(from: &pipe::Receiver) -> Vec<u8> {
    let (mut rest, mut chunk) = (Vec::new(), [0; CHUNK]);
    while rest.len() < MAX_REST
        && let Ok(count @ 1..) = nix::unistd::read(from, &mut chunk)
    {
        rest.extend_from_slice(&chunk[..count]);
    }
    rest
}

fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is shown of `written`, which the job printed before it ended, while the pipe is still open for writing.
    async fn shown(written: &[u8], is_terminal: bool) -> Vec<u8> {
        let (writer, from) = pipe::pipe().expect("a pipe");
        let mut shown = Vec::new();
        nix::unistd::write(&writer, written).expect("it is empty");
        let over = CancellationToken::new();
        over.cancel();
        copy(from, &mut shown, is_terminal, over).await;
        drop(writer);
        shown
    }

    #[tokio::test]
    async fn what_was_printed_is_shown_though_the_pipe_is_still_held() {
        assert_eq!(shown(b"a\xff\x1b[2J\nb", false).await, b"a\xff\x1b[2J\nb");
    }

    #[tokio::test]
    async fn a_terminal_obeys_nothing_of_it() {
        assert_eq!(shown("ü\x1b[2J\nb".as_bytes(), true).await, "ü^[[2J\nb".as_bytes());
    }
}

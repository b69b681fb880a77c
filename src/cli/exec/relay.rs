//! What a job prints, on its way to the stdout and stderr of this process. The job has pipes and no terminal: it could read
//! what its caller types, or have the terminal obey it.

use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cli::print::escapes::tame;

/// As much is read at once. A longer line reaches a terminal in pieces.
const CHUNK: usize = 16 * 1024;

/// What may still be read when the job is over. More is from a background process that prints without end.
const MAX_REST: usize = 1 << 20;

/// Two pipes, and what copies from them.
#[derive(Debug)]
pub(crate) struct Relay {
    writers: Arc<[OwnedFd; 2]>,
    over: CancellationToken,
    copying: JoinSet<()>,
}

impl Relay {
    /// Begins to copy. Needs a running runtime.
    pub(crate) fn start() -> io::Result<Self> {
        let (out, from_out) = pipe::pipe()?;
        let (err, from_err) = pipe::pipe()?;
        let (over, mut copying) = (CancellationToken::new(), JoinSet::new());
        copying.spawn(copy(from_out, tokio::io::stdout(), io::stdout().is_terminal(), over.clone()));
        copying.spawn(copy(from_err, tokio::io::stderr(), io::stderr().is_terminal(), over.clone()));
        let writers = Arc::new([out.into_blocking_fd()?, err.into_blocking_fd()?]);
        Ok(Self { writers, over, copying })
    }

    /// What the job prints to: its stdout and its stderr.
    pub(crate) fn writers(&self) -> Arc<[OwnedFd; 2]> {
        Arc::clone(&self.writers)
    }

    /// The job is over: returns once what it has printed is passed on. What it left in the background is not waited for.
    pub(crate) async fn finish(mut self) {
        self.over.cancel();
        while self.copying.join_next().await.is_some() {}
    }
}

/// Copies until the pipe ends, or holds nothing when the job is over, or nobody reads any more: then the job's next line
/// is refused, as in any pipeline.
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
        let shown = if is_terminal { tame(&ready) } else { ready.as_slice().into() };
        if to.write_all(&shown).await.is_err() || to.flush().await.is_err() || is_last {
            return;
        }
    }
}

/// What the pipe holds. The kernel is asked itself: the runtime may not have heard yet of the last bytes.
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

    /// What is shown of what was written before the job was over, while somebody still holds the pipe.
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

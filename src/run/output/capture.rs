//! Reads what a job prints. It keeps up with any job in bounded memory. Once the job is over, it waits neither for a
//! pipe that a background process holds nor for a disk that hangs.
//!
//! What a background process prints after the end of its job is not read: it gets SIGPIPE, as in any closed pipeline.

use std::io;
use std::time::Duration;

use nix::errno::Errno;
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

use crate::run::attempt::process::Pipes;

use super::sink::{JobStream, Sink};

/// The length of one read, in bytes: a quarter of what a pipe holds.
const READ: usize = 16 * 1024;

/// How many reads of one pipe follow each other, before the other pipe gets its turn.
const READS_IN_A_ROW: usize = 4;

/// The most bytes that are read from a pipe after the end. A pipe holds 64 KiB unless the job enlarged it, to at most
/// 1 MiB; anything beyond is from a background process that continues to print.
const MAX_REST: usize = 1024 * 1024;

/// A batch is written at the latest when it has this many bytes.
const BATCH: usize = 64 * 1024;

/// How long the end of a run, and so the release of its lock, waits for a disk that hangs.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// One attempt's output on its way from the pipes to the sink.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    out: Option<Receiver>,
    err: Option<Receiver>,
    sink: Sink<'a>,
}

/// The result of a read from a pipe.
enum PipeRead {
    Bytes(usize),
    Dry,
    Ended,
}

impl<'a> Output<'a> {
    pub(crate) fn new(sink: Sink<'a>) -> Self {
        Self { out: None, err: None, sink }
    }

    /// Connects the pipes to read from, if there are any.
    pub(crate) fn connect(&mut self, pipes: Option<Pipes>) {
        (self.out, self.err) = pipes.map(|pipes| (pipes.out, pipes.err)).unzip();
    }

    /// Adds a message of ours to the output, as if the job had printed it.
    pub(crate) fn say(&mut self, message: &str) {
        self.sink.take(JobStream::Err, format!("solocron: {message}\n").as_bytes());
    }

    /// Passes the output on until `over`, and then what is left in the pipes.
    pub(crate) async fn pass_on(&mut self, over: &CancellationToken) {
        let given_up = async {
            over.cancelled().await;
            tokio::time::sleep(FLUSH_LIMIT).await;
        };
        let log = self.sink.log();
        tokio::select! {
            biased;
            () = self.pass_on_all(over) => {}
            () = given_up => log.broke(&io::Error::from(io::ErrorKind::TimedOut)),
        }
    }

    pub(crate) fn sink(&self) -> &Sink<'a> {
        &self.sink
    }

    async fn pass_on_all(&mut self, over: &CancellationToken) {
        let mut buffer = Vec::new();
        while self.out.is_some() || self.err.is_some() {
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                () = readable(self.out.as_ref()) => {}
                () = readable(self.err.as_ref()) => {}
            }
            buffer.resize(READ, 0);
            read_some(&mut self.out, JobStream::Out, &mut buffer, &mut self.sink);
            read_some(&mut self.err, JobStream::Err, &mut buffer, &mut self.sink);
            self.sink.flush().await;
            // A job that prints faster than this task reads must not delay the stop order.
            tokio::task::consume_budget().await;
        }
        over.cancelled().await;
        buffer.resize(READ, 0);
        for (pipe, stream) in [(self.out.take(), JobStream::Out), (self.err.take(), JobStream::Err)] {
            if let Some(pipe) = pipe {
                read_rest(&pipe, stream, &mut buffer, &mut self.sink).await;
            }
        }
        self.sink.finish();
        self.sink.flush().await;
    }
}

/// Waits until there is something to read; waits without end if the pipe has ended.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // An error shows again in the read that follows.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

fn read_some(pipe: &mut Option<Receiver>, stream: JobStream, buffer: &mut [u8], sink: &mut Sink<'_>) {
    for _ in 0..READS_IN_A_ROW {
        let Some(open) = pipe else { return };
        match classify(open.try_read(buffer)) {
            PipeRead::Bytes(count) => sink.take(stream, &buffer[..count]),
            PipeRead::Dry => return,
            PipeRead::Ended => *pipe = None,
        }
    }
}

/// Reads what is in the pipe now. Reads the pipe directly, as the runtime may not have noticed the last bytes yet.
async fn read_rest(pipe: &Receiver, stream: JobStream, buffer: &mut [u8], sink: &mut Sink<'_>) {
    let mut rest = MAX_REST;
    while rest > 0 {
        match classify(nix::unistd::read(pipe, buffer).map_err(Errno::into)) {
            PipeRead::Bytes(count) => {
                sink.take(stream, &buffer[..count]);
                rest = rest.saturating_sub(count);
            }
            PipeRead::Dry | PipeRead::Ended => return,
        }
        if sink.waiting() >= BATCH {
            sink.flush().await;
        }
    }
}

fn classify(read: io::Result<usize>) -> PipeRead {
    match read {
        Ok(0) => PipeRead::Ended,
        Ok(count) => PipeRead::Bytes(count),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => PipeRead::Bytes(0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => PipeRead::Dry,
        Err(_) => PipeRead::Ended,
    }
}

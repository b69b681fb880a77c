//! Where a job's output goes: stamped lines in the run's log, lines of the replica's own log, the tail. An error
//! there is logged once per run and costs output, never the job.
//!
//! A line of the log is `2026-11-20T12:00:00.123Z out text`, stamped (UTC) when it was complete, with `err` for stderr;
//! the text is the job's own bytes, whatever they are. Of a line longer than 16 KiB, every piece but the last is
//! marked `out+` or `err+`: the line continues in the next piece with the same word.

use std::mem;
use std::time::Duration;

use crate::run::history::run_log::RunLog;
use crate::time::UtcMillis;

use super::lines::{LineCutter, PieceEnd};
use super::log_parts::PartedLog;
use super::tail::Tail;

/// A batch that grew beyond this many bytes frees its memory once it is written.
const BATCH: usize = 64 * 1024;

/// How long a run waits for a disk that does not answer. Then it continues, and ends, without its log.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the lines of a job go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JobOutput {
    /// To the run's log.
    #[default]
    File,
    /// To the replica's own log.
    Stdout,
    /// To both.
    Both,
}

/// One of the two streams of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobStream {
    Out,
    Err,
}

/// The stamp of the current millisecond, formatted once for all its lines.
#[derive(Debug, Default)]
struct Stamp {
    at: Option<UtcMillis>,
    text: String,
}

/// The receiving end of one attempt's output.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    log: &'a RunLog,
    output: JobOutput,
    out: LineCutter,
    err: LineCutter,
    tail: Tail,
    stamp: Stamp,
    batch: Vec<u8>,
    file: Option<PartedLog>,
    /// The most bytes that the run's log may take.
    limit: u64,
    written: u64,
}

impl JobStream {
    const fn word(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Err => "err",
        }
    }
}

impl Stamp {
    fn at(&mut self, now: UtcMillis) -> &str {
        if self.at != Some(now) {
            self.at = Some(now);
            self.text = now.to_string();
        }
        &self.text
    }
}

impl<'a> Sink<'a> {
    /// Returns the sink for a run whose log takes at most `limit` bytes.
    pub(crate) fn new(log: &'a RunLog, output: JobOutput, limit: u64) -> Self {
        Self {
            log,
            output,
            out: LineCutter::default(),
            err: LineCutter::default(),
            tail: Tail::default(),
            stamp: Stamp::default(),
            batch: Vec::new(),
            file: None,
            limit,
            written: 0,
        }
    }

    /// Takes the next bytes of a stream.
    pub(crate) fn take(&mut self, stream: JobStream, bytes: &[u8]) {
        self.tail.take(bytes);
        self.cut(stream, Some(bytes));
    }

    /// Ends both streams: their last lines are complete, even without a newline.
    pub(crate) fn finish(&mut self) {
        self.cut(JobStream::Out, None);
        self.cut(JobStream::Err, None);
    }

    /// Returns how many bytes wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.batch.len()
    }

    /// Returns the log of the run.
    pub(crate) fn log(&self) -> &'a RunLog {
        self.log
    }

    /// Returns the end of the output.
    pub(crate) fn tail(&self) -> String {
        self.tail.text()
    }

    /// Returns how many bytes were written to the run's log.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Writes the bytes that wait to the run's log, off the runtime. After an error, output of this run is dropped.
    pub(crate) async fn flush(&mut self) {
        let mut batch = mem::take(&mut self.batch);
        if !batch.is_empty() && !self.log.is_broken() {
            let (path, file, lines) = (self.log.path().to_owned(), self.file.take(), mem::take(&mut batch));
            let limit = self.limit;
            let write = move || {
                let mut file = file.map_or_else(|| PartedLog::open(path, limit), Ok)?;
                file.append(&lines).map(|()| (file, lines))
            };
            match self.log.disk().work(PATIENCE, write, drop).await {
                Ok((file, lines)) => {
                    self.file = Some(file);
                    self.written += lines.len() as u64;
                    batch = lines;
                }
                Err(error) => self.log.broke(&error),
            }
        }
        batch.clear();
        batch.shrink_to(BATCH);
        self.batch = batch;
    }

    /// Cuts the stream's next bytes, or its end, and passes the lines on.
    fn cut(&mut self, stream: JobStream, bytes: Option<&[u8]>) {
        let (log, output, batch) = (self.log, self.output, &mut self.batch);
        let stamp = self.stamp.at(log.now());
        let pass_on = |text: &[u8], piece: PieceEnd| {
            if output != JobOutput::Stdout && !log.is_broken() {
                stamp_line(batch, stamp, stream, text, piece);
            }
            if output != JobOutput::File {
                let (job, run, line) = (log.job(), log.run(), String::from_utf8_lossy(text));
                tracing::info!(target: "solocron::output", %job, %run, stream = stream.word(), %line, "output");
            }
        };
        let cutter = match stream {
            JobStream::Out => &mut self.out,
            JobStream::Err => &mut self.err,
        };
        match bytes {
            Some(bytes) => cutter.cut(bytes, pass_on),
            None => cutter.finish(pass_on),
        }
    }
}

impl Drop for Sink<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.log.disk().close_in_background(file);
        }
    }
}

/// Appends one line to the batch, in the log's format.
fn stamp_line(batch: &mut Vec<u8>, stamp: &str, stream: JobStream, text: &[u8], piece: PieceEnd) {
    let mark: &[u8] = match piece {
        PieceEnd::Last => b" ",
        PieceEnd::More => b"+ ",
    };
    for part in [stamp.as_bytes(), b" ", stream.word().as_bytes(), mark, text, b"\n"] {
        batch.extend_from_slice(part);
    }
}

//! Writes the log on its own thread, so that a reader of stdout that stops reading holds up no other thread. Lines that do not
//! fit the queue are dropped and counted.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use super::escapes::escape_json;

/// Lines that may wait for a slow reader: what a busy replica logs in minutes.
const WAITING_LINES: usize = 16_384;

/// Bytes that these lines may have together: lines of a job's output are long.
const WAITING_BYTES: usize = 8 << 20;

/// How long the end of the process waits for a reader that does not read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The lines that were dropped, as far as they have been reported.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The queue of the process, once the log has started.
static QUEUE: OnceLock<SyncSender<LogItem>> = OnceLock::new();

enum LogItem {
    Line(Vec<u8>),
    /// Answered once every item before it is written.
    Flush(SyncSender<()>),
}

/// Creates writers that never block.
#[derive(Clone)]
pub(crate) struct LogWriter {
    queue: SyncSender<LogItem>,
    count: Arc<LogBacklog>,
}

/// Counts the bytes that wait, and the lines that were dropped.
#[derive(Debug, Default)]
struct LogBacklog {
    waiting_bytes: AtomicUsize,
    dropped: AtomicU64,
}

impl LogWriter {
    /// Starts the thread. Call this once.
    pub(crate) fn start() -> Self {
        let (queue, items) = sync_channel(WAITING_LINES);
        let count = Arc::<LogBacklog>::default();
        let counted = Arc::clone(&count);
        std::thread::spawn(move || write_all(&items, &counted));
        let _ = QUEUE.set(queue.clone());
        Self { queue, count }
    }

    fn send(&self, line: Vec<u8>) {
        let LogBacklog { waiting_bytes, dropped } = &*self.count;
        let bytes = line.len();
        let waiting = waiting_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_taken = waiting <= WAITING_BYTES && self.queue.try_send(LogItem::Line(line)).is_ok();
        if !is_taken {
            waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns how many lines were dropped since the start of the process.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Waits until everything that was logged is written, but no longer than `FLUSH_TIMEOUT`.
pub(crate) fn flush() {
    let (written, is_written) = sync_channel(1);
    if QUEUE.get().is_some_and(|queue| queue.try_send(LogItem::Flush(written)).is_ok()) {
        // If the wait fails, nothing more can be done.
        let _: Result<(), RecvTimeoutError> = is_written.recv_timeout(FLUSH_TIMEOUT);
    }
}

fn write_all(items: &Receiver<LogItem>, count: &LogBacklog) {
    let mut out = io::stdout();
    for item in items {
        // If stdout has no reader any more, the replica continues.
        let _ = match item {
            LogItem::Line(line) => {
                count.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
                out.write_all(&line)
            }
            LogItem::Flush(written) => {
                let _ = written.try_send(());
                Ok(())
            }
        };
        let missing = count.dropped.swap(0, Ordering::Relaxed);
        DROPPED.fetch_add(missing, Ordering::Relaxed);
        if missing > 0 {
            // Logged like any other line: in the same format, and after those that wait.
            tracing::warn!(lines = missing, "log lines were dropped: nobody read them in time");
        }
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = OneLine<'a>;

    fn make_writer(&'a self) -> OneLine<'a> {
        OneLine { log: self, line: Vec::new() }
    }
}

/// The line of one event, sent when it is complete.
pub(crate) struct OneLine<'a> {
    log: &'a LogWriter,
    line: Vec<u8>,
}

impl Write for OneLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for OneLine<'_> {
    fn drop(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if let Ok(text) = std::str::from_utf8(&line)
            && let Cow::Owned(tamed) = escape_json(text)
        {
            line = tamed.into_bytes();
        }
        self.log.send(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_blocks_nobody_and_counts_what_it_drops() {
        let (queue, items) = sync_channel(2);
        let log = LogWriter { queue, count: Arc::default() };
        for line in ["a\n", "b\n", "c\n", "d\n"] {
            log.make_writer().write_all(line.as_bytes()).expect("it never fails");
        }
        assert_eq!(log.count.dropped.load(Ordering::Relaxed), 2);
        drop(log);
        let kept: Vec<Vec<u8>> = items
            .iter()
            .filter_map(|item| if let LogItem::Line(line) = item { Some(line) } else { None })
            .collect();
        assert_eq!(kept, [b"a\n", b"b\n"]);
    }
    #[test]
    fn long_lines_fill_no_more_memory_than_short_ones() {
        let (queue, items) = sync_channel(WAITING_LINES);
        let log = LogWriter { queue, count: Arc::default() };
        let lines = 3 * WAITING_BYTES / 65_536;
        for _ in 0..lines {
            log.make_writer().write_all(&[b'x'; 65_536]).expect("it never fails");
        }
        assert_eq!(log.count.dropped.load(Ordering::Relaxed), 2 * lines as u64 / 3);
        drop(log);
        assert_eq!(items.iter().count(), lines / 3);
    }
}

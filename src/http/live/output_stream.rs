//! The output of a run as it is printed, for pages. What a page has not taken yet holds up the reading, and of a run that
//! prints faster than a page takes, the oldest is left out, and said to be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::relay::{FollowedOutput, OutputNews, OutputPiece};
use crate::run::LogStart;
use crate::store::StoreError;
use crate::view::text::output_line::OutputLine;
use crate::view::text::output_text::whole_lines;

use super::slots::OutputSlot;

/// The time between two pieces: people take this delay for immediate.
const EVERY: Duration = Duration::from_millis(200);

/// A replica that does not answer is asked again after this.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// A page that is this far behind what the run has printed goes on with the last bytes of it, this many.
const BEHIND: (u64, u64) = (256 << 10, 64 << 10);

/// The time between two such jumps: each is a question of its own.
const JUMP_EVERY: Duration = Duration::from_secs(4);

/// A line has at most this many bytes, or is shown in several pieces.
const LONGEST_LINE: usize = 64 << 10;

/// What a page is to show next of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputUpdate {
    /// These lines.
    Lines {
        lines: Vec<OutputLine>,
        /// The number of bytes up to their end: from there on a page goes on that reconnects.
        next: u64,
    },
    /// What is to be said about the replica that is asked, in words.
    Note(String),
    /// No more follows, for this reason, in words.
    Over(String),
}

/// An output that is followed. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct OutputFollower {
    updates: mpsc::Receiver<OutputUpdate>,
    /// Whether the run has ended: then nothing is waited for.
    is_over: Arc<AtomicBool>,
    _task: JoinSet<()>,
}

/// What is followed, and how far it was shown.
#[derive(Debug)]
struct Following {
    output: FollowedOutput,
    /// The number of bytes up to the end of what was received.
    received: u64,
    /// The beginning of a line whose end has not been received.
    partial: Vec<u8>,
    /// When it last jumped ahead.
    jumped: Option<Instant>,
    /// What was last said about the replica.
    said: String,
    /// Whether the run has ended, as far as others know.
    is_over: Arc<AtomicBool>,
    _slot: OutputSlot,
}

impl OutputFollower {
    /// Follows an output of which `shown` bytes are shown already.
    pub(crate) fn new(output: FollowedOutput, shown: u64, slot: OutputSlot) -> Self {
        let (to, updates) = mpsc::channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let following = Following {
            output,
            received: shown,
            partial: Vec::new(),
            jumped: None,
            said: String::new(),
            is_over: Arc::clone(&is_over),
            _slot: slot,
        };
        let mut task = JoinSet::new();
        task.spawn(following.run(to));
        Self { updates, is_over, _task: task }
    }

    /// Notes that the run has ended: if its replica does not answer, it is given up.
    pub(crate) fn note_end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Waits for the next update; `None` once the output is over.
    pub(crate) async fn next(&mut self) -> Option<OutputUpdate> {
        self.updates.recv().await
    }
}

impl Following {
    /// Passes on what is printed, until it is over or nobody takes it any more.
    async fn run(mut self, to: mpsc::Sender<OutputUpdate>) {
        loop {
            let news = self.output.next().await;
            let (updates, pause) = self.updates(news);
            for update in updates {
                let is_last = matches!(update, OutputUpdate::Over(_));
                if to.send(update).await.is_err() || is_last {
                    return;
                }
            }
            sleep(pause).await;
        }
    }

    /// Returns what to show after these news, and how long to wait before the next ones.
    fn updates(&mut self, news: Result<OutputNews, StoreError>) -> (Vec<OutputUpdate>, Duration) {
        let node = self.output.source().node.clone();
        let news = match news {
            Ok(news) => news,
            Err(error) => {
                return self.complain(&format!("{node} cannot be asked for its output: {error}"));
            }
        };
        if let Some(complaint) = news.complaint(&node) {
            return self.complain(&complaint);
        }
        match news {
            OutputNews::Piece(piece) => {
                let mut updates = self.say(where_from(&self.output));
                updates.extend(self.lines_of(piece, Instant::now()));
                (updates, EVERY)
            }
            OutputNews::Absent => {
                (vec![OutputUpdate::Over(format!("{node} has no log of this run."))], EVERY)
            }
            _ => {
                let rest = std::mem::take(&mut self.partial);
                let last = (!rest.is_empty()).then(|| OutputUpdate::Lines {
                    lines: vec![OutputLine::stored(&rest)],
                    next: self.received,
                });
                let over = OutputUpdate::Over(format!("The run has ended. This is from {node}."));
                (last.into_iter().chain([over]).collect(), EVERY)
            }
        }
    }

    /// Returns what to say about a replica that cannot be read: it is tried again until the run has ended.
    fn complain(&mut self, complaint: &str) -> (Vec<OutputUpdate>, Duration) {
        if self.is_over.load(Ordering::Relaxed) {
            let note = format!("{complaint}. Load the page again for the end of it, as the store keeps it.");
            return (vec![OutputUpdate::Over(note)], EVERY);
        }
        (self.say(format!("{complaint}. Trying again.")), ASK_AGAIN)
    }

    /// Returns the note, unless it was said last.
    fn say(&mut self, note: String) -> Vec<OutputUpdate> {
        if self.said == note {
            return Vec::new();
        }
        self.said.clone_from(&note);
        vec![OutputUpdate::Note(note)]
    }

    /// Takes in a piece. Returns its whole lines, with one before them for bytes that are not shown.
    fn lines_of(&mut self, piece: OutputPiece, now: Instant) -> Option<OutputUpdate> {
        let mut lines = Vec::new();
        let not_shown = piece.from.saturating_sub(self.received);
        if not_shown > 0 {
            let torn = std::mem::take(&mut self.partial);
            lines.extend((!torn.is_empty()).then(|| OutputLine::stored(&torn)));
            lines.push(OutputLine::unstamped(format!("… {not_shown} bytes are not shown …").as_bytes()));
        }
        self.received = piece.from.saturating_add(piece.bytes.len() as u64);
        self.partial.extend_from_slice(&piece.bytes);
        let whole = match whole_lines(&self.partial) {
            0 if self.partial.len() >= LONGEST_LINE => self.partial.len(),
            whole => whole,
        };
        let text: Vec<u8> = self.partial.drain(..whole).collect();
        lines.extend(text.split_inclusive(|&byte| byte == b'\n').map(OutputLine::stored));
        let is_behind = piece.size.saturating_sub(self.received) > BEHIND.0;
        if is_behind && self.jumped.is_none_or(|jumped| now.duration_since(jumped) >= JUMP_EVERY) {
            self.jumped = Some(now);
            self.output.go_on_from(LogStart::LastBytes(BEHIND.1));
        }
        let next = self.received.saturating_sub(self.partial.len() as u64);
        (!lines.is_empty()).then_some(OutputUpdate::Lines { lines, next })
    }
}

/// Says from where an output comes.
pub(crate) fn where_from(output: &FollowedOutput) -> String {
    let node = &output.source().node;
    if output.is_here() {
        format!("Live from {node}, this replica.")
    } else {
        format!("Live from {node}, which is asked through the store.")
    }
}

#[cfg(test)]
#[path = "output_stream_tests.rs"]
mod tests;

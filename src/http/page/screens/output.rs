//! What a run's page shows of its output: a piece of its log, wherever that is, or the end that the store keeps.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::http::live::output_stream::where_from;
use crate::http::live::{OutputSlot, RunPlace, Unopened};
use crate::http::page::job::{OutputSight, SEEN_BYTES, SEEN_LINES};
use crate::http::state::HttpState;
use crate::job::Outcome;
use crate::relay::{FollowedOutput, OutputNews, OutputPiece};
use crate::run::LogStart;
use crate::view::history::TickView;
use crate::view::text::output_line::OutputLine;
use crate::view::text::output_text::gap_line;

/// A page waits for its output for this long.
const READ_WITHIN: Duration = Duration::from_millis(3_500);

/// What was read of an output.
#[derive(Debug, Default)]
struct ReadLines {
    lines: Vec<ReadLine>,
    /// The number of bytes up to the end of what was read.
    next: u64,
    /// Whether newer output was left out.
    has_newer: bool,
    /// What is wrong, in words.
    complaint: Option<String>,
    /// Whether the replica has no log of the run.
    is_absent: bool,
}

/// A line, and the number of bytes before it.
#[derive(Debug)]
struct ReadLine {
    at: u64,
    line: OutputLine,
}

/// Reads the end of what a run printed, or what is before a byte of it.
pub(super) async fn seen_output(shared: &HttpState, tick: &TickView, before: Option<u64>) -> OutputSight {
    let start = match before {
        None => LogStart::LastBytes(SEEN_BYTES),
        Some(before) => LogStart::Byte(before.saturating_sub(SEEN_BYTES)),
    };
    let opened = match shared.streams.take_output() {
        Some(slot) => open(shared, tick, start, slot).await,
        None => Err(Unopened::TooMany(1)),
    };
    let (mut output, _slot) = match opened {
        Ok(opened) => opened,
        Err(why) => return without_log(tick, Some(&why.complaint())),
    };
    output.ask_up_to_now(true);
    let read = ReadLines::of(&mut output, before).await;
    sight(tick, read, before, &where_from(&output))
}

/// Opens the output of a run.
pub(super) async fn open(
    shared: &HttpState,
    tick: &TickView,
    start: LogStart,
    slot: OutputSlot,
) -> Result<(FollowedOutput, OutputSlot), Unopened> {
    let run = tick.run.ok_or(Unopened::Nowhere)?;
    let place = RunPlace { job: tick.job.clone(), run, node: tick.node.clone() };
    let opened = shared.outputs.open(place, shared.events.node(), shared.board.store(), start).await;
    Ok((opened?, slot))
}

impl ReadLines {
    /// Reads what a page shows.
    async fn of(output: &mut FollowedOutput, before: Option<u64>) -> Self {
        let until = Instant::now() + READ_WITHIN;
        let mut read = Self::default();
        let mut is_first = true;
        loop {
            let news = match timeout_at(until, output.next()).await {
                Ok(Ok(news)) => news,
                Ok(Err(error)) => return Self { complaint: Some(error.to_string()), ..read },
                Err(_) => {
                    let complaint = format!("{} did not answer in time", output.source().node);
                    return Self { complaint: Some(complaint), ..read };
                }
            };
            let piece = match news {
                OutputNews::Piece(piece) => piece,
                OutputNews::Absent => return Self { is_absent: true, ..read },
                news => return Self { complaint: news.complaint(&output.source().node), ..read },
            };
            if read.take(piece, before, is_first) {
                return read;
            }
            is_first = false;
        }
    }

    /// Takes in a piece. Returns whether that is enough.
    fn take(&mut self, piece: OutputPiece, before: Option<u64>, is_first: bool) -> bool {
        let is_newest = piece.is_newest();
        let OutputPiece { from, missing, bytes, .. } = piece;
        if missing > 0 {
            let line = OutputLine::unstamped(gap_line(missing).as_bytes());
            self.lines.push(ReadLine { at: from, line });
        }
        let mut at = from;
        // What begins at any byte begins within a line, but at the beginning of a part of the log.
        let mut is_torn = before.is_some() && is_first && from > 0 && missing == 0;
        for text in bytes.split_inclusive(|&byte| byte == b'\n') {
            if before.is_some_and(|before| at >= before) {
                self.has_newer = true;
                return true;
            }
            if !std::mem::take(&mut is_torn) {
                self.lines.push(ReadLine { at, line: OutputLine::stored(text) });
            }
            at = at.saturating_add(text.len() as u64);
            self.next = at;
        }
        let is_enough = before.is_none() && self.lines.len() > 2 * SEEN_LINES;
        is_newest || is_enough
    }
}

/// Returns what is shown of what was read.
fn sight(tick: &TickView, read: ReadLines, before: Option<u64>, whence: &str) -> OutputSight {
    let is_running = tick.outcome == Outcome::Running;
    let ReadLines { mut lines, next, has_newer, complaint, is_absent } = read;
    lines.drain(..lines.len().saturating_sub(SEEN_LINES));
    let follows = is_running && before.is_none() && !is_absent;
    if lines.is_empty() && !follows {
        return without_log(tick, complaint.as_deref());
    }
    let note = match &complaint {
        Some(why) => format!("{why}. The end of the output is shown here once the run has ended."),
        None if lines.is_empty() => format!("It has printed nothing so far. {whence}"),
        None if follows => whence.to_owned(),
        None => whence.replacen("Live from", "From", 1),
    };
    OutputSight {
        older: lines.first().map(|line| line.at).filter(|at| *at > 0),
        lines: lines.into_iter().map(|line| line.line).collect(),
        note,
        has_newer: has_newer || before.is_some(),
        next: follows.then_some(next),
        is_whole: true,
    }
}

/// Returns what is shown of an output whose log cannot be read, or is not there.
fn without_log(tick: &TickView, complaint: Option<&str>) -> OutputSight {
    let tail = tick.tail.as_deref().unwrap_or_default();
    let why = complaint.map_or_else(String::new, |why| format!("{why}. "));
    let note = if tick.outcome == Outcome::Running {
        format!("{why}The end of its output is shown here once the run has ended.")
    } else if !tail.is_empty() {
        format!("{why}This is the end of it, as the store keeps it.")
    } else if complaint.is_some() {
        format!("{why}Of its end, the store keeps nothing.")
    } else {
        "It printed nothing.".to_owned()
    };
    let lines = tail.lines().map(|line| OutputLine::unstamped(line.as_bytes())).collect();
    OutputSight { lines, note, ..OutputSight::default() }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;

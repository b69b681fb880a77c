//! The line on stderr that shows what a command waits for, and until when. A wait of less than a second is not shown. On a
//! terminal the line is rewritten in its place and erased; anywhere else each reason is printed as a line of its own.

use std::time::Duration;

use tokio::time::Instant;

/// A shorter wait seems immediate to people.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often a wait is checked.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The text for a wait for the store, with the longest time that any store is given for an answer.
pub(crate) const FOR_STORE: &str = "waiting for the store to answer, 12s at most";

/// Moves the cursor to the beginning of the line, and clears the line.
const ERASED: &str = "\r\u{1b}[K";

/// The line, as far as it is shown.
#[derive(Debug, Default)]
pub(crate) struct WaitLine {
    /// The width of the terminal; `None` if stderr is no terminal.
    columns: Option<usize>,
    since: Option<Instant>,
    /// What the line shows on a terminal; elsewhere the last line that was written.
    told: Option<String>,
}

impl WaitLine {
    /// Returns the line for a terminal of this width; `None` if stderr is no terminal.
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Returns what to write while the command waits for `what`, if anything.
    pub(crate) fn look(&mut self, what: &str, now: Instant) -> Option<String> {
        let lasted = now.duration_since(*self.since.get_or_insert(now));
        if lasted < AT_ONCE {
            return None;
        }
        let line = match self.columns {
            // The last column stays free: a full line may be continued on the next one.
            Some(columns) => {
                let so_far = format!(" ({}s)", lasted.as_secs());
                let room = columns.saturating_sub(so_far.len() + 1);
                what.chars().take(room).chain(so_far.chars()).collect()
            }
            None => what.to_owned(),
        };
        if self.told.as_ref() == Some(&line) {
            return None;
        }
        let written = if self.columns.is_some() { format!("{ERASED}{line}") } else { format!("{line}\n") };
        self.told = Some(line);
        Some(written)
    }

    /// Returns what to write before anything else is printed, if anything. The wait continues.
    pub(crate) fn erase(&mut self) -> Option<&'static str> {
        self.columns?;
        self.told.take().map(|_| ERASED)
    }

    /// Ends the wait. Returns what to write, if anything.
    pub(crate) fn end(&mut self) -> Option<&'static str> {
        let erased = self.erase();
        *self = Self::new(self.columns);
        erased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is written in a wait for `what`, this many milliseconds after `began`.
    fn look(line: &mut WaitLine, began: Instant, ms: u64, what: &str) -> String {
        line.look(what, began + Duration::from_millis(ms)).unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_of_less_than_a_second_is_silent() {
        for columns in [None, Some(80)] {
            let (mut line, began) = (WaitLine::new(columns), Instant::now());
            assert_eq!(look(&mut line, began, 0, "waiting for a"), "");
            assert_eq!(look(&mut line, began, 999, "waiting for a"), "");
            assert_eq!(line.end(), None);
            // The next wait starts from zero.
            assert_eq!(look(&mut line, began, 1_500, "waiting for a"), "");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_pipe_each_reason_is_one_line() {
        let (mut line, began) = (WaitLine::new(None), Instant::now());
        let mut said = String::new();
        for (ms, what) in [(0, "a"), (1_000, "a"), (1_200, "a"), (1_400, "b"), (9_000, "b"), (9_200, "a")] {
            said += &look(&mut line, began, ms, what);
            assert_eq!(line.erase(), None);
        }
        assert_eq!(said, "a\nb\na\n");
    }

    #[tokio::test(start_paused = true)]
    async fn on_a_terminal_one_line_is_rewritten_and_erased() {
        let (mut line, began) = (WaitLine::new(Some(18)), Instant::now());
        assert_eq!(look(&mut line, began, 0, "waiting"), "");
        assert_eq!(look(&mut line, began, 1_000, "waiting"), "\r\u{1b}[Kwaiting (1s)");
        assert_eq!(look(&mut line, began, 1_200, "waiting"), "", "nothing has changed");
        assert_eq!(look(&mut line, began, 2_000, "waiting"), "\r\u{1b}[Kwaiting (2s)");
        assert_eq!(line.erase(), Some("\r\u{1b}[K"));
        assert_eq!(line.erase(), None, "it is erased already");
        assert_eq!(look(&mut line, began, 2_200, "waiting for long"), "\r\u{1b}[Kwaiting for  (2s)");
        assert_eq!(line.end(), Some("\r\u{1b}[K"));
    }
}

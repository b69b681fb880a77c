//! Where a command prints: requested data on stdout, everything else on stderr. Colours go to terminals only, and a reader that
//! has closed the pipe is no error.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::pin::pin;

use anstream::{AutoStream, ColorChoice};
use tokio::time::{Instant, sleep};

use crate::cli::exec::terminal::{columns_of, is_dumb, rewritable_columns, rows_of};
use crate::cli::exit::Failure;

use super::escapes::{escape_for_terminal, escape_json, escape_text};
use super::wait_line::{LOOK_EVERY, WaitLine};

/// Stdout and stderr, or two writers that stand for them.
pub struct Screen<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    /// The width of the terminal that is stdout; `None` if stdout is no terminal.
    pub(crate) columns: Option<usize>,
    /// The height of the terminal that is stdout; `None` if stdout is no terminal.
    pub(crate) rows: Option<usize>,
    /// The line on stderr that shows what the command waits for.
    waits: WaitLine,
    /// Whether stdout takes colours.
    pub(crate) out_colour: bool,
    /// Whether stderr takes colours.
    pub(crate) err_colour: bool,
}

/// Whether stdout still has a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputReader {
    /// It has one.
    Here,
    /// The reader closed the pipe, as `| head` does.
    Gone,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("out_colour", &self.out_colour).finish_non_exhaustive()
    }
}

impl Screen<'static> {
    /// Returns the process's own stdout and stderr. `NO_COLOR`, `CLICOLOR_FORCE` and pipes are respected.
    pub fn of_process() -> Self {
        Self {
            columns: columns_of(&io::stdout()),
            rows: rows_of(&io::stdout()),
            waits: WaitLine::new(rewritable_columns()),
            out_colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            err_colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
        }
    }
}

impl<'a> Screen<'a> {
    /// Returns a screen of two writers without colours.
    pub fn plain(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            columns: None,
            rows: None,
            waits: WaitLine::default(),
            out_colour: false,
            err_colour: false,
        }
    }

    /// Whether stdout is a terminal whose text can be replaced as a whole.
    pub(crate) fn is_whole_terminal(&self) -> bool {
        self.columns.is_some() && !is_dumb()
    }

    /// Reads the size of the terminal again: its window may have another size by now.
    pub(crate) fn measure(&mut self) {
        if self.columns.is_some() {
            (self.columns, self.rows) = (columns_of(&io::stdout()), rows_of(&io::stdout()));
        }
    }

    /// Prints text to stdout, without its colours if stdout takes none.
    pub(crate) fn print(&mut self, text: &str) -> Result<OutputReader, Failure> {
        self.print_bytes(&shown(text, self.out_colour))
    }

    /// Prints what a job printed: to a terminal only its letters and colours, to anything else unchanged.
    pub(crate) fn print_output(&mut self, bytes: &[u8]) -> Result<OutputReader, Failure> {
        if self.columns.is_some() {
            self.print_bytes(&escape_for_terminal(bytes))
        } else {
            self.print_bytes(bytes)
        }
    }

    /// Prints bytes to stdout unchanged.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<OutputReader, Failure> {
        let erased = self.waits.erase();
        self.write_err(erased.unwrap_or_default().as_bytes());
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(OutputReader::Here),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputReader::Gone),
            Err(error) => Err(Failure::failed(format!("stdout cannot be written: {error}"))),
        }
    }

    /// Prints a value as one JSON document to stdout.
    pub(crate) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<OutputReader, Failure> {
        let mut text =
            serde_json::to_string_pretty(value).expect("views have string keys and no failing values");
        text.push('\n');
        self.print_bytes(escape_json(&text).as_bytes())
    }

    /// Prints a message on stderr. If that fails, no place is left to report it.
    pub(crate) fn say(&mut self, text: &str) {
        let text = shown(text, self.err_colour);
        let erased = self.waits.erase();
        self.write_err(&[erased.unwrap_or_default().as_bytes(), &text].concat());
    }

    /// Shows on stderr what the command waits for, once that takes longer than a moment. Call this again and again.
    pub(crate) fn wait(&mut self, what: &str) {
        let line = self.waits.look(&escape_text(what), Instant::now());
        self.write_err(line.unwrap_or_default().as_bytes());
    }

    /// Ends the wait, and erases its line.
    pub(crate) fn end_wait(&mut self) {
        let erased = self.waits.end();
        self.write_err(erased.unwrap_or_default().as_bytes());
    }

    /// Awaits `work`, and shows what it waits for.
    pub(crate) async fn during<T>(&mut self, what: &str, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            self.wait(what);
            tokio::select! {
                biased;
                done = &mut work => {
                    self.end_wait();
                    return done;
                }
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn write_err(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let _ = self.err.write_all(bytes).and_then(|()| self.err.flush());
        }
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.end_wait();
    }
}

/// Returns a text that is safe for a terminal, with or without its colours.
fn shown(text: &str, colour: bool) -> Cow<'_, [u8]> {
    if colour {
        return escape_for_terminal(text.as_bytes());
    }
    let stripped = anstream::adapter::strip_str(text).to_string();
    Cow::Owned(escape_for_terminal(stripped.as_bytes()).into_owned())
}

/// Returns a count with its noun: `no jobs`, `1 job`, `5 jobs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::Exit;

    struct Closed(io::ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_ends_quietly_and_a_full_disk_does_not() {
        let mut screen = Screen::plain(Closed(io::ErrorKind::BrokenPipe), io::sink());
        assert_eq!(screen.print("x").ok(), Some(OutputReader::Gone));
        let mut screen = Screen::plain(Closed(io::ErrorKind::StorageFull), io::sink());
        let failure = screen.print("x").expect_err("nothing was written");
        assert_eq!(failure.exit, Exit::Failed);
        assert!(failure.message.starts_with("stdout cannot be written"), "{failure}");
    }

    #[test]
    fn colours_are_taken_out_of_text_but_not_of_the_bytes_of_a_job() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::plain(&mut out, &mut err);
        screen.print("\u{1b}[31mred\u{1b}[0m\n").expect("a vector");
        screen.print_bytes(b"\x1b[31mred\xff").expect("a vector");
        screen.say("\u{1b}[1mbold\u{1b}[0m");
        drop(screen);
        assert_eq!(out, b"red\n\x1b[31mred\xff");
        assert_eq!(err, b"bold");
    }
}

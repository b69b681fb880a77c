//! Where a command's words go: stdout for what was asked for, stderr for what is said besides. Colours go to terminals
//! only, and a reader that has gone is no error.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::pin::pin;

use anstream::{AutoStream, ColorChoice};
use tokio::time::{Instant, sleep};

use crate::cli::exec::terminal::{columns_of, rewritable_columns};
use crate::cli::exit::{Exit, Failure};

use super::escapes::{tame, tame_json, tame_text};
use super::wait_line::{LOOK_EVERY, WaitLine};

/// Stdout and stderr, or what stands for them.
pub struct Screen<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    /// The width of the terminal that is stdout, if it is one.
    pub(crate) columns: Option<usize>,
    /// What is waited for, on stderr.
    waits: WaitLine,
    /// Whether stdout takes colours.
    pub(crate) out_colour: bool,
    /// Whether stderr takes colours.
    pub(crate) err_colour: bool,
}

/// Whether anybody still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputReader {
    /// Somebody does.
    Here,
    /// The pipe was closed: `| head` has enough.
    Gone,
}

impl fmt::Debug for Screen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("out_colour", &self.out_colour).finish_non_exhaustive()
    }
}

impl Screen<'static> {
    /// The process's own. `NO_COLOR`, `CLICOLOR_FORCE` and pipes are heeded.
    pub fn of_process() -> Self {
        Self {
            columns: columns_of(&io::stdout()),
            waits: WaitLine::new(rewritable_columns()),
            out_colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            err_colour: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
        }
    }
}

impl<'a> Screen<'a> {
    /// Two writers without colours.
    pub fn plain(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            columns: None,
            waits: WaitLine::default(),
            out_colour: false,
            err_colour: false,
        }
    }

    /// Prints text to stdout, without its colours where they are not wanted.
    pub(crate) fn print(&mut self, text: &str) -> Result<OutputReader, Failure> {
        self.print_bytes(&shown(text, self.out_colour))
    }

    /// Prints what a job printed: to a terminal nothing but its letters and colours, to anything else as it is.
    pub(crate) fn print_output(&mut self, bytes: &[u8]) -> Result<OutputReader, Failure> {
        if self.columns.is_some() { self.print_bytes(&tame(bytes)) } else { self.print_bytes(bytes) }
    }

    /// Prints bytes to stdout as they are.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<OutputReader, Failure> {
        let erased = self.waits.erase();
        self.write_err(erased.unwrap_or_default().as_bytes());
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(OutputReader::Here),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputReader::Gone),
            Err(error) => Err(Failure::new(Exit::Failed, format!("stdout cannot be written: {error}"))),
        }
    }

    /// Prints a value as one JSON document to stdout.
    pub(crate) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<OutputReader, Failure> {
        let mut text =
            serde_json::to_string_pretty(value).expect("views have string keys and no failing values");
        text.push('\n');
        self.print_bytes(tame_json(&text).as_bytes())
    }

    /// Says something besides, on stderr. There is nobody to tell when that fails.
    pub(crate) fn say(&mut self, text: &str) {
        let text = shown(text, self.err_colour);
        let erased = self.waits.erase();
        self.write_err(&[erased.unwrap_or_default().as_bytes(), &text].concat());
    }

    /// The command waits for this: on stderr, once that takes longer than a moment. To be called again and again.
    pub(crate) fn wait(&mut self, what: &str) {
        let line = self.waits.look(&tame_text(what), Instant::now());
        self.write_err(line.unwrap_or_default().as_bytes());
    }

    /// Nothing is waited for any more.
    pub(crate) fn end_wait(&mut self) {
        let erased = self.waits.end();
        self.write_err(erased.unwrap_or_default().as_bytes());
    }

    /// Does the work, and tells meanwhile what it waits for.
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

/// A text as people get it, with or without its colours.
fn shown(text: &str, colour: bool) -> Cow<'_, [u8]> {
    if colour {
        return tame(text.as_bytes());
    }
    let stripped = anstream::adapter::strip_str(text).to_string();
    Cow::Owned(tame(stripped.as_bytes()).into_owned())
}

/// `no jobs`, `1 job`, `5 jobs`
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

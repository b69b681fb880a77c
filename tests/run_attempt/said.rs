//! What the runs of this process logged, on whatever thread.

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use solocron::job::RunId;

static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Ear;

/// From here on, keeps what is logged.
pub(crate) fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing_subscriber::fmt().with_ansi(false).with_writer(|| Ear).init());
}

/// The lines about this run.
pub(crate) fn about(run: RunId) -> String {
    let (said, run) = (String::from_utf8(SAID.lock().unwrap().clone()).unwrap(), run.to_string());
    said.lines().filter(|line| line.contains(&run)).map(|line| format!("{line}\n")).collect()
}

impl Write for Ear {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        SAID.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

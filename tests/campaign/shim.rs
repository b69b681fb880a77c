//! A wall clock that tests step while its process runs.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::c_program::compile;

/// The clock of one process and its successors.
#[derive(Debug, Clone)]
pub(crate) struct ShimClock {
    library: PathBuf,
    offset: PathBuf,
}

impl ShimClock {
    /// The library behind all of these clocks.
    pub(crate) fn library(folder: &Path) -> PathBuf {
        compile(folder, "clock_shim", &["-shared", "-fPIC"])
    }

    /// A clock that is right.
    pub(crate) fn new(folder: &Path, name: &str, library: &Path) -> Self {
        let offset = folder.join(format!("{name}.offset"));
        std::fs::write(&offset, 0_i64.to_ne_bytes()).expect("a writable folder");
        Self { library: library.to_owned(), offset }
    }

    /// From now on the clock is off by so much.
    pub(crate) fn step_to(&self, offset_ms: i64) {
        // Not cut to nothing in between: the process has it mapped.
        let file = OpenOptions::new().write(true).open(&self.offset);
        file.and_then(|mut file| file.write_all(&offset_ms.to_ne_bytes())).expect("the file is there");
    }

    /// What a process needs to go by this clock.
    pub(crate) fn env(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.library), ("CLOCK_OFFSET_FILE", &self.offset)]
    }
}

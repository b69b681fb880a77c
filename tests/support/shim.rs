//! Clocks that tests step, or make run faster, while their process runs.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use solocron::time::{Clock, SystemClock};

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
        std::fs::write(&offset, [0; 40]).expect("a writable folder");
        Self { library: library.to_owned(), offset }
    }

    /// From now on the clock is off by so much, and runs as fast as it should.
    pub(crate) fn step_to(&self, offset_ms: i64) {
        self.put(1, 0);
        self.put(0, offset_ms);
    }

    /// From now on the clock runs faster by so many millionths.
    pub(crate) fn slew(&self, faster_ppm: i64) {
        self.slew_from_now(1, faster_ppm);
    }

    /// From now on the boot clock does.
    pub(crate) fn slew_boot_clock(&self, faster_ppm: i64) {
        self.slew_from_now(3, faster_ppm);
    }

    fn slew_from_now(&self, at: u64, faster_ppm: i64) {
        self.put(at, 0);
        self.put(at + 1, i64::try_from(SystemClock.boot().0.as_nanos()).expect("not that long"));
        self.put(at, faster_ppm);
    }

    /// Writes one number. The file is never cut to nothing: the process has it mapped.
    fn put(&self, at: u64, number: i64) {
        let file = OpenOptions::new().write(true).open(&self.offset);
        file.and_then(|file| file.write_all_at(&number.to_ne_bytes(), at * 8)).expect("the file is there");
    }

    /// What a process needs to go by this clock.
    pub(crate) fn env(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.library), ("CLOCK_OFFSET_FILE", &self.offset)]
    }
}

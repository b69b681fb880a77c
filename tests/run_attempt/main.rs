//! Real commands, run as jobs. Every test ends what it started.

#![expect(clippy::unwrap_used, reason = "a test that panics says enough")]

mod bench;
mod files;
mod output;
mod said;
mod stops;
mod surroundings;
mod verdicts;

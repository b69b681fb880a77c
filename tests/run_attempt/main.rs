//! Real commands, run as jobs. Every test ends what it started.

mod bench;
mod files;
mod output;
mod said;
mod stops;
mod surroundings;
mod verdicts;

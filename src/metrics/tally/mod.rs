//! Counts what events tell, where they are told: it misses none, and nobody waits for a scrape.

mod job_tally;
mod totals;

pub(crate) use job_tally::JobTally;
pub use totals::Tally;

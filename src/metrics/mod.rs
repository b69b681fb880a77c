//! Metrics for programs that watch a cluster, such as Prometheus: what is counted where events are told and
//! the store answers, what a replica knows at the moment of a scrape, and the text in two formats. No metric
//! is read from the store.

mod catalogue;
mod exposition;
mod figures;
mod http_tally;
mod job;
mod measured_store;
mod replica_metrics;
mod samples;
mod scrape;
mod tally;

pub use exposition::ExpositionFormat;
pub use figures::{JobCounts, ReplicaCounts, ReplicaFigures, TroubleCounts, WaitingCounts};
pub use http_tally::{HttpActResult, HttpTally, OpenStream, OutputResult};
pub use job::{
    JobFigures, JobPart, JobRow, JobSeries, SeriesMode, decision_due, success_awaited_since, success_due,
};
pub use replica_metrics::Metrics;
pub use scrape::{Scrape, ScrapePieces};
pub use tally::Tally;

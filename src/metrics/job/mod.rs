//! What is exported of each job: four instants that never go back, and what this replica counted.

mod due;
mod figures;
mod mode;
mod row;
mod series;
#[cfg(test)]
mod series_tests;

pub use due::{decision_due, success_awaited_since, success_due};
pub use figures::JobFigures;
pub use mode::SeriesMode;
pub(crate) use row::{JOB_FAMILIES, JobFamily};
pub use row::{JobPart, JobRow};
pub use series::JobSeries;

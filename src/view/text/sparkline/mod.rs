//! A job's newest ticks in one line: the height of a bar is how long its run took, its form how the tick
//! ended. For terminals as letters, for pages as SVG paths, and for both as a sentence.

mod bars;
mod paths;
mod signs;
#[cfg(test)]
mod tests;

pub use bars::{SLOTS as SPARK_SLOTS, SparkForm, Sparkline};
pub use paths::{SPARK_HEIGHT, SPARK_WIDTH, SparkPath};
pub use signs::SparkSigns;

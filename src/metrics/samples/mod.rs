//! Numbers with labels, and what counts them.

mod histogram;
mod instant;
mod sample;

#[cfg(test)]
pub(crate) use histogram::AtomicHistogram;
pub(crate) use histogram::HistogramSnapshot;
pub(crate) use instant::seconds;
pub(crate) use sample::{Counters, Histograms, Sample, SampleValue, Samples, number_if_known, numbers};

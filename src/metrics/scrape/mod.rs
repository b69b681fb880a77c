//! One scrape: all samples at one moment, and their text in pieces.

mod pieces;
#[cfg(test)]
mod tests;

pub use pieces::{Scrape, ScrapePieces};

//! Writes samples as text, in the two formats that monitoring programs read. Both formats say the same.

mod format;
mod text;

pub use format::ExpositionFormat;
pub(crate) use text::Exposition;

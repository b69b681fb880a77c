//! Finds what is secret in a command line, a URL or a variable, so that it is masked wherever it is shown.

pub(super) mod mask;
pub(super) mod options;
mod values;

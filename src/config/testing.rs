//! Builds configurations for tests.

use std::sync::Arc;

use crate::job::JobSpec;

use super::{Config, Overrides, Source, load};

/// Loads a valid file that refers to no variables.
pub(crate) fn config(text: impl Into<String>) -> Config {
    let source = Source::new("jobs.toml", text);
    load(&source, &Overrides::default(), &|_| None).expect("a good file").0
}

/// Returns the job with these keys, and a command.
pub(crate) fn spec(keys: &str) -> Arc<JobSpec> {
    let text = format!("[cluster]\nstore = \"local\"\n[jobs.x]\ncommand = [\"true\"]\n{keys}\n");
    config(text).jobs.into_values().next().expect("one job")
}

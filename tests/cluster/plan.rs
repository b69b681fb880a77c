//! How a cluster is made up.

/// Its replicas, and their jobs.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// The store's address.
    pub(crate) store: &'a str,
    /// How many jobs.
    pub(crate) jobs: usize,
    /// When each of them runs.
    pub(crate) schedule: &'a str,
    /// Further keys of each job, a line each.
    pub(crate) keys: &'a str,
    /// How long each run takes.
    pub(crate) run_ms: u32,
    /// One replica each, with its clock off by so many milliseconds.
    pub(crate) skews_ms: &'a [i64],
    /// Further flags of each replica; of those beyond, none.
    pub(crate) flags: &'a [&'a str],
    /// A protection that is switched off.
    pub(crate) off: Option<&'a str>,
}

impl<'a> Plan<'a> {
    /// One short job every second on one replica.
    pub(crate) fn on(store: &'a str) -> Self {
        let schedule = "* * * * * *";
        Self { store, jobs: 1, schedule, keys: "", run_ms: 0, skews_ms: &[0], flags: &[], off: None }
    }
}

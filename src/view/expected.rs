//! What the local jobs.toml leads to expect of its cluster.

/// What `status` compares the cluster with; all `None` if no file is used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected<'a> {
    /// How many replicas there should be.
    pub(crate) replicas: Option<u32>,
    /// Hash of the file.
    pub(crate) file: Option<&'a str>,
    /// Why the file is invalid, in one line; `None` if it is valid.
    pub(crate) flaw: Option<&'a str>,
}

impl<'a> Expected<'a> {
    /// Returns the hash of the file if it is valid: replicas can load no other.
    pub(crate) fn valid_file(&self) -> Option<&'a str> {
        self.file.filter(|_| self.flaw.is_none())
    }
}

//! What the file at hand leads to expect of its cluster.

/// What `status` compares the cluster with; nothing of it where no file is used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected<'a> {
    /// How many replicas there should be.
    pub(crate) replicas: Option<u32>,
    /// Hash of the file.
    pub(crate) file: Option<&'a str>,
    /// That the file is invalid, in one line.
    pub(crate) flaw: Option<&'a str>,
}

impl<'a> Expected<'a> {
    /// Hash of the file, where it is valid: replicas can load no other.
    pub(crate) fn valid_file(&self) -> Option<&'a str> {
        self.file.filter(|_| self.flaw.is_none())
    }
}

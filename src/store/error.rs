//! Why a store did not answer. The kinds differ in what may have happened to the request.

/// A request that got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store refused it, and certainly did not apply it.
    #[error("{0}")]
    Refused(String),
    /// It was certainly not sent.
    #[error("{0}")]
    NotSent(String),
    /// It may have been applied: ask again with the same run id.
    #[error("{0}")]
    Unknown(String),
}

impl StoreError {
    /// Whether the request may have been applied.
    pub fn may_have_been_applied(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

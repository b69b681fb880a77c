//! Holds one granted lock: starts the command, renews the lease, stops the run in time, records how it ended.
//! Replicas and `exec` hold locks by the same code.

pub(crate) mod attempts;
pub(crate) mod context;
pub(crate) mod give_back;
pub(crate) mod granted;
pub(crate) mod handle;
pub(crate) mod holder;
pub(crate) mod lease_file;
pub(crate) mod lock_request;
mod pacing;
pub(crate) mod start_gate;

pub use handle::Stop;
pub use lease_file::LeaseFile;
pub use lease_file::folder_lock::FolderTaken;

//! The output of a run that is on another machine: asked for through the store, only while somebody looks, and sent in small
//! pieces. Both sides are bounded in time, memory and number of messages, and what is lost on the way is asked for again.
//!
//! An asker leaves an [`OutputQuestion`] in the slip of a replica. For the next seconds the replica leaves what its run prints
//! in the asker's own slip, as [`OutputAnswer`]s; whoever wants more asks again. A slip that is full holds the replica back.

mod answer;
mod answering;
mod asker;
mod base64;
mod followed;
mod local;
mod look;
mod news;
mod question;
#[cfg(test)]
mod tests;

pub use answer::{OutputAnswer, OutputEnd, PIECE_BYTES};
pub use answering::OutputResponder;
pub use asker::{OutputSource, RemoteOutput};
pub use followed::FollowedOutput;
pub use local::LocalOutput;
pub use news::{OutputNews, OutputPiece};
pub use question::OutputQuestion;

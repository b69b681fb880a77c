//! What the HTTP side knows of all jobs, from its own reading of the store. No request reads more than it shows, and what
//! several viewers ask for is read once.
//!
//! Pages and the API use a [`Board`] by these functions:
//! - [`Board::view`] returns these jobs, with their newest entries without output, as a snapshot;
//! - [`Board::list`] returns how all jobs stand, sorted, for lists and counts;
//! - [`Board::unread_jobs`] returns the jobs of the file while nothing was read;
//! - [`Board::news`] returns what all replicas told within the last hour, as far as a timeline shows it, and
//!   [`Board::listen`] what the others tell from now on;
//! - [`Board::turn`] waits for a turn to read the store, for what the board does not keep: output, and older entries.
//!
//! Jobs are kept while somebody looks, and for a minute after. They are read again when an event of this replica, a hint, or
//! a heartbeat says that they changed, or the news of another replica; in addition, how all of them stand is compared now and then.

mod board_view;
mod changes;
mod reader;
mod recent;
pub(super) mod standings;
mod table;
mod tails;
mod turns;

pub(super) use board_view::{Board, BoardView, HeardNews, Unread, UnreadJobs};
pub(super) use reader::read_when_due;
pub(super) use tails::EndedRun;
pub(super) use turns::StoreTurn;

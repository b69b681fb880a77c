//! Stores whose server decides nothing: it keeps a cell per job, and the replica reads it, decides by the rules of the lease
//! protocol, and swaps it if nothing has changed meanwhile. Heartbeats, notices, feeds and slips are written here once for
//! every such server; an [`Engine`] is all that each of them adds.

mod cas_store;
mod cell;
mod engine;
mod heartbeats;
mod memory;
mod published;
mod requests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub(super) use cas_store::CasStore;
pub(super) use cell::{CellSwap, JobCell, NumberedEntry, entry_of, record_of};
pub(super) use engine::{
    ConfirmedBeat, Engine, Exchanged, Note, NoteKind, Put, ReadCells, RequestLane, ServerMoment,
};
pub(super) use published::Channel;

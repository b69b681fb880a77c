//! The guard of a run: a small process that outlives its replica, receives each new deadline, and kills the whole
//! process tree of the run when the deadline passes, when the replica is gone, or on an order. Replica and guard each
//! enforce the deadline, so that a run does not outlive its lock if one of the two hangs or dies.
//!
//! ```text
//! replica ── a socket per run ────────────────┐
//!    └─ zygote (started first, makes guards) │   some ahead of their runs, when ticks are about to come
//!         └─ guard of one run, sub-reaper ◀───┘
//!              └─ the job's main process, leader of its group, killed by the kernel if its guard is;
//!                 made ahead with its guard, it waits for its command
//! ```

mod client;
mod fd_passing;
mod names;
mod pool;
mod process;
mod request;
mod wire;
mod zygote;

pub use client::Guards;
pub(in crate::run) use names::{ZYGOTE_NAME, guard_name};
pub(in crate::run) use process::child::{STEP_CWD, STEP_GUARD, STEP_OVERDUE, STEP_SHIFT, STEP_SWITCH};
pub(in crate::run) use request::{Folder, GuardRequest, Input, has_nul};
pub(in crate::run) use wire::{GuardOrder, GuardReport, Inbox, LENGTH};
pub use zygote::guards_main;

/// Decodes bytes as a guard and a replica receive them, for fuzzing.
#[cfg(feature = "test-switches")]
pub fn fuzz_request(bytes: &[u8]) {
    if let Some(request) = GuardRequest::decode(bytes) {
        assert_eq!(GuardRequest::decode(&request.encode()), Some(request));
    }
    let mut inbox = Inbox::default();
    inbox.take(bytes);
    while let Some(word) = inbox.next() {
        // Each word is decoded or ignored, without a panic.
        let _ = (GuardOrder::decode(&word), GuardReport::decode(&word));
    }
}

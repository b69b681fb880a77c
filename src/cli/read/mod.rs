//! Commands that change nothing: `check`, `next`, `status`, `history`, `why`, `logs` and `acts`.

pub(super) mod acts;
pub(super) mod check;
pub(super) mod history;
pub(super) mod logs;
pub(super) mod next;
mod probe;
pub(super) mod status;
pub(super) mod why;

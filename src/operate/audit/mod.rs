//! The audit of acts: a note of each, also of a refused one, which the store keeps in the feed `acts`.

mod note;
mod noted;

pub use note::{ActKind, ActNote, ActNoteError, ActRequest, ActResult, FROM_COMMAND_LINE, NOTE_BYTES};
pub use noted::{NewestNotes, append_note, newest_notes, not_shown, tell_act};

//! Notes what a command requested of a job, and what came of it, also if it was refused: `acts` shows the notes.

use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::operate::OperateError;
use crate::operate::audit::{ActKind, ActNote, ActRequest, ActResult, FROM_COMMAND_LINE, append_note};
use crate::operate::operator::Operator;
use crate::store::StoreError;
use crate::time::{Clock, SystemClock};

/// What a command requests of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandAct<'a> {
    /// The operator, and the job.
    pub(super) operator: &'a Operator,
    /// What is requested.
    pub(super) act: ActKind,
    /// The operator's reason, if one was given.
    pub(super) why: Option<&'a str>,
}

impl<'a> CommandAct<'a> {
    /// Returns an act without a reason.
    pub(super) fn of(operator: &'a Operator, act: ActKind) -> Self {
        Self { operator, act, why: None }
    }

    /// Appends the note of the act to the feed of the store. If that fails, a warning is printed, and the command continues.
    pub(super) async fn note(&self, result: ActResult<'_>, screen: &mut Screen<'_>) {
        let Self { operator: Operator { store, job, by }, act, why } = *self;
        let request = ActRequest { by, from: FROM_COMMAND_LINE, act, job: &job.name, why };
        let note = ActNote::of(&request, &result, SystemClock.utc());
        if let Err(error) = screen.during(FOR_STORE, append_note(&**store, &note)).await {
            let error = error.named(&store.label());
            screen.say(&format!("warning: `solocron acts` will not show this: {error}\n"));
        }
    }

    /// Appends the note that the act was refused, or failed. A request that the store did not take is not noted: it changed
    /// nothing, and the store would take no note either.
    pub(super) async fn note_error(&self, error: &OperateError, screen: &mut Screen<'_>) {
        let is_unknown = matches!(error, OperateError::Store { error: StoreError::Unknown(_), .. });
        if is_unknown || !matches!(error, OperateError::Store { .. }) {
            self.note(ActResult::from(error), screen).await;
        }
    }

    /// Appends the note of what came of the act.
    pub(super) async fn note_result<T: std::fmt::Display>(
        &self,
        result: &Result<T, OperateError>,
        screen: &mut Screen<'_>,
    ) {
        match result {
            Ok(done) => self.note(ActResult::Done(done), screen).await,
            Err(error) => self.note_error(error, screen).await,
        }
    }
}

//! The output of a run, wherever it is: read from this machine's logs, or asked for through the store.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use crate::run::LogStart;
use crate::store::{Store, StoreError};

use super::answer::OutputEnd;
use super::asker::{OutputSource, RemoteOutput};
use super::local::LocalOutput;
use super::look::{LOOK_EVERY, LogStep};
use super::news::{OutputNews, OutputPiece};

/// A piece of a log of this machine has at most this many bytes.
const LOCAL_PIECE: usize = 64 << 10;

/// The output of a run, of which one piece after the other is read.
#[derive(Debug)]
pub struct FollowedOutput(Place);

/// Where it is.
#[derive(Debug)]
enum Place {
    Here(LocalReading),
    Elsewhere(Box<RemoteOutput>),
}

/// An output that is read from a log of this machine.
#[derive(Debug)]
struct LocalReading {
    local: LocalOutput,
    source: OutputSource,
    start: LogStart,
    began: Instant,
    /// When the last news was told.
    told: Option<Instant>,
}

impl FollowedOutput {
    /// Returns the output of a run of this machine from `start` on.
    pub fn here(local: LocalOutput, source: OutputSource, start: LogStart) -> Self {
        Self(Place::Here(LocalReading { local, source, start, began: Instant::now(), told: None }))
    }

    /// Returns the output of a run of another machine from `start` on. Nothing is asked yet.
    pub fn elsewhere(store: Arc<dyn Store>, source: OutputSource, start: LogStart) -> Self {
        Self(Place::Elsewhere(Box::new(RemoteOutput::new(store, source, start))))
    }

    /// Returns the run and its replica.
    pub fn source(&self) -> &OutputSource {
        match &self.0 {
            Place::Here(reading) => &reading.source,
            Place::Elsewhere(output) => output.source(),
        }
    }

    /// Whether the run is on this machine.
    pub fn is_here(&self) -> bool {
        matches!(self.0, Place::Here(_))
    }

    /// Asks from now on for what is printed so far alone, or for what follows, too.
    pub fn ask_up_to_now(&mut self, up_to_now: bool) {
        if let Place::Elsewhere(output) = &mut self.0 {
            output.ask_up_to_now(up_to_now);
        }
    }

    /// Goes on from another place. What was asked for before is not returned any more.
    pub fn go_on_from(&mut self, start: LogStart) {
        match &mut self.0 {
            Place::Here(reading) => reading.start = start,
            Place::Elsewhere(output) => output.go_on_from(start),
        }
    }

    /// Waits for the next news. While the run prints nothing, an empty piece tells every second that its replica is there.
    /// After news that are no piece, the next call looks, or asks, again.
    ///
    /// # Errors
    /// If the store refuses the question, or does not answer for a minute.
    pub async fn next(&mut self) -> Result<OutputNews, StoreError> {
        match &mut self.0 {
            Place::Here(reading) => Ok(reading.next().await),
            Place::Elsewhere(output) => output.next().await,
        }
    }
}

impl LocalReading {
    async fn next(&mut self) -> OutputNews {
        loop {
            let OutputSource { job, run, .. } = &self.source;
            let look = match self.local.look(job, *run, self.start, LOCAL_PIECE).await {
                Ok(look) => look,
                Err(error) => return OutputNews::Unreadable(error.to_string()),
            };
            let now = Instant::now();
            match look.step(self.began, self.told, now) {
                LogStep::Wait => sleep(LOOK_EVERY).await,
                LogStep::Tell(Some(OutputEnd::Over)) => return OutputNews::Over,
                LogStep::Tell(Some(OutputEnd::Absent)) => return OutputNews::Absent,
                LogStep::Tell(_) => {
                    (self.told, self.start) = (Some(now), LogStart::Byte(look.range.next()));
                    let (from, missing, size) = (look.range.from, look.range.missing, look.range.size);
                    return OutputNews::Piece(OutputPiece { from, missing, bytes: look.range.bytes, size });
                }
            }
        }
    }
}

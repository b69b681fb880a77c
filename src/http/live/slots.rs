//! The slots for streams.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::{HttpTally, OpenStream};

/// The most streams at once.
const MOST: usize = 32;

/// The slots for streams.
#[derive(Debug)]
pub(crate) struct StreamSlots(Arc<Semaphore>);

/// The slot of one stream, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    _permit: OwnedSemaphorePermit,
    _counted: OpenStream,
}

impl Default for StreamSlots {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl StreamSlots {
    /// Takes a slot; `None` if all are taken.
    pub(crate) fn take(&self, tally: &HttpTally) -> Option<StreamSlot> {
        let permit = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(StreamSlot { _permit: permit, _counted: tally.open_stream() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_once_its_stream_ends() {
        let (slots, tally) = (StreamSlots::default(), HttpTally::of(&[]));
        let mut taken: Vec<_> = (0..MOST).filter_map(|_| slots.take(&tally)).collect();
        assert_eq!(taken.len(), MOST);
        assert!(slots.take(&tally).is_none());
        drop(taken.pop());
        assert!(slots.take(&tally).is_some());
    }
}

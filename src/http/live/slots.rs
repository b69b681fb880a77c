//! The slots for streams.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::{HttpTally, OpenStream};

/// The most streams at once, and how many of them may be of output.
const MOST: (usize, usize) = (32, 16);

/// The slots for streams.
#[derive(Debug)]
pub(crate) struct StreamSlots {
    all: Arc<Semaphore>,
    of_output: Arc<Semaphore>,
}

/// The slot of one stream, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    _permit: OwnedSemaphorePermit,
    _counted: OpenStream,
}

/// The slot of one client that reads output, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct OutputSlot {
    _permit: OwnedSemaphorePermit,
}

impl Default for StreamSlots {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST.0)), of_output: Arc::new(Semaphore::new(MOST.1)) }
    }
}

impl StreamSlots {
    /// Takes a slot; `None` if all are taken.
    pub(crate) fn take(&self, tally: &HttpTally) -> Option<StreamSlot> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(StreamSlot { _permit: permit, _counted: tally.open_stream() })
    }

    /// Takes a slot for reading output; `None` if all are taken.
    pub(crate) fn take_output(&self) -> Option<OutputSlot> {
        let permit = Arc::clone(&self.of_output).try_acquire_owned().ok()?;
        Some(OutputSlot { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_once_its_stream_ends() {
        let (slots, tally) = (StreamSlots::default(), HttpTally::of(&[]));
        let mut taken: Vec<_> = (0..MOST.0).filter_map(|_| slots.take(&tally)).collect();
        assert_eq!(taken.len(), MOST.0);
        assert!(slots.take(&tally).is_none());
        drop(taken.pop());
        assert!(slots.take(&tally).is_some());
    }

    #[test]
    fn fewer_clients_than_streams_read_output() {
        let slots = StreamSlots::default();
        let mut taken: Vec<_> = (0..MOST.0).filter_map(|_| slots.take_output()).collect();
        assert_eq!(taken.len(), MOST.1);
        drop(taken.pop());
        taken.extend(slots.take_output());
        assert_eq!(taken.len(), MOST.1);
        assert!(slots.take_output().is_none());
    }
}

//! The messages ("words") between a replica and the guard of a run. Each has sixteen bytes, so that no part of it is
//! ever lost, and pieces of it can be put together again.

use std::time::Duration;

use nix::unistd::Pid;

use crate::time::BootInstant;

/// The length of one word, in bytes.
pub(in crate::run) const LENGTH: usize = 16;

/// An order of the replica to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum GuardOrder {
    /// The run may continue until this instant of the boot clock.
    Deadline(BootInstant),
    /// Stop the run: SIGTERM, then SIGKILL after this grace; zero means SIGKILL at once.
    Stop(Duration),
}

/// A report to the replica, from the guard or (`Made`) from the zygote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum GuardReport {
    /// The main process exists; whether the command can be executed is not known yet.
    Started {
        /// The guard itself.
        guard: Pid,
        /// The main process, which leads a group of its own.
        main: Pid,
    },
    /// Nothing was started, or the command could not be executed: errno, and in the bits above it the step that
    /// failed.
    NotStarted(i32),
    /// The main process ended by itself, with this status of wait(2).
    Exited(i32),
    /// The main process ended after the guard had begun to stop the run.
    Stopped(i32),
    /// No process of a stopped run is left.
    Empty,
    /// The instant, on the boot clock, of the event in the next report: a frozen replica reads the report much later.
    At(BootInstant),
    /// The guard was made, as the zygote reports: the replica may have to kill the guard before the guard reports
    /// anything itself.
    Made(Pid),
}

fn encode(tag: u64, value: u64) -> [u8; LENGTH] {
    let mut word = [0; LENGTH];
    word[..8].copy_from_slice(&tag.to_le_bytes());
    word[8..].copy_from_slice(&value.to_le_bytes());
    word
}

fn decode(word: &[u8; LENGTH]) -> (u64, u64) {
    let (tag, value) = word.split_at(8);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("half of a word has eight bytes"));
    (number(tag), number(value))
}

fn nanos(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a signed number as the lower half of a value.
fn lower(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn signed(value: u64) -> i32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0).cast_signed()
}

impl GuardOrder {
    /// Encodes the order as a word.
    pub(in crate::run) fn encode(self) -> [u8; LENGTH] {
        match self {
            Self::Deadline(at) => encode(1, nanos(at.0)),
            Self::Stop(grace) => encode(2, nanos(grace)),
        }
    }

    /// Decodes an order; `None` if the word is not one.
    pub(in crate::run) fn decode(word: &[u8; LENGTH]) -> Option<Self> {
        match decode(word) {
            (1, at) => Some(Self::Deadline(BootInstant(Duration::from_nanos(at)))),
            (2, grace) => Some(Self::Stop(Duration::from_nanos(grace))),
            _ => None,
        }
    }
}

impl GuardReport {
    /// Encodes the report as a word.
    pub(in crate::run) fn encode(self) -> [u8; LENGTH] {
        match self {
            Self::Started { guard, main } => encode(1, lower(guard.as_raw()) << 32 | lower(main.as_raw())),
            Self::NotStarted(code) => encode(2, lower(code)),
            Self::Exited(status) => encode(3, lower(status)),
            Self::Stopped(status) => encode(4, lower(status)),
            Self::Empty => encode(5, 0),
            Self::At(at) => encode(6, nanos(at.0)),
            Self::Made(guard) => encode(7, lower(guard.as_raw())),
        }
    }

    /// Decodes a report; `None` if the word is not one.
    pub(in crate::run) fn decode(word: &[u8; LENGTH]) -> Option<Self> {
        match decode(word) {
            (1, pids) => Some(Self::Started {
                guard: Pid::from_raw(signed(pids >> 32)),
                main: Pid::from_raw(signed(pids)),
            }),
            (2, code) => Some(Self::NotStarted(signed(code))),
            (3, status) => Some(Self::Exited(signed(status))),
            (4, status) => Some(Self::Stopped(signed(status))),
            (5, _) => Some(Self::Empty),
            (6, at) => Some(Self::At(BootInstant(Duration::from_nanos(at)))),
            (7, guard) => Some(Self::Made(Pid::from_raw(signed(guard)))),
            _ => None,
        }
    }
}

/// Cuts a stream of bytes into words, however the stream is split into reads.
#[derive(Debug, Default)]
pub(in crate::run) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Adds the next bytes of the stream.
    pub(in crate::run) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Removes and returns the next whole word.
    pub(in crate::run) fn next(&mut self) -> Option<[u8; LENGTH]> {
        let word = *self.bytes.first_chunk()?;
        self.bytes.drain(..LENGTH);
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_out_as_they_went_in_however_the_bytes_are_cut() {
        let reports = [
            GuardReport::Made(Pid::from_raw(4_194_303)),
            GuardReport::Started { guard: Pid::from_raw(4_194_303), main: Pid::from_raw(2) },
            GuardReport::NotStarted(2 << 16 | 13),
            GuardReport::Exited(256),
            GuardReport::Stopped(-1),
            GuardReport::At(BootInstant(Duration::new(7, 8))),
            GuardReport::Empty,
        ];
        let mut inbox = Inbox::default();
        let mut read = Vec::new();
        for chunk in reports.map(GuardReport::encode).concat().chunks(7) {
            inbox.take(chunk);
            read.extend(std::iter::from_fn(|| inbox.next()).map(|word| GuardReport::decode(&word)));
        }
        assert_eq!(read, reports.map(Some));
    }

    #[test]
    fn orders_keep_their_times_and_nonsense_is_no_order() {
        let orders = [
            GuardOrder::Deadline(BootInstant(Duration::new(12, 345_678_901))),
            GuardOrder::Stop(Duration::ZERO),
            GuardOrder::Stop(Duration::from_millis(1_500)),
        ];
        for order in orders {
            assert_eq!(GuardOrder::decode(&order.encode()), Some(order));
        }
        assert_eq!(GuardOrder::decode(&[0xFF; LENGTH]), None);
        let endless = GuardOrder::Deadline(BootInstant(Duration::MAX)).encode();
        assert!(
            matches!(GuardOrder::decode(&endless), Some(GuardOrder::Deadline(at)) if at.0.as_secs() > 1 << 33)
        );
    }
}

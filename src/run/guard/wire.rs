//! What a replica and the guard of a run say to each other: sixteen bytes each, so that nothing of them is ever lost or
//! comes in pieces that matter.

use std::time::Duration;

use nix::unistd::Pid;

use crate::time::BootInstant;

/// Bytes of one word.
pub(in crate::run) const LENGTH: usize = 16;

/// What the replica says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum GuardOrder {
    /// The run may go on until this instant.
    Deadline(BootInstant),
    /// Stop the run: SIGTERM, SIGKILL after this grace; zero means SIGKILL at once.
    Stop(Duration),
}

/// What the guard says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) enum GuardReport {
    /// The main process is there; whether the command can be executed is not known yet.
    Started {
        /// The guard itself.
        guard: Pid,
        /// The main process, which leads a group of its own.
        main: Pid,
    },
    /// Nothing was started, or the command could not be executed: errno, and the step it happened in above its bits.
    NotStarted(i32),
    /// The main process ended by itself, with this status of wait(2).
    Exited(i32),
    /// The main process ended after the guard had begun to stop the run.
    Stopped(i32),
    /// Nothing of a stopped run is left.
    Empty,
    /// What is told next happened at this instant: a frozen replica hears of it much later.
    At(BootInstant),
    /// The guard was made, says what has made it: it may have to be killed before it says anything itself.
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

/// A number with a sign, in the lower half of a value.
fn lower(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn signed(value: u64) -> i32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0).cast_signed()
}

impl GuardOrder {
    /// The order as bytes.
    pub(in crate::run) fn encode(self) -> [u8; LENGTH] {
        match self {
            Self::Deadline(at) => encode(1, nanos(at.0)),
            Self::Stop(grace) => encode(2, nanos(grace)),
        }
    }

    /// Reads an order; `None` if it is none.
    pub(in crate::run) fn decode(word: &[u8; LENGTH]) -> Option<Self> {
        match decode(word) {
            (1, at) => Some(Self::Deadline(BootInstant(Duration::from_nanos(at)))),
            (2, grace) => Some(Self::Stop(Duration::from_nanos(grace))),
            _ => None,
        }
    }
}

impl GuardReport {
    /// The report as bytes.
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

    /// Reads a report; `None` if it is none.
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

/// Words out of a stream of bytes, however it is cut.
#[derive(Debug, Default)]
pub(in crate::run) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Takes the next bytes.
    pub(in crate::run) fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole word.
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

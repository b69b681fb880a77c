//! A slow and lossy line: what is sent arrives late but in order, now and then much later, and seldom never.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use solocron::time::BootInstant;
use solocron::time::{Clock, SystemClock};

use crate::dice::Dice;
use crate::pause::pause;

/// The longest that a piece takes one way, losses apart.
const LONGEST_MS: i64 = 500;

/// One piece in so many is lost, and sent again after such a time.
const LOST: usize = 100;
const SENT_AGAIN_MS: [i64; 3] = [200, 600, 1_400];

/// Of the lost ones, one in so many is lost for good: the connection ends.
const LOST_FOR_GOOD: usize = 8;

/// Pieces of up to 16 KiB that are on their way: as many as a line holds before the sender has to wait.
const ON_THEIR_WAY: usize = 256;

/// The line's mean delay one way, in milliseconds: 0 for none.
#[derive(Debug, Default)]
pub(crate) struct Lag(AtomicU64);

impl Lag {
    pub(crate) fn set(&self, mean: Duration) {
        self.0.store(u64::try_from(mean.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// When what is sent now arrives; `None` where it never does.
    fn arrival(&self, dice: &mut Dice) -> Option<BootInstant> {
        let now = SystemClock.boot();
        let mean = i64::try_from(self.0.load(Ordering::SeqCst)).unwrap_or(LONGEST_MS);
        if mean == 0 {
            return Some(now);
        }
        let mut ms = dice.between(mean / 2, mean * 3 / 2).clamp(1, LONGEST_MS);
        if dice.below(LOST) == 0 {
            if dice.below(LOST_FOR_GOOD) == 0 {
                return None;
            }
            ms += SENT_AGAIN_MS[dice.below(SENT_AGAIN_MS.len())];
        }
        Some(now.plus(Duration::from_millis(u64::try_from(ms).expect("positive"))))
    }
}

/// A piece of what was sent, and when it arrives.
type Piece = (BootInstant, Vec<u8>);

/// What arrives over a line, piece by piece.
pub(crate) struct Arriving(Receiver<Piece>);

impl Arriving {
    /// Everything that this stream is sent, until its end.
    pub(crate) fn from(stream: &Arc<TcpStream>, lag: &Arc<Lag>, mut dice: Dice) -> Self {
        let (send, arriving) = mpsc::sync_channel(ON_THEIR_WAY);
        let (stream, lag) = (Arc::clone(stream), Arc::clone(lag));
        std::thread::spawn(move || {
            let (mut chunk, mut last) = ([0; 16_384], BootInstant(Duration::ZERO));
            while let Ok(read @ 1..) = (&*stream).read(&mut chunk) {
                let Some(due) = lag.arrival(&mut dice) else {
                    // An error says that it has ended by itself.
                    let _ = stream.shutdown(Shutdown::Both);
                    return;
                };
                last = last.max(due);
                if send.send((last, chunk[..read].to_vec())).is_err() {
                    return;
                }
            }
        });
        Self(arriving)
    }
}

impl Iterator for Arriving {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let (due, piece) = self.0.recv().ok()?;
        pause(due.since(SystemClock.boot()));
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_takes_its_time_and_loses_some() {
        let (lag, mut dice) = (Lag::default(), Dice::of(7));
        let begun = SystemClock.boot();
        assert!(lag.arrival(&mut dice).is_some_and(|due| due.since(begun) < Duration::from_millis(100)));
        lag.set(Duration::from_millis(400));
        let all: Vec<_> = (0..10_000).map(|_| lag.arrival(&mut dice)).collect();
        let lost = all.iter().filter(|due| due.is_none()).count();
        assert!((3..40).contains(&lost), "{lost}");
        let is_slow = |due: &BootInstant| due.since(begun) >= Duration::from_millis(200);
        assert!(all.iter().flatten().all(is_slow));
    }
}

//! Signals that end a replica or a command in order: the first requests an orderly stop, a second one an immediate stop.

use std::fs;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::exit::Failure;
use crate::hold::Stop;

/// Listens for TERM, INT, HUP and QUIT, except for those that were ignored when this process was started (`nohup`, `&` in a
/// script).
#[derive(Debug)]
pub(crate) struct Signals {
    heard: Vec<(i32, Signal)>,
}

impl Signals {
    /// Listens from now on. Needs a running runtime.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let ignored = ignored();
        let kinds =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
        let wanted = kinds.into_iter().filter(|kind| !is_among(ignored, kind.as_raw_value()));
        let heard = wanted.map(|kind| Ok((kind.as_raw_value(), signal(kind)?)));
        let heard = heard.collect::<std::io::Result<_>>();
        let heard = heard.map_err(|error| Failure::failed(format!("no signal handler: {error}")))?;
        Ok(Self { heard })
    }

    /// Waits for the next signal. Returns its number. Cancel-safe.
    pub(crate) async fn next(&mut self) -> i32 {
        if self.heard.is_empty() {
            return std::future::pending().await;
        }
        let waits = self.heard.iter_mut().map(|(number, signal)| {
            Box::pin(async move {
                match signal.recv().await {
                    Some(()) => *number,
                    None => std::future::pending().await,
                }
            })
        });
        futures_util::future::select_all(waits).await.0
    }
}

/// Whether this process was started with this signal ignored.
pub(crate) fn is_ignored(number: i32) -> bool {
    is_among(ignored(), number)
}

/// Requests an orderly stop; a second call requests an immediate one.
pub(crate) fn obey(stop: &Stop) {
    if stop.drain.is_cancelled() {
        stop.at_once.cancel();
    }
    stop.drain.cancel();
}

/// Returns the signals that were ignored when this process was started, one bit each; 0 if the kernel does not report them.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn is_among(mask: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|bit| mask & (1 << bit) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_a_bit_of_the_kernels_mask() {
        // As `nohup` leaves it: SIGHUP, and SIGPIPE of our own runtime.
        assert!(is_among(0x1001, 1) && is_among(0x1001, 13));
        assert!(!is_among(0x1001, 2) && !is_among(0x1001, 15) && !is_among(0, 1));
    }
}

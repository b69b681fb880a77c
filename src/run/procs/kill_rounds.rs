//! Kills the processes of a run in rounds, until none is left. The first rounds kill at once. Processes that keep
//! multiplying are first all stopped, and only then killed: a process that is killed may be replaced by the next.

use std::collections::HashSet;
use std::io;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// How many rounds kill at once: nearly everything ends with the first.
const PLAIN: u32 = 3;

/// The most rounds in a row that stop. After these, the processes are killed even if not all are stopped.
const MOST_STOPS: u32 = 50;

/// The state of the kill rounds of one run.
#[derive(Debug, Default)]
pub(crate) struct KillRounds {
    count: u32,
    /// How many of the last rounds only stopped.
    stops: u32,
    /// The processes that the last round found.
    found: HashSet<Pid>,
    /// Whether the last round found a process that the one before had not.
    is_growing: bool,
}

impl KillRounds {
    /// Performs one round. `reach` sends a signal to each living process, the moment it finds it, and returns them.
    /// So does this; an error means that it is unknown whether any process is left.
    pub(crate) fn strike(
        &mut self,
        reach: impl FnOnce(Signal) -> io::Result<Vec<Pid>>,
    ) -> io::Result<Vec<Pid>> {
        let stops = self.count >= PLAIN && self.is_growing && self.stops < MOST_STOPS;
        self.stops = if stops { self.stops + 1 } else { 0 };
        let found = reach(if stops { Signal::SIGSTOP } else { Signal::SIGKILL })?;
        self.is_growing = self.count > 0 && found.iter().any(|pid| !self.found.contains(pid));
        self.found = found.iter().copied().collect();
        self.count = self.count.saturating_add(1);
        Ok(found)
    }

    /// Whether the next round has to follow without a pause: the last one found a new process, or only stopped.
    pub(crate) fn press(&self) -> bool {
        self.is_growing || self.stops > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILL: Signal = Signal::SIGKILL;
    const STOP: Signal = Signal::SIGSTOP;

    fn pids(ids: &[i32]) -> Vec<Pid> {
        ids.iter().copied().map(Pid::from_raw).collect()
    }

    /// Returns the signals of rounds that find these processes, and whether the next round follows without a pause.
    fn signals(kill_rounds: &mut KillRounds, looks: &[&[i32]]) -> Vec<(Signal, bool)> {
        let strike = |found: &&[i32]| {
            let mut sent = None;
            let struck = kill_rounds.strike(|signal| {
                sent = Some(signal);
                Ok(pids(found))
            });
            assert_eq!(struck.expect("it can be looked for"), pids(found));
            (sent.expect("it strikes"), kill_rounds.press())
        };
        looks.iter().map(strike).collect()
    }

    #[test]
    fn what_dies_slowly_is_killed_again_and_again_with_pauses() {
        let looks: [&[i32]; 6] = [&[1, 2], &[2, 1], &[1], &[1], &[1], &[]];
        assert_eq!(signals(&mut KillRounds::default(), &looks), [(KILL, false); 6]);
    }

    #[test]
    fn processes_that_multiply_under_sigkill_are_stopped_until_none_is_new_then_killed() {
        let looks: [&[i32]; 7] = [&[1], &[2], &[3], &[3, 4], &[3, 4, 5], &[5, 4, 3], &[3, 4, 5]];
        let expected = [
            (KILL, false),
            (KILL, true),
            (KILL, true),
            (STOP, true),
            (STOP, true),
            (STOP, true),
            (KILL, false),
        ];
        assert_eq!(signals(&mut KillRounds::default(), &looks), expected);
    }

    #[test]
    fn what_is_never_all_stopped_is_killed_as_far_as_it_is() {
        let mut kill_rounds = KillRounds::default();
        let sent: Vec<_> =
            (1..=200).flat_map(|pid| signals(&mut kill_rounds, &[&[pid]])).map(|(sent, _)| sent).collect();
        let kills = sent[PLAIN as usize..].iter().filter(|sent| **sent == KILL).count();
        assert_eq!(kills, (200 - PLAIN as usize) / (MOST_STOPS as usize + 1));
    }

    #[test]
    fn who_cannot_look_strikes_again_as_before() {
        let mut kill_rounds = KillRounds::default();
        signals(&mut kill_rounds, &[&[1], &[2], &[3]]);
        assert!(kill_rounds.strike(|_| Err(io::ErrorKind::Other.into())).is_err());
        assert_eq!(signals(&mut kill_rounds, &[&[3], &[3]]), [(STOP, true), (KILL, false)]);
    }
}

//! Ends what is left of a run by its id, which each of its processes has in its environment: for callers that are not
//! the parent of these processes. It does not find processes that cleared their environment, or those of users whose
//! processes this one may not read.

use std::io;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::job::RunId;

use super::kill_rounds::KillRounds;
use super::tree;

/// Pauses between two searches for dying processes, growing from the first value to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));

/// How many searches in a row have to find nothing: a process that was just being started during a search shows no
/// environment yet.
const SURE_AFTER: u32 = 3;

/// Kills every process of the run but this one, in rounds, until none is left, or `limit` is over. Returns those that
/// are left: they hang in the kernel, or this process may not signal them.
///
/// # Errors
///
/// Fails if the last search failed: then it is unknown whether any process is left.
pub async fn sweep(run: RunId, limit: Duration) -> io::Result<Vec<Pid>> {
    let deadline = Instant::now() + limit;
    let (mut pause, mut empty, mut kill_rounds) = (PAUSES.0, 0, KillRounds::default());
    loop {
        let striking = tokio::task::spawn_blocking(move || {
            let left = kill_rounds.strike(|signal| reach(run, Some(signal)));
            (kill_rounds, left)
        });
        let left;
        (kill_rounds, left) = striking.await.expect("looking for processes neither panics nor is it aborted");
        empty = if left.as_ref().is_ok_and(Vec::is_empty) { empty + 1 } else { 0 };
        if empty >= SURE_AFTER || Instant::now() >= deadline {
            return left;
        }
        if kill_rounds.press() {
            pause = PAUSES.0;
            continue;
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Returns the processes of the run, without this one. Blocks: reads all processes of the machine.
///
/// # Errors
///
/// Fails if the processes cannot be searched.
pub fn processes_of(run: RunId) -> io::Result<Vec<Pid>> {
    reach(run, None)
}

/// Does the same, and sends each process the signal the moment it is found.
pub(crate) fn reach(run: RunId, signal: Option<Signal>) -> io::Result<Vec<Pid>> {
    tree::reach_by_variable(&format!("SOLOCRON_RUN={run}"), signal)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Longer than any test, so that a process that is not killed is noticed.
    const LONG: &str = "600";

    fn start(command: &str, run: RunId) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env("SOLOCRON_RUN", run.to_string()).stdout(Stdio::piped());
        shell.spawn().expect("every machine has a shell")
    }

    #[tokio::test]
    async fn every_process_of_the_run_dies_wherever_it_has_gone_and_no_other() {
        let (run, other) = (RunId::new(), RunId::new());
        let mut neighbour = start(&format!("exec sleep {LONG}"), other);
        let deaf = format!("setsid sh -c 'trap \"\" TERM; echo up; sleep {LONG}; :'");
        let mut child = start(&format!("{deaf} & setsid {deaf} & echo up; wait"), run);
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let up = out.lines().take(3).map(|line| line.expect("the shells speak"));
        assert_eq!(up.collect::<Vec<_>>(), ["up"; 3]);
        let living = processes_of(run).expect("they can be looked for");
        assert!(living.len() >= 3, "{living:?}");

        let left = sweep(run, Duration::from_secs(20)).await.expect("they can be looked for");

        assert_eq!(left, []);
        assert_eq!(processes_of(run).expect("they can be looked for"), []);
        child.wait().expect("our child");
        assert_eq!(neighbour.try_wait().expect("our child"), None);
        neighbour.kill().expect("our child");
        neighbour.wait().expect("our child");
    }

    #[tokio::test]
    async fn a_run_that_left_nothing_is_believed_to_after_a_few_looks() {
        let left = sweep(RunId::new(), Duration::from_secs(20)).await;
        assert_eq!(left.expect("they can be looked for"), []);
    }
}

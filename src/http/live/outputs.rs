//! Opens the outputs of runs for clients: from this machine's logs if the run is here, else through the store.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::job::{JobName, NodeName, RunId};
use crate::relay::{FollowedOutput, LocalOutput, OutputSource};
use crate::run::LogStart;
use crate::store::Store;

/// At most so many outputs on other machines are opened within a minute: each is an asker of which replicas take notice.
const PER_MINUTE: u32 = 60;

/// The time in which they are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// So many outputs are kept for the next request of their clients, for so long.
const KEPT: (usize, Duration) = (16, Duration::from_secs(30));

/// After this long without a look, what a replica has left may be gone: it is asked again.
const FRESH_FOR: Duration = Duration::from_secs(2);

/// The outputs that clients read.
#[derive(Debug)]
pub(crate) struct Outputs {
    local: LocalOutput,
    /// Since when outputs are counted, and how many were opened since.
    opened: Mutex<(Option<Instant>, u32)>,
    /// Where clients that come back have stopped.
    kept: Mutex<Vec<KeptOutput>>,
}

/// An output, and where its client goes on.
#[derive(Debug)]
struct KeptOutput {
    output: FollowedOutput,
    next: u64,
    at: Instant,
}

/// A run, and the replica that runs or ran it, if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunPlace {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
    pub(crate) node: Option<NodeName>,
}

/// Why an output is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// This machine's logs cannot be read, for this reason.
    Unreadable(String),
    /// It is not here, and which replica ran it is not known.
    Nowhere,
    /// It is elsewhere, and there is no store through which its replica could be asked.
    NoStore,
    /// Too many are open, or too many were opened lately; after so many seconds, it may be opened.
    TooMany(u64),
}

impl Unopened {
    /// Returns for people why no output is shown.
    pub(crate) fn complaint(&self) -> String {
        match self {
            Self::Unreadable(why) => format!("this replica cannot read the log: {why}"),
            Self::Nowhere => "it is not known which replica ran it".to_owned(),
            Self::NoStore => "the store does not answer".to_owned(),
            Self::TooMany(_) => "this replica shows output to too many at once".to_owned(),
        }
    }
}

impl Outputs {
    /// Returns the outputs for clients of a replica with these logs.
    pub(crate) fn new(local: LocalOutput) -> Self {
        Self { local, opened: Mutex::default(), kept: Mutex::default() }
    }

    /// Whether this machine runs this run, or has its log.
    ///
    /// # Errors
    /// If the logs cannot be read.
    pub(crate) async fn has(&self, job: &JobName, run: RunId) -> io::Result<bool> {
        self.local.has(job, run).await
    }

    /// Returns the output of a run that is here from `start` on.
    pub(crate) fn open_here(&self, place: RunPlace, own: NodeName, start: LogStart) -> FollowedOutput {
        let RunPlace { job, run, node } = place;
        let source = OutputSource { node: node.unwrap_or(own), job, run };
        FollowedOutput::here(self.local.clone(), source, start)
    }

    /// Returns the output of a run from `start` on.
    ///
    /// # Errors
    /// If it is neither here nor on a replica that can be asked.
    pub(crate) async fn open(
        &self,
        place: RunPlace,
        own: &NodeName,
        store: Option<Arc<dyn Store>>,
        start: LogStart,
    ) -> Result<FollowedOutput, Unopened> {
        let is_here = self.has(&place.job, place.run).await;
        let is_here = is_here.map_err(|error| Unopened::Unreadable(error.to_string()))?;
        if is_here || place.node.as_ref() == Some(own) {
            return Ok(self.open_here(place, own.clone(), start));
        }
        let RunPlace { job, run, node } = place;
        let node = node.ok_or(Unopened::Nowhere)?;
        let store = store.ok_or(Unopened::NoStore)?;
        self.count(Instant::now())?;
        Ok(FollowedOutput::elsewhere(store, OutputSource { node, job, run }, start))
    }

    /// Keeps an output for the next request of its client, which goes on at `next`.
    pub(crate) fn keep(&self, output: FollowedOutput, next: u64) {
        let at = Instant::now();
        let mut kept = self.kept();
        kept.retain(|other| at.duration_since(other.at) < KEPT.1);
        if kept.len() >= KEPT.0 {
            // The oldest is first.
            kept.remove(0);
        }
        kept.push(KeptOutput { output, next, at });
    }

    /// Returns the output that was kept for a client that goes on here; `None` if there is none.
    pub(crate) fn take_kept(&self, job: &JobName, run: RunId, from: u64) -> Option<FollowedOutput> {
        let now = Instant::now();
        let mut kept = self.kept();
        let is_it = |kept: &KeptOutput| {
            let source = kept.output.source();
            kept.next == from && source.run == run && source.job == *job
        };
        let at = kept.iter().position(is_it)?;
        let KeptOutput { mut output, at, .. } = kept.remove(at);
        let age = now.duration_since(at);
        if age >= FRESH_FOR {
            output.go_on_from(LogStart::Byte(from));
        }
        (age < KEPT.1).then_some(output)
    }

    /// Counts an output that is opened on another machine.
    fn count(&self, now: Instant) -> Result<(), Unopened> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = &mut *opened;
        let age = since.map_or(MINUTE, |since| now.duration_since(since));
        if age >= MINUTE {
            (*since, *count) = (Some(now), 0);
        }
        if *count >= PER_MINUTE {
            return Err(Unopened::TooMany(MINUTE.saturating_sub(age).as_secs().max(1)));
        }
        *count += 1;
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Vec<KeptOutput>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(node: Option<&str>) -> RunPlace {
        RunPlace {
            job: JobName::parse("backup").expect("a name"),
            run: RunId::new(),
            node: node.map(|node| NodeName::parse(node).expect("a name")),
        }
    }

    fn own() -> NodeName {
        NodeName::parse("n1").expect("a name")
    }

    #[tokio::test]
    async fn a_run_is_read_here_if_its_log_is_here_or_its_replica_is_this_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let outputs = Outputs::new(LocalOutput::new(folder.path()));
        let (elsewhere, nowhere, own_run) = (place(Some("n2")), place(None), place(Some("n1")));
        let open = async |place: &RunPlace| {
            let opened = outputs.open(place.clone(), &own(), None, LogStart::Byte(0)).await;
            opened.map(|output| output.is_here())
        };
        assert_eq!(open(&elsewhere).await, Err(Unopened::NoStore));
        assert_eq!(open(&nowhere).await, Err(Unopened::Nowhere));
        assert_eq!(open(&own_run).await, Ok(true));
        let logs = folder.path().join("runs/backup");
        std::fs::create_dir_all(&logs).expect("a folder");
        for place in [&elsewhere, &nowhere] {
            std::fs::write(logs.join(format!("{}.log", place.run)), "one\n").expect("written");
            assert_eq!(open(place).await, Ok(true));
        }
    }

    #[tokio::test]
    async fn a_client_that_goes_on_gets_the_output_that_was_kept_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let outputs = Outputs::new(LocalOutput::new(folder.path()));
        let one = place(None);
        for next in 0..20 {
            outputs.keep(outputs.open_here(one.clone(), own(), LogStart::Byte(next)), next);
        }
        let take = |from| outputs.take_kept(&one.job, one.run, from).is_some();
        assert!(!take(3), "of 20, the newest 16 are kept");
        assert!(take(4) && !take(4), "each is returned once");
        assert!(outputs.take_kept(&one.job, RunId::new(), 5).is_none(), "it is of another run");
    }

    #[test]
    fn no_more_outputs_elsewhere_are_opened_within_a_minute() {
        let folder = tempfile::tempdir().expect("a folder");
        let (outputs, now) = (Outputs::new(LocalOutput::new(folder.path())), Instant::now());
        assert!((0..PER_MINUTE).all(|_| outputs.count(now).is_ok()));
        assert_eq!(outputs.count(now + Duration::from_secs(50)), Err(Unopened::TooMany(10)));
        assert_eq!(outputs.count(now + MINUTE), Ok(()));
    }
}

//! How a world ends: everything is stopped, and what can be known of it is gathered.

use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

use crate::evidence::Evidence;
use crate::inspector::Look;
use crate::pause::pause;
use crate::replica::Replica;
use crate::{processes, renewals, testimony};

use super::{DEADLINE, World, now_ms, records};

/// What ends by itself when a replica drains is gone after this long.
const LAST_GASP: Duration = Duration::from_secs(5);

impl World {
    /// Ends everything, and gathers what can be known of it. A replica that was not killed must have ended well.
    pub(crate) fn finish(mut self) -> (Evidence, Option<TempDir>) {
        let to_ms = now_ms();
        let looks = self.keep_looks();
        let mut troubles = Vec::new();
        self.askers.clear();
        for replica in &mut self.replicas {
            if replica.has_ended() {
                troubles.push(format!("{} ended although nobody killed it", replica.node()));
            }
            replica.signal(Signal::SIGTERM);
        }
        for replica in &mut self.replicas {
            if !replica.wait() {
                troubles.push(format!("{} did not end well", replica.node()));
            }
        }
        self.collect_at_last();
        troubles.extend(self.left_behind());
        let mut replies = std::collections::BTreeMap::new();
        for (name, count) in self.proxies.iter().flat_map(|proxy| proxy.counts()) {
            *replies.entry(name).or_default() += count;
        }
        let evidence = Evidence {
            jobs: self.jobs.clone(),
            runs: testimony::read(&records(&self.path)),
            renewals: renewals::read(&self.path),
            entries: self.ledger.entries(),
            contradictions: self.ledger.contradictions(),
            losses_ms: self.ledger.losses().to_vec(),
            read_ms: self.ledger.read_ms().clone(),
            held_up_ms: self.watchman.end(),
            troubles,
            replies,
            looks,
            faults: Vec::new(),
            pauses_ms: Vec::new(),
            hands: std::collections::BTreeMap::new(),
            from_ms: self.begun_ms,
            to_ms,
        };
        (evidence, self.folder.take())
    }

    /// Processes that did not end with their replicas.
    fn left_behind(&self) -> Vec<String> {
        let deadline = SystemClock.boot().plus(LAST_GASP);
        loop {
            let left = processes::of_campaign(&self.path);
            let left: Vec<_> = left.iter().filter(|process| !process.name.starts_with("redis")).collect();
            if left.is_empty() || SystemClock.boot() > deadline {
                return left.iter().map(|process| format!("left behind: {process:?}")).collect();
            }
            pause(Duration::from_millis(50));
        }
    }

    /// What `status` said, which is kept with the rest.
    fn keep_looks(&mut self) -> Vec<Look> {
        let looks = self.inspector.end();
        let told: String = looks.iter().map(|look| format!("{look:?}\n")).collect();
        std::fs::write(self.path.join("looks"), told).expect("a writable folder");
        looks
    }

    /// For the last time.
    fn collect_at_last(&mut self) {
        let deadline = SystemClock.boot().plus(DEADLINE);
        while let Err(error) = self.try_to_collect() {
            assert!(SystemClock.boot() < deadline, "the store cannot be asked what it recorded: {error}");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.askers.clear();
        self.replicas.iter_mut().for_each(Replica::kill);
        processes::kill_all(&self.path);
        if let Some(folder) = self.folder.take().filter(|_| std::thread::panicking()) {
            self.keep_looks();
            println!("kept in: {}", folder.keep().display());
        }
    }
}

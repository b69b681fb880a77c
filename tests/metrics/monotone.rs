//! The instants of jobs never go back: when the replica that recorded a run is gone, and when the store has forgotten
//! everything.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;

use crate::process::Scene;
use crate::redis_server::RedisServer;
use crate::stage::{Scraped, eventually};

/// The four instants of a job.
const INSTANTS: [&str; 4] = [
    "solocron_job_decision_due_timestamp_seconds",
    "solocron_job_success_due_timestamp_seconds",
    "solocron_job_success_timestamp_seconds",
    "solocron_job_failure_timestamp_seconds",
];

const SUCCESS: &str = "solocron_job_success_timestamp_seconds{job_name=\"good\"}";
const FAILURE: &str = "solocron_job_failure_timestamp_seconds{job_name=\"bad\"}";
const RARE: &str = "solocron_job_success_timestamp_seconds{job_name=\"rare\"}";

/// Jobs that succeed and fail, and one that runs by hand alone: nothing but its record tells the others of its end.
fn jobs(url: &str) -> String {
    let lease = "lease = \"5s\"\n";
    format!(
        "[cluster]\nname = \"a\"\nstore = \"{url}\"\n\
        [jobs.good]\nschedule = \"*/2 * * * * *\"\nshell = \"true\"\n{lease}\
        [jobs.bad]\nschedule = \"*/2 * * * * *\"\nshell = \"exit 3\"\n{lease}\
        [jobs.rare]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n{lease}"
    )
}

/// The largest of each instant so far, replica by replica and over all of them.
#[derive(Default)]
struct Watch {
    newest: BTreeMap<(String, String), f64>,
}

impl Watch {
    /// Takes in a scrape of each of these replicas. Nothing has gone back.
    fn look(&mut self, replicas: &[(&str, &Scraped)]) {
        for (node, replica) in replicas {
            let samples = replica.samples();
            let is_instant = |series: &&String| INSTANTS.iter().any(|name| series.starts_with(name));
            for series in samples.0.keys().filter(is_instant) {
                let number = samples.number(series).expect("it is there");
                let before = self.newest.entry(((*node).to_owned(), series.clone())).or_insert(number);
                assert!(number >= *before, "{node}: {series} went back from {before} to {number}");
                *before = number;
            }
        }
    }

    /// The largest number of a series over all replicas, as `max by (job_name)` has it.
    fn largest(&self, series: &str) -> f64 {
        let all = self.newest.iter().filter(|((_, own), _)| own == series);
        all.map(|(_, number)| *number).fold(0.0, f64::max)
    }
}

#[test]
fn no_instant_goes_back_when_the_recorder_is_killed_or_the_store_is_emptied() {
    let server = RedisServer::start();
    let scene = Scene::new(&jobs(&server.url()));
    let mut watch = Watch::default();
    let first = Scraped::start(&scene, "n1");
    first.wait_for(SUCCESS, |at| at > 0.0);
    first.wait_for(FAILURE, |at| at > 0.0);
    let triggered = scene.command(&["trigger", "rare", "--follow"]).output().expect("the program runs");
    assert!(triggered.status.success(), "{}", String::from_utf8_lossy(&triggered.stderr));
    first.wait_for(RARE, |at| at > 0.0);
    watch.look(&[("n1", &first)]);

    // A replica that was not there learns it from the record.
    let second = Scraped::start(&scene, "n2");
    let known = watch.largest(RARE);
    second.wait_for(RARE, |at| at == known);
    second.wait_for(SUCCESS, |at| at > 0.0);
    for _ in 0..50 {
        watch.look(&[("n1", &first), ("n2", &second)]);
    }

    // The recorder is gone: the other one knows of as much, and goes on.
    first.program.signal(Signal::SIGKILL);
    drop(first.program.wait());
    for (series, before) in [SUCCESS, FAILURE, RARE].map(|series| (series, watch.largest(series))) {
        second.wait_for(series, |at| at >= before);
    }
    watch.look(&[("n2", &second)]);

    // The store forgets everything; what a replica has seen, it goes on saying.
    let before = watch.largest(SUCCESS);
    assert_eq!(server.cli(&["FLUSHALL"]), "OK");
    eventually("a success in the new era", || {
        watch.look(&[("n2", &second)]);
        (watch.largest(SUCCESS) > before + 2.0).then_some(())
    });
    assert_eq!(second.samples().number(RARE), Some(known), "it ran once, before the store forgot");

    // A replica that starts now has not seen that run. The largest over all replicas stays right.
    let third = Scraped::start(&scene, "n3");
    third.wait_for(SUCCESS, |at| at > before);
    watch.look(&[("n2", &second), ("n3", &third)]);
    assert_eq!(watch.largest(RARE), known);
}

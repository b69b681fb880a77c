//! A made-up cluster, healthy and at three in the morning, as the pages of tests show it.

mod looks;

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::config::Config;
use crate::config::testing::config;
use crate::http::acts::LastActs;
use crate::http::page::home::{HomeAddress, HomeFacts, home_parts};
use crate::http::page::shell::{PageFrame, PagePart, StoreSight, VisitorSight};
use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{Era, HistoryEntry, Phase, Record, ScheduleHash};
use crate::operate::audit::{ActKind, ActNote};
use crate::store::{Beat, BeatRun, GLANCED_ENTRIES, Peer, StageTimes};
use crate::time::UtcMillis;
use crate::view::expected::Expected;
use crate::view::history::usual_duration;
use crate::view::job::{JobCondition, JobList, JobState, KnownJob};
use crate::view::problems::{ClusterProblem, problems};
use crate::view::snapshot::Snapshot;
use crate::view::timeline::{
    CurrentRun, NewsKind, PastTick, Picture, TimeWindow, TimelineFacts, TimelineJob, TimelineNews,
};

/// 2026-11-20T03:12:44Z, a Friday.
pub(super) const NOW: UtcMillis = UtcMillis(1_795_144_364_000);

/// Words that must be shown as they are, and never obeyed.
pub(super) const EVIL: &str = "<script>alert('x')</script>\"{{ 7 * 7 }}&amp;";

const FILE: &str = r#"
[cluster]
name = "billing"
store = "local"
replicas = 3

[jobs.payout]
schedule = "*/15 * * * *"
timezone = "Europe/Berlin"
command = ["payout", "--since=yesterday"]
description = "Pays out what is due"
timeout = "10m"
retries = 1

[jobs.nightly-backup]
schedule = "30 2 * * *"
command = ["pg_dump", "-Fc", "-f", "/backups/app.dump", "app"]
on_interrupt = "rerun"
lease = "1m"

[jobs.reindex]
schedule = "H/15 * * * *"
command = ["reindex"]

[jobs.newsletter]
schedule = "@hourly"
command = ["newsletter"]

[jobs.clean-sessions]
schedule = "* * * * *"
command = ["clean-sessions"]

[jobs.import-rates]
schedule = "*/5 * * * *"
command = ["import-rates"]

[jobs.invoice-run]
schedule = "0 4 * * MON-FRI"
timezone = "Europe/Berlin"
command = ["invoice-run"]

[jobs.old-report]
schedule = "0 0 * * *"
command = ["old-report"]
enabled = false

[jobs.warm-caches]
schedule = "*/10 * * * *"
command = ["warm-caches"]
"#;

/// A cluster.
pub(super) struct Scene {
    pub(super) config: Config,
    pub(super) snapshot: Snapshot,
    pub(super) news: Vec<TimelineNews>,
    pub(super) store: StoreSight,
}

/// This many seconds before now.
pub(super) fn ago(seconds: i64) -> UtcMillis {
    UtcMillis(NOW.0 - seconds * 1_000)
}

fn node(name: &str) -> NodeName {
    NodeName::parse(name).expect("a name")
}

/// The visitor who may see everything.
pub(super) const MARIA: VisitorSight<'static> =
    VisitorSight { name: Some("maria"), can_log_in: true, sees_output: true, read_only: None };

/// The frame of a page for this visitor.
pub(super) fn frame(visitor: VisitorSight<'static>) -> PageFrame<'static> {
    PageFrame { cluster: "billing", base: "", now: NOW, visitor, refresh: None }
}

fn peer(name: &str, seconds_ago: i64) -> Peer {
    let beat = Beat {
        stages: vec![StageTimes { stage: "late".into(), p50_us: 2_100, p99_us: 15_900 }],
        ..Beat::of(node(name), RunId::new(), "3f9c21ab55555555".to_owned(), ago(190_000))
    };
    Peer { at: ago(seconds_ago), beat }
}

/// A run of the tick this many seconds ago, on this replica.
pub(super) fn ran(on: &str, due: i64, took: i64, outcome: Outcome) -> HistoryEntry {
    HistoryEntry {
        run: Some(RunId::new()),
        node: Some(node(on)),
        fence: Some(Fence(1_763_863_241_123)),
        attempt: Some(1),
        started: Some(UtcMillis(ago(due).0 + 3)),
        exit_code: match outcome {
            Outcome::Succeeded => Some(0),
            Outcome::Failed => Some(3),
            _ => None,
        },
        ..HistoryEntry::without_run(Tick(ago(due)), Cause::Schedule, Verdict::plain(outcome), ago(due - took))
    }
}

fn absent(due: i64, verdict: Verdict) -> HistoryEntry {
    HistoryEntry::without_run(Tick(ago(due)), Cause::Schedule, verdict, ago(due))
}

/// What operators did lately.
pub(super) fn last_acts() -> LastActs {
    let note = |act, result: &str, why: Option<&str>, seconds| ActNote {
        at: ago(seconds),
        by: "maria".to_owned(),
        from: "10.1.2.3".to_owned(),
        act,
        job: JobName::parse("payout").expect("a name"),
        why: why.map(str::to_owned),
        result: result.to_owned(),
    };
    let taken = format!("a replica has picked this up: run {}", RunId::new());
    let notes = vec![
        note(ActKind::Resume, "is no longer paused", None, 3),
        note(
            ActKind::Pause,
            "is paused until 2026-11-20 13:11:04 UTC (for 11h)",
            Some(&format!("month end {EVIL}")),
            3_700,
        ),
        note(ActKind::Trigger, &taken, None, 90_000),
        note(ActKind::Kill, "refused: job `payout` is not running", None, 90_100),
    ];
    LastActs { notes, unreadable: 0, is_read: true }
}

impl Scene {
    /// A cluster of this file of which every job is known, and none has run.
    pub(super) fn of(file: &str) -> Self {
        let config = config(file);
        let jobs = config.jobs.values().map(|spec| {
            let record = Record {
                schedule_hash: ScheduleHash::of(&spec.schedule),
                lease: spec.lease,
                mark: NOW,
                ..Record::empty(Era::default())
            };
            let record = spec.enabled.then_some(record);
            JobState::of(KnownJob::from(spec.clone()), Ok(record), Ok(Vec::new()))
        });
        let peers = vec![peer("node-a", 0), peer("node-b", 0), peer("node-c", 1)];
        let snapshot = Snapshot::of(NOW, peers, jobs.collect());
        Self { config, snapshot, news: Vec::new(), store: StoreSight::Answers }
    }

    pub(super) fn job(&mut self, name: &str) -> &mut JobState {
        self.snapshot.jobs.iter_mut().find(|job| job.name.as_str() == name).expect("a job")
    }

    /// Gives a job these entries, oldest first, and what a record says after them.
    pub(super) fn decide(&mut self, name: &str, entries: Vec<HistoryEntry>) {
        let job = self.job(name);
        let record = job.record.as_mut().expect("a record");
        for entry in &entries {
            match entry.outcome {
                Outcome::Succeeded => {
                    record.last_success_tick = Some(entry.tick);
                    record.last_success_end = Some(entry.finished);
                    (record.failures_in_row, record.failing_since) = (0, None);
                }
                Outcome::Skipped | Outcome::Killed => {}
                _ => {
                    record.failures_in_row += entry.count.unwrap_or(1);
                    record.failing_since = record.failing_since.or(Some(entry.finished));
                }
            }
        }
        (job.has_older, job.entries) = (entries.len() >= GLANCED_ENTRIES, entries);
    }

    /// Lets a job run on a replica for so many seconds.
    pub(super) fn run(&mut self, name: &str, on: &str, seconds: i64) {
        let run = RunId::new();
        let job = self.job(name);
        let record = job.record.as_mut().expect("a record");
        *record = Record {
            phase: Phase::Running,
            run: Some(run),
            tick: Some(Tick(ago(seconds))),
            cause: Some(Cause::Schedule),
            started: Some(ago(seconds)),
            ended: Some(ago(1)),
            owner: Some(node(on)),
            fence: Fence(1_763_863_241_124),
            ..record.clone()
        };
        let running = BeatRun { job: job.name.clone(), run, lease_ms: 0, end: None };
        let peers = &mut self.snapshot.peers;
        let peer = peers.iter_mut().find(|peer| peer.beat.node.as_str() == on).expect("a replica");
        peer.beat.running.push(running);
    }

    /// Everything runs as it should.
    pub(super) fn healthy() -> Self {
        let mut scene = Self::of(FILE);
        let nodes = ["node-a", "node-b", "node-c"];
        // Jobs with the seconds from tick to tick, since the last tick, and of a run; and how many ran.
        for (shift, (job, every, last, took, count)) in [
            ("payout", 900, 764, 38, 60),
            ("reindex", 900, 584, 20, 60),
            ("newsletter", 3_600, 764, 120, 24),
            ("clean-sessions", 60, 104, 41, 60),
            ("import-rates", 300, 164, 15, 60),
            ("warm-caches", 600, 164, 45, 60),
            ("nightly-backup", 86_400, 88_964, 2_300, 9),
        ]
        .into_iter()
        .enumerate()
        {
            let on = |at: i64| nodes[(at as usize + shift) % nodes.len()];
            let run = |at: i64| ran(on(at), at * every + last, took + at % 5, Outcome::Succeeded);
            scene.decide(job, (0..count).rev().map(run).collect());
        }
        scene.run("nightly-backup", "node-b", 2_564);
        scene.run("clean-sessions", "node-a", 44);
        scene
    }

    /// Several things are wrong at once.
    pub(super) fn at_three() -> Self {
        let mut scene = Self::healthy();
        let mut payout = scene.job("payout").entries.clone();
        let failed_from = payout.len() - 4;
        for entry in &mut payout[failed_from..] {
            *entry = HistoryEntry {
                outcome: Outcome::Failed,
                exit_code: Some(3),
                attempt: Some(2),
                ..entry.clone()
            };
            entry.tail = Some(format!(
                "connecting to db.internal:5432\n\u{1b}[31mpsycopg.OperationalError\u{1b}[0m: connection refused {EVIL}\n"
            ));
        }
        scene.decide("payout", payout);
        scene.lose_the_store();
        let mut caches = scene.job("warm-caches").entries.clone();
        let skipped = caches.len() - 2;
        caches[skipped] = absent(764, Verdict::because(Outcome::Skipped, Reason::Overlap));
        scene.decide("warm-caches", caches);
        scene.lose_a_replica();
        let cut = HistoryEntry {
            reason: Some(Reason::NodeLost),
            finished: ago(1_900),
            fence: Some(Fence(17)),
            ..ran("node-c", 2_564, 600, Outcome::Interrupted)
        };
        let again = HistoryEntry {
            cause: Cause::Rerun,
            fence: Some(Fence(18)),
            started: Some(ago(1_800)),
            ..ran("node-b", 2_564, 1_500, Outcome::Succeeded)
        };
        let mut backup = scene.job("nightly-backup").entries.clone();
        backup.extend([cut, again]);
        let record = scene.job("nightly-backup").record.as_mut().expect("a record");
        record.phase = Phase::Idle;
        scene.decide("nightly-backup", backup);
        let newsletter = scene.job("newsletter").record.as_mut().expect("a record");
        newsletter.paused = Some(UtcMillis(NOW.0 + 10_000_000));
        newsletter.paused_at = Some(ago(1_200));
        newsletter.paused_by = Some("maria".to_owned());
        newsletter.paused_why = Some(format!("mailer moves {EVIL}"));
        scene.snapshot.peers[1].beat.running.clear();
        scene
    }

    /// For five minutes, no replica reaches the store: `clean-sessions` misses five ticks, and what has longer is late.
    fn lose_the_store(&mut self) {
        let (lost, reached) = (ago(3_415), ago(3_110));
        let is_within = |at: UtcMillis| lost < at && at < reached;
        for job in &mut self.snapshot.jobs {
            let within: Vec<usize> =
                (0..job.entries.len()).filter(|at| is_within(job.entries[*at].tick.instant())).collect();
            if let ("clean-sessions", [first, .., last]) = (job.name.as_str(), &within[..]) {
                let missed = HistoryEntry {
                    after: Some(UtcMillis(job.entries[*first].tick.instant().0 - 1)),
                    count: Some(within.len() as u64),
                    finished: reached,
                    ..HistoryEntry::without_run(
                        job.entries[*last].tick,
                        Cause::Schedule,
                        Verdict::because(Outcome::Missed, Reason::StoreUnreachable),
                        reached,
                    )
                };
                job.entries.splice(*first..=*last, [missed]);
                continue;
            }
            for at in within {
                let entry = &mut job.entries[at];
                let late = reached.0 - entry.tick.instant().0;
                entry.started = entry.started.map(|started| UtcMillis(started.0 + late));
                entry.finished = UtcMillis(entry.finished.0 + late);
            }
        }
        for (name, seconds) in [("node-a", 0), ("node-b", 4), ("node-c", 7)] {
            for (from, what) in [(lost, NewsKind::StoreLost), (reached, NewsKind::StoreReached)] {
                let at = UtcMillis(from.0 - seconds * 1_000);
                self.news.push(TimelineNews { node: node(name), at, what });
            }
        }
    }

    /// The last replica is down: what would have run there since runs on the others.
    fn lose_a_replica(&mut self) {
        let down = ago(1_900);
        self.snapshot.peers[2].at = down;
        let entries = self.snapshot.jobs.iter_mut().flat_map(|job| &mut job.entries);
        let gone = Some(node("node-c"));
        for (at, entry) in entries.filter(|entry| entry.node == gone && entry.finished > down).enumerate() {
            entry.node = Some(node(if at % 2 == 0 { "node-a" } else { "node-b" }));
        }
    }

    /// What is wrong.
    pub(super) fn problems(&self) -> Vec<ClusterProblem> {
        let file = Some("3f9c21ab55555555");
        problems(&self.snapshot, Expected { replicas: self.config.expected_replicas, file, flaw: None })
    }

    /// The timeline of these jobs.
    pub(super) fn picture(&self, address: &HomeAddress, only: Option<&JobName>) -> Picture {
        let jobs: Vec<&JobState> =
            self.snapshot.jobs.iter().filter(|job| only.is_none_or(|only| job.name == *only)).collect();
        let entries = jobs.iter().flat_map(|job| job.entries.iter().map(|entry| (&job.name, entry)));
        let past: Vec<PastTick<'_>> = entries.map(|(job, entry)| PastTick { job, entry }).collect();
        let running: Vec<CurrentRun> = jobs
            .iter()
            .filter_map(|job| CurrentRun::of(&job.name, job.record.as_ref()?, true, NOW))
            .collect();
        let timeline = |job: &&'_ JobState| -> (Option<Duration>, Option<crate::lease::Pausing>) {
            (usual_duration(&job.entries), job.record.as_ref().and_then(Record::pausing))
        };
        let lines: Vec<TimelineJob<'_>> = jobs
            .iter()
            .map(|job| {
                let (usual, pausing) = timeline(job);
                let spec = job.spec().map(|spec| &**spec);
                TimelineJob { name: &job.name, spec, pausing, usual, read_from: job.read_from() }
            })
            .collect();
        let facts = TimelineFacts {
            past: &past,
            running: &running,
            jobs: &lines,
            peers: &self.snapshot.peers,
            news: &self.news,
            file: Some("3f9c21ab55555555"),
        };
        Picture::of(&facts, &TimeWindow::of(NOW, address.span, TimeZone::UTC), address.order)
    }

    /// The parts of the first page for this visitor.
    pub(super) fn home(&self, address: &HomeAddress, visitor: VisitorSight<'static>) -> Vec<PagePart> {
        self.home_in(&frame(visitor), address)
    }

    /// The parts of the first page in this frame.
    pub(super) fn home_in(&self, frame: &PageFrame<'_>, address: &HomeAddress) -> Vec<PagePart> {
        let problems = self.problems();
        let list = JobList::of(&self.snapshot, Expected { replicas: None, file: None, flaw: None });
        let counts = JobCondition::ALL.map(|condition| (condition.as_str(), list.count(Some(condition))));
        let facts = HomeFacts {
            address,
            listed: &self.snapshot,
            troubled: &self.snapshot,
            problems: &problems,
            counts: (self.snapshot.jobs.len(), &counts),
            matching: (self.snapshot.jobs.len(), 50),
            last_acts: &last_acts().notes[..1],
            picture: Some(&self.picture(address, None)),
            store: self.store,
        };
        home_parts(frame, &facts)
    }
}

//! The store: `lease::decide` over records that outlive restarts, failovers and losses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use crate::job::{JobName, NodeName, RunId, Tick};
use crate::lease::{
    Answer, Decision, Era, HistoryEntry, LeaseInstant, Memory, Passed, Record, Request, Server as Moments,
    Version, decide,
};
use crate::replica::recovery::settle_lost_runs::NEWEST_ENTRIES;
use crate::replica::simulation::checks::counters::Tally;
use crate::replica::simulation::faults::fault::Fault;
use crate::replica::simulation::stand_ins::hints::Hinted;
use crate::store::{Beat, FORGET_NODES_MS, FORGET_NOTICES_MS, Hint, Marked, Marker, Notice, Peer, Pulse};
use crate::time::UtcMillis;

use super::clock::{Moment, Reads};
use super::message::{Ask, Cell, Decided, Told};

/// A copy that a failover brings back is at most this old.
const OLDEST_COPY: Duration = Duration::from_secs(8);

/// The data that a store may lose.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    pub(crate) records: Vec<Option<Record>>,
    /// Their versions.
    versions: Vec<Option<Version>>,
    /// The entries of each job.
    histories: Vec<Rc<Vec<HistoryEntry>>>,
    /// Those since its record was made.
    of_records: Vec<Rc<Vec<HistoryEntry>>>,
    pub(crate) nodes: BTreeMap<NodeName, Peer>,
    known: BTreeSet<usize>,
    /// When each job was last announced.
    notices: BTreeMap<usize, i64>,
    marker: Option<Marker>,
}

impl Shelf {
    /// Returns an empty shelf.
    fn of(jobs: usize) -> Self {
        let none = vec![Rc::default(); jobs];
        let versions = vec![None; jobs];
        Self {
            records: vec![None; jobs],
            versions,
            histories: none.clone(),
            of_records: none,
            ..Self::default()
        }
    }

    /// The same without some of its keys.
    pub(crate) fn without(mut self, record: Option<usize>, fault: Fault) -> Self {
        if let Some(job) = record {
            (self.records[job], self.versions[job]) = (None, None);
            self.of_records[job] = Rc::default();
        }
        if matches!(fault, Fault::KnownLost | Fault::RecordAndKnownLost) {
            self.known.clear();
        }
        if matches!(fault, Fault::NodesLost | Fault::RecordAndNodesLost) {
            self.nodes.clear();
            self.marker = None;
        }
        self
    }

    /// Whether it has a heartbeat that the other does not have.
    pub(crate) fn has_newer_beat_than(&self, other: &Self) -> bool {
        let is_known = |name: &NodeName, at| other.nodes.get(name).is_some_and(|known| known.at >= at);
        self.nodes.iter().any(|(name, peer)| !is_known(name, peer.at))
    }
}

/// Whether the store takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Up,
    /// Refuses connections.
    Down,
    /// Takes requests, and performs them at this moment.
    Frozen(Moment),
    /// Refuses to write records for this replica, or for every one (`None`), and takes everything else.
    RefusesWrites(Option<usize>),
}

impl Service {
    /// Whether it refuses to write records for this replica.
    pub(crate) fn refuses_writes_of(self, seat: usize) -> bool {
        matches!(self, Self::RefusesWrites(of) if of.is_none_or(|of| of == seat))
    }
}

/// One store.
pub(crate) struct Server {
    pub(crate) memory: Memory,
    /// The jobs.
    names: Vec<JobName>,
    pub(crate) service: Service,
    pub(crate) shelf: Shelf,
    /// Younger than [`OLDEST_COPY`], oldest first.
    copies: VecDeque<(Moment, Shelf)>,
    life: u32,
    /// How often the store set a new marker, as it had none or one that a heartbeat shows to be forgotten.
    markers: u32,
    /// How many versions of records were made.
    nonces: u64,
    /// Every entry ever written of each job, whether or not the store still has it.
    pub(crate) told: Vec<Vec<HistoryEntry>>,
    /// The entries since a job's record was made, as they were whenever the store forgot.
    of_former_records: Vec<Vec<Rc<Vec<HistoryEntry>>>>,
    /// Entries of ticks that had not come yet, written by a clock that was ahead, which the store forgot. Replicas that
    /// received them know these ticks as decided, and no replica records them again, unless they are opened again.
    pub(crate) forgotten: Vec<Vec<HistoryEntry>>,
    /// The spans, by the store's clock, in which it had requests from the holders of each job's lock, or their runs
    /// were alive; also of holders that never received their grant, and claimed again.
    pub(crate) signs: Vec<Vec<(UtcMillis, UtcMillis)>>,
    /// Every tick ever granted of each job, started or not.
    pub(crate) granted: Vec<BTreeSet<Tick>>,
    /// Ticks that were decided one by one before they had come, by a clock that was ahead.
    pub(crate) foretold: Vec<BTreeSet<Tick>>,
    /// The mark of each job's first record.
    pub(crate) first_marks: Vec<Option<UtcMillis>>,
    /// Jobs of which something was forgotten.
    pub(crate) has_forgotten: Vec<bool>,
    /// Hints to publish.
    pub(crate) hints: Vec<Hinted>,
}

impl Server {
    pub(crate) fn new(memory: Memory, names: Vec<JobName>) -> Self {
        let jobs = names.len();
        let shelf = Shelf::of(jobs);
        Self {
            memory,
            names,
            service: Service::Up,
            shelf,
            copies: VecDeque::new(),
            life: 0,
            markers: 0,
            nonces: 0,
            told: vec![Vec::new(); jobs],
            of_former_records: vec![Vec::new(); jobs],
            forgotten: vec![Vec::new(); jobs],
            signs: vec![Vec::new(); jobs],
            granted: vec![BTreeSet::new(); jobs],
            foretold: vec![BTreeSet::new(); jobs],
            first_marks: vec![None; jobs],
            has_forgotten: vec![false; jobs],
            hints: Vec::new(),
        }
    }

    fn era(&self) -> Era {
        Era(format!("life {}", self.life))
    }

    /// Answers a request at the time that the store's clocks show.
    pub(crate) fn answer(&mut self, from: &NodeName, ask: &Ask, reads: Reads, tally: &mut Tally) -> Told {
        match ask {
            Ask::Pulse(beat) => Told::Pulse(Box::new(self.pulse(beat.as_deref(), reads.wall))),
            Ask::Records(jobs) => {
                Told::Records(jobs.iter().map(|job| self.shelf.records[*job].clone()).collect())
            }
            Ask::Marks(jobs) => {
                let mark = |job: &usize| self.shelf.records[*job].as_ref().and_then(Marked::of);
                Told::Marks(jobs.iter().map(mark).collect())
            }
            Ask::History(job) => {
                let newest = self.shelf.histories[*job].iter().rev().take(NEWEST_ENTRIES);
                Told::History(newest.cloned().collect())
            }
            Ask::Announce(job) => {
                self.announce(*job, reads.wall);
                Told::Done
            }
            Ask::Known(jobs) => Told::Known(jobs.iter().map(|job| self.shelf.known.contains(job)).collect()),
            Ask::Enroll(jobs) => {
                self.shelf.known.extend(jobs);
                Told::Done
            }
            Ask::Submit(job, request) => {
                let decision = decide(self.shelf.records[*job].as_ref(), request, &self.moments(reads));
                tally.count(&format!("reply {}", decision.reply.answer.name()));
                let reply = Box::new(decision.reply.clone());
                self.write(*job, request, decision, from, reads, tally);
                Told::Reply(reply)
            }
            Ask::Read(job) => Told::Cell(Box::new(Cell {
                record: self.shelf.records[*job].clone(),
                version: self.shelf.versions[*job],
                server: self.moments(reads),
            })),
            Ask::Swap(job, decided) => {
                let Decided { request, swap } = &**decided;
                if !swap.conditions.hold(self.shelf.versions[*job], &self.moments(reads)) {
                    tally.count("swap refused");
                    return Told::Swapped(None);
                }
                let version = self.write(*job, request, swap.decision.clone(), from, reads, tally);
                Told::Swapped(version.map(|version| (reads.wall, version)))
            }
        }
    }

    /// Writes what was decided. Returns the new version.
    fn write(
        &mut self,
        job: usize,
        request: &Request,
        decision: Decision,
        from: &NodeName,
        reads: Reads,
        tally: &mut Tally,
    ) -> Option<Version> {
        for entry in &decision.entries {
            tally.count(&format!("entry {}", entry.verdict()));
        }
        if let Answer::Won { .. } = decision.reply.answer {
            tally.count(&format!("won by {from}"));
            let tick = decision.record.as_ref().and_then(|record| record.tick);
            self.granted[job].extend(tick);
        }
        if let (Answer::Won { .. } | Answer::Renewed { .. }, Some(record)) =
            (&decision.reply.answer, &decision.record)
        {
            self.note_alive(job, record.started.unwrap_or(reads.wall), reads.wall);
        }
        if self.memory == Memory::Forgetful {
            let mark = self.shelf.records[job].as_ref().map(|record| record.mark);
            let hint = Hint::of(&self.names[job], &self.era(), request, mark, &decision.reply);
            self.hints.extend(hint.map(|hint| Hinted { job, era: hint.era, reply: hint.reply }));
        }
        self.first_marks[job] = self.first_marks[job].or(decision.reply.mark);
        decision.append_to(&mut self.told[job]);
        self.forgotten[job].retain(|entry| !decision.retracts(entry));
        decision.append_to(Rc::make_mut(&mut self.shelf.histories[job]));
        decision.append_to(Rc::make_mut(&mut self.shelf.of_records[job]));
        self.nonces += 1;
        let count = self.shelf.versions[job].map_or(0, |version| version.count) + 1;
        let version = decision.record.as_ref().map(|_| Version { count, nonce: self.nonces });
        self.shelf.records[job] = decision.record;
        self.shelf.versions[job] = version;
        version
    }

    /// Which run holds a job's lock, as far as the store knows.
    pub(crate) fn holder(&self, job: usize) -> Option<RunId> {
        self.shelf.records[job].as_ref().filter(|record| record.is_running()).and_then(|record| record.run)
    }

    /// Notes that the run of a job that began then, by the store's clock, is alive now.
    pub(crate) fn note_alive(&mut self, job: usize, began: UtcMillis, now: UtcMillis) {
        match self.signs[job].last_mut().filter(|(earlier, _)| *earlier == began) {
            Some((_, last)) => *last = now.max(*last),
            None => self.signs[job].push((began, now)),
        }
    }

    /// Notes the entries that a clock that was ahead has just written. A tick that was claimed stays decided.
    pub(crate) fn note_foretold(&mut self, job: usize, now: UtcMillis) {
        let newest = self.told[job].iter().rev().take(4).filter(|entry| entry.tick.instant() > now);
        self.foretold[job].extend(newest.map(|entry| entry.tick));
    }

    /// What both kinds of store read when they decide: the Redis scripts, and `Desk::server`.
    pub(crate) fn moments(&self, reads: Reads) -> Moments {
        let lease_now = match self.memory {
            Memory::Forgetful => reads.wall.0,
            Memory::Durable => i64::try_from(reads.boot.0.as_millis()).expect("a short time"),
        };
        let era = self.era();
        Moments { now: reads.wall, lease_now: LeaseInstant(lease_now), era, memory: self.memory }
    }

    /// `pulse.lua`, and `LocalStore::pulse`.
    fn pulse(&mut self, beat: Option<&Beat>, now: UtcMillis) -> Pulse {
        let newest = self.shelf.nodes.values().map(|peer| peer.beat.count).max().unwrap_or_default();
        let own = beat.and_then(|beat| self.shelf.nodes.get(&beat.node)).map(|peer| peer.beat.count);
        if beat.is_some() && self.memory == Memory::Forgetful {
            // A time further ahead was written before the clock was set back.
            let is_over = |at: UtcMillis| now.0 - at.0 > FORGET_NODES_MS || at.0 - now.0 > FORGET_NOTICES_MS;
            self.shelf.nodes.retain(|_, peer| !is_over(peer.at));
        }
        let peers: Vec<Peer> = self.shelf.nodes.values().cloned().collect();
        let (era, marker) = (self.era(), self.shelf.marker.as_ref());
        let told = beat.and_then(|beat| beat.told.as_ref());
        if self.shelf.marker.is_none()
            || told.is_some_and(|told| told.is_forgotten(&era, marker, own, newest))
        {
            self.markers += 1;
            self.shelf.marker = Some(Marker(self.markers.to_string()));
        }
        let count = newest + 1;
        let taken = beat.map(|beat| Peer { at: now, beat: Beat { count, ..beat.clone() } });
        self.shelf.nodes.extend(taken.map(|peer| (peer.beat.node.clone(), peer)));
        let marker = self.shelf.marker.clone();
        let notices = self.shelf.notices.iter().filter(|(_, stamp)| now.0 - **stamp <= FORGET_NOTICES_MS);
        let notice = |(job, stamp): (&usize, &i64)| Notice { job: self.names[*job].clone(), stamp: *stamp };
        let notices = notices.map(notice).collect();
        Pulse { now, era: self.era(), marker, count, peers, notices }
    }

    /// Takes in a heartbeat that a replica left out, if an earlier one is known.
    pub(crate) fn refresh(&mut self, beat: &Beat, now: UtcMillis) {
        if let Some(peer) = self.shelf.nodes.get_mut(&beat.node) {
            *peer = Peer {
                at: now,
                beat: Beat { count: peer.beat.count, told: peer.beat.told.take(), ..beat.clone() },
            };
        }
    }

    /// Makes all replicas read a job's record.
    pub(crate) fn announce(&mut self, job: usize, now: UtcMillis) {
        let before = self.shelf.notices.get(&job).copied().unwrap_or_default();
        self.shelf.notices.insert(job, now.0.max(before + 1));
    }

    /// Keeps a copy for a later failover.
    pub(crate) fn copy(&mut self, now: Moment) {
        self.copies.push_back((now, self.shelf.clone()));
        while self.copies.front().is_some_and(|(at, _)| now.since(*at) > OLDEST_COPY) {
            self.copies.pop_front();
        }
    }

    /// Returns the state that a failover brings back which picks this copy.
    pub(crate) fn copy_at(&self, pick: usize) -> Option<&Shelf> {
        self.copies.get(pick % self.copies.len().max(1)).map(|(_, shelf)| shelf)
    }

    /// Begins another era, with what is on this shelf.
    pub(crate) fn begin_life(&mut self, shelf: Shelf, now: UtcMillis) {
        self.life += 1;
        self.replace(shelf, now);
    }

    /// Continues the same era with what is on this shelf. Of the entries for ticks that have not come by now, those
    /// that the shelf lacks are forgotten: no entry is left that comes too early.
    pub(crate) fn replace(&mut self, shelf: Shelf, now: UtcMillis) {
        for (job, record) in shelf.records.iter().enumerate() {
            if *record != self.shelf.records[job] {
                self.has_forgotten[job] = true;
                self.of_former_records[job].push(Rc::clone(&self.shelf.of_records[job]));
            }
            let is_kept = |entry: &HistoryEntry| entry.run.is_some() || shelf.histories[job].contains(entry);
            let is_lost = |entry: &mut HistoryEntry| entry.tick.instant() > now && !is_kept(entry);
            self.forgotten[job].extend(self.told[job].extract_if(.., is_lost));
        }
        self.shelf = shelf;
        self.copies.clear();
    }

    /// Returns the entries of each of the job's records, one record after the other: no record has forgotten any of its
    /// own.
    pub(crate) fn lives(&self, job: usize) -> impl Iterator<Item = &Vec<HistoryEntry>> {
        self.of_former_records[job].iter().chain([&self.shelf.of_records[job]]).map(Rc::as_ref)
    }

    /// A shelf on which nothing is.
    pub(crate) fn empty_shelf(&self) -> Shelf {
        Shelf::of(self.told.len())
    }

    /// Whether some ticks have yet to be recorded, as forgotten or because they are open again.
    pub(crate) fn owes_entries(&self, job: usize) -> bool {
        let owes = |record: &Record| {
            record.lost_after.is_some_and(|lost| lost < record.mark)
                || record.leaps.iter().any(|leap| matches!(leap.passed, Passed::Lost | Passed::Open))
        };
        self.shelf.records[job].as_ref().is_none_or(owes)
    }
}

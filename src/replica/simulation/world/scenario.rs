//! The set-up of a simulation: which jobs, how many replicas, which kind of store, and how clocks run.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::config::testing::config;
use crate::job::{CatchUp, JobSpec, Label, NodeName, OnInterrupt, Overlap};
use crate::lease::Memory;

use super::clock::Clock;
use super::rng::Dice;

/// Schedules, from every second to every minute.
const SCHEDULES: [&str; 7] =
    ["@every 1s", "@every 2s", "@every 5s", "*/10 * * * * *", "@every 20s", "30 * * * * *", "* * * * *"];

/// Leases, in seconds. Most are short: much happens to them.
const LEASES: [u64; 6] = [5, 5, 6, 10, 15, 30];

/// The lease of a guest, and below that of the replicas' other file.
const GUEST_LEASE: Duration = Duration::from_secs(5);
pub(crate) const LONG_LEASE: Duration = Duration::from_secs(90);

/// How many replicas there are, most often three.
const REPLICAS: [usize; 6] = [3, 3, 3, 3, 2, 1];

/// Clocks of two machines drift apart by one percent at the most: half of it each, in parts of a million.
const DRIFT: u64 = 5_000;

/// How long runs of a job take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// No time worth mentioning.
    None,
    /// Up to this many milliseconds.
    UpTo(u64),
    /// Some seconds most often, and now and then up to this many milliseconds.
    MostlyShort(u64),
}

impl Length {
    /// Returns how long one attempt takes.
    pub(crate) fn thrown(self, dice: &mut Dice) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::UpTo(most) => dice.ms(0, most),
            Self::MostlyShort(most) => {
                let most = if dice.percent(70) { 20_000 } else { most };
                dice.ms(0, most)
            }
        }
    }
}

/// A jobs.toml.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) jobs: Rc<[Arc<JobSpec>]>,
    pub(crate) hash: String,
    /// How long runs may continue when the replica drains.
    pub(crate) drain: Duration,
    /// How many runs a replica may have at once.
    pub(crate) max_running: Option<u32>,
    pub(crate) labels: Vec<Label>,
}

/// What is simulated.
pub(crate) struct Scenario {
    pub(crate) memory: Memory,
    /// How many replicas there are; a guest comes after them.
    pub(crate) replicas: usize,
    pub(crate) names: Vec<NodeName>,
    /// Each replica's own file: leases may differ. Then what a guest asks for, and another file for each replica.
    pub(crate) files: Vec<File>,
    /// The file that replicas have for a while, and whether it may still matter what it says.
    pub(crate) long_file: File,
    pub(crate) is_stretched: bool,
    /// Whether replicas run only so many jobs at once.
    pub(crate) is_limited: bool,
    pub(crate) lengths: Vec<Length>,
    /// One machine per replica, or one for all; the last is the store's.
    pub(crate) clocks: Vec<Clock>,
}

impl Scenario {
    /// What this dice throws, for a store of this kind.
    pub(crate) fn thrown(memory: Memory, dice: &mut Dice) -> Self {
        let replicas = dice.pick(&REPLICAS);
        let names = ["a", "b", "c"][..replicas]
            .iter()
            .chain(&["guest"])
            .map(|n| NodeName::parse(n).expect("a name"))
            .collect();
        let count = dice.below(2) + 2;
        let tables: Vec<Table> = (0..count).map(|_| Table::thrown(dice)).collect();
        let leases: Vec<u64> = tables.iter().map(|_| dice.pick(&LEASES)).collect();
        let has_own_files = dice.percent(30);
        let lengths = leases.iter().map(|lease| length(*lease, dice)).collect();
        let is_limited = dice.percent(25);
        let mut file = |name: String| {
            let lease = |lease: u64, dice: &mut Dice| if has_own_files { dice.pick(&LEASES) } else { lease };
            let leases: Vec<u64> = leases.iter().map(|all| lease(*all, dice)).collect();
            let jobs = leases.into_iter().enumerate().zip(&tables);
            let jobs = jobs.map(|((job, lease), table)| table.spec(job, lease)).collect();
            let limit = u32::try_from(dice.between(1, 2)).expect("small");
            let (max_running, drain) = (is_limited.then_some(limit), dice.ms_of_any_order(40_000));
            File { jobs, hash: name, drain, max_running, labels: Vec::new() }
        };
        let own: Vec<File> = (0..replicas)
            .map(|seat| file(if has_own_files { format!("{seat}") } else { String::new() }))
            .collect();
        let others: Vec<File> = (0..replicas).map(|seat| file(format!("other {seat}"))).collect();
        let with = |lease, enabled, hash: &str| {
            let spec = |job: &Arc<JobSpec>| Arc::new(JobSpec { lease, enabled, ..JobSpec::clone(job) });
            let jobs = own[0].jobs.iter().map(spec).collect::<Rc<[_]>>();
            File { jobs, hash: hash.to_owned(), ..own[0].clone() }
        };
        let (long_file, of_guest) = (with(LONG_LEASE, true, "long"), with(GUEST_LEASE, false, "guest"));
        let files = own.into_iter().chain([of_guest]).chain(others).collect();
        let clocks = clocks(memory, replicas, dice);
        Self { memory, replicas, names, files, long_file, is_limited, is_stretched: false, lengths, clocks }
    }

    /// How many jobs there are.
    pub(crate) fn count(&self) -> usize {
        self.lengths.len()
    }

    /// Lets replicas run any number of jobs at once.
    pub(crate) fn lift_limits(&mut self) {
        self.is_limited = false;
        self.files.iter_mut().chain([&mut self.long_file]).for_each(|file| file.max_running = None);
    }

    /// Returns the number of a replica's other file.
    pub(crate) fn other_file(&self, seat: usize) -> usize {
        self.replicas + 1 + seat
    }

    /// Returns a job, as all files have it but for its lease.
    pub(crate) fn spec(&self, job: usize) -> &Arc<JobSpec> {
        &self.files[0].jobs[job]
    }

    /// The clock of the store's machine.
    pub(crate) fn store_clock(&self) -> usize {
        self.clocks.len() - 1
    }

    /// The clock of a replica's machine.
    pub(crate) fn clock_of(&self, seat: usize) -> usize {
        // A guest is on the machine of the first.
        if self.memory == Memory::Durable { 0 } else { seat % self.replicas }
    }

    /// Returns the longest lease of a job in any file.
    pub(crate) fn longest_lease(&self, job: usize) -> Duration {
        let stretched = self.is_stretched.then_some(LONG_LEASE);
        self.files.iter().map(|file| file.jobs[job].lease).chain(stretched).max().unwrap_or_default()
    }

    /// The longest lease of all.
    pub(crate) fn longest(&self) -> Duration {
        (0..self.count()).map(|job| self.longest_lease(job)).max().unwrap_or_default()
    }
}

/// What the files of all replicas have in common about a job.
#[derive(Clone)]
struct Table {
    keys: String,
    overlap: Overlap,
    on_interrupt: OnInterrupt,
    catch_up: CatchUp,
}

impl Table {
    fn thrown(dice: &mut Dice) -> Self {
        let schedule = dice.pick(&SCHEDULES);
        let grace = dice.pick(&["0s", "1s", "10s"]);
        let mut keys = format!("command = [\"true\"]\nschedule = \"{schedule}\"\nkill_grace = \"{grace}\"\n");
        if dice.percent(40) {
            let limit = dice.pick(&["5s", "10s", "30s"]);
            writeln!(keys, "start_deadline = \"{limit}\"").expect("a text takes everything");
        }
        Self {
            keys,
            overlap: dice.pick(&[Overlap::Skip, Overlap::Skip, Overlap::Wait, Overlap::Replace]),
            on_interrupt: dice.pick(&[OnInterrupt::Skip, OnInterrupt::Rerun]),
            catch_up: dice.pick(&[CatchUp::None, CatchUp::Last]),
        }
    }

    fn spec(&self, job: usize, lease: u64) -> Arc<JobSpec> {
        let keys = &self.keys;
        let cluster = "[cluster]\nname = \"sim\"\nstore = \"redis://127.0.0.1\"\n";
        let text = format!("{cluster}[jobs.j{job}]\n{keys}lease = \"{lease}s\"\n");
        let spec = config(text).jobs.into_values().next().expect("one job");
        let Self { overlap, on_interrupt, catch_up, .. } = *self;
        Arc::new(JobSpec { overlap, on_interrupt, catch_up, ..JobSpec::clone(&spec) })
    }
}

fn length(lease: u64, dice: &mut Dice) -> Length {
    match dice.between(0, 5) {
        0 => Length::None,
        1 => Length::UpTo(500),
        2 => Length::UpTo(lease * 1_000),
        _ => Length::UpTo(lease * 3_000),
    }
}

/// All replicas of an embedded store share its machine.
fn clocks(memory: Memory, replicas: usize, dice: &mut Dice) -> Vec<Clock> {
    let count = if memory == Memory::Durable { 1 } else { replicas + 1 };
    let wall_drifts = |at: usize| memory == Memory::Forgetful && at + 1 == count;
    let mut drift = |at| {
        let ppm = if dice.percent(50) { 0 } else { dice.between(0, 2 * DRIFT) };
        let ppm = if ppm == 0 { 0 } else { i64::try_from(ppm).expect("small") - DRIFT as i64 };
        Clock::new(ppm, wall_drifts(at))
    };
    (0..count).map(&mut drift).collect()
}

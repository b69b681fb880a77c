//! One campaign from its seed to its summary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::checker::check;
use crate::coverage::{is_clear, judged_ticks};
use crate::evidence::Evidence;
use crate::fault::Kind;
use crate::hands::PAUSED;
use crate::jobs::{JobPlan, Policy};
use crate::storm::Storm;
use crate::violation::Violation;
use crate::world::{Setup, World};

/// As many violations of a name are shown: one cause may have hundreds, and must not hide another.
const SHOWN: usize = 20;

/// Fewer faults than these are shown one by one.
const MANY_FAULTS: usize = 100;

/// Runs a campaign, and tells what came of it. A failure keeps its folder.
pub(crate) fn run(seed: u64, duration: Duration) -> Outcome {
    let mut world = World::start(&Setup { jobs: jobs(), replicas: 3, ..Setup::default() });
    let (faults, hands) = Storm::over(&mut world, seed).rage(duration);
    let told: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    std::fs::write(world.path().join("faults"), told).expect("a writable folder");
    let (evidence, folder) = world.finish();
    let evidence = Evidence { faults, pauses_ms: hands.pauses_ms, hands: hands.done, ..evidence };
    let outcome = Outcome { seed, duration, violations: check(&evidence), evidence };
    let kept = match folder {
        Some(folder) if !outcome.violations.is_empty() => folder.keep().display().to_string(),
        _ => "not kept".to_owned(),
    };
    println!("{}kept in: {kept}", outcome.summary());
    outcome
}

/// Jobs that end at once, take a while, take several leases, do not stop when told, and leave processes behind; and one for
/// each policy.
fn jobs() -> Vec<JobPlan> {
    let quick = |name: &str| JobPlan::new(name, 1_000, 0);
    let long =
        |name: &str, period, run_ms, lease_ms| JobPlan { lease_ms, ..JobPlan::new(name, period, run_ms) };
    // Too late for its tick once a lost answer is given up: the lock is given back.
    let urgent = |name: &str| JobPlan { start_deadline_ms: 1_500, ..quick(name) };
    let stubborn = |job: JobPlan| JobPlan { manners: &["stubborn"], ..job };
    let family = |job: JobPlan| JobPlan { manners: &["family"], ..job };
    let with = |policy, job: JobPlan| JobPlan { policy, ..job };
    vec![
        quick("quick-a"),
        quick("quick-b"),
        urgent("quick-c"),
        urgent("quick-d"),
        long("short", 2_000, 300, 5_000),
        // Renewed so seldom that whoever asks for its lock with a shorter lease could wait less than that.
        long("seldom-renewed", 60_000, 30_000, 60_000),
        long("nearly", 3_000, 2_700, 5_000),
        long("often-held", 1_000, 3_500, 6_000),
        long("several-leases", 10_000, 18_000, 5_000),
        stubborn(long("stubborn", 5_000, 12_000, 5_000)),
        stubborn(long("stubborn-long", 10_000, 25_000, 8_000)),
        family(long("family", 5_000, 7_000, 6_000)),
        family(long("family-short", 4_000, 1_000, 5_000)),
        with(Policy::Waits, long("waits", 3_000, 1_500, 5_000)),
        with(Policy::Replaces, long("replaces", 4_000, 2_500, 5_000)),
        with(Policy::Reruns, long("reruns", 4_000, 2_500, 5_000)),
        with(Policy::CatchesUp, JobPlan { period_ms: 4_000, ..urgent("catches-up") }),
        JobPlan { manners: &["fails"], ..with(Policy::Retries, long("retries", 4_000, 200, 5_000)) },
        quick(PAUSED),
    ]
}

/// What came of a campaign.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
    pub(crate) violations: Vec<Violation>,
    pub(crate) evidence: Evidence,
}

impl Outcome {
    /// How often each kind of fault was injected.
    pub(crate) fn injected(&self) -> BTreeMap<&'static str, usize> {
        let mut injected: BTreeMap<&str, usize> = Kind::menu().map(|kind| (kind.as_str(), 0)).collect();
        for fault in &self.evidence.faults {
            *injected.entry(fault.kind.as_str()).or_default() += 1;
        }
        injected
    }

    /// How often runs were started for each cause.
    pub(crate) fn causes(&self) -> BTreeMap<&str, usize> {
        let mut causes = BTreeMap::new();
        for run in &self.evidence.runs {
            *causes.entry(run.cause.as_str()).or_default() += 1;
        }
        causes
    }

    /// How many ticks were judged, and how many of them no fault came near.
    pub(crate) fn ticks(&self) -> (usize, usize) {
        let (mut all, mut clear) = (0, 0);
        for job in &self.evidence.jobs {
            for tick in judged_ticks(&self.evidence, job) {
                all += 1;
                clear += usize::from(is_clear(&self.evidence, job, tick));
            }
        }
        (all, clear)
    }

    fn summary(&self) -> String {
        let (ticks, clear) = self.ticks();
        let mut text = format!("seed: {}\nduration: {} s\n", self.seed, self.duration.as_secs());
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{name}: {value}").expect("text can be written to");
        };
        line("ticks judged", &ticks);
        line("of these with no fault near", &clear);
        line("runs", &self.evidence.runs.len());
        for (cause, count) in self.causes() {
            line(&format!("  {cause}"), &count);
        }
        line("times that everything stood still by itself", &self.evidence.held_up_ms.len());
        let well = self.evidence.looks.iter().filter(|look| look.is_well()).count();
        line("looks at the status", &self.evidence.looks.len());
        line("  all is well", &well);
        line("records", &self.evidence.entries.len());
        line("faults", &self.evidence.faults.len());
        for (name, count) in self.injected() {
            line(&format!("  {name}"), &count);
        }
        line("done by hand", &"");
        for (name, count) in &self.evidence.hands {
            line(&format!("  {name}"), count);
        }
        line("seen by the proxies", &"");
        for (name, count) in &self.evidence.replies {
            line(&format!("  {name}"), count);
        }
        line("violations", &self.violations.len());
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for violation in &self.violations {
            by_name.entry(violation.name()).or_default().push(violation);
        }
        for (name, violations) in by_name {
            line(&format!("  {name}"), &violations.len());
            violations.iter().take(SHOWN).for_each(|violation| line("  -", violation));
        }
        // All faults of a long campaign are in the folder that is kept.
        if !self.violations.is_empty() && self.evidence.faults.len() < MANY_FAULTS {
            for fault in &self.evidence.faults {
                line("  fault", fault);
            }
        }
        text
    }
}

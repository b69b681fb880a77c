//! The coming ticks of all jobs, earliest first. Pure: it hands out each tick once, and the cost is per tick, not per
//! job.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, JobSpec, Tick};
use crate::time::UtcMillis;

/// Ticks older than this are not announced one by one.
const BACKLOG: Duration = Duration::from_secs(3_600);

/// A tick of a job that is about to come.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coming {
    /// The tick.
    pub tick: Tick,
    /// Its job.
    pub job: JobName,
}

/// The coming ticks of all enabled jobs.
#[derive(Debug, Default)]
pub struct NextTicks {
    jobs: HashMap<JobName, Arc<JobSpec>>,
    /// The next tick of each job that has one.
    next: BinaryHeap<Reverse<Coming>>,
}

impl NextTicks {
    /// Plans these jobs from `now` on, and forgets the former plan.
    pub fn plan(&mut self, jobs: impl IntoIterator<Item = Arc<JobSpec>>, now: UtcMillis) {
        self.jobs = jobs.into_iter().filter(|job| job.enabled).map(|job| (job.name.clone(), job)).collect();
        self.replan(now);
    }

    /// Plans the same jobs anew from `now` on, as the clock was stepped.
    pub fn replan(&mut self, now: UtcMillis) {
        let first = |job: &Arc<JobSpec>| {
            let tick = job.schedule.next_after(now)?;
            Some(Reverse(Coming { tick, job: job.name.clone() }))
        };
        self.next = self.jobs.values().filter_map(first).collect();
    }

    /// Returns the instant of the earliest tick.
    pub fn earliest(&self) -> Option<UtcMillis> {
        self.next.peek().map(|Reverse(coming)| coming.tick.instant())
    }

    /// Takes every tick up to and including `until`, in order. After a step of the clock by years it takes only one of
    /// a job's ticks that are more than an hour old: the replica then checks the job, and finds the others.
    pub fn take_until(&mut self, until: UtcMillis) -> Vec<Coming> {
        let mut taken = Vec::new();
        while let Some(mut head) = self.next.peek_mut().filter(|head| head.0.tick.instant() <= until) {
            let coming = head.0.clone();
            let job = self.jobs.get(&coming.job).expect("every planned tick's job is known");
            match job.schedule.next_after(coming.tick.instant().max(until.minus(BACKLOG))) {
                Some(tick) => head.0.tick = tick,
                None => drop(std::collections::binary_heap::PeekMut::pop(head)),
            }
            taken.push(coming);
        }
        taken
    }
}

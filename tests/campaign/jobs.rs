//! The jobs of a campaign: what is scheduled, and how it behaves.

use std::fmt::Write as _;
use std::path::Path;

use crate::processes::JOB_MARK;

/// What is asked of solocron besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Plain,
    Waits,
    Replaces,
    Reruns,
    CatchesUp,
    Retries,
}

impl Policy {
    /// Its lines in jobs.toml.
    const fn keys(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Waits => "overlap = \"wait\"\n",
            Self::Replaces => "overlap = \"replace\"\n",
            Self::Reruns => "on_interrupt = \"rerun\"\n",
            Self::CatchesUp => "catch_up = \"last\"\n",
            Self::Retries => "retries = 2\nretry_delay = \"200ms\"\n",
        }
    }
}

/// A job that comes as seldom as this shows for long how it fared in a storm.
const SELDOM_MS: i64 = 30_000;

/// One job.
#[derive(Debug, Clone)]
pub(crate) struct JobPlan {
    pub(crate) name: String,
    /// A whole number of seconds that divides a minute.
    pub(crate) period_ms: i64,
    pub(crate) lease_ms: i64,
    pub(crate) start_deadline_ms: i64,
    pub(crate) run_ms: i64,
    /// `stubborn`, `family`, `fails`.
    pub(crate) manners: &'static [&'static str],
    pub(crate) policy: Policy,
}

impl JobPlan {
    /// A job that comes so often, takes so long, and has the shortest lease there may be.
    pub(crate) fn new(name: &str, period_ms: i64, run_ms: i64) -> Self {
        Self {
            name: name.into(),
            period_ms,
            lease_ms: 5_000,
            start_deadline_ms: 3_000,
            run_ms,
            manners: &[],
            policy: Policy::Plain,
        }
    }

    /// Whether `status` is asked about it. What comes seldom, or always fails, has a bad last outcome for long after a fault,
    /// and would hide what else there is to say.
    pub(crate) fn is_inspected(&self) -> bool {
        !self.manners.contains(&"fails") && self.period_ms < SELDOM_MS
    }

    /// Its ticks in this span of time, both ends included.
    pub(crate) fn ticks(&self, from_ms: i64, to_ms: i64) -> impl Iterator<Item = i64> {
        let first = from_ms + (-from_ms).rem_euclid(self.period_ms);
        (0..).map(move |n| first + n * self.period_ms).take_while(move |tick| *tick <= to_ms)
    }

    fn schedule(&self) -> String {
        match self.period_ms / 1_000 {
            1 => "* * * * * *".to_owned(),
            60 => "0 * * * * *".to_owned(),
            seconds => format!("*/{seconds} * * * * *"),
        }
    }
}

/// The jobs.toml of these jobs in a campaign's folder; they append to files in `records`. Each edition defines all jobs
/// otherwise than the one before, and leaves their ticks as they are.
pub(crate) fn jobs_toml(
    jobs: &[JobPlan],
    folder: &Path,
    program: &Path,
    records: &Path,
    edition: usize,
) -> String {
    let kill_grace = if edition.is_multiple_of(2) { "1s" } else { "900ms" };
    let mut text = format!(
        "cluster = {{ name = \"campaign\", store = \"redis://127.0.0.1\" }}\n\
         [defaults]\nkill_grace = \"{kill_grace}\"\n"
    );
    for job in jobs {
        let manners: String = job.manners.iter().map(|manner| format!(", {manner:?}")).collect();
        write!(
            text,
            "[jobs.{}]\nschedule = {:?}\nlease = \"{}ms\"\nstart_deadline = \"{}ms\"\n\
             env = {{ {JOB_MARK} = {folder:?} }}\ncommand = [{:?}, {:?}, \"{}\"{manners}]\n{}",
            job.name,
            job.schedule(),
            job.lease_ms,
            job.start_deadline_ms,
            program,
            records,
            job.run_ms,
            job.policy.keys()
        )
        .expect("text can be written to");
    }
    text
}

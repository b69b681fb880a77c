//! What is asked of each contender: which jobs come when, and for how long.

use std::fmt::Write as _;
use std::path::Path;

use crate::contender::Contender;
use crate::load::Load;

/// When the jobs of a workload come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coming {
    /// All of them whenever the clock shows a multiple of so many seconds.
    Every(i64),
    /// All of them once, at an instant that is chosen when the contender is ready.
    Once,
    /// Not while anybody looks.
    Never,
    /// The first of them every second, the others not while anybody looks: how long a replica takes that is started.
    First,
}

/// One workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) jobs: usize,
    pub(crate) coming: Coming,
    /// How long it is measured, in seconds.
    pub(crate) lasts_s: i64,
    /// A replica is killed in the middle.
    pub(crate) kills: bool,
    /// Jobs besides, which do not come while anybody looks.
    pub(crate) idle: usize,
    /// What else the machine has to do, and what clients do to the first replica.
    pub(crate) load: Load,
    /// Who it is asked of.
    pub(crate) contenders: &'static [Contender],
}

const THREE: &[Contender] =
    &[Contender::Floor, Contender::Redis(3), Contender::Local(3), Contender::Obvious(3)];

impl Workload {
    /// All of them.
    pub(crate) const fn all() -> &'static [Self] {
        const PLAIN: Workload = Workload {
            name: "W1",
            what: "10 jobs every second",
            jobs: 10,
            coming: Coming::Every(1),
            lasts_s: 20,
            kills: false,
            idle: 0,
            load: Load::Nothing,
            contenders: THREE,
        };
        const W5: Workload =
            Workload { name: "W5", what: "100 jobs every second", jobs: 100, lasts_s: 10, ..PLAIN };
        const W8: Workload = Workload {
            name: "W8",
            what: "W1 and 10,000 idle jobs, beside a busy loop",
            lasts_s: 40,
            idle: 10_000,
            load: Load::BusyLoop,
            contenders: &[Contender::Redis(3)],
            ..PLAIN
        };
        &[
            // Long enough for what Redis does in a second, most of which it does for nobody.
            Workload { lasts_s: 40, ..PLAIN },
            Workload { name: "W2", what: "200 jobs every 5 s", jobs: 200, coming: Coming::Every(5), ..PLAIN },
            Workload {
                name: "W3",
                what: "1,000 jobs at one instant",
                jobs: 1_000,
                coming: Coming::Once,
                lasts_s: 8,
                ..PLAIN
            },
            Workload {
                name: "W4",
                what: "10,000 idle jobs",
                jobs: 10_000,
                coming: Coming::Never,
                contenders: &[Contender::Redis(1), Contender::Local(1)],
                ..PLAIN
            },
            Workload {
                name: "W4s",
                what: "100 idle jobs",
                jobs: 100,
                coming: Coming::Never,
                contenders: &[Contender::Redis(1), Contender::Local(1)],
                ..PLAIN
            },
            Workload {
                name: "W7",
                what: "start with 10,000 jobs",
                jobs: 10_000,
                coming: Coming::First,
                contenders: &[Contender::Redis(1), Contender::Local(1)],
                ..PLAIN
            },
            Workload {
                contenders: &[
                    Contender::Floor,
                    Contender::Redis(3),
                    Contender::Redis(10),
                    Contender::Redis(30),
                ],
                ..W5
            },
            Workload {
                name: "W6",
                what: "W5, and a replica is killed",
                kills: true,
                contenders: &[Contender::Redis(3)],
                ..W5
            },
            W8,
            Workload {
                name: "W8-page",
                what: "the same, under a flood of `/`",
                load: Load::Flood("/"),
                ..W8
            },
            Workload {
                name: "W8-metrics",
                what: "the same, under a flood of `/metrics?jobs=all`",
                load: Load::Flood("/metrics?jobs=all"),
                ..W8
            },
            Workload {
                name: "W8-status",
                what: "the same, under a flood of `/api/v1/status`",
                load: Load::Flood("/api/v1/status"),
                ..W8
            },
            Workload {
                name: "W8-job",
                what: "the same, under a flood of `/api/v1/jobs/job0`",
                load: Load::Flood("/api/v1/jobs/job0"),
                ..W8
            },
        ]
    }

    /// The workload to which this one is compared, besides the floor: W8 for `W8-page`.
    pub(crate) fn base(&self) -> Option<&'static str> {
        let (base, _) = self.name.split_once('-')?;
        Self::all().iter().map(|workload| workload.name).find(|name| *name == base)
    }

    /// Its jobs.toml, where a job that comes once does so at this second since the epoch.
    pub(crate) fn jobs_toml(&self, once_s: i64, program: &Path, records: &Path) -> String {
        let schedule = match self.coming {
            Coming::Every(1) => "* * * * * *".to_owned(),
            Coming::Every(seconds) => format!("*/{seconds} * * * * *"),
            Coming::Once => {
                let at = jiff::Timestamp::from_second(once_s)
                    .expect("a time of today")
                    .to_zoned(jiff::tz::TimeZone::UTC);
                format!("{} {} {} {} {} *", at.second(), at.minute(), at.hour(), at.day(), at.month())
            }
            Coming::Never | Coming::First => "@yearly".to_owned(),
        };
        let mut text = "cluster = { name = \"bench\", store = \"local\" }\n".to_owned();
        for job in 0..self.jobs {
            let is_first = job == 0 && self.coming == Coming::First;
            let schedule = if is_first { "* * * * * *" } else { &schedule };
            writeln!(text, "[jobs.job{job}]\nschedule = {schedule:?}\ncommand = [{program:?}, {records:?}]")
                .expect("text can be written to");
        }
        for job in 0..self.idle {
            writeln!(text, "[jobs.idle{job}]\nschedule = \"@yearly\"\nshell = \"true\"")
                .expect("text can be written to");
        }
        text
    }
}

//! Everything of a campaign but its faults: two servers, a proxy for each replica, replicas, and the ledger of what the
//! stores recorded. Nothing of it outlives the value.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

use crate::asker::{Asker, AskerPlan};
use crate::c_program::compile;
use crate::inspector::{Inspector, Look};
use crate::jobs::{JobPlan, jobs_toml};
use crate::ledger::Ledger;
use crate::proxy::Proxy;
use crate::replica::{Replica, ReplicaPlan};
use crate::server::Server;
use crate::shim::ShimClock;
use crate::watchman::Watchman;

mod ending;

/// No single thing that is waited for takes longer than this, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The replicas' file.
const JOBS: &str = "jobs.toml";

/// What was read of a store in no longer than this is what it has.
const FRESH: Duration = Duration::from_secs(1);

/// And so often a store that is busy with something else is read before it is made to forget all the same.
const READINGS: usize = 5;

/// How a world is made up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    pub(crate) jobs: Vec<JobPlan>,
    pub(crate) replicas: usize,
    /// A protection that all replicas do without.
    pub(crate) off: Option<&'static str>,
    /// By how much all clocks are wrong when everything starts.
    pub(crate) ahead_ms: i64,
    /// Other jobs for one of the replicas.
    pub(crate) other_jobs: Option<(usize, Vec<JobPlan>)>,
}

/// A running world.
pub(crate) struct World {
    folder: Option<TempDir>,
    path: PathBuf,
    pub(crate) jobs: Vec<JobPlan>,
    /// How often jobs.toml was edited.
    edition: usize,
    servers: [Server; 2],
    primary: usize,
    /// Between the primary and the server that follows it.
    pub(crate) link: Proxy,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) replicas: Vec<Replica>,
    /// Who asked for locks by hand.
    askers: Vec<Asker>,
    lines: Receiver<Value>,
    pub(crate) ledger: Ledger,
    watchman: Watchman,
    pub(crate) inspector: Inspector,
    begun_ms: i64,
}

impl World {
    /// Starts servers and replicas.
    pub(crate) fn start(setup: &Setup) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let path = folder.path().to_owned();
        let shim = ShimClock::library(&path);
        let clock = |name: &str| {
            let clock = ShimClock::new(&path, name, &shim);
            clock.step_to(setup.ahead_ms);
            clock
        };
        let servers = ["redis-a", "redis-b"].map(|name| Server::start(clock(name)));
        let link = Proxy::between_servers(servers[0].port());
        servers[1].follow(link.port());
        let proxies: Vec<Proxy> = (0..setup.replicas).map(|_| Proxy::to(servers[0].port())).collect();
        let (heard, lines) = mpsc::channel();
        let toml = |name: &str, jobs: &[JobPlan]| write_jobs(&path, name, jobs, 0);
        let own = toml(JOBS, &setup.jobs);
        let other = setup.other_jobs.as_ref().map(|(at, jobs)| (*at, toml("other.toml", jobs)));
        let replica = |number: usize| {
            let node = format!("n{number}");
            let jobs_toml = other.as_ref().filter(|(at, _)| *at == number).map_or(&own, |(_, toml)| toml);
            let plan = ReplicaPlan {
                clock: clock(&node),
                node,
                folder: path.clone(),
                jobs_toml: jobs_toml.clone(),
                store: proxies[number].url(),
                off: setup.off,
            };
            Replica::new(plan, heard.clone())
        };
        let mut replicas: Vec<Replica> = (0..setup.replicas).map(replica).collect();
        replicas.iter_mut().for_each(Replica::start);
        let inspector = inspect(&path, &setup.jobs, servers[0].port());
        let (jobs, edition, ledger, begun_ms) = (setup.jobs.clone(), 0, Ledger::default(), now_ms());
        let folder = Some(folder);
        Self {
            folder,
            path,
            jobs,
            edition,
            servers,
            primary: 0,
            link,
            proxies,
            replicas,
            askers: Vec::new(),
            lines,
            ledger,
            watchman: Watchman::start(),
            inspector,
            begun_ms,
        }
    }

    /// Where everything of this world is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The server that the replicas use.
    pub(crate) fn server(&mut self) -> &mut Server {
        &mut self.servers[self.primary]
    }

    /// The other one.
    pub(crate) fn standby(&mut self) -> &mut Server {
        &mut self.servers[1 - self.primary]
    }

    /// The number of a replica by its name.
    pub(crate) fn number(&self, node: &Value) -> usize {
        let is_it = |replica: &Replica| node == replica.node();
        self.replicas.iter().position(is_it).expect("the name of a replica")
    }

    /// Keeps what the store recorded, as far as it can be asked.
    pub(crate) fn collect(&mut self) {
        // A server that does not answer is asked again before long.
        let _ = self.try_to_collect();
    }

    fn try_to_collect(&mut self) -> redis::RedisResult<()> {
        let names: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        let server = &self.servers[self.primary];
        if server.is_up() { self.ledger.collect(server, &names, (&[], None)) } else { Ok(()) }
    }

    /// Deletes keys, after what they recorded was read; false where the server cannot be asked.
    pub(crate) fn delete(&mut self, keys: &[String]) -> bool {
        self.take_away(keys, None)
    }

    /// The same, and makes them anew by this command: nothing is recorded in between.
    pub(crate) fn replace(&mut self, keys: &[String], command: &str) -> bool {
        self.take_away(keys, Some(command))
    }

    fn take_away(&mut self, keys: &[String], instead: Option<&str>) -> bool {
        let names: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        self.ledger.collect(&self.servers[self.primary], &names, (keys, instead)).is_ok()
    }

    /// Somebody with the shortest lease waits for a job's lock, to run it by hand.
    pub(crate) fn ask_for_the_lock(&mut self, job: &str) {
        let plan =
            AskerPlan { folder: self.path.clone(), records: records(&self.path), port: self.server().port() };
        self.askers.push(Asker::ask(&plan, job));
    }

    /// The store is about to forget: what it has by now must be read before.
    pub(crate) fn about_to_forget(&mut self) {
        for _ in 0..READINGS {
            let begun = SystemClock.boot();
            if self.try_to_collect().is_ok() && SystemClock.boot().since(begun) < FRESH {
                break;
            }
        }
        self.ledger.lost(now_ms());
    }

    /// All jobs are defined otherwise from now on, with the ticks that they have.
    pub(crate) fn edit(&mut self) {
        self.edition += 1;
        write_jobs(&self.path, JOBS, &self.jobs, self.edition);
    }

    /// Where the operators' commands find the jobs.
    pub(crate) fn jobs_toml(&self) -> PathBuf {
        self.path.join(JOBS)
    }

    /// The standby takes over with what it has; the former primary follows it.
    pub(crate) fn fail_over(&mut self) {
        self.about_to_forget();
        self.standby().lead();
        self.primary = 1 - self.primary;
        let port = self.server().port();
        self.proxies.iter().for_each(|proxy| proxy.point_at(port));
        self.inspector.point_at(port);
        self.link.point_at(port);
        self.link.mend();
        let link = self.link.port();
        self.standby().clock().step_to(0);
        self.standby().follow(link);
    }

    /// Waits for a line of any replica's log.
    pub(crate) fn wait_for(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            match self.lines.recv_timeout(deadline.since(SystemClock.boot())) {
                Ok(line) if is_it(&line) => return line,
                Ok(_) => {}
                Err(_) => panic!("waited in vain for {what}; see {}", self.path.display()),
            }
        }
    }

    /// Waits for this message about this job.
    pub(crate) fn wait_for_message(&self, message: &str, job: &str) -> Value {
        self.wait_for(&format!("`{message}` of {job}"), |line| {
            line["message"] == message && line["job"] == job
        })
    }

    /// Whether this message about this job is among the lines that came so far; those up to it are forgotten.
    pub(crate) fn has_heard(&self, message: &str, job: &str) -> bool {
        self.lines.try_iter().any(|line| line["message"] == message && line["job"] == job)
    }

    /// What `status` says now.
    pub(crate) fn look(&self) -> Look {
        self.inspector.look()
    }

    /// All clocks are off by so much from now on.
    pub(crate) fn step_all_to(&self, offset_ms: i64) {
        let clocks = self.servers.iter().map(Server::clock).chain(self.replicas.iter().map(Replica::clock));
        clocks.for_each(|clock| clock.step_to(offset_ms));
    }

    /// Forgets the lines that came so far.
    pub(crate) fn skip_lines(&self) {
        while self.lines.try_recv().is_ok() {}
    }
}

/// The machine's wall clock, which no shim reaches.
pub(crate) fn now_ms() -> i64 {
    SystemClock.utc().0
}

fn records(folder: &Path) -> PathBuf {
    folder.join("records")
}

/// Somebody looks at the jobs that `status` is asked about.
fn inspect(folder: &Path, jobs: &[JobPlan], port: u16) -> Inspector {
    let jobs: Vec<JobPlan> = jobs.iter().filter(|job| job.is_inspected()).cloned().collect();
    let file = write_jobs(folder, "inspected.toml", &jobs, 0);
    Inspector::start(jobs.into_iter().map(|job| job.name).collect(), &file, port)
}

/// Writes a jobs.toml as good editors do: it is there as a whole, or as it was.
fn write_jobs(folder: &Path, name: &str, jobs: &[JobPlan], edition: usize) -> PathBuf {
    let (program, records) = (folder.join("campaign_job"), records(folder));
    if !program.exists() {
        compile(folder, "campaign_job", &["-static"]);
        std::fs::create_dir(&records).expect("a writable folder");
    }
    let (file, draft) = (folder.join(name), folder.join("draft.toml"));
    let text = jobs_toml(jobs, folder, &program, &records, edition);
    std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, &file)).expect("a writable folder");
    file
}

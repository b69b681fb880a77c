//! `run`: be a replica, in the foreground, until a signal says stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, resolve_env};
use crate::job::{JobName, NodeName};
use crate::replica::{Alive, Events, Job, Replica, Stop};
use crate::run::{JobOutput, LogRetention, RunLogs, raise_file_limit};

use super::args::{GlobalArgs, OutputArg, RunArgs};
use super::exit::{Exit, Failure};
use super::session::{Session, env};
use super::{log_writer, logging, replicas};

/// A replica waits for the store and for jobs; it does not compute.
const WORKERS: usize = 2;

/// At the end, threads that hang in the system are waited for this long.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The watchdog is told three times per interval, so that one late ping is no death.
const PINGS_PER_WATCHDOG: u32 = 3;

/// Runs a replica, or several.
pub(crate) fn run(args: &RunArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let session = Session::load(global, args.drain)?;
    let node = node_name(args)?;
    if let Some(count) = args.replicas {
        return replicas::run(args, global, &node, count);
    }
    if args.supervised {
        // Whoever started this process reads its log: it ends with it.
        nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(|errno| {
            Failure::new(Exit::Failed, format!("cannot be tied to the process that started it: {errno}"))
        })?;
    }
    let jobs = resolve_jobs(&session.config)?;
    logging::start(logging::format_or_default(args.log_format), args.log_level);
    for warning in &session.warnings {
        warn!(file = %session.source.path.display(), help = warning.help, "{}", warning.message);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Failed, format!("no runtime: {error}")))?;
    if let Err(error) = raise_file_limit() {
        warn!(%error, "the limit of open files stays as it is");
    }
    let result = runtime.block_on(async {
        let stop = Stop::default();
        let signals = listen(stop.clone())?;
        let replica = build(args, &session, node, jobs)?;
        tell_systemd(&[sd_notify::NotifyState::Ready]);
        let result = replica.run(stop).await;
        signals.abort();
        result.map(|()| Exit::Done).map_err(|error| Failure::new(Exit::Failed, error.to_string()))
    });
    // A disk or a look-up that hangs is not waited for.
    runtime.shutdown_timeout(LAST_WAIT);
    log_writer::flush();
    result
}

/// The name that was given, or the host's.
fn node_name(args: &RunArgs) -> Result<NodeName, Failure> {
    if let Some(node) = &args.node {
        return Ok(node.clone());
    }
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    NodeName::parse(&host).map_err(|error| {
        Failure::new(Exit::Usage, format!("the host's name cannot be used: {error}; use --node NAME"))
    })
}

/// Every job with its variables, or every problem with them.
fn resolve_jobs(config: &Config) -> Result<BTreeMap<JobName, Job>, Failure> {
    let (mut jobs, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, spec) in &config.jobs {
        match resolve_env(spec, &env, &|path| std::fs::read_to_string(path)) {
            Ok(env) => {
                jobs.insert(name.clone(), Job { spec: Arc::clone(spec), env });
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() {
        Ok(jobs)
    } else {
        Err(Failure::new(Exit::BadConfig, problems.join("\nerror: ")))
    }
}

fn build(
    args: &RunArgs,
    session: &Session,
    node: NodeName,
    jobs: BTreeMap<JobName, Job>,
) -> Result<Replica, Failure> {
    let config = &session.config;
    let clock = Arc::new(SystemClock);
    Ok(Replica {
        events: Events::of(node.clone()),
        node,
        jobs,
        file: config.fingerprint.clone(),
        expected_replicas: config.expected_replicas,
        drain: config.replica.drain,
        store: session.open_store()?,
        clock,
        logs: RunLogs::new(&session.state_dir, Arc::new(|| SystemClock.utc())),
        retention: LogRetention {
            keep: config.logs.keep,
            keep_runs: config.logs.keep_runs,
            max_bytes: config.logs.max_bytes,
        },
        output: match args.job_output {
            OutputArg::File => JobOutput::File,
            OutputArg::Stdout => JobOutput::Stdout,
            OutputArg::Both => JobOutput::Both,
        },
        alive: sd_notify::watchdog_enabled().map(|interval| Alive {
            every: interval / PINGS_PER_WATCHDOG,
            tell: Box::new(|| tell_systemd(&[sd_notify::NotifyState::Watchdog])),
        }),
    })
}

/// TERM and INT drain, a second one is at once.
fn listen(stop: Stop) -> Result<tokio::task::JoinHandle<()>, Failure> {
    let handler = |kind| {
        signal(kind).map_err(|error| Failure::new(Exit::Failed, format!("no signal handler: {error}")))
    };
    let (mut term, mut int, mut hup) = (
        handler(SignalKind::terminate())?,
        handler(SignalKind::interrupt())?,
        handler(SignalKind::hangup())?,
    );
    Ok(tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(()) = term.recv() => {}
                Some(()) = int.recv() => {}
                Some(()) = hup.recv() => {
                    warn!("reloading is not supported yet: restart the replica to load the file again");
                    continue;
                }
            }
            if stop.drain.is_cancelled() {
                stop.at_once.cancel();
            }
            if !stop.drain.is_cancelled() {
                tell_systemd(&[sd_notify::NotifyState::Stopping]);
            }
            stop.drain.cancel();
        }
    }))
}

/// systemd may not be there, or not listen: then nobody needs to hear.
fn tell_systemd(state: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "systemd was not reached");
    }
}

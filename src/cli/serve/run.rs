//! `run`: runs a replica in the foreground until a signal stops it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::warn;

use crate::cli::args::global::{GlobalArgs, OutputArg, RunArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::{log_writer, logging};
use crate::cli::serve::multi;
use crate::cli::session;
use crate::cli::session::Session;
use crate::config;
use crate::config::Problem;
use crate::events::Events;
use crate::hold::{LeaseFile, Stop};
use crate::http::{HttpHandle, HttpSources, Progress};
use crate::job::{JobName, NodeName};
use crate::metrics::Metrics;
use crate::relay::{LocalOutput, OutputResponder};
use crate::replica::{Alive, Replica};
use crate::run::{Guards, Job, JobOutput, RunLogs, raise_file_limit};
use crate::time::{Clock, SystemClock};

use super::control::socket::Control;
use super::file_watch::FileWatch;
use super::http::{HttpSocket, resolve_http};
use super::reloader::{ReloadRequest, Reloader};
use super::resolve::resolve_jobs;
use super::signals::obey;

/// Worker threads, beside the main thread, which runs the replica's loop. A second one makes jobs start later: at an instant
/// it competes with the jobs for the processors.
const WORKERS: usize = 1;

/// How long the shutdown of the runtime waits for threads that hang in system calls.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The watchdog is notified three times per interval, so that one late notification does not count as a failure.
const PINGS_PER_WATCHDOG: u32 = 3;

/// How often the progress of the replica's loop is noted.
const MOVES_EVERY: Duration = Duration::from_secs(1);

/// Runs a replica, or several.
pub(crate) fn run(args: &RunArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let session = Session::to_run(global, args.overrides())?;
    let node = node_name(args.node.as_ref())?;
    let drawn = |problems: Vec<Problem>| {
        Failure::drawn(config::render(&problems, &session.source, session::colour()))
    };
    let jobs = resolve_jobs(&session.config, &session.source).map_err(drawn)?;
    let options = resolve_http(&session.config, &session.source).map_err(drawn)?;
    if let Some(count) = args.replicas {
        return multi::run(args, global, &node, count);
    }
    if args.supervised {
        // The process that started this one reads its log: when that process ends, this one ends, too.
        nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(|errno| {
            Failure::failed(format!("cannot be tied to the process that started it: {errno}"))
        })?;
    }
    let socket = HttpSocket::bind(&session.config.http)?;
    logging::start(logging::format_or_default(args.log_format), args.log_level);
    for warning in &session.warnings {
        warn!(file = %session.source.path.display(), help = warning.help, "{}", warning.message);
    }
    let runtime = runtime().map_err(|error| Failure::failed(format!("no runtime: {error}")))?;
    if let Err(error) = raise_file_limit() {
        warn!(%error, "cannot raise the limit of open files");
    }
    let guards = Guards::of_this_program().taking_in_orphans();
    guards.start().map_err(|error| Failure::failed(format!("no guards for its runs: {error}")))?;
    let metrics = Metrics::new(jobs.keys().cloned(), Arc::new(SystemClock));
    let result = runtime.block_on(async {
        let stop = Stop::default();
        let (reload_requests, received) = Reloader::channel();
        let mut tasks = JoinSet::new();
        listen(stop.clone(), reload_requests.clone(), &mut tasks)?;
        let options = watch::Sender::new(options);
        let events = Events::of(node.clone()).counted_by(metrics.counter());
        let (facts, progress) = (watch::Sender::default(), Arc::new(Progress::from(SystemClock.boot())));
        let local = LocalOutput::new(&session.state_dir);
        let sources = HttpSources {
            options: options.subscribe(),
            facts: facts.subscribe(),
            progress: Arc::clone(&progress),
            metrics: metrics.clone(),
            events: events.clone(),
            output: local.clone(),
            store_kind: session.config.store.kind(),
            dropped_log_lines: log_writer::dropped_lines,
            clock: Arc::new(SystemClock),
        };
        let responder = OutputResponder::new(node.clone(), local);
        let served = socket.serve(&node, sources, responder, session.store_opener());
        let (reloader, reloads) =
            Reloader::new(&session, node.clone(), global, args, options, metrics.tally());
        tasks.spawn(FileWatch::new(reloader.path(), &session.source.text, reload_requests.clone()).run());
        tasks.spawn(reloader.run(received));
        match Control::open(&session.state_dir, &node) {
            Ok(control) => {
                let stop = stop.clone();
                tasks.spawn(control.serve(reload_requests, move || start_to_drain(&stop)));
            }
            Err(error) => warn!(%node, %error, "`solocron reload` and `drain` cannot reach this replica: use SIGHUP and SIGTERM"),
        }
        let replica = build(args, &session, guards, events, jobs)?;
        let store = metrics.measured(Arc::clone(&replica.store));
        let replica = Replica { store, facts, alive: Some(alive(progress)), ..replica };
        session.refuse_unusable_file(&*replica.store).await?;
        let replica = Replica { reloads: Some(reloads), ..replica };
        replica.lease_file.take_over().await.map_err(|taken| Failure::failed(taken.to_string()))?;
        tell_systemd(&[sd_notify::NotifyState::Ready]);
        let result = replica.run(stop).await;
        served.into_iter().for_each(HttpHandle::stop);
        tasks.shutdown().await;
        result.map(|()| Exit::Done).map_err(|error| Failure::failed(error.to_string()))
    });
    // A disk or a name look-up may hang: the shutdown does not wait for it.
    runtime.shutdown_timeout(LAST_WAIT);
    log_writer::flush();
    result
}

/// Returns the runtime of a replica. One thread for blocking calls is started here and never ends: once the jobs have used up the
/// process limit of the user, no thread can be created, and tokio panics if it has none.
fn runtime() -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_keep_alive(Duration::MAX)
        .enable_all()
        .build()?;
    let first = runtime.spawn_blocking(|| ());
    runtime.block_on(first).map_err(io::Error::other)?;
    Ok(runtime)
}

/// Returns the given name, or the name of the host.
pub(crate) fn node_name(given: Option<&NodeName>) -> Result<NodeName, Failure> {
    if let Some(node) = given {
        return Ok(node.clone());
    }
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    NodeName::parse(&host).map_err(|error| {
        Failure::new(Exit::Usage, format!("the host's name cannot be used: {error}; use --node NAME"))
    })
}

fn build(
    args: &RunArgs,
    session: &Session,
    guards: Guards,
    events: Events,
    jobs: BTreeMap<JobName, Job>,
) -> Result<Replica, Failure> {
    let config = &session.config;
    let clock = Arc::new(SystemClock);
    let store = session.open_store()?;
    let node = events.node().clone();
    Ok(Replica {
        events,
        lease_file: LeaseFile::new(&session.state_dir, &config.cluster, &node, store.label()),
        node,
        jobs,
        file: config.fingerprint.clone(),
        labels: config.replica.labels.clone(),
        max_running: config.replica.max_running,
        expected_replicas: config.expected_replicas,
        drain: config.replica.drain,
        store,
        clock,
        guards: Arc::new(guards),
        logs: RunLogs::new(&session.state_dir, Arc::new(|| SystemClock.utc())),
        retention: config.logs,
        output: match args.job_output {
            OutputArg::File => JobOutput::File,
            OutputArg::Stdout => JobOutput::Stdout,
            OutputArg::Both => JobOutput::Both,
        },
        facts: watch::Sender::default(),
        alive: None,
        reloads: None,
    })
}

/// Returns what is called while the replica's loop moves: `/healthz` reads it, and systemd's watchdog is notified, if there
/// is one.
fn alive(progress: Arc<Progress>) -> Alive {
    let watchdog = sd_notify::watchdog_enabled().map(|interval| interval / PINGS_PER_WATCHDOG);
    Alive {
        every: watchdog.map_or(MOVES_EVERY, |every| every.min(MOVES_EVERY)),
        tell: Box::new(move || {
            progress.mark(SystemClock.boot());
            if watchdog.is_some() {
                tell_systemd(&[sd_notify::NotifyState::Watchdog]);
            }
        }),
    }
}

/// Handles signals: the first SIGTERM or SIGINT starts to drain, a second one stops all runs at once; SIGHUP reloads.
fn listen(
    stop: Stop,
    reload_requests: mpsc::Sender<ReloadRequest>,
    tasks: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let handler = |kind| signal(kind).map_err(|error| Failure::failed(format!("no signal handler: {error}")));
    let (mut term, mut int, mut hup) = (
        handler(SignalKind::terminate())?,
        handler(SignalKind::interrupt())?,
        handler(SignalKind::hangup())?,
    );
    tasks.spawn(async move {
        loop {
            tokio::select! {
                Some(()) = term.recv() => {}
                Some(()) = int.recv() => {}
                Some(()) = hup.recv() => {
                    // If the queue is full, a waiting request does the same.
                    let _ = reload_requests.try_send(ReloadRequest::Signal);
                    continue;
                }
            }
            if stop.drain.is_cancelled() {
                obey(&stop);
            } else {
                start_to_drain(&stop);
            }
        }
    });
    Ok(())
}

/// Starts to drain: the replica takes no new ticks, lets its runs finish, and then ends.
fn start_to_drain(stop: &Stop) {
    if !stop.drain.is_cancelled() {
        tell_systemd(&[sd_notify::NotifyState::Stopping]);
        stop.drain.cancel();
    }
}

/// Notifies systemd, if this process is one of its services.
fn tell_systemd(state: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "cannot notify systemd");
    }
}

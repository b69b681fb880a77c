//! `run --replicas N`: N replica processes on this machine. Lines for people are prefixed with the replica's name; JSON lines
//! stay as they are, and contain the name. A process that dies is started again. One signal to this process stops all of them.

use std::collections::BTreeMap;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cli::args::global::{GlobalArgs, LogFormat, OutputArg, RunArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::logging;
use crate::job::NodeName;

use super::multi_output::{Style, pass_lines, print};

/// Lines that may wait to be printed, each with up to a hundred kilobytes of a job's output. A terminal that stops reading
/// holds up the logs of the replicas, and nothing else.
const WAITING_LINES: usize = 64;

/// The first and the longest pause before a replica that died is started again. The pause is back at the first value after a
/// replica that lived for longer than the second.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long the end waits for a terminal that does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs `count` replicas until they have all ended.
pub(crate) fn run(args: &RunArgs, global: &GlobalArgs, node: &NodeName, count: u16) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("no runtime: {error}")))?;
    runtime.block_on(supervise(args, global, node, count))
}

async fn supervise(
    args: &RunArgs,
    global: &GlobalArgs,
    node: &NodeName,
    count: u16,
) -> Result<Exit, Failure> {
    let handler = |kind| signal(kind).map_err(|error| failed("no signal handler", &error));
    let (mut term, mut int) = (handler(SignalKind::terminate())?, handler(SignalKind::interrupt())?);
    let mut hup = handler(SignalKind::hangup())?;
    let (lines, to_print) = mpsc::channel(WAITING_LINES);
    let (printed, is_printed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        print(to_print);
        let _ = printed.send(());
    });
    let format = logging::format_or_default(args.log_format);
    let mut seats = BTreeMap::new();
    let mut news = JoinSet::new();
    for number in 1..=count {
        let name = NodeName::parse(&format!("{node}-{number}"))
            .map_err(|error| Failure::new(Exit::Usage, format!("{error}; use a shorter --node NAME")))?;
        let style = Style::of(format, &name, usize::from(number));
        let port_offset = number - 1;
        seats.insert(
            name,
            ReplicaProcess { style, port_offset, pid: None, began: Instant::now(), pause: PAUSES.0 },
        );
    }
    let start =
        |name: &NodeName, seat: &mut ReplicaProcess, news: &mut JoinSet<ChildNews>| -> Result<(), Failure> {
            let child = command(args, global, name, seat.port_offset)?
                .spawn()
                .map_err(|error| failed("cannot start a replica", &error))?;
            seat.pid = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
            seat.began = Instant::now();
            news.spawn(follow(child, name.clone(), seat.style.clone(), lines.clone()));
            Ok(())
        };
    for (name, seat) in &mut seats {
        start(name, seat, &mut news)?;
    }
    let (mut worst, mut is_stopping) = (Exit::Done, false);
    while !news.is_empty() {
        tokio::select! {
            // Each replica has its own process group: a signal of the terminal reaches it only through this process.
            Some(()) = term.recv() => { is_stopping = true; pass_on(&seats, Signal::SIGTERM) }
            Some(()) = int.recv() => { is_stopping = true; pass_on(&seats, Signal::SIGTERM) }
            Some(()) = hup.recv() => pass_on(&seats, Signal::SIGHUP),
            Some(of) = news.join_next() => match of.expect("following neither panics nor is aborted") {
                ChildNews::Due(name) => {
                    let seat = seats.get_mut(&name).expect("it has its seat");
                    if !is_stopping {
                        start(&name, seat, &mut news)?;
                    }
                }
                ChildNews::Ended(name, status) => {
                    let seat = seats.get_mut(&name).expect("it has its seat");
                    // The kernel may soon give its id to another process.
                    seat.pid = None;
                    let again = seat.pause_after(status).filter(|_| !is_stopping);
                    if !status.is_some_and(|status| status.success()) {
                        let line = seat.style.ended(&name, status, again);
                        // This line goes where the replicas' lines go. If the terminal is closed, it is not needed.
                        let _ = lines.send(line).await;
                    }
                    match again {
                        Some(pause) => drop(news.spawn(async move { sleep(pause).await; ChildNews::Due(name) })),
                        None => worst = worse(worst, status),
                    }
                }
            }
        }
    }
    drop(lines);
    // The printing thread ends with its channel, unless its reader does not read.
    let _ = tokio::time::timeout(LAST_WORDS, is_printed).await;
    Ok(worst)
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{what}: {error}"))
}

fn pass_on(seats: &BTreeMap<NodeName, ReplicaProcess>, signal: Signal) {
    for pid in seats.values().filter_map(|seat| seat.pid) {
        // The process may have ended already.
        let _ = kill(pid, signal);
    }
}

/// What happened to the process of a replica.
enum ChildNews {
    /// The process has ended.
    Ended(NodeName, Option<ExitStatus>),
    /// The process has to be started again.
    Due(NodeName),
}

/// One of the replicas.
struct ReplicaProcess {
    style: Style,
    /// How far its HTTP port is above that of the first.
    port_offset: u16,
    pid: Option<Pid>,
    began: Instant,
    /// How long to wait before it is started again if it dies soon.
    pause: Duration,
}

impl ReplicaProcess {
    /// Returns how long to wait before it is started again; `None` after an exit code that a new start would not change.
    fn pause_after(&mut self, status: Option<ExitStatus>) -> Option<Duration> {
        let code = status.and_then(|status| status.code());
        if matches!(code, Some(0 | 2 | 69 | 78)) {
            return None;
        }
        if self.began.elapsed() > PAUSES.1 {
            self.pause = PAUSES.0;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSES.1);
        Some(pause)
    }
}

fn worse(worst: Exit, status: Option<ExitStatus>) -> Exit {
    match status.and_then(|status| status.code()) {
        Some(0) => worst,
        Some(69) => Exit::StoreUnreachable,
        Some(78) => Exit::BadConfig,
        _ => Exit::Failed,
    }
}

/// Returns the command line of one replica. The store's address is passed in the environment, where its password is not
/// visible.
fn command(
    args: &RunArgs,
    global: &GlobalArgs,
    name: &NodeName,
    port_offset: u16,
) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| failed("cannot find its own program", &error))?;
    let mut command = Command::new(program);
    command.arg("run").arg("--supervised").args(["--node", name.as_str()]);
    command.args(["--log-level", &args.log_level.to_string().to_lowercase()]);
    command.args([
        "--log-format",
        match logging::format_or_default(args.log_format) {
            LogFormat::Pretty => "pretty",
            LogFormat::Json => "json",
        },
    ]);
    command.args([
        "--job-output",
        match args.job_output {
            OutputArg::File => "file",
            OutputArg::Stdout => "stdout",
            OutputArg::Both => "both",
        },
    ]);
    if let Some(drain) = args.drain {
        command.args(["--drain", &crate::job::format_duration(drain)]);
    }
    if let Some(limit) = args.max_running {
        command.args(["--max-running", &limit.to_string()]);
    }
    if args.no_http {
        command.arg("--no-http");
    }
    if let Some(listen) = args.listen {
        command.args(["--listen", &listen.to_string()]);
    }
    command.args(["--port-offset", &port_offset.to_string()]);
    for label in args.labels.iter().flatten() {
        command.args(["--label", label.as_str()]);
    }
    if let Some(config) = &global.config {
        command.arg("--config").arg(config);
    }
    if let Some(state_dir) = &global.state_dir {
        command.arg("--state-dir").arg(state_dir);
    }
    if let Some(store) = &global.store {
        command.env("SOLOCRON_STORE", store);
    }
    if logging::coloured() {
        command.env("CLICOLOR_FORCE", "1");
    }
    command.env_remove("SOLOCRON_REPLICAS");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    Ok(command)
}

/// Passes on a replica's lines until it has ended.
async fn follow(mut child: Child, name: NodeName, style: Style, lines: mpsc::Sender<Vec<u8>>) -> ChildNews {
    let out = child.stdout.take().map(|out| pass_lines(out, style.clone(), lines.clone()));
    let err = child.stderr.take().map(|err| pass_lines(err, style, lines));
    let reading = async {
        let out = async {
            if let Some(out) = out {
                out.await
            }
        };
        let err = async {
            if let Some(err) = err {
                err.await
            }
        };
        tokio::join!(out, err);
    };
    let ((), status) = tokio::join!(reading, child.wait());
    ChildNews::Ended(name, status.ok())
}

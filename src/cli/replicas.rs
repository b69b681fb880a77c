//! `run --replicas N`: N replica processes on this machine, their lines prefixed with their names. One signal to this
//! process stops them all.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::job::NodeName;

use super::args::{GlobalArgs, LogFormat, OutputArg, RunArgs};
use super::exit::{Exit, Failure};
use super::logging;

/// One colour per replica, again from the first after the last.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Green,
    AnsiColor::BrightRed,
];

/// Lines that wait to be printed, each of up to a hundred kilobytes of a job's output; a terminal that stops reading holds up the
/// replicas' logs, and nothing else.
const WAITING_LINES: usize = 64;

/// At the end, a terminal that does not read is waited for this long.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Runs `count` replicas until they have all ended.
pub(crate) fn run(args: &RunArgs, global: &GlobalArgs, node: &NodeName, count: u16) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Failed, format!("no runtime: {error}")))?;
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
    let mut ends = JoinSet::new();
    let mut pids = BTreeMap::new();
    for number in 1..=count {
        let name = NodeName::parse(&format!("{node}-{number}"))
            .map_err(|error| Failure::new(Exit::Usage, format!("{error}; use a shorter --node NAME")))?;
        let child = command(args, global, &name)?
            .spawn()
            .map_err(|error| failed("cannot start a replica", &error))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        pids.extend(pid.map(|pid| (name.clone(), pid)));
        let prefix = prefix(&name, usize::from(number));
        ends.spawn(follow(child, name, prefix, lines.clone()));
    }
    let mut worst = Exit::Done;
    while !ends.is_empty() {
        tokio::select! {
            // Replicas have process groups of their own: a signal of the terminal reaches them through here alone.
            Some(()) = term.recv() => pass_on(&pids, Signal::SIGTERM),
            Some(()) = int.recv() => pass_on(&pids, Signal::SIGTERM),
            Some(()) = hup.recv() => pass_on(&pids, Signal::SIGHUP),
            Some(end) = ends.join_next() => {
                let (name, status) = end.expect("following neither panics nor is aborted");
                // Its id may soon be another process's.
                pids.remove(&name);
                worst = worse(worst, status);
                if !status.is_some_and(|status| status.success()) {
                    let status = status.map_or_else(|| "lost".to_owned(), |status| status.to_string());
                    // Whoever reads the lines reads this as well; a closed terminal needs no word.
                    let _ = lines.send(format!("replica {name} ended: {status}\n").into_bytes()).await;
                }
            }
        }
    }
    drop(lines);
    // The printer ends with its channel, unless nobody reads what it prints.
    let _ = tokio::time::timeout(LAST_WORDS, is_printed).await;
    Ok(worst)
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("{what}: {error}"))
}

fn pass_on(pids: &BTreeMap<NodeName, Pid>, signal: Signal) {
    for pid in pids.values() {
        // It may have ended already.
        let _ = kill(*pid, signal);
    }
}

fn worse(worst: Exit, status: Option<ExitStatus>) -> Exit {
    match status.and_then(|status| status.code()) {
        Some(0) => worst,
        Some(78) => Exit::BadConfig,
        _ => Exit::Failed,
    }
}

/// The command line of one replica. The store's address goes by the environment, where its password is not seen.
fn command(args: &RunArgs, global: &GlobalArgs, name: &NodeName) -> Result<Command, Failure> {
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

fn prefix(name: &NodeName, number: usize) -> Vec<u8> {
    let style =
        if logging::coloured() { COLOURS[(number - 1) % COLOURS.len()].on_default() } else { Style::new() };
    format!("{style}{name} |{style:#} ").into_bytes()
}

/// Passes on a replica's lines until it has ended.
async fn follow(
    mut child: Child,
    name: NodeName,
    prefix: Vec<u8>,
    lines: mpsc::Sender<Vec<u8>>,
) -> (NodeName, Option<ExitStatus>) {
    let out = child.stdout.take().map(|out| pass_lines(out, prefix.clone(), lines.clone()));
    let err = child.stderr.take().map(|err| pass_lines(err, prefix, lines));
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
    (name, status.ok())
}

async fn pass_lines(from: impl AsyncRead + Unpin, prefix: Vec<u8>, to: mpsc::Sender<Vec<u8>>) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = prefix.clone();
        match from.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        if to.send(line).await.is_err() {
            return;
        }
    }
}

fn print(mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut readable = true;
    while let Some(line) = lines.blocking_recv() {
        // When nobody reads any more, the replicas go on all the same.
        readable = readable && std::io::stdout().write_all(&line).is_ok();
    }
}

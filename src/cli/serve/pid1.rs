//! PID 1 of a container: starts solocron itself as its child, passes signals on, and reaps every orphaned process.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::exit::Failure;

/// Signals that are passed on.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

/// Whether this process is the first of its container or machine.
pub(crate) fn is_first() -> bool {
    getpid() == Pid::from_raw(1)
}

/// Runs this command line as a child. Returns the exit code of the child.
pub(crate) fn run() -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |what: &str, error: std::io::Error| Failure::failed(format!("as PID 1: {what}: {error}"));
    runtime.map_err(|error| failed("no runtime", error))?.block_on(async {
        // The handlers come first: PID 1 has no default ones, and a signal that came before them would be lost.
        let (passed, mut to_pass) = tokio::sync::mpsc::unbounded_channel();
        for each in PASSED_ON {
            let mut signals = signal(SignalKind::from_raw(each as i32))
                .map_err(|error| failed("no signal handler", error))?;
            let passed = passed.clone();
            tokio::spawn(async move { while signals.recv().await.is_some() && passed.send(each).is_ok() {} });
        }
        let mut children = signal(SignalKind::child()).map_err(|error| failed("no signal handler", error))?;
        let program = std::env::current_exe().map_err(|error| failed("cannot find itself", error))?;
        // In a process group of its own, the child gets a signal of the terminal only through this process, and so only once.
        let child = Command::new(program).args(std::env::args_os().skip(1)).process_group(0).spawn();
        let child = child.map_err(|error| failed("cannot start solocron", error))?;
        let main = Pid::from_raw(i32::try_from(child.id()).expect("process ids are positive i32"));
        loop {
            if let Some(code) = reap(main) {
                return Ok(code);
            }
            tokio::select! {
                _ = children.recv() => {}
                Some(signal) = to_pass.recv() => {
                    // The child may have ended already; then `reap` finds it.
                    let _ = kill(main, signal);
                }
            }
        }
    })
}

/// Reaps every child that has ended. Returns the exit code of `main` if it is among them.
fn reap(main: Pid) -> Option<u8> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == main => return Some(u8::try_from(code).unwrap_or(1)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == main => {
                return Some(128_u8.saturating_add(u8::try_from(signal as i32).unwrap_or(0)));
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            // Another child, or an interrupted call.
            Ok(_) | Err(_) => {}
        }
    }
}

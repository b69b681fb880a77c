//! From a launch to a guard that was asked for: everything that can hang on a network, or be refused, happens here.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::account::Account;
use super::environment::environment;
use super::error::RunError;
use super::guard::{Guards, Request, has_nul};
use super::launch::Launch;
use super::limits::file_limit_at_start;
use super::process::Pipes;
use super::start_error::start_error;
use super::stop::{Reins, StopOrder};
use crate::job::Command;
use crate::lease::BootInstant;

/// What asking for a guard has led to.
pub(super) enum Asked {
    Guard { line: UnixStream, pipes: Pipes, is_switched: bool },
    Ordered(StopOrder),
}

pub(super) fn ask(
    guards: &Guards,
    launch: &Launch,
    sign: Option<&OwnedFd>,
    reins: &Reins,
) -> Result<Asked, RunError> {
    let account = Account::of(launch)?;
    let is_switched = account.switch.is_some();
    let start_failed = |source: io::Error| start_error(launch, is_switched, source);
    let (out_end, out) = pipe::pipe().map_err(start_failed)?;
    let (err_end, err) = pipe::pipe().map_err(start_failed)?;
    let (line, guards_end) = std::os::unix::net::UnixStream::pair().map_err(start_failed)?;
    line.set_nonblocking(true).map_err(start_failed)?;
    let out_end = out_end.into_blocking_fd().map_err(start_failed)?;
    let err_end = err_end.into_blocking_fd().map_err(start_failed)?;
    let mut request = request(launch, account).map_err(start_failed)?;
    if let Some(order) = *reins.stops.borrow() {
        return Ok(Asked::Ordered(order));
    }
    request.deadline = *reins.deadlines.borrow();
    let handed: Vec<BorrowedFd<'_>> = [guards_end.as_fd(), out_end.as_fd(), err_end.as_fd()]
        .into_iter()
        .chain(sign.map(AsFd::as_fd))
        .collect();
    let no_guard = |source| RunError::Guard { job: launch.identity.job.clone(), source };
    guards.ask(&request, &handed).map_err(no_guard)?;
    let line = UnixStream::from_std(line).map_err(start_failed)?;
    Ok(Asked::Guard { line, pipes: Pipes { out, err }, is_switched })
}

fn request(launch: &Launch, account: Account) -> io::Result<Request> {
    let words: Vec<OsString> = match &launch.command {
        Command::Argv(words) => words.iter().map(OsString::from).collect(),
        Command::Shell(line) => vec!["/bin/sh".into(), "-c".into(), line.into()],
    };
    let env: Vec<_> = environment(std::env::vars_os(), account.user.as_ref(), launch).into_iter().collect();
    let variables = env.iter().flat_map(|(name, value)| [name, value]);
    if words.iter().chain(variables).any(|text| has_nul(text)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "nul byte found in provided data"));
    }
    let cwd = launch.cwd.as_ref().map(|cwd| CString::new(cwd.as_os_str().as_bytes())).transpose()?;
    Ok(Request {
        name: launch.identity.run.to_string(),
        words,
        env,
        cwd,
        switch: account.switch,
        files: file_limit_at_start(),
        deadline: BootInstant(Duration::MAX),
        loss_grace: launch.loss_grace,
    })
}

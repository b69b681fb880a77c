//! From a launch to a requested guard: everything that can hang on the network, or be refused, happens here.

use std::ffi::CString;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::{Uid, getpgrp, tcgetpgrp};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::run::error::RunError;
use crate::run::guard::{Folder, GuardRequest, Guards, Input, has_nul};
use crate::run::procs::limits::file_limit_at_start;
use crate::time::BootInstant;

use super::environment::environment;
use super::launch::{Launch, Streams};
use super::process::Pipes;
use super::start_error::start_error;
use super::stop::{RunControl, StopOrder};
use super::user::Account;

/// How long a start waits for its turn to look up accounts.
const LOOKUP_TURN: Duration = Duration::from_secs(5);

/// The result of a request for a guard.
pub(super) enum SpawnReply {
    Guard { socket: UnixStream, pipes: Option<Pipes>, is_switched: bool },
    Ordered(StopOrder),
}

/// Requests a guard, at once if one is ready. What may take long runs off the runtime.
pub(super) async fn ask(
    guards: &Arc<Guards>,
    launch: &Launch,
    sign: Option<OwnedFd>,
    control: &RunControl,
) -> Result<SpawnReply, RunError> {
    let names_account = launch.user.is_some() || launch.group.is_some();
    if !names_account && guards.has_ready_guard() {
        let hand_over =
            |request: &GuardRequest, handed: &[BorrowedFd<'_>]| guards.request_ready_guard(request, handed);
        match ask_by(launch, sign.as_ref(), control, hand_over) {
            Err(RunError::Guard { source, .. }) if source.kind() == io::ErrorKind::WouldBlock => {}
            asked => return asked,
        }
    }
    let mut stops = control.stops.clone();
    let mut turn = None;
    if names_account {
        tokio::select! {
            // A start that waits longer continues without a turn: its account may be found while lookups of others
            // hang.
            taken = timeout(LOOKUP_TURN, Arc::clone(&guards.lookups).acquire_owned()) => {
                turn = taken.ok().and_then(Result::ok);
            }
            Ok(order) = stops.wait_for(Option::is_some) => {
                return Ok(SpawnReply::Ordered(order.expect("it was waited for")));
            }
        }
    }
    let (guards, launch, control) = (Arc::clone(guards), launch.clone(), control.clone());
    let asking = tokio::task::spawn_blocking(move || {
        let hand_over = |request: &GuardRequest, handed: &[BorrowedFd<'_>]| guards.ask(request, handed);
        let asked = ask_by(&launch, sign.as_ref(), &control, hand_over);
        drop(turn);
        asked
    });
    asking.await.expect("asking for a guard neither panics nor is it aborted")
}

fn ask_by(
    launch: &Launch,
    sign: Option<&OwnedFd>,
    control: &RunControl,
    hand_over: impl FnOnce(&GuardRequest, &[BorrowedFd<'_>]) -> io::Result<net::UnixStream>,
) -> Result<SpawnReply, RunError> {
    let account = Account::of(launch)?;
    let is_switched = account.switch.is_some();
    let start_failed = |source: io::Error| start_error(launch, is_switched, source);
    let streams = streams(&launch.streams).map_err(start_failed)?;
    let mut request = request(launch, account).map_err(start_failed)?;
    if let Some(order) = *control.stops.borrow() {
        return Ok(SpawnReply::Ordered(order));
    }
    request.deadline = control.machine_deadline();
    request.input = streams.kind;
    let handed: Vec<BorrowedFd<'_>> = [streams.out.as_fd(), streams.err.as_fd()]
        .into_iter()
        .chain(streams.input.as_ref().map(AsFd::as_fd))
        .chain(sign.map(AsFd::as_fd))
        .collect();
    let no_guard = |source| RunError::Guard { job: launch.identity.job.clone(), source };
    let socket = hand_over(&request, &handed).map_err(no_guard)?;
    let socket =
        socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket)).map_err(start_failed)?;
    Ok(SpawnReply::Guard { socket, pipes: streams.pipes, is_switched })
}

/// The ends of a command's standard streams that its guard gets, and the other ends of those that the replica reads.
struct Ends {
    kind: Input,
    input: Option<OwnedFd>,
    out: OwnedFd,
    err: OwnedFd,
    pipes: Option<Pipes>,
}

fn streams(streams: &Streams) -> io::Result<Ends> {
    if let Streams::Handed(output) = streams {
        let [out, err] = &**output;
        let (out, err) = (out.try_clone()?, err.try_clone()?);
        return Ok(Ends { kind: Input::Nothing, input: None, out, err, pipes: None });
    }
    if streams.are_the_callers() {
        let (input, out, err) = (io::stdin(), io::stdout(), io::stderr());
        let kind = match input.is_terminal() {
            false => Input::Handed,
            true if out.is_terminal() && is_in_foreground(input.as_fd()) => Input::Terminal,
            // A command that reads from a terminal in the background is stopped, and would hold the lock without end.
            // In a pipeline, the terminal is also for the other commands.
            true => Input::Nothing,
        };
        return Ok(Ends {
            kind,
            input: (kind != Input::Nothing).then(|| input.as_fd().try_clone_to_owned()).transpose()?,
            out: out.as_fd().try_clone_to_owned()?,
            err: err.as_fd().try_clone_to_owned()?,
            pipes: None,
        });
    }
    let (out_end, out) = pipe::pipe()?;
    let (err_end, err) = pipe::pipe()?;
    let (out_end, err_end) = (out_end.into_blocking_fd()?, err_end.into_blocking_fd()?);
    Ok(Ends {
        kind: Input::Nothing,
        input: None,
        out: out_end,
        err: err_end,
        pipes: Some(Pipes { out, err }),
    })
}

/// Whether this process is in the foreground of its terminal.
fn is_in_foreground(input: BorrowedFd<'_>) -> bool {
    tcgetpgrp(input).is_ok_and(|group| group == getpgrp())
}

fn request(launch: &Launch, account: Account) -> io::Result<GuardRequest> {
    let words = launch.command.clone();
    let env: Vec<_> = environment(std::env::vars_os(), &account, launch).into_iter().collect();
    let variables = env.iter().flat_map(|(name, value)| [name, value]);
    if words.iter().chain(variables).any(|text| has_nul(text)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "nul byte found in provided data"));
    }
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let folder = match (&launch.cwd, account.home()) {
        (Some(cwd), _) => Folder::At(path(cwd)?),
        (None, Some(home)) => Folder::Home(path(home)?),
        (None, None) => Folder::Inherited,
    };
    if launch.max_processes.is_some()
        && account.switch.as_ref().is_none_or(|to| to.uid.is_none_or(Uid::is_root))
    {
        let why =
            "`max_processes` binds neither root nor the replica's own user: give the job another `user`";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(GuardRequest {
        name: launch.identity.run.to_string(),
        words,
        env,
        folder,
        // A command of `exec` shares the terminal with its caller.
        own_session: !launch.streams.are_the_callers(),
        switch: account.switch,
        no_new_privileges: launch.no_new_privileges,
        input: Input::Nothing,
        files: file_limit_at_start(),
        processes: launch.max_processes,
        deadline: BootInstant(Duration::MAX),
        loss_grace: launch.loss_grace,
    })
}

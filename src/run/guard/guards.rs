//! The replica's end of its nursery: hands over requests, and starts another nursery where the last one is gone.

use std::fs;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::Pid;

use super::nursery::NAME;
use super::request::Request;
use crate::run::tree;

/// The running program itself, also after its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A nursery that does not take a request for this long is frozen.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// Makes the guards of a replica's runs. Shared by all of them.
#[derive(Debug)]
pub struct Guards {
    program: PathBuf,
    nursery: Mutex<Option<Nursery>>,
}

#[derive(Debug)]
struct Nursery {
    line: UnixStream,
    process: Child,
}

impl Guards {
    /// Guards made by this very program, whose `main` begins with [`guards_main`](super::guards_main).
    pub fn of_this_program() -> Self {
        Self::made_by(THIS_PROGRAM)
    }

    /// Guards made by this program: `solocron`, or one whose `main` begins with [`guards_main`](super::guards_main).
    pub fn made_by(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), nursery: Mutex::new(None) }
    }

    /// Starts what makes the guards, so that the first run need not wait for it.
    pub fn start(&self) -> io::Result<()> {
        let mut nursery = self.nursery.lock().unwrap_or_else(PoisonError::into_inner);
        if nursery.is_none() {
            *nursery = Some(Nursery::start(&self.program)?);
        }
        Ok(())
    }

    /// Asks for a guard, and hands it these descriptors: its line, the job's output and error, and the run's sign.
    /// Blocks for some microseconds, or as long as a frozen nursery may take.
    pub(in crate::run) fn ask(&self, request: &Request, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut nursery = self.nursery.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = nursery.as_mut()
            && running.is_alive()
            && running.ask(request, handed).is_ok()
        {
            return Ok(());
        }
        // One that failed may have read a part, and must not take up what comes next for the rest.
        drop(nursery.take());
        let new = Nursery::start(&self.program)?;
        new.ask(request, handed)?;
        *nursery = Some(new);
        Ok(())
    }

    /// What killed guards have left to their nursery. It kills these itself, unless it is frozen, and says nothing of when
    /// it has.
    pub(in crate::run) fn strays(&self) -> io::Result<Vec<Pid>> {
        let nursery = self.nursery.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        let Some(nursery) = nursery.as_ref().map(Nursery::pid) else { return Ok(Vec::new()) };
        // Guards are copies of the nursery; nothing else below it runs its program.
        let program = |pid: Pid| fs::read_link(format!("/proc/{pid}/exe")).ok();
        let own = program(nursery);
        let guards: Vec<Pid> =
            tree::children(nursery)?.into_iter().filter(|child| program(*child) == own).collect();
        tree::descendants(nursery, &guards)
    }

    /// Kills a nursery that hangs, with every request that it has not taken up. False while somebody else waits for it,
    /// who will do the same before long: whoever renews locks must not wait in that line.
    pub(in crate::run) fn give_up(&self) -> bool {
        let nursery = match self.nursery.try_lock() {
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Ok(mut nursery) => nursery.take(),
        };
        drop(nursery);
        true
    }
}

impl Nursery {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let (line, other) = UnixStream::pair()?;
        line.set_write_timeout(Some(SEND_LIMIT))?;
        let process = Command::new(program)
            .arg0(NAME)
            // Signals of a terminal are for the replica.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(other)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { line, process })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    fn ask(&self, request: &Request, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = request.encode();
        let head = (bytes.len() as u64).to_le_bytes();
        let fds: Vec<_> = handed.iter().map(AsRawFd::as_raw_fd).collect();
        let controls = [ControlMessage::ScmRights(&fds)];
        let sent = sendmsg::<()>(
            self.line.as_raw_fd(),
            &[IoSlice::new(&head)],
            &controls,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        (&self.line).write_all(&head[sent..])?;
        (&self.line).write_all(&bytes)
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        // Guards that it has made go on without it. One that is merely not needed any more ends by itself as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

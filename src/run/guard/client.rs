//! The replica's end of its zygote: hands over requests, and starts another zygote where the last one is gone.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use nix::unistd::Pid;
use tokio::sync::Semaphore;

use crate::time::{BootInstant, Clock, SystemClock};

use super::fd_passing::{send, send_at_once};
use super::names::MAKER;
use super::pool::GuardPool;
use super::request::GuardRequest;
use super::zygote::family::Family;

/// The running program itself, also after its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A zygote that does not take a request for this long is frozen.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// So many starts look up accounts at a time.
const LOOKUPS: usize = 16;

/// A request that is longer may not fit into what the kernel keeps for a guard that does not read.
const LONGEST_FOR_SPARES: usize = 64 * 1024;

/// Makes the guards of a replica's runs. Shared by all of them.
#[derive(Debug)]
pub struct Guards {
    program: PathBuf,
    zygote: Mutex<Option<ZygoteClient>>,
    family: Mutex<Family>,
    /// Starts that look up accounts take turns, so that a directory which hangs keeps no others from starting.
    pub(in crate::run) lookups: Arc<Semaphore>,
}

#[derive(Debug)]
struct ZygoteClient {
    line: UnixStream,
    process: Child,
    pool: GuardPool,
}

impl Guards {
    /// Guards made by this very program, whose `main` begins with [`guards_main`](super::guards_main).
    pub fn of_this_program() -> Self {
        Self::made_by(THIS_PROGRAM)
    }

    /// Guards made by this program: `solocron`, or one whose `main` begins with [`guards_main`](super::guards_main).
    pub fn made_by(program: impl Into<PathBuf>) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        Self { program: program.into(), zygote: Mutex::new(None), family: Mutex::default(), lookups }
    }

    /// Makes this process the one that what has lost guard and zygote comes down to, so that it is found and killed. For
    /// programs whose only children from now on are those that are made here: all others would count as left by runs.
    #[must_use]
    pub fn taking_in_orphans(self) -> Self {
        self.family().take_in_orphans();
        self
    }

    /// Starts what makes the guards, so that the first run need not wait for it.
    pub fn start(&self) -> io::Result<()> {
        let mut zygote = self.lock();
        if zygote.is_none() {
            *zygote = Some(self.start_zygote()?);
        }
        Ok(())
    }

    /// Has guards made for so many runs that are likely to begin before `until`, each of which then need not wait for its
    /// own. Blocks like `ask`; others are let in between.
    pub fn book(&self, runs: usize, until: BootInstant) {
        let wanted = match self.lock().as_mut() {
            Some(zygote) => zygote.pool.book(runs, until, SystemClock.boot()),
            None => return,
        };
        for _ in 0..wanted {
            let mut zygote = self.lock();
            let Some(running) = living(&mut zygote) else { return };
            // Without resources of its own, the replica does without.
            let Ok(pair) = UnixStream::pair() else { return };
            match running.make_spare(pair) {
                Ok(()) => {}
                // The next request makes another.
                Err(error) if is_of_the_other(&error) => return drop(zygote.take()),
                Err(_) => return,
            }
        }
    }

    /// Lets go of guards whose runs have not begun in time, and of what has ended. Does not block.
    pub fn release(&self) {
        let Ok(mut zygote) = self.zygote.try_lock() else { return };
        match living(&mut zygote) {
            Some(running) => running.pool.release(SystemClock.boot()),
            // The next request makes another.
            None => drop(zygote.take()),
        }
        self.family().reap(zygote.as_ref().map(ZygoteClient::pid));
    }

    fn family(&self) -> MutexGuard<'_, Family> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_zygote(&self) -> io::Result<ZygoteClient> {
        let new = ZygoteClient::start(&self.program)?;
        self.family().join(new.pid());
        Ok(new)
    }

    fn lock(&self) -> MutexGuard<'_, Option<ZygoteClient>> {
        self.zygote.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a guard, and hands it these descriptors: the job's output and error, its input if it reads any, and the
    /// run's sign. Returns the line to it. Blocks for some microseconds, or as long as a frozen zygote may take.
    pub(in crate::run) fn ask(
        &self,
        request: &GuardRequest,
        handed: &[BorrowedFd<'_>],
    ) -> io::Result<UnixStream> {
        let bytes = request.encode();
        let mut zygote = self.lock();
        if let Some(running) = living(&mut zygote) {
            if let Some(line) = running.ask_spare(&bytes, handed) {
                return Ok(line);
            }
            let (line, guards_end) = UnixStream::pair()?;
            match running.ask(&bytes, &guards_end, handed) {
                Ok(()) => return Ok(line),
                Err(error) if !is_of_the_other(&error) => return Err(error),
                Err(_) => {}
            }
        }
        // One that failed may have read a part, and must not take up what comes next for the rest.
        drop(zygote.take());
        let (line, guards_end) = UnixStream::pair()?;
        let new = self.start_zygote()?;
        new.ask(&bytes, &guards_end, handed)?;
        *zygote = Some(new);
        Ok(line)
    }

    /// Whether a guard is likely to be ready for a run. Waits for nothing.
    pub(in crate::run) fn is_one_ready(&self) -> bool {
        let zygote = self.zygote.try_lock();
        zygote.is_ok_and(|zygote| zygote.as_ref().is_some_and(|zygote| !zygote.pool.is_empty()))
    }

    /// Asks a guard that is ready, as `ask` does, and waits for nothing: `WouldBlock` where that cannot be.
    pub(in crate::run) fn ask_ready(
        &self,
        request: &GuardRequest,
        handed: &[BorrowedFd<'_>],
    ) -> io::Result<UnixStream> {
        let would_block = io::Error::from(io::ErrorKind::WouldBlock);
        let Ok(mut zygote) = self.zygote.try_lock() else { return Err(would_block) };
        let Some(running) = living(&mut zygote) else { return Err(would_block) };
        running.ask_spare(&request.encode(), handed).ok_or(would_block)
    }

    /// What killed guards have left to their zygote, or to this process where that was killed as well. The zygote kills
    /// these itself, unless it is frozen, and says nothing of when it has. A zygote that is dead has none.
    pub(in crate::run) fn strays(&self) -> io::Result<Vec<Pid>> {
        let mut zygote = match self.zygote.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Ok(zygote) => zygote,
        };
        let zygote = living(&mut zygote).map(|zygote| zygote.pid());
        let family = self.family();
        let strays = family.strays(zygote)?;
        // Whose parent ended while all were listed may be missing: only two empty looks in a row are believed.
        if strays.is_empty() { family.strays(zygote) } else { Ok(strays) }
    }

    /// Kills a zygote that hangs, with every request that it has not taken up. False while somebody else waits for it,
    /// who will do the same before long: whoever renews locks must not wait in that line.
    pub(in crate::run) fn give_up(&self) -> bool {
        let zygote = match self.zygote.try_lock() {
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Ok(mut zygote) => zygote.take(),
        };
        drop(zygote);
        true
    }
}

/// Whether guards need this variable: what the loader of their program needs, and what tests switch and find them by.
fn is_for_guards(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_of_tests =
        ["CLOCK_", "SOLOCRON_TEST_", "SOLOCRON_SWITCH_OFF"].iter().any(|start| name.starts_with(start));
    name.starts_with("LD_") || cfg!(feature = "test-switches") && is_of_tests
}

impl ZygoteClient {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let (line, other) = UnixStream::pair()?;
        line.set_write_timeout(Some(SEND_LIMIT))?;
        // A request has the whole environment of its command. That of this process has secrets, which a job of the same user could read
        // before the new process has closed itself.
        let passed_on = std::env::vars_os().filter(|(name, _)| is_for_guards(name));
        let process = Command::new(program)
            .arg0(OsStr::from_bytes(MAKER.to_bytes()))
            .env_clear()
            .envs(passed_on)
            // Signals of a terminal are for the replica.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(other)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { line, process, pool: GuardPool::default() })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Asks for a guard that is made now, with the other end of its line.
    fn ask(&self, bytes: &[u8], guards_end: &UnixStream, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
        let handed: Vec<BorrowedFd<'_>> =
            std::iter::once(guards_end.as_fd()).chain(handed.iter().copied()).collect();
        send(&self.line, Some(bytes), &handed)
    }

    /// Asks a guard that waits for its run, if one does that hears it at once. Waits for nothing.
    fn ask_spare(&mut self, bytes: &[u8], handed: &[BorrowedFd<'_>]) -> Option<UnixStream> {
        if bytes.len() > LONGEST_FOR_SPARES {
            return None;
        }
        loop {
            let spare = self.pool.take()?;
            match send_at_once(&spare, bytes, handed) {
                Ok(()) => return Some(spare),
                // It hears of its end, also if it has heard a part, and starts nothing.
                Err(error) if is_of_the_other(&error) => {}
                Err(_) => {
                    self.pool.put(spare);
                    return None;
                }
            }
        }
    }

    fn make_spare(&mut self, (line, guards_end): (UnixStream, UnixStream)) -> io::Result<()> {
        send(&self.line, None, &[guards_end.as_fd()])?;
        self.pool.put(line);
        Ok(())
    }
}

/// The zygote, if it was not killed.
fn living(zygote: &mut Option<ZygoteClient>) -> Option<&mut ZygoteClient> {
    let zygote = zygote.as_mut()?;
    if zygote.is_alive() { Some(zygote) } else { None }
}

/// Whether whoever was written to is gone, or does not read, and not the writer is short of something.
fn is_of_the_other(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, Interrupted, NotConnected, WouldBlock, WriteZero};
    matches!(error.kind(), BrokenPipe | ConnectionReset | Interrupted | NotConnected | WouldBlock | WriteZero)
}

impl Drop for ZygoteClient {
    fn drop(&mut self) {
        // Guards that it has made go on without it. One that is merely not needed any more ends by itself as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

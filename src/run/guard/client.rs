//! The replica's side of its zygote: sends requests for guards, and starts another zygote when the last one is gone.

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

use crate::time::BootInstant;

use super::fd_passing::{send, send_at_once};
use super::names::ZYGOTE_NAME;
use super::pool::GuardPool;
use super::request::GuardRequest;
use super::zygote::family::Family;

/// The running program itself, even if its file has been replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A zygote that does not accept a request for this long counts as frozen.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// How many starts may look up accounts at the same time.
const LOOKUPS: usize = 16;

/// The longest request, in bytes, that is sent to a ready guard. A longer one may not fit into the socket buffer of a
/// guard that does not read.
const LONGEST_FOR_READY: usize = 64 * 1024;

/// Makes the guards of a replica's runs. All runs share it.
#[derive(Debug)]
pub struct Guards {
    program: PathBuf,
    zygote: Mutex<Option<ZygoteClient>>,
    family: Mutex<Family>,
    /// Limits how many starts look up accounts at a time: a user directory (LDAP) that hangs must not block other
    /// starts.
    pub(in crate::run) lookups: Arc<Semaphore>,
}

#[derive(Debug)]
struct ZygoteClient {
    socket: UnixStream,
    process: Child,
    pool: GuardPool,
}

impl Guards {
    /// Returns `Guards` made by the running program. Its `main` must begin with [`guards_main`](super::guards_main).
    pub fn of_this_program() -> Self {
        Self::made_by(THIS_PROGRAM)
    }

    /// Returns `Guards` made by this program: `solocron`, or one whose `main` begins with
    /// [`guards_main`](super::guards_main).
    pub fn made_by(program: impl Into<PathBuf>) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        Self { program: program.into(), zygote: Mutex::new(None), family: Mutex::default(), lookups }
    }

    /// Makes this process the sub-reaper of its descendants: processes whose guard and zygote were both killed become
    /// its children, so that they are found and killed. Only for programs whose sole children from now on are those
    /// made here: any other child would count as left behind by a run.
    #[must_use]
    pub fn taking_in_orphans(self) -> Self {
        self.family().take_in_orphans();
        self
    }

    /// Starts the zygote, so that the first run need not wait for it.
    ///
    /// # Errors
    ///
    /// Fails if the zygote cannot be started.
    pub fn start(&self) -> io::Result<()> {
        let mut current = self.lock();
        if current.is_none() {
            *current = Some(self.start_zygote()?);
        }
        Ok(())
    }

    /// Requests guards for `runs` more runs that are likely to begin before `until`, so that none of these has to
    /// wait for its own guard. Blocks like `ask`, but releases the zygote between two guards, so that other callers
    /// get their turn. `now`: the present time, by the clock of `until`.
    pub fn reserve(&self, runs: usize, until: BootInstant, now: BootInstant) {
        let wanted = match self.lock().as_mut() {
            Some(zygote) => zygote.pool.reserve(runs, until, now),
            None => return,
        };
        for _ in 0..wanted {
            let mut current = self.lock();
            let Some(zygote) = running_zygote(&mut current) else { return };
            // The replica lacks resources, such as free descriptors: it continues without this guard.
            let Ok((socket, guards_end)) = UnixStream::pair() else { return };
            match zygote.make_ready_guard(socket, &guards_end) {
                Ok(()) => {}
                // The next request starts another zygote.
                Err(error) if is_receiver_error(&error) => return drop(current.take()),
                Err(_) => return,
            }
        }
    }

    /// Releases guards whose runs did not begin by `now`, in their time, and reaps children that have ended. Does not
    /// block.
    pub fn release(&self, now: BootInstant) {
        let Some(mut current) = self.try_lock() else { return };
        match running_zygote(&mut current) {
            Some(zygote) => zygote.pool.release(now),
            // The next request starts another zygote.
            None => drop(current.take()),
        }
        self.family().reap(current.as_ref().map(ZygoteClient::pid));
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

    /// Locks the zygote as `lock` does; `None` while another caller has it. Does not block.
    fn try_lock(&self) -> Option<MutexGuard<'_, Option<ZygoteClient>>> {
        match self.zygote.try_lock() {
            Ok(current) => Some(current),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Requests a guard, and hands it these descriptors: the job's output and error, its input if it reads any, and
    /// the run's sign. Returns the socket to the guard. Blocks for some microseconds, or for as long as a frozen
    /// zygote may take (`SEND_LIMIT`).
    pub(in crate::run) fn ask(
        &self,
        request: &GuardRequest,
        handed: &[BorrowedFd<'_>],
    ) -> io::Result<UnixStream> {
        let bytes = request.encode();
        let mut current = self.lock();
        if let Some(zygote) = running_zygote(&mut current) {
            if let Some(socket) = zygote.send_to_ready_guard(&bytes, handed) {
                return Ok(socket);
            }
            let (socket, guards_end) = UnixStream::pair()?;
            match zygote.ask(&bytes, &guards_end, handed) {
                Ok(()) => return Ok(socket),
                Err(error) if !is_receiver_error(&error) => return Err(error),
                Err(_) => {}
            }
        }
        // A zygote that failed may have read a part of the request, and must not take the next request for the rest
        // of it.
        drop(current.take());
        let (socket, guards_end) = UnixStream::pair()?;
        let new = self.start_zygote()?;
        new.ask(&bytes, &guards_end, handed)?;
        *current = Some(new);
        Ok(socket)
    }

    /// Returns how many guards are ready for a run; 0 while one is being made. Does not block.
    pub fn ready(&self) -> usize {
        self.try_lock().and_then(|current| current.as_ref().map(|zygote| zygote.pool.len())).unwrap_or(0)
    }

    /// Whether a guard is likely to be ready for a run. Does not block.
    pub(in crate::run) fn has_ready_guard(&self) -> bool {
        self.try_lock().is_some_and(|current| current.as_ref().is_some_and(|zygote| !zygote.pool.is_empty()))
    }

    /// Sends the request to a guard that is ready, as `ask` does, but never blocks: returns `WouldBlock` if that is
    /// not possible.
    pub(in crate::run) fn request_ready_guard(
        &self,
        request: &GuardRequest,
        handed: &[BorrowedFd<'_>],
    ) -> io::Result<UnixStream> {
        let would_block = io::Error::from(io::ErrorKind::WouldBlock);
        let Some(mut current) = self.try_lock() else { return Err(would_block) };
        let Some(zygote) = running_zygote(&mut current) else { return Err(would_block) };
        zygote.send_to_ready_guard(&request.encode(), handed).ok_or(would_block)
    }

    /// Returns the processes that killed guards have left to their zygote, or to this process if the zygote was
    /// killed as well. The zygote kills these itself, unless it is frozen, and does not report when it has. A dead
    /// zygote has none.
    pub(in crate::run) fn strays(&self) -> io::Result<Vec<Pid>> {
        let mut current = self.try_lock().ok_or(io::ErrorKind::WouldBlock)?;
        let pid = running_zygote(&mut current).map(|zygote| zygote.pid());
        let family = self.family();
        let strays = family.strays(pid)?;
        // A process whose parent ended during the listing may be missing: only two empty listings in a row count.
        if strays.is_empty() { family.strays(pid) } else { Ok(strays) }
    }

    /// Kills a zygote that hangs, together with every request that it has not read. Returns false while another
    /// caller waits for the zygote: that caller will do the same before long, and the task that renews locks must not
    /// wait for it.
    pub(in crate::run) fn kill_hanging_zygote(&self) -> bool {
        let Some(zygote) = self.try_lock().map(|mut current| current.take()) else { return false };
        drop(zygote);
        true
    }
}

/// Whether guards get this environment variable. They get those that the loader of their program needs, and those by
/// which tests switch protections off and find guards.
fn is_for_guards(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_of_tests =
        ["CLOCK_", "SOLOCRON_TEST_", "SOLOCRON_SWITCH_OFF"].iter().any(|start| name.starts_with(start));
    name.starts_with("LD_") || cfg!(feature = "test-switches") && is_of_tests
}

impl ZygoteClient {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let (socket, other) = UnixStream::pair()?;
        socket.set_write_timeout(Some(SEND_LIMIT))?;
        // A request has the whole environment of its command. The environment of this process has secrets, which a
        // job of the same user could read before the new process has made itself non-dumpable.
        let passed_on = std::env::vars_os().filter(|(name, _)| is_for_guards(name));
        let process = Command::new(program)
            .arg0(OsStr::from_bytes(ZYGOTE_NAME.to_bytes()))
            .env_clear()
            .envs(passed_on)
            // Signals from a terminal are for the replica only.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(other)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket, process, pool: GuardPool::default() })
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Requests a guard that is made now, and passes it the other end of its socket.
    fn ask(&self, bytes: &[u8], guards_end: &UnixStream, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
        let handed: Vec<BorrowedFd<'_>> =
            std::iter::once(guards_end.as_fd()).chain(handed.iter().copied()).collect();
        send(&self.socket, Some(bytes), &handed)
    }

    /// Sends the request to a ready guard. Returns `None` if no guard is ready, or none accepts it at once. Does not
    /// block.
    fn send_to_ready_guard(&mut self, bytes: &[u8], handed: &[BorrowedFd<'_>]) -> Option<UnixStream> {
        if bytes.len() > LONGEST_FOR_READY {
            return None;
        }
        loop {
            let guard = self.pool.take()?;
            match send_at_once(&guard, bytes, handed) {
                Ok(()) => return Some(guard),
                // Its socket is closed here: the guard reads the end, even if it has read a part of the request, and
                // starts nothing.
                Err(error) if is_receiver_error(&error) => {}
                Err(_) => {
                    self.pool.put(guard);
                    return None;
                }
            }
        }
    }

    fn make_ready_guard(&mut self, socket: UnixStream, guards_end: &UnixStream) -> io::Result<()> {
        send(&self.socket, None, &[guards_end.as_fd()])?;
        self.pool.put(socket);
        Ok(())
    }
}

/// Returns the zygote, unless it has ended.
fn running_zygote(current: &mut Option<ZygoteClient>) -> Option<&mut ZygoteClient> {
    let zygote = current.as_mut()?;
    if zygote.is_alive() { Some(zygote) } else { None }
}

/// Whether a write failed because the receiver is gone or does not read, and not because this process lacks a
/// resource.
fn is_receiver_error(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, Interrupted, NotConnected, WouldBlock, WriteZero};
    matches!(error.kind(), BrokenPipe | ConnectionReset | Interrupted | NotConnected | WouldBlock | WriteZero)
}

impl Drop for ZygoteClient {
    fn drop(&mut self) {
        // Guards that this zygote has made continue without it. A zygote that is not needed any more would end by
        // itself, too.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! Calls to the kernel for which nix has no safe form, behind functions that are safe to call under the conditions in
//! their comments.
#![expect(unsafe_code, reason = "fork, code between fork and exec, and calls that nix has no safe form of")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal};
use nix::unistd::{ForkResult, Pid};

/// The numbers of all Linux signals.
const SIGNALS: std::ops::RangeInclusive<libc::c_int> = 1..=64;

/// Flag of clone3(2); libc's own constant is too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The lowest CPU priority (nice 19).
const LAST: libc::c_int = 19;

/// The first descriptor after the three that every program expects.
const FIRST_OTHER: libc::c_uint = 3;

/// Forks this process. To be called only while it has a single thread: the copy may then do anything.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: the caller's process has a single thread, so that no lock of another thread stays taken in the copy.
    unsafe { nix::unistd::fork() }
}

/// Forks this process as `fork` does, with the copy in this control group from its first instruction on. Moving it
/// there later would wait for the whole machine, some 14 ms at times.
pub(crate) fn fork_into(cgroup: BorrowedFd<'_>) -> nix::Result<ForkResult> {
    // SAFETY: a struct of numbers, for which zero means that nothing is requested.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = libc::SIGCHLD as u64;
    args.cgroup = u64::try_from(cgroup.as_raw_fd()).map_err(|_| Errno::EBADF)?;
    // SAFETY: without CLONE_VM this is a fork; the caller's process has a single thread, as for `fork`.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) };
    match Errno::result(pid)? {
        0 => Ok(ForkResult::Child),
        child => {
            let child = i32::try_from(child).expect("process ids are below 2^22");
            Ok(ForkResult::Parent { child: Pid::from_raw(child) })
        }
    }
}

/// The result of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// A dead child, with its status of wait(2).
    Child(Pid, i32),
    /// There are children, and none of them is dead.
    None,
    /// There are no children.
    Childless,
}

/// Reaps one child that is dead. (nix cannot report children that a real-time signal has ended.)
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is good for the one number that the kernel writes.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match Errno::result(pid) {
            Ok(0) => return Reaped::None,
            Ok(pid) => return Reaped::Child(Pid::from_raw(pid), status),
            Err(Errno::EINTR) => {}
            Err(_) => return Reaped::Childless,
        }
    }
}

/// Ends this process at once: no destructors are run, nothing is flushed. For copies made by `fork`.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: always allowed.
    unsafe { libc::_exit(code) }
}

/// Gives this process the lowest CPU priority, and yields the CPU now.
pub(crate) fn lower_priority() {
    // SAFETY: the call takes numbers only; where it is refused, nothing changes.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LAST) };
    std::thread::yield_now();
}

/// Lowers the CPU priority of this thread, and of those that it starts, by this difference of nice values, to 19 at most.
pub fn lower_thread_priority(by: i32) {
    // SAFETY: both calls take numbers only; on Linux the second changes the calling thread alone. Where it is refused,
    // nothing changes.
    unsafe {
        let own = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, own.saturating_add(by).min(LAST));
    }
}

/// Gives memory that was freed back to the system: the C library keeps what is free between blocks that are in use. Takes some
/// milliseconds if that is much.
pub fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number only, and any thread may make it at any time.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Gives this process, and none of its children, a priority before all others, or takes that back. Without root the
/// kernel refuses it, and the process shares the CPU with those that it has to kill.
pub(crate) fn set_realtime(first: bool) {
    let policy = if first { libc::SCHED_RR | libc::SCHED_RESET_ON_FORK } else { libc::SCHED_OTHER };
    let param = libc::sched_param { sched_priority: i32::from(first) };
    // SAFETY: the pointer is good for the struct that the kernel reads; where it is refused, nothing changes.
    unsafe { libc::sched_setscheduler(0, policy, &raw const param) };
}

/// Takes ownership of descriptors that the kernel has just handed to this process.
pub(crate) fn adopt(fds: Vec<RawFd>) -> Vec<OwnedFd> {
    // SAFETY: they came with a message, and nothing else in this process owns them.
    fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect()
}

/// Sets every signal to its default action, and blocks none. Async-signal-safe.
pub(crate) fn reset_signals() -> nix::Result<()> {
    for signal in SIGNALS {
        // SAFETY: signal(2) is async-signal-safe; numbers that cannot be set are refused, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask()
}

/// Restores the signal's default action, which ends the process.
///
/// # Errors
///
/// Fails if the action of this signal cannot be set, as that of SIGKILL.
pub fn end_by(signal: Signal) -> nix::Result<()> {
    // SAFETY: this installs no handler, but restores the default.
    unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }.map(drop)
}

/// Puts this process's group into the foreground of the terminal on its standard input, and makes it ignore Ctrl-Z: a
/// command that sleeps would hold its lock without end. Without a terminal nothing happens. Async-signal-safe.
pub(crate) fn take_terminal() {
    // SAFETY: all of these are async-signal-safe. A process in the background may take a terminal only while it
    // ignores SIGTTOU.
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(libc::STDIN_FILENO, libc::getpid());
        libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        libc::signal(libc::SIGTSTP, libc::SIG_IGN);
    }
}

/// Gives up every capability of this thread, above all those that would survive an exec. Async-signal-safe.
pub(crate) fn drop_capabilities() -> nix::Result<()> {
    /// Version 3 of the interface: two words for each of the three sets.
    const VERSION: u32 = 0x2008_0522;
    let (header, nothing) = ([VERSION, 0], [0_u32; 6]);
    // SAFETY: both arrays are as large as that version requires, and the kernel only reads them. A capability that is
    // in no set of the thread is no ambient capability either.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) };
    Errno::result(result).map(drop)
}

/// Gives this process a session keyring of its own, where the kernel has keyrings: the inherited one, of the user
/// that started the replica, may hold tickets. Async-signal-safe.
pub(crate) fn leave_keyring() {
    /// KEYCTL_JOIN_SESSION_KEYRING
    const JOIN: libc::c_int = 1;
    // SAFETY: without a name the kernel makes a new one, and reads nothing.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN, std::ptr::null::<libc::c_char>()) };
}

/// Clears the capabilities that survive an exec by a user other than root. Async-signal-safe.
pub(crate) fn clear_ambient() {
    // SAFETY: the call takes numbers only.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
}

/// Closes every descriptor but the first three. To be called before this process has opened one itself.
pub(crate) fn close_inherited() {
    // SAFETY: nothing in this process owns a descriptor that this closes.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST_OTHER, libc::c_uint::MAX, 0) };
}

/// Closes every descriptor but the first three at exec. Async-signal-safe.
pub(crate) fn close_others_on_exec() {
    // SAFETY: the call takes numbers only and closes nothing before exec. Kernels before 5.11 refuse it; there,
    // descriptors that the replica inherited without the flag stay open, as with any other supervisor.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST_OTHER, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
}

/// Runs `before` in the child between fork and exec. It may make async-signal-safe calls only.
pub(crate) fn before_exec(
    command: &mut std::process::Command,
    before: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the callers' closures make async-signal-safe calls only: everything that allocates was made before.
    unsafe { command.pre_exec(before) };
}

/// Whether an extended attribute of a file is `1`.
pub(crate) fn is_marked(path: &Path, attribute: &CStr) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    let mut value = [0_u8; 8];
    // SAFETY: both texts end in NUL, and the kernel writes at most `value.len()` bytes.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), attribute.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    usize::try_from(length).is_ok_and(|length| value[..length] == *b"1")
}

//! Calls to the kernel that nix has no safe form of, behind functions that are safe to call where their comments say.
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

/// Who is that nice gets what nobody else wants.
const LAST: libc::c_int = 19;

/// The first descriptor behind the three that every program expects.
const FIRST_OTHER: libc::c_uint = 3;

/// Splits this process in two. To be called where it has a single thread: the copy may then do whatever it likes.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: the caller's process has a single thread, so that no lock of another one stays taken in the copy.
    unsafe { nix::unistd::fork() }
}

/// The same, with the copy in this control group from its first instruction on. Moving it there later would wait for
/// the whole machine, some 14 ms at times.
pub(crate) fn fork_into(cgroup: BorrowedFd<'_>) -> nix::Result<ForkResult> {
    // SAFETY: a struct of numbers, for which zero means "nothing asked for".
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

/// What asking for dead children has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// This one, with its status of wait(2).
    Child(Pid, i32),
    /// Children, and none of them dead.
    None,
    /// No children at all.
    Childless,
}

/// Reaps a child that is dead. (nix cannot tell of children that a real-time signal has ended.)
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

/// Ends this process without a trace: no destructors, nothing flushed. For copies made by `fork`.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: always allowed.
    unsafe { libc::_exit(code) }
}

/// From now on, and first of all now, whoever has something to do goes before this process.
pub(crate) fn step_back() {
    // SAFETY: the call takes numbers only; where it is refused, nothing changes.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LAST) };
    std::thread::yield_now();
}

/// Has this process, and none of its children, go before all others or among them again. Who is not root may not, and
/// takes its turn among whatever it is to kill.
pub(crate) fn go_first(first: bool) {
    let policy = if first { libc::SCHED_RR | libc::SCHED_RESET_ON_FORK } else { libc::SCHED_OTHER };
    let param = libc::sched_param { sched_priority: i32::from(first) };
    // SAFETY: the pointer is good for the struct that the kernel reads; where it is refused, nothing changes.
    unsafe { libc::sched_setscheduler(0, policy, &raw const param) };
}

/// Takes over descriptors that the kernel has just handed to this process.
pub(crate) fn adopt(fds: Vec<RawFd>) -> Vec<OwnedFd> {
    // SAFETY: they came with a message, and nobody else in this process knows of them.
    fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect()
}

/// Sets every signal to what it does by itself, and blocks none. Async-signal-safe.
pub(crate) fn reset_signals() -> nix::Result<()> {
    for signal in SIGNALS {
        // SAFETY: signal(2) is async-signal-safe; numbers that cannot be set are refused, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask()
}

/// From now on this signal ends the process, as it does one that never heard of signals.
pub fn end_by(signal: Signal) -> nix::Result<()> {
    // SAFETY: no handler is installed, but the default restored.
    unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }.map(drop)
}

/// Makes this process's group the one that reads from the terminal on its standard input, and Ctrl-Z do nothing there: a
/// command that sleeps would hold its lock for ever. Without a terminal nothing happens. Async-signal-safe.
pub(crate) fn take_terminal() {
    // SAFETY: all of these are async-signal-safe. Only who ignores SIGTTOU may take a terminal from the background.
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(libc::STDIN_FILENO, libc::getpid());
        libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        libc::signal(libc::SIGTSTP, libc::SIG_IGN);
    }
}

/// Gives up every capability of this thread, those that would survive an exec first of all. Async-signal-safe.
pub(crate) fn drop_capabilities() -> nix::Result<()> {
    /// Version 3 of the interface: two words for each of the three sets.
    const VERSION: u32 = 0x2008_0522;
    let (header, nothing) = ([VERSION, 0], [0_u32; 6]);
    // SAFETY: both are as large as that version says, and the kernel only reads them. What is in no set of the thread is no
    // ambient capability either.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) };
    Errno::result(result).map(drop)
}

/// A session keyring of its own, where the kernel has keyrings: that of whoever started the replica may hold tickets. Async-signal-safe.
pub(crate) fn leave_keyring() {
    /// KEYCTL_JOIN_SESSION_KEYRING
    const JOIN: libc::c_int = 1;
    // SAFETY: without a name the kernel makes a new one, and reads nothing.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN, std::ptr::null::<libc::c_char>()) };
}

/// Clears the capabilities that survive an exec by somebody who is not root. Async-signal-safe.
pub(crate) fn clear_ambient() {
    // SAFETY: the call takes numbers only.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
}

/// Closes every descriptor but the first three. To be called where nothing of this process has opened one yet.
pub(crate) fn close_inherited() {
    // SAFETY: nobody in this process knows of a descriptor that it closes.
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
    // SAFETY: both texts end in NUL, and the kernel writes at most as many bytes as it is told.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), attribute.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    usize::try_from(length).is_ok_and(|length| value[..length] == *b"1")
}

//! The processes of this machine, for finding those of a run among them: a process group, or everything that descends
//! from one process. Dead processes that wait to be reaped are not counted.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// A search stops at this many processes, as no job has so many on purpose: those found so far are handled before
/// more are searched for.
const MANY: usize = 10_000;

/// One process, by its line in /proc/PID/stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessStat {
    pid: Pid,
    parent: Pid,
    group: Pid,
    dead: bool,
    /// By a signal or a debugger.
    stopped: bool,
    /// Whether it has executed nothing since it was forked.
    forked: bool,
}

/// The kernel's flag `PF_FORKNOEXEC`.
const FORKED: u64 = 0x40;

impl ProcessStat {
    fn read(stat: &str) -> Option<Self> {
        // The command's name comes in parentheses, and may contain anything.
        let (head, tail) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        let (state, threads) = (*fields.first()?, *fields.get(17)?);
        let id = |text: &str| text.parse().ok().map(Pid::from_raw);
        Some(Self {
            pid: id(head.split_once(' ')?.0)?,
            parent: id(fields.get(1)?)?,
            group: id(fields.get(2)?)?,
            stopped: matches!(state, "T" | "t"),
            forked: fields
                .get(6)
                .and_then(|flags| flags.parse::<u64>().ok())
                .is_some_and(|flags| flags & FORKED != 0),
            // The first thread of a process may be a zombie while other threads run.
            dead: matches!(state, "Z" | "X") && matches!(threads, "0" | "1"),
        })
    }
}

/// Reads a file of a process; `None` if the process is gone, or this user may not read its file. Any other error,
/// such as too many open files, proves nothing about the process: it must not be treated as its end.
fn read_proc_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ESRCH | Errno::EACCES | Errno::EPERM) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Reads one process. Its name may contain any bytes.
fn look_at(folder: &Path) -> io::Result<Option<ProcessStat>> {
    let stat = read_proc_file(&folder.join("stat"))?;
    Ok(stat.and_then(|stat| ProcessStat::read(&String::from_utf8_lossy(&stat))))
}

/// Returns all processes: a snapshot that takes milliseconds.
fn all() -> io::Result<Vec<ProcessStat>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        found.extend(process_in(&entry?)?);
    }
    Ok(found)
}

/// Returns the process of an entry of /proc; `None` if the entry is not of a process.
fn process_in(entry: &fs::DirEntry) -> io::Result<Option<ProcessStat>> {
    match entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
        true => look_at(&entry.path()),
        false => Ok(None),
    }
}

/// Returns all living descendants of `root`, except for those in `except` and what descends from them.
pub(crate) fn descendants(root: Pid, except: &[Pid]) -> io::Result<Vec<Pid>> {
    descendants_of(&[root], |child, _| except.contains(&child))
}

/// Returns all living descendants of these processes, except for those that are `kept`, by their id and their group,
/// and what descends from them.
pub(crate) fn descendants_of(roots: &[Pid], kept: impl Fn(Pid, Pid) -> bool) -> io::Result<Vec<Pid>> {
    let mut children: HashMap<Pid, Vec<ProcessStat>> = HashMap::new();
    for process in all()? {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = roots.to_vec();
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).into_iter().flatten().filter(|p| !kept(p.pid, p.group)) {
            parents.push(child.pid);
            if !child.dead {
                found.push(child.pid);
            }
        }
    }
    Ok(found)
}

/// Returns the living descendants of `root`, by the kernel's own lists of children, except for those in `except` and
/// what descends from them. Each gets the signal, if there is one, the moment it is found, as the next moment it may
/// be gone and have left a child. The cost depends on the size of the tree, not on the load of the machine: many
/// trees can be killed at once. A process that is forked, or loses its parent, during the search may be missing: this
/// is for signals, and no proof that no process is left.
pub(crate) fn reach(root: Pid, except: &[Pid], signal: Option<Signal>) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    let listed = each_child(root, |child| {
        if !except.contains(&child) {
            signal_each(&[child], signal);
            found.push(child);
        }
    });
    match listed {
        // A kernel without these lists.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let found = descendants(root, except)?;
            signal_each(&found, signal);
            return Ok(found);
        }
        listed => listed?,
    }
    let (mut at, mut living) = (0, Vec::new());
    while let Some(process) = found.get(at).copied().filter(|_| living.len() < MANY) {
        at += 1;
        // A dead process has no children any more.
        if lives(process) {
            living.push(process);
            // It may be gone by now; its children have another parent then, and the next search finds them.
            let _ = each_child(process, |child| {
                signal_each(&[child], signal);
                found.push(child);
            });
        }
    }
    Ok(living)
}

/// Whether a process is alive, as far as this can be determined.
fn lives(pid: Pid) -> bool {
    // For a child of this process, waitid(2) takes a tenth of the time of reading /proc: there may be thousands of
    // dead ones.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(pid), flags) {
        Ok(WaitStatus::StillAlive) => true,
        Err(Errno::ECHILD) => look_at(&folder(pid)).map_or(true, |process| process.is_some_and(|p| !p.dead)),
        // It has ended; nix cannot decode the status of some ends.
        Ok(_) | Err(_) => false,
    }
}

fn folder(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// Returns the parent of a process, if that exists.
pub(crate) fn parent(of: Pid) -> Option<Pid> {
    look_at(&folder(of)).ok().flatten().map(|process| process.parent)
}

/// Returns the children of all threads of a process, including dead ones.
pub(crate) fn children(of: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    each_child(of, |child| found.push(child))?;
    Ok(found)
}

/// Calls `call` for each child of all threads of a process, including dead ones, as soon as the kernel lists it.
fn each_child(of: Pid, mut call: impl FnMut(Pid)) -> io::Result<()> {
    for thread in fs::read_dir(folder(of).join("task"))? {
        for id in BufReader::new(File::open(thread?.path().join("children"))?).split(b' ') {
            str::from_utf8(&id?)
                .ok()
                .and_then(|id| id.parse().ok())
                .map(Pid::from_raw)
                .into_iter()
                .for_each(&mut call);
        }
    }
    Ok(())
}

/// Returns all living processes that were given this variable, `NAME=value`, and still have it, wherever they are in
/// the tree; without this process. Each gets the signal, if there is one, the moment it is found.
pub(crate) fn reach_by_variable(variable: &str, signal: Option<Signal>) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) =
            process_in(&entry?)?.filter(|process| !process.dead && process.pid != Pid::this())
        else {
            continue;
        };
        if has(&folder(process.pid), variable.as_bytes())? {
            signal_each(&[process.pid], signal);
            found.push(process.pid);
        }
    }
    Ok(found)
}

/// Whether a process was given this variable. False for a process whose memory is gone: it cannot do anything any
/// more.
fn has(process: &Path, variable: &[u8]) -> io::Result<bool> {
    let environment = read_proc_file(&process.join("environ"))?.unwrap_or_default();
    if !environment.is_empty() {
        return Ok(holds(&environment, variable));
    }
    // The first thread of a process may have ended while other threads run.
    let threads = match fs::read_dir(process.join("task")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        listed => listed?,
    };
    for thread in threads.flatten() {
        let environment = read_proc_file(&thread.path().join("environ"))?.unwrap_or_default();
        if holds(&environment, variable) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds(environment: &[u8], variable: &[u8]) -> bool {
    environment.split(|&byte| byte == 0).any(|one| one == variable)
}

/// Whether a process has ended, and waits for its parent to reap it.
pub(crate) fn is_zombie(pid: Pid) -> bool {
    look_at(&folder(pid)).is_ok_and(|process| process.is_some_and(|process| process.dead))
}

/// Whether a process is stopped, by a signal or by a debugger.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    look_at(&folder(pid)).is_ok_and(|process| process.is_some_and(|process| process.stopped))
}

/// Whether a process has executed nothing since it was forked: it runs the program of the process that forked it.
pub(crate) fn is_forked(pid: Pid) -> bool {
    look_at(&folder(pid)).is_ok_and(|process| process.is_some_and(|process| process.forked))
}

/// Returns the name of a process; empty if that cannot be read.
pub(crate) fn name(of: Pid) -> Vec<u8> {
    fs::read(folder(of).join("comm")).map(|name| name.trim_ascii_end().to_vec()).unwrap_or_default()
}

/// Whether any process in the group is alive.
pub(crate) fn is_group_alive(group: Pid) -> io::Result<bool> {
    let is_there = killpg(group, None::<Signal>) != Err(Errno::ESRCH);
    Ok(is_there && all()?.iter().any(|p| p.group == group && !p.dead))
}

/// Sends a signal to a process group. Returns false if no process is left in it, not even a dead one, and its number
/// is free.
pub(crate) fn signal_group(group: Pid, signal: Signal) -> bool {
    killpg(group, signal) != Err(Errno::ESRCH)
}

/// Sends a signal, if there is one, to each of these processes. Ignores errors: such a process is gone, or this one
/// may not signal it.
pub(crate) fn signal_each(pids: &[Pid], signal: impl Into<Option<Signal>>) {
    let Some(signal) = signal.into() else { return };
    for pid in pids {
        let _ = kill(*pid, signal);
    }
}

#[cfg(test)]
mod tests;

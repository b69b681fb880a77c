//! The processes that the zygotes of a replica have made, and the processes of runs whose guard and zygote were both
//! killed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};

use crate::run::procs::tree;

/// A program's file, by device and inode.
type ProgramFile = (u64, u64);

/// The processes of a replica that belong to no job.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// The process groups of the zygotes, which contain their guards as well. No process of a job is in one of them.
    groups: Vec<Pid>,
    /// The program of zygotes and guards. No job runs it in their groups.
    program: Option<ProgramFile>,
    /// The children that this process had before it became a sub-reaper, which belong to no job; `None` if it is no
    /// sub-reaper.
    earlier: Option<Vec<Pid>>,
}

impl Family {
    /// From now on, a descendant of this process that loses its parent becomes its child.
    pub(crate) fn take_in_orphans(&mut self) {
        let earlier = tree::children(getpid()).unwrap_or_default();
        // Every kernel that supports guards supports this.
        self.earlier = set_child_subreaper(true).is_ok().then_some(earlier);
    }

    /// Adds a zygote that was started.
    pub(crate) fn join(&mut self, zygote: Pid) {
        // A group is remembered while it has processes: guards may outlive their zygote.
        self.groups.retain(|group| killpg(*group, None::<Signal>) != Err(Errno::ESRCH));
        self.groups.push(zygote);
        self.program = program(zygote).ok().or(self.program);
    }

    /// Returns all living processes that killed guards have left to this process, or to the zygote if there is one.
    pub(crate) fn strays(&self, zygote: Option<Pid>) -> std::io::Result<Vec<Pid>> {
        let own = self.earlier.as_ref().map(|_| getpid());
        let roots: Vec<Pid> = own.into_iter().chain(zygote).collect();
        if roots.is_empty() {
            return Ok(Vec::new());
        }
        let earlier = self.earlier.as_deref().unwrap_or_default();
        tree::descendants_of(&roots, |pid, group| earlier.contains(&pid) || self.has(pid, group))
    }

    /// Whether a process is a zygote or a guard, and not just dying.
    fn has(&self, pid: Pid, group: Pid) -> bool {
        self.groups.contains(&group)
            && match program(pid) {
                Ok(program) => self.program.is_none_or(|own| own == program),
                // It has ended, or is about to: the processes that it left count.
                Err(error) => {
                    error.kind() != ErrorKind::NotFound && error.raw_os_error() != Some(Errno::ESRCH as i32)
                }
            }
    }

    /// Reaps adopted processes that have ended: guards that outlived their zygote, and what they have left.
    pub(crate) fn reap(&self, zygote: Option<Pid>) {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let nobody = matches!(waitid(Id::All, flags), Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD));
        if self.earlier.is_none() || nobody {
            return;
        }
        let children = tree::children(getpid()).unwrap_or_default();
        for child in children.into_iter().filter(|child| Some(*child) != zygote && tree::is_zombie(*child)) {
            // nix cannot decode the status of some ends; the child is reaped all the same.
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
        }
    }
}

/// Returns the file that a process runs, even if it has been replaced.
fn program(of: Pid) -> std::io::Result<ProgramFile> {
    fs::metadata(format!("/proc/{of}/exe")).map(|file| (file.dev(), file.ino()))
}

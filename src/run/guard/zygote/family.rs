//! Whom the zygotes of a replica have made, and what runs have left to it whose guard and zygote were both killed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};

use crate::run::procs::tree;

/// A program's file, by device and number.
type ProgramFile = (u64, u64);

/// The processes of a replica that are no job's.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// The process groups of zygotes, in which their guards are as well. No process of a job is in one of them.
    groups: Vec<Pid>,
    /// What zygotes and guards run, and no job does in their groups.
    program: Option<ProgramFile>,
    /// Where this process takes in orphans: the children that it had before, which are no job's.
    earlier: Option<Vec<Pid>>,
}

impl Family {
    /// From now on, what loses its parent below this process becomes its child.
    pub(crate) fn take_in_orphans(&mut self) {
        let earlier = tree::children(getpid()).unwrap_or_default();
        // Every kernel that has guards has this.
        self.earlier = set_child_subreaper(true).is_ok().then_some(earlier);
    }

    /// A zygote was started.
    pub(crate) fn join(&mut self, zygote: Pid) {
        // Guards may outlive their zygote.
        self.groups.retain(|group| killpg(*group, None::<Signal>) != Err(Errno::ESRCH));
        self.groups.push(zygote);
        self.program = program(zygote).ok().or(self.program);
    }

    /// Everything alive that has come down to this process, or to the zygote if there is one, from guards that were killed.
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
                // It has ended, or is about to: what it has left counts.
                Err(error) => {
                    error.kind() != ErrorKind::NotFound && error.raw_os_error() != Some(Errno::ESRCH as i32)
                }
            }
    }

    /// Reaps what was taken in and has ended: guards that outlived their zygote, and what they have left.
    pub(crate) fn reap(&self, zygote: Option<Pid>) {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let nobody = matches!(waitid(Id::All, flags), Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD));
        if self.earlier.is_none() || nobody {
            return;
        }
        let children = tree::children(getpid()).unwrap_or_default();
        for child in children.into_iter().filter(|child| Some(*child) != zygote && tree::is_zombie(*child)) {
            // Of some ends there is no safe word; it is reaped all the same.
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
        }
    }
}

/// The file that a process runs, also after it was replaced.
fn program(of: Pid) -> std::io::Result<ProgramFile> {
    fs::metadata(format!("/proc/{of}/exe")).map(|file| (file.dev(), file.ino()))
}

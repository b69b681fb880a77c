//! Control groups of runs, where the system has delegated one to this program: killing a group reaches every process
//! in it at once, however fast they multiply. Everywhere else nothing is done, and only speed is lost.

use std::ffi::CStr;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, geteuid};

use crate::run::procs::syscalls;

/// The extended attributes by which systemd marks a control group that a service may divide.
const DELEGATED: [&CStr; 2] = [c"user.delegate", c"trusted.delegate"];

/// The prefix of the groups of runs.
const PREFIX: &str = "run-";

/// One run's control group; removed with its last process.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    folder: File,
}

impl Cgroup {
    /// Creates a group of this name below `parent`; `None` if that fails.
    pub(crate) fn create(parent: &Path, name: &str) -> Option<Self> {
        let path = parent.join(format!("{PREFIX}{name}"));
        fs::create_dir(&path).ok()?;
        let folder = File::open(&path).ok()?;
        Some(Self { path, folder })
    }

    /// Returns its folder, into which a process can be forked.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Kills every process in it. Kernels before 5.14 cannot; callers also kill the processes one by one.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // This fails, and the group stays, while a process that the run left behind is in it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes the groups below `parent` that have no process: those of guards that were killed. A run that is just being
/// started may lose its group, and then continues without one.
pub(crate) fn tidy(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        // The kernel refuses to remove groups that are in use.
        let _ = fs::remove_dir(entry.path());
    }
}

/// Returns the control group of this process, if it was delegated.
pub(crate) fn delegated() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own_path(&mounts, &own)?;
    let may_write = access(&path.join("cgroup.procs"), AccessFlags::W_OK).is_ok();
    // Root may write everywhere, which proves nothing; any other user was given access on purpose.
    let is_meant = !geteuid().is_root() || DELEGATED.iter().any(|mark| syscalls::is_marked(&path, mark));
    (may_write && is_meant).then_some(path)
}

/// Returns the path of this process's group, below the mount of the unified hierarchy.
fn own_path(mounts: &str, own: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        after.starts_with("cgroup2 ").then(|| before.split(' ').nth(4)).flatten()
    })?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_where_the_unified_hierarchy_is_mounted() {
        let plain = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      42 25 0:39 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        let own = "4:memory:/other\n0::/system.slice/solocron.service\n";
        for (mounts, expected) in [
            (plain, Some("/sys/fs/cgroup/system.slice/solocron.service")),
            (hybrid, Some("/sys/fs/cgroup/unified/system.slice/solocron.service")),
            ("31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", None),
        ] {
            assert_eq!(own_path(mounts, own), expected.map(PathBuf::from));
        }
        assert_eq!(own_path(plain, "4:memory:/other\n"), None);
    }
}

//! Which processes this process may signal: those of its own user, and those of all users only as root or through a
//! control group.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::libc::S_ISUID;
use nix::unistd::geteuid;

use super::cgroup;

/// Whether a run started with this program could escape: the program makes processes of another user, and this
/// process has no control group that reaches them.
pub fn escapes(program: &str) -> bool {
    !geteuid().is_root() && cgroup::delegated().is_none() && is_set_uid(program)
}

/// Whether a program runs as its owner, and that is another user. False for a program that is not found here.
fn is_set_uid(program: &str) -> bool {
    let is_it = |path: &Path| {
        path.metadata().is_ok_and(|file| file.mode() & S_ISUID != 0 && file.uid() != geteuid().as_raw())
    };
    if program.contains('/') {
        return is_it(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.is_some_and(|path| is_it(&path))
}

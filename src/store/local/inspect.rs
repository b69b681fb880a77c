//! Looks at the embedded store's file and its disk, without opening or making it.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use crate::store::Concern;
use crate::store::concern::shown_bytes;

use super::blocker::Blocker;
use super::file::refuse_remote;

/// Records and history of a thousand jobs fit in well below this.
const LITTLE_SPACE: u64 = 64 << 20;

/// Everything there is to say.
pub(super) fn inspect(path: &Path) -> Vec<Concern> {
    let mut concerns = vec![Concern::note("file", path.display().to_string())];
    if !path.exists() {
        concerns.push(Concern::note("state", "not there yet: the first replica makes it"));
    }
    let Some(folder) = path.ancestors().skip(1).map(or_here).find(|folder| folder.exists()) else {
        return concerns;
    };
    concerns.extend(
        refuse_remote(folder)
            .err()
            .map(|error| Concern::error("the file is not on a disk of this machine", error.to_string())),
    );
    concerns.extend(writable(path, folder));
    let stopped = Blocker::of(path).filter(Blocker::is_stopped);
    concerns.extend(
        stopped.map(|blocker| {
            Concern::error("nobody can write the file, and so no job runs", blocker.to_string())
        }),
    );
    concerns.push(space(folder));
    concerns
}

/// A relative path's folder may be the one at hand.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// SQLite keeps a log and an index beside the file, and so must be able to write in the folder too.
fn writable(path: &Path, folder: &Path) -> Vec<Concern> {
    let denied = |what: &Path, flags| access(what, flags).is_err();
    let mut concerns = Vec::new();
    let help = "make it writable for the user that runs solocron, or name another folder with --state-dir";
    if path.exists() && denied(path, AccessFlags::R_OK | AccessFlags::W_OK) {
        let what = "the file cannot be written by this user, and so no job runs";
        concerns.push(Concern::error(what, path.display().to_string()).help(help));
    }
    if denied(folder, AccessFlags::W_OK | AccessFlags::X_OK) {
        let what = "the folder cannot be written by this user, and so no job runs";
        concerns.push(Concern::error(what, folder.display().to_string()).help(help));
    }
    concerns
}

fn space(folder: &Path) -> Concern {
    let found = match statvfs(folder) {
        Ok(found) => found,
        Err(errno) => return Concern::unchecked("free space", errno.to_string()),
    };
    let free = found.blocks_available().saturating_mul(found.fragment_size());
    let shown = shown_bytes(free);
    if free >= LITTLE_SPACE {
        return Concern::note("free space", shown);
    }
    Concern::warning(
        "the disk is nearly full, and once it is no job starts any more",
        format!("{shown} free"),
    )
    .help("make room, or name another folder with --state-dir")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Grade;

    fn shown(concerns: &[Concern]) -> Vec<String> {
        concerns
            .iter()
            .map(|concern| format!("{:?} {}: {}", concern.grade, concern.what, concern.value))
            .collect()
    }

    #[test]
    fn a_file_that_is_not_there_is_not_made_and_no_complaint() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/down/store.sqlite3");
        let said = shown(&inspect(&path));
        assert!(said.iter().any(|line| line.contains("not there yet")), "{said:?}");
        assert!(said.iter().any(|line| line.contains("free")), "{said:?}");
        assert!(!said.iter().any(|line| line.starts_with("Error")), "{said:?}");
        assert!(!folder.path().join("deep").exists());
    }

    #[test]
    fn a_disk_without_room_is_said() {
        // There is no room in /proc.
        let concerns = inspect(Path::new("/proc/store.sqlite3"));
        let full = concerns.iter().find(|concern| concern.what.contains("nearly full")).expect("it is said");
        assert_eq!((full.grade, full.value.as_str()), (Grade::Warning, "0 bytes free"));
    }
}

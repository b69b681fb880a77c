//! Inspects the embedded store's file and its disk, without opening or creating the file.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use crate::store::Concern;
use crate::store::concern::shown_bytes;

use super::access::{self, or_here};
use super::blocker::Blocker;
use super::file::refuse_remote;

/// Records and history of a thousand jobs fit in well below this.
const LITTLE_SPACE: u64 = 64 << 20;

/// Returns all findings.
pub(super) fn inspect(path: &Path) -> Vec<Concern> {
    let mut concerns = vec![Concern::note("file", path.display().to_string())];
    let is_missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    if path.metadata().is_err_and(is_missing) {
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
    // SQLite keeps a log and an index beside the file, and so must be able to write in the folder too.
    concerns.extend(access::check(path).err().map(|error| {
        let concern = Concern::error("the store cannot be used", error.to_string());
        concern.help(error.help().unwrap_or_default())
    }));
    let stopped = Blocker::of(path).filter(Blocker::is_stopped);
    concerns.extend(stopped.map(|blocker| {
        Concern::error("no replica can write to the file, so no job runs", blocker.to_string())
    }));
    concerns.push(space(folder));
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
    Concern::warning("the disk is nearly full, and once it is full no job starts", format!("{shown} free"))
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
        // /proc has no free space.
        let concerns = inspect(Path::new("/proc/store.sqlite3"));
        let full = concerns.iter().find(|concern| concern.what.contains("nearly full")).expect("it is said");
        assert_eq!((full.grade, full.value.as_str()), (Grade::Warning, "0 bytes free"));
    }
}

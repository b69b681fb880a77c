//! Where a file was written that proves something about a run: what it states about the run's processes is true only
//! there.

use std::fs::{File, metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::time::boot_id;

/// One boot of one machine, the processes that are visible there, and a file that distinguishes its folder from any
/// copy of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    boot: String,
    /// The number of the pid namespace: processes of other namespaces are not visible, or have other ids.
    pids: u64,
    device: u64,
    inode: u64,
}

impl Site {
    /// Returns the site of this process and an open file: while it is open, no other file has its inode number.
    /// `None` if the kernel does not report the data.
    pub fn of(file: &File) -> Option<Self> {
        let (metadata, (boot, pids)) = (file.metadata().ok()?, SURROUNDINGS.clone()?);
        Some(Self { boot, pids, device: metadata.dev(), inode: metadata.ino() })
    }

    /// Returns why a process at `there` may be alive and not be found from `here`; `None` if both are the same site.
    pub fn difference(there: Option<&Self>, here: Option<&Self>) -> Option<&'static str> {
        let (Some(there), Some(here)) = (there, here) else {
            return Some("it is not known where it was started");
        };
        if there.boot != here.boot {
            Some("it was started on another machine, or before this one was")
        } else if there.pids != here.pids {
            Some("it was started in another container, whose processes are not seen here")
        } else if (there.device, there.inode) != (here.device, here.inode) {
            Some("it was started in another state folder, of which this one is a copy")
        } else {
            None
        }
    }
}

/// The machine's boot id and the number of the pid namespace: neither changes for a process.
static SURROUNDINGS: LazyLock<Option<(String, u64)>> =
    LazyLock::new(|| Some((boot_id().ok()?, metadata("/proc/self/ns/pid").ok()?.ino())));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_another_container_and_a_copy_of_the_folder_are_other_sites() {
        let (file, copy) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let here = Site::of(&file).unwrap();
        assert_eq!(Site::difference(Some(&here), Site::of(&file).as_ref()), None);
        let others = [
            (Site { boot: "another".into(), ..here.clone() }, "machine"),
            (Site { pids: 1, ..here.clone() }, "container"),
            (Site::of(&copy).unwrap(), "copy"),
        ];
        for (other, what) in others {
            let why = Site::difference(Some(&other), Some(&here)).expect("it is another");
            assert!(why.contains(what), "{why}");
        }
        assert!(Site::difference(None, Some(&here)).is_some(), "a note of an earlier release");
    }
}

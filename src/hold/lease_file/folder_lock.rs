//! The lock on the notes of a replica: only one process of its name can hold it, and the kernel frees it however that
//! process ends.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use tokio::time::{Instant, sleep};

use crate::run::{Disk, Site};

/// How long to retry: a process that was just killed may take this long to be gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock on the notes, held for the lifetime of this process.
#[derive(Debug)]
pub(crate) struct FolderLock {
    /// Held open, never read. While it is open, no file in a copy of the folder can have its inode number.
    _lock: File,
    /// Where the lock file is.
    pub(crate) site: Option<Site>,
}

/// Another process has the notes.
#[derive(Debug, thiserror::Error)]
#[error(
    "another replica of this name uses the state folder: {holder} keeps {}; stop it, or start this one with another \
     --node or --state-dir",
    path.display()
)]
pub struct FolderTaken {
    path: PathBuf,
    /// `process 4711 on host-1`, as the other process wrote it.
    holder: String,
}

impl FolderLock {
    /// Takes the lock in this folder, and creates the folder if it is missing. The inner `Err` is an error of the
    /// disk.
    pub(crate) async fn begin(disk: &Disk, folder: &Path) -> Result<io::Result<Self>, FolderTaken> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let at = folder.to_owned();
            match disk.work(PATIENCE, move || Self::try_to_begin(&at), drop).await {
                Err(error) => return Ok(Err(error)),
                Ok(Some(folder_lock)) => return Ok(Ok(folder_lock)),
                Ok(None) if Instant::now() < deadline => sleep(PAUSE).await,
                Ok(None) => return Err(FolderTaken::of(folder)),
            }
        }
    }

    /// Returns `None` if another process holds the lock.
    fn try_to_begin(folder: &Path) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o750).create(folder)?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o640);
        // A planted symbolic link would lead to another file.
        let options = options.custom_flags(libc::O_NOFOLLOW);
        let mut lock = options.open(path_in(folder))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        let host = nix::unistd::gethostname().unwrap_or_default();
        let holder = format!("process {} on {}\n", std::process::id(), host.to_string_lossy());
        // The text is for the operator only: if the disk is full, it is missing.
        let _ = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(holder.as_bytes()));
        Ok(Some(Self { site: Site::of(&lock), _lock: lock }))
    }
}

impl FolderTaken {
    fn of(folder: &Path) -> Self {
        let path = path_in(folder);
        let mut holder = String::new();
        // If the file cannot be read, the process stays unknown.
        let _ = File::open(&path).and_then(|file| file.take(1_024).read_to_string(&mut holder));
        let holder = Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty());
        Self { path, holder: holder.unwrap_or_else(|| "a process whose id is not known".to_owned()) }
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("replica.lock")
}

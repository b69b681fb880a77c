//! The SQLite file: opened for several processes, refused where locks do not work, and abandoned if it was deleted.

use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statfs::{self, FsType};
use nix::unistd::geteuid;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::config::source::trust;
use crate::job::format_duration;
use crate::store::StoreError;

use super::access::{exposed, no_database, or_here, unusable};
use super::blocker::Blocker;

/// How long a process waits for other processes and for the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the transactions of other processes, each of which lasts until the disk has synced a page.
    pub(super) transaction: Duration,
    /// For an answer: longer than a transaction waits.
    pub(super) answer: Duration,
    /// Whether to continue a process of this program that is stopped inside a transaction.
    pub(super) wakes: bool,
}

/// A transaction that has waited this long looks for the process that it waits for.
const LOOK_AFTER: Duration = Duration::from_secs(1);

impl Patience {
    /// For replicas: leases do not wait, and every request is repeated.
    pub(super) const OF_REPLICAS: Self =
        Self { transaction: Duration::from_secs(2), answer: Duration::from_secs(4), wakes: true };

    /// For commands, which people would have to give again. Reading the state of a cluster changes nothing in it, so no
    /// process is continued.
    pub(super) const OF_PEOPLE: Self =
        Self { transaction: Duration::from_secs(10), answer: Duration::from_secs(12), wakes: false };
}

/// Only its owner may read the store: it holds output of jobs, and a reader could hold its locks as well.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o750;

/// Attempts to switch to the write-ahead log: each failed one means that another replica came in between, and a machine has
/// fewer replicas.
const SWITCH_ATTEMPTS: u32 = 100;

/// Network file systems, on which SQLite's locks and shared memory cannot be trusted.
const REMOTE: [(FsType, &str); 5] = [
    (statfs::NFS_SUPER_MAGIC, "nfs"),
    (statfs::SMB_SUPER_MAGIC, "smb"),
    (FsType(0xFF53_4D42), "cifs"),
    (FsType(0xFE53_4D42), "smb2"),
    (FsType(0x00C3_6400), "ceph"),
];

/// The open file.
pub(super) struct File {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Identifies the file that was opened, and the files that SQLite keeps beside it.
    identity: FileIdentity,
}

impl File {
    /// Opens the file. Creates it and its folder if they do not exist.
    pub(super) fn open(path: &Path, patience: Patience) -> Result<Self, StoreError> {
        let connection = connect(path, patience)?;
        Ok(Self { connection, path: path.to_owned(), identity: identity(path) })
    }

    /// Begins a transaction that only reads. It waits for no other process, and sees what was committed before.
    pub(super) fn begin_to_read(&self) -> rusqlite::Result<Transaction<'_>> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        // SQLite begins the transaction with the first read.
        transaction.pragma_query_value(None, "schema_version", |_| Ok(()))?;
        Ok(transaction)
    }

    /// Begins a transaction that writes, once those of other processes have ended.
    pub(super) fn begin_to_write(&self, patience: Patience) -> Result<Transaction<'_>, StoreError> {
        let begin = |limit: Duration| {
            self.connection.busy_timeout(limit)?;
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
        };
        let first = begin(LOOK_AFTER);
        if !first.as_ref().is_err_and(is_busy) {
            return first.map_err(refused);
        }
        if let Some(blocker) = Blocker::of(&self.path).filter(|blocker| patience.wakes && blocker.wake()) {
            tracing::warn!(%blocker, "a stopped process kept the store locked: it is continued (SIGCONT)");
        }
        begin(patience.transaction.saturating_sub(LOOK_AFTER)).map_err(|error| match is_busy(&error) {
            true => StoreError::Refused(format!("local store: {}", busy(&self.path, patience)).into()),
            false => refused(error),
        })
    }

    /// Whether other replicas that open the path find this file. If it was deleted or replaced, no other process uses it,
    /// and its locks are worth nothing.
    pub(super) fn is_still_there(&self) -> bool {
        self.identity[0].is_some() && identity(&self.path) == self.identity
    }
}

/// Returns the error about a request that the store did not perform.
pub(super) fn refused(error: rusqlite::Error) -> StoreError {
    StoreError::Refused(format!("local store: {error}").into())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Says why the file cannot be written: another process does not end its write.
fn busy(path: &Path, patience: Patience) -> String {
    let others = format!("another replica has been writing for {}", format_duration(patience.transaction));
    match Blocker::of(path) {
        Some(blocker) => format!("{others}: {blocker}"),
        None => format!("{others}; is the disk too busy, or a process of another container stopped?"),
    }
}

/// Device and inode of the file, its log and its index. A process that has others shares neither locks nor commits.
type FileIdentity = [Option<(u64, u64)>; 3];

fn identity(path: &Path) -> FileIdentity {
    beside(path).map(|file| std::fs::metadata(file).ok().map(|found| (found.dev(), found.ino())))
}

/// The file, its log and its index.
fn beside(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| with_suffix(path, suffix))
}

/// The journal that SQLite plays back into the file if it exists, even if another user put it there.
fn journal(path: &Path) -> PathBuf {
    with_suffix(path, "-journal")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut file = path.as_os_str().to_owned();
    file.push(suffix);
    file.into()
}

fn connect(path: &Path, patience: Patience) -> Result<Connection, StoreError> {
    let folder = path.parent().map_or(Path::new("."), or_here);
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|error| unusable(path, &format!("cannot make its folder: {error}")))?;
    refuse_remote(folder)?;
    secure(path, folder)?;
    let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => no_database(path, &error),
        _ if is_busy(&error) => unusable(path, &busy(path, patience)),
        _ => unusable(path, &error.to_string()),
    };
    let connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(patience.transaction).map_err(failed)?;
    switch_to_wal(&connection).map_err(failed)?;
    // Fencing token and mark must survive a power cut once they were returned.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    super::tables::create(&connection).map_err(failed)?;
    Ok(connection)
}

/// Creates the file for its owner alone if it does not exist, and refuses one that other users could have written, or that
/// is a link. SQLite gives the files beside it the same mode.
fn secure(path: &Path, folder: &Path) -> Result<(), StoreError> {
    if geteuid().is_root() {
        trust::check_folder(folder).map_err(|bad| exposed(&bad.path, &bad.flaw))?;
    }
    // This process does not have these files open yet: closing one would end the locks that it has on it.
    let make = |file: &Path| {
        let made = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file);
        made.map(drop).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => Ok(()),
            _ => Err(unusable(path, &format!("cannot be made: {error}"))),
        })
    };
    make(path)?;
    let others = [journal(path)].into_iter().chain(beside(path));
    if folder.metadata().is_ok_and(|found| trust::mode_flaw(&found).is_some()) {
        // In a folder such as /tmp another user could create them first. SQLite takes empty ones for new.
        others.clone().try_for_each(|file| make(&file))?;
    }
    for file in others {
        match trust::file_flaw(&file) {
            Ok(Some(flaw)) => return Err(exposed(&file, &flaw)),
            // Earlier releases created it with another mode. A user that may not change the mode may not write the file
            // either.
            Ok(None) => drop(set_permissions(&file, Permissions::from_mode(FILE_MODE))),
            // It does not exist.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Switches to the write-ahead log. Replicas that start together race for this, and SQLite does not wait by itself here: so
/// each waits for the other's transaction, and tries again.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 1..SWITCH_ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) => {
                // Only the wait matters, not its result.
                let _ = connection.execute_batch("BEGIN IMMEDIATE; COMMIT");
            }
            result => return result,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Fails if the folder is on a network file system.
pub(super) fn refuse_remote(folder: &Path) -> Result<(), StoreError> {
    let Ok(found) = statfs::statfs(folder) else { return Ok(()) };
    match REMOTE.iter().find(|(kind, _)| *kind == found.filesystem_type()) {
        None => Ok(()),
        Some((_, name)) => Err(StoreError::NotSent(
            format!(
                "local store: {} is on a network file system ({name}), where its locks do not hold; \
             use a folder on a local disk, or a Redis store",
                folder.display()
            )
            .into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_journal_that_another_user_has_put_beside_the_file_is_not_played_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        drop(File::open(&path, Patience::OF_PEOPLE).expect("a new file"));
        let journal = journal(&path);
        std::fs::write(&journal, "").expect("a writable folder");
        File::open(&path, Patience::OF_PEOPLE).expect("its own is no harm");
        std::fs::write(&journal, "").expect("a writable folder");
        set_permissions(&journal, Permissions::from_mode(0o666)).expect("its own");
        let refused = File::open(&path, Patience::OF_PEOPLE).err().expect("others may write it").to_string();
        assert!(refused.contains("store-journal may be written by other users"), "{refused}");
        if geteuid().is_root() {
            set_permissions(&journal, Permissions::from_mode(0o600)).expect("its own");
            chown(&journal, Some(7), Some(7)).expect("root may");
            let refused = File::open(&path, Patience::OF_PEOPLE).err().expect("it is another's").to_string();
            assert!(refused.contains("store-journal belongs to"), "{refused}");
        }
    }

    #[test]
    fn in_a_folder_for_everybody_the_files_beside_are_made_before_another_user_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = folder.path().join("shared");
        std::fs::create_dir(&shared).expect("a writable folder");
        set_permissions(&shared, Permissions::from_mode(0o1777)).expect("its own");
        let path = shared.join("store");
        if geteuid().is_root() {
            let refused = secure(&path, &shared).expect_err("root takes no such folder").to_string();
            assert!(refused.contains("may be written by other users (mode 1777)"), "{refused}");
            return;
        }
        secure(&path, &shared).expect("its own files");
        let files = [journal(&path)].into_iter().chain(beside(&path));
        assert!(
            files
                .into_iter()
                .all(|file| file.metadata().is_ok_and(|found| found.mode() & 0o777 == FILE_MODE))
        );
    }
}

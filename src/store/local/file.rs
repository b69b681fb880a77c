//! The SQLite file: opened for several processes, refused where locks do not work, and left when it was deleted.

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

/// How long a process waits for others and for the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// A transaction, for those of other processes, which take as long as the disk to be sure of a page.
    pub(super) transaction: Duration,
    /// An answer: longer than a transaction waits.
    pub(super) answer: Duration,
    /// Whether a process of this program that is stopped inside of a transaction is continued.
    pub(super) wakes: bool,
}

/// A transaction that has waited so long for others looks who they are.
const LOOK_AFTER: Duration = Duration::from_secs(1);

impl Patience {
    /// Of replicas: leases do not wait, and all that is asked is asked again.
    pub(super) const OF_REPLICAS: Self =
        Self { transaction: Duration::from_secs(2), answer: Duration::from_secs(4), wakes: true };

    /// Of commands that people give, who would have to give them again. Looking at a cluster changes nothing in it.
    pub(super) const OF_PEOPLE: Self =
        Self { transaction: Duration::from_secs(10), answer: Duration::from_secs(12), wakes: false };
}

/// What the store holds is its owner's alone: output of jobs, and locks, which a reader could hold as well.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o750;

/// Each time another replica got in between; more than a machine has replicas.
const SWITCH_ATTEMPTS: u32 = 100;

/// File systems of other machines, where SQLite's locks and shared memory are not to be trusted.
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
    /// The file that was opened, and those that SQLite keeps beside it.
    identity: FileIdentity,
}

impl File {
    /// Opens the file, making it and its folder where they are missing.
    pub(super) fn open(path: &Path, patience: Patience) -> Result<Self, StoreError> {
        let connection = connect(path, patience)?;
        Ok(Self { connection, path: path.to_owned(), identity: identity(path) })
    }

    /// Begins a transaction that only reads. It waits for nobody, and sees what was committed before.
    pub(super) fn begin_to_read(&self) -> rusqlite::Result<Transaction<'_>> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        // SQLite begins with the first look.
        transaction.pragma_query_value(None, "schema_version", |_| Ok(()))?;
        Ok(transaction)
    }

    /// Begins a transaction that writes, once others that write have ended theirs.
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

    /// Whether other replicas that open the path find this file. One that was deleted or replaced is nobody's but
    /// ours: what it says about locks is worth nothing.
    pub(super) fn is_still_there(&self) -> bool {
        self.identity[0].is_some() && identity(&self.path) == self.identity
    }
}

/// The store did not perform a request.
pub(super) fn refused(error: rusqlite::Error) -> StoreError {
    StoreError::Refused(format!("local store: {error}").into())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Why the file cannot be written: another process does not end its write.
fn busy(path: &Path, patience: Patience) -> String {
    let others = format!("another replica has been writing for {}", format_duration(patience.transaction));
    match Blocker::of(path) {
        Some(blocker) => format!("{others}: {blocker}"),
        None => format!("{others}; is the disk too busy, or a process of another container stopped?"),
    }
}

/// Device and number of the file, its log and its index: whoever has others shares neither locks nor commits.
type FileIdentity = [Option<(u64, u64)>; 3];

fn identity(path: &Path) -> FileIdentity {
    beside(path).map(|file| std::fs::metadata(file).ok().map(|found| (found.dev(), found.ino())))
}

/// The file, its log and its index.
fn beside(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| with_suffix(path, suffix))
}

/// What SQLite plays back into the file where it finds it, whoever has put it there.
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
    // Fence and mark must survive a power cut once they were told.
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    super::tables::create(&connection).map_err(failed)?;
    Ok(connection)
}

/// Makes the file where it is missing, for its owner alone, and refuses one that other users could have written, or that is a
/// link. SQLite gives the files beside it the same mode.
fn secure(path: &Path, folder: &Path) -> Result<(), StoreError> {
    if geteuid().is_root() {
        trust::check_folder(folder).map_err(|bad| exposed(&bad.path, &bad.flaw))?;
    }
    // Nobody has these files open yet: closing one would end the locks that this process has on it.
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
        // In a folder such as /tmp another user could be the first to make them. SQLite takes empty ones for new.
        others.clone().try_for_each(|file| make(&file))?;
    }
    for file in others {
        match trust::file_flaw(&file) {
            Ok(Some(flaw)) => return Err(exposed(&file, &flaw)),
            // As earlier releases made it. Who may not change that may not write it either.
            Ok(None) => drop(set_permissions(&file, Permissions::from_mode(FILE_MODE))),
            // There is none.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Replicas that start together race for this, and SQLite does not wait by itself here: so each waits for the other's
/// transaction, and tries again.
fn switch_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 1..SWITCH_ATTEMPTS {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) => {
                // That it waited is all that is wanted of it.
                let _ = connection.execute_batch("BEGIN IMMEDIATE; COMMIT");
            }
            result => return result,
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")
}

/// Fails where the folder is on another machine.
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

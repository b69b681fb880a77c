//! Why the file of the embedded store cannot be used, and what to do about it. Nothing here opens or creates a file.

use std::io::ErrorKind;
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, eaccess, geteuid};

use crate::config::source::trust;
use crate::config::source::trust::Flaw;
use crate::store::{Diagnosis, FailureCause, StoreError};

/// Returns why the file cannot be opened or created: missing access rights if that is the cause, otherwise `why`.
pub(super) fn unusable(path: &Path, why: &str) -> StoreError {
    let why = format!("local store {}: {why}", path.display());
    check(path).err().unwrap_or_else(|| StoreError::NotSent(why.into()))
}

/// Fails if this user may not read and write the file, or not create the files that SQLite keeps beside it.
pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    for folder in path.ancestors().skip(1).map(or_here) {
        match eaccess(folder, AccessFlags::W_OK | AccessFlags::X_OK) {
            Err(Errno::ENOENT) => {}
            // The path leads through a file: that is not a matter of access rights.
            Err(_) if folder.is_file() => return Ok(()),
            Err(errno) => return Err(denied(path, folder, errno)),
            Ok(()) => break,
        }
    }
    match eaccess(path, AccessFlags::R_OK | AccessFlags::W_OK) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(denied(path, path, errno)),
    }
}

/// Fails if the file does not exist, or its metadata cannot be read.
pub(super) fn expect(path: &Path) -> Result<(), StoreError> {
    let shown = path.display();
    let error = match path.metadata() {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    if error.kind() != ErrorKind::NotFound {
        return Err(unusable(path, &error.to_string()));
    }
    let sentence = format!("local store {shown} is not there: no replica has run with it on this machine");
    let help = "start one with `solocron run`, or name the replica's folder with --state-dir";
    Err(StoreError::NotSent(Diagnosis::of(FailureCause::NoFile, sentence).help(help)))
}

/// Returns `.` for the empty folder of a relative path.
pub(super) fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn denied(path: &Path, what: &Path, errno: Errno) -> StoreError {
    let (shown, uid) = (path.display(), geteuid());
    let place = if what == path { String::new() } else { format!(" {}:", what.display()) };
    let sentence = format!("local store {shown}:{place} {} (uid {uid})", errno.desc());
    let as_owner = trust::owner_of(what)
        .map_or(String::new(), |owner| format!("run this as {owner}, the owner of {}, or ", what.display()));
    let help = format!(
        "{as_owner}make it writable for this user (`chown {uid} {}`), or name another folder with --state-dir",
        what.display()
    );
    StoreError::NotSent(Diagnosis::of(FailureCause::FileDenied, sentence).help(help))
}

/// Returns the error about a file or folder that other users could change: they could stop every job, or let two run.
pub(super) fn exposed(what: &Path, flaw: &Flaw) -> StoreError {
    let what = what.display();
    let help = match flaw {
        Flaw::Foreign(_) => "run this as its owner, or".to_owned(),
        Flaw::Open(_) => format!("take it from others (`chmod go-w {what}`) if it is yours, or"),
        Flaw::Link | Flaw::NoFile => "see who has put it there, and".to_owned(),
    };
    let sentence =
        format!("local store: {what} {flaw}, so that other users could stop every job, or let two run");
    let help = format!("{help} name another file, in a folder of your own");
    StoreError::NotSent(Diagnosis::of(FailureCause::FileExposed, sentence).help(help))
}

/// Returns the error about a file that is no SQLite database, or a damaged one.
pub(super) fn no_database(path: &Path, error: &rusqlite::Error) -> StoreError {
    let sentence =
        format!("local store {}: the file is not a database that can be read ({error})", path.display());
    let help = "name another file with --store local:PATH, or move this one away: the next replica makes a new one, which \
                knows nothing of former runs";
    StoreError::NotSent(Diagnosis::of(FailureCause::NotADatabase, sentence).help(help))
}

//! Whether other users could have changed a file or a folder that this process relies on, and to which user a process
//! belongs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::libc::{S_ISVTX, S_IWGRP, S_IWOTH};
use nix::unistd::{Pid, Uid, User, geteuid};

/// Why a file or a folder cannot be relied on. It does not contain the path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It belongs to another user.
    #[error("belongs to {0}")]
    Foreign(String),
    /// Other users may write it.
    #[error("may be written by other users (mode {0:04o})")]
    Open(u32),
    /// It is a symbolic link, which may lead anywhere.
    #[error("is a symbolic link")]
    Link,
    /// It is a folder, or something else that is no file.
    #[error("is no file")]
    NoFile,
}

/// A folder that cannot be relied on.
#[derive(Debug, thiserror::Error)]
#[error("{} {flaw}", .path.display())]
pub struct BadFolder {
    /// The folder.
    pub path: PathBuf,
    /// Why it cannot be relied on.
    pub flaw: Flaw,
}

/// Returns why other users may change a file or folder; `None` if it belongs to this process's user or to root, and no
/// other user may write it. A group with the same number as the owner is that user's own group and may write it. Root's
/// group may not: other users are in it, and an access list shows as its right to write.
pub(crate) fn flaw_of(found: &Metadata) -> Option<Flaw> {
    owner_flaw(found).or_else(|| mode_flaw(found))
}

/// Returns a flaw if it belongs to a user other than root and this process's own.
pub(crate) fn owner_flaw(found: &Metadata) -> Option<Flaw> {
    let owner = Uid::from_raw(found.uid());
    let is_own = owner == geteuid() || owner.is_root();
    (!is_own).then(|| Flaw::Foreign(named(owner)))
}

/// Returns a flaw if users other than its owner may write it.
pub(crate) fn mode_flaw(found: &Metadata) -> Option<Flaw> {
    let is_owners = found.gid() == found.uid() && found.uid() != 0;
    let by_group = found.mode() & S_IWGRP != 0 && !is_owners;
    let by_others = found.mode() & S_IWOTH != 0;
    (by_group || by_others).then(|| Flaw::Open(found.mode() & 0o7777))
}

/// Returns what is wrong with an existing file: it is a link, no file, another user's, or open to others.
pub(crate) fn file_flaw(path: &Path) -> io::Result<Option<Flaw>> {
    let found = path.symlink_metadata()?;
    Ok(match found.file_type() {
        kind if kind.is_symlink() => Some(Flaw::Link),
        kind if !kind.is_file() => Some(Flaw::NoFile),
        _ => flaw_of(&found),
    })
}

/// Fails if another user could replace the folder, or what is in it, by rights to the folder itself or to one that it
/// lies in. A folder such as /tmp may contain it: there no user can replace what belongs to another. What cannot be
/// read is no flaw here: it fails where it is used.
pub(crate) fn check_folder(path: &Path) -> Result<(), BadFolder> {
    check_each(path, 1)
}

/// Fails if another user could replace files in the folder that belong to others. The folder may be one such as /tmp.
pub(crate) fn check_containing_folder(path: &Path) -> Result<(), BadFolder> {
    check_each(path, 0)
}

/// Whether a folder of this mode is for all users, as /tmp is (sticky bit): there no user can replace what belongs to
/// another.
pub(crate) fn is_shared(mode: u32) -> bool {
    mode & S_ISVTX != 0
}

/// Checks a folder and all that it lies in. From the `shared_from`-th on (0 is the folder itself), one such as /tmp
/// passes if its owner is trusted.
fn check_each(path: &Path, shared_from: usize) -> Result<(), BadFolder> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (at, folder) in real.ancestors().enumerate() {
        let Ok(found) = folder.metadata() else { continue };
        let passes = at >= shared_from && is_shared(found.mode());
        let flaw = if passes { owner_flaw(&found) } else { flaw_of(&found) };
        if let Some(flaw) = flaw {
            return Err(BadFolder { path: folder.to_owned(), flaw });
        }
    }
    Ok(())
}

/// Fails if a user other than the owner of an opened file may change a folder or link on its path: that user may have
/// led this process to the file.
pub(crate) fn check_path_components(path: &Path, found: &Metadata) -> Result<(), BadFolder> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let steps = path.ancestors().chain(real.ancestors());
    for step in steps {
        let Ok(on_way) = step.symlink_metadata() else { continue };
        if on_way.is_file() {
            continue;
        }
        // In a folder such as /tmp no user can replace what belongs to another, and the mode of a link has no meaning.
        let is_owners_alone = on_way.is_symlink() || is_shared(on_way.mode());
        let flaw = if is_owners_alone { owner_flaw(&on_way) } else { flaw_of(&on_way) };
        let is_theirs = |flaw: &Flaw| matches!(flaw, Flaw::Foreign(_)) && on_way.uid() == found.uid();
        if let Some(flaw) = flaw.filter(|flaw| !is_theirs(flaw)) {
            return Err(BadFolder { path: step.to_owned(), flaw });
        }
    }
    Ok(())
}

/// Fails if other users could change a file or folder, or anything in it down to `depth` levels, or one of these is a
/// link.
pub(crate) fn check_below(path: &Path, depth: u32) -> Result<(), BadFolder> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    let flaw = match found.file_type() {
        kind if kind.is_symlink() => Some(Flaw::Link),
        // A process that may write to a socket can only send requests to its owner, which decides what to do about
        // them.
        kind if kind.is_socket() => None,
        _ => flaw_of(&found),
    };
    if let Some(flaw) = flaw {
        return Err(BadFolder { path: path.to_owned(), flaw });
    }
    if !found.is_dir() || depth == 0 {
        return Ok(());
    }
    let mut entries = path.read_dir().into_iter().flatten().flatten();
    entries.try_for_each(|entry| check_below(&entry.path(), depth - 1))
}

/// Whether a process runs the program of this process. Guards and replicas hide theirs from all users but root. A
/// process of this user that hides its program counts: that user may trace its own processes in any case.
pub(crate) fn is_of_this_program(pid: Pid) -> bool {
    match program(pid) {
        Ok(its) => program(Pid::this()).is_ok_and(|own| own == its),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied && user_of(pid) == Some(geteuid()),
    }
}

/// Returns the path of a process's program; the path before it was replaced, if another release has replaced it.
fn program(pid: Pid) -> io::Result<Vec<u8>> {
    let path = fs::read_link(format!("/proc/{pid}/exe"))?.into_os_string().into_encoded_bytes();
    Ok(path.strip_suffix(b" (deleted)").map(<[u8]>::to_vec).unwrap_or(path))
}

/// Returns the user of a process, if all its user ids are the same. The owner of its files in /proc proves nothing: any
/// process can hide them, and then they are root's.
pub(crate) fn user_of(pid: Pid) -> Option<Uid> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut ids = ids.split_whitespace().map(|id| id.parse::<u32>().ok());
    let first = ids.next()??;
    ids.all(|id| id == Some(first)).then(|| Uid::from_raw(first))
}

/// Returns the owner of a file or a folder, for messages; `None` if it cannot be read.
pub(crate) fn owner_of(path: &Path) -> Option<String> {
    path.metadata().ok().map(|found| named(Uid::from_raw(found.uid())))
}

/// Returns the name of a user, for messages.
fn named(user: Uid) -> String {
    match User::from_uid(user) {
        Ok(Some(user)) => format!("the user `{}`", user.name),
        _ => format!("a user that this machine does not know (number {user})"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn with_mode(path: &Path, mode: u32) -> Metadata {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
        path.metadata().unwrap()
    }

    #[test]
    fn a_file_that_others_may_write_has_a_flaw_and_one_for_reading_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write(&file, "").unwrap();
        for (mode, flaw) in [(0o644, None), (0o600, None), (0o666, Some(Flaw::Open(0o666)))] {
            assert_eq!(flaw_of(&with_mode(&file, mode)), flaw, "{mode:o}");
        }
        assert_eq!(file_flaw(&file).unwrap(), Some(Flaw::Open(0o666)));
    }

    #[test]
    fn a_group_may_write_only_where_it_is_its_owners_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write(&file, "").unwrap();
        if !geteuid().is_root() {
            return;
        }
        chown(&file, Some(0), Some(7)).unwrap();
        assert_eq!(mode_flaw(&with_mode(&file, 0o664)), Some(Flaw::Open(0o664)));
        chown(&file, Some(0), Some(0)).unwrap();
        assert_eq!(mode_flaw(&with_mode(&file, 0o664)), Some(Flaw::Open(0o664)));
        chown(&file, Some(7), Some(7)).unwrap();
        assert_eq!(mode_flaw(&with_mode(&file, 0o664)), None);
        assert!(matches!(owner_flaw(&file.metadata().unwrap()), Some(Flaw::Foreign(_))));
    }

    #[test]
    fn a_link_is_never_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(file_flaw(&link).unwrap(), Some(Flaw::Link));
        assert_eq!(check_below(folder.path(), 1).unwrap_err().flaw, Flaw::Link);
        assert_eq!(file_flaw(folder.path()).unwrap(), Some(Flaw::NoFile));
    }

    #[test]
    fn a_folder_is_as_open_as_each_that_it_lies_in_but_for_those_like_tmp() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        create_dir(&inner).unwrap();
        check_folder(&inner).expect("/tmp is shared, and nobody replaces what is another's there");
        with_mode(outer.path(), 0o777);
        assert_eq!(check_folder(&inner).unwrap_err().flaw, Flaw::Open(0o777));
        with_mode(outer.path(), 0o1777);
        check_folder(&inner).expect("as /tmp");
        with_mode(&inner, 0o1777);
        assert_eq!(check_folder(&inner).unwrap_err().flaw, Flaw::Open(0o1777));
    }
}

//! Reads files that other users may have put there: up to a limit, and only regular files, because a pipe may block its
//! reader forever, and a device has no end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;
use nix::libc::{S_IRGRP, S_IROTH};
use nix::unistd::{Gid, getegid, geteuid, getgroups};

use crate::config::source::trust;

/// The largest secret, in bytes.
const LONGEST_SECRET: u64 = 1 << 20;

/// Opens a file of any kind without blocking.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

/// Returns the metadata and the bytes of a regular file.
///
/// # Errors
/// If it cannot be read, is not a regular file, or has more than `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<(Metadata, Vec<u8>)> {
    let (file, found) = open(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {} KiB", most >> 10)));
    }
    Ok((found, bytes))
}

/// Why a file with a secret is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableFile {
    /// What is wrong with it, in words that follow its path.
    pub what: String,
    /// The way out.
    pub help: String,
}

impl UnusableFile {
    /// Returns the problem with the path in front of it.
    #[must_use]
    pub fn of_file(self, path: &Path) -> Self {
        Self { what: format!("its file {} {}", path.display(), self.what), ..self }
    }
}

/// Returns the text of a file that `${file:…}` refers to. As root, it refuses a file to which another user may have led
/// it: that user would then see in a job what only root may read.
///
/// # Errors
/// If it cannot be read, is refused, or is not UTF-8.
pub fn read_secret(path: &Path) -> io::Result<String> {
    read_text(path).map(|(_, text)| text)
}

/// Returns the text of a file that gives rights to whoever knows it. It is refused if other users may read or write it;
/// a group that this process is in may read it.
///
/// # Errors
/// If it cannot be read, or is refused.
pub fn read_private(path: &Path) -> Result<String, UnusableFile> {
    let (found, text) = read_text(path).map_err(|error| UnusableFile {
        what: format!("cannot be read: {error}"),
        help: "create the file, or make it readable for the user that runs solocron".to_owned(),
    })?;
    let mode = found.mode() & 0o7777;
    let what = match trust::flaw_of(&found) {
        Some(flaw) => flaw.to_string(),
        None if mode & S_IROTH != 0 => format!("may be read by all users (mode {mode:04o})"),
        None if mode & S_IRGRP != 0 && !is_own_group(Gid::from_raw(found.gid())) => {
            format!("may be read by a group that solocron is not in (mode {mode:04o})")
        }
        None => return Ok(text),
    };
    let help = format!("`chmod 0400 {}`; for a secret of Kubernetes, `defaultMode: 0400`", path.display());
    Err(UnusableFile { what, help })
}

/// Whether this process is in the group.
fn is_own_group(group: Gid) -> bool {
    group == getegid() || getgroups().is_ok_and(|groups| groups.contains(&group))
}

fn read_text(path: &Path) -> io::Result<(Metadata, String)> {
    let (found, bytes) = read_regular(path, LONGEST_SECRET)?;
    if geteuid().is_root() {
        trust::check_path_components(path, &found).map_err(|bad| {
            io::Error::other(format!(
                "its path leads over {bad}, and it is another user's file that it leads to"
            ))
        })?;
    }
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))?;
    Ok((found, text))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// A user that is not root.
    const OTHER: u32 = 7;

    #[test]
    fn a_pipe_and_a_device_are_no_secret_and_hold_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [&pipe, Path::new("/dev/zero")] {
            let error = read_secret(path).unwrap_err().to_string();
            assert_eq!(error, "it is not a regular file");
        }
    }

    #[test]
    fn a_file_that_gives_rights_is_refused_if_others_may_read_or_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        write(&file, "a").unwrap();
        for (mode, problem) in [
            (0o400, None),
            (0o600, None),
            (0o440, None),
            (0o444, Some("may be read by all users (mode 0444)")),
            (0o602, Some("may be written by other users (mode 0602)")),
        ] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_private(&file).err().map(|error| error.what).as_deref(), problem, "{mode:o}");
        }
        if geteuid().is_root() {
            set_permissions(&file, Permissions::from_mode(0o440)).unwrap();
            chown(&file, None, Some(4_242)).unwrap();
            let error = read_private(&file).unwrap_err();
            assert!(error.what.contains("a group that solocron is not in"), "{error:?}");
        }
        let error = read_private(&folder.path().join("absent")).unwrap_err();
        assert!(error.what.starts_with("cannot be read"), "{error:?}");
    }

    #[test]
    fn root_reads_no_file_to_which_another_user_leads_it() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let at = |name: &str| folder.path().join(name);
        write(at("secret"), "root's").unwrap();
        create_dir(at("theirs")).unwrap();
        write(at("theirs/own"), "theirs").unwrap();
        symlink(at("secret"), at("theirs/link")).unwrap();
        symlink(folder.path(), at("theirs/folder")).unwrap();
        symlink(at("secret"), at("link")).unwrap();
        write(at("theirs/of-root"), "root's").unwrap();
        for name in ["theirs", "theirs/own"] {
            chown(at(name), Some(OTHER), Some(OTHER)).unwrap();
        }
        for name in ["theirs/link", "theirs/folder"] {
            std::os::unix::fs::lchown(at(name), Some(OTHER), Some(OTHER)).unwrap();
        }

        assert_eq!(read_secret(&at("secret")).unwrap(), "root's");
        assert_eq!(read_secret(&at("link")).unwrap(), "root's", "a link of root's own");
        assert_eq!(read_secret(&at("theirs/own")).unwrap(), "theirs", "what is theirs they may read");
        for name in ["theirs/link", "theirs/folder/secret", "theirs/of-root"] {
            let error = read_secret(&at(name)).unwrap_err().to_string();
            assert!(error.contains("belongs to"), "{name}: {error}");
        }
    }
}

//! Reads files that other users may have put there: up to a limit, and only regular files, because a pipe may block its
//! reader forever, and a device has no end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use nix::unistd::geteuid;

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

/// Returns the text of a file that `${file:…}` refers to. As root, it refuses a file to which another user may have led
/// it: that user would then see in a job what only root may read.
///
/// # Errors
/// If it cannot be read, is refused, or is not UTF-8.
pub fn read_secret(path: &Path) -> io::Result<String> {
    let (found, bytes) = read_regular(path, LONGEST_SECRET)?;
    if geteuid().is_root() {
        trust::check_path_components(path, &found).map_err(|bad| {
            io::Error::other(format!(
                "its path leads over {bad}, and it is another user's file that it leads to"
            ))
        })?;
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
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

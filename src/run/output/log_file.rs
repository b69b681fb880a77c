//! A file that grows at its end. It is created only when there is something to write, and every batch starts on a
//! line of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

/// The mode of files: readable for a group of operators, writable for the replica only.
const MODE: u32 = 0o640;

/// A file opened for appending.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
}

/// Returns how the files of the state directory are opened for writing: existing content is kept, and no link is
/// followed, which another user may have put there.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(MODE).custom_flags(libc::O_NOFOLLOW);
    options
}

impl LogFile {
    /// Opens or creates the file. Ends its last line if that is torn (a crash, a full disk).
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = options().open(path)?;
        if is_torn(&mut file)? {
            file.write_all(b"\n")?;
        }
        Ok(Self { file })
    }

    /// Appends a batch of whole lines.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)
    }

    /// Appends a batch, for a caller that tries again after an error and is the only writer: after an error, nothing
    /// of the batch is left in the file.
    pub(crate) fn append_all_or_nothing(&mut self, lines: &[u8]) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        self.append(lines).inspect_err(|_| {
            // The first error is the one to report. If this fails as well, the next try may write a part of the batch
            // twice.
            let _ = self.file.set_len(length);
        })
    }
}

fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("x.log"), folder.path().join("elsewhere"));
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert_eq!(LogFile::open(&path).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert!(!elsewhere.exists());
    }

    #[test]
    fn what_is_there_is_kept_and_a_torn_line_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        LogFile::open(&path).unwrap().append(b"one\ntor").unwrap();
        LogFile::open(&path).unwrap().append(b"two\n").unwrap();
        LogFile::open(&path).unwrap().append(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntor\ntwo\nthree\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o137, 0);
    }
}

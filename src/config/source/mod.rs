//! Finds jobs.toml and reads it as text. If there is none, the message names every place that was searched.

pub(super) mod regular_file;
pub(crate) mod trust;

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::geteuid;
use trust::{BadFolder, Flaw};

/// The places where jobs.toml is searched if no path is given, in this order.
const PLACES: &[&str] = &["jobs.toml", "/etc/solocron/jobs.toml"];

/// The largest jobs.toml, in bytes.
pub const LONGEST: u64 = 64 << 20;

/// The text of a file, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path, as messages name it.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
    /// The flaw that a replica which runs the file's jobs logs: the file belongs to another user.
    pub doubt: Option<Flaw>,
    /// Whether its path was given explicitly; otherwise it was found at one of the usual places.
    pub is_named: bool,
}

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its jobs are run.
    Run,
    /// It is only read, and none of its jobs is run.
    Read,
}

impl Source {
    /// Returns a source without a flaw.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), doubt: None, is_named: false }
    }
}

impl fmt::Debug for Source {
    /// Without the text, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Why no text could be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such file.
    #[error("there is no {}: create it, or name another one with --config or SOLOCRON_CONFIG", listed(.looked_at))]
    Missing {
        /// Every place that was searched.
        looked_at: Vec<PathBuf>,
    },
    /// It is not a regular file on a disk, but a pipe, a device, or a file that the kernel generates.
    #[error("{} is not a regular file: name a pipe with --config, if you mean one, and see what made it", .path.display())]
    Odd {
        /// What was found.
        path: PathBuf,
    },
    /// It is too long to be a jobs.toml.
    #[error("{} has more than {} MiB: is it a jobs.toml?", .path.display(), LONGEST >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It was not named but found, in a folder where other users may put one.
    #[error(
        "jobs.toml: its folder {bad}, and so they decide which jobs.toml is found here: name the file that you mean with --config"
    )]
    OpenFolder {
        /// The folder.
        bad: BadFolder,
    },
    /// It is a directory.
    #[error("{} is a directory, expected a file: name the file in it, such as {}", .path.display(), .path.join("jobs.toml").display())]
    Directory {
        /// What was found.
        path: PathBuf,
    },
    /// It is not text.
    #[error("{}:{line}: not UTF-8 text (byte 0x{byte:02x}): save the file in the encoding UTF-8", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that is not UTF-8.
        line: usize,
        /// That byte.
        byte: u8,
    },
    /// Other users could have written it.
    #[error("{} {flaw}: whoever may write it decides what is run here, and where this machine's secrets go; {}", .path.display(), way_out(.flaw, .path))]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// Why it is refused.
        flaw: Flaw,
    },
    /// It belongs to another user, and did not when the replica started.
    #[error("{} {flaw} now, and did not when this replica started: whoever can put a file there decides what is run here; restart the \
             replica if you mean that", .path.display())]
    NewOwner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        flaw: Flaw,
    },
    /// It cannot be read.
    #[error("{} cannot be read ({source}): make it readable for the user that runs solocron", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

fn listed(places: &[PathBuf]) -> String {
    places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and no ")
}

fn way_out(flaw: &Flaw, path: &Path) -> String {
    let path = path.display();
    match flaw {
        Flaw::Foreign(_) if geteuid().is_root() => {
            format!("`chown` it to root if you know who made it, or name another file with --config: {path}")
        }
        Flaw::Foreign(_) => {
            format!("name the file that you mean with --config, or `chown` it to yourself: {path}")
        }
        _ => format!("take that from others: `chmod go-w {path}`"),
    }
}

/// Reads the named file, or else the first that exists of `./jobs.toml` and `/etc/solocron/jobs.toml`.
///
/// It is refused if
/// - users other than its owner may write it, and its jobs are to be run or the caller is root;
/// - it belongs to a user other than root and the caller, and the caller is root or it was found in the current folder;
/// - it was found in a folder where other users could replace it, and its jobs are to be run or the caller is root.
///
/// # Errors
/// If there is no file, it cannot be read, or it is refused.
pub fn find(explicit: Option<&Path>, purpose: Purpose) -> Result<Source, SourceError> {
    match explicit {
        Some(path) => first_of(&[path], purpose, true),
        None => first_of(&PLACES.iter().map(Path::new).collect::<Vec<_>>(), purpose, false),
    }
}

/// Reads the file of a running replica again.
///
/// # Errors
/// As [`find`]; also if the file has become another user's since then, or is a pipe, which would block the replica.
pub fn find_again(first: &Source) -> Result<Source, SourceError> {
    let path = &first.path;
    let source = source_of(path, read(path, false), Purpose::Run, first.is_named)?;
    let source = source.ok_or_else(|| SourceError::Missing { looked_at: vec![path.clone()] })?;
    match source.doubt {
        Some(flaw) if first.doubt.as_ref() != Some(&flaw) => {
            Err(SourceError::NewOwner { path: path.clone(), flaw })
        }
        _ => Ok(source),
    }
}

/// Returns the flaw of the file that a replica logs; an error if the file is refused.
fn doubt(
    path: &Path,
    found: &Metadata,
    purpose: Purpose,
    is_named: bool,
) -> Result<Option<Flaw>, SourceError> {
    let (is_root, is_found) = (geteuid().is_root(), !is_named && !path.starts_with("/etc"));
    let refused = |flaw| SourceError::Untrusted { path: path.to_owned(), flaw };
    let link = path.symlink_metadata().ok().filter(|_| is_found);
    let owner = trust::owner_flaw(found).or_else(|| link.as_ref().and_then(trust::owner_flaw));
    let is_looked_at = is_root || purpose == Purpose::Run;
    if let Some(flaw) = trust::mode_flaw(found).filter(|_| is_looked_at) {
        return Err(refused(flaw));
    }
    match owner {
        Some(flaw) if is_root || is_found => return Err(refused(flaw)),
        // Such as a file that was mounted into a container.
        Some(flaw) => return Ok(Some(flaw).filter(|_| is_looked_at)),
        None => {}
    }
    if is_found && is_looked_at {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        trust::check_containing_folder(folder).map_err(|bad| SourceError::OpenFolder { bad })?;
    }
    Ok(None)
}

/// Returns the metadata and the bytes of a file; no bytes if it is not a file that may be read. A pipe may be read only
/// with `waits`, which waits for the pipe's writer.
fn read(path: &Path, waits: bool) -> io::Result<(Metadata, Option<Vec<u8>>)> {
    let (file, found) = if waits { open_and_wait(path)? } else { regular_file::open(path)? };
    // A file that the kernel generates for a process belongs to root, even if another user decides what it contains.
    let is_made_up = fstatfs(&file).is_ok_and(|system| system.filesystem_type() == PROC_SUPER_MAGIC);
    if is_made_up || !(waits || found.is_file() || found.is_dir()) {
        return Ok((found, None));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok((found, Some(bytes)))
}

fn open_and_wait(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    Ok((file, found))
}

/// Returns the first file that exists. One that exists but cannot be read is an error: falling back to the next could
/// run other jobs than meant.
fn first_of(places: &[&Path], purpose: Purpose, is_named: bool) -> Result<Source, SourceError> {
    for place in places {
        if let Some(source) = source_of(place, read(place, is_named), purpose, is_named)? {
            return Ok(source);
        }
    }
    Err(SourceError::Missing { looked_at: places.iter().map(|place| place.to_path_buf()).collect() })
}

/// Returns the source that was read at this place; `None` if there is no file.
fn source_of(
    place: &Path,
    read: io::Result<(Metadata, Option<Vec<u8>>)>,
    purpose: Purpose,
    is_named: bool,
) -> Result<Option<Source>, SourceError> {
    let path = place.to_path_buf();
    match read {
        Ok((_, None)) => Err(SourceError::Odd { path }),
        Ok((_, Some(bytes))) if bytes.len() as u64 > LONGEST => Err(SourceError::TooLong { path }),
        Ok((found, Some(bytes))) => {
            let doubt = doubt(place, &found, purpose, is_named)?;
            Ok(Some(Source { doubt, is_named, ..decoded(place, bytes)? }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(SourceError::Directory { path }),
        Err(source) => Err(SourceError::Unreadable { path, source }),
    }
}

fn decoded(place: &Path, bytes: Vec<u8>) -> Result<Source, SourceError> {
    let path = place.to_path_buf();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(path, text)),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(SourceError::NotText { path, line, byte: error.as_bytes()[good] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_that_exists_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let (absent, present) = (dir.path().join("a.toml"), dir.path().join("b.toml"));
        std::fs::write(&present, "x = 1").expect("written");
        let source = first_of(&[&absent, &present], Purpose::Read, false).expect("the second exists");
        assert_eq!(source, Source::new(present, "x = 1"));
    }

    #[test]
    fn a_missing_file_is_reported_with_every_place_that_was_looked_at() {
        let places = [Path::new("/nowhere/jobs.toml"), Path::new("/nowhere/else.toml")];
        let error = first_of(&places, Purpose::Read, false).expect_err("absent");
        let message = error.to_string();
        assert!(message.starts_with("there is no /nowhere/jobs.toml and no /nowhere/else.toml"), "{message}");
        assert!(message.contains("--config"), "{message}");
    }

    #[test]
    fn what_is_no_text_file_is_said_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let message = find(Some(dir.path()), Purpose::Read).expect_err("a directory").to_string();
        assert!(message.contains("is a directory"), "{message}");
        let binary = dir.path().join("jobs.toml");
        std::fs::write(&binary, b"a = 1\nb = \"\xff\"").expect("written");
        let message = find(Some(&binary), Purpose::Read).expect_err("binary").to_string();
        assert!(message.contains("jobs.toml:2: not UTF-8 text (byte 0xff)"), "{message}");
    }
}

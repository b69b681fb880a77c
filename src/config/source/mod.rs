//! Finds jobs.toml and reads it as text. When there is none, the message says where it was looked for.

pub(super) mod regular_file;
pub(crate) mod trust;

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::geteuid;
use trust::{BadFolder, Flaw};

/// Where jobs.toml is looked for when nobody says where it is, in this order.
const PLACES: &[&str] = &["jobs.toml", "/etc/solocron/jobs.toml"];

/// No jobs.toml has more bytes.
pub const LONGEST: u64 = 64 << 20;

/// The text of a file, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// As it is named in messages.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
    /// What a replica that obeys it should be told: it is another user's.
    pub doubt: Option<Flaw>,
    /// Whether somebody said which file it is; else it was found.
    pub is_named: bool,
}

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its jobs are run.
    Run,
    /// Somebody wants to know what it says.
    Read,
}

impl Source {
    /// A text that nobody doubts.
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

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such file.
    #[error("there is no {}: create it, or name another one with --config or SOLOCRON_CONFIG", listed(.looked_at))]
    Missing {
        /// Every place that was looked at.
        looked_at: Vec<PathBuf>,
    },
    /// It is no file that is kept on a disk: a pipe, a device, a file that the kernel makes up.
    #[error("{} is not a regular file: name a pipe with --config, if you mean one, and see what made it", .path.display())]
    Odd {
        /// What was found.
        path: PathBuf,
    },
    /// It is too long to be one.
    #[error("{} has more than {} MiB: is it a jobs.toml?", .path.display(), LONGEST >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It merely lies in a folder where other users may put one.
    #[error(
        "jobs.toml: its folder {bad}, and so they decide which jobs.toml is found here: name the file that you mean with --config"
    )]
    OpenFolder {
        /// The folder.
        bad: BadFolder,
    },
    /// It is there, but is no file.
    #[error("{} is a directory, expected a file: name the file in it, such as {}", .path.display(), .path.join("jobs.toml").display())]
    Directory {
        /// What was found.
        path: PathBuf,
    },
    /// It is no text.
    #[error("{}:{line}: not UTF-8 text (byte 0x{byte:02x}): save the file in the encoding UTF-8", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that is none.
        line: usize,
        /// That byte.
        byte: u8,
    },
    /// Other users could have written it.
    #[error("{} {flaw}: whoever may write it decides what is run here, and where this machine's secrets go; {}", .path.display(), way_out(.flaw, .path))]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// Why it is not obeyed.
        flaw: Flaw,
    },
    /// Somebody has put another one in its place.
    #[error("{} {flaw} now, and did not when this replica started: whoever can put a file there decides what is run here; restart the \
             replica if you mean that", .path.display())]
    NewOwner {
        /// The file.
        path: PathBuf,
        /// Whose it is.
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

/// Reads the named file, or else the first that exists of `./jobs.toml` and `/etc/solocron/jobs.toml`. To run its jobs, and for
/// root whatever for, no other user may be able to write it, or to put another one in the place of one that was found. Nobody obeys
/// another user's that was found.
pub fn find(explicit: Option<&Path>, purpose: Purpose) -> Result<Source, SourceError> {
    match explicit {
        Some(path) => first_of(&[path], purpose, true),
        None => first_of(&PLACES.iter().map(Path::new).collect::<Vec<_>>(), purpose, false),
    }
}

/// Reads the file of a running replica again. Where it has become another user's since, it is not obeyed; nor is a pipe, which would
/// keep the replica waiting.
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

/// What a replica is to be told of the file; an error where it is not obeyed.
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
        // As a file that was mounted into a container.
        Some(flaw) => return Ok(Some(flaw).filter(|_| is_looked_at)),
        None => {}
    }
    if is_found && is_looked_at {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        trust::check_place(folder).map_err(|bad| SourceError::OpenFolder { bad })?;
    }
    Ok(None)
}

/// What was found, and its bytes: none where it is no file to be read. A pipe is one for who waits for its writer.
fn read(path: &Path, waits: bool) -> io::Result<(Metadata, Option<Vec<u8>>)> {
    let (file, found) = if waits { open_and_wait(path)? } else { regular_file::open(path)? };
    // What the kernel makes up of a process is root's, whoever decides what it says.
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

/// A file that is there but unreadable is an error: falling back to another could run other jobs than meant.
fn first_of(places: &[&Path], purpose: Purpose, is_named: bool) -> Result<Source, SourceError> {
    for place in places {
        if let Some(source) = source_of(place, read(place, is_named), purpose, is_named)? {
            return Ok(source);
        }
    }
    Err(SourceError::Missing { looked_at: places.iter().map(|place| place.to_path_buf()).collect() })
}

/// The source that was read there; none where there is no file.
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

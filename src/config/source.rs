//! Finds jobs.toml and reads it as text. When there is none, the message says where it was looked for.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::trust::{self, Flaw};

/// Where jobs.toml is looked for when nobody says where it is, in this order.
const PLACES: &[&str] = &["jobs.toml", "/etc/solocron/jobs.toml"];

/// The text of a file, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// As it is named in messages.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
    /// What a replica that obeys it should be told: it is another user's.
    pub doubt: Option<Flaw>,
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
        Self { path: path.into(), text: text.into(), doubt: None }
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
        Flaw::Foreign(_) => {
            format!("`chown` it to root or to yourself, or name another file with --config: {path}")
        }
        _ => format!("take that from others: `chmod go-w {path}`"),
    }
}

/// Reads the named file, or else the first that exists of `./jobs.toml` and `/etc/solocron/jobs.toml`. To run its jobs, and for
/// root whatever for, no other user may be able to write it.
pub fn find(explicit: Option<&Path>, purpose: Purpose) -> Result<Source, SourceError> {
    match explicit {
        Some(path) => first_of(&[path], purpose, true),
        None => first_of(&PLACES.iter().map(Path::new).collect::<Vec<_>>(), purpose, false),
    }
}

/// What a replica is to be told of the file; an error where it is not obeyed.
fn doubt(
    path: &Path,
    found: &Metadata,
    purpose: Purpose,
    is_named: bool,
) -> Result<Option<Flaw>, SourceError> {
    let is_root = geteuid().is_root();
    if !is_root && purpose == Purpose::Read {
        return Ok(None);
    }
    let refused = |flaw| SourceError::Untrusted { path: path.to_owned(), flaw };
    if let Some(flaw) = trust::mode_flaw(found) {
        return Err(refused(flaw));
    }
    match trust::owner_flaw(found) {
        // As a file that was mounted into a container.
        Some(flaw) if !is_root && (is_named || path.starts_with("/etc")) => Ok(Some(flaw)),
        Some(flaw) => Err(refused(flaw)),
        None => Ok(None),
    }
}

fn read(path: &Path) -> io::Result<(Metadata, Vec<u8>)> {
    let mut file = File::open(path)?;
    let (found, mut bytes) = (file.metadata()?, Vec::new());
    file.read_to_end(&mut bytes)?;
    Ok((found, bytes))
}

/// A file that is there but unreadable is an error: falling back to another could run other jobs than meant.
fn first_of(places: &[&Path], purpose: Purpose, is_named: bool) -> Result<Source, SourceError> {
    for place in places {
        match read(place) {
            Ok((found, bytes)) => {
                let doubt = doubt(place, &found, purpose, is_named)?;
                return decoded(place, bytes, doubt);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(SourceError::Directory { path: place.to_path_buf() });
            }
            Err(source) => return Err(SourceError::Unreadable { path: place.to_path_buf(), source }),
        }
    }
    Err(SourceError::Missing { looked_at: places.iter().map(|place| place.to_path_buf()).collect() })
}

fn decoded(place: &Path, bytes: Vec<u8>, doubt: Option<Flaw>) -> Result<Source, SourceError> {
    let path = place.to_path_buf();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source { path, text, doubt }),
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

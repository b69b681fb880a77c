//! Finds jobs.toml and reads it as text. When there is none, the message says where it was looked for.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where jobs.toml is looked for when nobody says where it is, in this order.
const PLACES: &[&str] = &["jobs.toml", "/etc/solocron/jobs.toml"];

/// The text of a file, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// As it is named in messages.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
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

/// Reads the named file, or else the first that exists of `./jobs.toml` and `/etc/solocron/jobs.toml`.
pub fn find(explicit: Option<&Path>) -> Result<Source, SourceError> {
    match explicit {
        Some(path) => first_of(&[path]),
        None => first_of(&PLACES.iter().map(Path::new).collect::<Vec<_>>()),
    }
}

/// A file that is there but unreadable is an error: falling back to another could run other jobs than meant.
fn first_of(places: &[&Path]) -> Result<Source, SourceError> {
    for place in places {
        match std::fs::read(place) {
            Ok(bytes) => return decoded(place, bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(SourceError::Directory { path: place.to_path_buf() });
            }
            Err(source) => return Err(SourceError::Unreadable { path: place.to_path_buf(), source }),
        }
    }
    Err(SourceError::Missing { looked_at: places.iter().map(|place| place.to_path_buf()).collect() })
}

fn decoded(place: &Path, bytes: Vec<u8>) -> Result<Source, SourceError> {
    let path = place.to_path_buf();
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source { path, text }),
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
        let source = first_of(&[&absent, &present]).expect("the second exists");
        assert_eq!(source, Source { path: present, text: "x = 1".into() });
    }

    #[test]
    fn a_missing_file_is_reported_with_every_place_that_was_looked_at() {
        let error = first_of(&[Path::new("/nowhere/jobs.toml"), Path::new("/nowhere/else.toml")])
            .expect_err("absent");
        let message = error.to_string();
        assert!(message.starts_with("there is no /nowhere/jobs.toml and no /nowhere/else.toml"), "{message}");
        assert!(message.contains("--config"), "{message}");
    }

    #[test]
    fn what_is_no_text_file_is_said_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let message = find(Some(dir.path())).expect_err("a directory").to_string();
        assert!(message.contains("is a directory"), "{message}");
        let binary = dir.path().join("jobs.toml");
        std::fs::write(&binary, b"a = 1\nb = \"\xff\"").expect("written");
        let message = find(Some(&binary)).expect_err("binary").to_string();
        assert!(message.contains("jobs.toml:2: not UTF-8 text (byte 0xff)"), "{message}");
    }
}

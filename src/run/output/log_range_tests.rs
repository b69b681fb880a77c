//! Pieces of logs: of one file, of several parts, and of logs that change meanwhile.

use std::path::PathBuf;

use super::*;

/// Returns a log of these files: the name's end, and the text.
fn log(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for (end, text) in files {
        std::fs::write(folder.path().join(format!("x.log{end}")), text).expect("written");
    }
    let path = folder.path().join("x.log");
    (folder, path)
}

fn piece(log: &Path, start: LogStart, max: usize) -> (u64, u64, String) {
    let range = read_range(log, start, max).expect("readable");
    (range.from, range.missing, String::from_utf8(range.bytes).expect("text"))
}

#[test]
fn a_log_is_read_in_pieces_of_whole_lines() {
    let (_folder, path) = log(&[("", "one\ntwo\nthree\n")]);
    let mut all = String::new();
    for expected in ["one\n", "two\n", "three", "\n", ""] {
        let (from, missing, text) = piece(&path, LogStart::Byte(all.len() as u64), 5);
        assert_eq!((from, missing, text.as_str()), (all.len() as u64, 0, expected));
        all += expected;
    }
    let range = read_range(&path, LogStart::Byte(4), 100).expect("readable");
    assert_eq!((range.size, range.next(), range.exists), (14, 14, true));
}

#[test]
fn bytes_that_were_not_kept_are_counted_between_two_parts() {
    let (_folder, path) = log(&[("", "0\n0\n"), (".100", "2\n"), (".102", "3\n3\n")]);
    for (start, expected) in [
        (LogStart::Byte(0), (0, 0, "0\n0\n")),
        (LogStart::Byte(4), (100, 96, "2\n")),
        (LogStart::Byte(50), (100, 50, "2\n")),
        (LogStart::Byte(102), (102, 0, "3\n3\n")),
        (LogStart::Byte(106), (106, 0, "")),
        (LogStart::Byte(900), (900, 0, "")),
        (LogStart::LastLines(0), (106, 0, "")),
        (LogStart::LastLines(2), (102, 0, "3\n3\n")),
        (LogStart::LastLines(3), (100, 0, "2\n")),
        (LogStart::LastLines(4), (2, 0, "0\n")),
        (LogStart::LastLines(99), (0, 0, "0\n0\n")),
        (LogStart::LastBytes(3), (104, 0, "3\n")),
        (LogStart::LastBytes(6), (100, 0, "2\n")),
        (LogStart::LastBytes(106), (0, 0, "0\n0\n")),
        (LogStart::LastBytes(u64::MAX), (0, 0, "0\n0\n")),
    ] {
        let (from, missing, text) = piece(&path, start, 100);
        assert_eq!((from, missing, text.as_str()), expected, "{start:?}");
    }
}

#[test]
fn a_log_that_does_not_exist_is_empty() {
    let (_folder, path) = log(&[]);
    for start in [LogStart::Byte(0), LogStart::LastBytes(10), LogStart::LastLines(3)] {
        let range = read_range(&path, start, 100).expect("no error");
        assert_eq!((range.from, range.size, range.exists, range.bytes), (0, 0, false, Vec::new()));
    }
}

#[test]
fn a_link_in_place_of_a_log_is_not_followed() {
    let (folder, path) = log(&[]);
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a secret that is long enough\n").expect("written");
    std::os::unix::fs::symlink(&secret, &path).expect("a link");
    for start in [LogStart::Byte(0), LogStart::LastLines(1)] {
        let refused = read_range(&path, start, 100).expect_err("a link");
        assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
    }
}

#[test]
fn the_last_lines_are_looked_for_within_a_limit() {
    let (folder, path) = log(&[("", &"line\n".repeat(100))]);
    let mut file = File::open(&path).expect("it is there");
    assert_eq!(start_of_last(&mut file, 3, u64::MAX).expect("readable"), (485, 3));
    assert_eq!(start_of_last(&mut file, 50, 20).expect("readable"), (480, 4));
    drop(folder);
}

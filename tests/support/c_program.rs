//! Small C programs of the tests: what must be told apart from the program under test, or get between it and libc.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a C file of the test support into a folder.
pub(crate) fn compile(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let (source, program) =
        (format!("{}/tests/support/{name}.c", env!("CARGO_MANIFEST_DIR")), folder.join(name));
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags)
        .output()
        .unwrap_or_else(|error| panic!("cc: {error}; try `apt-get install gcc libc6-dev`"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

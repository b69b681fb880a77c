//! What commands say of a store.

use std::process::Command;

use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Scene};

/// What a command prints, and how it exits.
pub(crate) fn said(scene: &Scene, store: &str, words: &[&str]) -> (String, i32) {
    printed(&mut scene.command(&[&["--store", store], words].concat()))
}

/// What it prints, and how it exits.
pub(crate) fn printed(command: &mut Command) -> (String, i32) {
    let output = command.output().expect("the program was built, and setpriv is there (util-linux)");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (text, output.status.code().expect("it exits"))
}

/// What `status --check` says once it has found this wrong.
pub(crate) fn wrong(scene: &Scene, store: &str, what: &str) -> String {
    let begun = SystemClock.boot();
    loop {
        let (text, code) = said(scene, store, &["status", "--check"]);
        if code == 1 && text.contains(what) {
            return text;
        }
        assert!(SystemClock.boot().since(begun) < DEADLINE, "{code}: {text}");
    }
}

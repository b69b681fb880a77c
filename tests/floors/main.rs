//! What the source tree promises about itself: modules name only modules on lower floors, files are short, and what is
//! dangerous stays in one file.

mod code;
mod floors;

use std::path::{Path, PathBuf};

use code::code_of;
use floors::upward_names;

/// Longer files hold more than one noun.
const MAX_LINES: usize = 300;

/// Every file of `src/`, by its path below it, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of src") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).expect("sources are text");
                files.push((path.strip_prefix(&root).expect("it is below").to_owned(), text));
            }
        }
    }
    assert!(files.len() > 100, "the sources are looked for at the right place");
    files.sort();
    files
}

fn rust_sources() -> impl Iterator<Item = (PathBuf, String)> {
    sources().into_iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"))
}

/// The files whose code, comments and texts aside, has this word in it.
fn naming(word: &str) -> Vec<PathBuf> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    rust_sources()
        .filter(|(_, text)| code_of(text).split(|c| !is_part(c)).any(|part| part == word))
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn modules_name_only_modules_on_lower_floors() {
    let upward: Vec<String> = rust_sources()
        .flat_map(|(path, text)| {
            let names = upward_names(&path, &text);
            names.into_iter().map(move |name| format!("src/{}: {name}", path.display()))
        })
        .collect();
    assert!(upward.is_empty(), "these name modules of a floor above their own:\n{}", upward.join("\n"));
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("src/{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "these have more than {MAX_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn the_scheduler_is_named_in_one_file() {
    assert_eq!(naming("tokio_cron_scheduler"), [PathBuf::from("replica/clockwork.rs")]);
}

#[test]
fn unsafe_code_is_in_one_file() {
    assert_eq!(naming("unsafe").len(), 1, "{:?}", naming("unsafe"));
}

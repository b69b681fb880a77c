//! What the source tree promises about itself: modules name only modules on lower floors, folders can be read at a glance, a type
//! name stands for one thing, and what is dangerous stays in one file.

mod code;
mod floors;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use code::{code_of, is_part, words_of};
use floors::upward_names;
use types::{is_for_tests, types_of};

/// Nobody reads a longer list of names. The root of `src` has one entry for each floor.
const MAX_ENTRIES: usize = 12;

/// A longer name of a test tells no more.
const MAX_NAME: usize = 80;

/// Every file of `src/`, by its path below it, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let files = files_of(&root().join("src"));
    assert!(files.len() > 100, "the sources are looked for at the right place");
    files
}

/// Every text file below this folder, by its path below it, with its text.
fn files_of(root: &Path) -> Vec<(PathBuf, String)> {
    let mut folders = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of src") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                // A corpus of inputs need not be text.
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                files.push((path.strip_prefix(root).expect("it is below").to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

fn rust_sources() -> impl Iterator<Item = (PathBuf, String)> {
    sources().into_iter().filter(|(path, _)| is_rust(path))
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// The folder of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files whose code, comments and texts aside, has this word in it.
fn naming(word: &str) -> Vec<PathBuf> {
    rust_sources()
        .filter(|(_, text)| words_of(text).iter().any(|one| one == word))
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
fn folders_have_at_most_a_dozen_entries() {
    let mut entries = BTreeMap::<PathBuf, BTreeSet<PathBuf>>::new();
    for (path, _) in sources() {
        for inner in path.ancestors().take_while(|inner| inner.components().count() > 1) {
            let folder = inner.parent().expect("it is in a folder");
            entries.entry(folder.to_owned()).or_default().insert(inner.to_owned());
        }
    }
    entries.retain(|_, entries| entries.len() > MAX_ENTRIES);
    assert!(entries.is_empty(), "these have more than {MAX_ENTRIES} entries: {entries:#?}");
}

#[test]
fn no_type_name_stands_for_two_things() {
    let mut defined = BTreeMap::<String, BTreeSet<PathBuf>>::new();
    for (path, text) in rust_sources().filter(|(path, _)| !is_for_tests(path)) {
        for name in types_of(&text) {
            defined.entry(name).or_default().insert(path.clone());
        }
    }
    for name in ["Core", "Cause", "JobName"] {
        assert!(defined.contains_key(name), "types are looked for at the right place: {name}");
    }
    defined.retain(|_, files| files.len() > 1);
    assert!(defined.is_empty(), "these names are defined more than once: {defined:#?}");
}

#[test]
fn names_of_functions_can_be_read_at_a_glance() {
    let files = ["src", "tests"].iter().flat_map(|folder| files_of(&root().join(folder)));
    let texts = files.filter(|(path, _)| is_rust(path)).map(|(_, text)| text);
    let long: BTreeSet<String> =
        texts.flat_map(|text| words_of(&text)).filter(|word| word.len() > MAX_NAME).collect();
    assert!(long.is_empty(), "these names have more than {MAX_NAME} characters: {long:#?}");
}

#[test]
fn decisions_are_short_and_have_a_status() {
    let decisions = files_of(&root().join("docs/decisions"));
    assert!(decisions.len() > 60, "decisions are looked for at the right place");
    for (path, text) in decisions {
        let has_status = text.lines().any(|line| line.starts_with("Status: "));
        let lines = text.lines().count();
        assert!(has_status && lines <= 20, "{}: {lines} lines, status: {has_status}", path.display());
    }
}

#[test]
fn every_source_file_that_the_docs_name_exists() {
    let is_part_of_path = |c: char| is_part(c) || "/.".contains(c);
    let docs = files_of(&root().join("docs"));
    let mut named = BTreeSet::new();
    for (path, text) in docs.iter().filter(|(path, _)| !path.starts_with("results")) {
        let words = text.split(|c| !is_part_of_path(c)).map(|word| word.trim_end_matches(['.', '/']));
        named.extend(
            words.filter(|word| word.starts_with("src/")).map(|word| (word.to_owned(), path.clone())),
        );
    }
    assert!(named.len() > 10, "source files are looked for at the right place");
    named.retain(|(word, _)| !root().join(word).exists());
    assert!(named.is_empty(), "the docs name files that do not exist: {named:#?}");
}

#[test]
fn no_parameter_is_a_tuple_whose_parts_have_names() {
    // A closure gets what its caller has.
    let is_one = |line: &str| {
        // Also where a type has a name for the tuple: `(a, b): Pair`.
        let (line, has) = (line.trim(), line.contains("): "));
        has && (line.starts_with('(') || line.contains("fn ")) && !line.contains("|(")
    };
    assert!(
        is_one("fn f((a, b): (u8, u8)) {")
            && is_one("    (a, b): &(u8, u8),")
            && is_one("const fn f((a, b): Pair, c: u8) -> u8 {")
            && !is_one("let (a, b): (u8, u8)")
    );
    let found: Vec<String> = rust_sources()
        .flat_map(|(path, text)| {
            let code = code_of(&text);
            let lines: Vec<String> = code.lines().filter(|line| is_one(line)).map(str::to_owned).collect();
            lines.into_iter().map(move |line| format!("src/{}: {}", path.display(), line.trim()))
        })
        .collect();
    assert!(found.is_empty(), "give each part a parameter, or name the struct:\n{}", found.join("\n"));
}

#[test]
fn the_scheduler_is_named_in_one_file() {
    assert_eq!(naming("tokio_cron_scheduler"), [PathBuf::from("replica/tick/ticker/mod.rs")]);
}

#[test]
fn unsafe_code_is_in_one_file() {
    assert_eq!(naming("unsafe").len(), 1, "{:?}", naming("unsafe"));
}

//! The floors of the code, and what a file names of the crate.

use std::path::Path;

use super::code::{code_of, is_part};

/// The modules of the crate, lowest first: each names itself and those before it, and no others.
const FLOORS: [&str; 18] = [
    "time", "job", "config", "lease", "store", "run", "fuzz", "events", "hold", "exec", "replica", "view",
    "metrics", "operate", "relay", "news", "http", "cli",
];

/// What stands above all floors.
const ABOVE: [&str; 2] = ["lib", "main"];

/// What the file at this path below `src/` names of floors above its own, or of no floor at all.
pub(crate) fn upward_names(path: &Path, text: &str) -> Vec<String> {
    let modules = modules_of(path);
    let own = modules[0].as_str();
    if ABOVE.contains(&own) {
        return Vec::new();
    }
    let Some(floor) = FLOORS.iter().position(|name| *name == own) else {
        return vec![format!("the module `{own}` has no floor: give it one in tests/floors")];
    };
    let mut names = named(&code_of(text), modules.len());
    names.retain(|name| !FLOORS[..=floor].contains(&name.as_str()));
    names
}

/// The modules that a file stands for: `job/schedule/parse/slot.rs` is `job::schedule::parse::slot`.
fn modules_of(path: &Path) -> Vec<String> {
    let part = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
    let mut modules: Vec<String> = path.with_extension("").iter().map(part).collect();
    if modules.len() > 1 && modules.last().is_some_and(|last| last == "mod") {
        modules.pop();
    }
    modules
}

/// What the code names at the top of the crate, by `crate::` or by as many `super::` as the file is deep.
fn named(code: &str, depth: usize) -> Vec<String> {
    let compact: String = squeezed(code);
    let root = "super::".repeat(depth);
    let mut names = Vec::new();
    for start in ["crate::", root.as_str()] {
        for (at, _) in compact.match_indices(start) {
            if start == "crate::" && compact[..at].ends_with(is_part) {
                continue;
            }
            let mut heads = heads(&compact[at + start.len()..]);
            // Within a module of its own in the file, such as its tests, `super` leads less far than it seems.
            heads.retain(|head| start == "crate::" || FLOORS.contains(&head.as_str()));
            names.extend(heads);
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The code with single spaces, and none around `::` and braces.
fn squeezed(code: &str) -> String {
    let mut code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    for sign in ["::", "{", "}", ","] {
        code = code.replace(&format!(" {sign}"), sign).replace(&format!("{sign} "), sign);
    }
    code
}

/// The first name of a path, or of each path of a group in braces.
fn heads(path: &str) -> Vec<String> {
    let name = |path: &str| path.chars().take_while(|c| is_part(*c)).collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut depth = 0;
    let mut heads = vec![name(group)];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(name(&group[at + 1..])),
            _ => {}
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

#[test]
fn names_of_floors_above_are_found_however_they_are_written() {
    for (path, text, found) in [
        ("job/tick.rs", "use crate::store::Store;", vec!["store"]),
        ("job/mod.rs", "use crate::config::Config;", vec!["config"]),
        (
            "store/local/file.rs",
            "use crate::{job::Tick, run::{Launch, Ended},\n replica};",
            vec!["replica", "run"],
        ),
        ("lease/hold.rs", "fn f() { crate :: cli::main(x) }", vec!["cli"]),
        ("job/tick.rs", "use super::super::lease;", vec!["lease"]),
        ("job/mod.rs", "pub use super::run::Launch;", vec!["run"]),
        ("time/mod.rs", "use crate::http::Page;", vec!["http"]),
        ("attic/mod.rs", "", vec!["the module `attic` has no floor: give it one in tests/floors"]),
    ] {
        assert_eq!(upward_names(Path::new(path), text), found, "{path}: {text}");
    }
}

#[test]
fn names_of_the_own_floor_and_of_those_below_are_fine() {
    for (path, text) in [
        ("config/job.rs", "use crate::job::{Command, JobName};\nuse super::{cluster, keys};"),
        ("replica/hold.rs", "use crate::lease::Deadline; // not crate::cli\nlet x = \"crate::cli\";"),
        ("job/schedule/day.rs", "use super::super::Tick;"),
        ("run/journal.rs", "mod tests { use super::super::entry; }"),
        ("store/mod.rs", "use other_crate::cli; pub(crate) mod x;"),
        ("main.rs", "use crate::cli;"),
    ] {
        assert_eq!(upward_names(Path::new(path), text), Vec::<String>::new(), "{path}: {text}");
    }
}

//! What all pages have to be: short, linked, and with files that load.

use std::path::Path;

use solocron::config::{Overrides, Source, load, render};

use crate::markdown::{Page, file};

/// Words of README, and of a page; two of them are looked things up in.
const README_WORDS: usize = 1_300;
const PAGE_WORDS: usize = 1_500;
const REFERENCES: [&str; 2] = ["docs/commands.md", "docs/configuration.md"];

/// For people who change solocron.
const FOR_DEVELOPERS: [&str; 4] =
    ["docs/ARCHITECTURE.md", "docs/protocol.md", "docs/testing.md", "docs/performance.md"];

#[test]
fn pages_are_short() {
    for page in Page::all() {
        let words = page.text.split_whitespace().count();
        let limit = match page.path.to_str().expect("text") {
            "README.md" => README_WORDS,
            path if REFERENCES.contains(&path) || FOR_DEVELOPERS.contains(&path) => continue,
            _ => PAGE_WORDS,
        };
        assert!(words <= limit, "{} has {words} words, and {limit} at most are read", page.path.display());
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for page in Page::all() {
        let folder = page.path.parent().expect("a file");
        for link in page.links().into_iter().filter(|link| !link.starts_with("http")) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.path.clone() } else { folder.join(path) };
            let there = Path::new(env!("CARGO_MANIFEST_DIR")).join(&target);
            assert!(there.exists(), "{}: {link} leads nowhere", page.path.display());
            if !anchor.is_empty() {
                let anchors = Page::read(&target).anchors();
                assert!(anchors.contains(&anchor.to_owned()), "{}: {link}: {anchors:?}", page.path.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} links were found");
}

#[test]
fn every_page_is_linked_from_the_readme() {
    let links = Page::read("README.md").links();
    for page in Page::all() {
        let path = page.path.to_string_lossy().into_owned();
        assert!(path == "README.md" || links.contains(&path), "README.md does not link to {path}");
    }
}

/// A file, or a part of one, with something in place of each secret but those that stand in files alone, and with a job.
fn loadable(block: &str) -> String {
    let mut parts = block.split("${file:");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_token = text.ends_with("token = \"");
        text.push_str(if is_token { "${file:" } else { "secret" });
        text.push_str(if is_token { part } else { part.split_once('}').expect("it ends").1 });
    }
    if !block.contains("[jobs.") {
        text.push_str("\n[jobs.some]\nschedule = \"@daily\"\ncommand = [\"true\"]\n");
    }
    if block.contains("[cluster]") { text } else { format!("[cluster]\nstore = \"local\"\n{text}") }
}

#[test]
fn every_jobs_toml_is_accepted_without_a_warning() {
    let mut seen = 0;
    let of_pages = Page::all().into_iter().flat_map(|page| page.blocks_in("toml"));
    for text in of_pages.chain([file("jobs.toml")]) {
        let source = Source::new("jobs.toml", loadable(&text));
        let warnings = match load(&source, &Overrides::default(), &|_| Some("secret".to_owned())) {
            Ok((config, warnings)) => {
                assert!(!config.jobs.is_empty());
                warnings
            }
            Err(problems) => panic!("{}", render(problems.as_slice(), &source, false)),
        };
        assert!(warnings.is_empty(), "{}", render(&warnings, &source, false));
        seen += 1;
    }
    assert!(seen > 6, "only {seen} files were found");
}

#[test]
fn the_two_first_commands_are_there_and_do_exist() {
    let first: Vec<String> =
        Page::read("README.md").blocks_in("sh").remove(0).lines().map(str::to_owned).collect();
    assert_eq!(first, ["cargo run --release -- run --replicas 3", "make test"]);
    assert!(file("Makefile").contains("\ntest: "));
    assert!(file(".ci/run").contains("\nmake test\n"));
}

#[test]
fn the_limits_in_the_readme_are_some_of_the_full_list_and_tell_how_many_that_has() {
    let readme =
        Page::read("README.md").section(|heading| heading == "What it guarantees").expect("the section");
    let full = Page::read("docs/fencing.md").section(|heading| heading == "What no lock can promise");
    let full = full.expect("the section").bold_items();
    let some = readme.bold_items();
    assert_eq!(some.len(), 3, "{some:?}");
    for limit in some {
        assert!(full.contains(&limit), "{limit} is not in {full:?}");
    }
    let told = format!("[all {}](docs/fencing.md#what-no-lock-can-promise)", full.len());
    assert!(readme.text.contains(&told), "README.md does not say {told}");
}

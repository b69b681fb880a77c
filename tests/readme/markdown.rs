//! Pages of Markdown: their blocks, headings and links.

use std::path::{Path, PathBuf};

/// A file of the project.
pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page, by its path in the project.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) text: String,
}

impl Page {
    /// Reads a page.
    pub(crate) fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        Self { text: file(&path.to_string_lossy()), path }
    }

    /// README.md and the pages of docs.
    pub(crate) fn all() -> Vec<Self> {
        let docs =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).expect("the folder is there");
        let names = docs.map(|entry| entry.expect("readable").file_name().into_string().expect("text"));
        let pages = names.filter(|name| name.ends_with(".md")).map(|name| Self::read(format!("docs/{name}")));
        let all: Vec<Self> = pages.chain([Self::read("README.md")]).collect();
        assert!(all.len() > 10, "the pages are looked for at the right place");
        all
    }

    /// Its fenced blocks.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut within = false;
        for line in self.text.lines() {
            match line.strip_prefix("```") {
                Some(language) if !within => {
                    within = true;
                    blocks.push(Block { language: language.to_owned(), text: String::new() });
                }
                Some(_) => within = false,
                None if within => blocks.last_mut().expect("it was pushed").text.extend([line, "\n"]),
                None => {}
            }
        }
        blocks
    }

    /// Its blocks in a language.
    pub(crate) fn blocks_in(&self, language: &str) -> Vec<String> {
        self.blocks().into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
    }

    /// Its lines outside of fenced blocks.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut within = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            within ^= is_fence;
            !within && !is_fence
        })
    }

    /// Its headings, without the signs before them.
    fn headings(&self) -> impl Iterator<Item = &str> {
        self.prose().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
    }

    /// What lies below the heading that is the wanted one, up to the next of its level or above.
    pub(crate) fn section(&self, is_wanted: impl Fn(&str) -> bool) -> Option<Self> {
        let level = |line: &str| line.chars().take_while(|sign| *sign == '#').count();
        let heading = self
            .prose()
            .find(|line| line.starts_with('#') && is_wanted(line.trim_start_matches(['#', ' '])))?;
        let after = self.text.split_once(&format!("{heading}\n")).expect("it is there").1;
        let mut within = false;
        let is_below = |line: &&str| {
            within ^= line.starts_with("```");
            within || !line.starts_with('#') || level(line) > level(heading)
        };
        let lines: Vec<&str> = after.lines().take_while(is_below).collect();
        Some(Self { path: self.path.clone(), text: lines.join("\n") })
    }

    /// The targets of its links.
    pub(crate) fn links(&self) -> Vec<String> {
        let targets = |line: &str| -> Vec<String> {
            line.split("](")
                .skip(1)
                .filter_map(|rest| rest.split([')', ' ']).next())
                .map(str::to_owned)
                .collect()
        };
        self.prose().flat_map(targets).collect()
    }

    /// The names by which links reach its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let anchor = |heading: &str| -> String {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
        };
        self.headings().map(anchor).collect()
    }

    /// The bold beginnings of its list items: `- **A frozen machine:** the whole …`.
    pub(crate) fn bold_items(&self) -> Vec<String> {
        let items = self.text.lines().filter_map(|line| line.strip_prefix("- **"));
        let names = items.map(|item| item.split_once("**").expect("bold ends").0);
        names.map(|name| name.trim_end_matches([':', ',', '.']).to_owned()).collect()
    }

    /// The command lines of its blocks: all lines of `sh`, what follows a prompt in `console`.
    pub(crate) fn command_lines(&self) -> Vec<String> {
        let lines = |block: Block| -> Vec<String> {
            let lines = block.text.lines().map(str::to_owned);
            match block.language.as_str() {
                "sh" => lines.collect(),
                "console" => lines.filter_map(|line| line.strip_prefix("$ ").map(str::to_owned)).collect(),
                _ => Vec::new(),
            }
        };
        self.blocks().into_iter().flat_map(lines).collect()
    }
}

/// The words of a command line, up to a comment or a redirection; quotes hold words together.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
            continue;
        }
        for word in part.split_whitespace() {
            if matches!(word, "#" | ">" | "|" | "&") {
                return words;
            }
            words.push(word.to_owned());
        }
    }
    words
}

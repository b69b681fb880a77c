//! The parts of a page. A part is one element with an id, made by one template: the page is made of parts, and the stream
//! of its changes sends those that differ from what the browser has.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use askama::Template;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PagePart {
    /// The id of its element.
    pub(crate) id: String,
    /// Its element.
    pub(crate) html: String,
    /// Tells it apart from how it was before. The texts of times do not count: browsers keep them going.
    hash: u64,
    /// The parts within it, which can be replaced by themselves. `hash` counts only which there are.
    rows: Vec<PagePart>,
    /// Whether the stream of changes leaves it alone: what is new in it is sent by itself.
    grows: bool,
}

#[derive(Template)]
#[template(source = "<section id=\"{{ id }}\" hidden></section>", ext = "html")]
struct Hidden {
    id: &'static str,
}

/// What a browser has of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SentParts(BTreeMap<String, u64>);

impl PagePart {
    /// Returns the part that a template makes.
    pub(crate) fn of(id: impl Into<String>, template: &impl Template) -> Self {
        let html = rendered(template);
        Self { id: id.into(), hash: hash_of(&html), html, rows: Vec::new(), grows: false }
    }

    /// Returns the part that a template makes, which is never replaced: what is new in it is sent by itself.
    pub(crate) fn growing(id: impl Into<String>, template: &impl Template) -> Self {
        Self { grows: true, ..Self::of(id, template) }
    }

    /// Returns a part that is not shown for now.
    pub(crate) fn hidden(id: &'static str) -> Self {
        Self::of(id, &Hidden { id })
    }

    /// Returns a part with parts within it. `framed` makes the element around the elements of the rows.
    pub(crate) fn with_rows<T: Template>(
        id: impl Into<String>,
        rows: Vec<Self>,
        framed: impl Fn(String) -> T,
    ) -> Self {
        let html = rendered(&framed(rows.iter().map(|row| row.html.as_str()).collect()));
        let mut hasher = DefaultHasher::new();
        hash_of(&rendered(&framed(String::new()))).hash(&mut hasher);
        rows.iter().for_each(|row| row.id.hash(&mut hasher));
        Self { id: id.into(), html, hash: hasher.finish(), rows, grows: false }
    }
}

impl SentParts {
    /// Returns what a browser has that was sent these parts.
    pub(crate) fn of(parts: &[PagePart]) -> Self {
        let mut sent = Self::default();
        sent.changes(parts);
        sent
    }

    /// Returns the parts that a browser does not have as they are now, and notes that it is sent these.
    pub(crate) fn changes<'p>(&mut self, parts: &'p [PagePart]) -> Vec<&'p PagePart> {
        let mut changed = Vec::new();
        for part in parts.iter().filter(|part| !part.grows) {
            if self.0.insert(part.id.clone(), part.hash) != Some(part.hash) {
                changed.push(part);
                self.0.extend(part.rows.iter().map(|row| (row.id.clone(), row.hash)));
            } else {
                changed.extend(self.changes(&part.rows));
            }
        }
        changed
    }

    /// Returns a short text that tells this from what other browsers have: 16 hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// Returns the text that a template makes.
pub(crate) fn rendered(template: &impl Template) -> String {
    template.render().expect("a template that writes into memory cannot fail")
}

/// Returns the hash of an element without the texts of its times, which change each second.
fn hash_of(html: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut rest = html;
    while let Some((before, time)) = rest.split_once("<time ") {
        before.hash(&mut hasher);
        let (attributes, text) = time.split_once('>').unwrap_or((time, ""));
        attributes.hash(&mut hasher);
        rest = text.split_once("</time>").map_or("", |(_, rest)| rest);
    }
    rest.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Template)]
    #[template(source = "<p id=a>{{ text }} <time class=rel>{{ ago }}</time></p>", ext = "html")]
    struct Paragraph {
        text: &'static str,
        ago: &'static str,
    }

    #[derive(Template)]
    #[template(source = "<ul id=list>{{ rows|safe }}</ul>", ext = "html")]
    struct List {
        rows: String,
    }

    fn paragraph(id: &str, text: &'static str, ago: &'static str) -> PagePart {
        PagePart::of(id, &Paragraph { text, ago })
    }

    fn ids<'p>(parts: &[&'p PagePart]) -> Vec<&'p str> {
        parts.iter().map(|part| part.id.as_str()).collect()
    }

    #[test]
    fn only_parts_that_changed_are_sent_and_a_time_that_goes_on_is_no_change() {
        let before = [paragraph("a", "one", "1s ago"), paragraph("b", "two", "1s ago")];
        let mut sent = SentParts::default();
        assert_eq!(ids(&sent.changes(&before)), ["a", "b"]);
        assert_eq!(sent, SentParts::of(&before));
        let after = [paragraph("a", "one", "2s ago"), paragraph("b", "three", "2s ago")];
        assert_eq!(ids(&sent.changes(&after)), ["b"]);
        assert_eq!(ids(&sent.changes(&after)), [""; 0]);
        assert_eq!(sent.digest(), SentParts::of(&after).digest());
        assert_ne!(sent.digest(), SentParts::of(&before).digest());
    }

    #[test]
    fn a_part_that_grows_is_never_replaced_and_does_not_count_in_what_a_browser_has() {
        let grown = |text| PagePart::growing("b", &Paragraph { text, ago: "" });
        let both = [paragraph("a", "one", ""), grown("two")];
        let mut sent = SentParts::of(&both);
        assert_eq!(sent.digest(), SentParts::of(&both[..1]).digest());
        assert_eq!(ids(&sent.changes(&[paragraph("a", "one", ""), grown("three")])), [""; 0]);
    }

    #[test]
    fn a_row_is_sent_by_itself_while_the_rows_are_the_same_ones() {
        let list = |rows: Vec<PagePart>| [PagePart::with_rows("list", rows, |rows| List { rows })];
        let before = list(vec![paragraph("a", "one", ""), paragraph("b", "two", "")]);
        let mut sent = SentParts::of(&before);
        let changed = list(vec![paragraph("a", "one", ""), paragraph("b", "three", "")]);
        assert_eq!(ids(&sent.changes(&changed)), ["b"]);
        let swapped = list(vec![paragraph("b", "three", ""), paragraph("a", "one", "")]);
        let all = sent.changes(&swapped);
        assert_eq!(ids(&all), ["list"]);
        assert_eq!(
            all[0].html,
            "<ul id=list><p id=a>three <time class=rel></time></p><p id=a>one <time class=rel></time></p></ul>"
        );
        assert_eq!(ids(&sent.changes(&swapped)), [""; 0]);
    }
}

//! Parses TOML to a tree with the place of each value. Several syntax errors are reported at once, and what can be read
//! between them is still checked.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use crate::config::report::MOST_DRAWN;
use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;

/// The beginning of the parser's message about a key or a table that is present twice.
const DOUBLE: &str = "duplicate key";

/// Parses as much of the text as can be read.
pub(crate) fn parse(text: &str) -> (Spanned<DeTable<'_>>, Findings) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = Vec::new();
    let mut broken: Vec<Range<usize>> = Vec::new();
    for error in errors {
        let span = within(text, error.span().unwrap_or(text.len()..text.len()));
        let line = unreadable(text, span.start);
        let is_double = error.message().starts_with(DOUBLE);
        // The keys of a table that is present twice are not reported as well.
        let follows = is_double && broken.iter().any(|table| table.contains(&span.start));
        // One slip often causes several errors. The first one about a line is the useful one.
        if !follows && !broken.contains(&line) {
            let message =
                format!("not TOML: {}", error.message().trim_end_matches(", expected literal string"));
            let problem =
                Problem::error(message).at(span.clone()).help(way_out(text, &span, error.message()));
            // The search reads through the text, so it is skipped for problems that are not drawn.
            let is_shown = is_double && problems.len() < MOST_DRAWN;
            problems.push(match is_shown.then(|| first_of(text, span.start)).flatten() {
                Some(first) => problem.also(first, "first here"),
                None => problem,
            });
            broken.push(line);
        }
    }
    (table, Findings::after_syntax(problems, broken))
}

/// Returns the range, moved into the text and to the boundaries of characters.
pub(crate) fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

/// Returns the line that this byte is in, without its end.
fn line_of(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    start..text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

/// Returns where the key or the table in the line of this byte is written first: above it, and for a key in the same
/// table.
fn first_of(text: &str, at: usize) -> Option<Range<usize>> {
    let written = |line: &str| {
        let line = line.trim();
        let end = if line.starts_with('[') { line.find('#') } else { line.find('=') };
        line[..end.unwrap_or(line.len())].split_whitespace().collect::<String>().replace(['"', '\''], "")
    };
    let line = line_of(text, at);
    let name = written(&text[line.clone()]);
    let is_table = name.starts_with('[');
    let mut end = line.start.checked_sub(1)?;
    let mut first = None;
    loop {
        let above = line_of(text, end);
        let shown = &text[above.clone()];
        if written(shown) == name {
            let start = above.start + shown.len() - shown.trim_start().len();
            first = Some(start..start + shown.trim().len());
        }
        let is_over = !is_table && shown.trim_start().starts_with('[');
        match above.start.checked_sub(1).filter(|_| !is_over) {
            Some(before) => end = before,
            None => return first,
        }
    }
}

/// Returns what a syntax error makes unreadable: its line; if that is the header of a table, the whole table.
fn unreadable(text: &str, at: usize) -> Range<usize> {
    let line = line_of(text, at);
    if text[line.clone()].trim_start().starts_with('[') { table_around(text, at) } else { line }
}

/// Returns the lines of the table whose header, or one of whose keys, is here: from this line to the next header.
pub(crate) fn table_around(text: &str, at: usize) -> Range<usize> {
    let line = line_of(text, at);
    let next_header = text[line.end..].find("\n[").map_or(text.len(), |at| line.end + at);
    line.start..next_header
}

/// Whether the line here is a header that names this table.
pub(crate) fn is_header_of(text: &str, at: usize, name: &str) -> bool {
    let line = text[line_of(text, at)].trim_start();
    let mut words = line.split(['[', ']', '.', '"', '\'', ' ', '\t']);
    line.starts_with('[') && (words.any(|word| word == name) || name.contains('.') && line.contains(name))
}

/// Returns how to correct the most common mistakes.
fn way_out(text: &str, span: &Range<usize>, message: &str) -> String {
    let line = &text[line_of(text, span.start)];
    if message.starts_with(DOUBLE) {
        return "keep one of the two: a key or table may be written only once".into();
    }
    if message.contains("must be quoted") {
        return "put the value in quotes: `\"…\"`".into();
    }
    if message.contains("escape") {
        return "write `\\\\` for a backslash, or put the value in single quotes, which know no escapes"
            .into();
    }
    if message.contains("between array elements") {
        return "close the list with `]`, or put a comma between its items".into();
    }
    if line.trim_start().starts_with('[') {
        return "write a table as `[cluster]` or `[jobs.NAME]`, on a line of its own".into();
    }
    if !line.contains('=') {
        return "write `key = value`, or start the line with `#` if it is a comment".into();
    }
    if line.matches('"').count() % 2 == 1 {
        return "close the string: every `\"` needs its counterpart on the same line".into();
    }
    if line.matches('[').count() != line.matches(']').count() {
        return "close the list: `[\"…\", \"…\"]`".into();
    }
    "write `key = value`: strings in quotes, lists as `[\"…\", \"…\"]`".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_syntax_errors_are_reported_and_the_rest_is_still_read() {
        let text = "[cluster]\nname = billing\nstore = \"local\"\nreplicas = three\n";
        let (table, findings) = parse(text);
        assert_eq!(findings.in_order().len(), 2);
        let cluster = table.get_ref()["cluster"].get_ref().as_table().expect("a table");
        assert_eq!(cluster["store"].get_ref().as_str(), Some("local"));
    }

    #[test]
    fn spans_are_moved_into_the_text_and_out_of_characters() {
        assert_eq!(within("aé", 2..9), 1..3);
        assert_eq!(within("", 7..9), 0..0);
    }
}

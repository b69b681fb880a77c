//! Rust text without what is not code. What is taken out leaves a space, so that words stay apart.

/// The text without comments, and with empty texts and characters.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kept, length) = token(rest, first, code.chars().next_back());
        code.push_str(kept);
        rest = &rest[length..];
    }
    code
}

/// What is kept of the token at the front, and how long the token is.
fn token(rest: &str, first: char, before: Option<char>) -> (&str, usize) {
    let within_word = before.is_some_and(is_part);
    if rest.starts_with("//") {
        return (" ", rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (" ", block_comment(rest));
    }
    if first == '"' {
        return (" ", quoted(rest, '"'));
    }
    if let Some(hashes) = raw_text(rest).filter(|_| !within_word) {
        let end = format!("\"{}", "#".repeat(hashes));
        let start = rest.find('"').expect("a raw text has a quote") + 1;
        return (" ", rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()));
    }
    if first == '\'' && is_character(rest) {
        return (" ", quoted(rest, '\''));
    }
    (&rest[..first.len_utf8()], first.len_utf8())
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The number of `#` of a raw text at the front.
fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// A character, and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut inside = rest.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => true,
        (_, next) => next == Some('\''),
    }
}

/// Whether the character may be part of a name.
pub(crate) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of the text's code.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    code_of(text).split(|c| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn comments_and_texts_are_taken_out_and_the_rest_is_kept() {
    for (text, code) in [
        ("a // b\nc", "a  \nc"),
        ("a /* b /* c */ d */ e", "a   e"),
        (r#"f("crate::cli // \" x", y)"#, "f( , y)"),
        (r##"f(r#"crate::"cli"#, y)"##, "f( , y)"),
        ("bar\"x\"", "bar "),
        ("'\"' 'a' '\\'' fn f<'a>(x: &'a str)", "      fn f<'a>(x: &'a str)"),
    ] {
        assert_eq!(code_of(text), code, "{text}");
    }
}

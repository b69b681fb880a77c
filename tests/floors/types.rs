//! The types that a file defines.

use std::path::Path;

use super::code::{code_of, is_part};

/// What introduces the name of a type; the last two are macros of `job`.
const BEFORE: [&str; 7] = ["struct", "enum", "union", "trait", "type", "words!{", "name!{"];

/// Whether the file is built for tests alone. The simulation has counterparts that bear the names of what they stand for.
pub(crate) fn is_for_tests(path: &Path) -> bool {
    path.with_extension("").iter().any(|part| {
        let part = part.to_string_lossy();
        part == "simulation" || part == "testing" || part == "tests" || part.ends_with("_tests")
    })
}

/// The names of the types that the file defines at its top, in the order of the text.
pub(crate) fn types_of(text: &str) -> Vec<String> {
    let (mut names, mut depth, mut before) = (Vec::new(), 0_usize, String::new());
    for token in tokens(&code_of(text)) {
        // A macro's types stand within its braces.
        let is_at_top = depth == 0 || depth == 1 && before.ends_with('{');
        if is_at_top && BEFORE.contains(&before.as_str()) && token.starts_with(char::is_alphabetic) {
            names.push(token.clone());
        }
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_of_macro = token == "!" || token == "{" && before.ends_with('!');
        before = if is_of_macro { before + &token } else { token };
    }
    names
}

/// The words and signs of the code.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::<String>::new();
    let mut is_within = false;
    for c in code.chars() {
        match tokens.last_mut() {
            Some(word) if is_within && is_part(c) => word.push(c),
            _ if c.is_whitespace() => {}
            _ => tokens.push(c.to_string()),
        }
        is_within = is_part(c);
    }
    tokens
}

#[test]
fn the_types_of_a_file_are_found() {
    for (text, names) in [
        ("pub struct A(u8); pub(crate) enum B<'a> { C(D<'a>) }", &["A", "B"][..]),
        ("trait E { type F; fn f(); } type G = u8;", &["E", "G"]),
        ("fn f() { struct H; } mod tests { struct I; }", &[]),
        ("words! { /// Text.\n J { K = \"k\" } }\nname! { L, \"l\" }", &["J", "L"]),
        ("// struct M;\nlet text = \"enum N\";", &[]),
    ] {
        assert_eq!(types_of(text), names, "{text}");
    }
}

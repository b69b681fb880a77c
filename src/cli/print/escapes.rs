//! Makes foreign text safe for a terminal: colours stay, and everything else that a terminal would obey is written out.

use std::borrow::Cow;

use crate::view::text::reordering::reorders;

/// Ends every colour.
const RESET: &str = "\u{1b}[0m";

/// Makes a text of one or more lines safe for a terminal. A colour that a line does not end is reset at the end of the line.
pub(crate) fn escape_for_terminal(text: &[u8]) -> Cow<'_, [u8]> {
    let is_harmless = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if text.iter().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let (mut tamed, mut is_coloured) = (String::with_capacity(text.len() + RESET.len()), false);
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(next) = rest.chars().next() {
            if let Some(colour) = colour_at(rest) {
                is_coloured = !matches!(&colour[2..colour.len() - 1], "" | "0");
                tamed.push_str(colour);
                rest = &rest[colour.len()..];
                continue;
            }
            if next == '\n' && std::mem::take(&mut is_coloured) {
                tamed.push_str(RESET);
            }
            push(&mut tamed, next);
            rest = &rest[next.len_utf8()..];
        }
        chunk.invalid().iter().for_each(|byte| tamed.push_str(&format!("\\x{byte:02x}")));
    }
    if is_coloured {
        tamed.push_str(RESET);
    }
    Cow::Owned(tamed.into_bytes())
}

/// The same for a `str`.
pub(crate) fn escape_text(text: &str) -> String {
    String::from_utf8_lossy(&escape_for_terminal(text.as_bytes())).into_owned()
}

/// Makes a JSON document safe for a terminal: escapes what a terminal would obey and JSON need not escape.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| matches!(c, '\u{7f}'..='\u{9f}') || reorders(c);
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut tamed = String::with_capacity(text.len());
    for c in text.chars() {
        if is_odd(c) {
            tamed.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            tamed.push(c);
        }
    }
    Cow::Owned(tamed)
}

/// Returns the escape sequence for a colour, or for another look of letters, that the text begins with.
fn colour_at(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    parameters[length..].starts_with('m').then(|| &text[..2 + length + 1])
}

fn push(to: &mut String, c: char) {
    match c {
        '\n' | '\t' => to.push(c),
        '\u{0}'..='\u{1f}' | '\u{7f}' => {
            to.push('^');
            to.push(char::from(c as u8 ^ 0x40));
        }
        '\u{80}'..='\u{9f}' => to.push_str(&format!("\\x{:02x}", u32::from(c))),
        _ if reorders(c) => to.push_str(&c.escape_unicode().to_string()),
        _ => to.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (text, shown) in [
            ("plain ünï\ttext\n", "plain ünï\ttext\n"),
            ("\u{1b}]0;title\u{7}", "^[]0;title^G"),
            ("\u{1b}]52;c;cm0=\u{7}", "^[]52;c;cm0=^G"),
            ("\u{1b}[2J\u{1b}[5i", "^[[2J^[[5i"),
            ("\u{1b}P1;1|\u{1b}\\", "^[P1;1|^[\\"),
            ("\u{9b}2J", "\\x9b2J"),
            ("right\rover", "right^Mover"),
            ("\u{7f}\u{0}", "^?^@"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("\u{1b}", "^["),
            ("\u{1b}[31", "^[[31"),
        ] {
            assert_eq!(escape_text(text), shown, "{text:?}");
        }
        assert_eq!(*escape_for_terminal(b"a\xff\n"), *b"a\\xff\n");
    }

    #[test]
    fn json_stays_what_it_is_and_has_nothing_that_a_terminal_obeys() {
        let text = "\u{9b}2J \u{7f} \u{202e} ünï";
        let document = serde_json::to_string(text).expect("a text");
        let tamed = escape_json(&document);
        assert_eq!(tamed, "\"\\u009b2J \\u007f \\u202e ünï\"");
        assert_eq!(serde_json::from_str::<String>(&tamed).expect("JSON"), text);
    }

    #[test]
    fn a_colour_stays_and_goes_no_further_than_its_line() {
        for (text, shown) in [
            ("\u{1b}[1;31mred\u{1b}[0m\n", "\u{1b}[1;31mred\u{1b}[0m\n"),
            ("\u{1b}[mred\n", "\u{1b}[mred\n"),
            ("\u{1b}[38:5:1mred\nnext\n", "\u{1b}[38:5:1mred\u{1b}[0m\nnext\n"),
            ("\u{1b}[31mno end", "\u{1b}[31mno end\u{1b}[0m"),
        ] {
            assert_eq!(escape_text(text), shown, "{text:?}");
        }
    }
}

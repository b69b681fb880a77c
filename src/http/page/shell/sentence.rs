//! Sentences with names and commands between backquotes, as they are printed on a terminal. A page sets these apart.

use std::fmt;

use askama::filters::{Escaper, Html, HtmlSafe};

/// A sentence as HTML: what stands between two backquotes is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HtmlSentence<'a>(pub(crate) &'a str);

impl fmt::Display for HtmlSentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, (code, after))) =
            rest.split_once('`').and_then(|(before, after)| Some((before, after.split_once('`')?)))
        {
            Html.write_escaped_str(&mut *f, before)?;
            f.write_str("<code>")?;
            Html.write_escaped_str(&mut *f, code)?;
            f.write_str("</code>")?;
            rest = after;
        }
        Html.write_escaped_str(f, rest)
    }
}

// It escapes what it is made of.
impl HtmlSafe for HtmlSentence<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backquotes_is_code_and_everything_is_escaped() {
        for (sentence, html) in [
            ("", ""),
            ("1 of 3 replicas is down", "1 of 3 replicas is down"),
            (
                "`payout`: see `solocron logs payout`",
                "<code>payout</code>: see <code>solocron logs payout</code>",
            ),
            ("a ` alone", "a ` alone"),
            ("`a` ` b", "<code>a</code> ` b"),
            ("`<i>` & \"x\"", "<code>&#60;i&#62;</code> &#38; &#34;x&#34;"),
            ("``", "<code></code>"),
        ] {
            assert_eq!(HtmlSentence(sentence).to_string(), html, "{sentence}");
        }
    }
}

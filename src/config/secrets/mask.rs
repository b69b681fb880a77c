//! Removes the secrets from text that is going to be shown: those of URLs, and values that may be secrets. It hides too
//! much rather than too little, because the parts of a URL or a line with a mistake in it are not certain.

use std::ops::Range;

use crate::config::secrets::{options, values};

use super::values::Secrecy;

/// What is shown in place of a secret; its length reveals nothing.
const STARS: &str = "***";

/// A text without its secrets, with the places at which it was cut.
pub(crate) struct Masked {
    pub(crate) text: String,
    cuts: Vec<Range<usize>>,
}

impl Masked {
    /// Masks any text: a file, a line of it, a message.
    pub(crate) fn new(text: &str) -> Self {
        let mut cuts = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            cuts.extend(secrets_of_line(line.trim_end()).map(|cut| moved(cut, start)));
            start += line.len();
        }
        cuts.extend(options::following(text));
        for (secrecy, value) in values::find(text) {
            let (start, value) = (value.start, &text[value]);
            let secrets =
                if secrecy == Secrecy::Store { secrets_of_url(value, true) } else { literals_of(value) };
            cuts.extend(secrets.into_iter().map(|cut| moved(cut, start)));
        }
        let cuts = united(cuts);
        Self { text: without(text, &cuts), cuts }
    }

    /// Returns where a byte of the original has moved; from inside a secret, to the first of its stars.
    pub(crate) fn place_of(&self, original: usize) -> usize {
        let mut place = original;
        for cut in self.cuts.iter().filter(|cut| cut.start < original) {
            let cut_off = cut.end.min(original) - cut.start;
            place = place + STARS.len().min(if original < cut.end { 0 } else { STARS.len() }) - cut_off;
        }
        place
    }
}

/// Returns a text without its secrets.
pub(crate) fn mask(text: &str) -> String {
    Masked::new(text).text
}

/// Returns a word without the secrets of the URLs and options in it; `None` if there are none.
pub(crate) fn mask_url(word: &str) -> Option<String> {
    let cuts: Vec<_> = secrets_of_line(word).collect();
    (!cuts.is_empty()).then(|| without(word, &cuts))
}

/// Returns a store's URL without its secrets, also if it is malformed.
pub(crate) fn mask_store(url: &str) -> String {
    without(url, &secrets_of_url(url, true))
}

fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        shown.push_str(&text[from..cut.start]);
        shown.push_str(STARS);
        from = cut.end;
    }
    shown + &text[from..]
}

/// Converts a range of a part of a text to one of the whole text, which has `before` bytes before the part.
pub(crate) fn moved(range: Range<usize>, before: usize) -> Range<usize> {
    before + range.start..before + range.end
}

/// Sorts ranges, and unites those that overlap.
fn united(mut cuts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    cuts.sort_by_key(|cut| cut.start);
    let mut united: Vec<Range<usize>> = Vec::new();
    for cut in cuts {
        match united.last_mut() {
            Some(last) if cut.start < last.end => last.end = last.end.max(cut.end),
            _ => united.push(cut),
        }
    }
    united
}

/// Returns the parts of a value that are not references.
fn literals_of(value: &str) -> Vec<Range<usize>> {
    let (mut literals, mut from) = (Vec::new(), 0);
    while let Some(at) = value[from..].find("${").map(|at| from + at) {
        let end = value[at..].find('}').map_or(value.len(), |end| at + end + 1);
        if !is_reference(&value[at..end]) {
            break;
        }
        literals.push(from..at);
        from = end;
    }
    literals.push(from..value.len());
    literals.retain(|literal| !literal.is_empty());
    literals
}

fn secrets_of_line(line: &str) -> impl Iterator<Item = Range<usize>> + use<> {
    let mut cuts = options::of_line(line);
    let mut from = 0;
    while let Some(url) = next_url(line, from) {
        from = url.end;
        let redis = is_store(line, &url);
        cuts.extend(secrets_of_url(&line[url.clone()], redis).into_iter().map(|cut| moved(cut, url.start)));
    }
    cuts.into_iter()
}

/// Whether this is, or is likely meant to be, the URL of a store.
fn is_store(line: &str, url: &Range<usize>) -> bool {
    let before = line[..url.start].trim_end_matches(['"', '\'', '`', ' ', '=', '[']);
    let scheme = &line[url.clone()];
    scheme.starts_with("redis") || scheme.starts_with("valkey") || before.ends_with("store")
}

/// Returns the next `scheme://…`, up to the end of its quotes, or of its word.
fn next_url(line: &str, from: usize) -> Option<Range<usize>> {
    let separator = from + line[from..].find("://")?;
    let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let start = from + line[from..separator].trim_end_matches(letters).len();
    Some(start..end_of_value(line, start, separator))
}

fn end_of_value(line: &str, start: usize, after: usize) -> usize {
    let quote = line[..start].rfind(['"', '\'', '`']).and_then(|at| line[at..].chars().next());
    let rest = &line[after..];
    let in_quotes = match quote {
        Some(quote) => {
            let escaped = |at: usize| quote == '"' && rest[..at].ends_with('\\');
            rest.match_indices(quote).map(|(at, _)| at).find(|at| !escaped(*at)).unwrap_or(rest.len())
        }
        None => rest.len(),
    };
    let redis = line[start..].starts_with("redis");
    let word = if redis { rest.len() } else { rest.find(char::is_whitespace).unwrap_or(rest.len()) };
    after + in_quotes.min(word)
}

fn secrets_of_url(url: &str, store: bool) -> Vec<Range<usize>> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let mut cuts = Vec::new();
    if let Some(at) = rest.rfind('@') {
        match rest[..at].find(':') {
            // With an empty password, the text before the colon may be meant as one.
            Some(colon) if colon + 1 == at => cuts.push(start..start + colon),
            Some(colon) => cuts.push(start + colon + 1..start + at),
            None if store => cuts.push(start..start + at),
            None => {}
        }
    } else if store && !url.starts_with("local") {
        // `redis://:secret` without a host: the text in place of the port is the password.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if authority.split(',').any(has_odd_port) {
            cuts.extend(authority.find(':').map(|colon| start + colon + 1..start + authority.len()));
        }
    }
    // The value of any option is a secret, whatever its name, except a number as `db`, and `insecure`.
    let floor = cuts.last().map_or(start, |cut| cut.end);
    let is_local = url.starts_with("local");
    let begins = |letter: char| matches!(letter, '?' | '&') || !is_local && matches!(letter, ';' | '#');
    for (at, _) in url[floor..].match_indices(begins).filter(|_| store) {
        let option =
            floor + at + 1..url[floor + at + 1..].find(begins).map_or(url.len(), |end| floor + at + 1 + end);
        let name = url[option.clone()].find(['=', ':']).map_or(0, |end| end + 1);
        let value = option.start + name..option.end;
        let is_number = url[value.clone()].bytes().all(|b| b.is_ascii_digit());
        let is_known = is_number && url[option.clone()].starts_with("db=") || url[option] == *"insecure";
        cuts.extend(Some(value).filter(|_| !is_known));
    }
    cuts.retain(|cut| !cut.is_empty() && !is_reference(&url[cut.clone()]));
    cuts
}

/// Whether the text in place of a host's port may be a password.
fn has_odd_port(host: &str) -> bool {
    let after_address = host.rfind(']').map_or(host, |end| &host[end + 1..]);
    let Some((name, port)) = after_address.split_once(':') else { return false };
    let is_nameless = name.is_empty() && after_address.len() == host.len();
    is_nameless || !port.bytes().all(|b| b.is_ascii_digit())
}

/// Whether the text is a reference: `${NAME}` reveals nothing, and helps to find the mistake. Its end may be missing.
fn is_reference(text: &str) -> bool {
    let Some(name) = text.strip_prefix("${") else { return false };
    match name.strip_suffix('}') {
        Some(name) => !name.contains('}'),
        None => name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_a_url_is_quoted() {
        let cases = [
            (r#"store = "redis://user:hunter2@h:1/0""#, r#"store = "redis://user:***@h:1/0""#),
            (r#"store = "redis://:p@ss/w#rd@h""#, r#"store = "redis://:***@h""#),
            (r#"store = "redis://:with space@h""#, r#"store = "redis://:***@h""#),
            (r#"store = "redis://:pa'ss@h""#, r#"store = "redis://:***@h""#),
            (r#"store = "redis://:pa\"ss@h""#, r#"store = "redis://:***@h""#),
            (r#"store = "redis://hunter2@h""#, r#"store = "redis://***@h""#),
            (r#"store = "redis://:hunter2""#, r#"store = "redis://:***""#),
            (r#"store = "redis://u:hunter2:6379/0""#, r#"store = "redis://u:***/0""#),
            (r#"store = "redis://:17:6379/0""#, r#"store = "redis://:***/0""#),
            (r#"store = "redis://:17/0""#, r#"store = "redis://:***/0""#),
            (r#"store = "redis://u:hunter2 h:6379""#, r#"store = "redis://u:***""#),
            (r#"store = "redis://hunter2:@h:6379""#, r#"store = "redis://***:@h:6379""#),
            ("redis+unix:///x;pass=hunter2", "redis+unix:///x;pass=***"),
            ("redis+unix:///x?hunter2", "redis+unix:///x?***"),
            ("redis+unix:///x?pass:hunter2", "redis+unix:///x?pass:***"),
            ("redis://h:6379/0#hunter2", "redis://h:6379/0#***"),
            (r#"stroe = "redis:/u:hunter2@h""#, r#"stroe = "redis:***@h""#),
            (r#"url = "u:hunter2@h""#, r#"url = "u:***@h""#),
            (r#"environment = { DB = "hunter2" }"#, r#"environment = { DB = "***" }"#),
            (r#"envs = { DB = "hunter2" }"#, r#"envs = { DB = "***" }"#),
            (r#""e\u006ev" = { A = "hunter2", B = 5 }"#, r#""e\u006ev" = { A = "***", B = 5 }"#),
            (r#"variables = ["hunter2", "x"]"#, r#"variables = ["***", "***"]"#),
            (r#"store = { host = "h", auth = "hunter2" }"#, r#"store = { host = "***", auth = "***" }"#),
            (r#"bearer = "hunter2""#, r#"bearer = "***""#),
            (r#"store = "user:hunter2@h:6379""#, r#"store = "user:***@h:6379""#),
            (r#""store"="redis//:hunter2@h""#, r#""store"="redis//:***@h""#),
            (r#"store = "redis://:hunter2@h"#, r#"store = "redis://:***@h"#),
            (
                r#"store = "redis+unix:///run/r.sock?pass=hunter2&db=1""#,
                r#"store = "redis+unix:///run/r.sock?pass=***&db=1""#,
            ),
            (
                r#"store = ["redis://:one@a", "redis://:two@b"]"#,
                r#"store = ["redis://:***@a", "redis://:***@b"]"#,
            ),
            (r#"url = "postgres://u:hunter2@h/db""#, r#"url = "postgres://u:***@h/db""#),
            (r#"env = { DB = "postgres://u:hunter2@h/db" }"#, r#"env = { DB = "***" }"#),
            (r#"env = { DB = "a ${NAME} b", C = "${X" }"#, r#"env = { DB = "***${NAME}***", C = "${X" }"#),
            (r#"store = ['u:hunter2@h', "redis:/u:hunter2@h"]"#, r#"store = ['u:***@h', "redis:***@h"]"#),
            ("redis+unix:///x?pas=hunter2", "redis+unix:///x?pas=***"),
            ("redis+unix:///x?Pass=hunter2&db=1&pwd=x", "redis+unix:///x?Pass=***&db=1&pwd=***"),
            ("redis+unix:///x&pass=hunter2", "redis+unix:///x&pass=***"),
            ("store `redis://:hunter2@h` is odd", "store `redis://:***@h` is odd"),
            ("--store=redis://:hunter2@h", "--store=redis://:***@h"),
            (r#"command = ["x", "--token", "hunter2", "y"]"#, r#"command = ["x", "--token", "***", "y"]"#),
        ];
        for (text, shown) in cases {
            assert_eq!(mask(text), shown);
        }
    }

    #[test]
    fn what_is_no_secret_stays_readable() {
        for text in [
            r#"store = "redis://:${REDIS_PASSWORD}@h:6379/0""#,
            r#"store = "redis://:${file:/run/secrets/redis}@h""#,
            r#"store = "redis://:${REDIS_PASSWORD@h:6379/0""#,
            r#"store = "redis://h:6379/0""#,
            r#"store = "redis://[::1]:6379""#,
            r#"store = "local:state/store;1#2.db""#,
            r#"comand = ["ls", "-l"]"#,
            r#"jobs.pay = { shedule = "@daily" }"#,
            r#"shell = "curl http://h:8080/x | ssh user@host""#,
            r#"command = ["git", "clone", "ssh://git@h/x"]"#,
            "# restore = never",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn places_move_with_the_text() {
        let text = "cwd = \"redis://:0123456789@h\"\nb";
        let masked = Masked::new(text);
        let at = |text: &str, what: &str| text.find(what).expect("is there");
        assert_eq!(masked.place_of(at(text, "@h")), at(&masked.text, "@h"));
        assert_eq!(masked.place_of(at(text, "\nb")), at(&masked.text, "\nb"));
        assert_eq!(masked.place_of(at(text, "5678")), at(&masked.text, "***"));
        assert_eq!(masked.place_of(3), 3);
    }
}

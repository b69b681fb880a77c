//! Redis' protocol, as far as a proxy has to read it: where a value ends, which request it is, and what was answered.

use solocron::lease::Answer;

/// The requests of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Request {
    Open,
    Claim,
    Renew,
    Finish,
    Abandon,
    Pulse,
    /// What a connection begins with, and what is asked besides.
    Other,
}

/// The length of the first whole value; `None` while some of it is still to come.
pub(crate) fn value_len(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number: i64 = std::str::from_utf8(&bytes[1..end - 2]).ok()?.parse().unwrap_or(-1);
    let len = match (bytes[0], usize::try_from(number)) {
        (b'$', Ok(length)) => end + length + 2,
        (b'*', Ok(count)) => {
            (0..count).try_fold(end, |at, _| value_len(bytes.get(at..)?).map(|len| at + len))?
        }
        _ => end,
    };
    (len <= bytes.len()).then_some(len)
}

/// The texts of an array of texts.
fn texts(value: &[u8]) -> Vec<String> {
    let lines: Vec<&[u8]> = value.split(|byte| *byte == b'\n').collect();
    if value.first() != Some(&b'*') {
        return Vec::new();
    }
    let mut texts = Vec::new();
    let mut at = lines[0].len() + 1;
    while let Some(len) = value.get(at..).filter(|rest| !rest.is_empty()).and_then(value_len) {
        let element = &value[at..at + len];
        let body = element.iter().position(|byte| *byte == b'\n').map_or(0, |line| line + 1);
        let text = element.get(body..len - 2).unwrap_or_default();
        texts.push(String::from_utf8_lossy(text).into_owned());
        at += len;
    }
    texts
}

/// Which request this is.
pub(crate) fn request(value: &[u8]) -> Request {
    let words = texts(value);
    let is_script = words.first().is_some_and(|name| name.starts_with("EVAL"));
    let keys = words.get(2).and_then(|keys| keys.parse::<usize>().ok());
    let Some(keys) = keys.filter(|_| is_script) else { return Request::Other };
    // The scripts differ in how many arguments they take.
    match (keys, words.len() - 3 - keys) {
        (3, 17) => Request::Open,
        (3, 23) => Request::Claim,
        (3, 11) => Request::Renew,
        (3, 18) => Request::Finish,
        (3, 5) => Request::Abandon,
        (2, 4) if words[3].ends_with(":nodes") => Request::Pulse,
        _ => Request::Other,
    }
}

/// Which answer of the lease protocol this is.
pub(crate) fn answer(value: &[u8]) -> Option<&'static str> {
    let name = texts(value).into_iter().next()?;
    Answer::NAMES.into_iter().find(|answer| *answer == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(words: &[&str]) -> Vec<u8> {
        let words: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        format!("*{}\r\n{words}", words.matches("\r\n").count() / 2).into_bytes()
    }

    #[test]
    fn values_are_told_apart_and_half_ones_are_waited_for() {
        let both = [array(&["won", "17", "", "a\r\nb"]), b"+OK\r\n".to_vec()].concat();
        let first = value_len(&both).expect("a whole value");
        assert_eq!(&both[first..], b"+OK\r\n");
        for cut in 0..first {
            assert_eq!(value_len(&both[..cut]), None, "{cut}");
        }
        assert_eq!(value_len(b"$-1\r\n"), Some(5));
        assert_eq!(value_len(b"*2\r\n:1\r\n:0\r\n"), Some(12));
    }

    #[test]
    fn requests_and_answers_have_their_names() {
        let renewal: Vec<&str> = ["EVALSHA", "00", "3", "solocron:{test/a}:state", "l", "r"]
            .into_iter()
            .chain(["x"; 11])
            .collect();
        assert_eq!(request(&array(&renewal)), Request::Renew);
        assert_eq!(request(&array(&["SELECT", "0"])), Request::Other);
        assert_eq!(request(&array(&["EVAL", "return 1", "0"])), Request::Other);
        assert_eq!(answer(&array(&["held", "17"])), Some("held"));
        assert_eq!(answer(b"-ERR no\r\n"), None);
    }
}

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

/// A replication id of Redis.
const ERA_LENGTH: usize = 40;

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

/// The values of an array.
fn elements(value: &[u8]) -> Vec<&[u8]> {
    if value.first() != Some(&b'*') {
        return Vec::new();
    }
    let mut elements = Vec::new();
    let mut at = value.iter().position(|byte| *byte == b'\n').map_or(value.len(), |end| end + 1);
    while let Some(len) = value.get(at..).filter(|rest| !rest.is_empty()).and_then(value_len) {
        elements.push(&value[at..at + len]);
        at += len;
    }
    elements
}

fn text(value: &[u8]) -> String {
    let body = value.iter().position(|byte| *byte == b'\n').map_or(0, |line| line + 1);
    String::from_utf8_lossy(value.get(body..value.len() - 2).unwrap_or_default()).into_owned()
}

/// The texts of an array of texts.
fn texts(value: &[u8]) -> Vec<String> {
    elements(value).into_iter().map(text).collect()
}

/// Which request this is, or all of these are: those of one call are of one kind.
pub(crate) fn request(value: &[u8]) -> Request {
    let words = texts(value);
    let is_script = words.first().is_some_and(|name| name.starts_with("EVAL"));
    let keys = words.get(2).and_then(|keys| keys.parse::<usize>().ok());
    let Some(keys) = keys.filter(|keys| is_script && *keys > 0) else { return Request::Other };
    if keys == 2 && words[3].ends_with(":nodes") {
        return Request::Pulse;
    }
    // The scripts differ in how many arguments each request has, which comes first of all. Those of an opening begin with the
    // era, which is longer than any name of a node here.
    let each = words.get(3 + keys).filter(|_| keys % 3 == 0).map(String::as_str);
    let begins_with_era = words.get(4 + keys).is_some_and(|first| first.len() >= ERA_LENGTH);
    match each {
        Some("26") if begins_with_era => Request::Open,
        Some("29") => Request::Claim,
        Some("13") => Request::Renew,
        Some("20") => Request::Finish,
        Some("5") => Request::Abandon,
        _ => Request::Other,
    }
}

/// Which answers of the lease protocol these are.
pub(crate) fn answers(value: &[u8]) -> Vec<&'static str> {
    let named = |name: String| Answer::NAMES.into_iter().find(|answer| *answer == name);
    let first = |answer: &[u8]| elements(answer).first().map(|name| text(name));
    elements(value).into_iter().filter_map(first).filter_map(named).collect()
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
        let keys = ["solocron:{test/a}:state", "l", "r"];
        let renewal = [&["EVALSHA", "00", "3"][..], &keys, &["13"], &["x"; 13]].concat();
        assert_eq!(request(&array(&renewal)), Request::Renew);
        let era = "e".repeat(ERA_LENGTH);
        let opening = [&["EVALSHA", "00", "3"][..], &keys, &["26", &era], &["x"; 25]].concat();
        assert_eq!(request(&array(&opening)), Request::Open);
        let claims = [&["EVALSHA", "00", "6"][..], &keys, &keys, &["29"], &["x"; 58]].concat();
        assert_eq!(request(&array(&claims)), Request::Claim);
        assert_eq!(request(&array(&["SELECT", "0"])), Request::Other);
        assert_eq!(request(&array(&["EVAL", "return 1", "0"])), Request::Other);
        let both =
            [b"*3\r\n".to_vec(), array(&["held", "17"]), b"-ERR no\r\n".to_vec(), array(&["won"])].concat();
        assert_eq!(answers(&both), ["held", "won"]);
        assert_eq!(answers(b"-ERR no\r\n"), [""; 0]);
    }
}

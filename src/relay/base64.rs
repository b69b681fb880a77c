//! Bytes as text, by RFC 4648: what jobs print need not be text, and slips hold text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What fills the last group of four letters.
const FILL: u8 = b'=';

/// Returns the text of these bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = ALPHABET.get((bits >> (18 - 6 * at)) as usize & 63).copied().unwrap_or(FILL);
            text.push(char::from(if at > group.len() { FILL } else { letter }));
        }
    }
    text
}

/// Returns the bytes of this text; `None` if it is not the text of any.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.as_bytes().chunks(4);
    let count = groups.len();
    for (number, group) in groups.enumerate() {
        let letters = group.iter().rposition(|letter| *letter != FILL)? + 1;
        let is_whole = letters == 4 || letters >= 2 && number + 1 == count;
        if group.len() != 4 || !is_whole {
            return None;
        }
        let mut bits = 0_u32;
        for at in 0..4 {
            let letter = group.get(at).copied().filter(|_| at < letters).unwrap_or(b'A');
            bits = bits << 6 | value(letter)?;
        }
        bytes.extend(bits.to_be_bytes().into_iter().skip(1).take(letters - 1));
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    match letter {
        b'A'..=b'Z' => Some(u32::from(letter - b'A')),
        b'a'..=b'z' => Some(u32::from(letter - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(letter - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        let examples = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in examples.into_iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn what_is_not_the_text_of_bytes_is_refused() {
        for text in ["Z", "Zg", "Zg=", "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm-_", "Zm 9", "Zm9vÄ", "=m9v"]
        {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_are_read_as_they_are_written(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = encode(&bytes);
            prop_assert_eq!(text.len(), bytes.len().div_ceil(3) * 4);
            prop_assert_eq!(decode(&text), Some(bytes));
        }

        #[test]
        fn no_text_is_a_panic(text in ".*") {
            let _ = decode(&text);
        }
    }
}

//! The last 4 KiB of a job's output, both streams in the order in which they were read. It never holds more.

/// How much of an output records and the journal store, in bytes.
const LENGTH: usize = 4 * 1024;

/// Returns the stored end of a run after one more attempt: each attempt is headed by its number. `before` is the end
/// of all attempts up to `number - 1`, with headings if these are several; `first` is the number of the first
/// attempt.
pub fn tail_of_attempts(before: &str, first: u32, number: u32, tail: &str) -> String {
    let headed = |number: u32, tail: &str| match tail {
        "" => String::new(),
        _ if tail.ends_with('\n') => format!("attempt {number}:\n{tail}"),
        _ => format!("attempt {number}:\n{tail}\n"),
    };
    let before = if number == first.saturating_add(1) { headed(first, before) } else { before.to_owned() };
    let mut text = before + &headed(number, tail);
    cut_front(&mut text);
    text
}

/// Cuts the text to its last 4 KiB, or a little less, so that it begins with a whole character.
fn cut_front(text: &mut String) {
    let mut surplus = text.len().saturating_sub(LENGTH);
    while !text.is_char_boundary(surplus) {
        surplus += 1;
    }
    text.drain(..surplus);
}

/// The end of what was printed so far.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(LENGTH)..];
        let surplus = (self.bytes.len() + new.len()).saturating_sub(LENGTH);
        self.bytes.drain(..surplus);
        self.bytes.extend_from_slice(new);
    }

    /// Returns the tail as text of at most 4 KiB; bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn text(&self) -> String {
        let cut_in_character = if self.bytes.len() == LENGTH {
            self.bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count()
        } else {
            0
        };
        let mut text = String::from_utf8_lossy(&self.bytes[cut_in_character..]).into_owned();
        cut_front(&mut text);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(chunks: &[&[u8]]) -> String {
        let mut tail = Tail::default();
        for chunk in chunks {
            tail.take(chunk);
        }
        tail.text()
    }

    #[test]
    fn a_short_output_is_kept_as_it_is() {
        assert_eq!(tail(&[b"one\n", b"", "zwölf\n".as_bytes()]), "one\nzwölf\n");
        assert_eq!(tail(&[]), "");
    }

    #[test]
    fn of_a_long_output_the_end_is_kept_however_it_came() {
        let long: Vec<u8> = (0..20_000u32).map(|n| b'a' + (n % 26) as u8).collect();
        let end = String::from_utf8(long[long.len() - LENGTH..].to_vec()).unwrap();
        assert_eq!(tail(&[&long]), end);
        assert_eq!(tail(&long.chunks(7).collect::<Vec<_>>()), end);
        assert_eq!(tail(&long.chunks(LENGTH).collect::<Vec<_>>()), end);
    }

    #[test]
    fn of_several_attempts_each_is_headed_and_the_last_ones_are_kept() {
        let two = tail_of_attempts("one", 1, 2, "two\n");
        assert_eq!(two, "attempt 1:\none\nattempt 2:\ntwo\n");
        let three = tail_of_attempts(&two, 1, 3, "");
        assert_eq!(three, two, "it printed nothing");
        assert_eq!(tail_of_attempts("", 1, 2, ""), "");
        let long = tail_of_attempts(&two, 1, 4, &"x".repeat(LENGTH - 30));
        assert!(
            long.len() == LENGTH && long.contains("two\nattempt 4:\nxxx") && !long.contains("one"),
            "{long}"
        );
    }

    #[test]
    fn a_character_cut_in_two_is_left_out() {
        let text = "ö".repeat(LENGTH / 2) + "x";
        assert_eq!(tail(&[text.as_bytes()]), "ö".repeat(LENGTH / 2 - 1) + "x");
    }

    #[test]
    fn text_made_of_foreign_bytes_stays_within_the_limit() {
        let text = tail(&[&[0xFF; 2 * LENGTH]]);
        assert!(text.len() <= LENGTH && text.len() > LENGTH - 3, "{}", text.len());
        assert!(text.chars().all(|c| c == char::REPLACEMENT_CHARACTER));
    }
}

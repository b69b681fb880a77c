//! Output as plain text: for files and for programs, which must not get what a terminal would obey.

use super::output_line::OutputLine;
use super::stored_line::StoredLine;

/// Returns the line that stands for bytes that were not kept.
pub(crate) fn gap_line(bytes: u64) -> String {
    format!("solocron: {bytes} bytes of the log are missing here, as `max_output` says\n")
}

/// Returns these lines of a log without colours, with every other control character and escape sequence as U+FFFD.
pub(crate) fn plain_text(lines: &[u8]) -> String {
    lines.split_inclusive(|&byte| byte == b'\n').fold(String::new(), |mut text, line| {
        if let Some(StoredLine { stamp, is_err, continues, .. }) = StoredLine::parse(line) {
            let (stream, more) = (if is_err { "err" } else { "out" }, if continues { "+" } else { "" });
            text.extend([stamp, " ", stream, more, " "]);
        }
        text.extend(OutputLine::stored(line).spans.iter().map(|span| span.text.as_str()));
        if line.ends_with(b"\n") {
            text.push('\n');
        }
        text
    })
}

/// Returns how many of these bytes are whole lines.
pub(crate) fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_times_and_streams_and_nothing_that_a_terminal_obeys() {
        let stamp = "2026-11-20T12:00:00.123Z";
        for (stored, shown) in [
            (" out one\n", " out one\n"),
            (" err \u{1b}[31mred\u{1b}[0m\n", " err red\n"),
            (" out+ \u{1b}]0;title\u{7}x\n", " out+ \u{fffd}x\n"),
            (" out 10 %\r20 %\n", " out 20 %\n"),
            (" out a\u{202e}b\n", " out a\\u{202e}b\n"),
            (" out no newline", " out no newline"),
        ] {
            let text = plain_text(format!("{stamp}{stored}").as_bytes());
            assert_eq!(text, format!("{stamp}{shown}"), "{stored:?}");
        }
        assert_eq!(plain_text(b"torn \x1b[2J\xff\n\nlast"), "torn \u{fffd}\u{fffd}\n\nlast");
        assert_eq!(plain_text(gap_line(96).as_bytes()), gap_line(96));
        assert_eq!(plain_text(b""), "");
    }

    #[test]
    fn the_beginning_of_a_line_is_not_a_whole_one() {
        for (bytes, whole) in [("", 0), ("one", 0), ("one\n", 4), ("one\ntw", 4), ("one\n\n", 5)] {
            assert_eq!(whole_lines(bytes.as_bytes()), whole, "{bytes:?}");
        }
    }
}

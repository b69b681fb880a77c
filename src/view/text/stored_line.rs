//! A line of a run's log, as `run/output` writes it: `2026-11-20T12:00:00.123Z out text`.

/// The length of a line's time, `2026-11-20T12:00:00.123Z`.
const STAMP: usize = 24;

/// The parts of a line of a run's log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredLine<'a> {
    /// When the line was complete, by its replica's clock: RFC 3339 in UTC, with milliseconds.
    pub(crate) stamp: &'a str,
    /// Whether the job wrote it to stderr.
    pub(crate) is_err: bool,
    /// Whether it is a piece of a long line, which continues in the next piece of the same stream.
    pub(crate) continues: bool,
    /// The job's own bytes, without the newline.
    pub(crate) text: &'a [u8],
}

impl<'a> StoredLine<'a> {
    /// Parses a line, with or without its newline; `None` if it is not in the format of the log, as the line
    /// that stands for missing bytes, or one that a crash has torn.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (stamp, rest) = line.split_at_checked(STAMP)?;
        let stamp =
            std::str::from_utf8(stamp).ok().filter(|stamp| stamp.is_ascii() && stamp.ends_with('Z'))?;
        let (word, text) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
        let is_err = match word {
            b"out" => false,
            b"err" => true,
            _ => return None,
        };
        let (continues, text) = text.strip_prefix(b"+").map_or((false, text), |text| (true, text));
        Some(Self { stamp, is_err, continues, text: text.strip_prefix(b" ")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_taken_apart_and_what_is_none_is_left() {
        let stamp = "2026-11-20T12:00:00.123Z";
        let line = |is_err, continues, text| Some(StoredLine { stamp, is_err, continues, text });
        for (rest, parsed) in [
            (" out one\n", line(false, false, &b"one"[..])),
            (" err two", line(true, false, b"two")),
            (" out+ long\n", line(false, true, b"long")),
            (" err \n", line(true, false, b"")),
            (" out  two spaces\n", line(false, false, b" two spaces")),
            (" put one\n", None),
            (" out", None),
            (" ou", None),
            ("", None),
        ] {
            let text = format!("{stamp}{rest}");
            assert_eq!(StoredLine::parse(text.as_bytes()), parsed, "{text:?}");
        }
        let missing = b"solocron: 96 bytes of the log are missing here, as `max_output` says\n";
        assert_eq!(StoredLine::parse(missing), None);
    }
}

//! What a replica leaves in the slip of an asker.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::base64;

/// A piece has at most this many bytes: with its text it fits into a slip, which holds 64 KiB.
pub const PIECE_BYTES: usize = 45 << 10;

/// A part of the answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputAnswer {
    /// The number of the question.
    pub number: u32,
    /// Which part of the answer it is, from 0: an asker that misses one asks again.
    pub part: u32,
    /// The number of bytes that the run printed before these.
    pub from: u64,
    /// How many bytes just before these were not kept.
    pub missing: u64,
    /// What the run printed. Empty if it has printed nothing more so far.
    #[serde(with = "bytes_text")]
    pub bytes: Vec<u8>,
    /// How many bytes the run has printed.
    pub size: u64,
    /// Why no further part follows; `None` if one does.
    pub end: Option<OutputEnd>,
}

/// Why an answer ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputEnd {
    /// It has lasted long enough: whoever wants more asks again.
    Pause,
    /// The replica answers as many others as it may: whoever asks again later may be answered.
    Busy,
    /// The run has ended, and everything was sent.
    Over,
    /// The replica has no log of this run, and does not run it.
    Absent,
    /// The log cannot be read, for this reason.
    Unreadable(String),
}

impl OutputAnswer {
    /// Returns the text to leave.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an answer has string keys and no failing values")
    }

    /// Parses a text that was left; `None` if no replica left it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|answer| answer.bytes.len() <= PIECE_BYTES)
    }
}

/// Bytes as text.
mod bytes_text {
    use super::{Deserialize, Deserializer, Serializer, base64, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&base64::encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        base64::decode(&String::deserialize(from)?).ok_or_else(|| de::Error::custom("no text of bytes"))
    }
}

#[cfg(test)]
mod tests {
    use crate::store::SLIP_BYTES;

    use super::*;

    fn answer(bytes: &[u8], end: Option<OutputEnd>) -> OutputAnswer {
        OutputAnswer { number: 3, part: 1, from: 7, missing: 2, bytes: bytes.to_vec(), size: 9, end }
    }

    #[test]
    fn answers_are_read_as_they_are_written() {
        use OutputEnd::{Absent, Busy, Over, Pause, Unreadable};
        let ends = [Pause, Busy, Over, Absent, Unreadable("the disk does not answer".into())];
        for end in ends.into_iter().map(Some).chain([None]) {
            let answer = answer(b"\xff\0\n", end);
            assert_eq!(OutputAnswer::parse(&answer.to_text()), Some(answer));
        }
        let text = r#"{"number":3,"part":1,"from":7,"missing":2,"bytes":"b25lCg==","size":9,"end":"over"}"#;
        assert_eq!(answer(b"one\n", Some(Over)).to_text(), text, "replicas of two releases read it");
    }

    #[test]
    fn the_longest_piece_fits_into_a_slip() {
        let longest = OutputAnswer {
            number: u32::MAX,
            part: u32::MAX,
            from: u64::MAX,
            missing: u64::MAX,
            bytes: vec![0xff; PIECE_BYTES],
            size: u64::MAX,
            end: Some(OutputEnd::Pause),
        };
        let text = longest.to_text();
        assert!(text.len() <= SLIP_BYTES, "{} bytes", text.len());
        assert_eq!(OutputAnswer::parse(&text), Some(longest));
    }

    #[test]
    fn what_no_replica_left_is_refused() {
        let too_long = answer(&[0; PIECE_BYTES + 1], None).to_text();
        let good = answer(b"one\n", None).to_text();
        for text in ["", "{}", &good.replace("b25l", "b25*"), &good.replace("null", "\"later\""), &too_long] {
            assert_eq!(OutputAnswer::parse(text), None, "{text:.99}");
        }
    }
}

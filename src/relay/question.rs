//! What an asker leaves in the slip of a replica.

use serde::{Deserialize, Serialize};

use crate::job::{JobName, RunId};
use crate::run::LogStart;

/// A longer text was not left by solocron.
const LONGEST: usize = 1024;

/// Asks for what a run prints, from somewhere on, for the next seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputQuestion {
    /// The slip in which the answers are left. All questions of an asker name the same.
    pub asker: RunId,
    /// The number of the question, from 1. A question replaces the asker's earlier ones.
    pub number: u32,
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
    /// Where the output begins that the asker wants.
    pub start: LogStart,
    /// Whether the asker wants what is printed so far, and does not wait for more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub up_to_now: bool,
}

impl OutputQuestion {
    /// Returns the text to leave.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a question has string keys and no failing values")
    }

    /// Parses a text that was left; `None` if no asker left it. Names are well formed then, so that no path is in them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST { None } else { serde_json::from_str(text).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> OutputQuestion {
        OutputQuestion {
            asker: "01939d2c-0000-7000-8000-000000000001".parse().expect("an id"),
            number: 3,
            job: JobName::parse("backup").expect("a name"),
            run: "01939d2c-0000-7000-8000-000000000002".parse().expect("an id"),
            start: LogStart::Byte(7),
            up_to_now: false,
        }
    }

    #[test]
    fn questions_are_read_as_they_are_written() {
        for start in [LogStart::Byte(u64::MAX), LogStart::LastBytes(65_536), LogStart::LastLines(20)] {
            for up_to_now in [true, false] {
                let question = OutputQuestion { start, up_to_now, ..question() };
                assert_eq!(OutputQuestion::parse(&question.to_text()), Some(question));
            }
        }
        let text = r#"{"asker":"01939d2c-0000-7000-8000-000000000001","number":3,"job":"backup","run":"01939d2c-0000-7000-8000-000000000002","start":{"byte":7}}"#;
        assert_eq!(question().to_text(), text, "replicas of two releases read it");
    }

    #[test]
    fn what_no_asker_left_is_refused() {
        let good = question().to_text();
        for text in [
            String::new(),
            "{}".to_owned(),
            "[".repeat(1_000),
            good.replace("backup", "../../etc"),
            good.replace("backup", ".hidden"),
            good.replace("backup", &"b".repeat(65)),
            good.replace("-000000000002", "-00000000000/../x"),
            good.replace(":3,", ":-3,"),
            good.replace("byte", "bytes"),
            good.replace("}}", &format!("}}{}}}", " ".repeat(1_024))),
        ] {
            assert_eq!(OutputQuestion::parse(&text), None, "{text}");
        }
    }
}

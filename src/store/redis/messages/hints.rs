//! Hints as they are published: several in one message, each a reply in lines.

use crate::job::JobName;
use crate::lease::Era;
use crate::store::Hint;
use crate::store::redis::connection::batch::MOST;
use crate::store::redis::reply;
use crate::store::redis::reply::Texts;

use super::subscription::{ChannelLimits, Published};

impl Published for Hint {
    /// Further hints are dropped, and their ticks are claimed. A message holds at most as many hints as requests share a call,
    /// each of a few hundred bytes; some ten thousand hints are parsed per second.
    const LIMITS: ChannelLimits =
        ChannelLimits { waiting: 8_192, longest: 32 << 10, per_second: 2 << 20, untaken: 8 << 20 };

    const UNHEARD: &'static str =
        "messages of other replicas are not received: each tick costs some more requests";

    fn parse(message: &[u8]) -> impl Iterator<Item = Self> {
        read(message)
    }
}

/// Parses the hints of a message: no more than requests share a call.
fn read(message: &[u8]) -> impl Iterator<Item = Hint> {
    // A hint that is not UTF-8 does not invalidate the others.
    let texts = message.split(|byte| *byte == b'\x1e').take(MOST);
    texts.filter_map(|text| std::str::from_utf8(text).ok().and_then(hint))
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(message: &[u8]) {
    assert!(read(message).count() <= MOST);
}

/// Parses `ERA`, `JOB` and an answer, one text per line; `None` if the text is no hint.
fn hint(text: &str) -> Option<Hint> {
    let mut texts = Texts::of_lines(text);
    let (era, job) = (Era(texts.text()), JobName::parse(&texts.text()).ok()?);
    reply::reply(texts).ok().map(|reply| Hint { job, era, reply })
}

#[cfg(test)]
mod tests {
    use crate::job::Outcome;
    use crate::lease::Answer;
    use crate::time::UtcMillis;

    use super::*;

    #[test]
    fn a_hint_is_the_answer_that_whoever_asks_would_get() {
        let hint = hint("e1\npay\ndecided\n1700\n1600\n30000\n\n\n\n\nn2\nrunning\n").expect("a hint");
        assert_eq!((hint.job.as_str(), hint.era), ("pay", Era("e1".into())));
        assert_eq!((hint.reply.now, hint.reply.mark), (UtcMillis(1_700), Some(UtcMillis(1_600))));
        let Answer::Decided { by: Some(by), how: Some(how) } = hint.reply.answer else {
            panic!("no decision")
        };
        assert_eq!((by.as_str(), how.outcome), ("n2", Outcome::Running));
    }

    #[test]
    fn what_is_no_hint_is_passed_over() {
        for text in ["", "e1", "e1\npay", "e1\nno name!\ndecided\n1\n1\n1", "e1\npay\ndecided\nx"] {
            assert_eq!(hint(text), None, "{text:?}");
        }
    }

    #[test]
    fn one_message_may_hold_several_hints() {
        let of = |job: &str| format!("e1\n{job}\nabandoned\n1700\n1600\n30000\n\n\n\n");
        let no_text = [b"e1\nc\nabandoned\n1700\n1600\n30000\n\n\xff\n\n\n".as_slice(), b"\xfe"];
        let (a, b) = (of("a").into_bytes(), of("b").into_bytes());
        let message = [&a, b"no hint".as_slice(), no_text[0], no_text[1], &b].join(&0x1e);
        let jobs: Vec<String> = read(&message).map(|hint| hint.job.to_string()).collect();
        assert_eq!(jobs, ["a", "b"]);
    }

    #[test]
    fn of_messages_that_no_store_sends_little_is_read() {
        let hint = "e1\na\nabandoned\n1700\n1600\n30000\n\n\n\n";
        assert_eq!(read(vec![hint; 40].join("\x1e").as_bytes()).count(), MOST);
        assert_eq!(read(b"\xff\xfe").count(), 0);
    }
}

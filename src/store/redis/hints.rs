//! Receives hints by publish and subscribe, over a connection of its own that is opened again whenever it ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{RedisError, RedisResult};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use crate::job::JobName;
use crate::lease::Era;
use crate::store::{FailureCause, Hint, StoreError};

use super::connection::batch::MOST;
use super::connection::connect::CONNECT_TIMEOUT;
use super::connection::server::ServerAddress;
use super::connection::stream::Untaken;
use super::reply;
use super::reply::Texts;

/// At most this many hints wait to be processed. Further ones are dropped, and their ticks are claimed.
const WAITING: usize = 8_192;

/// A longer message was not sent by solocron: one message holds at most as many hints as requests share a call, each of a
/// few hundred bytes.
const LONGEST: usize = 32 * 1_024;

/// At most this many bytes are parsed per second, some ten thousand hints. The rest is skipped, so that no sender can keep
/// a replica busy.
const PER_SECOND: usize = 2 * 1_024 * 1_024;

/// At most this many bytes may wait to be processed: as many as may be parsed in some seconds.
const UNTAKEN: usize = 8 << 20;

/// The pauses between two attempts to subscribe; the second applies if the server denies this user the channel.
const RETRIES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Subscribes to the channel until the receiver is dropped.
pub(super) fn listen(server: ServerAddress, channel: String, label: String) -> mpsc::Receiver<Hint> {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut is_said = false;
        while !tell.is_closed() {
            let mut pause = RETRIES.0;
            if let Err(error) = hear(&server, &channel, &tell).await {
                let error = StoreError::NotSent(server.diagnose(&error));
                // That the server cannot be reached is logged elsewhere.
                if is_denied(&error) {
                    pause = RETRIES.1;
                    if !std::mem::replace(&mut is_said, true) {
                        warn!(store = %label, %channel, %error, help = error.help(),
                            "messages of other replicas are not received: each tick costs some more requests");
                    }
                }
                debug!(store = %label, %error, "messages of other replicas are not received");
            }
            tokio::select! {
                () = tell.closed() => {}
                () = sleep(pause) => {}
            }
        }
    });
    told
}

/// Returns why the server denies this user the channel; `None` if it does not, or if that could not be found out.
pub(super) async fn refusal(server: &ServerAddress, channel: &str) -> Option<StoreError> {
    let error = subscribe(server, channel, &Untaken::up_to(UNTAKEN)).await.err()??;
    Some(StoreError::Refused(server.diagnose(&error))).filter(is_denied)
}

fn is_denied(error: &StoreError) -> bool {
    error.cause() == Some(&FailureCause::NoRight)
}

/// Opens a connection that is subscribed to the channel; `Err(None)` if it was not ready in time.
async fn subscribe(
    server: &ServerAddress,
    channel: &str,
    untaken: &Arc<Untaken>,
) -> Result<PubSub, Option<RedisError>> {
    let subscribing = async {
        let mut line = server.listen(untaken).await?;
        line.subscribe(channel).await?;
        RedisResult::Ok(line)
    };
    match timeout(CONNECT_TIMEOUT, subscribing).await {
        Ok(subscribed) => subscribed.map_err(Some),
        Err(_) => Err(None),
    }
}

/// Receives hints over one connection, until it ends.
async fn hear(server: &ServerAddress, channel: &str, tell: &mpsc::Sender<Hint>) -> Result<(), RedisError> {
    let untaken = Untaken::up_to(UNTAKEN);
    let line = match subscribe(server, channel, &untaken).await {
        Ok(line) => line,
        Err(error) => return error.map_or(Ok(()), Err),
    };
    let mut messages = line.into_on_message();
    let mut ration = Ration::default();
    loop {
        tokio::select! {
            () = tell.closed() => return Ok(()),
            message = messages.next() => {
                let Some(message) = message else { return Ok(()) };
                untaken.take();
                let message = message.get_payload_bytes();
                if !ration.takes(message.len(), Instant::now()) {
                    continue;
                }
                for hint in read(message) {
                    // If the receiver is full, the hint is dropped.
                    let _ = tell.try_send(hint);
                }
            }
        }
    }
}

/// How many bytes were parsed in the current second.
#[derive(Debug, Default)]
struct Ration {
    since: Option<Instant>,
    read: usize,
}

impl Ration {
    /// Whether a message of this length may be parsed. If so, it is counted.
    fn takes(&mut self, length: usize, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.read) = (Some(now), 0);
        }
        let fits = length <= LONGEST && self.read + length <= PER_SECOND;
        self.read += if fits { length } else { 0 };
        fits
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
pub(super) fn try_reading(message: &[u8]) {
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

    #[test]
    fn long_messages_are_passed_over_and_so_is_what_exceeds_the_ration_of_a_second() {
        let (mut ration, now) = (Ration::default(), Instant::now());
        assert!(!ration.takes(LONGEST + 1, now));
        assert!((0..PER_SECOND / LONGEST).all(|_| ration.takes(LONGEST, now)));
        assert!(!ration.takes(1, now + Duration::from_millis(999)));
        assert!(ration.takes(1, now + Duration::from_secs(1)));
    }
}

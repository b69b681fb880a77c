//! Hints by publish and subscribe, over a connection of their own that is made anew whenever it ends.

use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{Client, RedisError, RedisResult};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::job::JobName;
use crate::lease::Era;
use crate::store::Hint;

use super::connect::CONNECT_TIMEOUT;
use super::reply::{self, Texts};
use super::wording::shown;

/// Hints that wait to be taken in. One that finds no place among them is dropped, and its tick asked for.
const WAITING: usize = 8_192;

/// Between two attempts to listen; the second where the server does not let this user.
const RETRIES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Listens on the channel until the receiver is dropped.
pub(super) fn listen(client: Client, channel: String, label: String) -> mpsc::Receiver<Hint> {
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut is_said = false;
        while !tell.is_closed() {
            let mut pause = RETRIES.0;
            if let Err(error) = hear(&client, &channel, &tell).await {
                let error = shown(&error);
                // That the server cannot be reached, others say.
                if is_denied(&error) {
                    pause = RETRIES.1;
                    if !std::mem::replace(&mut is_said, true) {
                        warn!(store = %label, %channel, %error,
                            "what other replicas decide is not heard: each tick costs some more requests");
                    }
                }
                debug!(store = %label, %error, "hints are not heard");
            }
            tokio::select! {
                () = tell.closed() => {}
                () = sleep(pause) => {}
            }
        }
    });
    told
}

/// Why the server does not let this user listen to the channel, if that is so.
pub(super) async fn refusal(client: &Client, channel: &str) -> Option<String> {
    let error = subscribe(client, channel).await.err()??;
    Some(shown(&error)).filter(|said| is_denied(said))
}

fn is_denied(error: &str) -> bool {
    error.starts_with("NOPERM")
}

/// A connection that listens; no error where none came up in time.
async fn subscribe(client: &Client, channel: &str) -> Result<PubSub, Option<RedisError>> {
    let subscribing = async {
        let mut line = client.get_async_pubsub().await?;
        line.subscribe(channel).await?;
        RedisResult::Ok(line)
    };
    match timeout(CONNECT_TIMEOUT, subscribing).await {
        Ok(subscribed) => subscribed.map_err(Some),
        Err(_) => Err(None),
    }
}

/// Listens over one connection, until it ends.
async fn hear(client: &Client, channel: &str, tell: &mpsc::Sender<Hint>) -> Result<(), RedisError> {
    let line = match subscribe(client, channel).await {
        Ok(line) => line,
        Err(error) => return error.map_or(Ok(()), Err),
    };
    let mut messages = line.into_on_message();
    loop {
        tokio::select! {
            () = tell.closed() => return Ok(()),
            message = messages.next() => {
                let Some(message) = message else { return Ok(()) };
                for hint in read(&String::from_utf8_lossy(message.get_payload_bytes())) {
                    // Full: it is done without.
                    let _ = tell.try_send(hint);
                }
            }
        }
    }
}

/// Reads the hints of a message.
fn read(message: &str) -> impl Iterator<Item = Hint> {
    message.split('\x1e').filter_map(hint)
}

/// Reads `ERA`, `JOB` and an answer, a text per line; what is none is no hint.
fn hint(text: &str) -> Option<Hint> {
    let mut texts = Texts::of_lines(text);
    let (era, job) = (Era(texts.text()), JobName::parse(&texts.text()).ok()?);
    reply::reply(texts).ok().map(|reply| Hint { job, era, reply })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Outcome, UtcMillis};
    use crate::lease::Answer;

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
        let message = [of("a"), "no hint".to_owned(), of("b")].join("\x1e");
        let jobs: Vec<String> = read(&message).map(|hint| hint.job.to_string()).collect();
        assert_eq!(jobs, ["a", "b"]);
    }
}

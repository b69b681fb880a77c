//! Subscribes to a channel over a connection of its own that is opened again whenever it ends. Any client that may publish can
//! send anything there: little of it is parsed, and little waits.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{RedisError, RedisResult};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use crate::store::redis::connection::connect::CONNECT_TIMEOUT;
use crate::store::redis::connection::server::ServerAddress;
use crate::store::redis::connection::stream::Untaken;
use crate::store::{FailureCause, StoreError};

/// The pauses between two attempts to subscribe; the second applies if the server denies this user the channel.
const RETRIES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A trial subscription expects little more than its own answer.
const UNTAKEN_IN_TRIAL: usize = 1 << 20;

/// What is published on a channel.
pub(crate) trait Published: Sized + Send + 'static {
    /// How much of it is accepted.
    const LIMITS: ChannelLimits;

    /// Says for the log that it is not received, and what happens then.
    const UNHEARD: &'static str;

    /// Parses what a message holds; nothing if no store sent it.
    fn parse(message: &[u8]) -> impl Iterator<Item = Self>;
}

/// How much is accepted of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChannelLimits {
    /// At most this many values wait to be processed. Further ones are dropped.
    pub(crate) waiting: usize,
    /// A message of more bytes was not sent by solocron, and is skipped.
    pub(crate) longest: usize,
    /// At most this many bytes are parsed per second. The rest is skipped, so that no sender can keep a replica busy.
    pub(crate) per_second: usize,
    /// If more bytes than these wait to be processed, the connection is given up, and opened again.
    pub(crate) untaken: usize,
}

/// Subscribes to the channel until the receiver is dropped. `label` names the server for people.
pub(crate) fn listen<T: Published>(
    server: ServerAddress,
    channel: String,
    label: String,
) -> mpsc::Receiver<T> {
    let (tell, told) = mpsc::channel(T::LIMITS.waiting);
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
                        warn!(store = %label, %channel, %error, help = error.help(), "{}", T::UNHEARD);
                    }
                }
                debug!(store = %label, %channel, %error, "messages of other replicas are not received");
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
pub(crate) async fn refusal(server: &ServerAddress, channel: &str) -> Option<StoreError> {
    let error = subscribe(server, channel, &Untaken::up_to(UNTAKEN_IN_TRIAL)).await.err()??;
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

/// Receives what is published over one connection, until it ends.
async fn hear<T: Published>(
    server: &ServerAddress,
    channel: &str,
    tell: &mpsc::Sender<T>,
) -> Result<(), RedisError> {
    let untaken = Untaken::up_to(T::LIMITS.untaken);
    let line = match subscribe(server, channel, &untaken).await {
        Ok(line) => line,
        Err(error) => return error.map_or(Ok(()), Err),
    };
    let mut messages = line.into_on_message();
    let mut ration = Ration::of(T::LIMITS);
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
                for value in T::parse(message) {
                    // If the receiver is full, the value is dropped.
                    let _ = tell.try_send(value);
                }
            }
        }
    }
}

/// How many bytes were parsed in the current second.
#[derive(Debug)]
struct Ration {
    limits: ChannelLimits,
    since: Option<Instant>,
    read: usize,
}

impl Ration {
    fn of(limits: ChannelLimits) -> Self {
        Self { limits, since: None, read: 0 }
    }

    /// Whether a message of this length may be parsed. If so, it is counted.
    fn takes(&mut self, length: usize, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.read) = (Some(now), 0);
        }
        let fits = length <= self.limits.longest && self.read + length <= self.limits.per_second;
        self.read += if fits { length } else { 0 };
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_passed_over_and_so_is_what_exceeds_the_ration_of_a_second() {
        let limits = ChannelLimits { waiting: 1, longest: 100, per_second: 1_000, untaken: 1_000 };
        let (mut ration, now) = (Ration::of(limits), Instant::now());
        assert!(!ration.takes(101, now));
        assert!((0..10).all(|_| ration.takes(100, now)));
        assert!(!ration.takes(1, now + Duration::from_millis(999)));
        assert!(ration.takes(1, now + Duration::from_secs(1)));
    }
}

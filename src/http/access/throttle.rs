//! Slows down those who try tokens. A right token is always accepted: behind a proxy all clients share one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::time::BootInstant;

/// How long the wrong tokens of an address count.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// So many wrong tokens of an address are answered as such; further ones are told to wait.
const ALLOWED: u32 = 5;

/// The most addresses that are remembered. Beyond that the oldest is forgotten.
const MOST: usize = 1_024;

/// The answer to a wrong token takes at least this long.
const WRONG_TAKES: Duration = Duration::from_millis(200);

/// No more answers to wrong tokens wait at once: each has a connection meanwhile, which others want. Beyond that, an address is
/// told to wait in place of its answer.
const WAITING: usize = 16;

/// For how long, then.
const WAITS_FOR: Duration = Duration::from_secs(1);

/// The addresses that sent wrong tokens lately.
#[derive(Debug)]
pub(crate) struct WrongTokens {
    seen: Mutex<HashMap<IpAddr, (BootInstant, u32)>>,
    waiting: Semaphore,
}

impl Default for WrongTokens {
    fn default() -> Self {
        Self { seen: Mutex::default(), waiting: Semaphore::new(WAITING) }
    }
}

impl WrongTokens {
    /// Waits for the time that the answer to a wrong token takes, unless too many wait already: returns how long the address
    /// should wait then.
    pub(crate) async fn delay(&self) -> Option<Duration> {
        match self.waiting.try_acquire() {
            Ok(_permit) => {
                sleep(WRONG_TAKES).await;
                None
            }
            Err(_) => Some(WAITS_FOR),
        }
    }

    /// Counts a wrong token from this address. Returns how long the address should wait, if it has sent too many.
    pub(crate) fn count(&self, from: IpAddr, now: BootInstant) -> Option<Duration> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, (since, _)| now.since(*since) < COUNTED_FOR);
        let from = network_of(from);
        if seen.len() >= MOST && !seen.contains_key(&from) {
            let oldest = seen.iter().min_by_key(|(_, (since, _))| *since).map(|(address, _)| *address);
            oldest.map(|address| seen.remove(&address));
        }
        let (since, count) = seen.entry(from).or_insert((now, 0));
        *count = count.saturating_add(1);
        (*count > ALLOWED).then(|| COUNTED_FOR.saturating_sub(now.since(*since)))
    }
}

/// Returns the network that one user of IPv6 is given; an IPv4 address itself.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn from_the_sixth_wrong_token_in_a_minute_on_an_address_is_told_to_wait() {
        let wrong = WrongTokens::default();
        for second in 0..5 {
            assert_eq!(wrong.count(ip("10.0.0.1"), at(second)), None);
        }
        assert_eq!(wrong.count(ip("10.0.0.1"), at(10)), Some(Duration::from_secs(50)));
        assert_eq!(wrong.count(ip("10.0.0.2"), at(10)), None, "another address");
        assert_eq!(wrong.count(ip("10.0.0.1"), at(60)), None, "a minute later");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_to_many_wrong_tokens_at_once_do_not_all_wait() {
        let wrong = WrongTokens::default();
        let delays = futures_util::future::join_all((0..WAITING + 3).map(|_| wrong.delay())).await;
        assert_eq!(delays.iter().filter(|told| **told == Some(WAITS_FOR)).count(), 3);
        assert_eq!(wrong.delay().await, None, "a moment later");
    }

    #[test]
    fn all_addresses_of_one_ipv6_network_count_together() {
        let wrong = WrongTokens::default();
        let counts = (0..6).map(|last| wrong.count(ip(&format!("2001:db8::{last}")), at(1)));
        assert_eq!(counts.filter(Option::is_some).count(), 1);
        assert_eq!(wrong.count(ip("2001:db8:0:1::1"), at(1)), None);
    }

    #[test]
    fn no_more_than_a_thousand_addresses_are_remembered() {
        let wrong = WrongTokens::default();
        for address in 0..5_000_u32 {
            wrong.count(IpAddr::V4(address.into()), at(1));
        }
        assert_eq!(wrong.seen.lock().expect("a lock").len(), MOST);
    }
}

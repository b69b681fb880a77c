use crate::lease::Era;
use crate::replica::cluster::roster::tests::peer;
use crate::store::{Diagnosis, Pulse};
use crate::time::UtcMillis;

use super::*;

fn node(name: &str) -> NodeName {
    NodeName::parse(name).expect("name")
}

/// The exchange of this second, while these other replicas are alive.
fn exchange(second: u64, others: &[&str]) -> Exchange {
    let now = UtcMillis(i64::try_from(second).expect("small") * 1_000);
    let peers = others.iter().map(|name| peer(name, now.0)).collect();
    let pulse = Pulse {
        now,
        era: Era("e".into()),
        marker: Some(Marker("m".into())),
        count: 0,
        peers,
        notices: Vec::new(),
    };
    let at = BootInstant(Duration::from_secs(second));
    Exchange { sent: at, received: at, wall: now, result: Ok(pulse) }
}

/// What the replica `a` knows before its first exchange.
fn health(expected: Option<u32>) -> StoreHealth {
    StoreHealth::new("store".into(), node("a"), RunId::new(), expected, String::new())
}

#[test]
fn fewer_replicas_than_expected_are_said_after_a_minute_and_once_a_minute() {
    let mut health = health(Some(3));
    let mut store_clock = None;
    let mut said = Vec::new();
    for second in 1..=400 {
        // All replicas are live at first, then one is missing, comes back for a moment, and is missing again.
        let others: &[&str] = if second < 10 || second == 200 { &["b", "c"] } else { &["b"] };
        health.take_in(&exchange(second, others), &mut store_clock);
        let too_few = |event: &Event| matches!(event, Event::Peer(PeerEvent::TooFew { .. }));
        said.extend(health.take_events().filter(too_few).map(|event| (second, event)));
    }
    let too_few = Event::Peer(PeerEvent::TooFew { live: 2, expected: 3 });
    let times = [70, 130, 190, 261, 321, 381];
    assert_eq!(said, times.map(|second| (second, too_few.clone())));
}

#[test]
fn another_marker_means_that_the_store_forgot_whoever_found_it_first() {
    let mut health = health(None);
    let mut store_clock = None;
    let mut change = |second: u64, marker: &str| {
        // Another process of this name has sent a heartbeat meanwhile.
        let mut next = exchange(second, &["a"]);
        next.result.as_mut().expect("an answer").marker = Some(Marker(marker.into()));
        health.take_in(&next, &mut store_clock)
    };
    assert_eq!(change(1, "m"), HealthChange::Reached, "what was before is unknown");
    assert_eq!(change(2, "n"), HealthChange::Reopen);
    assert_eq!(change(3, "n"), HealthChange::Reached, "once");
    assert_eq!(
        change(7_200, "n"),
        HealthChange::Stepped,
        "however long the store was away: no loss, but a clock unseen"
    );
}

#[test]
fn a_new_era_with_another_clock_leaves_the_last_time_of_the_old_one_unchanged() {
    let mut health = health(None);
    let mut store_clock = None;
    health.take_in(&exchange(1, &[]), &mut store_clock);
    let mut next = exchange(2, &[]);
    let last_heard = exchange(1, &[]).wall;
    let pulse = next.result.as_mut().expect("an answer");
    (pulse.era, pulse.marker) = (Era("f".into()), Some(Marker("n".into())));
    pulse.now = pulse.now.plus(Duration::from_secs(60));
    assert_eq!(health.take_in(&next, &mut store_clock), HealthChange::Reopen);
    assert_eq!(store_clock.expect("it was heard").heard(), last_heard);
}

#[test]
fn each_cause_of_an_outage_is_told_once() {
    let (mut health, mut store_clock) = (health(None), None);
    let refused = || StoreError::NotSent("Connection refused".into());
    let password =
        || StoreError::Refused(Diagnosis::of(FailureCause::PasswordMissing, "a password is missing"));
    let mut told = |error: Option<StoreError>| {
        let answered = exchange(1, &[]);
        let result = error.map_or(answered.result.clone(), Err);
        health.take_in(&Exchange { result, ..answered }, &mut store_clock);
        health.take_events().filter(|event| matches!(event, Event::StoreLost(_))).count()
    };
    // A store that comes up, and then requires a password, after which it is restarted.
    let outage = [refused(), refused(), password(), password(), refused(), password()];
    assert_eq!(outage.map(|error| told(Some(error))), [1, 0, 1, 0, 0, 0]);
    assert_eq!([told(None), told(Some(password()))], [0, 1]);
}

#[test]
fn a_name_is_taken_while_another_replica_beats_under_it() {
    let (mut health, mut store_clock) = (health(None), None);
    let mut is_taken = |second: u64, others: &[&str]| {
        let next = exchange(second, others);
        health.take_in(&next, &mut store_clock);
        health.is_name_taken(next.received)
    };
    assert!(!is_taken(1, &["a"]), "its former life");
    assert!(is_taken(2, &["a"]));
    assert!(is_taken(5, &["b"]), "it may beat a moment later");
    assert!(!is_taken(10, &["b"]));
}

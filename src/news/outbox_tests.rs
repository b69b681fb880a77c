//! When lines are due, what is in them, and what is lost.

use std::time::Duration;

use crate::events::{Event, EventWord, NewsItem};
use crate::job::{JobName, NodeName, RunId};
use crate::lease::Pausing;
use crate::store::{LONGEST_LINE, StoreError};
use crate::time::{BootInstant, UtcMillis};

use super::line::NewsLine;
use super::outbox::Outbox;

/// The time between two lines of a replica of three.
const EVERY: Duration = Duration::from_secs(3);

fn at(millis: u64) -> BootInstant {
    BootInstant(Duration::from_millis(millis))
}

fn told(event: &Event) -> NewsItem {
    let node = NodeName::parse("n1").expect("a name");
    NewsItem::of(event, &node, UtcMillis(1_700_000_000_000)).expect("it is told")
}

/// An item that nobody has to see at once.
fn usual() -> NewsItem {
    let job = JobName::parse("backup").expect("a name");
    told(&Event::KillHeard { job, run: RunId::new(), by: "ann@db1".into() })
}

fn urgent() -> NewsItem {
    told(&Event::ClockStepped)
}

fn sent(outbox: &mut Outbox, millis: u64) -> NewsLine {
    let line = outbox.next_line(at(millis)).expect("something to send");
    assert!(line.len() <= LONGEST_LINE, "{}", line.len());
    NewsLine::parse(&line).expect("a line")
}

fn words(line: &NewsLine) -> Vec<EventWord> {
    line.items.iter().map(|item| item.item.what()).collect()
}

#[test]
fn usual_items_wait_for_the_pace_and_urgent_ones_a_second_at_most() {
    let mut outbox = Outbox::new(RunId::new());
    assert_eq!(outbox.due(EVERY), None);
    outbox.put(usual());
    assert_eq!(outbox.due(EVERY), Some(at(0)), "the first one need not wait");
    sent(&mut outbox, 1_000);
    outbox.settle(Ok(()), at(1_001));
    assert_eq!(outbox.due(EVERY), None);
    outbox.put(usual());
    assert_eq!(outbox.due(EVERY), Some(at(4_000)));
    outbox.put(urgent());
    assert_eq!(outbox.due(EVERY), Some(at(0)), "a line without urgent items holds none back");
    assert_eq!(words(&sent(&mut outbox, 1_100)), [EventWord::ClockStepped, EventWord::KillOrdered]);
    outbox.settle(Ok(()), at(1_101));
    outbox.put(urgent());
    assert_eq!(outbox.due(EVERY), Some(at(2_100)));
}

#[test]
fn a_line_that_the_store_may_have_taken_is_sent_again_as_it_is() {
    let mut outbox = Outbox::new(RunId::new());
    outbox.put(urgent());
    let first = outbox.next_line(at(0));
    outbox.settle(Err(StoreError::Unknown("no answer".into())), at(500));
    outbox.put(urgent());
    assert_eq!(outbox.due(EVERY), Some(at(2_500)));
    assert_eq!(outbox.next_line(at(2_500)), first);
    outbox.settle(Err(StoreError::Refused("no room".into())), at(2_600));
    assert_eq!(outbox.due(EVERY), Some(at(12_600)));
    outbox.put(told(&Event::StoreReached { store: "local".into() }));
    assert_eq!(outbox.due(EVERY), Some(at(0)), "the store has just answered");
    assert_eq!(outbox.next_line(at(2_700)), first);
    outbox.settle(Ok(()), at(2_701));
    let second = sent(&mut outbox, 2_800);
    assert_eq!((second.number, second.items.len()), (2, 2));
}

#[test]
fn while_the_store_is_away_items_wait_within_a_bound_and_usual_ones_are_lost_first() {
    let mut outbox = Outbox::new(RunId::new());
    assert_eq!(outbox.put(urgent()), 0);
    assert_eq!((0..1_999).map(|_| outbox.put(usual())).sum::<u64>(), 0);
    assert_eq!((0..1_999).map(|_| outbox.put(urgent())).sum::<u64>(), 1_999);
    outbox.note_lost(1);
    let mut lines = Vec::new();
    while let Some(due) = outbox.due(EVERY) {
        lines.push(sent(&mut outbox, u64::try_from(due.0.as_millis()).expect("small")));
        outbox.settle(Ok(()), due);
    }
    assert!(lines.iter().all(|line| line.lost == 2_000));
    let words: Vec<EventWord> = lines.iter().flat_map(words).collect();
    assert_eq!(words, [EventWord::ClockStepped; 2_000]);
    assert_eq!(outbox.put(usual()), 0);
}

#[test]
fn the_longest_item_fits_into_a_line() {
    let longest = || {
        let text = "\u{1}".repeat(9_000);
        let said = Pausing { until: None, at: UtcMillis(0), by: text.clone(), why: Some(text) };
        let job = JobName::parse(&"j".repeat(64)).expect("a name");
        told(&Event::PausingHeard { job, said })
    };
    let mut outbox = Outbox::new(RunId::new());
    outbox.put(longest());
    outbox.put(longest());
    assert_eq!(sent(&mut outbox, 0).items.len(), 2);
}

#[test]
fn what_is_told_again_is_marked_and_waits_like_what_is_usual() {
    let mut outbox = Outbox::new(RunId::new());
    outbox.put_again(vec![urgent()]);
    outbox.put(urgent());
    let line = sent(&mut outbox, 0);
    assert_eq!(line.items.iter().map(|item| item.again).collect::<Vec<_>>(), [false, true]);
}

//! How a feed is read, and what is kept of it.

use crate::job::NodeName;
use crate::view::timeline::NewsKind;

use super::*;

fn at(millis: u64) -> BootInstant {
    BootInstant(Duration::from_millis(millis))
}

fn progress() -> FeedProgress {
    FeedProgress::of(RunId::new(), UtcMillis(1_000))
}

fn line(id: &str, text: String) -> FeedLine {
    FeedLine { id: id.parse().expect("an id"), text: Some(text) }
}

/// A line of a process with this number.
fn told(life: RunId, number: u64, lost: u64) -> FeedLine {
    let text = format!(r#"{{"life":"{life}","line":{number},"lost":{lost},"news":[]}}"#);
    line(&format!("{number}-0"), text)
}

fn lost(read: &LineRead) -> Option<u64> {
    if let LineRead::News(_, lost) = read { Some(*lost) } else { None }
}

fn news(second: i64, what: NewsKind) -> TimelineNews {
    let node = NodeName::parse("n2").expect("a name");
    TimelineNews { node, at: UtcMillis(second * 1_000), what }
}

fn seconds(news: &[TimelineNews]) -> Vec<i64> {
    news.iter().map(|news| news.at.0 / 1_000).collect()
}

#[test]
fn a_feed_is_read_every_second_and_sooner_on_a_wake_however_many_come() {
    let mut feed = progress();
    assert_eq!(feed.due(), at(0));
    feed.begin(at(5_000));
    feed.end(false, at(5_010));
    assert_eq!(feed.due(), at(6_000));
    feed.wake();
    feed.wake();
    assert_eq!(feed.due(), at(5_200));
    feed.begin(at(5_200));
    feed.end(true, at(5_300));
    feed.wake();
    assert_eq!(feed.due(), at(10_300), "it could not be read");
    feed.start_over();
    assert_eq!(feed.due(), at(5_400), "the store answers again");
    feed.begin(at(5_400));
    feed.end(false, at(5_400));
    feed.expect_no_wakes();
    assert_eq!(feed.due(), at(5_900));
}

#[test]
fn a_line_that_is_there_twice_is_read_once_and_own_lines_are_passed_over() {
    let (mut feed, life) = (progress(), RunId::new());
    assert_eq!(lost(&feed.take_in(&told(life, 1, 5))), Some(0), "what was lost before is nothing new");
    assert_eq!(feed.take_in(&told(life, 1, 5)), LineRead::Known);
    assert_eq!(lost(&feed.take_in(&told(life, 2, 7))), Some(2));
    assert_eq!(lost(&feed.take_in(&told(RunId::new(), 1, 0))), Some(0));
    let own = feed.own;
    assert_eq!(feed.take_in(&told(own, 9, 0)), LineRead::Known);
    assert_eq!(feed.after(), Some("9-0".parse().expect("an id")));
    feed.start_over();
    assert_eq!(feed.after(), None);
    assert_eq!(feed.take_in(&told(life, 2, 7)), LineRead::Known);
}

#[test]
fn what_is_no_line_is_passed_over_and_the_next_one_is_read() {
    let mut feed = progress();
    assert_eq!(feed.take_in(&line("1-0", "hello".into())), LineRead::Malformed);
    let foreign = FeedLine { text: None, ..line("1-1", String::new()) };
    assert_eq!(feed.take_in(&foreign), LineRead::Malformed);
    assert_eq!(lost(&feed.take_in(&told(RunId::new(), 2, 0))), Some(0));
}

#[test]
fn forged_processes_do_not_fill_the_memory() {
    let mut feed = progress();
    (0..2 * MOST_LIVES).for_each(|_| drop(feed.take_in(&told(RunId::new(), 1, 0))));
    assert_eq!(feed.lives.len(), MOST_LIVES);
}

#[test]
fn what_happened_before_anybody_looked_is_nothing_new() {
    let feed = progress();
    assert!(!feed.is_new(UtcMillis(999)) && feed.is_new(UtcMillis(1_000)));
}

#[test]
fn an_hour_is_kept_in_the_order_of_time_and_nothing_twice() {
    let (mut recent, now) = (RecentNews::default(), UtcMillis(4_000_000));
    for (second, what) in [
        (3_000, NewsKind::StoreReached),
        (2_000, NewsKind::StoreLost),
        (3_000, NewsKind::StoreReached),
        (3_000, NewsKind::ClockStepped),
        (399, NewsKind::StoreLost),
        (4_061, NewsKind::StoreLost),
    ] {
        recent.add(news(second, what), now);
    }
    assert_eq!(seconds(&recent.told), [2_000, 3_000, 3_000]);
    let own = [news(2_500, NewsKind::Draining), news(100, NewsKind::Draining)];
    assert_eq!(seconds(&recent.with(own.into_iter(), now)), [2_000, 2_500, 3_000, 3_000]);
    recent.add(news(6_000, NewsKind::StoreLost), UtcMillis(6_000_000));
    assert_eq!(seconds(&recent.told), [3_000, 3_000, 6_000]);
}

#[test]
fn of_too_many_news_the_newest_are_kept() {
    let (mut recent, now) = (RecentNews::default(), UtcMillis(10_000));
    for milli in 0..5_010 {
        recent.add(TimelineNews { at: UtcMillis(milli), ..news(0, NewsKind::StoreLost) }, now);
    }
    assert_eq!(recent.told.len(), MOST_KEPT);
    assert_eq!(recent.told.first().map(|oldest| oldest.at), Some(UtcMillis(10)));
}

#[test]
fn the_board_waits_for_the_first_read_only() {
    let mut recent = RecentNews::default();
    assert!(!recent.is_read());
    recent.note_read();
    assert!(recent.is_read());
}

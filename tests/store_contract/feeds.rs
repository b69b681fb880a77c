//! Feeds: in order, capped, and read from a line on.

use solocron::store::{Feed, FeedId, FeedLine, LONGEST_LINE, StoreError};

use crate::world::{Replica, World, patiently};

async fn append(replica: &Replica, feed: Feed, text: &str) {
    patiently(|| replica.store.append(feed, text)).await.expect("it is appended");
}

async fn newest(replica: &Replica, feed: Feed, after: Option<FeedId>, count: usize) -> Vec<FeedLine> {
    replica.store.newest(feed, after, count).await.expect("the feed is read")
}

fn texts(lines: &[FeedLine]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_deref().expect("a text")).collect()
}

pub(crate) async fn lines_come_in_the_order_in_which_they_were_appended(world: &World) {
    let (a, b) = (world.replica().await, world.replica().await);
    assert_eq!(newest(&a, Feed::Recent, None, 10).await, []);
    for (replica, text) in [(&a, "1"), (&b, "2\n\u{1b}ü"), (&a, "")] {
        append(replica, Feed::Recent, text).await;
    }
    append(&b, Feed::Acts, "act").await;

    let all = newest(&b, Feed::Recent, None, 10).await;

    assert_eq!(texts(&all), ["1", "2\n\u{1b}ü", ""]);
    assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id), "{all:?}");
    assert_eq!(newest(&a, Feed::Recent, None, 2).await, all[1..], "the newest are wanted");
    assert_eq!(newest(&a, Feed::Recent, None, 0).await, []);
    assert_eq!(newest(&a, Feed::Recent, Some(all[0].id), 10).await, all[1..]);
    assert_eq!(newest(&a, Feed::Recent, Some(all[0].id), 1).await, all[2..]);
    assert_eq!(newest(&a, Feed::Recent, Some(all[2].id), 10).await, []);
    append(&a, Feed::Recent, "4").await;
    assert_eq!(texts(&newest(&b, Feed::Recent, Some(all[2].id), 10).await), ["4"]);
    assert_eq!(texts(&newest(&a, Feed::Acts, None, 10).await), ["act"]);
}

pub(crate) async fn a_feed_keeps_its_newest_lines(world: &World) {
    const BEYOND: usize = 30;
    let (replica, kept) = (world.replica().await, Feed::Acts.kept());
    let numbers: Vec<String> = (0..kept + BEYOND).map(|n| n.to_string()).collect();
    // One after the other: lines that are sent together may arrive in any order.
    for text in &numbers {
        append(&replica, Feed::Acts, text).await;
    }

    let lines = newest(&replica, Feed::Acts, None, usize::MAX).await;

    assert_eq!(texts(&lines), numbers[BEYOND..]);
    assert_eq!(texts(&newest(&replica, Feed::Acts, None, 301).await), numbers[numbers.len() - 301..]);
    let middle = lines[lines.len() - 400].id;
    assert_eq!(newest(&replica, Feed::Acts, Some(middle), usize::MAX).await, lines[lines.len() - 399..]);
}

pub(crate) async fn a_line_that_is_too_long_is_refused_and_changes_nothing(world: &World) {
    let (replica, longest) = (world.replica().await, "x".repeat(LONGEST_LINE));
    append(&replica, Feed::Recent, &longest).await;

    let error = replica.store.append(Feed::Recent, &format!("{longest}x")).await.expect_err("it is too long");

    assert!(
        matches!(&error, StoreError::Refused(why) if why.contains("`recent`") && why.contains("8193")),
        "{error:?}"
    );
    assert_eq!(texts(&newest(&replica, Feed::Recent, None, 10).await), [longest]);
}

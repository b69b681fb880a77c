//! Slips: emptied once, gone after their ttl, and never large.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use solocron::job::RunId;
use solocron::store::{SLIP_BYTES, SLIP_TEXTS, Slip, StoreError};

use crate::support::sample::node;
use crate::world::{Replica, World, patiently};

const TTL: Duration = Duration::from_secs(15);

async fn leave(replica: &Replica, slip: &Slip, text: &str) {
    patiently(|| replica.store.leave(slip, text, TTL)).await.expect("it is left");
}

async fn collect(replica: &Replica, slip: &Slip) -> Vec<String> {
    patiently(|| replica.store.collect(slip)).await.expect("it is collected")
}

/// Why a text is not left.
async fn refusal(replica: &Replica, slip: &Slip, text: &str) -> String {
    match patiently(|| replica.store.leave(slip, text, TTL)).await {
        Err(StoreError::Refused(why)) => why.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) async fn what_is_left_is_collected_once_and_in_its_order(world: &World) {
    let (a, b) = (world.replica().await, world.replica().await);
    let slips = [Slip::Ask(node("a")), Slip::Ask(node("b")), Slip::Tell(RunId::new())];
    assert_eq!(collect(&a, &slips[0]).await, [""; 0]);
    let numbers: Vec<String> = (0..12).map(|n| format!("{n} \u{1b}ü")).collect();
    for text in &numbers {
        leave(&b, &slips[0], text).await;
    }
    leave(&a, &slips[2], "").await;

    assert_eq!(collect(&a, &slips[0]).await, numbers);

    assert_eq!(collect(&a, &slips[0]).await, [""; 0], "it was collected");
    assert_eq!(collect(&b, &slips[1]).await, [""; 0], "it is another's");
    leave(&b, &slips[0], "again").await;
    assert_eq!(collect(&a, &slips[0]).await, ["again"]);
    assert_eq!(collect(&b, &slips[2]).await, [""]);
}

pub(crate) async fn a_slip_is_gone_after_its_ttl(world: &World) {
    let (replica, slip) = (world.replica().await, Slip::Ask(node("a")));
    let ms = Duration::from_millis;
    patiently(|| replica.store.leave(&slip, "short", ms(1))).await.expect("it is left");
    // No event tells that a ttl is over.
    tokio::time::sleep(ms(50)).await;
    assert_eq!(collect(&replica, &slip).await, [""; 0]);

    patiently(|| replica.store.leave(&slip, "short", ms(1_000))).await.expect("it is left");
    leave(&replica, &slip, "long").await;
    tokio::time::sleep(ms(1_050)).await;
    let texts = collect(&replica, &slip).await;
    assert!(texts.ends_with(&["long".to_owned()]), "the later ttl counts for all: {texts:?}");
}

pub(crate) async fn a_slip_takes_64_kib_and_no_more(world: &World) {
    let (replica, slip) = (world.replica().await, Slip::Tell(RunId::new()));
    let (half, rest) = ("ü".repeat(SLIP_BYTES / 4), "x".repeat(SLIP_BYTES / 2 + 1));
    leave(&replica, &slip, &half).await;

    let why = refusal(&replica, &slip, &rest).await;
    assert!(why.contains(&slip.to_string()) && why.contains("full"), "{why}");
    assert!(
        ["32768 bytes in 1 texts", "32769 bytes more", "65536"].iter().all(|words| why.contains(words)),
        "{why}"
    );

    leave(&replica, &slip, &rest[1..]).await;
    assert!(refusal(&replica, &slip, "x").await.contains("65536 bytes in 2 texts"));
    leave(&replica, &Slip::Tell(RunId::new()), "another slip has room").await;
    assert_eq!(collect(&replica, &slip).await, [&half, &rest[1..]]);
    leave(&replica, &slip, &"x".repeat(SLIP_BYTES)).await;
    assert_eq!(collect(&replica, &slip).await.concat().len(), SLIP_BYTES);
    let why = refusal(&replica, &slip, &"x".repeat(SLIP_BYTES + 1)).await;
    assert!(why.contains("a text of 65537 bytes is too long"), "{why}");
}

pub(crate) async fn a_slip_takes_256_texts_and_no_more(world: &World) {
    let (replica, slip) = (world.replica().await, Slip::Ask(node("a")));
    leave(&replica, &slip, "").await;
    // No more at once than a busy server answers in time.
    let others = stream::iter(1..SLIP_TEXTS).map(|_| leave(&replica, &slip, ""));
    others.buffer_unordered(16).collect::<Vec<()>>().await;

    let why = refusal(&replica, &slip, "").await;

    assert!(why.contains("0 bytes in 256 texts"), "{why}");
    assert_eq!(collect(&replica, &slip).await, [""; SLIP_TEXTS]);
}

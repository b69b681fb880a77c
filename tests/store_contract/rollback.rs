//! A store that goes back to an older state in the same life.

use solocron::job::UtcMillis;
use solocron::lease::Era;
use solocron::store::{Beat, Marker, Told};

use crate::cases::beat;
use crate::world::World;

pub(crate) async fn a_store_that_knows_less_of_a_heartbeat_than_it_told_is_known_by_another_marker(
    world: &World,
) {
    let (a, b) = (world.replica().await, world.replica().await);
    let first = a.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let marker = first.marker.clone().expect("a marker");
    let told = |seconds: i64| {
        Some(Told {
            at: UtcMillis(first.now.0 + seconds * 1_000),
            number: 0,
            era: first.era.clone(),
            marker: marker.clone(),
        })
    };
    let other_era = told(5).map(|told| Told { era: Era("other".into()), ..told });
    let other_marker = told(5).map(|told| Told { marker: Marker("other".into()), ..told });
    for known in [told(0), told(7_200), other_era, other_marker] {
        let pulse = a.store.pulse(Some(&Beat { told: known.clone(), ..beat("a") })).await.expect("a pulse");
        assert_eq!(pulse.marker, first.marker, "{known:?}");
    }
    // As after a day on which nobody heard of it, or after the clock was set back: others have removed what it said.
    for (name, seconds) in [("c", -86_400), ("d", 20)] {
        let silent = Beat { told: told(seconds), ..beat(name) };
        assert_eq!(a.store.pulse(Some(&silent)).await.expect("a pulse").marker, first.marker, "{name}");
    }

    for forgotten in [beat("a"), beat("e")] {
        let before = a.store.pulse(None).await.expect("a pulse").marker.expect("a marker");
        let seconds = if forgotten.node == beat("a").node { 30 } else { 0 };
        let told = told(seconds).map(|told| Told { marker: before.clone(), ..told });
        let after = a.store.pulse(Some(&Beat { told, ..forgotten })).await.expect("a pulse").marker;
        assert_ne!(after.as_ref(), Some(&before));
        assert_eq!(b.store.pulse(Some(&beat("b"))).await.expect("a pulse").marker, after, "all are told");
    }
}

pub(crate) async fn a_heartbeat_whose_answer_was_lost_after_the_clock_was_set_back_is_no_sign_of_a_store_that_went_back(
    world: &World,
) {
    let a = world.replica().await;
    let first = a.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let (marker, era) = (first.marker.clone().expect("a marker"), first.era.clone());
    // By the clock before it was set back.
    let told = Told { at: UtcMillis(first.now.0 + 60_000), number: 7, era, marker: marker.clone() };
    let numbered = |number, told| Beat { number, told, ..beat("a") };
    let lost = numbered(8, None);
    a.store.pulse(Some(&lost)).await.expect("a pulse");
    let next = Beat { life: lost.life, ..numbered(9, Some(told.clone())) };
    assert_eq!(a.store.pulse(Some(&next)).await.expect("a pulse").marker, Some(marker.clone()));

    let older = Beat { life: lost.life, ..numbered(6, None) };
    a.store.pulse(Some(&older)).await.expect("a pulse");
    let after = a.store.pulse(Some(&next)).await.expect("a pulse").marker;
    assert_ne!(after, Some(marker), "a store that has an older heartbeat went back");
}

//! A store that goes back to an older state in the same life.

use solocron::lease::Era;
use solocron::store::{Beat, Marker, Told};

use crate::cases::beat;
use crate::world::World;

pub(crate) async fn a_store_that_knows_less_of_a_heartbeat_than_it_told_is_known_by_another_marker(
    world: &World,
) {
    let (a, b) = (world.replica().await, world.replica().await);
    let first = a.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let second = b.store.pulse(Some(&beat("b"))).await.expect("a pulse");
    assert!(second.count > first.count, "all are counted together");
    let marker = first.marker.clone().expect("a marker");
    let told = |count| Some(Told { count, era: first.era.clone(), marker: marker.clone() });
    let other_era = told(99).map(|told| Told { era: Era("other".into()), ..told });
    let other_marker = told(99).map(|told| Told { marker: Marker("other".into()), ..told });
    for known in [told(first.count), other_era, other_marker] {
        let pulse = a.store.pulse(Some(&Beat { told: known.clone(), ..beat("a") })).await.expect("a pulse");
        assert_eq!(pulse.marker, first.marker, "{known:?}");
    }
    // As after a day on which nobody heard of it, or after the clock was set back: others have removed what it said.
    let removed = Beat { told: told(second.count), ..beat("c") };
    assert_eq!(a.store.pulse(Some(&removed)).await.expect("a pulse").marker, first.marker);

    for forgotten in [beat("a"), beat("d")] {
        let before = a.store.pulse(None).await.expect("a pulse").marker.expect("a marker");
        let told = told(99).map(|told| Told { marker: before.clone(), ..told });
        let after = a.store.pulse(Some(&Beat { told, ..forgotten })).await.expect("a pulse").marker;
        assert_ne!(after.as_ref(), Some(&before));
        assert_eq!(b.store.pulse(Some(&beat("b"))).await.expect("a pulse").marker, after, "all are told");
    }
}

pub(crate) async fn a_heartbeat_that_is_late_or_lost_its_answer_is_no_sign_of_a_rollback(world: &World) {
    let a = world.replica().await;
    let first = a.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let (marker, era) = (first.marker.clone().expect("a marker"), first.era.clone());
    let told = Some(Told { count: first.count, era, marker: marker.clone() });
    // The answer to this one is lost, or it was sent long before the first, and delivered now.
    a.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let next = a.store.pulse(Some(&Beat { told, ..beat("a") })).await.expect("a pulse");
    assert_eq!(next.marker, Some(marker));
}

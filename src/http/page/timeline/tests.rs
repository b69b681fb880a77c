//! What a timeline is drawn with.

use crate::http::page::home::HomeAddress;
use crate::http::page::testing::{Scene, ran};
use crate::job::{JobName, Outcome, Reason};
use crate::lease::HistoryEntry;

use super::drawing::{Percent, TimelineDrawing};

fn drawing(scene: &Scene, budget: usize) -> TimelineDrawing {
    TimelineDrawing::of(&scene.picture(&HomeAddress::default(), None), budget)
}

#[test]
fn places_are_percentages_of_the_width() {
    for (x, text) in [(0, "0%"), (900, "75%"), (1_200, "100%"), (1, "0.08%"), (30, "2.5%"), (7, "0.58%")] {
        assert_eq!(Percent(x).to_string(), text);
    }
}

#[test]
fn lanes_are_as_high_as_their_rows_and_marks_are_within_theirs() {
    let drawing = drawing(&Scene::at_three(), 100_000);
    assert_eq!(drawing.labels.len(), 4, "three replicas, and what did not run");
    assert_eq!(drawing.borders.last(), Some(&drawing.lanes_height));
    for mark in &drawing.marks {
        assert!(mark.y + 12 <= drawing.lanes_height, "{mark:?}");
        assert!(mark.x <= Percent(1_200), "{mark:?}");
    }
    assert!(drawing.arrows.iter().any(|arrow| arrow.text == "f18"), "{:?}", drawing.arrows);
    assert!(drawing.bands.iter().any(|band| band.class == "away"), "{:?}", drawing.bands);
    assert!(
        drawing
            .marks
            .iter()
            .any(|mark| mark.text.as_ref().is_some_and(|(text, _)| text == "×5 the store did not answer"))
    );
}

#[test]
fn the_words_beside_an_arrow_are_within_the_picture() {
    let mut scene = Scene::healthy();
    let cut = HistoryEntry { reason: Some(Reason::NodeLost), ..ran("node-a", 900, 60, Outcome::Interrupted) };
    scene.decide("payout", vec![cut, ran("node-b", 800, 60, Outcome::Succeeded)]);
    let job = JobName::parse("payout").expect("a name");
    let picture = scene.picture(&HomeAddress::default(), Some(&job));
    let arrows = TimelineDrawing::of(&picture, 100_000).arrows;
    let [arrow] = &arrows[..] else { panic!("one arrow: {arrows:?}") };
    assert!(!arrow.text.is_empty() && (12..arrow.from.1 + 12).contains(&arrow.text_y), "{arrow:?}");
}

#[test]
fn where_there_is_no_room_only_what_did_not_go_well_is_drawn_by_itself() {
    let (all, few) = (drawing(&Scene::at_three(), 1_000_000), drawing(&Scene::at_three(), 1_000));
    assert!(all.strips.is_empty());
    assert!(few.marks.len() < all.marks.len() && !few.marks.is_empty());
    assert!(few.marks.iter().all(|mark| mark.class != "plain" && mark.class != "coming"));
    assert!(few.strips.iter().any(|strip| strip.paths.iter().any(|(class, _)| *class == "plain")));
    assert_eq!(few.words, all.words);
}

//! Tests of leaps on their own.

use super::*;

fn leaps(text: &str) -> Leaps {
    text.parse().expect("leaps")
}

#[test]
fn leaps_survive_their_stored_form() {
    for text in ["", "0-5", "0-5 7-9!", "1-2! 3-4?", "1-2= 3-4"] {
        assert_eq!(leaps(text).to_string(), text);
    }
    for text in ["5", "a-b", "1-2x"] {
        assert_eq!(text.parse::<Leaps>(), Err(()), "{text}");
    }
}

#[test]
fn a_decided_tick_leaves_what_comes_after_it_in_its_leap() {
    let mut leaps = leaps("0-5 10-20!");
    leaps.decide(UtcMillis(12));
    assert_eq!(leaps.to_string(), "0-5 12-20!");
    leaps.decide(UtcMillis(20));
    assert_eq!(leaps.to_string(), "0-5");
}

#[test]
fn a_tick_that_is_given_back_is_open_again() {
    let mut leaps = leaps("10-20!");
    leaps.decide(UtcMillis(12));
    leaps.give_back(UtcMillis(12));
    assert_eq!(leaps.to_string(), "11-20!");
    leaps.decide(UtcMillis(20));
    leaps.give_back(UtcMillis(20));
    assert_eq!(leaps.to_string(), "19-20!");
}

#[test]
fn what_was_open_while_the_store_lost_decisions_stays_closed_until_it_has_its_entry() {
    let mut leaps = leaps("0-5 10-20! 30-40!");
    leaps.lose(UtcMillis(0), UtcMillis(15));
    assert_eq!(leaps.to_string(), "0-5 10-15? 15-20! 30-40!");
    assert_eq!(
        (leaps.lost_before(UtcMillis(12)), leaps.lost_before(UtcMillis(16))),
        (Some(UtcMillis(10)), None)
    );
    leaps.tell_lost(UtcMillis(10), UtcMillis(12));
    assert_eq!(leaps.to_string(), "0-5 12-15? 15-20! 30-40!");
    let untold = leaps.take_untold(UtcMillis(21));
    assert_eq!(Leaps(untold).to_string(), "12-15? 15-20!");
    assert_eq!(leaps.to_string(), "0-5 15-20 30-40!");
    leaps.lose(UtcMillis(32), UtcMillis(35));
    assert_eq!(leaps.to_string(), "0-5 15-20 30-32! 32-35? 35-40!");
}

#[test]
fn a_span_that_ran_leaves_other_leaps_and_is_kept_until_all_before_it_have_entries() {
    let mut leaps = leaps("0-10 20-30! 40-50?");
    leaps.tell_ran(UtcMillis(4), UtcMillis(6));
    leaps.tell_ran(UtcMillis(24), UtcMillis(25));
    leaps.tell_ran(UtcMillis(44), UtcMillis(45));
    let told = "0-4 4-6= 6-10 20-24! 24-25= 25-30! 40-44? 44-45= 45-50?";
    assert_eq!(leaps.to_string(), told);
    leaps.except(UtcMillis(0), UtcMillis(50));
    assert_eq!(leaps.to_string(), "4-6= 24-25= 40-44? 44-45= 45-50?");
    assert!(leaps.has_ran(UtcMillis(6)) && !leaps.has_ran(UtcMillis(4)));
    leaps.forget_ran(|leap| leap.covers(UtcMillis(45)));
    leaps.forget_ran(|leap| leap.to < UtcMillis(7));
    assert_eq!(leaps.to_string(), "24-25= 40-44? 45-50?");
}

#[test]
fn of_many_leaps_the_shortest_is_forgotten() {
    let mut leaps = Leaps::default();
    for nth in 0..=KEPT as i64 {
        let length = if nth == 3 { 4 } else { 5 };
        let (after, to) = (UtcMillis(nth * 10), UtcMillis(nth * 10 + length));
        leaps.add(Leap { after, to, passed: Passed::Told });
    }
    assert_eq!(leaps.iter().count(), KEPT);
    assert!(!leaps.to_string().contains("30-34"), "{leaps}");
}

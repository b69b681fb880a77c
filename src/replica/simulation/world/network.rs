//! What happens to a message: when it arrives, how often, and when its answer is back, if ever.

use std::time::Duration;

use super::rng::Dice;

/// The state of the network between the replicas and the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Every letter arrives within a few milliseconds.
    Fair,
    /// Letters and answers get lost, late by up to a minute, and doubled.
    Rough,
}

/// How a replica is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing passes, and connections are refused: certainly not sent.
    Refused,
    /// Nothing passes, and the sender learns nothing of that.
    Silent,
    /// Requests arrive, but no answer comes back.
    AnswersLost,
}

impl Cut {
    pub(crate) const ALL: [Self; 3] = [Self::Refused, Self::Silent, Self::AnswersLost];
}

/// What happens to one message.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    /// After how long it arrives, each time.
    pub(crate) arrivals: Vec<Duration>,
    /// After how long from its first arrival the answer is back.
    pub(crate) back: Option<Duration>,
    /// The sender learns after this long that it was not sent.
    pub(crate) refused: Option<Duration>,
}

/// The longest that a letter is under way.
const LONGEST: u64 = 60_000;

/// Returns what happens to a message to a server far away.
pub(crate) fn fate(dice: &mut Dice, weather: Weather, cut: Option<Cut>) -> Fate {
    let quick = dice.ms(0, 3);
    match cut {
        Some(Cut::Refused) => return Fate { refused: Some(quick), ..Fate::default() },
        Some(Cut::Silent) => return Fate::default(),
        Some(Cut::AnswersLost) => return Fate { arrivals: vec![quick], ..Fate::default() },
        None => {}
    }
    if weather == Weather::Fair {
        return Fate { arrivals: vec![quick], back: Some(dice.ms(0, 3)), refused: None };
    }
    let mut arrivals = Vec::new();
    if !dice.percent(10) {
        arrivals.push(if dice.percent(35) { dice.ms_of_any_order(LONGEST) } else { quick });
        if dice.percent(8) {
            arrivals.push(dice.ms_of_any_order(LONGEST));
        }
    }
    let back =
        (!dice.percent(12)).then(|| if dice.percent(20) { dice.ms_of_any_order(4_000) } else { quick });
    Fate { arrivals, back, refused: None }
}

/// Returns what happens to a request to the embedded store: a file that may be busy. A request that waits for longer
/// than its sender is dropped, so none is ever late or doubled; but a commit may not report how it went.
pub(crate) fn fate_of_local(dice: &mut Dice, weather: Weather, patience: Duration) -> Fate {
    let quick = dice.ms(0, 2);
    let wait =
        if weather == Weather::Rough && dice.percent(30) { dice.ms_of_any_order(8_000) } else { quick };
    if wait >= patience {
        return Fate::default();
    }
    let is_told = weather == Weather::Fair || !dice.percent(5);
    Fate { arrivals: vec![wait], back: is_told.then_some(Duration::ZERO), refused: None }
}

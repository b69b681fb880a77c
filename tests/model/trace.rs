//! A history as people read it: what happened, when, and what it led to.

use std::fmt::Write;

use solocron::lease::Record;
use stateright::Path;

use crate::action::Action;
use crate::setting::time_of;
use crate::world::World;

/// The history that leads to a world, one line for each thing that happened.
pub(crate) fn trace(path: Path<World, Action>) -> String {
    let mut said = String::new();
    let steps = path.into_vec();
    for (at, (world, _)) in steps.iter().enumerate() {
        let action = match at.checked_sub(1).and_then(|before| steps[before].1) {
            Some(action) => format!("{action:?}"),
            None => "at first".to_owned(),
        };
        writeln!(said, "{at:3} step {:2} {action:24} {}", world.step, told(world)).expect("a text");
    }
    said
}

fn told(world: &World) -> String {
    let seconds = |ms: i64| format!("{:.1}", (ms - time_of(0).0) as f64 / 1000.0);
    let record = |record: &Record| {
        let (phase, owner) = (record.phase.as_str(), record.owner.as_ref());
        format!(
            "{phase} by {} until {} mark {} era {}",
            owner.map_or("nobody", |owner| owner.as_str()),
            seconds(record.locked_until.0),
            seconds(record.mark.0),
            record.era.0,
        )
    };
    let record = world.store.cell.record.as_deref().map_or_else(|| "no record".to_owned(), record);
    let now = seconds(world.store.now(world.now()).0);
    let runs: Vec<_> = world
        .runs
        .iter()
        .map(|run| format!("{}:{}:{:?}", ["a", "b", "c"][run.who], seconds(run.tick.as_millis()), run.state))
        .collect();
    format!("store at {now} era {}: {record}; runs {}", world.store.era, runs.join(" "))
}

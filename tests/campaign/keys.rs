//! What is done to single keys: they are deleted, alone or two at once, or something else is put in their place.

use crate::dice::Dice;
use crate::fault::Kind;
use crate::injection::{Begun, begun};
use crate::undo::Undo;
use crate::world::World;

/// As many jobs as one fault is done to.
const SOME: usize = 4;

/// A key of the cluster, or of each job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    State,
    Lock,
    Runs,
    Jobs,
    Nodes,
    Notices,
}

impl Key {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::State, Self::Lock, Self::Runs, Self::Jobs, Self::Nodes, Self::Notices];

    const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Lock => "lock",
            Self::Runs => "runs",
            Self::Jobs => "jobs",
            Self::Nodes => "nodes",
            Self::Notices => "notices",
        }
    }

    /// Its names in the store: one for each of these jobs, or the cluster's own.
    pub(crate) fn names(self, jobs: &[String]) -> Vec<String> {
        let what = self.as_str();
        match self {
            Self::State | Self::Lock | Self::Runs => {
                jobs.iter().map(|job| format!("solocron:{{campaign/{job}}}:{what}")).collect()
            }
            Self::Jobs | Self::Nodes | Self::Notices => vec![format!("solocron:{{campaign}}:{what}")],
        }
    }
}

/// Some jobs.
pub(crate) fn some_jobs(world: &World, dice: &mut Dice) -> Vec<String> {
    let names: Vec<String> = world.jobs.iter().map(|job| job.name.clone()).collect();
    first_jobs(dice.shuffled(&names))
}

/// As many of them as one fault is done to.
pub(crate) fn first_jobs(names: Vec<String>) -> Vec<String> {
    names.into_iter().take(SOME).collect()
}

/// Begins a fault of keys; `None` where there is nothing to do it to.
pub(crate) fn begin(world: &mut World, kind: Kind, dice: &mut Dice) -> Option<Begun> {
    match kind {
        Kind::DelState => delete(world, &[Key::State], dice),
        Kind::DelLock => delete(world, &[Key::Lock], dice),
        Kind::DelRuns => delete(world, &[Key::Runs], dice),
        Kind::DelJobs => delete(world, &[Key::Jobs], dice),
        Kind::DelNodes => delete(world, &[Key::Nodes], dice),
        Kind::DelNotices => delete(world, &[Key::Notices], dice),
        Kind::DelPair => delete(world, &dice.shuffled(&Key::ALL)[..2], dice),
        Kind::DelAsked => delete_while_asked(world),
        Kind::WrongType => replace(world, dice),
        _ => spoil(world, dice),
    }
}

fn delete(world: &mut World, keys: &[Key], dice: &mut Dice) -> Option<Begun> {
    let jobs = some_jobs(world, dice);
    let names: Vec<String> = keys.iter().flat_map(|key| key.names(&jobs)).collect();
    world.delete(&names).then(|| begun(names.join(" "), 0, Undo::Nothing))?
}

/// The record of the job that its holder renews least often is deleted, and somebody whose lease is shorter asks for its lock.
fn delete_while_asked(world: &mut World) -> Option<Begun> {
    let mut jobs = world.jobs.clone();
    jobs.sort_by_key(|job| -job.lease_ms);
    let mut is_held = |name: &String| {
        let state = Key::State.names(std::slice::from_ref(name)).remove(0);
        let phase: Option<String> = world.server().ask(&["HGET", &state, "phase"]);
        phase.as_deref() == Some("running")
    };
    let held = jobs.into_iter().map(|job| job.name).find(|name| is_held(name))?;
    if !world.delete(&Key::State.names(std::slice::from_ref(&held))) {
        return None;
    }
    // One who has seen the record knows how long its lease is.
    world.ask_for_the_lock(&held);
    begun(held, 0, Undo::Nothing)
}

/// Something of another type has a key's name.
fn replace(world: &mut World, dice: &mut Dice) -> Option<Begun> {
    let jobs = some_jobs(world, dice);
    let key = Key::ALL[dice.below(Key::ALL.len())];
    let names = key.names(&jobs);
    let command = if key == Key::Lock { "RPUSH" } else { "SET" };
    if !world.replace(&names, command) {
        return None;
    }
    begun(names.join(" "), dice.between(1_500, 3_000), Undo::Delete(names))
}

/// Fields that no program has written, among the cluster's own.
fn spoil(world: &mut World, dice: &mut Dice) -> Option<Begun> {
    let names = [Key::Nodes, Key::Notices].map(|key| key.names(&[]).remove(0));
    for name in &names {
        let _: i64 = world.server().ask(&["HSET", name, SPOILT, "abc"]);
    }
    begun(names.join(" "), dice.between(2_000, 4_000), Undo::DeleteFields(names.into(), SPOILT))
}

/// The field that nobody can read.
const SPOILT: &str = "zz";

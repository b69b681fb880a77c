//! What must hold in every world: the promises that the lock is for.

use solocron::job::OnInterrupt;

use crate::action::Action;
use crate::exchange::Fate;
use crate::replica::Up;
use crate::run::{Run, State};
use crate::setting::Setting;
use crate::world::World;

/// No two runs of the job are alive at once.
pub(crate) const ONE_RUN: &str = "no two runs at once";
/// No replica begins a run of the job while one of its own goes on.
pub(crate) const OWN_RUN: &str = "no second run by the same replica";
/// A lease after the old primary of two is gone, no two runs are alive at once any more.
pub(crate) const ONE_RUN_OF_ONE: &str = "no two runs at once when one primary has served for a lease";
/// No tick runs a second time, but for the first rerun of one that was interrupted.
pub(crate) const ONCE: &str = "no second run of a tick";
/// A run's fence is above the fences of all runs that were started before.
pub(crate) const FENCES: &str = "fences rise";
/// A tick is skipped for overlap only if a run was going on at its instant.
pub(crate) const SKIPS: &str = "no skip without a run at the instant";
/// Once faults stop, something runs again.
pub(crate) const RECOVERS: &str = "something runs again";

/// See [`ONE_RUN`].
pub(crate) fn one_run(_: &Setting, world: &World) -> bool {
    world.runs.iter().filter(|run| run.is_alive()).count() <= 1
}

/// See [`OWN_RUN`].
pub(crate) fn own_run(_: &Setting, world: &World) -> bool {
    let alive = |who: usize| world.runs.iter().filter(|run| run.who == who && run.is_alive()).count();
    (0..world.replicas.len()).all(|who| alive(who) <= 1)
}

/// See [`ONE_RUN_OF_ONE`].
pub(crate) fn one_run_of_one(setting: &Setting, world: &World) -> bool {
    if setting.faults.splits == 0 || one_run(setting, world) {
        return true;
    }
    let mut world = world.clone();
    world.apply(setting, Action::Unite);
    for _ in 0..=setting.leases.iter().max().copied().unwrap_or_default() {
        world.pass(setting);
    }
    one_run(setting, &world)
}

/// See [`ONCE`].
pub(crate) fn once(setting: &Setting, world: &World) -> bool {
    let is_rerun = |before: &Run, after: &Run| {
        let was_cut_short = before.state == State::Killed || before.state == State::Dying;
        setting.on_interrupt == OnInterrupt::Rerun && was_cut_short && (before.tries, after.tries) == (1, 2)
    };
    world.runs.iter().enumerate().all(|(at, after)| {
        world.runs[..at].iter().filter(|before| before.tick == after.tick).all(|run| is_rerun(run, after))
    })
}

/// See [`FENCES`].
pub(crate) fn fences(_: &Setting, world: &World) -> bool {
    world.runs.windows(2).all(|pair| pair[0].fence < pair[1].fence)
}

/// See [`SKIPS`]. Where the store's clock is stepped, nobody can say when a tick's instant was.
pub(crate) fn skips(setting: &Setting, world: &World) -> bool {
    setting.faults.jumps > 0 || world.wrongly_skipped.is_empty()
}

/// See [`RECOVERS`]. Faults stop: who is down or stopped goes on, everyone reaches the store, nothing is held up, and
/// each run ends when the next step begins. The waits are a lease each, for the lock, for calm and for a stepped clock.
pub(crate) fn recovers(setting: &Setting, world: &World) -> bool {
    if !setting.recovers {
        return true;
    }
    let mut world = world.clone();
    world.under_way.clear();
    for who in 0..world.replicas.len() {
        world.replicas[who].is_cut_off = false;
        match world.replicas[who].up {
            Up::Awake => {}
            Up::Frozen => world.thaw(who),
            Up::Down => world.restart(setting, who),
        }
    }
    let longest = setting.leases.iter().max().copied().unwrap_or_default();
    let furthest = setting.jumps.iter().map(|by| by.unsigned_abs()).max().unwrap_or_default();
    let before = world.runs.len();
    for _ in 0..2 * longest + 2 * setting.period + furthest * setting.faults.jumps + 2 {
        world.pass(setting);
        for who in 0..world.replicas.len() {
            if world.replicas[who].active.is_some() {
                world.apply(setting, Action::End(who, Fate::Prompt));
            }
            world.claim(setting, who, Fate::Prompt);
            if world.runs.len() > before {
                return true;
            }
        }
    }
    false
}

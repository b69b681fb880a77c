//! How faults end: what was done to a world is undone, at once or in several steps.

use std::collections::VecDeque;
use std::process::Child;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::forgery::Forger;
use crate::processes;
use crate::server::Kept;
use crate::shim::ShimClock;
use crate::world::World;

/// How a fault ends.
pub(crate) enum Undo {
    Nothing,
    Mend(usize),
    Continue(Vec<Pid>),
    Restart(usize),
    ThawServer,
    RestartServer,
    FreeMemory,
    Promote,
    SetRight(Vec<ShimClock>),
    Release(Vec<Child>),
    /// Lines are as fast as before.
    Quicken,
    Delete(Vec<String>),
    DeleteFields(Vec<String>, &'static str),
    /// What was copied is there again.
    Swap,
    Restore(Vec<(String, Vec<u8>)>),
    /// Nothing more is forged.
    Hush(Forger),
    LosePower(Kept),
    CutLink,
    /// One after the other, each so long after the one before; the first one's time is the fault's own.
    Steps(VecDeque<(Undo, i64)>),
}

/// Ends a fault, or one step of its end: what comes next, and in how many milliseconds.
pub(crate) fn end(world: &mut World, undo: Undo) -> Option<(Undo, i64)> {
    match undo {
        Undo::Nothing => {}
        Undo::Mend(at) => world.proxies[at].mend(),
        Undo::Quicken => world.proxies.iter().for_each(|proxy| proxy.lag(Duration::ZERO)),
        Undo::Continue(pids) => processes::signal_all(&pids, Signal::SIGCONT),
        Undo::Restart(at) => world.replicas[at].start(),
        Undo::ThawServer => world.server().thaw(),
        Undo::RestartServer => world.server().restart(),
        Undo::FreeMemory => world.server().free_memory(),
        Undo::Promote => world.fail_over(),
        Undo::CutLink => world.link.cut(),
        Undo::LosePower(kept) => {
            world.about_to_forget();
            let written = world.server().written();
            world.server().lose_power(kept, written);
        }
        Undo::SetRight(clocks) => clocks.iter().for_each(|clock| clock.step_to(0)),
        Undo::Delete(keys) => {
            let _: i64 = world.server().ask(&[&["DEL".to_owned()], &keys[..]].concat());
        }
        Undo::DeleteFields(keys, field) => {
            for key in &keys {
                let _: i64 = world.server().ask(&["HDEL", key, field]);
            }
        }
        Undo::Swap => {
            world.about_to_forget();
            let _: String = world.server().ask(&["SWAPDB", "0", "1"]);
        }
        Undo::Restore(dumps) => {
            world.about_to_forget();
            dumps.iter().for_each(|(key, dump)| world.server().put_back(key, dump));
        }
        Undo::Hush(forger) => drop(forger),
        Undo::Release(burners) => burners.into_iter().for_each(|mut burner| {
            // Errors say that it is gone already.
            let _ = burner.kill();
            let _ = burner.wait();
        }),
        Undo::Steps(mut steps) => {
            let (first, _) = steps.pop_front()?;
            end(world, first);
            let next = steps.front().map(|(_, after_ms)| *after_ms);
            return next.map(|after_ms| (Undo::Steps(steps), after_ms));
        }
    }
    None
}

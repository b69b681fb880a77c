//! The store goes back to what it had seconds ago, in the same life: by a copy in another database, or by a dump.

use crate::copy::COPY;
use crate::dice::Dice;
use crate::injection::{Begun, begun};
use crate::keys::{Key, some_jobs};
use crate::undo::Undo;
use crate::world::World;

/// From the copy to its return.
const AGE_MS: (i64, i64) = (2_000, 4_000);

/// Copies everything now, and puts it back seconds later.
pub(crate) fn swap(world: &mut World, dice: &mut Dice) -> Option<Begun> {
    let _: i64 = world.server().ask(&["EVAL", COPY, "0"]);
    begun("redis", dice.between(AGE_MS.0, AGE_MS.1), Undo::Swap)
}

/// Dumps some records now, and restores them seconds later.
pub(crate) fn restore(world: &mut World, dice: &mut Dice) -> Option<Begun> {
    let jobs = some_jobs(world, dice);
    let mut dumps = Vec::new();
    for name in Key::State.names(&jobs) {
        let dump: Option<Vec<u8>> = world.server().ask(&["DUMP", &name]);
        dumps.extend(dump.map(|dump| (name, dump)));
    }
    begun(jobs.join(" "), dice.between(AGE_MS.0, AGE_MS.1), Undo::Restore(dumps))
}

//! Clocks that are wrong by hours and by years, or that run too fast or too slowly.

use crate::dice::Dice;
use crate::fault::Kind;
use crate::injection::{Begun, begun};
use crate::server::Kept;
use crate::shim::ShimClock;
use crate::undo::Undo;
use crate::world::World;

/// How far clocks are ahead.
pub(crate) const HOUR_MS: i64 = 3_600_000;
pub(crate) const DECADE_MS: i64 = 315_360_000_000;

/// Chrony slews by up to 83,333 millionths, in either direction.
const SLEW_PPM: (i64, i64) = (20_000, 100_000);

/// From the loss of power until the server is back.
const DOWN_MS: i64 = 300;

/// Begins a fault of clocks; `None` where there is nothing to do it to. `at` is the replica that it is done to, if to any.
pub(crate) fn begin(world: &mut World, kind: Kind, at: usize, dice: &mut Dice) -> Option<Begun> {
    let lasts_ms = dice.between(2_000, 4_000);
    let server = world.server().clock().clone();
    match kind {
        Kind::ServerHour => step(vec![server], HOUR_MS, "redis", lasts_ms),
        Kind::ServerDecade => step(vec![server], DECADE_MS, "redis", lasts_ms),
        Kind::ReplicaHour | Kind::ReplicaDecade => {
            let by_ms = if kind == Kind::ReplicaHour { HOUR_MS } else { DECADE_MS };
            let replica = &world.replicas[at];
            step(vec![replica.clock().clone()], by_ms, replica.node(), lasts_ms)
        }
        Kind::BothHour | Kind::BothDecade => {
            let by_ms = if kind == Kind::BothHour { HOUR_MS } else { DECADE_MS };
            let is_one_machine = dice.below(2) == 0;
            let replicas =
                world.replicas.iter().enumerate().filter(|(number, _)| is_one_machine || *number == at);
            let mut clocks: Vec<ShimClock> = replicas.map(|(_, replica)| replica.clock().clone()).collect();
            clocks.push(server);
            let target = if is_one_machine { "redis and all" } else { "redis and one" };
            step(clocks, by_ms, target, lasts_ms)
        }
        Kind::ServerSlew | Kind::ReplicaSlew => {
            let is_server = kind == Kind::ServerSlew;
            let clock = if is_server { server } else { world.replicas[at].clock().clone() };
            let ppm = dice.between(SLEW_PPM.0, SLEW_PPM.1);
            clock.slew(if dice.below(2) == 0 { ppm } else { -ppm });
            let target = if is_server { "redis" } else { world.replicas[at].node() };
            begun(target, dice.between(6_000, 10_000), Undo::SetRight(vec![clock]))
        }
        Kind::RestartAhead => restart(world, lasts_ms, dice),
        _ => fail_over(world, lasts_ms),
    }
}

fn step(clocks: Vec<ShimClock>, by_ms: i64, target: &str, lasts_ms: i64) -> Option<Begun> {
    clocks.iter().for_each(|clock| clock.step_to(by_ms));
    begun(target, lasts_ms, Undo::SetRight(clocks))
}

/// The server loses its power while its clock is wrong, or just after it was set right.
fn restart(world: &mut World, lasts_ms: i64, dice: &mut Dice) -> Option<Begun> {
    let kept = [Kept::All, Kept::AllButASecond][dice.below(2)];
    let clock = world.server().clock().clone();
    clock.step_to(HOUR_MS);
    let is_right_before = dice.below(2) == 0;
    let set_right = Undo::SetRight(vec![clock]);
    let (lose, back) = (Undo::LosePower(kept), Undo::RestartServer);
    let (target, steps) = if is_right_before {
        ("redis, once its clock is right", [(set_right, 0), (lose, 1_000), (back, DOWN_MS)])
    } else {
        ("redis, while its clock is wrong", [(lose, 0), (back, DOWN_MS), (set_right, lasts_ms)])
    };
    begun(target, lasts_ms, Undo::Steps(steps.into()))
}

/// The follower, whose clock is right, takes over.
fn fail_over(world: &mut World, lasts_ms: i64) -> Option<Begun> {
    if !world.standby().is_following() {
        return None;
    }
    world.server().clock().step_to(HOUR_MS);
    begun("redis", lasts_ms, Undo::Steps([(Undo::CutLink, 0), (Undo::Promote, 700)].into()))
}

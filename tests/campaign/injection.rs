//! Does one fault to a world, and tells how it is undone. What the promise excludes is never done: two replicas of three
//! that nobody can reach while the store forgets, a replica frozen with its guards for longer than the lease.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::dice::Dice;
use crate::fault::{Kind, LONGEST_DELAY_MS};
use crate::forgery::{Forger, LIES, Lie};
use crate::keys::{self, Key, first_jobs};
use crate::pause::pause;
use crate::resp::Request;
use crate::server::Kept;
use crate::trick::{Rule, Trick};
use crate::undo::Undo;
use crate::world::World;
use crate::{processes, rollback, wrong_clock};

/// How far clocks are stepped.
const STEP_MS: i64 = 60_000;

/// How long a message is held up.
const HELD: Duration = Duration::from_secs(40);

/// Requests that decide something.
const DECISIONS: &[Request] = &[Request::Claim, Request::Renew, Request::Finish];

/// Two of the shortest leases.
const TWO_LEASES_MS: i64 = 10_500;

/// A fault that was begun.
pub(crate) struct Begun {
    pub(crate) target: String,
    pub(crate) lasts_ms: i64,
    pub(crate) undo: Undo,
}

pub(crate) fn begun(target: impl ToString, lasts_ms: i64, undo: Undo) -> Option<Begun> {
    Some(Begun { target: target.to_string(), lasts_ms, undo })
}

/// Begins a fault; `None` where there is nothing to do it to. `at` is the replica that it is done to, if to any.
pub(crate) fn begin(world: &mut World, kind: Kind, at: usize, dice: &mut Dice) -> Option<Begun> {
    match kind {
        Kind::Cut | Kind::Delay | Kind::Hold | Kind::DropReply | Kind::Reset => {
            on_network(world, kind, at, dice)
        }
        Kind::KillReplica
        | Kind::StopReplica
        | Kind::KillGuard
        | Kind::StopGuard
        | Kind::KillBoth
        | Kind::StopBoth => on_processes(world, kind, at, dice),
        Kind::ReplicaAhead | Kind::ReplicaBehind => {
            let offset = if kind == Kind::ReplicaAhead { STEP_MS } else { -STEP_MS };
            world.replicas[at].clock().step_to(offset);
            let clock = world.replicas[at].clock().clone();
            begun(world.replicas[at].node(), dice.between(1_500, 3_000), Undo::SetRight(vec![clock]))
        }
        Kind::Lag | Kind::LagAll => {
            let mean = Duration::from_millis(u64::try_from(dice.between(2, 333)).expect("positive"));
            let is_slow = |number: usize| kind == Kind::LagAll || number == at;
            let lines = world.proxies.iter().enumerate().filter(|(number, _)| is_slow(*number));
            lines.for_each(|(_, proxy)| proxy.lag(mean));
            let target = if kind == Kind::LagAll { "all" } else { world.replicas[at].node() };
            begun(format!("{target}, {mean:?}"), dice.between(12_000, 30_000), Undo::Quicken)
        }
        Kind::HintNoise | Kind::HintForged => {
            let lies = if kind == Kind::HintForged { LIES } else { &[Lie::Noise] };
            let forger = Forger::begin(world, lies, dice.clone());
            begun("redis", dice.between(4_000, 10_000), Undo::Hush(forger))
        }
        Kind::ReplicaSlew | Kind::ServerSlew => wrong_clock::begin(world, kind, at, dice),
        _ if kind.is_far_off() => wrong_clock::begin(world, kind, at, dice),
        Kind::Starve => {
            let burners = (0..4).map(|_| burner()).collect();
            begun("the machine", dice.between(2_000, 4_000), Undo::Release(burners))
        }
        _ => on_server(world, kind, dice),
    }
}

fn on_network(world: &World, kind: Kind, at: usize, dice: &mut Dice) -> Option<Begun> {
    let (proxy, node) = (&world.proxies[at], world.replicas[at].node());
    let times = u32::try_from(dice.between(1, 3)).expect("small");
    let trick = |trick, times| proxy.add(Rule::new(trick, DECISIONS, times));
    match kind {
        Kind::Cut => {
            proxy.cut();
            return begun(node, dice.between(1_000, 3_000), Undo::Mend(at));
        }
        Kind::Delay => {
            proxy.delay(Duration::from_millis(
                u64::try_from(dice.between(100, LONGEST_DELAY_MS)).expect("positive"),
            ));
            return begun(node, dice.between(1_500, 3_000), Undo::Mend(at));
        }
        Kind::Hold => trick(Trick::Hold(HELD), 1),
        Kind::DropReply => {
            trick(Trick::DropReply, times);
            // Whoever learns too late that it has the lock gives it back.
            trick(Trick::DropGrant, 4);
            return begun(node, 8_000, Undo::Mend(at));
        }
        _ => trick(Trick::ResetInReply, times),
    }
    // A client notices within two seconds. That a held message is delivered later excuses nothing.
    begun(node, 3_000, Undo::Mend(at))
}

fn on_processes(world: &mut World, kind: Kind, at: usize, dice: &mut Dice) -> Option<Begun> {
    let node = world.replicas[at].node().to_owned();
    let guards = processes::guards(world.path(), &node);
    let replica = world.replicas[at].pid()?;
    let needs_guards = !matches!(kind, Kind::KillReplica | Kind::StopReplica);
    if needs_guards && guards.is_empty() {
        return None;
    }
    let both = [guards.as_slice(), &[replica]].concat();
    match kind {
        Kind::KillGuard => {
            processes::signal_all(&guards, Signal::SIGKILL);
            begun(node, 0, Undo::Nothing)
        }
        Kind::StopReplica => stop(node, vec![replica], TWO_LEASES_MS),
        Kind::StopGuard => stop(node, guards, dice.between(3_000, 5_500)),
        Kind::StopBoth => {
            let lasts_ms = dice.between(500, 2_000);
            wake_after(both.clone(), lasts_ms);
            stop(node, both, lasts_ms)
        }
        _ => {
            // At one instant, as far as two signals can be.
            processes::signal_all(if kind == Kind::KillBoth { &both } else { &[] }, Signal::SIGKILL);
            world.replicas[at].kill();
            begun(node, dice.between(500, 2_000), Undo::Restart(at))
        }
    }
}

fn stop(node: String, pids: Vec<Pid>, lasts_ms: i64) -> Option<Begun> {
    processes::signal_all(&pids, Signal::SIGSTOP);
    begun(node, lasts_ms, Undo::Continue(pids))
}

/// Wakes processes in time, also where this program is held up: what is frozen for longer than its lease is out of hand.
fn wake_after(pids: Vec<Pid>, lasts_ms: i64) {
    let lasts = Duration::from_millis(u64::try_from(lasts_ms).expect("not negative"));
    std::thread::spawn(move || {
        pause(lasts);
        processes::signal_all(&pids, Signal::SIGCONT);
    });
}

fn on_server(world: &mut World, kind: Kind, dice: &mut Dice) -> Option<Begun> {
    let short = dice.between(700, 1_500);
    if kind.loses_memory() && kind != Kind::Failover {
        world.about_to_forget();
    }
    match kind {
        Kind::StopRedis => {
            world.server().freeze();
            begun("redis", short, Undo::ThawServer)
        }
        Kind::RestartAlways => restart(world, Kept::All, dice),
        Kind::RestartEverysec => restart(world, Kept::AllButASecond, dice),
        Kind::RestartNothing => restart(world, Kept::Nothing, dice),
        Kind::FlushAll => {
            let _: String = world.server().ask(&["FLUSHALL"]);
            begun("redis", 0, Undo::Nothing)
        }
        Kind::DelState
        | Kind::DelLock
        | Kind::DelRuns
        | Kind::DelJobs
        | Kind::DelNodes
        | Kind::DelNotices
        | Kind::DelPair
        | Kind::DelAsked
        | Kind::WrongType
        | Kind::BadField => keys::begin(world, kind, dice),
        Kind::SwapDb => rollback::swap(world, dice),
        Kind::RestoreRecords => rollback::restore(world, dice),
        Kind::RaiseFence => raise_fences(world, dice),
        Kind::Noeviction | Kind::VolatileTtl | Kind::AllkeysRandom => {
            let policy = match kind {
                Kind::Noeviction => "noeviction",
                Kind::VolatileTtl => "volatile-ttl",
                _ => "allkeys-random",
            };
            world.server().limit_memory(policy);
            begun("redis", short, Undo::FreeMemory)
        }
        Kind::Failover => {
            if !world.standby().is_following() {
                return None;
            }
            world.link.cut();
            begun("redis", short, Undo::Promote)
        }
        Kind::ServerAhead | Kind::ServerBehind => {
            let offset = if kind == Kind::ServerAhead { STEP_MS } else { -STEP_MS };
            let clock = world.server().clock().clone();
            clock.step_to(offset);
            begun("redis", dice.between(1_500, 3_000), Undo::SetRight(vec![clock]))
        }
        _ => unreachable!("{kind:?} is done to others"),
    }
}

fn restart(world: &mut World, kept: Kept, dice: &mut Dice) -> Option<Begun> {
    let sync = if kept == Kept::All { "always" } else { "everysec" };
    let server = world.server();
    let _: String = server.ask(&["CONFIG", "SET", "appendfsync", sync]);
    let written = server.written();
    crate::pause::pause(Duration::from_millis(800));
    world.server().lose_power(kept, written);
    begun("redis", dice.between(100, 1_000), Undo::RestartServer)
}

/// Makes it look as if locks had been given to others: those that are held before all.
fn raise_fences(world: &mut World, dice: &mut Dice) -> Option<Begun> {
    let names: Vec<String> = world.jobs.iter().map(|job| job.name.clone()).collect();
    let mut names = dice.shuffled(&names);
    let mut is_idle = |name: &str| {
        let state = Key::State.names(&[name.to_owned()]).remove(0);
        let phase: Option<String> = world.server().ask(&["HGET", &state, "phase"]);
        phase.as_deref() != Some("running")
    };
    names.sort_by_cached_key(|name| is_idle(name));
    let some = first_jobs(names);
    for state in Key::State.names(&some) {
        let _: i64 = world.server().ask(&["HINCRBY", &state, "fence", "1"]);
    }
    begun(some.join(" "), 0, Undo::Nothing)
}

/// A process that does nothing, as fast as it can.
fn burner() -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    command.spawn().expect("every machine has a shell")
}

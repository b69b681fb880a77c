//! What operators do while everything else goes on: each act by a process of its own, as people do it, and many in vain.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use crate::dice::Dice;
use crate::world::{World, now_ms};

/// The job that is paused now and then.
pub(crate) const PAUSED: &str = "paused";

/// From one act to the next.
const GAPS_MS: (i64, i64) = (1_500, 4_000);

/// How long it is paused.
const PAUSE_MS: i64 = 4_000;

/// No command takes longer: `trigger` waits for up to two of the longest leases until somebody takes its order.
const LIMIT_MS: i64 = 150_000;

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Trigger,
    Pause,
    Kill,
    Edit,
}

impl Act {
    const ALL: [Self; 4] = [Self::Trigger, Self::Pause, Self::Kill, Self::Edit];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::Pause => "pause",
            Self::Kill => "kill",
            Self::Edit => "edit",
        }
    }
}

/// A command that has not ended.
struct UnderWay {
    act: Act,
    child: Child,
    begun_ms: i64,
}

/// Everything that operators did.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    /// When the job may have been paused.
    pub(crate) pauses_ms: Vec<(i64, i64)>,
    /// How often they were told that it was done.
    pub(crate) done: BTreeMap<&'static str, u64>,
}

/// The operators at work.
pub(crate) struct Hands {
    dice: Dice,
    next_ms: i64,
    under_way: Vec<UnderWay>,
    deeds: Deeds,
}

impl Hands {
    /// Nobody has done anything.
    pub(crate) fn idle(seed: u64) -> Self {
        Self { dice: Dice::of(!seed), next_ms: 0, under_way: Vec::new(), deeds: Deeds::default() }
    }

    /// The kinds of what they do.
    pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
        Act::ALL.into_iter().map(Act::as_str)
    }

    /// Lets them do what it is time for, and hears of what was done. A pause ends by the store's clock: while that is wrong by
    /// hours, nobody pauses anything.
    pub(crate) fn work(&mut self, world: &mut World, may_pause: bool) {
        self.hear();
        let now = now_ms();
        if now < self.next_ms {
            return;
        }
        self.next_ms = now + self.dice.between(GAPS_MS.0, GAPS_MS.1);
        let act = Act::ALL[self.dice.below(Act::ALL.len())];
        let job = world.jobs[self.dice.below(world.jobs.len())].name.clone();
        let args = match act {
            Act::Trigger => vec!["trigger".to_owned(), job],
            Act::Kill => vec!["kill".to_owned(), job],
            Act::Pause if !may_pause => return,
            Act::Pause => ["pause", PAUSED, "--for", &format!("{PAUSE_MS}ms")].map(str::to_owned).to_vec(),
            Act::Edit => {
                world.edit();
                return self.is_done(act);
            }
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
        command.args(args).arg("--config").arg(world.jobs_toml());
        command.args(["--store", &format!("redis://127.0.0.1:{}", world.server().port())]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the program was built");
        self.under_way.push(UnderWay { act, child, begun_ms: now });
    }

    fn is_done(&mut self, act: Act) {
        *self.deeds.done.entry(act.as_str()).or_default() += 1;
    }

    fn hear(&mut self) {
        let now = now_ms();
        for mut it in std::mem::take(&mut self.under_way) {
            let ended = it.child.try_wait().expect("it is a child of this process");
            let Some(status) = ended else {
                if now - it.begun_ms > LIMIT_MS {
                    panic!("`{}` has not ended in {LIMIT_MS} ms", it.act.as_str());
                }
                self.under_way.push(it);
                continue;
            };
            self.may_have_paused(&it);
            if status.success() {
                self.is_done(it.act);
            }
        }
    }

    /// A pause may be done also where nobody could be told so.
    fn may_have_paused(&mut self, it: &UnderWay) {
        if it.act == Act::Pause {
            self.deeds.pauses_ms.push((it.begun_ms, now_ms() + PAUSE_MS));
        }
    }

    /// They go home.
    pub(crate) fn rest(mut self) -> Deeds {
        self.hear();
        for it in std::mem::take(&mut self.under_way) {
            self.may_have_paused(&it);
        }
        self.deeds
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // An error says that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The Lua scripts and the Rust function are one protocol: whatever is asked of both, they answer and store the same.
//! The histories are random, and what they reached is checked, so that agreement is never for want of cases.

mod batches;
mod history;
mod leaps;
mod lost_ticks;
mod pair;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "each test crate uses its part of the shared support")]
mod support;
#[cfg(feature = "test-switches")]
mod switched_off;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use history::History;
use pair::Pair;
use proptest::test_runner::{RngAlgorithm, TestRng};
use solocron::job::{Outcome, Reason, RunId};
use solocron::lease::{Act, Answer, Decision, Operate, Record, Request};
use solocron::time::UtcMillis;
use support::redis_server::RedisServer;

/// Steps of all histories together, at least.
const STEPS: usize = 50_000;

/// The histories go on to as many steps while they have not met every case: some are rare, and luck is no failure.
const STEPS_AT_MOST: usize = 4 * STEPS;

/// A history as long as this has met all kinds of records; a new one starts from none.
const STEPS_PER_HISTORY: usize = 400;

/// Longer than it takes to look for the lock's mirror after a request was answered.
const MOMENT_MS: i64 = 2_000;

/// Every entry that the protocol itself can write, as `request: cause outcome (reason)`, runs of several by `..`.
const ENTRIES: [&str; 24] = [
    "open: schedule missed (edited)",
    "open: schedule missed (edited) ..",
    "claim: schedule missed (late)",
    "claim: schedule missed (no_replica)",
    "claim: schedule missed (capacity)",
    "claim: catch_up missed (edited)",
    "claim: schedule skipped (paused)",
    "claim: catch_up skipped (paused)",
    "claim: schedule skipped (overlap)",
    "claim: catch_up skipped (overlap)",
    "claim: schedule unknown (store_reset)",
    "claim: schedule unknown (store_reset) ..",
    "claim: schedule missed (no_replica) ..",
    "claim: schedule missed (store_unreachable) ..",
    "claim: schedule interrupted (node_lost)",
    "manual: manual skipped (overlap)",
    "manual: schedule interrupted (node_lost)",
    "renew: schedule interrupted (lock_lost)",
    "finish: schedule succeeded",
    "finish: rerun interrupted (shutdown)",
    "operate: schedule interrupted (node_lost)",
    "abandon: manual missed (abandoned)",
    "abandon: schedule killed (operator)",
    "abandon: schedule unknown (store_reset)",
];

/// Answers that are given without the rules where everything is as usual; all others come from these alone.
const USUAL: [&str; 3] = ["won", "decided", "finished"];

/// Each of them is met so often.
const USUAL_MET: usize = 100;

/// So often a run ends in the life that its record is of, and which is the server's no more.
const FORMER_MET: usize = 10;

/// What one entry does to the record's successes and failures, by the short cuts or by the rules.
const COUNTED: [&str; 11] = [
    "usual: a success, no failures before",
    "usual: a success ends failures",
    "usual: a success from before the failures",
    "usual: a failure",
    "usual: a failure from before the success",
    "usual: neither",
    "rules: a success ends failures",
    "rules: a success from before the failures",
    "rules: a failure",
    "rules: a failure from before the success",
    "rules: several failures at once",
];

/// What an order is to the record when it is given.
const GIVEN: [&str; 3] = ["a new order", "an open order again", "a taken order again"];

/// What histories reached.
#[derive(Debug, Default)]
struct Reached {
    answers: BTreeSet<&'static str>,
    entries: BTreeSet<String>,
    /// Entries that gave way to one of more ticks.
    joined: usize,
    /// Answers to requests that were not left to the rules.
    usual: BTreeMap<&'static str, usize>,
    /// Of them, ends of runs on a record of another life than the server's.
    former: usize,
    /// What entries did to the record's successes and failures.
    counted: BTreeSet<String>,
    /// What orders were to the record when they were given.
    given: BTreeSet<&'static str>,
    /// Schedules that hold from a moment earlier on, as their first tick was given back.
    before: usize,
}

impl Reached {
    fn add(&mut self, request: &Request, decision: &Decision, is_usual: bool) {
        let answer = decision.reply.answer.name();
        self.answers.insert(answer);
        if is_usual {
            *self.usual.entry(answer).or_default() += 1;
        }
        for entry in &decision.entries {
            let several = if entry.after.is_some() { " .." } else { "" };
            let kind = kind(request);
            self.entries.insert(format!("{kind}: {} {}{several}", entry.cause, entry.verdict()));
        }
    }

    /// Notes what a decision with one entry did to the record's successes and failures.
    fn count(&mut self, before: Option<&Record>, decision: &Decision, is_usual: bool) {
        let ([entry], Some(before), Some(after)) = (&decision.entries[..], before, decision.record.as_ref())
        else {
            return;
        };
        let (was, is) = (before.failures_in_row, after.failures_in_row);
        let what = match entry.outcome {
            Outcome::Succeeded if was == 0 => "a success, no failures before",
            Outcome::Succeeded if is == 0 => "a success ends failures",
            Outcome::Succeeded => "a success from before the failures",
            Outcome::Skipped | Outcome::Killed | Outcome::Running => "neither",
            _ if is == was => "a failure from before the success",
            _ if is == was + 1 => "a failure",
            _ => "several failures at once",
        };
        self.counted.insert(format!("{}: {what}", if is_usual { "usual" } else { "rules" }));
    }

    /// Notes what a given order was to the record.
    fn give(&mut self, before: Option<&Record>, request: &Request, answer: &Answer) {
        let (Some(before), Answer::Noted) = (before, answer) else { return };
        let Request::Operate(Operate { act: Act::Trigger { order, .. }, .. }) = request else { return };
        let [new, open, taken] = GIVEN;
        let what = if before.order == Some(*order) { open } else { new };
        self.given.insert(if before.order_taken == Some(*order) { taken } else { what });
    }

    /// The cases that no history met.
    fn missing(&self) -> Vec<&'static str> {
        let answers = Answer::NAMES.into_iter().filter(|answer| !self.answers.contains(answer));
        let entries = ENTRIES.into_iter().filter(|entry| !self.entries.contains(*entry));
        let joined = (self.joined == 0).then_some("an entry that goes on");
        let usual =
            USUAL.into_iter().filter(|answer| self.usual.get(answer).is_none_or(|met| *met < USUAL_MET));
        let former = (self.former < FORMER_MET).then_some("an end of a former life");
        let before = (self.before == 0).then_some("a tick given back to a newer schedule");
        let counted = COUNTED.into_iter().filter(|case| !self.counted.contains(*case));
        let given = GIVEN.into_iter().filter(|case| !self.given.contains(*case));
        let cases = answers.chain(entries).chain(joined).chain(usual).chain(former);
        cases.chain(before).chain(counted).chain(given).collect()
    }
}

fn kind(request: &Request) -> &'static str {
    match request {
        Request::Open(_) => "open",
        Request::Claim(_) => "claim",
        Request::Manual(_) => "manual",
        Request::Renew(_) => "renew",
        Request::Finish(_) => "finish",
        Request::Abandon(_) => "abandon",
        Request::Operate(_) => "operate",
    }
}

/// What one of the two is told differently, to show that the comparison notices.
type Twist = fn(&mut Request, &mut UtcMillis);

/// One difference in each kind of request, and one in the clock.
const TWISTS: [(&str, Twist); 10] = [
    ("a clock one millisecond ahead", |_, now| *now = now.plus(Duration::from_millis(1))),
    ("another tick", |request, _| {
        if let Request::Claim(claim) = request {
            claim.tick.0 = claim.tick.0.plus(Duration::from_millis(1));
        }
    }),
    ("less calm", |request, _| {
        if let Request::Claim(claim) = request {
            claim.caller.calm = claim.caller.calm.saturating_sub(Duration::from_secs(300));
        }
    }),
    ("one who cannot run it", |request, _| {
        if let Request::Claim(claim) = request {
            claim.unfit = Some(Reason::Capacity);
        }
    }),
    ("no order", |request, _| {
        if let Request::Manual(manual) = request {
            manual.order = None;
        }
    }),
    ("a known job", |request, _| {
        if let Request::Open(open) = request {
            open.is_known_job = true;
        }
    }),
    ("another fence", |request, _| {
        if let Request::Renew(renew) = request {
            renew.lease.fence.0 += 1;
        }
    }),
    ("another era", |request, _| {
        if let Request::Finish(finish) = request {
            finish.era.0.push('0');
        }
    }),
    ("another operator", |request, _| {
        if let Request::Operate(operate) = request {
            operate.by.push('0');
        }
    }),
    ("another run", |request, _| {
        if let Request::Abandon(abandon) = request {
            abandon.run = RunId::new();
        }
    }),
];

/// Runs one history, and stops at the first difference.
async fn compare(pair: &mut Pair, seed: u128, reached: &mut Reached, twist: Twist) -> Result<(), String> {
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed.to_le_bytes());
    let mut history = History::new(rng, pair.era.clone());
    let mut record: Option<Record> = None;
    pair.begin();
    let mut now = pair.now().await;
    for step in 0..STEPS_PER_HISTORY {
        if history.tamper(&mut record, now) {
            pair.store_record(record.as_ref());
        }
        let request = history.request(record.as_ref(), now);
        let before = usize::from(pair.newest.is_some());
        let (by_scripts, mirrored, is_usual) = pair.by_scripts(&request).await;
        now = by_scripts.reply.now;

        let (mut told, mut told_now) = (request.clone(), now);
        twist(&mut told, &mut told_now);
        let decision = pair.by_function(record.as_ref(), &told, told_now);
        let by_function = pair.written(decision.clone());
        if by_function != by_scripts {
            return Err(format!(
                "SOLOCRON_TEST_SEED={seed}, step {step}\nrecord: {record:#?}\nrequest: {request:#?}\n\
                 by the scripts: {by_scripts:#?}\nby the function: {by_function:#?}"
            ));
        }
        let left = |r: &Record| if r.is_running() { r.locked_until.0 - now.0 } else { 0 };
        let left_ms = by_scripts.record.as_ref().map_or(0, left);
        let held = left_ms > 0;
        // A mirror that ends within moments may have ended before it was looked for.
        let is_certain = !held || left_ms > MOMENT_MS;
        if by_scripts.record != record && mirrored != held && is_certain {
            return Err(format!("SOLOCRON_TEST_SEED={seed}, step {step}: mirrored {mirrored}, held {held}"));
        }
        reached.add(&request, &decision, is_usual);
        reached.count(record.as_ref(), &decision, is_usual);
        reached.give(record.as_ref(), &request, &decision.reply.answer);
        let is_former = record.as_ref().is_some_and(|record| record.era != pair.era);
        reached.former += usize::from(is_former && is_usual && matches!(request, Request::Finish(_)));
        let since = |record: &Option<Record>| record.as_ref().map(|record| record.schedule_since);
        let is_earlier = since(&by_scripts.record) < since(&record);
        reached.before += usize::from(is_earlier && matches!(request, Request::Abandon(_)));
        reached.joined += before + decision.entries.len() - by_scripts.history.len();
        pair.go_on_from(&by_scripts.history);
        record = by_scripts.record;
    }
    Ok(())
}

fn straight(_: &mut Request, _: &mut UtcMillis) {}

/// The seed of the first history: a new one each time, unless the environment names one.
fn first_seed() -> u128 {
    match std::env::var("SOLOCRON_TEST_SEED") {
        Ok(seed) => seed.parse().expect("SOLOCRON_TEST_SEED is a number"),
        Err(_) => {
            RunId::new().to_string().bytes().fold(1, |seed, byte| seed * 31 % (1 << 90) + u128::from(byte))
        }
    }
}

#[tokio::test]
async fn the_scripts_decide_as_the_function_does() {
    let server = RedisServer::start();
    let mut pair = Pair::meet(&server).await;
    let mut reached = Reached::default();
    let first = first_seed();
    for history in 0..STEPS_AT_MOST / STEPS_PER_HISTORY {
        if history * STEPS_PER_HISTORY >= STEPS && reached.missing().is_empty() {
            break;
        }
        let seed = first + history as u128;
        if let Err(difference) = compare(&mut pair, seed, &mut reached, straight).await {
            panic!("{difference}");
        }
    }
    let missing = reached.missing();
    assert!(missing.is_empty(), "never met: {missing:?}, from SOLOCRON_TEST_SEED={first}: {reached:#?}");
}

#[tokio::test]
async fn the_comparison_notices_a_difference_in_every_kind_of_request() {
    let server = RedisServer::start();
    let mut pair = Pair::meet(&server).await;
    for (what, twist) in TWISTS {
        let mut noticed = false;
        for seed in 1..=20 {
            noticed |= compare(&mut pair, seed, &mut Reached::default(), twist).await.is_err();
            if noticed {
                break;
            }
        }
        assert!(noticed, "{what}");
    }
}

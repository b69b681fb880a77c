//! The campaign: real replicas, real Redis servers, and everything done to them that the promise survives. The jobs
//! themselves are the witnesses, and a checker reads what they, the replicas and the stores wrote down.
//!
//! The short form is a test; `make campaign DURATION=1h SEED=7` runs the long one.

mod asker;
#[path = "../support/c_program.rs"]
mod c_program;
mod campaign;
mod checker;
mod checker_tests;
#[path = "../support/copy.rs"]
mod copy;
mod coverage;
#[path = "../support/dice.rs"]
mod dice;
mod evidence;
mod fault;
mod forgery;
mod hands;
mod injection;
mod inspector;
mod jobs;
mod keys;
mod lag;
mod ledger;
mod liveness;
mod liveness_tests;
mod pause;
mod processes;
mod proxy;
#[expect(dead_code, reason = "what the tests of the stores need besides")]
#[path = "../support/redis_server.rs"]
mod redis_server;
mod renewals;
mod replica;
mod resp;
mod rollback;
mod scripts;
mod server;
mod set_back;
#[expect(dead_code, reason = "what the tests of clusters need besides")]
#[path = "../support/shim.rs"]
mod shim;
mod situations;
mod storm;
mod switched_off;
mod testimony;
mod trick;
mod two_primaries;
mod undo;
#[path = "../support/variable.rs"]
mod variable;
mod violation;
mod watchman;
mod world;
mod wrong_clock;

use std::collections::BTreeSet;
use std::time::Duration;

use campaign::Outcome;
use solocron::lease::Answer;
use variable::variable;

/// The short form.
const SHORT: Duration = Duration::from_secs(250);

/// The seed of the short form: any other must do as well.
const SEED: u64 = 1;

/// In the long form every kind of fault, request and answer occurs; in the short one, all but so many: a few are a matter of chance.
const MAX_LACKING: usize = 8;

/// Every answer must occur in the long form, but for the one that only a newer release can cause, and those to operators.
const NOT_ASKED_FOR: [&str; 3] = ["newer_schema", "noted", "no_record"];

/// The proxy tells requests apart by their shape: one that it does not know any more is never tricked.
const REQUESTS: [&str; 6] =
    ["sent Open", "sent Claim", "sent Renew", "sent Finish", "sent Abandon", "sent Pulse"];

/// Kinds of faults and of answers that did not occur.
fn lacking(outcome: &Outcome) -> BTreeSet<String> {
    let faults = outcome.injected().into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name);
    let seen = &outcome.evidence.replies;
    let answers = Answer::NAMES.into_iter().filter(|name| !NOT_ASKED_FOR.contains(name));
    let tricks = ["cut", "delay", "held request", "delivered late", "dropped reply", "reset in reply"];
    let unseen = answers.chain(tricks).filter(|name| !seen.contains_key(*name));
    let (acts, causes) = (hands::Hands::kinds(), outcome.causes());
    let undone = acts.filter(|act| !outcome.evidence.hands.contains_key(act));
    let idle =
        ["catch_up", "manual", "rerun", "schedule"].into_iter().filter(|cause| !causes.contains_key(cause));
    faults.chain(unseen).chain(undone).chain(idle).map(str::to_owned).collect()
}

#[test]
fn no_fault_makes_a_tick_run_twice_or_go_missing() {
    let long = variable("CAMPAIGN_DURATION", |text| solocron::job::parse_duration(text).ok());
    let seed = variable("CAMPAIGN_SEED", |text| text.parse().ok()).unwrap_or(SEED);
    let outcome = campaign::run(seed, long.unwrap_or(SHORT));
    assert!(outcome.violations.is_empty(), "see above; again with CAMPAIGN_SEED={seed}");
    let (ticks, clear) = outcome.ticks();
    assert!(clear * 2 >= ticks, "only {clear} of {ticks} ticks had no fault near");
    let unknown: Vec<_> =
        REQUESTS.iter().filter(|name| !outcome.evidence.replies.contains_key(**name)).collect();
    assert!(unknown.is_empty(), "the proxy knows these requests no more: {unknown:?}");
    let (lacking, most) = (lacking(&outcome), if long.is_some() { 0 } else { MAX_LACKING });
    assert!(lacking.len() <= most, "did not occur: {lacking:?}");
}

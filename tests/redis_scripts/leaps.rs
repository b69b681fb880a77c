//! The leaps of a record do not overlap, and none goes beyond the mark, whatever is asked. With leaps that do, the order of
//! those that begin together is not defined, and the scripts may differ from the function. Only the function decides here.

use std::time::Duration;

use proptest::test_runner::{RngAlgorithm, TestRng};
use solocron::lease::{Era, Leap, LeaseInstant, Memory, Record, Server, decide};
use solocron::time::UtcMillis;

use crate::history::History;
use crate::{STEPS_PER_HISTORY, first_seed};

const HISTORIES: usize = 250;

fn are_in_order(record: &Record) -> bool {
    let leaps: Vec<&Leap> = record.leaps.iter().collect();
    leaps.iter().all(|leap| leap.to <= record.mark)
        && leaps.windows(2).all(|pair| pair[0].to <= pair[1].after)
}

/// Goes through one history; the error is the first request that leaves leaps in disorder.
fn goes_well(seed: u128) -> Result<(), String> {
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed.to_le_bytes());
    let (mut now, era) = (UtcMillis(1_800_000_000_000), Era("e1".into()));
    let mut history = History::new(rng, era.clone());
    let mut record: Option<Record> = None;
    for step in 0..STEPS_PER_HISTORY {
        history.tamper(&mut record, now);
        let request = history.request(record.as_ref(), now);
        let server =
            Server { now, lease_now: LeaseInstant(now.0), era: era.clone(), memory: Memory::Forgetful };
        let decision = decide(record.as_ref(), &request, &server);
        if decision.record.as_ref().is_some_and(|record| !are_in_order(record)) {
            return Err(format!(
                "SOLOCRON_TEST_SEED={seed}, step {step}\nrecord: {record:#?}\nrequest: {request:#?}\n\
                 decided: {decision:#?}"
            ));
        }
        record = decision.record;
        now = now.plus(Duration::from_millis(1));
    }
    Ok(())
}

#[test]
fn leaps_do_not_overlap_and_end_at_the_mark() {
    let first = first_seed();
    for history in 0..HISTORIES {
        if let Err(disorder) = goes_well(first + history as u128) {
            panic!("{disorder}");
        }
    }
}

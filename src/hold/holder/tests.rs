//! The holder without a run, a disk or a store: what it does with each kind of input, effect by effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::testing::spec;
use crate::hold::attempts::Retries;
use crate::hold::lease_file::entry::tests::lease as noted_lease;
use crate::hold::start_gate::StartGate;
use crate::lease::Deadline;
use crate::run::{Birth, Identity, Launch, StopSignals};
use crate::store::clock::{ClockReading, StoreClock};

use super::*;

/// Midnight, UTC: the tick, and the store's clock when the boot clock shows zero.
const T0: UtcMillis = UtcMillis(1_767_225_600_000);

const SUCCEEDED: Verdict = Verdict::plain(Outcome::Succeeded);
const CUT_SHORT: Verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);

/// A holder with a lease of 30 s, granted by a claim that was sent when the boot clock showed zero. The wall clock is three
/// seconds ahead of the store's.
struct Bench {
    holder: LockHolder,
    boot_ms: u64,
}

fn at(ms: u64) -> BootInstant {
    BootInstant(Duration::from_millis(ms))
}

fn lease(cause: Cause) -> Lease {
    Lease { tick: Tick(T0), cause, tries: 1, started: T0, ..noted_lease(7) }
}

fn grant(lease: Lease) -> Grant {
    let spec = spec("schedule = \"@hourly\"\nlease = \"30s\"\nkill_grace = \"10s\"");
    let identity = Identity::of(&spec.name, &lease, String::new());
    Grant {
        launch: Launch::new(&spec, BTreeMap::new(), Arc::default(), identity),
        retries: Retries::default(),
        deadline: Deadline::of_job(&spec, at(0)),
        lease,
        sent: at(0),
        start_gate: StartGate::default(),
        era: Era("e1".into()),
        waited: false,
    }
}

fn ended(verdict: Verdict) -> Ended {
    ended_at(T0, verdict)
}

/// How a run ended at this time of the wall clock of which no more is known.
pub(crate) fn ended_at(at: UtcMillis, verdict: Verdict) -> Ended {
    Ended {
        verdict,
        was_tried: true,
        exit_code: None,
        signal: None,
        error: None,
        tail: String::new(),
        was_stuck: false,
        stop_signals: StopSignals::default(),
        started: at,
        ago: Duration::ZERO,
        finished: at,
        log_bytes: 0,
        birth: Birth::default(),
    }
}

fn untried(reason: Reason) -> Ended {
    Ended { was_tried: false, ..ended(Verdict::because(Outcome::Interrupted, reason)) }
}

fn no_answer<T>() -> Result<T, StoreError> {
    Err(StoreError::Unknown("no answer".into()))
}

/// What an effect does, in a few words.
fn told(effect: &HolderEffect) -> String {
    let first_word = |text: String| text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
    match effect {
        HolderEffect::Report(event) => format!("log {}", first_word(format!("{event:?}"))),
        HolderEffect::NoteRun { era, loss_grace } => format!("note run of {} {loss_grace:?}", era.0),
        HolderEffect::Renew { sent, era, .. } => format!("renew {}ms {}", sent.0.as_millis(), era.0),
        HolderEffect::Renewed { deadline } => match deadline {
            Some(deadline) => format!("until {}ms", deadline.0.as_millis()),
            None => "until never".to_owned(),
        },
        HolderEffect::Stop(order) => format!("stop {:?} {:?}", order.reason, order.grace),
        HolderEffect::NoteEnd(finish) => format!("note end {}", finish.verdict.outcome),
        HolderEffect::Record { request, is_first } => {
            let again = if *is_first { "" } else { " again" };
            format!("record {}{again}", first_word(format!("{request:?}")))
        }
        HolderEffect::Release(lock) => {
            format!("release back={} again={}", lock.given_back.is_some(), lock.cut_short.is_some())
        }
        other => first_word(format!("{other:?}")),
    }
}

impl Bench {
    fn of(cause: Cause) -> Self {
        Self::with(lease(cause))
    }

    fn with(lease: Lease) -> Self {
        let store_clock = SharedStoreClock::default();
        let reading = ClockReading { sent: at(0), received: at(0), store: T0 };
        *store_clock.lock() = Some(StoreClock::first(reading, Era("e2".into())));
        let holder = LockHolder::new(&grant(lease), store_clock);
        let mut bench = Self { holder, boot_ms: 0 };
        assert_eq!(bench.tell(HolderInput::Granted), ["note run of e1 5s", "StartRun"]);
        bench
    }

    fn step(&mut self, input: HolderInput) -> Vec<HolderEffect> {
        let now = Now::at(at(self.boot_ms), T0.plus(Duration::from_millis(self.boot_ms + 3_000)));
        self.holder.step(input, now)
    }

    fn tell(&mut self, input: HolderInput) -> Vec<String> {
        self.step(input).iter().map(told).collect()
    }

    /// Tells it at this time of the boot clock that it is time.
    fn wake_at(&mut self, ms: u64) -> Vec<String> {
        self.boot_ms = ms;
        self.tell(HolderInput::Woke)
    }

    /// The renewal that was sent at this time is answered.
    fn answer(&mut self, sent_ms: u64, answer: Result<Answer, StoreError>) -> Vec<String> {
        self.tell(HolderInput::RenewalAnswered { sent: at(sent_ms), era: Era("e2".into()), answer })
    }

    fn renewed(&mut self, sent_ms: u64) -> Vec<String> {
        self.answer(sent_ms, Ok(Answer::Renewed { stop: None }))
    }

    fn run_over(&mut self, ended: Ended) -> Vec<String> {
        self.tell(HolderInput::RunOver(Box::new(RunEnd { attempt: 2, ended, stages: None })))
    }

    fn record_answered(&mut self, answer: Result<Answer, StoreError>) -> Vec<String> {
        self.tell(HolderInput::RecordAnswered { answer, is_last: false })
    }

    /// The answer to a request that was sent after the order to give up.
    fn last_answered(&mut self, answer: Result<Answer, StoreError>) -> Vec<String> {
        self.tell(HolderInput::RecordAnswered { answer, is_last: true })
    }

    /// When it wakes by itself, in milliseconds of the boot clock.
    fn wakes(&self) -> Option<u128> {
        self.holder.wakes_at().map(|at| at.0.as_millis())
    }
}

#[test]
fn it_renews_every_sixth_of_the_lease_and_moves_the_deadline_by_the_sending() {
    let mut bench = Bench::of(Cause::Schedule);
    assert_eq!(bench.wakes(), Some(5_000));
    assert!(bench.wake_at(4_999).is_empty());
    assert_eq!(bench.wake_at(5_000), ["renew 5000ms e2"]);
    assert_eq!(bench.wakes(), Some(23_700), "until the answer comes, only the deadline is awaited");
    bench.boot_ms = 6_000;
    assert_eq!(bench.renewed(5_000), ["until 28700ms", "log Renewed"]);
    assert_eq!(bench.wakes(), Some(10_000));
}

#[test]
fn a_renewal_carries_the_lock_and_the_stores_expected_time() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.boot_ms = 5_000;
    let effects = bench.step(HolderInput::Woke);
    let [HolderEffect::Renew { renew, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(renew.lease, bench.holder.lease);
    assert_eq!(renew.expect, T0.plus(Duration::from_secs(5)));
    assert_eq!(renew.leapt, None);
}

#[test]
fn what_is_left_of_the_lease_is_logged_as_it_was_before_the_renewal() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    bench.boot_ms = 5_100;
    let answer = Ok(Answer::Renewed { stop: None });
    let effects = bench.step(HolderInput::RenewalAnswered { sent: at(5_000), era: Era("e2".into()), answer });
    let [_, HolderEffect::Report(Event::Renewed { sent, left, lease, .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((*sent, *left), (at(5_000), Duration::from_millis(24_900)));
    assert_eq!(*lease, Duration::from_secs(30));
}

#[test]
fn failed_renewals_are_tried_again_and_the_first_of_a_row_is_logged() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    assert_eq!(bench.answer(5_000, no_answer()), ["log RenewalFailed"]);
    assert_eq!(bench.wakes(), Some(5_500));
    assert_eq!(bench.wake_at(5_500), ["renew 5500ms e2"]);
    assert!(bench.answer(5_500, no_answer()).is_empty());
    assert_eq!(bench.wake_at(6_000), ["renew 6000ms e2"]);
    assert_eq!(bench.renewed(6_000), ["until 29700ms", "log Renewed"]);
    assert_eq!(bench.wake_at(11_000), ["renew 11000ms e2"]);
    bench.boot_ms = 12_000;
    assert_eq!(bench.answer(11_000, Ok(Answer::Unsynced)), ["log RenewalFailed"], "a new row");
    assert_eq!(bench.wakes(), Some(12_500), "the pause begins with the answer");
}

#[test]
fn at_the_deadline_the_run_stops_and_the_lock_is_renewed_all_the_same() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    bench.answer(5_000, no_answer());
    assert_eq!(bench.wake_at(23_700), ["stop LockLost 5s", "log LockLost", "renew 23700ms e2"]);
    assert_eq!(bench.wakes(), None);
    assert_eq!(bench.renewed(23_700), ["until never", "log Renewed"], "the run still has to stop");
    assert_eq!(bench.wakes(), Some(28_700));
    assert!(bench.answer(28_700, Ok(Answer::Lost)).is_empty(), "it was stopped before");
}

#[test]
fn a_deadline_that_passes_under_a_renewal_stops_the_run_once() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    assert_eq!(bench.wake_at(23_700), ["stop LockLost 5s", "log LockLost"]);
    assert!(bench.wake_at(23_701).is_empty());
}

#[test]
fn a_lock_that_the_store_gave_away_leaves_no_grace_and_is_not_renewed() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    assert_eq!(bench.answer(5_000, Ok(Answer::Lost)), ["stop LockLost 0ns", "log LockLost"]);
    assert_eq!(bench.wakes(), None);
    assert!(bench.wake_at(60_000).is_empty());
    assert!(bench.tell(HolderInput::Hurry).is_empty());
}

#[test]
fn a_stop_that_comes_with_a_renewal_has_the_jobs_own_grace() {
    for (why, reason) in [(Reason::Operator, "Operator"), (Reason::Replaced, "Replaced")] {
        let mut bench = Bench::of(Cause::Schedule);
        bench.wake_at(5_000);
        let effects = bench.answer(5_000, Ok(Answer::Renewed { stop: Some(why) }));
        assert_eq!(effects, ["until 28700ms", "log Renewed", &format!("stop {reason} 10s")]);
    }
}

#[test]
fn an_order_to_hurry_renews_at_once_and_not_twice() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.boot_ms = 100;
    assert_eq!(bench.tell(HolderInput::Hurry), ["renew 100ms e2"]);
    assert!(bench.tell(HolderInput::Hurry).is_empty(), "one is under way");
    assert_eq!(bench.renewed(100), ["until 23800ms", "log Renewed"]);
    assert_eq!(bench.wakes(), Some(5_100));
}

#[test]
fn the_end_is_noted_then_reported_and_recorded_while_the_log_is_closed() {
    let mut bench = Bench::of(Cause::Schedule);
    assert_eq!(bench.run_over(ended(SUCCEEDED)), ["log RunEnded", "note end succeeded"]);
    assert_eq!(bench.wakes(), None);
    assert_eq!(bench.tell(HolderInput::EndNoted), ["ReportEnd", "record Finish", "CloseLog"]);
    assert_eq!(bench.wakes(), None);
    assert_eq!(
        bench.record_answered(Ok(Answer::Finished)),
        ["log RunRecorded", "release back=false again=false"]
    );
    assert!(bench.wake_at(90_000).is_empty(), "nothing is left to do");
}

#[test]
fn an_end_that_somebody_else_recorded_is_not_logged_as_recorded() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.run_over(ended(SUCCEEDED));
    bench.tell(HolderInput::EndNoted);
    let effects = bench.record_answered(Ok(Answer::AlreadyDecided));
    assert_eq!(effects, ["release back=false again=false"]);
}

#[test]
fn the_recorded_end_is_that_of_the_last_attempt_by_the_stores_clock() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.boot_ms = 9_000;
    let tail = "the tail".to_owned();
    let ended = Ended { ago: Duration::from_secs(2), exit_code: Some(3), tail, ..ended(SUCCEEDED) };
    bench.run_over(ended);
    let effects = bench.step(HolderInput::EndNoted);
    let [_, HolderEffect::Record { request, .. }, HolderEffect::CloseLog(end)] = &effects[..] else {
        panic!("{effects:?}")
    };
    let Request::Finish(finish) = &**request else { panic!("{request:?}") };
    assert_eq!((finish.attempt, finish.exit_code, finish.signal), (2, Some(3), None));
    assert_eq!(finish.ended, T0.plus(Duration::from_secs(7)));
    assert_eq!((finish.tail.as_str(), finish.era.0.as_str()), ("the tail", "e1"));
    assert_eq!((end.attempt, end.ended.exit_code), (2, Some(3)));
}

#[test]
fn the_end_names_the_era_of_the_last_good_renewal() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    bench.answer(5_000, no_answer());
    bench.wake_at(5_500);
    bench.renewed(5_500);
    bench.run_over(ended(SUCCEEDED));
    let effects = bench.step(HolderInput::EndNoted);
    let [_, HolderEffect::Record { request, .. }, _] = &effects[..] else { panic!("{effects:?}") };
    assert!(matches!(&**request, Request::Finish(finish) if finish.era.0 == "e2"), "{request:?}");
}

#[test]
fn an_end_that_is_not_recorded_is_sent_again_with_growing_pauses() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.run_over(ended(SUCCEEDED));
    bench.tell(HolderInput::EndNoted);
    assert_eq!(bench.record_answered(no_answer()), ["log FinishDelayed"]);
    let mut now = 0;
    for pause in [100, 200, 400, 800, 1_000] {
        assert!(bench.wake_at(now + pause - 1).is_empty());
        assert_eq!(bench.wakes(), Some(u128::from(now + pause)));
        now += pause;
        assert_eq!(bench.wake_at(now), ["record Finish again"]);
        assert_eq!(bench.wakes(), None);
        assert!(bench.record_answered(Ok(Answer::Unsynced)).is_empty(), "the first failure is logged");
    }
    bench.wake_at(now + 1_000);
    let effects = bench.record_answered(Ok(Answer::Finished));
    assert_eq!(effects, ["log RunRecorded", "release back=false again=false"]);
}

#[test]
fn a_holder_that_gives_up_in_a_pause_tries_once_more_at_once() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.run_over(ended(SUCCEEDED));
    bench.tell(HolderInput::EndNoted);
    bench.record_answered(no_answer());
    assert!(!bench.holder.has_given_up());
    assert_eq!(bench.tell(HolderInput::GiveUp), ["record Finish again"]);
    assert!(bench.holder.has_given_up());
    assert_eq!(bench.last_answered(no_answer()), ["log FinishGivenUp", "release back=false again=false"]);
}

#[test]
fn a_holder_that_gives_up_while_an_answer_is_awaited_tries_once_more_after_it() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.run_over(ended(SUCCEEDED));
    bench.tell(HolderInput::EndNoted);
    assert!(bench.tell(HolderInput::GiveUp).is_empty());
    assert_eq!(bench.record_answered(no_answer()), ["log FinishDelayed", "record Finish again"]);
    assert_eq!(bench.last_answered(no_answer()), ["log FinishGivenUp", "release back=false again=false"]);
}

#[test]
fn a_holder_that_gave_up_before_the_end_sends_it_once() {
    let mut bench = Bench::of(Cause::Schedule);
    assert!(bench.tell(HolderInput::GiveUp).is_empty());
    bench.run_over(ended(SUCCEEDED));
    assert_eq!(bench.tell(HolderInput::EndNoted), ["ReportEnd", "record Finish", "CloseLog"]);
    assert_eq!(bench.last_answered(no_answer()), ["log FinishGivenUp", "release back=false again=false"]);
}

#[test]
fn a_holder_that_gives_up_right_before_the_end_is_sent_sends_it_once() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.run_over(ended(SUCCEEDED));
    bench.tell(HolderInput::EndNoted);
    assert!(bench.tell(HolderInput::GiveUp).is_empty());
    let effects = bench.last_answered(no_answer());
    assert_eq!(effects, ["log FinishGivenUp", "release back=false again=false"], "and logs no delay");
}

#[test]
fn a_run_that_was_not_started_gives_its_lock_back_and_leaves_no_note() {
    let mut bench = Bench::of(Cause::Schedule);
    let effects = bench.run_over(untried(Reason::LockLost));
    assert_eq!(effects, ["ReportEnd", "log ClaimAbandoned", "ForgetNote", "record Abandon", "ForgetLog"]);
    assert_eq!(bench.record_answered(Ok(Answer::Abandoned)), ["release back=true again=false"]);
}

#[test]
fn what_is_given_back_names_its_run_its_era_and_why() {
    let mut bench = Bench::of(Cause::Schedule);
    let end = RunEnd { attempt: 1, ended: untried(Reason::Shutdown), stages: None };
    let effects = bench.step(HolderInput::RunOver(Box::new(end)));
    let run = bench.holder.lease.run;
    let [_, HolderEffect::Report(event), _, HolderEffect::Record { request, .. }, _] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(matches!(event, Event::ClaimAbandoned { reason: Reason::Shutdown, run: of, .. } if *of == run));
    let Request::Abandon(abandon) = &**request else { panic!("{request:?}") };
    assert_eq!((abandon.run, abandon.era.0.as_str(), abandon.edited), (run, "e1", false));
    let answered = HolderInput::RecordAnswered { answer: Ok(Answer::Abandoned), is_last: false };
    let effects = bench.step(answered);
    let [HolderEffect::Release(lock)] = &effects[..] else { panic!("{effects:?}") };
    let expected =
        ReleasedLock { job: bench.holder.run.job.clone(), run, given_back: Some(Tick(T0)), cut_short: None };
    assert_eq!(*lock, expected);
}

#[test]
fn what_is_given_back_is_open_again_only_if_the_run_had_decided_its_tick() {
    for (cause, released) in [
        (Cause::Schedule, "release back=true again=false"),
        (Cause::CatchUp, "release back=true again=false"),
        (Cause::Manual, "release back=false again=false"),
        (Cause::Rerun, "release back=false again=true"),
    ] {
        let mut bench = Bench::of(cause);
        bench.run_over(untried(Reason::Shutdown));
        assert_eq!(bench.record_answered(Ok(Answer::Abandoned)), [released], "{cause}");
    }
}

#[test]
fn a_tick_may_run_again_if_its_run_was_cut_short_and_a_try_is_left() {
    let released = |lease: Lease, verdict: Verdict| {
        let mut bench = Bench::with(lease);
        bench.run_over(ended(verdict));
        bench.tell(HolderInput::EndNoted);
        bench.record_answered(Ok(Answer::Finished)).pop().expect("it is released")
    };
    let again = "release back=false again=true";
    let over = "release back=false again=false";
    assert_eq!(released(lease(Cause::Schedule), CUT_SHORT), again);
    assert_eq!(released(lease(Cause::Schedule), SUCCEEDED), over);
    assert_eq!(released(lease(Cause::Schedule), Verdict::plain(Outcome::Failed)), over);
    assert_eq!(released(lease(Cause::Manual), CUT_SHORT), over);
    assert_eq!(released(Lease { tries: 99, ..lease(Cause::Rerun) }, CUT_SHORT), over);
}

#[test]
fn what_outlived_sigkill_after_the_lock_was_lost_has_an_unknown_end() {
    let stuck = || Ended { was_stuck: true, ..ended(CUT_SHORT) };
    let mut held = Bench::of(Cause::Schedule);
    assert_eq!(held.run_over(stuck()), ["log RunEnded", "note end interrupted"]);
    let mut lost = Bench::of(Cause::Schedule);
    lost.wake_at(5_000);
    lost.answer(5_000, Ok(Answer::Lost));
    assert_eq!(lost.run_over(stuck()), ["log RunEnded", "note end unknown"]);
    let mut killed = Bench::of(Cause::Schedule);
    killed.wake_at(23_700);
    assert_eq!(killed.run_over(ended(CUT_SHORT)), ["log RunEnded", "note end interrupted"]);
}

#[test]
fn an_answer_to_a_renewal_changes_nothing_once_the_run_is_over() {
    let mut bench = Bench::of(Cause::Schedule);
    bench.wake_at(5_000);
    bench.run_over(ended(SUCCEEDED));
    assert!(bench.renewed(5_000).is_empty());
    assert_eq!(bench.tell(HolderInput::EndNoted), ["ReportEnd", "record Finish", "CloseLog"]);
    assert!(bench.answer(5_000, Ok(Answer::Lost)).is_empty());
}

//! Random histories of one job: requests of every kind, honest or not, on records that time, other lives of the store
//! and operators have changed. Few values of each sort, so that they meet.

mod batch;
mod usual;

use std::time::Duration;

use proptest::prelude::RngExt;
use proptest::test_runner::TestRng;
use solocron::job::{Cause, Fence, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick, Verdict};
use solocron::lease::{
    Abandon, Act, Ahead, Caller, Claim, Dropped, Era, Finish, Gap, Leap, Lease, LeaseInstant, LiveRuns,
    Manual, Open, Operate, Pausing, Record, Renew, Request, SCHEMA, ScheduleHash,
};
use solocron::time::UtcMillis;

use crate::support::sample::node;

/// Distances in time at which something changes, in milliseconds.
const SPANS: [i64; 16] =
    [0, 1, 2, 150, 199, 200, 201, 250, 900, 1_100, 2_000, 4_999, 5_000, 5_001, 30_000, 300_000];

/// Draws requests and changes of the record.
pub(crate) struct History {
    rng: TestRng,
    runs: Vec<RunId>,
    era: Era,
}

impl History {
    /// A history on a server in this life.
    pub(crate) fn new(rng: TestRng, era: Era) -> Self {
        Self { rng, runs: (0..4).map(|_| RunId::new()).collect(), era }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.random_range(0..n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.rng.random_range(0..of.len())].clone()
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        self.one_in(2).then_some(value)
    }

    fn span(&mut self) -> Duration {
        let ms = self.pick(&SPANS);
        Duration::from_millis(ms.unsigned_abs())
    }

    fn near(&mut self, at: UtcMillis) -> UtcMillis {
        let span = self.span();
        if self.one_in(2) { at.plus(span) } else { at.minus(span) }
    }

    fn length(&mut self) -> Duration {
        let leases = [5, 30, 300].map(Duration::from_secs);
        self.pick(&leases)
    }

    fn run(&mut self, record: Option<&Record>) -> RunId {
        if self.one_in(6) {
            let next = self.rng.random_range(0..self.runs.len());
            self.runs[next] = RunId::new();
            return self.runs[next];
        }
        let known = self.runs.clone();
        let any = self.pick(&known);
        if self.one_in(3) { record.and_then(|r| r.run).unwrap_or(any) } else { any }
    }

    /// An order: mostly the same one, or one that the record knows.
    fn order(&mut self, record: Option<&Record>) -> RunId {
        let known =
            if self.one_in(2) { record.and_then(|r| r.order) } else { record.and_then(|r| r.order_taken) };
        if self.one_in(3) { known.unwrap_or(self.runs[0]) } else { self.runs[0] }
    }

    fn tick(&mut self, record: Option<&Record>, now: UtcMillis) -> Tick {
        let base = match (record, self.rng.random_range(0..8)) {
            (Some(record), 0 | 1) => record.mark,
            (Some(record), 2) => record.started.unwrap_or(now),
            (Some(record), 3) => record.ended.unwrap_or(now),
            (Some(Record { tick: Some(tick), .. }), 4 | 5) => return *tick,
            _ => now,
        };
        Tick(self.near(base))
    }

    fn sched(&mut self, record: Option<&Record>) -> ScheduleHash {
        let other = ScheduleHash(self.pick(&["", "aa", "bb"]).to_owned());
        if self.one_in(4) { other } else { record.map_or(other, |record| record.schedule_hash.clone()) }
    }

    /// Lets time pass, or somebody change the record; `true` if anything was changed.
    pub(crate) fn tamper(&mut self, record: &mut Option<Record>, now: UtcMillis) -> bool {
        if self.one_in(60) {
            return record.take().is_some();
        }
        let Some(kept) = record.as_mut() else { return false };
        match self.rng.random_range(0..26) {
            0..8 => {
                let span = self.span();
                pass(kept, span);
            }
            8 => kept.era = Era(self.pick(&["", "0badc0de"]).to_owned()),
            9 => {
                kept.paused = self.maybe(now).map(|now| self.near(now));
                kept.paused_at = self.maybe(now).map(|now| self.near(now));
                kept.paused_by = self.maybe("bob@db2".to_owned());
                kept.paused_why = self.maybe("ä \"b\"".to_owned());
            }
            10 | 11 => {
                kept.order = self.maybe(self.runs[0]);
                kept.order_at = self.maybe(now);
                kept.order_taken = self.maybe(self.runs[1]);
            }
            12 => {
                kept.stop_run = self.maybe(kept.run).flatten();
                kept.stop_requested_by = self.maybe("bob@db2".to_owned());
                kept.stop_reason = self.maybe(Reason::Replaced);
            }
            13 => kept.schema = if self.one_in(4) { SCHEMA + 1 } else { SCHEMA },
            14 => kept.lost_after = self.maybe(kept.mark.minus(Duration::from_secs(10))),
            15 => kept.locked_until = LeaseInstant(self.near(now).0),
            16 => kept.settles_at = LeaseInstant(self.near(now).0),
            // A schedule also holds from what was decided ahead of its instant on.
            17 => kept.schedule_since = if self.one_in(2) { kept.mark } else { self.near(now) },
            18..21 => self.lay_to_rest(kept, now),
            21 => self.set_ahead(kept, now),
            22 => {
                kept.reopened = self.near(now);
                kept.reopened_ahead = self.near(now);
                kept.reopened_ahead_count = self.rng.random_range(0..3);
                kept.floor = Fence(self.near(now).0);
                kept.created_mark = if self.one_in(2) { kept.mark } else { self.near(now) };
            }
            23 | 24 => self.set_successes(kept, now),
            _ => return false,
        }
        true
    }

    /// Earlier entries have told of successes and failures, perhaps by a clock that was ahead.
    fn set_successes(&mut self, record: &mut Record, now: UtcMillis) {
        let (tick, end, since) = (Tick(self.near(now)), self.near(now), self.near(now));
        (record.last_success_tick, record.last_success_end) = (self.maybe(tick), self.maybe(end));
        record.failing_since = self.maybe(since);
        record.failures_in_row = if record.failing_since.is_some() { self.rng.random_range(1..5) } else { 0 };
    }

    /// A clock that was ahead has decided ticks, and passed others. The tick of a run is decided.
    fn set_ahead(&mut self, record: &mut Record, now: UtcMillis) {
        let running = record.tick.filter(|_| record.is_running()).map(Tick::instant);
        let mut at = now.minus(Duration::from_secs(600));
        let mut leaps = Vec::new();
        for _ in 0..self.rng.random_range(0..8) {
            let after = at.plus(self.span());
            at = after.plus(self.span() + Duration::from_millis(1)).plus(Duration::from_secs(90));
            let sign = ["", "", "!", "?"][self.rng.random_range(0..4)];
            if running.is_none_or(|tick| tick <= after || at < tick) {
                leaps.push(format!("{}-{}{sign}", after.0, at.0));
            }
        }
        record.leaps = leaps.join(" ").parse().expect("leaps");
        record.mark = at.plus(self.span()).max(running.unwrap_or(at));
    }

    /// A request, expected at `now`.
    pub(crate) fn request(&mut self, record: Option<&Record>, now: UtcMillis) -> Request {
        match self.rng.random_range(0..22) {
            0..5 => Request::Claim(self.claim(record, now)),
            5..9 => Request::Claim(self.next_claim(record, now)),
            9..12 => Request::Manual(self.manual(record, now)),
            12 | 13 => Request::Open(self.open(record, now)),
            14 | 15 => Request::Renew(self.renew(record, now)),
            16 => Request::Finish(self.finish(record, now)),
            17 | 18 => Request::Finish(self.next_finish(record, now)),
            19 | 20 => Request::Operate(self.operate(record, now)),
            _ => {
                Request::Abandon(Abandon { run: self.run(record), era: self.life(), edited: self.one_in(3) })
            }
        }
    }

    fn life(&mut self) -> Era {
        if self.one_in(12) { Era(self.pick(&["", "0badc0de"]).to_owned()) } else { self.era.clone() }
    }

    fn caller(&mut self, now: UtcMillis) -> Caller {
        let expect = if self.one_in(20) { self.near(now) } else { now };
        let heard = if self.one_in(2) { UtcMillis(0) } else { self.near(now) };
        let calm = if self.one_in(3) { self.span() } else { Duration::MAX };
        let largest_lease = if self.one_in(4) { self.length() } else { Duration::ZERO };
        let seen = self.near(now);
        let (node, era, seen) = (node(self.pick(&["a", "b"])), self.life(), self.maybe(seen));
        let answered = if self.one_in(4) { Some(self.near(now)) } else { None };
        let leapt = if self.one_in(3) { Some(self.near(now).max(UtcMillis(0))) } else { None };
        let largest_fence = if self.one_in(3) { Fence(self.near(now).0) } else { Fence(0) };
        Caller {
            node,
            expect,
            era,
            calm,
            latest_store_time: heard,
            largest_lease,
            known_mark: seen,
            answered_mark: answered,
            leapt_from: leapt,
            largest_fence,
        }
    }

    fn overlap(&mut self) -> Overlap {
        self.pick(&[Overlap::Skip, Overlap::Wait, Overlap::Replace])
    }

    fn maybe_unfit(&mut self) -> Option<Reason> {
        let reason = self.pick(&[Reason::NoReplica, Reason::Capacity, Reason::Late]);
        self.one_in(4).then_some(reason)
    }

    fn claim(&mut self, record: Option<&Record>, now: UtcMillis) -> Claim {
        let caller = self.caller(now);
        let tick = self.tick(record, now);
        let prev = before(tick, tick.instant().minus(self.span()));
        let mark = record.map_or(now, |record| record.lost_after.unwrap_or(record.mark));
        let after = if self.one_in(2) { mark } else { self.near(mark) };
        let before = Tick(after.minus(self.span()));
        let gap = Gap { after, before: self.maybe(before), count: 3 };
        Claim {
            caller,
            run: self.run(record),
            tick,
            prev: self.maybe(prev),
            gap: self.maybe(gap),
            gap_reason: self.pick(&[Reason::NoReplica, Reason::StoreUnreachable]),
            schedule_hash: self.sched(record),
            lease: self.length(),
            start_deadline: self.span(),
            overlap: self.overlap(),
            on_interrupt: self.pick(&[OnInterrupt::Skip, OnInterrupt::Rerun]),
            catch_up: self.one_in(4),
            wall: self.near(now),
            unfit: self.maybe_unfit(),
            live_runs: self.live_runs(record),
        }
    }

    fn live_runs(&mut self, record: Option<&Record>) -> LiveRuns {
        let run = record.and_then(|record| record.run);
        let mut some =
            || run.filter(|_| self.one_in(3)).into_iter().chain(self.one_in(4).then(RunId::new)).collect();
        LiveRuns { running: some(), ended: some() }
    }

    fn manual(&mut self, record: Option<&Record>, now: UtcMillis) -> Manual {
        let (order, within) = (self.order(record), self.span());
        Manual {
            caller: self.caller(now),
            run: self.run(record),
            tick: self.tick(record, now),
            asked: self.near(now),
            order: self.maybe(order),
            lease: self.length(),
            overlap: self.overlap(),
            rerun_deadline: self.one_in(4).then_some(within),
        }
    }

    fn open(&mut self, record: Option<&Record>, now: UtcMillis) -> Open {
        let caller = self.caller(now);
        let pausing = self.pausing(now);
        let pausing = self.maybe(pausing);
        let mut sched = self.sched(record);
        if self.one_in(8) {
            sched = ScheduleHash::none();
        }
        let (since, lease, known) = (self.near(now), self.length(), self.one_in(2));
        let dropped = self.dropped(record, now);
        let dropped = self.maybe(dropped);
        let earlier = if self.one_in(2) { UtcMillis(0) } else { self.near(now) };
        let wall = self.near(now);
        let ahead = self.ahead(now);
        let (agreed, reopened_ahead_count) = (self.one_in(2), self.rng.random_range(0..3));
        Open {
            caller,
            schedule_hash: sched,
            schedule_since: since,
            wall,
            ahead,
            reopened_ahead_count,
            lease,
            files_agree: agreed,
            is_known_job: known,
            latest_of_earlier_eras: earlier,
            dropped,
            pausing,
        }
    }

    /// Spans of ticks that may have run, in order: none, one, or some.
    fn ahead(&mut self, now: UtcMillis) -> Vec<Ahead> {
        let mut ends = [(); 6].map(|()| self.near(now));
        ends.sort_unstable();
        let count = if self.one_in(3) { self.rng.random_range(1..4) } else { 0 };
        ends.chunks_exact(2).map(|ends| Ahead { after: ends[0], to: ends[1] }).take(count).collect()
    }

    fn dropped(&mut self, record: Option<&Record>, now: UtcMillis) -> Dropped {
        let after = record.map_or(now, |record| record.mark);
        let after = if self.one_in(2) { after } else { self.near(after) };
        let count = self.rng.random_range(1..4);
        Dropped { tick: self.tick(record, now), after, count: self.maybe(count) }
    }

    fn pausing(&mut self, now: UtcMillis) -> Pausing {
        let until = self.near(now);
        let why = "ö %s".to_owned();
        Pausing { until: self.maybe(until), at: self.near(now), by: "eve@db3".into(), why: self.maybe(why) }
    }

    fn operate(&mut self, record: Option<&Record>, now: UtcMillis) -> Operate {
        let expect = if self.one_in(20) { self.near(now) } else { now };
        let (lasts, why) = (self.span(), "month end".to_owned());
        let pause = Act::Pause { lasts: self.maybe(lasts), why: self.maybe(why) };
        let run = self.run(record);
        let kill = Act::Kill { run: self.maybe(run) };
        let unlock = Act::Unlock { run: if self.one_in(3) { None } else { Some(run) } };
        let order = self.order(record);
        let tick = self.tick(record, now);
        let trigger = Act::Trigger { order, tick: self.maybe(tick) };
        // An unlock seldom finds what it may remove.
        let withdraw = Act::Withdraw { order };
        let set_mark = Act::SetMark { wall: self.near(now) };
        let act = self.pick(&[pause, Act::Resume, set_mark, kill, unlock.clone(), unlock, trigger, withdraw]);
        Operate { expect, by: self.pick(&["ann@db1", "bob@db2"]).into(), act }
    }

    fn lease(&mut self, record: Option<&Record>, now: UtcMillis) -> Lease {
        let fence = record.map_or(Fence(now.0), |record| record.fence);
        let started = record.and_then(|record| record.started).unwrap_or(now);
        let cause = record.and_then(|record| record.cause).unwrap_or(Cause::Schedule);
        let other_fence = Fence(self.near(UtcMillis(fence.0)).0);
        let tick = self.tick(record, now);
        let prev = before(tick, self.near(now));
        Lease {
            run: self.run(record),
            fence: if self.one_in(3) { other_fence } else { fence },
            tick,
            length: self.length(),
            node: node("h"),
            cause: if self.one_in(4) { self.pick(Cause::ALL) } else { cause },
            tries: self.pick(&[1, 2]),
            started,
            schedule_hash: self.sched(record),
            mark: self.near(record.map_or(now, |record| record.mark)),
            prev: self.maybe(prev),
        }
    }

    fn renew(&mut self, record: Option<&Record>, now: UtcMillis) -> Renew {
        let expect = if self.one_in(20) { self.near(now) } else { now };
        let leapt = self.near(now).max(UtcMillis(0));
        Renew { lease: self.lease(record, now), expect, leapt: self.maybe(leapt) }
    }

    fn finish(&mut self, record: Option<&Record>, now: UtcMillis) -> Finish {
        let succeeded = Verdict::plain(Outcome::Succeeded);
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        let failed = Verdict::because(Outcome::Failed, Reason::SpawnFailed);
        let other = self.pick(&[
            Verdict::plain(Outcome::TimedOut),
            Verdict::because(Outcome::Killed, Reason::Operator),
            Verdict::because(Outcome::Unknown, Reason::LeftBehind),
        ]);
        let exit_code = self.pick(&[0, 3]);
        let tail = self.pick(&["", "last line\n", "ä\u{0}%s\r\n"]);
        let leapt = self.near(now).max(UtcMillis(0));
        Finish {
            lease: self.lease(record, now),
            era: self.life(),
            attempt: 1,
            verdict: self.pick(&[succeeded, failed, interrupted, other]),
            ended: self.near(now),
            exit_code: self.maybe(exit_code),
            signal: self.maybe(9),
            tail: tail.to_owned(),
            leapt: self.maybe(leapt),
        }
    }
}

/// A tick at that instant, or right before `tick` if that is earlier.
fn before(tick: Tick, at: UtcMillis) -> Tick {
    Tick(at.min(UtcMillis(tick.instant().0 - 1)))
}

/// Puts everything that the record knows back by `span`: the same as if that much time had passed.
fn pass(record: &mut Record, span: Duration) {
    let back = |at: &mut Option<UtcMillis>| *at = at.map(|at| at.minus(span));
    back(&mut record.started);
    back(&mut record.ended);
    back(&mut record.paused);
    back(&mut record.paused_at);
    back(&mut record.order_at);
    back(&mut record.lost_after);
    back(&mut record.last_success_end);
    back(&mut record.failing_since);
    record.last_success_tick = record.last_success_tick.map(|tick| Tick(tick.instant().minus(span)));
    record.tick = record.tick.map(|tick| Tick(tick.instant().minus(span)));
    record.mark = record.mark.minus(span).max(UtcMillis(0));
    if record.schedule_since > UtcMillis(0) {
        record.schedule_since = record.schedule_since.minus(span);
    }
    let leap = |leap: &Leap| {
        let after = leap.after.minus(span).max(UtcMillis(0));
        Leap { after, to: leap.to.minus(span), ..*leap }
    };
    // A leap that ends before 1970 would be none.
    let leaps = record.leaps.iter().map(leap).filter(|leap| leap.after < leap.to);
    record.leaps = leaps.map(|leap| leap.to_string()).collect::<Vec<_>>().join(" ").parse().expect("leaps");
    record.fence = Fence(UtcMillis(record.fence.0).minus(span).0);
    for until in [&mut record.locked_until, &mut record.settles_at] {
        if *until > LeaseInstant::FREE {
            *until = LeaseInstant(UtcMillis(until.0).minus(span).0);
        }
    }
}

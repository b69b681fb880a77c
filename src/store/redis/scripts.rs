//! The requests of the lease protocol as Lua scripts and their arguments. Each is one file whose first line states its
//! invariant; the shared parts are put in front.

use std::sync::LazyLock;

use redis::{Cmd, Pipeline, Script};

use crate::job::{JobName, OnInterrupt, Overlap, RunId};
use crate::lease::{Abandon, Act, Ahead, Claim, Finish, Manual, Open, Operate, Protection, Renew, Request};

use super::RedisKeys;
use super::args::{Args, MAX};

macro_rules! script {
    ($name:ident, $($part:literal),+) => {
        static $name: LazyLock<LeaseScript> =
            LazyLock::new(|| LeaseScript::new(&[$(include_str!(concat!("lua/", $part))),+].concat()));
    };
}

/// A script that decides any number of requests of one kind. The first file, if there is one, decides the usual cases; the
/// rules in the other files decide the rest. Their functions are not even created if every request is a usual case.
macro_rules! requests {
    ($name:ident, $($usual:literal)? => $($rules:literal)+, $decide:literal) => {
        static $name: LazyLock<LeaseScript> = LazyLock::new(|| {
            let first = [
                include_str!("lua/era.lua"),
                include_str!("lua/head.lua"),
                include_str!("lua/successes.lua"),
                $(include_str!(concat!("lua/requests/", $usual)))?
            ]
            .concat();
            let rules = [$(include_str!(concat!("lua/parts/", $rules))),+].concat();
            let (decide, each) = (include_str!(concat!("lua/requests/", $decide)), include_str!("lua/each.lua"));
            LeaseScript::new(&format!(
                "{first}local function rules()\n{rules}\
                 return function(keys, args)\nKEYS, ARGV = keys, args\nread_record()\n{decide}end\nend\n{each}"
            ))
        });
    };
}

requests!(OPEN, => "fields.lua" "leaps.lua" "entries.lua" "record.lua", "open.lua");
requests!(CLAIM, "usual_claim.lua" => "fields.lua" "leaps.lua" "entries.lua" "record.lua" "bid.lua", "claim.lua");
requests!(MANUAL, => "fields.lua" "leaps.lua" "entries.lua" "record.lua" "bid.lua", "manual.lua");
requests!(RENEW, => "fields.lua" "leaps.lua" "entries.lua" "record.lua" "holding.lua", "renew.lua");
requests!(FINISH, "usual_finish.lua" => "fields.lua" "leaps.lua" "entries.lua" "record.lua" "holding.lua", "finish.lua");
requests!(ABANDON, => "fields.lua" "leaps.lua" "entries.lua" "record.lua", "abandon.lua");
requests!(OPERATE, => "fields.lua" "leaps.lua" "entries.lua" "record.lua", "operate.lua");
script!(PULSE, "era.lua", "pulse.lua");
script!(ANNOUNCE, "announce.lua");
script!(ENROLL, "enroll.lua");
script!(MARKS, "parts/marks.lua");
script!(STANDINGS, "reads/standings.lua");
script!(GLANCE, "reads/glance.lua");
script!(NEWEST, "reads/newest.lua");
script!(APPEND, "messages/append.lua");
script!(LEAVE, "messages/leave.lua");
script!(COLLECT, "messages/collect.lua");

/// A script with its hash.
pub(super) struct LeaseScript {
    code: String,
    hash: String,
}

impl LeaseScript {
    fn new(code: &str) -> Self {
        let code = without_switched_off(code);
        let hash = Script::new(&code).get_hash().to_owned();
        Self { code, hash }
    }

    /// Returns the call by hash.
    pub(super) fn by_hash(&self, keys: &[String], args: &[Vec<u8>]) -> Cmd {
        Self::command("EVALSHA", &self.hash, keys, args)
    }

    /// Returns the call that carries the whole script, for a server that does not know it.
    pub(super) fn whole(&self, keys: &[String], args: &[Vec<u8>]) -> Cmd {
        Self::command("EVAL", &self.code, keys, args)
    }

    fn command(name: &str, what: &str, keys: &[String], args: &[Vec<u8>]) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(what).arg(keys.len()).arg(keys).arg(args);
        command
    }
}

/// Turns `local x = VALUE --[[protection: NAME, off: OTHER]]` into `local x = OTHER` where a test build has switched
/// the protection off.
fn without_switched_off(code: &str) -> String {
    let off: Vec<_> = Protection::ALL.iter().filter(|protection| !protection.is_on()).collect();
    let switched = |line: &str| {
        let (code, marker) = line.split_once(" --[[protection: ")?;
        let (name, value) = marker.strip_suffix("]]")?.split_once(", off: ")?;
        let (variable, _) = code.split_once(" = ")?;
        off.iter().any(|protection| protection.as_str() == name).then(|| format!("{variable} = {value}\n"))
    };
    code.lines().map(|line| switched(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

/// The heartbeat's script.
pub(super) fn pulse() -> &'static LeaseScript {
    &PULSE
}

/// The script that leaves a notice that an operator changed a record.
pub(super) fn announce() -> &'static LeaseScript {
    &ANNOUNCE
}

/// The script that records that the cluster knows some jobs.
pub(super) fn enroll() -> &'static LeaseScript {
    &ENROLL
}

/// The script that reads how far ticks are decided.
pub(super) fn marks() -> &'static LeaseScript {
    &MARKS
}

/// The script that reads how jobs stand.
pub(super) fn standings() -> &'static LeaseScript {
    &STANDINGS
}

/// The script that reads records with their newest entries.
pub(super) fn glance() -> &'static LeaseScript {
    &GLANCE
}

/// The script that reads the newest lines of a feed.
pub(super) fn newest() -> &'static LeaseScript {
    &NEWEST
}

/// The script that appends a line to a feed.
pub(super) fn append() -> &'static LeaseScript {
    &APPEND
}

/// The script that leaves a text in a slip.
pub(super) fn leave() -> &'static LeaseScript {
    &LEAVE
}

/// The script that empties a slip.
pub(super) fn collect() -> &'static LeaseScript {
    &COLLECT
}

/// Returns the calls that load the scripts that decide requests into a server: each script once, without a request.
pub(super) fn lessons() -> Pipeline {
    let scripts: [&LeaseScript; 7] = [&OPEN, &CLAIM, &MANUAL, &RENEW, &FINISH, &ABANDON, &OPERATE];
    let mut lessons = Pipeline::with_capacity(scripts.len());
    for script in scripts {
        lessons.add_command(script.whole(&[], &[]));
    }
    lessons
}

/// The script of a request, with its keys and arguments.
pub(super) struct Call {
    pub(super) script: &'static LeaseScript,
    keys: [String; 3],
    args: Vec<Vec<u8>>,
}

impl Call {
    /// Whether both can be decided by one call.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        std::ptr::eq(self.script, other.script) && self.args.len() == other.args.len()
    }
}

/// Returns the keys and arguments of one call that makes these requests, all of one kind.
pub(super) fn together(calls: Vec<Call>) -> (Vec<String>, Vec<Vec<u8>>) {
    let each = calls.first().map_or(0, |call| call.args.len());
    let (mut keys, mut args) = (Vec::new(), vec![each.to_string().into_bytes()]);
    for call in calls {
        keys.extend(call.keys);
        args.extend(call.args);
    }
    (keys, args)
}

/// Returns the call that makes a request.
pub(super) fn call_of(request: &Request, keys: &RedisKeys, job: &JobName) -> Call {
    let (script, args): (&'static LeaseScript, Args) = match request {
        Request::Open(open) => (&OPEN, open_args(open)),
        Request::Claim(claim) => (&CLAIM, claim_args(claim).text(keys.hints()).text(job)),
        Request::Manual(manual) => (&MANUAL, manual_args(manual)),
        Request::Renew(renew) => (&RENEW, renew_args(renew)),
        Request::Finish(finish) => (&FINISH, finish_args(finish)),
        Request::Abandon(abandon) => (&ABANDON, abandon_args(abandon).text(keys.hints()).text(job)),
        Request::Operate(operate) => (&OPERATE, operate_args(operate)),
    };
    Call { script, keys: [keys.state(job), keys.lock(job), keys.runs(job)], args: args.0 }
}

fn open_args(open: &Open) -> Args {
    let (caller, pausing) = (&open.caller, open.pausing.as_ref());
    Args::default()
        .text(&caller.era.0)
        .instant(caller.latest_store_time)
        .duration(caller.largest_lease)
        .optional(caller.known_mark.map(|at| at.0))
        .text(&open.schedule_hash.0)
        .instant(open.schedule_since)
        .duration(open.lease)
        .flag(open.is_known_job)
        .flag(pausing.is_some())
        .optional(pausing.map(|said| said.at.0))
        .optional(pausing.and_then(|said| said.until).map(|until| until.0))
        .optional(pausing.map(|said| &said.by))
        .optional(pausing.and_then(|said| said.why.as_ref()))
        .tick(open.dropped.map(|dropped| dropped.tick))
        .optional(open.dropped.map(|dropped| dropped.after.0))
        .optional(open.dropped.and_then(|dropped| dropped.count))
        .instant(open.latest_of_earlier_eras)
        .instant(open.wall)
        .optional(caller.answered_mark.map(|at| at.0))
        .optional(caller.leapt_from.map(|at| at.0))
        .text(spans(&open.ahead))
        .flag(open.files_agree)
        .duration(caller.calm)
        .instant(caller.expect)
        .text(open.reopened_ahead_count)
        .text(caller.largest_fence)
}

/// Spans of ticks as text: `after-to`, the oldest first.
fn spans(spans: &[Ahead]) -> String {
    let texts: Vec<_> = spans.iter().map(|span| format!("{}-{}", span.after.0, span.to.0)).collect();
    texts.join(" ")
}

fn abandon_args(abandon: &Abandon) -> Args {
    Args::default().text(abandon.run).text(&abandon.era.0).flag(abandon.edited)
}

fn operate_args(operate: &Operate) -> Args {
    let args = Args::default().instant(operate.expect).text(&operate.by);
    match &operate.act {
        Act::Pause { lasts, why } => {
            args.text("pause").optional(lasts.map(|lasts| lasts.as_millis().min(MAX))).optional(why.as_ref())
        }
        Act::Resume => args.text("resume"),
        Act::SetMark { wall } => args.text("set_mark").instant(*wall),
        Act::Trigger { order, tick } => args.text("trigger").text(order).tick(*tick),
        Act::Withdraw { order } => args.text("withdraw").text(order),
        Act::Unlock { run } => args.text("unlock").optional(*run),
        Act::Kill { run } => args.text("kill").optional(*run),
    }
}

fn claim_args(claim: &Claim) -> Args {
    let rerun = match claim.on_interrupt {
        OnInterrupt::Skip => "skip",
        OnInterrupt::Rerun => "rerun",
    };
    Args::bid(&claim.caller, &claim.run.to_string(), claim.tick)
        .duration(claim.lease)
        .text(overlap(claim.overlap))
        .leap(&claim.caller)
        .tick(claim.prev)
        .optional(claim.gap.map(|gap| gap.after.0))
        .optional(claim.gap.map(|gap| gap.count))
        .text(claim.gap_reason)
        .text(&claim.schedule_hash.0)
        .duration(claim.start_deadline)
        .text(rerun)
        .flag(claim.catch_up)
        .instant(claim.wall)
        .optional(claim.unfit)
        .tick(claim.gap.and_then(|gap| gap.before))
        .text(claim.caller.largest_fence)
        .text(in_one_text(&claim.live_runs.running))
        .text(in_one_text(&claim.live_runs.ended))
}

/// Writes runs with a space around each, so that one is found by its id between two.
fn in_one_text(runs: &[RunId]) -> String {
    runs.iter().fold(String::from(" "), |text, run| format!("{text}{run} "))
}

fn manual_args(manual: &Manual) -> Args {
    Args::bid(&manual.caller, &manual.run.to_string(), manual.tick)
        .duration(manual.lease)
        .text(overlap(manual.overlap))
        .leap(&manual.caller)
        .instant(manual.asked)
        .optional(manual.order)
        .optional(manual.rerun_deadline.map(|within| within.as_millis().min(MAX)))
        .text(manual.caller.largest_fence)
}

fn renew_args(renew: &Renew) -> Args {
    Args::lease(&renew.lease)
        .instant(renew.expect)
        .optional(renew.leapt.map(|at| at.0))
        .tick(renew.lease.prev)
}

fn finish_args(finish: &Finish) -> Args {
    Args::lease(&finish.lease)
        .text(finish.attempt)
        .text(finish.verdict.outcome)
        .optional(finish.verdict.reason)
        .optional(finish.exit_code)
        .optional(finish.signal)
        .text(&finish.tail)
        .instant(finish.ended)
        .text(&finish.era.0)
        .optional(finish.leapt.map(|at| at.0))
        .tick(finish.lease.prev)
}

fn overlap(policy: Overlap) -> &'static str {
    match policy {
        Overlap::Skip => "skip",
        Overlap::Wait => "wait",
        Overlap::Replace => "replace",
    }
}

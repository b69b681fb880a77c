//! `unlock`: removes the lock of a holder that no longer sends heartbeats, for an operator who cannot wait until the lock
//! expires.

use std::io::BufRead;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::UnlockArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::operate::unlock_mark;
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::target::ClusterTarget;
use crate::job::{JobName, OnInterrupt, RunId};
use crate::lease::{Act, Answer, LeaseInstant, Record};
use crate::store::{LIVE_FOR, Pulse};
use crate::time::UtcMillis;
use crate::view::job_definition::KnownJob;
use crate::view::time_format::{from_now, span, utc};

use super::client::Operator;

/// Replicas send a heartbeat each second.
const TWO_HEARTBEATS: Duration = Duration::from_secs(2);

/// The lock to remove.
struct LockToEnd<'a> {
    job: &'a JobName,
    force: bool,
}

/// Removes the locks, once the operator has confirmed it; with `--mark`, sets marks back instead.
pub(crate) async fn run(
    args: &UnlockArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.mark {
        return unlock_mark::set_back(args, global, screen).await;
    }
    let place = ClusterTarget::find(&args.place, global, screen)?;
    for operator in Operator::connect_all(&args.jobs, &place, global, screen).await? {
        remove(&LockToEnd { job: &operator.job.name, force: args.force }, &operator, screen).await?;
    }
    Ok(Exit::Done)
}

async fn remove(args: &LockToEnd<'_>, operator: &Operator, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let looking = async { Ok::<_, Failure>((operator.record().await?, operator.pulse().await?)) };
    let (record, pulse) = screen.during(FOR_STORE, looking).await?;
    let Some(run) = record.run.filter(|_| record.is_running()) else {
        return end_wait(args, operator, &record, pulse.now, screen).await;
    };
    let silence = silence(args, &record, &pulse)?;
    let first_look = Instant::now();
    if !args.force {
        ask(&question(&operator.job, &record, run, &pulse, &silence), screen)?;
    }
    // The store's clock may have been stepped, which makes heartbeats look old: a live holder sends another one by then.
    let holder = record.owner.as_ref().map_or("its holder".to_owned(), ToString::to_string);
    let what = format!("waiting for a heartbeat of {holder}, {} at most", span(TWO_HEARTBEATS));
    screen.during(&what, sleep_until(first_look + TWO_HEARTBEATS)).await;
    stays_silent(args, &record, [&pulse, &operator.pulse().await?])?;
    match operator.act(&Act::Unlock { run: Some(run) }).await? {
        Answer::Noted => {
            screen.print(&format!(
                "`{}`: its lock is free; run {run} is interrupted (node_lost)\n",
                args.job
            ))?;
            Ok(Exit::Done)
        }
        Answer::Held { .. } => Err(heard(args, "its holder has renewed the lock lately")),
        _ => Err(Failure::failed(format!("run {run} has ended meanwhile: nothing was changed"))),
    }
}

/// Handles a record without a known holder. If its lock is not free all the same, ends the wait for a holder that the store
/// forgot.
async fn end_wait(
    args: &LockToEnd<'_>,
    operator: &Operator,
    record: &Record,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let not_held = || Failure::failed(format!("nobody holds the lock of job `{}`", args.job));
    // An embedded store keeps `until` by the boot clock, so that its wait never passes this check. It waits only for what was
    // lost with its file, and only until that wait is over.
    if !record.waits_without_holder(LeaseInstant(now.0)) {
        return Err(not_held());
    }
    let first_look = Instant::now();
    if !args.force {
        ask(&question_of_wait(args.job, record, now), screen)?;
    }
    // A live holder that reaches the store puts its lock back by then.
    let what = format!("waiting for a holder that takes its lock back, {} at most", span(TWO_HEARTBEATS));
    screen.during(&what, sleep_until(first_look + TWO_HEARTBEATS)).await;
    match operator.act(&Act::Unlock { run: None }).await? {
        Answer::Noted => {
            screen.print(&format!("`{}`: its lock is free; the wait for it is over\n", args.job))?;
            Ok(Exit::Done)
        }
        _ => Err(not_held()),
    }
}

fn question_of_wait(job: &JobName, record: &Record, now: UtcMillis) -> String {
    let until = UtcMillis(record.locked_until.0);
    format!(
        "the lock of `{job}` has no known holder, but is not free before {} UTC ({}): the store lost its data, and \
         a replica may still have a lease of {}.\nIts run may continue until then, and the next run would overlap \
         with it.\nend the wait? [y/N] ",
        utc(until),
        from_now(until, now),
        span(record.lease)
    )
}

/// Returns, as text, for how long the holder has sent no heartbeat. Fails if the holder is alive.
fn silence(args: &LockToEnd<'_>, record: &Record, pulse: &Pulse) -> Result<String, Failure> {
    let Some(node) = &record.owner else { return Ok("its holder is not known".to_owned()) };
    let peer = pulse.peers.iter().find(|peer| peer.beat.node == *node);
    match peer.map(|peer| pulse.now.since(peer.at)) {
        Some(silent) if silent <= LIVE_FOR => Err(heard(args, &format!("{node}, which holds it, is alive"))),
        Some(silent) => Ok(format!("{node} has sent no heartbeat for {}", span(silent))),
        None => Ok(format!("{node} has sent no heartbeat within the last hour")),
    }
}

/// Fails if the holder sent a heartbeat between the two pulses.
fn stays_silent(args: &LockToEnd<'_>, record: &Record, looks: [&Pulse; 2]) -> Result<(), Failure> {
    let Some(node) = &record.owner else { return Ok(()) };
    let [before, after] =
        looks.map(|pulse| pulse.peers.iter().find(|peer| peer.beat.node == *node).map(|peer| peer.at));
    if after.is_some() && after != before {
        return Err(heard(args, &format!("{node}, which holds it, sent a heartbeat just now")));
    }
    Ok(())
}

fn heard(args: &LockToEnd<'_>, why: &str) -> Failure {
    let message = format!(
        "the lock of job `{0}` is not released: {why}\n  help: `solocron kill {0}` stops its run; if the holder has just died, \
         try again in a few seconds",
        args.job
    );
    Failure::failed(message)
}

fn question(job: &KnownJob, record: &Record, run: RunId, pulse: &Pulse, silence: &str) -> String {
    let frees = record.ended.map_or(String::new(), |alive| {
        format!(" Its lock expires {}.", from_now(alive.plus(record.lease), pulse.now))
    });
    let next = match job.definition.spec().map(|spec| spec.on_interrupt) {
        Some(OnInterrupt::Rerun) => {
            "a rerun of the same tick would overlap with it (on_interrupt = \"rerun\")"
        }
        Some(OnInterrupt::Skip) | None => "the next run would overlap with it",
    };
    format!(
        "`{}` is locked by run {run}, and {silence}.{frees}\nIf that machine only lost its network, its run may continue until \
         then, and {next}.\nrelease the lock? [y/N] ",
        job.name
    )
}

/// Prints the question, and fails unless the operator answers `y`.
pub(crate) fn ask(question: &str, screen: &mut Screen<'_>) -> Result<(), Failure> {
    screen.say(question);
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(Failure::failed("nothing was changed: answer `y`, or add --force"))
}

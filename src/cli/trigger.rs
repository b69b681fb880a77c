//! `trigger`: a run by hand, once, on whichever replica takes it first, under the job's own lock.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::job::{Outcome, Overlap, RunId, Tick, UtcMillis};
use crate::lease::{Act, Answer, Entry, Record};
use crate::replica::order_waits;

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::operating::TriggerArgs;
use super::operator::{LOOK_EVERY, Operator, how_it_ended};
use super::screen::Screen;
use super::times::span;

/// Replicas hear of an order with their next heartbeat; one that is not taken by then is withdrawn, unless it waits.
const PATIENCE: Duration = Duration::from_secs(15);

/// A run that is over for this long, and is not in the history, never will be.
const ENTRY_LIMIT: Duration = Duration::from_secs(3);

/// The order is announced again this often, as the notice may have been lost.
const LOOKS_PER_NOTICE: u32 = 5;

/// Orders a run, and waits until a replica has taken it; with `--follow`, until it has ended.
pub(crate) async fn run(
    args: &TriggerArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let operator = Operator::at_work(&args.job, global).await?;
    let order = RunId::new();
    let tick = args.tick.map(|tick| Tick(UtcMillis::from_timestamp(tick)));
    if let Err(failure) = operator.act(&Act::Trigger { order, tick }).await {
        // The order may have been taken down although no answer came.
        let _ = operator.act(&Act::Withdraw { order }).await;
        return Err(failure);
    }
    let run = taken(&operator, order, screen).await?;
    screen.print(&format!("{run}\n"))?;
    if let Some(skipped) = operator.entry(run).await?.filter(|entry| entry.outcome == Outcome::Skipped) {
        screen.say(&format!("{}: another run of `{}` goes on\n", skipped.verdict(), args.job));
        return Ok(Exit::Skipped);
    }
    if !args.follow {
        return Ok(Exit::Done);
    }
    let entry = ended(&operator, run).await?;
    screen.print(entry.tail.as_deref().unwrap_or_default())?;
    screen.say(&format!("{}\n", how_it_ended(&entry)));
    Ok(exit_of(&entry))
}

/// Waits until a replica has taken the order; its run comes back.
async fn taken(operator: &Operator, order: RunId, screen: &mut Screen<'_>) -> Result<RunId, Failure> {
    let (spec, began) = (&operator.spec, Instant::now());
    let (mut limit, mut said) = (PATIENCE.max(spec.lease * 2), false);
    for look in 1_u32.. {
        let record = operator.record().await?;
        if record.taken == Some(order)
            && let Some(run) = record.taken_run
        {
            return Ok(run);
        }
        if record.order != Some(order) {
            break;
        }
        if !said && waits(&record, spec.overlap) {
            said = true;
            limit = limit.max(order_waits(spec));
            screen.say(&waiting(&record, spec.overlap));
        }
        if began.elapsed() > limit {
            return withdraw(operator, order, limit).await;
        }
        if look.is_multiple_of(LOOKS_PER_NOTICE) {
            operator.announce().await;
        }
        sleep(LOOK_EVERY).await;
    }
    let message = format!(
        "the order is gone from the record of `{0}`: another trigger took its place, or the store lost its memory\n  \
         help: `solocron history {0}` shows what ran",
        spec.name
    );
    Err(Failure::new(Exit::Failed, message))
}

fn waits(record: &Record, overlap: Overlap) -> bool {
    record.is_running() && overlap != Overlap::Skip
}

fn waiting(record: &Record, overlap: Overlap) -> String {
    let run = record.run.map_or(String::new(), |run| format!(" {run}"));
    let on = record.owner.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    let how = match overlap {
        Overlap::Replace => "is stopped first (overlap = \"replace\")",
        Overlap::Skip | Overlap::Wait => "goes on, and is waited for (overlap = \"wait\")",
    };
    format!("run{run}{on} {how}\n")
}

/// Nobody took the order in time: it is taken back, unless somebody just did.
async fn withdraw(operator: &Operator, order: RunId, limit: Duration) -> Result<RunId, Failure> {
    if operator.act(&Act::Withdraw { order }).await? == Answer::AlreadyDecided {
        let record = operator.record().await?;
        if let Some(run) = record.taken_run.filter(|_| record.taken == Some(order)) {
            return Ok(run);
        }
    }
    let message = format!(
        "no replica has taken the order within {}, and it is withdrawn: nothing ran\n  help: `solocron status` shows \
         which replicas are live, and who holds the lock",
        span(limit)
    );
    Err(Failure::new(Exit::Failed, message))
}

/// Waits for the end of a run, however long it takes, as long as the store answers.
async fn ended(operator: &Operator, run: RunId) -> Result<Entry, Failure> {
    let mut over_since: Option<Instant> = None;
    loop {
        let record = operator.record().await?;
        if (!record.is_running() || record.run != Some(run))
            && let Some(entry) = operator.entry(run).await?
        {
            return Ok(entry);
        }
        // The end and its entry are written in one step: what is not there by now was deleted.
        let is_over =
            !record.is_running() && over_since.get_or_insert_with(Instant::now).elapsed() > ENTRY_LIMIT;
        if record.run != Some(run) || is_over {
            let message = format!("run {run} is over, and the store does not know how it ended");
            return Err(Failure::new(Exit::Failed, message));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// As the command did, where it got so far.
fn exit_of(entry: &Entry) -> Exit {
    match (entry.exit_code.map(u8::try_from), entry.signal.map(|signal| u8::try_from(128 + signal))) {
        (Some(Ok(code)), _) => Exit::AsCommand(code),
        (_, Some(Ok(code))) => Exit::AsCommand(code),
        _ if entry.outcome == Outcome::Succeeded => Exit::Done,
        _ => Exit::Failed,
    }
}

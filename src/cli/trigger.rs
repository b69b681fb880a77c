//! `trigger`: a run by hand, once, on whichever replica takes it first, under the job's own lock.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::job::{JobName, Outcome, Overlap, RunId, Tick};
use crate::lease::{Act, Answer, Entry, Record};
use crate::replica::order_waits;

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::operating::TriggerArgs;
use super::operator::{LOOK_EVERY, Operator, how_it_ended};
use super::outage::Outage;
use super::place::Place;
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
    let (job, place) = (&args.job, Place::find(&args.place, global, screen)?);
    let known = place.job(job);
    let schedule = known.definition.spec().map(|spec| &spec.schedule);
    let tick = args.tick.map(|tick| tick.in_zone_of(job, schedule)).transpose()?.map(Tick);
    let operator = Operator::at_work(job, (&place, global), screen).await?;
    operator.expect_known_to_replicas(&place).await?;
    let order = RunId::new();
    let may_run =
        format!("the order may stay in the job's record: `solocron history {job}` shows whether it ran");
    let run = give(&operator, (order, tick), screen).await;
    let run = run.map_err(|failure| failure.noting_unheard(&may_run))?;
    screen.print(&format!("{run}\n"))?;
    let runs = format!("a replica has picked this up: `solocron history {job}` shows how run {run} ends");
    let exit = what_became(&operator, run, args.follow, screen).await;
    exit.map_err(|failure| failure.noting_unheard(&runs))
}

/// Gives the order, and waits until a replica has taken it; its run comes back.
async fn give(
    operator: &Operator,
    (order, tick): (RunId, Option<Tick>),
    screen: &mut Screen<'_>,
) -> Result<RunId, Failure> {
    match operator.act(&Act::Trigger { order, tick }).await {
        Ok(_) => taken(operator, order, screen).await,
        // It may have been taken down although no answer came.
        Err(failure) => taken_back(operator, order).await?.ok_or(failure),
    }
}

/// What became of a run that a replica has taken: at once or, if it is to be followed, once it has ended.
async fn what_became(
    operator: &Operator,
    run: RunId,
    follow: bool,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let entry = if follow {
        Some(ended(operator, run, screen).await?)
    } else {
        Outage::default().ask(screen, || operator.entry(run)).await?
    };
    match entry {
        Some(entry) if entry.outcome == Outcome::Skipped => {
            screen.say(&format!("{}: another run of `{}` goes on\n", entry.verdict(), operator.job.name));
            Ok(Exit::Skipped)
        }
        Some(entry) if follow => {
            screen.print_output(entry.tail.as_deref().unwrap_or_default().as_bytes())?;
            screen.say(&format!("{}\n", how_it_ended(&entry)));
            Ok(exit_of(&entry))
        }
        _ => Ok(Exit::Done),
    }
}

/// Waits until a replica has taken the order; its run comes back.
async fn taken(operator: &Operator, order: RunId, screen: &mut Screen<'_>) -> Result<RunId, Failure> {
    let (spec, began, mut outage) = (operator.spec(), Instant::now(), Outage::default());
    let overlap = spec.map_or(Overlap::Skip, |spec| spec.overlap);
    let two_leases = spec.map_or(PATIENCE, |spec| spec.lease * 2);
    let (mut limit, mut said, mut looks) = (PATIENCE.max(two_leases), false, 0_u32);
    loop {
        if let Some(record) = outage.wait_out(operator.record().await, screen)? {
            if let Some(run) = run_of(order, &record) {
                return Ok(run);
            }
            if record.order != Some(order) {
                return Err(gone(&operator.job.name));
            }
            if !said && waits(&record, overlap) {
                said = true;
                limit = limit.max(spec.map_or(limit, |spec| order_waits(spec)));
                screen.say(&waiting(&record, overlap));
            }
        }
        if began.elapsed() > limit + outage.lasted() {
            return withdraw(operator, order, limit).await;
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_NOTICE) {
            operator.announce().await;
        }
        sleep(LOOK_EVERY).await;
    }
}

fn gone(job: &JobName) -> Failure {
    let message = format!(
        "the order is gone from the record of `{job}`: another trigger took its place, or the store was reset\n  \
         help: `solocron history {job}` shows what ran"
    );
    Failure::new(Exit::Failed, message)
}

/// The run that was started for the order, if a replica has taken it.
fn run_of(order: RunId, record: &Record) -> Option<RunId> {
    record.taken_run.filter(|_| record.taken == Some(order))
}

fn waits(record: &Record, overlap: Overlap) -> bool {
    record.is_running() && overlap != Overlap::Skip
}

fn waiting(record: &Record, overlap: Overlap) -> String {
    let run = record.run.map_or(String::new(), |run| format!(" {run}"));
    let on = record.owner.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    let how = match overlap {
        Overlap::Replace => "is stopped first (overlap = \"replace\")",
        Overlap::Skip | Overlap::Wait => "is running; waiting for its end (overlap = \"wait\")",
    };
    format!("run{run}{on} {how}\n")
}

/// Takes the order back; its run, if a replica has taken it meanwhile.
async fn taken_back(operator: &Operator, order: RunId) -> Result<Option<RunId>, Failure> {
    match operator.act(&Act::Withdraw { order }).await? {
        Answer::AlreadyDecided => Ok(run_of(order, &operator.record().await?)),
        _ => Ok(None),
    }
}

/// Nobody took the order in time: it is taken back, unless somebody just did.
async fn withdraw(operator: &Operator, order: RunId, limit: Duration) -> Result<RunId, Failure> {
    let message = format!(
        "no replica picked this up within {}; cancelled, nothing ran\n  help: `solocron status` shows \
         which replicas are live, and who holds the lock",
        span(limit)
    );
    taken_back(operator, order).await?.ok_or_else(|| Failure::new(Exit::Failed, message))
}

/// Waits for the end of a run, however long it takes.
async fn ended(operator: &Operator, run: RunId, screen: &mut Screen<'_>) -> Result<Entry, Failure> {
    let (mut over_since, mut outage) = (None::<Instant>, Outage::default());
    loop {
        let look = || async {
            let record = operator.record().await?;
            let goes_on = record.is_running() && record.run == Some(run);
            let entry = if goes_on { None } else { operator.entry(run).await? };
            Ok((record, entry))
        };
        let (record, entry) = outage.ask(screen, look).await?;
        if let Some(entry) = entry {
            return Ok(entry);
        }
        // The end and its entry are written in one step: what is not there by now was deleted.
        let is_over =
            !record.is_running() && over_since.get_or_insert_with(Instant::now).elapsed() > ENTRY_LIMIT;
        if record.run != Some(run) || is_over {
            let message = format!(
                "run {run} is over, and the store does not know how it ended\n  help: its log is on the replica that ran \
                 it: `solocron logs {} --run {run}`",
                operator.job.name
            );
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

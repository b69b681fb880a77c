//! `trigger`: runs a job once by hand, on the replica that takes the order first, under the job's own lock. It reports at once
//! what can be known at once, and names what it waits for.

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::TriggerArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::serve::signals::Signals;
use crate::cli::session::state_dir;
use crate::cli::session::target::ClusterTarget;
use crate::job::{JobName, Outcome, RunId, Tick};
use crate::lease::HistoryEntry;
use crate::operate::OperateError;
use crate::operate::acts::trigger::ManualOrder;
use crate::operate::audit::{ActKind, ActResult};
use crate::operate::operator::how_it_ended;

use super::audit::CommandAct;
use super::connect::connect;
use super::follow::follow;
use super::show_wait::{ask, wait_for};

/// Orders a run, and waits until a replica has taken the order; with `--follow`, until the run has ended.
pub(crate) async fn run(
    args: &TriggerArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (job, place) = (&args.job, ClusterTarget::find(&args.place, global, screen)?);
    let known = place.job(job);
    let schedule = known.definition.spec().map(|spec| &spec.schedule);
    let operator = connect(job, &place, global, screen).await?;
    let tick = match args.tick {
        Some(tick) => {
            let now = screen.during(FOR_STORE, operator.pulse()).await?.now;
            Some(Tick(tick.instant(job, schedule, now)?))
        }
        None => None,
    };
    let act = CommandAct::of(&operator, ActKind::Trigger);
    let mut order = plan(&act, place.expected().valid_file(), tick, screen).await?;
    let mut signals = Signals::listen()?;
    let may_run =
        format!("the request may still be in the store: `solocron history {job}` shows whether it ran");
    let given = tokio::select! {
        given = give(&mut order, screen) => given,
        number = signals.next() => {
            let cancelled = cancel(&order, number, screen).await;
            return cancelled.map_err(|failure| failure.with_note_if_unreachable(&may_run));
        }
    };
    if let Err(error) = &given {
        act.note_error(error, screen).await;
    }
    let run = given.map_err(|error| Failure::from(error).with_note_if_unreachable(&may_run))?;
    screen.print(&format!("{run}\n"))?;
    act.note(ActResult::Done(&format_args!("run {run}")), screen).await;
    let runs = format!("a replica has picked this up: `solocron history {job}` shows how run {run} ends");
    let shown = async {
        if args.follow {
            let folder = state_dir(global.state_dir.as_deref())?;
            return follow(&order.operator, run, &folder, screen).await.map(Some);
        }
        Ok(ask(screen, || order.operator.entry(run)).await?)
    };
    let entry = tokio::select! {
        shown = shown => shown.map_err(|failure| failure.with_note_if_unreachable(&runs))?,
        number = signals.next() => {
            screen.say(&format!("run {run} continues; `solocron kill {job}` stops it\n"));
            return Ok(Exit::by_signal(number));
        }
    };
    Ok(what_became(job, entry, args.follow, screen))
}

/// Plans an order for a job that replicas know; `file` is the hash of the valid file at hand.
async fn plan(
    act: &CommandAct<'_>,
    file: Option<&str>,
    tick: Option<Tick>,
    screen: &mut Screen<'_>,
) -> Result<ManualOrder, OperateError> {
    let planned = async {
        act.operator.expect_known_to_replicas(file).await?;
        ManualOrder::plan(act.operator.clone(), RunId::new(), tick).await
    };
    let planned = screen.during(FOR_STORE, planned).await;
    if let Err(error) = &planned {
        act.note_error(error, screen).await;
    }
    planned
}

/// Writes the order to the store, and waits until a replica has taken it. Returns the run.
async fn give(order: &mut ManualOrder, screen: &mut Screen<'_>) -> Result<RunId, OperateError> {
    match screen.during(FOR_STORE, order.give()).await {
        Ok(()) => wait_for(order, screen).await,
        // The store may have written the order although its reply was lost.
        Err(error) => screen.during(FOR_STORE, order.withdraw()).await?.ok_or(error),
    }
}

/// Withdraws the order because the caller no longer waits, unless a replica has taken it.
async fn cancel(order: &ManualOrder, number: i32, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let job = &order.operator.job.name;
    let act = CommandAct::of(&order.operator, ActKind::Trigger);
    let withdrawn = screen.during(FOR_STORE, order.withdraw()).await;
    if let Err(error) = &withdrawn {
        act.note_error(error, screen).await;
    }
    match withdrawn? {
        Some(run) => {
            screen.say(&format!("run {run} has started, and continues; `solocron kill {job}` stops it\n"));
            act.note(ActResult::Done(&format_args!("run {run}")), screen).await;
        }
        None => {
            screen.say("cancelled: nothing ran\n");
            act.note(ActResult::Done(&"cancelled: nothing ran"), screen).await;
        }
    }
    Ok(Exit::by_signal(number))
}

/// Prints the end of a run that a replica has taken, as far as it is known: directly after the start or, if the run was
/// followed, after its end. Returns the exit code.
fn what_became(
    job: &JobName,
    entry: Option<HistoryEntry>,
    is_followed: bool,
    screen: &mut Screen<'_>,
) -> Exit {
    match entry {
        Some(entry) if entry.outcome == Outcome::Skipped => {
            screen.say(&format!("{}: another run of `{}` is running\n", entry.verdict(), job));
            Exit::Skipped
        }
        Some(entry) if is_followed => {
            screen.say(&format!("{}\n", how_it_ended(&entry)));
            exit_of(&entry)
        }
        _ => Exit::Done,
    }
}

/// Returns the exit code of the command, if it has one.
fn exit_of(entry: &HistoryEntry) -> Exit {
    match (entry.exit_code.map(u8::try_from), entry.signal.map(|signal| u8::try_from(128 + signal))) {
        (Some(Ok(code)), _) => Exit::AsCommand(code),
        (_, Some(Ok(code))) => Exit::AsCommand(code),
        _ if entry.outcome == Outcome::Succeeded => Exit::Done,
        _ => Exit::Failed,
    }
}

//! `trigger`: runs a job once by hand, on the replica that takes the order first, under the job's own lock. It reports at once
//! what can be known at once, and names what it waits for.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::TriggerArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::serve::signals::Signals;
use crate::cli::session::state_dir;
use crate::cli::session::target::ClusterTarget;
use crate::job::{JobName, JobSpec, Outcome, RunId, Tick};
use crate::lease::{Act, Answer, HistoryEntry, Record};
use crate::replica::order_waits;
use crate::store::LIVE_FOR;
use crate::time::UtcMillis;
use crate::view::problems::{Prospect, prospect};
use crate::view::snapshot::Snapshot;
use crate::view::time_format::{span, utc};

use super::client::{LOOK_EVERY, Operator, how_it_ended};
use super::follow::follow;
use super::wait_out_outage::OutageWait;

/// How long an order waits, unless it waits for a run; then it is withdrawn. Replicas read an order with their next heartbeat.
const PATIENCE: Duration = Duration::from_secs(15);

/// After this many reads of the record the order is announced again, because the notice may have been lost, and its prospect
/// is determined anew.
const LOOKS_PER_NOTICE: u32 = 5;

/// The state of the wait for an order.
struct OrderWait {
    began: Instant,
    /// The store's time at the beginning of the wait.
    at: UtcMillis,
    /// The order is withdrawn after this time, not counting outages of the store.
    limit: Duration,
    prospect: Prospect,
    /// Since when no live replica can take the order; `None` if one can.
    hopeless_since: Option<Instant>,
}

/// Orders a run, and waits until a replica has taken the order; with `--follow`, until the run has ended.
pub(crate) async fn run(
    args: &TriggerArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (job, place) = (&args.job, ClusterTarget::find(&args.place, global, screen)?);
    let known = place.job(job);
    let schedule = known.definition.spec().map(|spec| &spec.schedule);
    let tick = args.tick.map(|tick| tick.in_zone_of(job, schedule)).transpose()?.map(Tick);
    let operator = Operator::connect(job, &place, global, screen).await?;
    screen.during(FOR_STORE, operator.expect_known_to_replicas(&place)).await?;
    let wait = OrderWait::begin(&operator, screen).await?;
    let mut signals = Signals::listen()?;
    let order = RunId::new();
    let may_run =
        format!("the request may still be in the store: `solocron history {job}` shows whether it ran");
    let given = tokio::select! {
        given = give(&operator, order, tick, wait, screen) => given,
        number = signals.next() => {
            let cancelled = cancel(&operator, order, number, screen).await;
            return cancelled.map_err(|failure| failure.with_note_if_unreachable(&may_run));
        }
    };
    let run = given.map_err(|failure| failure.with_note_if_unreachable(&may_run))?;
    screen.print(&format!("{run}\n"))?;
    let runs = format!("a replica has picked this up: `solocron history {job}` shows how run {run} ends");
    let shown = async {
        if args.follow {
            let folder = state_dir(global.state_dir.as_deref())?;
            return follow(&operator, run, &folder, screen).await.map(Some);
        }
        OutageWait::default().ask(screen, || operator.entry(run)).await
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

/// Writes the order to the store, and waits until a replica has taken it. Returns the run.
async fn give(
    operator: &Operator,
    order: RunId,
    tick: Option<Tick>,
    wait: OrderWait,
    screen: &mut Screen<'_>,
) -> Result<RunId, Failure> {
    match screen.during(FOR_STORE, operator.act(&Act::Trigger { order, tick })).await {
        Ok(_) => {
            let taken = taken(operator, order, wait, screen).await;
            screen.end_wait();
            taken
        }
        // The store may have written the order although its reply was lost.
        Err(failure) => screen.during(FOR_STORE, taken_back(operator, order)).await?.ok_or(failure),
    }
}

/// Reads the heartbeats of the replicas, and the record of the job.
async fn snapshot(operator: &Operator) -> Result<Snapshot, Failure> {
    let store = operator.store.as_ref();
    Snapshot::take(store, vec![operator.job.clone()], 1).await.map_err(Failure::of(store))
}

/// Withdraws the order because the caller no longer waits, unless a replica has taken it.
async fn cancel(
    operator: &Operator,
    order: RunId,
    number: i32,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let job = &operator.job.name;
    match screen.during(FOR_STORE, taken_back(operator, order)).await? {
        Some(run) => {
            screen.say(&format!("run {run} has started, and continues; `solocron kill {job}` stops it\n"));
        }
        None => screen.say("cancelled: nothing ran\n"),
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

/// Waits until a replica has taken the order. Returns the run.
async fn taken(
    operator: &Operator,
    order: RunId,
    mut wait: OrderWait,
    screen: &mut Screen<'_>,
) -> Result<RunId, Failure> {
    let (mut outage, mut looks) = (OutageWait::default(), 0_u32);
    loop {
        outage.wait_for(&wait.what(&outage), screen);
        if let Some(record) = outage.wait_out(operator.record().await, screen)? {
            if let Some(run) = run_of(order, &record) {
                return Ok(run);
            }
            if record.order != Some(order) {
                return Err(gone(&operator.job.name));
            }
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_NOTICE) {
            operator.announce().await;
            if let Some(snapshot) = outage.wait_out(snapshot(operator).await, screen)? {
                wait.judge(operator.spec(), &snapshot);
            }
        }
        if let Some(why) = wait.why_over(&outage) {
            return withdraw(operator, order, why).await;
        }
        sleep(LOOK_EVERY).await;
    }
}

impl OrderWait {
    /// Begins the wait. Fails if no live replica can take the order.
    async fn begin(operator: &Operator, screen: &mut Screen<'_>) -> Result<Self, Failure> {
        let (spec, began) = (operator.spec(), Instant::now());
        let snapshot = screen.during(FOR_STORE, snapshot(operator)).await?;
        let limit = spec.map_or(PATIENCE, |spec| PATIENCE.max(spec.lease * 2).min(order_waits(spec)));
        let mut wait =
            Self { began, at: snapshot.now, limit, prospect: Prospect::Open, hopeless_since: None };
        wait.judge(spec, &snapshot);
        match wait.prospect {
            Prospect::Hopeless(why) => Err(Failure::failed(why)),
            _ => Ok(wait),
        }
    }

    /// Determines the prospect as of now. Nothing can be predicted for a job whose definition is not in the file at hand.
    fn judge(&mut self, spec: Option<&Arc<JobSpec>>, snapshot: &Snapshot) {
        let Some(spec) = spec else { return };
        let prospect = prospect(spec, snapshot);
        if let Prospect::WaitsForRun(_) = prospect {
            // Replicas let the order wait no longer than this.
            self.limit = order_waits(spec);
        }
        // After a store has lost all data, the replicas' next heartbeats arrive a moment later.
        self.hopeless_since = match prospect {
            Prospect::Hopeless(_) => self.hopeless_since.or_else(|| Some(Instant::now())),
            _ => None,
        };
        self.prospect = prospect;
    }

    /// Returns what the order waits for, and until when.
    fn what(&self, outage: &OutageWait) -> String {
        let what = match &self.prospect {
            Prospect::Open | Prospect::Hopeless(_) => "waiting for a replica to pick this up".to_owned(),
            Prospect::Waits(what) | Prospect::WaitsForRun(what) => format!("waiting: {what}"),
        };
        format!("{what}, until {} UTC at the latest", utc(self.at.plus(self.limit + outage.lasted())))
    }

    /// Returns why the order has to be withdrawn; `None` if it does not.
    fn why_over(&self, outage: &OutageWait) -> Option<String> {
        let is_hopeless = self.hopeless_since.is_some_and(|since| since.elapsed() > LIVE_FOR);
        let is_over = self.began.elapsed() > self.limit + outage.lasted();
        let within = span(self.limit);
        match &self.prospect {
            Prospect::Hopeless(why) if is_hopeless || is_over => Some(why.clone()),
            _ if !is_over => None,
            Prospect::Waits(what) | Prospect::WaitsForRun(what) => {
                Some(format!("not started within {within}; cancelled, nothing ran: {what}"))
            }
            Prospect::Open | Prospect::Hopeless(_) => Some(format!(
                "no replica picked this up within {within}; cancelled, nothing ran\n  help: `solocron status` shows \
                 which replicas are live, and who holds the lock"
            )),
        }
    }
}

fn gone(job: &JobName) -> Failure {
    let message = format!(
        "the request to run `{job}` is gone: another `trigger` replaced it, or the store was reset\n  \
         help: `solocron history {job}` shows what ran"
    );
    Failure::failed(message)
}

/// Returns the run that was started for the order, if a replica has taken it.
fn run_of(order: RunId, record: &Record) -> Option<RunId> {
    record.order_taken_by.filter(|_| record.order_taken == Some(order))
}

/// Withdraws the order. Returns its run if a replica has already taken it.
async fn taken_back(operator: &Operator, order: RunId) -> Result<Option<RunId>, Failure> {
    match operator.act(&Act::Withdraw { order }).await? {
        Answer::AlreadyDecided => Ok(run_of(order, &operator.record().await?)),
        _ => Ok(None),
    }
}

/// Withdraws the order, and fails with `why`. Returns the run if a replica has just taken it.
async fn withdraw(operator: &Operator, order: RunId, why: String) -> Result<RunId, Failure> {
    taken_back(operator, order).await?.ok_or_else(|| Failure::failed(why))
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

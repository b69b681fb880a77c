//! `kill`: stops a job's run wherever it is, and waits until it has ended.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::KillArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::target::ClusterTarget;
use crate::lease::{Act, Answer, Holder};
use crate::store::LIVE_FOR;
use crate::view::time_format::span;

use super::client::{LOOK_EVERY, Operator, how_it_ended};
use super::wait_out_outage::OutageWait;

/// Time that a run may take to end beyond its `kill_grace`: its holder receives the request within one or two seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The assumed `kill_grace` of a job whose definition is not in the file: few jobs have a longer one.
const UNKNOWN_GRACE: Duration = Duration::from_secs(60);

/// The request is repeated after this many reads of the record, because it, or the notice of it, may have been lost.
const LOOKS_PER_ORDER: u32 = 5;

/// Stops the current run of the job.
pub(crate) async fn run(
    args: &KillArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let operator = Operator::connect(&args.job, &place, global, screen).await?;
    let killed = screen.during(FOR_STORE, operator.act(&Act::Kill { run: None })).await?;
    let Answer::Held { by: Some(holder), .. } = killed else {
        return Err(Failure::failed(format!("job `{}` is not running", args.job)));
    };
    screen.say(&format!("stopping run {} on {}\n", holder.run, holder.node));
    let how = end_of(&operator, &holder, screen).await;
    screen.end_wait();
    let stays = format!("the request to stop run {} stays in the store", holder.run);
    let how = how.map_err(|failure| failure.with_note_if_unreachable(&stays))?;
    screen.print(&format!("`{}`: run {}: {how}\n", args.job, holder.run))?;
    Ok(Exit::Done)
}

/// Waits for the end of a run that was requested to stop. Returns how it ended.
async fn end_of(operator: &Operator, holder: &Holder, screen: &mut Screen<'_>) -> Result<String, Failure> {
    let grace = operator.spec().map_or(UNKNOWN_GRACE, |spec| spec.kill_grace);
    let (limit, mut outage) = (grace + PATIENCE, OutageWait::default());
    if !has_ended(operator, holder, limit, &mut outage, screen).await? {
        return Err(still_there(operator, holder, limit).await?);
    }
    let entry = outage.ask(screen, || operator.entry(holder.run)).await?;
    Ok(entry.as_ref().map_or("it has ended".to_owned(), how_it_ended))
}

/// Repeats the request until the run has ended. Returns false if it has not ended within `limit`, not counting outages of the
/// store.
async fn has_ended(
    operator: &Operator,
    holder: &Holder,
    limit: Duration,
    outage: &mut OutageWait,
    screen: &mut Screen<'_>,
) -> Result<bool, Failure> {
    let (began, mut looks, run) = (Instant::now(), 0_u32, holder.run);
    let what = waited_for(operator, holder, limit);
    loop {
        outage.wait_for(&what, screen);
        let record = outage.wait_out(operator.record().await, screen)?;
        if record.is_some_and(|record| !record.is_running() || record.run != Some(run)) {
            return Ok(true);
        }
        if began.elapsed() >= limit + outage.lasted() {
            return Ok(false);
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_ORDER) {
            outage.wait_out(operator.act(&Act::Kill { run: Some(run) }).await, screen)?;
        }
        sleep(LOOK_EVERY).await;
    }
}

fn waited_for(operator: &Operator, holder: &Holder, limit: Duration) -> String {
    let (node, limit) = (&holder.node, span(limit));
    let killing = operator.spec().map_or(String::new(), |spec| {
        format!(" SIGKILL {} after SIGTERM (kill_grace),", span(spec.kill_grace))
    });
    format!("waiting for the end of the run on {node}:{killing} {limit} at most")
}

async fn still_there(operator: &Operator, holder: &Holder, limit: Duration) -> Result<Failure, Failure> {
    let pulse = operator.pulse().await?;
    let at = pulse.peers.iter().find(|peer| peer.beat.node == holder.node).map(|peer| peer.at);
    let heard = match at.map(|at| pulse.now.since(at)) {
        Some(silence) if silence <= LIVE_FOR => "is alive, but has not stopped it yet".to_owned(),
        Some(silence) => format!("has sent no heartbeat for {}", span(silence)),
        None => "has sent no heartbeat within the last hour".to_owned(),
    };
    let lease = span(operator.record().await?.lease);
    Ok(Failure::failed(format!(
        "run {} on {} has not ended within {}: {} {heard}\n  help: the request stays in the store; if the replica is dead, \
             its lock expires {lease} after the last renewal",
        holder.run,
        holder.node,
        span(limit),
        holder.node
    )))
}

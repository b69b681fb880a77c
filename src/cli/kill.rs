//! `kill`: stops a job's run wherever it is, and waits until it has ended.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::job::RunId;
use crate::lease::{Act, Answer, Holder};
use crate::replica::LIVE_FOR;

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::operating::KillArgs;
use super::operator::{LOOK_EVERY, Operator, how_it_ended};
use super::screen::Screen;
use super::times::span;

/// What a run may take to end beyond its `kill_grace`: its holder hears of the order within a second or two.
const PATIENCE: Duration = Duration::from_secs(15);

/// The order is given again this often, as it, or the notice of it, may have been lost.
const LOOKS_PER_ORDER: u32 = 5;

/// Stops the run that goes on.
pub(crate) async fn run(
    args: &KillArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let operator = Operator::at_work(&args.job, global).await?;
    let Answer::Held { by: Some(holder), .. } = operator.act(&Act::Kill { run: None }).await? else {
        return Err(Failure::new(Exit::Failed, format!("no run of job `{}` goes on", args.job)));
    };
    screen.say(&format!("stopping run {} on {}\n", holder.run, holder.node));
    let limit = operator.spec.kill_grace + PATIENCE;
    if !has_ended(&operator, holder.run, limit).await? {
        return Err(still_there(&operator, &holder, limit).await?);
    }
    let entry = operator.entry(holder.run).await?;
    let how = entry.as_ref().map_or("it has ended".to_owned(), how_it_ended);
    screen.print(&format!("`{}`: run {}: {how}\n", args.job, holder.run))?;
    Ok(Exit::Done)
}

/// Gives the order again and again until the run has ended; false when it has not within `limit`.
async fn has_ended(operator: &Operator, run: RunId, limit: Duration) -> Result<bool, Failure> {
    let deadline = Instant::now() + limit;
    for look in 1_u32.. {
        let record = operator.record().await?;
        if !record.is_running() || record.run != Some(run) {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        if look.is_multiple_of(LOOKS_PER_ORDER) {
            operator.act(&Act::Kill { run: Some(run) }).await?;
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(false)
}

async fn still_there(operator: &Operator, holder: &Holder, limit: Duration) -> Result<Failure, Failure> {
    let pulse = operator.pulse().await?;
    let at = pulse.peers.iter().find(|peer| peer.beat.node == holder.node).map(|peer| peer.at);
    let heard = match at.map(|at| pulse.now.since(at)) {
        Some(silence) if silence <= LIVE_FOR => "is heard, but has not stopped it yet".to_owned(),
        Some(silence) => format!("has been silent for {}", span(silence)),
        None => "has not been heard within the last hour".to_owned(),
    };
    let lease = span(operator.record().await?.lease);
    Ok(Failure::new(
        Exit::Failed,
        format!(
            "run {} on {} has not ended within {}: {} {heard}\n  help: the order stays in the job's record; a holder \
             that is gone loses its lock {lease} after it was last renewed",
            holder.run,
            holder.node,
            span(limit),
            holder.node
        ),
    ))
}

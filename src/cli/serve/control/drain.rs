//! `drain`: sends the replicas of this state folder the request to drain, waits until their runs and they themselves have
//! ended, and prints which of them have.

use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cli::args::global::{GlobalArgs, duration};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session;
use crate::job::NodeName;
use crate::view::text::time_format::span;

use super::client::{Listening, listening};
use super::reload::{ANSWER_WITHIN, no_replica, unreachable_replicas};

/// Flags of `drain`.
#[derive(Debug, Args)]
pub struct DrainArgs {
    /// Only the replica of this name
    #[arg(value_name = "REPLICA")]
    pub replica: Option<NodeName>,
    /// Wait this long for the end of the replicas
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub wait: Duration,
}

/// Drains the replicas of the state folder.
pub(crate) async fn run(
    args: &DrainArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let state_dir = session::state_dir(global.state_dir.as_deref())?;
    let mut found = listening(&state_dir).map_err(|error| unreachable_replicas(&error))?;
    let names: Vec<String> = found.iter().map(|replica| replica.name.clone()).collect();
    if let Some(name) = &args.replica {
        found.retain(|replica| replica.name == name.as_str());
    }
    if found.is_empty() {
        return Err(match &args.replica {
            Some(name) if !names.is_empty() => {
                let message =
                    format!("no replica `{name}` runs here\n  help: those that do: {}", names.join(", "));
                Failure::new(Exit::Usage, message)
            }
            _ => no_replica(&state_dir),
        });
    }
    let names: Vec<&str> = found.iter().map(|replica| replica.name.as_str()).collect();
    screen
        .say(&format!("draining {}: runs may finish within the replica's `drain` time\n", names.join(", ")));
    let mut draining = JoinSet::new();
    for replica in found {
        draining.spawn(drain(replica, args.wait));
    }
    let mut exit = Exit::Done;
    while let Some(ended) = draining.join_next().await {
        let (name, ended) = ended.expect("draining neither panics nor is aborted");
        let said = match ended {
            Ok(()) => "ended".to_owned(),
            Err(why) => {
                exit = Exit::Failed;
                why
            }
        };
        screen.print(&format!("{name}: {said}\n"))?;
    }
    Ok(exit)
}

/// Drains one replica, and waits for its end. Returns its name, and why it has not ended, if it has not.
async fn drain(replica: Listening, wait: Duration) -> (String, Result<(), String>) {
    let name = replica.name.clone();
    let ended = match timeout(ANSWER_WITHIN, replica.drain()).await {
        Ok(Ok(draining)) => timeout(wait, draining.ended())
            .await
            .map_err(|_| format!("has not ended within {}: see its log", span(wait))),
        Ok(Err(error)) => Err(format!("gave no answer: {error}")),
        Err(_) => Err(format!("gave no answer within {}: see its log", span(ANSWER_WITHIN))),
    };
    (name, ended)
}

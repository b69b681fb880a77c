//! `reload`: sends every replica of this state folder the request to load jobs.toml again, waits, and prints the results.

use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{Screen, counted};
use crate::cli::serve::reloader::{ReloadAnswer, ReloadEnd};
use crate::cli::session;
use crate::view::text::time_format::span;

use super::client::{Listening, listening};
use super::socket::SocketError;

/// A replica that has not answered by then hangs.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The name of a replica, and its answer or why none came.
type ReplicaReply = (String, Result<ReloadAnswer, String>);

/// Reloads all replicas of the state folder.
pub(crate) async fn run(global: &GlobalArgs, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let state_dir = session::state_dir(global.state_dir.as_deref())?;
    let found = listening(&state_dir).map_err(|error| unreachable_replicas(&error))?;
    if found.is_empty() {
        return Err(no_replica(&state_dir));
    }
    let replicas = counted(found.len(), "replica");
    let what = format!("waiting for {replicas} to load jobs.toml, {} at most", span(ANSWER_WITHIN));
    let heard = screen.during(&what, ask(found)).await;
    for (name, answer) in &heard {
        let said = match answer {
            Ok(answer) => &answer.said,
            Err(error) => error,
        };
        screen.print(&format!("{name}: {said}\n"))?;
    }
    for problems in all_problems(&heard) {
        screen.say(problems);
    }
    Ok(exit(&heard))
}

/// Returns the failure for sockets that cannot be used.
pub(crate) fn unreachable_replicas(error: &SocketError) -> Failure {
    let help = "run this as the user that runs the replica, or name its folder with --state-dir";
    Failure::failed(format!("replicas cannot be reached: {error}\n  help: {help}"))
}

/// Returns the failure if no replica is running.
pub(crate) fn no_replica(state_dir: &Path) -> Failure {
    let folder = state_dir.display();
    Failure::failed(format!(
        "no replica is running here: no socket in {folder}/replicas\n  help: start one with `solocron run`, or give the \
             state folder of a running one with --state-dir or SOLOCRON_STATE_DIR"
    ))
}

/// Sends the request to all replicas at once. Returns their answers, sorted by name.
async fn ask(found: Vec<Listening>) -> Vec<ReplicaReply> {
    let mut asking = JoinSet::new();
    for replica in found {
        asking.spawn(async move {
            let name = replica.name.clone();
            let answer = match tokio::time::timeout(ANSWER_WITHIN, replica.reload()).await {
                Ok(answer) => answer.map_err(|error| format!("gave no answer: {error}")),
                Err(_) => Err(format!("gave no answer within {} s: see its log", ANSWER_WITHIN.as_secs())),
            };
            (name, answer)
        });
    }
    let mut heard = asking.join_all().await;
    heard.sort_by(|(one, _), (other, _)| one.cmp(other));
    heard
}

/// Returns the problems of bad files, each text once, however many replicas have read the file.
fn all_problems(heard: &[ReplicaReply]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (_, answer) in heard {
        if let Ok(ReloadAnswer { problems, .. }) = answer
            && !problems.is_empty()
            && !all.contains(&problems.as_str())
        {
            all.push(problems);
        }
    }
    all
}

/// Returns the exit code: a bad file has one of its own, every other failure shares one.
fn exit(heard: &[ReplicaReply]) -> Exit {
    let is = |end: ReloadEnd| {
        heard.iter().any(|(_, answer)| answer.as_ref().is_ok_and(|answer| answer.end == end))
    };
    if is(ReloadEnd::BadFile) {
        Exit::BadConfig
    } else if is(ReloadEnd::Refused) || heard.iter().any(|(_, answer)| answer.is_err()) {
        Exit::Failed
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use crate::job::NodeName;

    use super::*;

    fn heard(ends: &[Option<ReloadEnd>]) -> Vec<ReplicaReply> {
        let answer = |end: &Option<ReloadEnd>| {
            let node = NodeName::parse("n").expect("a name");
            let problems = if *end == Some(ReloadEnd::BadFile) { "error: odd\n" } else { "" };
            let answer =
                end.map(|end| ReloadAnswer { node, end, said: String::new(), problems: problems.into() });
            ("n".to_owned(), answer.ok_or_else(|| "gave no answer".to_owned()))
        };
        ends.iter().map(answer).collect()
    }

    #[test]
    fn the_worst_answer_decides_how_it_exits_and_each_problem_is_told_once() {
        let (good, bad, refused) =
            (Some(ReloadEnd::Loaded), Some(ReloadEnd::BadFile), Some(ReloadEnd::Refused));
        assert_eq!(exit(&heard(&[good, good])), Exit::Done);
        assert_eq!(exit(&heard(&[good, None])), Exit::Failed);
        assert_eq!(exit(&heard(&[refused, good])), Exit::Failed);
        assert_eq!(exit(&heard(&[None, bad, refused])), Exit::BadConfig);
        assert_eq!(all_problems(&heard(&[bad, good, bad])), ["error: odd\n"]);
    }
}

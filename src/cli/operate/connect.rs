//! Connects an operator's command to the store, and finds its jobs in the file or in the store.

use std::sync::Arc;

use nix::unistd::{Uid, User, gethostname};

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::job::JobName;
use crate::operate::operator::Operator;

/// Connects to the store, and finds the job in the file or in the store.
pub(super) async fn connect(
    job: &JobName,
    place: &ClusterTarget,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Operator, Failure> {
    let of_one = connect_all(std::slice::from_ref(job), place, global, screen).await?;
    Ok(of_one.into_iter().next().expect("one was asked for"))
}

/// The same for several jobs; without a name, for all jobs of the file and of the store, if there are any.
pub(super) async fn connect_all(
    jobs: &[JobName],
    place: &ClusterTarget,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Vec<Operator>, Failure> {
    let (store, jobs) = reach_jobs_or_all(jobs, place, global, screen).await?;
    if jobs.is_empty() {
        let message = format!("cluster `{}` has no jobs in {}", place.cluster(), store.label());
        let help = "check `--cluster` and `--store`, or name the file by `--config`; `solocron status` shows the cluster";
        return Err(Failure::new(Exit::Usage, format!("{message}\n  help: {help}")));
    }
    let by = name();
    Ok(jobs.into_iter().map(|job| Operator { store: Arc::clone(&store), job, by: by.clone() }).collect())
}

/// Returns the operator's name, `ann@db1`, as this machine knows it. Behind sudo it is the user that called
/// sudo.
fn name() -> String {
    let by_id = || User::from_uid(Uid::current()).ok().flatten().map(|user| user.name);
    let caller = std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty()).or_else(by_id);
    let user = caller.unwrap_or_else(|| Uid::current().to_string());
    let host = gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    format!("{user}@{host}").chars().filter(|letter| !letter.is_control()).collect()
}

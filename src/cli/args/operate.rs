//! The command line of operators: commands that change a cluster, from any machine that reaches its store.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::session::target::PlaceArgs;
use crate::job::JobName;
use crate::operate::acts::pause::read_reason;
use crate::view::explanation::When;

use super::global::duration;

/// The commands that change something in the cluster.
#[derive(Debug, Subcommand)]
pub enum Operating {
    /// Skip the ticks of jobs, on every replica, for a time or until it is resumed
    #[command(
        after_help = "Each tick is recorded as `skipped (paused)`. A run that is running is not stopped. `status` \
        shows who paused what, since when, until when and why.\n\n\
        Exit codes: 0 paused, 1 no replica knows the job yet, 2 unknown job, 69 store unreachable, \
        78 no usable [cluster].\n\n\
        Examples:\n  \
        solocron pause backup payout --for 2h --reason 'database moves'\n  \
        solocron pause --all"
    )]
    Pause(PauseArgs),
    /// End the pause of jobs
    #[command(
        after_help = "Exit codes: 0 no longer paused, 1 no replica knows the job yet, 2 unknown job, 69 store \
        unreachable, 78 no usable [cluster]."
    )]
    Resume(ResumeArgs),
    /// Run a job by hand, once, on whichever replica takes it first
    #[command(
        after_help = "Uses the job's own lock; scheduled ticks are not affected. Prints the run's id on stdout once a replica \
        has taken it. During another run, the job's `overlap` decides: `skip` skips it, `wait` waits for up to \
        `start_deadline`, `replace` stops the other first. A paused job can be triggered, too.\n\n\
        With --follow the output of all attempts is printed as it comes, wherever the run is: its replica is asked through the \
        store. If that does not answer, the last 4 KiB are printed when the run has ended. The command exits as the run did \
        (128+n for signal n). Ctrl-C leaves the run alone: `kill` stops it.\n\n\
        Exit codes: 0 a replica runs it, 1 no replica can take it, or took it in time, 2 unknown job or tick, 69 store \
        unreachable, 75 skipped, 78 no usable [cluster]."
    )]
    Trigger(TriggerArgs),
    /// Release the lock of a dead holder, or set back a mark
    #[command(
        after_help = "For jobs with a long lease, where waiting for its end takes too long. Refused while the \
        holder sends heartbeats. Asks first, because a holder that is only cut off may still run the job until the lease ends. \
        If no holder is known, and the job waits because the store lost its data, the wait ends.\n\n\
        With --mark no lock is released. If a clock was ahead, ticks in the future count as done, and do not run \
        again at their time. --mark lets them run, also those that already ran. A mark that this \
        machine's clock has passed is not set back: there the store's clock is behind.\n\n\
        Exit codes: 0 done, 1 nothing was changed, 2 unknown job, 69 store unreachable, 78 no usable [cluster]."
    )]
    Unlock(UnlockArgs),
    /// Stop a job's run, wherever it is
    #[command(
        after_help = "The run gets SIGTERM, and SIGKILL after its kill_grace; it is recorded as `killed \
        (operator)`. The command waits for that. Later ticks run as always: see `pause`.\n\n\
        Exit codes: 0 stopped, 1 nothing to stop, or not stopped in time, 2 unknown job, 69 store unreachable, \
        78 no usable [cluster]."
    )]
    Kill(KillArgs),
}

/// Flags of `pause`.
#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The jobs
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    pub jobs: Vec<JobName>,
    /// Every job
    #[arg(long)]
    pub all: bool,
    /// End the pause by itself after this long [default: until `resume`]
    #[arg(long = "for", value_name = "DURATION", value_parser = pause_length)]
    pub lasts: Option<Duration>,
    /// Why; `status` shows it
    #[arg(long, value_name = "TEXT", value_parser = read_reason)]
    pub reason: Option<String>,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Flags of `trigger`.
#[derive(Debug, Args)]
pub struct TriggerArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: JobName,
    /// Run it for this past tick, written as for `why`: `02:30`, `02:30Z`, `2026-11-23 02:30` [default: now]
    #[arg(long, value_name = "TIME", value_parser = tick_time)]
    pub(crate) tick: Option<When>,
    /// Print its output, wait for its end, and exit as it did
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Flags of `unlock`.
#[derive(Debug, Args)]
pub struct UnlockArgs {
    /// The job; with --mark, one or more
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    pub jobs: Vec<JobName>,
    /// Set back marks that lie in the future
    #[arg(long)]
    pub mark: bool,
    /// Every job
    #[arg(long, requires = "mark")]
    pub all: bool,
    /// Do it without asking
    #[arg(long)]
    pub force: bool,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Flags of `kill`.
#[derive(Debug, Args)]
pub struct KillArgs {
    /// The job
    #[arg(value_name = "JOB")]
    pub job: JobName,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Flags of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The jobs
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    pub jobs: Vec<JobName>,
    /// Every job
    #[arg(long)]
    pub all: bool,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
}

fn tick_time(text: &str) -> Result<When, String> {
    When::read(text).map_err(|error| error.help)
}

fn pause_length(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => {
            Err("a pause of 0s does nothing: write for example `2h`, or leave --for out".to_owned())
        }
        lasts => Ok(lasts),
    }
}

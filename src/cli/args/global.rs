//! The command line, as the contract lists it. A flag takes precedence over its variable, and the variable over the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::import::Import;
use crate::cli::operate::store_init::StoreCommand;
use crate::cli::read::acts::ActsArgs;
use crate::cli::read::history::HistoryArgs;
use crate::cli::read::logs::LogsArgs;
use crate::cli::read::why::WhyArgs;
use crate::cli::serve::control::drain::DrainArgs;
use crate::cli::session::target::PlaceArgs;
use crate::config::{Overrides, parse_listen};
use crate::job::{JobName, Label, NodeName, parse_duration};
use crate::run::escapes;
use crate::view::text::Moment;

use super::exec::Locking;
use super::operate::Operating;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "solocron",
    version,
    about = "Cron on N identical replicas: each tick of each job runs on exactly one of them.",
    long_about = "Cron on N identical replicas: each tick of each job runs on exactly one of them.\n\n\
        Every replica loads the same jobs.toml. At each tick they compete for the job's lock; one runs the job, renews \
        the lock while it runs, and stops the job in good time when the lock is lost. The others skip.",
    after_help = "Exit codes: 0 done, 1 failed, 2 usage or unknown job, 69 store unreachable, 70 lock lost, \
        75 skipped or held by another, 78 bad jobs.toml.",
    max_term_width = 100
)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// Heading of the flags that every command has; a command's own flags come before them.
const EVERYWHERE: &str = "Options of every command";

/// Flags of every command, before or after it.
#[derive(Debug, Clone, Args)]
pub struct GlobalArgs {
    /// The jobs file [default: ./jobs.toml, then /etc/solocron/jobs.toml]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE", env = "SOLOCRON_CONFIG")]
    pub config: Option<PathBuf>,
    /// Where replicas meet, instead of the file's `store`: `local`, `local:PATH`, `redis://HOST:PORT/DB`
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "URL", env = "SOLOCRON_STORE", hide_env_values = true)]
    pub store: Option<String>,
    /// The folder of run logs and of the local store [default: $STATE_DIRECTORY, /var/lib/solocron, or the user's state folder]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "DIR", env = "SOLOCRON_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run a replica in the foreground
    Run(RunArgs),
    /// Tell the replicas of this state folder to load the jobs file again, and wait
    #[command(
        after_help = "Running jobs keep the definition they started with; a bad file changes nothing.\n\n\
        Exit codes: 0 loaded by every replica, 1 no replica runs here or one did not load it, 78 a bad file."
    )]
    Reload,
    /// Drain the replicas of this state folder, and wait until they have ended
    #[command(
        after_help = "A replica that drains takes no new ticks. What it runs may finish within the replica's `drain` time, and \
        is stopped then. Other replicas take the ticks meanwhile. A supervisor such as systemd may start the replica again: \
        there, `systemctl stop solocron` drains it for good.\n\n\
        Exit codes: 0 all of them have ended, 1 no replica runs here or one has not ended in time, 2 no replica of this name."
    )]
    Drain(DrainArgs),
    /// Commands that change nothing.
    #[command(flatten)]
    Read(ReadCommand),
    /// Commands of an operator.
    #[command(flatten)]
    Operate(Operating),
    /// Commands of scripts.
    #[command(flatten)]
    Lock(Locking),
    /// Prepare a store
    #[command(subcommand)]
    Store(StoreCommand),
}

/// The commands that change nothing.
#[derive(Debug, Subcommand)]
pub enum ReadCommand {
    /// Validate the jobs file; with --probe, the store too
    #[command(
        after_help = "Exit codes: 0 no errors, 1 the probe found errors, 69 store unreachable, 78 a bad file. \
        Warnings do not affect the exit code."
    )]
    Check(CheckArgs),
    /// Show the coming ticks
    #[command(after_help = "Examples:\n  \
        solocron next                      the next tick of each job\n  \
        solocron next backup -n 3\n  \
        solocron next --expr '30 2 * * 1-5' --timezone Europe/Berlin")]
    Next(NextArgs),
    /// Show what is wrong, the replicas, and every job's lock and last outcome
    #[command(
        after_help = "What is wrong comes first. Times are the store's. With JOB: its schedule in words, its policies, its coming \
        ticks, its last runs, and the last acts on it.\n\n\
        HISTORY and `ticks` draw the newest ticks, the last one at the right. A bar is a run that succeeded: the longer it took, \
        the higher the bar. Other signs: ✗ did not succeed, ◇ skipped, ◆ missed, ↻ succeeded as a rerun, □ killed, ? not known; \
        with --ascii 1 to 8, and x s m r k ?.\n\n\
        With --watch on a terminal, the state has the whole screen, and `q` or Ctrl-C brings back what was there before. While \
        the store does not answer, it says why, and tries again.\n\n\
        Exit codes: 0 (1 with --check, when anything is wrong), 2 unknown job, 69 store unreachable, 78 no usable [cluster]."
    )]
    Status(StatusArgs),
    /// Show past ticks and how they ended, over all replicas
    #[command(
        after_help = "In the order in which they ended, the newest last; runs that have not ended come after them. The store keeps \
        the newest 200 ticks of each job.\n\n\
        Examples:\n  \
        solocron history backup -n 5\n  \
        solocron history --failed --since 2d"
    )]
    History(HistoryArgs),
    /// Tell what became of one tick of a job, and why
    #[command(
        after_help = "From the job's record and history, over all replicas: whether it ran, was skipped or missed, and for which \
        reason; what a tick waits for; the ticks around a time that has none.\n\n\
        Examples:\n  \
        solocron why backup 02:30                the last 02:30 in the job's time zone\n  \
        solocron why backup 2026-11-23 02:30"
    )]
    Why(WhyArgs),
    /// Show the output of a job's last run, from whichever replica has it
    #[command(
        after_help = "On a terminal stderr lines are red; in a pipe each line is as stored: time (UTC), out or err, text.\n\n\
        The replica of a run on another machine is asked for its output through the store. If it does not answer, the last 4 KiB \
        are shown, which the store keeps. With --follow, it is waited for while it may hold the run's lock.\n\n\
        Exit codes: 0 shown, 1 its replica does not answer, or there is no run, 2 unknown job, 69 store unreachable, 78 no usable \
        [cluster]."
    )]
    Logs(LogsArgs),
    /// Show what operators did, by command or over HTTP, and what was refused
    #[command(
        after_help = "Newest last. Each `trigger`, `pause`, `resume`, `kill` and `unlock` of a job is noted with who requested it, \
        the reason that was given, and what came of it. The store keeps about the newest 1,000 of all jobs together, until it \
        loses its data. An act whose note could not be stored is done all the same.\n\n\
        Exit codes: 0 shown, 2 unknown job, 69 store unreachable, 78 no usable [cluster].\n\n\
        Examples:\n  \
        solocron acts -n 5\n  \
        solocron acts backup"
    )]
    Acts(ActsArgs),
    /// Print a jobs.toml made from the file of another program
    #[command(subcommand)]
    Import(Import),
    /// Print shell completions
    #[command(after_help = "Example: solocron completions bash > /etc/bash_completion.d/solocron")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, for `man -l -`
    Man,
}

/// Table for people or JSON for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: one document.
    Json,
}

/// How to print.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Table for people, or one JSON document for programs
    #[arg(long, value_enum, default_value_t, value_name = "table|json", hide_possible_values = true)]
    pub format: Format,
}

/// Flags of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Also connect to the store, write a text and remove it, and report unsafe settings
    #[arg(long)]
    pub probe: bool,
    /// How to print.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// How to write the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people: one coloured line per event.
    Pretty,
    /// For programs: one JSON object per line.
    Json,
}

/// Where the jobs' output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputArg {
    /// To a file per run.
    #[default]
    File,
    /// To the replica's log.
    Stdout,
    /// To both.
    Both,
}

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// This replica's name, unique in the cluster [default: host name]
    #[arg(long, value_name = "NAME", env = "SOLOCRON_NODE")]
    pub node: Option<NodeName>,
    /// Let runs finish for this long after SIGTERM [default: the file's `drain`, else 20s]
    #[arg(long, value_name = "DURATION", value_parser = duration, env = "SOLOCRON_DRAIN")]
    pub drain: Option<Duration>,
    /// Run jobs that are `only_on` this label, too; may be repeated, or be a list with commas [default: the file's `labels`]
    #[arg(long = "label", value_name = "LABEL", value_delimiter = ',', env = "SOLOCRON_LABELS")]
    pub labels: Option<Vec<Label>>,
    /// Run at most N jobs at once; other replicas run the rest [default: the file's `max_running`, else any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), env = "SOLOCRON_MAX_RUNNING")]
    pub max_running: Option<u32>,
    /// Pretty lines or JSON [default: pretty on a terminal, else json]
    #[arg(
        long,
        value_enum,
        env = "SOLOCRON_LOG_FORMAT",
        value_name = "pretty|json",
        hide_possible_values = true
    )]
    pub log_format: Option<LogFormat>,
    /// What to log: error, warn, info, debug
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "SOLOCRON_LOG_LEVEL")]
    pub log_level: tracing::Level,
    /// Where the output of jobs goes: a file per run, the replica's own log, or both
    #[arg(
        long,
        value_enum,
        default_value_t,
        env = "SOLOCRON_JOB_OUTPUT",
        value_name = "file|stdout|both",
        hide_possible_values = true
    )]
    pub job_output: OutputArg,
    /// The address of page, API, health and metrics [default: the file's `listen`, else 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR", value_parser = parse_listen, env = "SOLOCRON_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// No page, no API, neither health nor metrics; beats `--listen`
    #[arg(long, env = "SOLOCRON_NO_HTTP", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_http: bool,
    /// How far its port is above the one of `listen`
    #[arg(long, hide = true, value_name = "N", default_value_t = 0)]
    pub port_offset: u16,
    /// Run N replica processes on this machine, their lines prefixed with their names
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100), env = "SOLOCRON_REPLICAS")]
    pub replicas: Option<u16>,
    /// Started by a `run --replicas`: end with it
    #[arg(long, hide = true)]
    pub supervised: bool,
}

impl RunArgs {
    /// Returns the flags that take precedence over the file.
    pub(crate) fn overrides(&self) -> Overrides<'_> {
        let Self { drain, max_running, listen, no_http, port_offset, .. } = *self;
        Overrides {
            drain,
            labels: self.labels.as_deref(),
            max_running,
            listen,
            no_http,
            port_offset,
            escapes: Some(escapes),
            ..Overrides::default()
        }
    }
}

/// Flags of `next`.
#[derive(Debug, Args)]
pub struct NextArgs {
    /// Only this job
    #[arg(value_name = "JOB", conflicts_with = "expr")]
    pub job: Option<JobName>,
    /// The next N ticks, without JOB of each job [default: 1, with JOB or --expr 10]
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: Option<u32>,
    /// Ticks after this time, in UTC or with its offset [default: now]
    #[arg(long, value_name = "TIME")]
    pub after: Option<Moment>,
    /// Evaluate this expression instead of the jobs of the file
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub expr: Option<String>,
    /// The time zone of `--expr`, an IANA name [default: UTC]
    #[arg(long, value_name = "TZ", requires = "expr")]
    pub timezone: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Flags of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this job
    #[arg(value_name = "JOB")]
    pub job: Option<JobName>,
    /// Exit 1 when anything is wrong
    #[arg(long)]
    pub check: bool,
    /// Show it anew every two seconds, until `q` or Ctrl-C
    #[arg(long, conflicts_with_all = ["check", "format"])]
    pub watch: bool,
    /// Draw with letters and digits, for terminals without Unicode
    #[arg(long)]
    pub ascii: bool,
    /// Without a file.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// How to print.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Parses a duration of the contract.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

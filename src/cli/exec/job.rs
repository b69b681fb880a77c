//! `exec --job`: runs a job of the file on this machine, under the job's own lock, as a replica would start it. With
//! `--dry-run` it starts nothing, and sends no request to the store.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::cli::args::exec::ExecArgs;
use crate::cli::args::global::GlobalArgs;
use crate::cli::exec::{Task, block_on, under_lock};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::serve::resolve::resolve_job;
use crate::cli::serve::run::node_name;
use crate::cli::session::find_job::find_job;
use crate::cli::session::load_file;
use crate::cli::session::target::ClusterTarget;
use crate::config::{Overrides, Purpose};
use crate::exec::Work;
use crate::job::{Cause, Fence, JobName, NodeName, RunId, Tick};
use crate::run::{Identity, Job, Launch, Preview};
use crate::time::{Clock, SystemClock};

use super::relay::Relay;

/// The column at which the values of the preview begin, and the column at which its lines end.
const INDENT: usize = 13;
const WIDTH: usize = 80;

/// Runs the job once, or shows what would be started.
pub(super) fn run(args: &ExecArgs, name: &JobName, global: &GlobalArgs) -> Result<Exit, Failure> {
    let (source, config, _) = load_file(global, Overrides::default(), Purpose::Run)?;
    if let Some(other) = args.place.cluster.as_ref().filter(|cluster| **cluster != config.cluster) {
        let (own, path) = (&config.cluster, source.path.display());
        let message = format!(
            "cluster `{other}` is not the one of {path}, which is `{own}`\n  help: leave out --cluster (SOLOCRON_CLUSTER): \
             --job runs a job of the file"
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let spec = find_job(&config, &source, name)?;
    let job = resolve_job(spec, &Arc::new(config.referred.clone()))
        .map_err(|error| Failure::new(Exit::BadConfig, error.to_string()))?;
    let node = node_name(args.node.as_ref())?;
    if args.dry_run {
        return show(&job, node, &mut Screen::of_process());
    }
    let task = Task {
        node,
        lock: name.clone(),
        program: spec.command.words()[0].clone(),
        lease: spec.lease,
        kill_grace: spec.kill_grace,
        timeout: spec.timeout,
        place: ClusterTarget::of_config(&source, &config),
    };
    block_on(async {
        let store = task.place.open(global)?;
        let relay =
            Relay::start().map_err(|error| Failure::failed(format!("no pipe for its output: {error}")))?;
        let work = Work::Job(Box::new(job), relay.writers());
        under_lock(args, &task, work, Some(relay), store).await
    })
}

/// Prints what would be started.
fn show(job: &Job, node: NodeName, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let now = Tick(SystemClock.utc());
    // This run never exists: the preview shows variables by name only, so these values do not appear.
    let identity = Identity {
        job: job.spec.name.clone(),
        tick: now,
        tick_local: job.spec.schedule.local_text(now),
        fence: Fence(0),
        run: RunId::new(),
        attempt: 1,
        cause: Cause::Manual,
        node,
    };
    let launch = Launch::new(&job.spec, job.env.clone(), Arc::clone(&job.withheld), identity);
    let preview = Preview::of(&launch).map_err(|error| Failure::failed(error.to_string()))?;
    let words: Vec<String> = launch.command.iter().map(|word| shell_word(word)).collect();
    let Preview { user, group, folder, variables, needs_root } = preview;
    screen.print(&format!(
        "job          {}\ncommand      {}\nuser         {user}\ngroup        {group}\nfolder       {}\nenvironment  {}\n",
        job.spec.name,
        words.join(" "),
        folder.display(),
        wrapped(&variables)
    ))?;
    if needs_root {
        screen.say("warning: this user may not start it as another user or group\n  help: run it as root\n");
    }
    Ok(Exit::Done)
}

/// Joins the names into lines that fit a terminal of `WIDTH` columns.
fn wrapped(names: &[String]) -> String {
    let mut lines = vec![String::new()];
    for name in names {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(name);
        } else if INDENT + line.len() + 1 + name.len() <= WIDTH {
            line.push(' ');
            line.push_str(name);
        } else {
            lines.push(name.clone());
        }
    }
    lines.join(&format!("\n{}", " ".repeat(INDENT)))
}

/// Returns the word as a shell would read it, in quotes where needed.
fn shell_word(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_take_several_lines() {
        let names = ["a", "b"].map(|letter| letter.repeat(40)).to_vec();
        assert_eq!(wrapped(&names), format!("{}\n{}{}", names[0], " ".repeat(13), names[1]));
        assert_eq!(wrapped(&["A".to_owned(), "B".to_owned()]), "A B");
    }

    #[test]
    fn words_are_shown_as_a_shell_reads_them() {
        for (word, shown) in
            [("-Fc", "-Fc"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''"), ("$X", "'$X'")]
        {
            assert_eq!(shell_word(OsStr::new(word)), shown);
        }
    }
}

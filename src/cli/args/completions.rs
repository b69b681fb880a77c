//! `completions`: prints what a shell needs to complete the command line, and answers the shell's requests. The names of jobs
//! come from the file in reach: no request is sent to a store.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate, Shell};

use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::config;
use crate::config::Purpose;

use super::global::Cli;

/// The variable that a shell sets when it requests completions.
const ASKED: &str = "SOLOCRON_COMPLETE";

/// The program's name, by which the shell finds it.
const PROGRAM: &str = "solocron";

/// Prints the completions of this shell.
pub(crate) fn run(shell: Shell, screen: &mut Screen<'_>) -> Result<Exit, Failure> {
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string()).expect("it is one of these");
    let mut script = Vec::new();
    let written = shell.write_registration(ASKED, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.expect("a script can be written to memory");
    screen.print_bytes(&script)?;
    Ok(Exit::Done)
}

/// Answers a shell that requests completions of the command line. `None` if this process was started for anything else.
pub fn complete() -> Option<ExitCode> {
    let folder = std::env::current_dir().ok();
    let answered =
        CompleteEnv::with_factory(command).var(ASKED).try_complete(std::env::args_os(), folder.as_deref());
    match answered {
        Ok(false) => None,
        Ok(true) => Some(Exit::Done.into()),
        Err(error) => {
            // If that fails, no place is left to report it.
            let _ = error.print();
            Some(Exit::Usage.into())
        }
    }
}

fn command() -> Command {
    with_jobs(Cli::command())
}

/// Adds the completion of job names to every argument that is a job's name.
fn with_jobs(command: Command) -> Command {
    let is_job = |arg: &Arg| {
        let is_lock = arg.get_id() == "lock";
        is_lock || arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "JOB"))
    };
    let jobs = || ArgValueCandidates::new(job_names);
    let command = command.mut_args(|arg| if is_job(&arg) { arg.add(jobs()) } else { arg });
    command.mut_subcommands(with_jobs)
}

/// Returns the jobs of the file that the command line, its variable or the working directory names; empty if no file can be
/// read.
fn job_names() -> Vec<CompletionCandidate> {
    let named =
        named_file(std::env::args_os()).or_else(|| std::env::var_os("SOLOCRON_CONFIG").map(PathBuf::from));
    // A pipe that is read here would be empty for the command itself.
    if named.as_ref().is_some_and(|path| !path.is_file()) {
        return Vec::new();
    }
    let Ok(source) = config::find(named.as_deref(), Purpose::Read) else { return Vec::new() };
    config::job_names(&source.text).iter().map(|name| CompletionCandidate::new(name.as_str())).collect()
}

/// Returns the value of `--config` among these words.
fn named_file(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    const FLAG: &str = "--config";
    let words: Vec<OsString> = words.collect();
    let with_sign = |word: &OsStr| word.to_str()?.strip_prefix(FLAG)?.strip_prefix('=').map(PathBuf::from);
    let apart = |pair: &[OsString]| (pair[0] == FLAG).then(|| PathBuf::from(&pair[1]));
    words.iter().find_map(|word| with_sign(word)).or_else(|| words.windows(2).find_map(apart))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_one_that_the_command_line_names() {
        let named = |line: &str| named_file(line.split(' ').map(OsString::from));
        assert_eq!(named("solocron status --config a.toml x"), Some("a.toml".into()));
        assert_eq!(named("solocron --config=a.toml status"), Some("a.toml".into()));
        assert_eq!(named("solocron status --config"), None);
        assert_eq!(named("solocron status"), None);
    }

    #[test]
    fn the_completed_command_is_a_good_one() {
        command().debug_assert();
    }
}

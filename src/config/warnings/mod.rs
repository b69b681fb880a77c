//! Warns about what is valid but probably not meant. Each warning states what will happen, and how to write what else may
//! be meant.

mod elsewhere;
pub(super) mod machine;
mod shell;
pub(super) mod uneven;

use std::time::Duration;

use crate::job::{Command, JobSpec, MAX_DEFAULT_START_DEADLINE, Schedule, format_duration};
use crate::time::UtcMillis;

use super::report::findings::Findings;
use super::report::problem::Problem;
use super::secrets::{mask, options};
use super::sections::section::Section;
use super::sections::shared::Shared;
use super::store::url::StoreUrl;
use super::values::command::Program;
use super::values::placed::Placed;

/// Warns about the program that a job runs.
pub(super) fn of_program(section: &Section<'_>, program: &Program, findings: &mut Findings) {
    let title = &section.title;
    match program {
        Program::Argv(argv) => {
            argv.iter().for_each(|word| of_secret(title, "command", &word.value, word, findings));
            of_argv(title, argv, findings);
        }
        Program::Shell(line) => {
            let words = line.value.split_whitespace();
            words.for_each(|word| of_secret(title, "shell", word, line, findings));
            of_shell(title, line, findings);
        }
    }
}

/// Warns about a secret among the words of a command.
fn of_secret(title: &str, key: &str, word: &str, place: &Placed<String>, findings: &mut Findings) {
    let Some(shown) = options::name_of(word).map(str::to_owned).or_else(|| mask::mask_url(word)) else {
        return;
    };
    let message =
        format!("{title}: every user of the machine sees the secret of `{shown}` in `{key}` with `ps`");
    let help = "give it to the program by a variable, `env = { NAME = \"${file:/run/secrets/name}\" }`, or by a file";
    findings.add(Problem::warning(message).at(place.span.clone()).help(help.to_owned()));
}

fn of_argv(title: &str, argv: &[Placed<String>], findings: &mut Findings) {
    let words: Vec<&str> = argv.iter().map(|word| word.value.as_str()).collect();
    if let Some(program) = argv.first() {
        of_elsewhere(title, &words, program, findings);
    }
    if shell::has_reader(&words) {
        return;
    }
    for word in argv {
        if let Some(variable) = shell::variable(&word.value) {
            let message = format!("{title}: `{variable}` in `command` is passed on as it is");
            let help = "use `shell` instead of `command` if it should be replaced when the job runs";
            findings.add(
                Problem::warning(message)
                    .at(word.span.clone())
                    .label("no shell reads this")
                    .help(help.to_owned()),
            );
        }
    }
}

fn of_shell(title: &str, line: &Placed<String>, findings: &mut Findings) {
    of_elsewhere(title, &shell::first_command(&line.value), line, findings);
    if shell::has_pipe(&line.value) && !line.value.contains("pipefail") {
        let message = format!(
            "{title}: only the last command of the pipe in `shell` decides whether the run succeeded"
        );
        let help = "write `command = [\"bash\", \"-o\", \"pipefail\", \"-c\", \"…\"]`, so that a failure before the `|` counts";
        findings.add(
            Problem::warning(message)
                .at(line.span.clone())
                .help(help.to_owned())
                .note("where `/bin/sh` knows it, `set -o pipefail; …` does the same"),
        );
    }
}

fn of_elsewhere(title: &str, words: &[&str], place: &Placed<String>, findings: &mut Findings) {
    let Some((name, worker)) = elsewhere::worker(words) else { return };
    let message = format!("{title}: what `{name}` starts may continue when the job is stopped");
    findings.add(
        Problem::warning(message)
            .at(place.span.clone())
            .label(format!("the work is done by {worker}"))
            .help("give the work a time limit of its own there, and let it refuse a `SOLOCRON_FENCE` older than the newest it has seen".to_owned())
            .note("a timeout, a kill or a lost lock stops the processes below the job, and no others"),
    );
}

/// Warns about a program that may start processes which the replica cannot kill.
pub(super) fn of_privileges(
    section: &Section<'_>,
    spec: &JobSpec,
    escapes: fn(&str) -> bool,
    findings: &mut Findings,
) {
    if spec.no_new_privileges {
        return;
    }
    let commands = commands(&spec.command);
    let program = commands.iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        elsewhere::programs(&words).iter().copied().find(|word| escapes(word)).map(str::to_owned)
    });
    let Some(program) = program else { return };
    let message = format!("{}: `{program}` starts processes that the replica cannot kill", section.title);
    let place = section.raw("command").or_else(|| section.raw("shell")).map(|raw| raw.span());
    findings.add(
        Problem::warning(message)
            .at(place.or(section.span.clone()))
            .label("they are another user's")
            .help(
                "have root run the replica, and the job as a `user`; or delegate a control group to the replica \
                 (systemd: `Delegate=yes`); or write `no_new_privileges = true` if the job can do without"
                    .to_owned(),
            )
            .note("such a process may continue after its replica has died or the lock was lost, while its job runs elsewhere"),
    );
}

/// Checks `max_processes`, which counts all processes of a user. Without a `user` of its own it is an error: processes
/// outside the job would count too, or, for root, none at all. With one, a warning states that all processes of the
/// user count.
pub(super) fn of_processes(section: &Section<'_>, own: &Shared, spec: &JobSpec, findings: &mut Findings) {
    if spec.max_processes.is_none() {
        return;
    }
    let place = own.max_processes.as_ref().map(|most| most.span.clone()).or(section.span.clone());
    let title = &section.title;
    findings.add(match spec.user.as_deref().filter(|user| *user != "root") {
        None => Problem::error(format!("{title}: `max_processes` needs a `user` of its own"))
            .at(place)
            .help("write `user = \"…\"` with a user that is not root, or take out the line".to_owned())
            .note("the system counts all processes of a user, and none of root's"),
        Some(user) => {
            Problem::warning(format!("{title}: `max_processes` counts all processes of user `{user}`"))
                .at(place)
                .help("let no other job, and nothing else, run as that user".to_owned())
        }
    });
}

/// Returns the words of each command that a job is seen to run.
fn commands(command: &Command) -> Vec<Vec<String>> {
    match command {
        Command::Shell(line) => shell::commands(line),
        Command::Argv(argv) => {
            let words: Vec<&str> = argv.iter().map(String::as_str).collect();
            let script = shell::script(&words).map(shell::commands).unwrap_or_default();
            [argv.clone()].into_iter().chain(script).collect()
        }
    }
}

/// Warns about a start deadline that leaves no time for another replica to take over.
pub(super) fn of_deadline(section: &Section<'_>, own: &Shared, spec: &JobSpec, findings: &mut Findings) {
    let period = period_of(&spec.schedule);
    let place = own.start_deadline.as_ref().or(own.lease.as_ref()).map(|placed| placed.span.clone());
    let warning = short_deadline(&section.title, spec.start_deadline, spec.lease, period);
    warning.into_iter().for_each(|warning| findings.add(warning.at(place.clone().or(section.span.clone()))));
}

/// The distance between ticks is computed from those after this instant: the first of 2026, so that the same file gives
/// the same warnings every day.
const PERIODS_FROM: UtcMillis = UtcMillis(1_767_225_600_000);

/// Returns the shortest distance from one tick to the next.
fn period_of(schedule: &Schedule) -> Duration {
    schedule.shortest_period(PERIODS_FROM)
}

fn short_deadline(
    title: &str,
    deadline: Option<Duration>,
    lease: Duration,
    period: Duration,
) -> Option<Problem> {
    let deadline = deadline.unwrap_or(period.min(MAX_DEFAULT_START_DEADLINE));
    let enough = lease.saturating_mul(2);
    if deadline >= enough || period < enough {
        return None;
    }
    let message = format!(
        "{title}: a tick must start within {}, but when a replica dies its lock of {} has to run out first",
        format_duration(deadline),
        format_duration(lease)
    );
    let problem = Problem::warning(message)
        .help(format!("write `start_deadline = \"{}\"` (twice the lease) or more", format_duration(enough)))
        .note("until then no other replica may start the job, and a tick that waits longer is missed");
    Some(problem)
}

/// Warns about a store that only replicas on one machine can share.
pub(super) fn of_local_store(store: &StoreUrl, replicas: &Placed<u32>, findings: &mut Findings) {
    if !store.is_local() || replicas.value < 2 {
        return;
    }
    let message = format!(
        "[cluster]: `replicas` is {}, but the store `{store}` is shared only by replicas on the same machine",
        replicas.value
    );
    findings.add(
        Problem::warning(message)
            .at(replicas.span.clone())
            .help("for replicas on several machines write a `redis://` store; for several processes on this one all is well".to_owned())
            .note("replicas on different machines would not know of each other, and each would run every job"),
    );
}

/// Warns about a file without jobs, unless there are errors: one of them is likely to be the reason.
pub(super) fn of_no_jobs(findings: &mut Findings) {
    if findings.errors() == 0 {
        findings.add(
            Problem::warning("there are no jobs, so nothing will ever run")
                .help("add one: `[jobs.NAME]` with `schedule` and `command`".to_owned()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(deadline: Option<u64>, lease: u64, period: u64) -> Option<String> {
        let seconds = Duration::from_secs;
        short_deadline("job `x`", deadline.map(seconds), seconds(lease), seconds(period))
            .map(|warning| warning.message)
    }

    #[test]
    fn a_deadline_below_twice_the_lease_is_warned_of_where_the_period_allows_more() {
        let message = warned(Some(10), 30, 86_400).expect("too short");
        assert!(message.starts_with("job `x`: a tick must start within 10s, but"), "{message}");
        assert!(message.contains("its lock of 30s"), "{message}");
        assert!(warned(Some(59), 30, 60).is_some());
        assert!(warned(None, 3_600, 86_400).is_some(), "the default deadline is an hour at most");
    }

    #[test]
    fn a_deadline_that_is_long_enough_or_cannot_be_longer_is_not_warned_of() {
        assert_eq!(warned(Some(60), 30, 86_400), None);
        assert_eq!(warned(Some(10), 30, 59), None);
        assert_eq!(warned(None, 30, 86_400), None);
        assert_eq!(warned(None, 30, 20), None);
    }
}

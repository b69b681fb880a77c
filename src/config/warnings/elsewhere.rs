//! Finds programs that hand their work to a daemon, another machine or the background. Stopping the job stops only the
//! program that handed the work on, and the author of such a job should know that.

use super::shell;

/// Programs that only run another one.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "nice", "ionice", "timeout", "time", "chronic", "stdbuf", "exec", "flock",
    "xargs", "setsid", "command",
];

/// Subcommands of container engines that run something.
const CONTAINER: &[&str] = &["run", "exec", "start", "compose"];

/// Returns the program among these words whose work is not done by a process below the job, and what does it; the
/// latter continues "the work is done by".
pub(super) fn worker(words: &[&str]) -> Option<(String, &'static str)> {
    (0..programs(words).len()).find_map(|at| known(&words[at..]))
}

/// Returns the words that may be programs: the first, or all of them if that only runs another one.
pub(super) fn programs<'w, 'a>(words: &'w [&'a str]) -> &'w [&'a str] {
    let wrapped = words.first().is_some_and(|word| WRAPPERS.contains(&shell::program_name(word)));
    &words[..if wrapped { words.len() } else { words.len().min(1) }]
}

fn known(words: &[&str]) -> Option<(String, &'static str)> {
    let program = shell::program_name(words.first()?);
    let has = |known: &[&'static str]| words[1..].iter().find(|word| known.contains(word)).copied();
    let with = |subcommand: Option<&str>| subcommand.map(|subcommand| format!("{program} {subcommand}"));
    let alone = || Some(program.to_owned());
    let (name, worker) = match program {
        "docker" | "podman" | "nerdctl" => (with(has(CONTAINER)), "the container engine"),
        "docker-compose" | "podman-compose" => (alone(), "the container engine"),
        "ssh" | "mosh" => (alone(), "another machine"),
        "kubectl" | "oc" | "nomad" => (alone(), "the orchestrator"),
        "systemctl" => (with(has(&["start", "restart", "reload-or-restart"])), "systemd"),
        "systemd-run" => (alone(), "systemd"),
        "at" | "batch" => (alone(), "the at daemon"),
        "nohup" => (alone(), "a process that is meant to outlive its caller"),
        _ => return None,
    };
    name.map(|name| (name, worker))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> Option<String> {
        worker(&line.split(' ').collect::<Vec<_>>()).map(|(name, _)| name)
    }

    #[test]
    fn work_that_is_handed_on_is_recognised_also_behind_wrappers() {
        for (line, expected) in [
            ("docker run --rm img", "docker run"),
            ("/usr/bin/docker --context x exec c cmd", "docker exec"),
            ("sudo -u x ssh host", "ssh"),
            ("nice -n 10 kubectl apply", "kubectl"),
            ("systemctl --user start x", "systemctl start"),
            ("systemd-run x", "systemd-run"),
            ("flock -n /tmp/x ssh host", "ssh"),
        ] {
            assert_eq!(name(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn programs_that_only_look_or_merely_mention_one_are_left_alone() {
        for line in ["docker ps", "systemctl status x", "echo ssh", "ssh-keygen", "attic", ""] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}

//! A job's definition in words. No value of its environment is shown, and its command only to who may see what it prints.

use crate::config::mask;
use crate::job::{CatchUp, Command, JobSpec, OnInterrupt, Overlap, format_duration};
use crate::view::problems::labels;

/// A term and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinitionRow {
    pub(crate) term: &'static str,
    pub(crate) text: String,
    /// Whether it is written as in the file, and so shown in its letters.
    pub(crate) is_code: bool,
}

/// Returns what a job is. `shows_command`: whether its command is part of it.
pub(crate) fn definition_rows(spec: &JobSpec, shows_command: bool) -> Vec<DefinitionRow> {
    let words = |term, text: String| DefinitionRow { term, text, is_code: false };
    let code = |term, text: String| DefinitionRow { term, text, is_code: true };
    let expressions: Vec<&str> = spec.schedule.expressions().collect();
    let mut rows = vec![
        words("runs", spec.schedule.words()),
        code("schedule", format!("{} ({})", expressions.join("  "), spec.schedule.zone_name())),
        words(
            "lock",
            format!("the lease is {}; it is renewed while the job runs", format_duration(spec.lease)),
        ),
        words("overlap", overlap(spec.overlap).to_owned()),
        words("start deadline", start_deadline(spec)),
    ];
    rows.extend(spec.timeout.map(|timeout| {
        words("timeout", format!("an attempt is stopped after {}", format_duration(timeout)))
    }));
    if spec.retries > 0 {
        let delay = format_duration(spec.retry_delay);
        let text = match spec.retries {
            1 => format!("one more attempt after a failed one, {delay} later"),
            many => format!("{many} more attempts after a failed one, the first {delay} later"),
        };
        rows.push(words("retries", text));
    }
    if spec.catch_up == CatchUp::Last {
        rows.push(words("catch up", "after an outage, the newest missed tick runs once".to_owned()));
    }
    if spec.on_interrupt == OnInterrupt::Rerun {
        rows.push(words(
            "interrupted",
            "a run that was cut short runs once more, elsewhere if possible".to_owned(),
        ));
    }
    if !spec.only_on.is_empty() {
        rows.push(code("only on", labels(spec, ", ")));
    }
    if !spec.env.is_empty() {
        let names: Vec<&str> = spec.env.keys().map(String::as_str).collect();
        rows.push(code("environment", names.join(" ")));
    }
    if shows_command {
        rows.push(code("command", command(&spec.command)));
    }
    rows
}

const fn overlap(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Skip => "a tick is skipped while the run before it goes on",
        Overlap::Wait => "a tick waits for the run before it, until its start deadline",
        Overlap::Replace => "a tick stops the run before it, and then runs",
    }
}

fn start_deadline(spec: &JobSpec) -> String {
    match spec.start_deadline {
        Some(limit) => {
            format!("a tick that has not started {} after its instant is missed", format_duration(limit))
        }
        None => "a tick that has not started by the next one, or within an hour, is missed".to_owned(),
    }
}

/// Returns a command without what may be secret.
fn command(command: &Command) -> String {
    let line = match command {
        Command::Argv(words) => words.join(" "),
        Command::Shell(line) => line.clone(),
    };
    mask(&line)
}

#[cfg(test)]
mod tests {
    use crate::config::testing::config;
    use crate::job::JobName;

    use super::*;

    const FILE: &str = r#"
[cluster]
name = "billing"
store = "local"

[jobs.backup]
schedule = "30 2 * * *"
command = ["pg_dump", "postgres://app:hunter2@db/app", "--password=hunter3"]
env = { PGPASSWORD = "hunter4", LANG = "C" }
timeout = "1h"
retries = 2
only_on = ["disk"]
on_interrupt = "rerun"
"#;

    #[test]
    fn neither_values_of_the_environment_nor_secrets_of_the_command_are_shown() {
        let config = config(FILE);
        let spec = &config.jobs[&JobName::parse("backup").expect("a name")];
        let rows = definition_rows(spec, true);
        let text = format!("{rows:?}");
        assert!(!text.contains("hunter"), "{text}");
        assert!(text.contains("LANG PGPASSWORD") && text.contains("pg_dump"), "{text}");
        assert!(text.contains("2 more attempts") && text.contains("stopped after 1h"), "{text}");
        assert!(!format!("{:?}", definition_rows(spec, false)).contains("pg_dump"));
    }
}

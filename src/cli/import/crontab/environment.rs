//! The variables of a crontab. A variable that cron itself reads has a key of its own in jobs.toml, or no counterpart.

use std::collections::BTreeMap;

use crate::job::Schedule;

/// The shell that runs a `shell` line, and a crontab's commands by default.
pub(super) const USUAL_SHELL: &str = "/bin/sh";

/// What the lines above an entry have set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Environment {
    /// The variables of the commands.
    pub(super) variables: BTreeMap<String, String>,
    /// The zone of the times, if it is known.
    pub(super) zone: Option<String>,
}

/// What was done with a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is carried over in full.
    Over,
    /// It is not carried over: the reason, and what to do instead.
    LeftOut(String),
}

impl Environment {
    /// Returns the environment before the first line.
    pub(super) fn of_machine(zone: Option<String>) -> Self {
        Self { variables: BTreeMap::new(), zone }
    }

    /// Carries over one line.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Taken {
        let left_out = |why: &str| Taken::LeftOut(why.to_owned());
        match name {
            "" => return left_out("the variable has no name"),
            // No message for this one: it requests no mail, and solocron sends none.
            "MAILTO" if value.is_empty() => return Taken::Over,
            "MAILTO" | "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {
                return left_out(
                    "solocron sends no mail: `solocron logs JOB` shows the output, `solocron status --check` exits 1 when a \
                     job fails",
                );
            }
            "LOGNAME" | "USER" => {
                return left_out("cron itself sets it to the name of the user: write `user` for a job");
            }
            "RANDOM_DELAY" => {
                return left_out(
                    "write `H` in a schedule: `H 2 * * *` is a minute that the job's name chooses",
                );
            }
            "CRON_TZ" => return self.set_zone(value),
            "SHELL" if value.is_empty() => return left_out("it is empty, and cron would find no shell"),
            _ if name.starts_with("SOLOCRON_") => {
                return left_out("these names tell a job about its run: set it in the script that needs it");
            }
            _ if name.contains('=') => return left_out("its name has a `=`, which no environment can hold"),
            _ => {}
        }
        self.variables.insert(name.to_owned(), value.to_owned());
        Taken::Over
    }

    fn set_zone(&mut self, value: &str) -> Taken {
        let name = value.trim_start_matches(':');
        match Schedule::parse("x", &["@daily"], name) {
            Ok(schedule) => {
                self.zone = Some(schedule.zone_name().to_owned());
                Taken::Over
            }
            Err(problems) => {
                let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Taken::LeftOut(why.join("; "))
            }
        }
    }

    /// Returns the shell if it is not the usual one.
    pub(super) fn shell(&self) -> Option<&str> {
        self.variables.get("SHELL").map(String::as_str).filter(|shell| *shell != USUAL_SHELL)
    }

    /// Returns the folder in which the commands start, if the crontab sets it.
    pub(super) fn home(&self) -> Option<&str> {
        self.variables.get("HOME").map(String::as_str).filter(|home| home.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cron_reads_itself_is_no_variable_of_the_command() {
        let mut environment = Environment::of_machine(None);
        for (name, value) in [("CRON_TZ", ":europe/berlin"), ("MAILTO", ""), ("PATH", "/bin"), ("A", "")] {
            assert_eq!(environment.set(name, value), Taken::Over, "{name}");
        }
        assert_eq!(environment.zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(environment.variables.len(), 2, "{environment:?}");
        for (name, value, why) in [
            ("MAILTO", "a@b", "no mail"),
            ("LOGNAME", "x", "`user`"),
            ("CRON_TZ", "Mars/Base", "Mars/Base"),
            ("SHELL", "", "no shell"),
            ("SOLOCRON_STORE", "local", "the script"),
            ("", "x", "no name"),
        ] {
            let before = environment.clone();
            let Taken::LeftOut(said) = environment.set(name, value) else { panic!("{name}") };
            assert!(said.contains(why), "{name}: {said}");
            assert_eq!(environment, before);
        }
    }
}

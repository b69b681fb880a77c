//! Writes the jobs as the text of a jobs.toml. What all jobs have in common stands under `[defaults]`.

use std::collections::BTreeMap;
use std::fmt::Write;

use toml_writer::{ToTomlKey, ToTomlValue, TomlKeyBuilder, TomlStringBuilder};

use crate::view::text::reordering::reorders;

use super::conversion::Conversion;
use super::job::CrontabJob;
use super::line::Form;

/// What all jobs have in common.
#[derive(Debug, Default)]
struct Common<'a> {
    zone: Option<&'a str>,
    folder: Option<&'a str>,
    variables: BTreeMap<&'a str, &'a str>,
}

impl Conversion {
    /// Returns the whole file. `solocron check` accepts it if it has a job.
    pub(crate) fn to_toml(&self) -> String {
        let common = Common::of(&self.jobs);
        let mut text = String::new();
        self.head(&mut text);
        text.push_str(
            "\n[cluster]\n# For replicas on one machine. On several: store = \"redis://HOST:6379/0\", and name = \"...\".\n\
             store = \"local\"\n",
        );
        common.write(self, &mut text);
        for job in &self.jobs {
            text.push('\n');
            comments(&job.above, &mut text);
            write(job, &common, &mut text);
        }
        if self.below.iter().any(|line| !line.is_empty()) {
            text.push('\n');
            comments(&self.below, &mut text);
        }
        text
    }

    /// Writes what the reader has to know before the jobs run.
    fn head(&self, text: &mut String) {
        comment(&format!("Made from {} by `solocron import crontab`.", self.crontab), text);
        if !self.left_out.is_empty() {
            comment("", text);
            comment("Not carried over:", text);
            for left_out in &self.left_out {
                comment(&format!("  line {}: {}", left_out.line, left_out.text), text);
                comment(&format!("    {}", left_out.why), text);
            }
        }
        comment("", text);
        comment("What differs from cron:", text);
        for note in self.differences().iter().chain(&self.notes) {
            comment(&format!("  - {note}"), text);
        }
    }

    fn differences(&self) -> Vec<String> {
        let mut notes = vec![
            "A tick is skipped while the previous run is running; cron starts a second run (`overlap`)."
                .to_owned(),
        ];
        if self.form == Form::User {
            notes.push(
                "The user that starts `solocron run` runs the commands, in the folder where it was started; cron starts them in \
                 the user's home (`user`, `cwd`)."
                    .to_owned(),
            );
        }
        if !self.names_zone {
            let known = self.jobs.iter().any(|job| job.environment.zone.is_some());
            notes.push(if known {
                "The times are in this machine's time zone: change `timezone` if the crontab is another machine's.".to_owned()
            } else {
                "The time zone of this machine is not known, and the times are in UTC: set `timezone`.".to_owned()
            });
        }
        notes
    }
}

impl<'a> Common<'a> {
    fn of(jobs: &'a [CrontabJob]) -> Self {
        let Some((first, others)) = jobs.split_first() else { return Self::default() };
        let all = |is_same: &dyn Fn(&CrontabJob) -> bool| others.iter().all(is_same);
        let first = &first.environment;
        let variables = first.variables.iter();
        let shared = variables
            .filter(|(name, value)| all(&|job| job.environment.variables.get(*name) == Some(*value)));
        Self {
            zone: first.zone.as_deref().filter(|_| all(&|job| job.environment.zone == first.zone)),
            folder: first.home().filter(|_| all(&|job| job.environment.home() == first.home())),
            variables: shared.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        }
    }

    fn write(&self, conversion: &Conversion, text: &mut String) {
        if self.zone.is_none() && self.folder.is_none() && self.variables.is_empty() {
            return;
        }
        text.push_str("\n[defaults]\n");
        if let Some(zone) = self.zone {
            if !conversion.names_zone {
                comment("The time zone of the machine that made this file.", text);
            }
            key("timezone", zone, text);
        }
        if let Some(folder) = self.folder {
            key("cwd", folder, text);
        }
        variables(&self.variables, text);
    }
}

/// Writes one job, without the comments above it.
fn write(job: &CrontabJob, common: &Common<'_>, text: &mut String) {
    let environment = &job.environment;
    job.notes.iter().for_each(|note| comment(note, text));
    let _ = writeln!(text, "[jobs.{}]", TomlKeyBuilder::new(&job.name).as_default().to_toml_key());
    key("schedule", &job.schedule, text);
    if let Some(zone) = environment.zone.as_deref().filter(|_| common.zone.is_none()) {
        key("timezone", zone, text);
    }
    if let Some(user) = &job.user {
        key("user", user, text);
    }
    if let Some(home) = environment.home().filter(|_| common.folder.is_none()) {
        key("cwd", home, text);
    }
    let own = environment.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    variables(&own.filter(|(name, _)| !common.variables.contains_key(name)).collect(), text);
    match environment.shell() {
        None => key("shell", &job.command, text),
        Some(shell) => {
            let _ = writeln!(text, "command = [{}, \"-c\", {}]", quoted(shell), quoted(&job.command));
        }
    }
}

fn key(name: &str, value: &str, text: &mut String) {
    let _ = writeln!(text, "{name} = {}", quoted(value));
}

/// Writes `env`. `${` would refer to a variable of the replica, and is escaped.
fn variables(variables: &BTreeMap<&str, &str>, text: &mut String) {
    if variables.is_empty() {
        return;
    }
    let pairs = variables.iter().map(|(name, value)| {
        let name = plain_or(TomlKeyBuilder::new(name).as_default().to_toml_key(), || basic(name));
        format!("{name} = {}", quoted(&value.replace("${", "$${")))
    });
    let _ = writeln!(text, "env = {{ {} }}", pairs.collect::<Vec<_>>().join(", "));
}

/// Returns a TOML string in one line, without anything that a terminal would obey.
fn quoted(value: &str) -> String {
    let string = TomlStringBuilder::new(value);
    let string =
        string.as_basic_pretty().or_else(|| string.as_literal()).unwrap_or_else(|| string.as_basic());
    plain_or(string.to_toml_value(), || basic(value))
}

fn plain_or(text: String, otherwise: impl FnOnce() -> String) -> String {
    if text.contains(is_odd) { otherwise() } else { text }
}

/// Returns a TOML string in which every odd character is an escape.
fn basic(value: &str) -> String {
    let mut text = String::new();
    for c in TomlStringBuilder::new(value).as_basic().to_toml_value().chars() {
        match c {
            _ if is_odd(c) => text.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => text.push(c),
        }
    }
    text
}

/// Whether a terminal would obey the character, or show the text in another order.
fn is_odd(c: char) -> bool {
    (c.is_control() && c != '\t') || reorders(c)
}

/// Writes lines that begin with `#`, or are empty.
fn comments(lines: &[String], text: &mut String) {
    for line in lines {
        let rest = line.strip_prefix('#').unwrap_or(line);
        if rest.is_empty() && line.is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, "#{}", visible(rest));
        }
    }
}

fn comment(line: &str, text: &mut String) {
    let line = visible(line);
    let _ = writeln!(text, "{}", format!("# {line}").trim_end());
}

/// Returns the line with its odd characters escaped: a comment of TOML must not contain control characters.
fn visible(line: &str) -> String {
    line.chars().map(|c| if is_odd(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

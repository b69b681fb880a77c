//! Converts the lines of a crontab to jobs, and lists the lines that could not be converted.

use super::command::Script;
use super::environment::{Environment, Taken};
use super::job::CrontabJob;
use super::line::{CrontabLine, Entry, Form};
use super::naming::Names;
use super::times::expression;

/// The note on percent signs.
const ESCAPED: &str = "`\\%` of the crontab is a plain `%` here.";

/// The note on random times.
const RANDOM: &str =
    "`~` of the crontab is `H` here: the job's name chooses the time, and it stays the same.";

/// A crontab as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crontab<'a> {
    /// Its name in messages.
    pub(crate) name: &'a str,
    /// Its bytes, which may not be valid text.
    pub(crate) bytes: &'a [u8],
    /// Whether its entries name a user.
    pub(crate) form: Form,
    /// The time zone of this machine, by which cron runs; `None` if it is not known.
    pub(crate) zone: Option<&'a str>,
}

/// A line that is not in the jobs.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Its number, counted from 1.
    pub(crate) line: usize,
    /// Its text.
    pub(crate) text: String,
    /// The reason, and what to do instead.
    pub(crate) why: String,
}

/// The result of converting a crontab.
#[derive(Debug)]
pub(crate) struct Conversion {
    pub(super) crontab: String,
    pub(super) form: Form,
    /// In the order of their lines.
    pub(super) jobs: Vec<CrontabJob>,
    /// Comments below the last job.
    pub(super) below: Vec<String>,
    /// The lines that were not converted.
    pub(crate) left_out: Vec<LeftOut>,
    /// Warnings about what may not be as it seems.
    pub(crate) notes: Vec<String>,
    /// Whether a line of the crontab names the zone of its times.
    pub(super) names_zone: bool,
}

/// A conversion under way.
struct Converter {
    form: Form,
    environment: Environment,
    names: Names,
    /// Comments that belong to the next job.
    above: Vec<String>,
    done: Conversion,
}

impl Conversion {
    /// Converts a crontab. Never fails: a line that cannot be converted is left out, and listed.
    pub(crate) fn of(crontab: &Crontab<'_>) -> Self {
        let mut environment = Environment::of_machine(None);
        if let Some(zone) = crontab.zone {
            // An unknown zone is treated like none.
            let _ = environment.set("CRON_TZ", zone);
        }
        let mut converter = Converter {
            form: crontab.form,
            environment,
            names: Names::default(),
            above: Vec::new(),
            done: Self {
                crontab: crontab.name.to_owned(),
                form: crontab.form,
                jobs: Vec::new(),
                below: Vec::new(),
                left_out: Vec::new(),
                notes: Vec::new(),
                names_zone: false,
            },
        };
        let bytes = crontab.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(crontab.bytes);
        for (number, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
            converter.take(number + 1, bytes);
        }
        converter.finish()
    }

    /// Returns the number of jobs.
    pub(crate) fn count(&self) -> usize {
        self.jobs.len()
    }
}

impl Converter {
    fn take(&mut self, number: usize, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let line = match CrontabLine::parse(&text, self.form) {
            // A comment is never run, so it need not be valid UTF-8.
            line @ (CrontabLine::Blank | CrontabLine::Comment(_)) => line,
            _ if std::str::from_utf8(bytes).is_err() => {
                CrontabLine::Bad("it is not UTF-8 text: convert the crontab, for example by iconv".to_owned())
            }
            line => line,
        };
        match line {
            CrontabLine::Blank if self.above.last().is_some_and(|last| !last.is_empty()) => {
                self.above.push(String::new())
            }
            CrontabLine::Blank => {}
            CrontabLine::Comment(text) => self.above.push(text.to_owned()),
            CrontabLine::Bad(why) => self.leave_out(number, &text, why),
            CrontabLine::Variable { name, value } => match self.environment.set(name, value) {
                Taken::LeftOut(why) => self.leave_out(number, &text, why),
                Taken::Over => self.note_variable(number, name),
            },
            CrontabLine::Entry(entry) => {
                if let Err(why) = self.convert(&entry) {
                    self.leave_out(number, &text, why);
                }
            }
        }
    }

    fn note_variable(&mut self, number: usize, name: &str) {
        match name {
            "CRON_TZ" => self.done.names_zone = true,
            "TZ" => self.done.notes.push(format!(
                "Line {number}: TZ is passed on to the commands and sets no schedule, as in most crons: `timezone` does that."
            )),
            _ => {}
        }
    }

    fn convert(&mut self, entry: &Entry<'_>) -> Result<(), String> {
        let schedule = expression(&entry.times)?;
        let script = Script::of(entry.command);
        if script.line.is_empty() {
            return Err("nothing stands before the `%`, which ends the command".to_owned());
        }
        if script.input.is_some() {
            return Err("a `%` begins the command's standard input, and a job has none: put the text into the command, as in \
                        `printf 'text' | command`, or write `\\%` for a plain `%`"
                .to_owned());
        }
        let user = entry.user.map(account).transpose()?;
        let is_random = entry.times.iter().any(|field| field.contains('~'));
        let notes = [(script.had_escapes, ESCAPED), (is_random, RANDOM)];
        let notes = notes.into_iter().filter_map(|(applies, note)| applies.then_some(note)).collect();
        let job = CrontabJob {
            above: std::mem::take(&mut self.above),
            name: self.names.name(&script.line),
            schedule,
            user,
            environment: self.environment.clone(),
            notes,
            command: script.line,
        };
        self.done.jobs.push(job);
        Ok(())
    }

    fn leave_out(&mut self, line: usize, text: &str, why: String) {
        let text = text.trim().to_owned();
        // A comment shows the reader of the jobs.toml what stood here.
        self.above.push(format!("# not carried over: {text}"));
        self.done.left_out.push(LeftOut { line, text, why });
    }

    fn finish(mut self) -> Conversion {
        let jobs = &self.done.jobs;
        let begins_with_root = |job: &CrontabJob| job.command.split_whitespace().next() == Some("root");
        if self.form == Form::User && !jobs.is_empty() && jobs.iter().all(begins_with_root) {
            self.done
                .notes
                .push("Every command begins with `root`: if that is the user, use `--system`.".to_owned());
        }
        self.done.below = self.above;
        self.done
    }
}

/// Returns the user of an entry, if jobs.toml can name it.
fn account(name: &str) -> Result<String, String> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || ":/,".contains(c);
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    if name.contains(odd) || name.starts_with('-') || is_number {
        return Err(format!(
            "`{name}`, in the place of the user, is not a user name; without `--system` no user is expected there"
        ));
    }
    Ok(name.to_owned())
}

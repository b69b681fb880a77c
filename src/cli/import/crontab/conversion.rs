//! From the lines of a crontab to jobs, and to a list of what could not become one.

use super::command::Script;
use super::environment::{Environment, Taken};
use super::job::CrontabJob;
use super::line::{CrontabLine, Entry, Form};
use super::naming::Names;
use super::times::expression;

/// How a percent sign is written.
const ESCAPED: &str = "`\\%` of the crontab is a plain `%` here.";

/// How a random time is written.
const RANDOM: &str =
    "`~` of the crontab is `H` here: the job's name chooses the time, and it stays the same.";

/// A crontab as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crontab<'a> {
    /// What messages call it.
    pub(crate) name: &'a str,
    /// Its bytes: nobody promises that they are text.
    pub(crate) bytes: &'a [u8],
    /// Whether its entries name a user.
    pub(crate) form: Form,
    /// The time zone of this machine, by which cron runs, where it is known.
    pub(crate) zone: Option<&'a str>,
}

/// A line that is not in the jobs.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Its number, from 1.
    pub(crate) line: usize,
    /// What it says.
    pub(crate) text: String,
    /// Why, and what to do instead.
    pub(crate) why: String,
}

/// What has become of a crontab.
#[derive(Debug)]
pub(crate) struct Conversion {
    pub(super) crontab: String,
    pub(super) form: Form,
    /// In the order of their lines.
    pub(super) jobs: Vec<CrontabJob>,
    /// Comments below the last job.
    pub(super) below: Vec<String>,
    /// What is not carried over.
    pub(crate) left_out: Vec<LeftOut>,
    /// What may be other than it seems.
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
    /// Converts a crontab. Never fails: what is not understood is left out, and listed.
    pub(crate) fn of(crontab: &Crontab<'_>) -> Self {
        let mut environment = Environment::of_machine(None);
        if let Some(zone) = crontab.zone {
            // One that is not known here is as good as none.
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

    /// How many jobs there are.
    pub(crate) fn count(&self) -> usize {
        self.jobs.len()
    }
}

impl Converter {
    fn take(&mut self, number: usize, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let line = match CrontabLine::parse(&text, self.form) {
            // Nobody runs a comment.
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
        // Whoever reads on sees what was there.
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

/// The user of an entry, where jobs.toml can name it.
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

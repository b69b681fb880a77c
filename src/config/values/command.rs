//! Reads `command` or `shell`: what a job runs, by exactly one of the two. Each argument has its place, so that
//! warnings can point at it.

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::secrets::mask::mask;
use crate::config::sections::keys;
use crate::config::sections::section::Section;
use crate::config::values;
use crate::config::values::{Checked, Raw, ValueError};
use crate::job::Command;

use super::placed::Placed;

/// What a job runs, with its places in the file.
#[derive(Debug)]
pub(crate) enum Program {
    Argv(Vec<Placed<String>>),
    Shell(Placed<String>),
}

impl Program {
    /// Returns the command without the places.
    pub(crate) fn into_command(self) -> Command {
        match self {
            Self::Argv(argv) => Command::Argv(argv.into_iter().map(|word| word.value).collect()),
            Self::Shell(line) => Command::Shell(line.value),
        }
    }
}

/// Reads `command` or `shell` of a job; `None` after a problem has been reported.
pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> Option<Program> {
    let argv = section.read("command", findings, argv);
    let shell = section.read("shell", findings, values::filled);
    const OWN: [&str; 2] = ["command", "shell"];
    match (section.place_of("command"), section.place_of("shell")) {
        (Some(command), Some(shell)) => {
            let message = format!("{}: has both `command` and `shell`, expected one of them", section.title);
            let help = "keep `command` to run a program as is, or `shell` to have `/bin/sh` read the line";
            findings.add(Problem::error(message).at(shell).also(command, "and here").help(help.to_owned()));
            None
        }
        (None, None) if OWN.iter().all(|key| section.lacks(key, &keys::of_job())) => {
            let message =
                format!("{}: has neither `command` nor `shell`, so there is nothing to run", section.title);
            let help = "write `command = [\"program\", \"argument\"]`, or `shell = \"line for /bin/sh\"`";
            findings.missing(Problem::error(message).at(section.span.clone()).help(help.to_owned()));
            None
        }
        _ => argv.map(|argv| Program::Argv(argv.value)).or(shell.map(Program::Shell)),
    }
}

fn argv(raw: &Raw<'_>) -> Checked<Vec<Placed<String>>> {
    if let Some(line) = raw.get_ref().as_str() {
        let words: Vec<String> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
        let plain = !line.contains(['"', '\'', '\\', '$', '|', '&', ';', '<', '>', '*', '(', '`']);
        let help = match plain && !words.is_empty() {
            true => mask(&format!("write `command = [{}]`, or rename the key to `shell`", words.join(", "))),
            false => {
                "write it as a list, one string for each argument, or rename the key to `shell`".to_owned()
            }
        };
        return ValueError::new("is a string, expected a list: no shell splits it into words", help).alone();
    }
    let argv = values::texts(raw)?;
    let help = "write the program first: `[\"program\", \"argument\"]`";
    match argv.first() {
        None => ValueError::new("is an empty list, so there is nothing to run", help).alone(),
        Some(program) if program.value.trim().is_empty() => {
            ValueError::new("starts with an empty string, expected a program", help)
                .at(program.span.clone())
                .alone()
        }
        Some(_) => Ok(argv),
    }
}

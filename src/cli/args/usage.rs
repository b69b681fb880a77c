//! Parses the command line of this process, and reports what is wrong with it.

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error, Parser};

use super::global::Cli;

impl Cli {
    /// Parses the command line of this process. Ends the process if the command line is invalid or requests help.
    pub fn of_process() -> Self {
        Self::try_parse().unwrap_or_else(|error| with_usage_of_command(error).exit())
    }
}

/// Replaces the usage in the error by one without the options that have a value: one that a variable sets would look as if it
/// were required.
fn with_usage_of_command(mut error: Error) -> Error {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return error };
    let usage = usage.to_string();
    let mut root = Cli::command();
    root.build();
    let mut command = &mut root;
    // The words after `Usage: solocron`.
    for name in usage.split_whitespace().skip(2).take_while(|word| word.starts_with(char::is_alphabetic)) {
        if command.find_subcommand(name).is_none() {
            break;
        }
        command = command.find_subcommand_mut(name).expect("it was just found");
    }
    let usage = command.render_usage();
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(words: &[&str]) -> String {
        let error = Cli::try_parse_from(words).expect_err("it is wrong");
        let said = with_usage_of_command(error).to_string();
        said.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default().to_owned()
    }

    #[test]
    fn an_option_that_is_given_is_not_shown_as_required() {
        let given = ["solocron", "--state-dir", "x", "trigger"];
        assert_eq!(usage(&given), "Usage: solocron trigger [OPTIONS] <JOB>");
        assert_eq!(
            usage(&["solocron", "--state-dir", "x", "nonsense"]),
            "Usage: solocron [OPTIONS] <COMMAND>"
        );
    }
}

//! A run as people name it: by its id, or by a beginning of the id that no other run of the job has.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::cli::exit::{Exit, Failure};
use crate::job::{JobName, RunId};

/// The length of a whole id with its dashes.
const WHOLE: usize = 36;

/// How many ids a failure lists: a longer list does not help.
const MAX_LISTED: usize = 5;

/// The beginning of a run's id, or the whole id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPrefix(String);

impl RunPrefix {
    /// Whether it is a whole id.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.len() == WHOLE
    }

    /// Whether the run's id begins with this prefix.
    pub(crate) fn begins(&self, run: RunId) -> bool {
        run.to_string().starts_with(&self.0)
    }

    /// Fails if these are several runs.
    pub(crate) fn expect_one(&self, runs: impl Iterator<Item = RunId>, job: &JobName) -> Result<(), Failure> {
        let runs: BTreeSet<String> = runs.map(|run| run.to_string()).collect();
        if runs.len() < 2 {
            return Ok(());
        }
        let listed = runs.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = match runs.len().saturating_sub(MAX_LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = runs.len();
        let message = format!(
            "{count} runs of job `{job}` begin with `{self}`: {listed}{more}\n  help: write more of the id"
        );
        Err(Failure::new(Exit::Usage, message))
    }
}

impl fmt::Display for RunPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(run) = text.parse::<RunId>() {
            return Ok(Self(run.to_string()));
        }
        let text = text.to_ascii_lowercase();
        let is_beginning = !text.is_empty()
            && text.len() < WHOLE
            && text.chars().enumerate().all(|(at, c)| match at {
                8 | 13 | 18 | 23 => c == '-',
                _ => c.is_ascii_hexdigit(),
            });
        if is_beginning {
            return Ok(Self(text));
        }
        Err("it is neither the id of a run nor the beginning of one, such as `0199f2c4-8e31`: `solocron history JOB` shows \
             the ids"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_cut_short_anywhere_and_nothing_else_is_accepted() {
        let run: RunId = "0199f2c4-8e31-7abc-8def-0123456789ab".parse().expect("an id");
        for text in ["0", "0199f2c4", "0199f2c4-", "0199F2C4-8e31-7", &run.to_string()] {
            let prefix: RunPrefix = text.parse().expect(text);
            assert!(prefix.begins(run), "{text}");
            assert_eq!(prefix.is_whole(), text.len() == 36, "{text}");
        }
        assert!(!"0199f2c5".parse::<RunPrefix>().expect("hexadecimal").begins(run));
        for text in ["", "xyz", "0199f2c48e31", "-0199", "last", &format!("{run}0")] {
            let why = text.parse::<RunPrefix>().expect_err(text);
            assert!(why.starts_with("it is neither the id of a run"), "{why}");
        }
    }

    #[test]
    fn a_beginning_of_several_runs_is_refused_with_their_ids() {
        let job = JobName::parse("backup").expect("a name");
        let run = |last| format!("0199f2c4-8e31-7abc-8def-0123456789a{last}").parse().expect("an id");
        let prefix: RunPrefix = "0199".parse().expect("hexadecimal");
        assert!(prefix.expect_one([run(1), run(1)].into_iter(), &job).is_ok());
        let failure = prefix.expect_one([run(1), run(2)].into_iter(), &job).expect_err("two");
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.message.starts_with("2 runs of job `backup` begin with `0199`: "), "{failure}");
    }
}

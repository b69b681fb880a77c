//! The runs that this process is a part of. A variable is no proof alone, as it can be copied anywhere: this process
//! has to descend from the guard of the run, and that guard's own name has to stand for the run. Only what descends
//! from a guard is stopped with its run, wherever it has gone (`setsid`, double forks).

use std::fs;

use nix::unistd::{Pid, Uid, geteuid, getpid};

use crate::config::source::trust::{is_of_this_program, user_of};
use crate::job::{Fence, JobName, RUN_VARIABLES, RunId};
use crate::run::guard::{ZYGOTE_NAME, guard_name};

use super::tree;

/// No chain of processes is longer.
const MAX_DEPTH: usize = 10_000;

/// A run that this process is stopped with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosing {
    /// Its job, or the name of its lock.
    pub job: JobName,
    /// The run.
    pub run: RunId,
    /// Its fencing token.
    pub fence: Fence,
    /// All the variables that identify the run to its commands.
    pub variables: Vec<(String, String)>,
}

/// Returns the runs from whose guards this process descends, innermost first. A process that cannot be read proves
/// nothing.
pub fn enclosing_runs() -> Vec<Enclosing> {
    let line: Vec<Pid> = ancestry(getpid()).collect();
    let named = |pid: Pid| named_in(&fs::read(format!("/proc/{pid}/environ")).ok()?);
    let guarded = |pair: &[Pid]| named(pair[0]).filter(|named| is_guard(pair[1], named.run));
    line.windows(2).filter_map(guarded).collect()
}

/// Whether the process is this one, or descends from it.
pub fn is_descendant(pid: Pid) -> bool {
    ancestry(pid).any(|pid| pid == getpid())
}

/// Returns the process, its parent, and so on.
fn ancestry(pid: Pid) -> impl Iterator<Item = Pid> {
    let parent = |pid: &Pid| tree::parent(*pid).filter(|parent| parent.as_raw() > 0);
    std::iter::successors(Some(pid), parent).take(MAX_DEPTH)
}

/// Whether a process is the guard of this run. Any process can take the name of a guard, so its program has to be
/// this one. Where the program is hidden, as that of root's processes is from other users, root's zygote has to have
/// forked it. For a process of root, only root's guards count.
fn is_guard(pid: Pid, run: RunId) -> bool {
    if tree::name(pid) != guard_name(&run.to_string()).to_bytes() {
        return false;
    }
    match user_of(pid) {
        Some(owner) if owner == geteuid() => is_of_this_program(pid),
        Some(owner) => owner.is_root() && is_made_by_root(pid),
        None => false,
    }
}

/// Whether a guard has executed nothing since root's zygote forked it. A program of root's that any user may start,
/// such as sudo, is named after the link by which it was started, and its forks have the same name; but none of its
/// forks has another name than the process that forked it, as a guard has.
fn is_made_by_root(guard: Pid) -> bool {
    let is_zygote =
        |pid: Pid| tree::name(pid) == ZYGOTE_NAME.to_bytes() && user_of(pid).is_some_and(Uid::is_root);
    tree::is_forked(guard) && tree::parent(guard).is_some_and(is_zygote)
}

/// Returns the run that these variables identify; `None` if they do not.
fn named_in(environment: &[u8]) -> Option<Enclosing> {
    let texts = environment.split(|byte| *byte == 0).filter_map(|one| std::str::from_utf8(one).ok());
    let variables: Vec<(String, String)> = texts
        .filter_map(|one| one.split_once('='))
        .filter(|(name, _)| RUN_VARIABLES.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let value = |wanted: &str| variables.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    Some(Enclosing {
        job: JobName::parse(value("SOLOCRON_JOB")?).ok()?,
        run: value("SOLOCRON_RUN")?.parse().ok()?,
        fence: Fence(value("SOLOCRON_FENCE")?.parse().ok()?),
        variables,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    #[test]
    fn a_run_is_read_from_the_variables_that_it_gave() {
        let text = format!("A=1\0SOLOCRON_JOB=a\0SOLOCRON_RUN={RUN}\0SOLOCRON_FENCE=7\0SOLOCRON_STORE=x\0");
        let run = named_in(text.as_bytes()).expect("all is there");
        assert_eq!((run.job.as_str(), run.run.to_string().as_str(), run.fence), ("a", RUN, Fence(7)));
        assert_eq!(run.variables.len(), 3, "of its identity, and no others: {:?}", run.variables);
    }

    #[test]
    fn what_is_missing_or_malformed_names_no_run() {
        for text in ["", "SOLOCRON_JOB=a", "SOLOCRON_JOB=a\0SOLOCRON_RUN=b\0SOLOCRON_FENCE=7"] {
            assert_eq!(named_in(text.as_bytes()), None, "{text}");
        }
    }
}

//! The runs that this process is a part of. A variable can be copied to anywhere, so it is not asked alone: only what
//! descends from the guard of a run is stopped with it, wherever it has gone (`setsid`, double forks), and that guard's own
//! name has to stand for the run.

use std::fs;

use nix::unistd::{Pid, Uid, geteuid, getpid};

use crate::config::source::trust::{is_of_this_program, user_of};
use crate::job::{Fence, JobName, RUN_VARIABLES, RunId};
use crate::run::guard::{MAKER, guard_name};

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
    /// All the variables that tell its commands which run they are.
    pub variables: Vec<(String, String)>,
}

/// The runs that this process descends from the guards of, innermost first. What cannot be looked at is no proof.
pub fn enclosing_runs() -> Vec<Enclosing> {
    let line: Vec<Pid> = ancestry(getpid()).collect();
    let named = |pid: Pid| named_in(&fs::read(format!("/proc/{pid}/environ")).ok()?);
    let guarded = |pair: &[Pid]| named(pair[0]).filter(|named| is_guard(pair[1], named.run));
    line.windows(2).filter_map(guarded).collect()
}

/// Whether it is a descendant of this process.
pub fn is_descendant(pid: Pid) -> bool {
    ancestry(pid).any(|pid| pid == getpid())
}

/// The process, its parent, and so on.
fn ancestry(pid: Pid) -> impl Iterator<Item = Pid> {
    let parent = |pid: &Pid| tree::parent(*pid).filter(|parent| parent.as_raw() > 0);
    std::iter::successors(Some(pid), parent).take(MAX_DEPTH)
}

/// Whether it is the guard of this run. Any process can take the name of a guard. What tells is its program; where that is hidden, as
/// root's are from others, that root's maker of guards forked it. Root lends from root's guards alone.
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

/// Whether it has executed nothing since root's maker of guards forked it. A program of root's that anybody may start, as sudo is, has the
/// name of the link by which it was started, and so have its forks; but no fork has another name than the process that forked it.
fn is_made_by_root(guard: Pid) -> bool {
    let is_maker = |pid: Pid| tree::name(pid) == MAKER.to_bytes() && user_of(pid).is_some_and(Uid::is_root);
    tree::is_forked(guard) && tree::parent(guard).is_some_and(is_maker)
}

/// The run that these variables name.
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

//! What a replica does about a run whose guard does not act, or is gone.

use std::io;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::run::attempt::state::Tree;
use crate::run::guard::Guards;
use crate::run::procs::{sweep, tree};

use super::Process;

impl Process {
    /// Kills every living process of the run, without the guard, and returns whether any was found. Takes
    /// milliseconds: as long as it finds nothing else, it searches all processes of the machine.
    pub(in crate::run) fn strike(&mut self, guards: &Guards) -> Tree {
        self.struck = true;
        // If the search fails, processes may be alive.
        self.strike_seen(guards).unwrap_or(Tree::Alive)
    }

    fn strike_seen(&mut self, guards: &Guards) -> io::Result<Tree> {
        let mut kill_rounds = std::mem::take(&mut self.kill_rounds);
        let living = kill_rounds.strike(|signal| self.reach(guards, signal));
        self.kill_rounds = kill_rounds;
        let living = living?;
        // As long as the guard has reported nothing and its socket is open, it may be about to start the command.
        let is_empty = living.is_empty()
            && !self.is_unborn()
            && !self.group.map(tree::is_group_alive).transpose()?.unwrap_or(false);
        Ok(if is_empty { Tree::Empty } else { Tree::Alive })
    }

    /// Sends a signal to every living process of the run that it finds, and returns these.
    fn reach(&mut self, guards: &Guards, signal: Signal) -> io::Result<Vec<Pid>> {
        // The group first: it needs no search, and all of it is reached at once.
        self.group = self.group.filter(|group| tree::signal_group(*group, signal));
        let guard = self.started.filter(|_| !self.lost).map(|(guard, _)| guard);
        let listed = guard.map(|guard| tree::reach(guard, &[], Some(signal))).transpose()?;
        let mut living = listed.unwrap_or_default();
        let mut others = Vec::new();
        if living.is_empty() {
            living = sweep::reach(self.run, Some(signal))?;
            others.extend(guard.map(|guard| tree::descendants(guard, &[])).transpose()?.unwrap_or_default());
        }
        if self.lost {
            others.extend(guards.strays()?);
        }
        tree::signal_each(&others, signal);
        living.append(&mut others);
        Ok(living)
    }

    /// Whether the next strike has to follow without a pause.
    pub(in crate::run) fn presses(&self) -> bool {
        self.kill_rounds.press()
    }
}

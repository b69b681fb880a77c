//! What a guest runs under its lock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::run::{Identity, Job, Launch, Streams};

/// What a guest runs under its lock.
#[derive(Debug)]
pub(crate) enum Work {
    /// A command of the caller's, with its environment, folder and standard streams: a program and its arguments, never empty.
    Command(Vec<OsString>),
    /// A job, as a replica starts it. What it prints goes into these: its stdout and its stderr.
    Job(Box<Job>, Arc<[OwnedFd; 2]>),
}

impl Work {
    /// Its first and only attempt.
    pub(super) fn launch(&self, identity: Identity, kill_grace: Duration, loss_grace: Duration) -> Launch {
        match self {
            Self::Command(words) => Launch {
                command: words.clone(),
                env: BTreeMap::new(),
                withheld: Arc::default(),
                cwd: None,
                user: None,
                group: None,
                no_new_privileges: false,
                max_processes: None,
                max_output: 0,
                success_codes: vec![0],
                timeout: None,
                kill_grace,
                loss_grace,
                streams: Streams::Inherited,
                identity,
            },
            Self::Job(job, output) => Launch {
                streams: Streams::Handed(Arc::clone(output)),
                ..Launch::new(&job.spec, job.env.clone(), Arc::clone(&job.withheld), identity)
            },
        }
    }
}

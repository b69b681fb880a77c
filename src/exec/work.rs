//! What `exec` runs under its lock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::run::{Identity, Job, Launch, Streams};

/// What `exec` runs under its lock.
#[derive(Debug)]
pub(crate) enum Work {
    /// A command with the environment, folder and standard streams of the caller: a program and its arguments, never
    /// empty.
    Command(Vec<OsString>),
    /// A job, as a replica starts it. Its stdout and stderr go to these two descriptors.
    Job(Box<Job>, Arc<[OwnedFd; 2]>),
}

impl Work {
    /// Returns the launch of the first and only attempt.
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

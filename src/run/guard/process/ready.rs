//! What a guard has before its run begins: what it prepared itself, and what the replica handed over.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl::set_child_subreaper;

use crate::run::guard::request::GuardRequest;

use super::child::{ChildStreams, ReadyChild};
use super::timer::Alarm;

/// What the replica hands over for one run.
pub(crate) struct Handed {
    /// The socket to the replica: orders come in, reports are sent.
    pub(crate) socket: UnixStream,
    /// The job's standard streams.
    pub(crate) streams: ChildStreams,
    /// The locked sign of the run, if there is one: held, never read.
    pub(crate) sign: Option<OwnedFd>,
}

impl Handed {
    /// Sorts the descriptors that came with a request, in the replica's order; `None` if one is missing.
    pub(crate) fn of(request: &GuardRequest, socket: UnixStream, rest: Vec<OwnedFd>) -> Option<Self> {
        let mut rest = rest.into_iter();
        Some(Self { socket, streams: ChildStreams::of(request, &mut rest)?, sign: rest.next() })
    }
}

/// What a guard prepares before it knows its run.
pub(crate) struct Ready {
    /// The alarm. With an error, the guard cannot watch a run.
    pub(crate) alarm: io::Result<Alarm>,
    /// The main process, if it was made ahead.
    pub(crate) child: Option<ReadyChild>,
}

impl Ready {
    /// Prepares a guard that was requested when its run was to begin.
    pub(crate) fn at_once() -> Self {
        Self {
            alarm: set_child_subreaper(true).map_err(io::Error::from).and_then(|()| Alarm::new()),
            child: None,
        }
    }

    /// Prepares a guard that waits for its run, and if `with_child` a main process that waits for its command.
    pub(crate) fn ahead(with_child: bool) -> Self {
        let ready = Self::at_once();
        // If resources for it are missing now, there may be some later.
        let child = if with_child { ReadyChild::make().ok() } else { None };
        Self { child, ..ready }
    }
}

//! What a guard has before its run begins: what it made for itself, and what the replica hands over.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl::set_child_subreaper;

use crate::run::guard::request::GuardRequest;

use super::child::{ChildStreams, ReadyChild, rehearse};
use super::timer::Alarm;

/// What the replica hands over for one run.
pub(crate) struct Handed {
    /// The line to the replica: orders come in, reports go out.
    pub(crate) line: UnixStream,
    /// The job's standard streams.
    pub(crate) streams: ChildStreams,
    /// The locked sign that the run goes on, if there is one: held, never read.
    pub(crate) sign: Option<OwnedFd>,
}

impl Handed {
    /// What was handed over with a request, in the order in which the replica does; nothing if some of it is missing.
    pub(crate) fn of(request: &GuardRequest, line: UnixStream, rest: Vec<OwnedFd>) -> Option<Self> {
        let mut rest = rest.into_iter();
        Some(Self { line, streams: ChildStreams::of(request, &mut rest)?, sign: rest.next() })
    }
}

/// What a guard has ready before it knows of its run.
pub(crate) struct Ready {
    /// Without a clock nothing could be watched.
    pub(crate) alarm: io::Result<Alarm>,
    /// The main process, where it was made ahead.
    pub(crate) child: Option<ReadyChild>,
}

impl Ready {
    /// For a guard that was asked for when its run was to begin.
    pub(crate) fn at_once() -> Self {
        Self {
            alarm: set_child_subreaper(true).map_err(io::Error::from).and_then(|()| Alarm::new()),
            child: None,
        }
    }

    /// For a guard that waits for its run, with a main process that waits for its command if `with_child`.
    pub(crate) fn ahead(with_child: bool) -> Self {
        let ready = Self::at_once();
        rehearse();
        // Where there are no resources for it now, there may be later.
        let child = if with_child { ReadyChild::make().ok() } else { None };
        Self { child, ..ready }
    }
}

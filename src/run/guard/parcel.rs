//! What travels over the lines between a replica, its nursery, their guards and the main processes made ahead: a request,
//! together with descriptors.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::request::Request;
use crate::run::system;

/// In the place of a request's length: the request comes later, on the line that is handed over.
const AHEAD: u64 = u64::MAX;

/// The longest request: more than the kernel takes as words and variables of a command.
const LONGEST: usize = 16 * 1024 * 1024;

/// What was asked for.
pub(super) struct Asked {
    /// The run; absent where a guard is made ahead of it.
    pub(super) request: Option<Request>,
    /// What is handed over. To the nursery, the guard's line comes first.
    pub(super) handed: Vec<OwnedFd>,
}

/// Sends an encoded request, or none to be told of it later, with these descriptors.
pub(super) fn send(line: &UnixStream, request: Option<&[u8]>, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let head = request.map_or(AHEAD, |bytes| bytes.len() as u64).to_le_bytes();
    let bytes = request.unwrap_or_default();
    let fds: Vec<_> = handed.iter().map(AsRawFd::as_raw_fd).collect();
    let (parts, controls) = ([IoSlice::new(&head), IoSlice::new(bytes)], [ControlMessage::ScmRights(&fds)]);
    let sent = sendmsg::<()>(line.as_raw_fd(), &parts, &controls, MsgFlags::MSG_NOSIGNAL, None)?;
    let mut line = line;
    line.write_all(head.get(sent..).unwrap_or_default())?;
    line.write_all(&bytes[sent.saturating_sub(head.len())..])
}

/// The next request; nothing if it makes no sense, and an error once nothing more can come.
pub(super) fn receive(line: &UnixStream) -> io::Result<Option<Asked>> {
    let mut from = line;
    let mut head = [0_u8; 8];
    let (count, handed) = receive_head(line, &mut head)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from.read_exact(&mut head[count..])?;
    let length = u64::from_le_bytes(head);
    if length == AHEAD {
        return Ok(Some(Asked { request: None, handed }));
    }
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
    let mut bytes = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    from.read_exact(&mut bytes)?;
    Ok(Request::decode(&bytes).map(|request| Asked { request: Some(request), handed }))
}

fn receive_head(line: &UnixStream, head: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; 5]);
    let mut parts = [IoSliceMut::new(head)];
    let message = recvmsg::<()>(line.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(handed) = control {
            fds.extend(system::adopt(handed));
        }
    }
    Ok((message.bytes, fds))
}

//! Sends and receives requests together with descriptors, over the sockets between a replica, its zygote, their
//! guards and the main processes made ahead.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::run::procs::syscalls;

use super::request::GuardRequest;

/// Stands in the place of a request's length: the request follows later, on the socket that is handed over.
const AHEAD: u64 = u64::MAX;

/// The longest request, in bytes: more than the kernel accepts as arguments and variables of a command.
const LONGEST: usize = 16 * 1024 * 1024;

/// A request as it was received.
pub(super) struct ReceivedRequest {
    /// The run; `None` if the guard is made ahead of its run.
    pub(super) request: Option<GuardRequest>,
    /// The descriptors that came with the request. In a request to the zygote, the guard's socket comes first.
    pub(super) handed: Vec<OwnedFd>,
}

/// Sends an encoded request with these descriptors. Without a request, the receiver gets that later, on another
/// socket.
pub(super) fn send(socket: &UnixStream, request: Option<&[u8]>, handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let (head, bytes) = (head_of(request), request.unwrap_or_default());
    let sent = send_first(socket, &head, bytes, handed, MsgFlags::MSG_NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(head.get(sent..).unwrap_or_default())?;
    socket.write_all(&bytes[sent.saturating_sub(head.len())..])
}

/// Sends an encoded request with these descriptors, without waiting for room in the socket buffer. After an error a
/// part may have been sent, and the socket cannot be used any more.
pub(super) fn send_at_once(socket: &UnixStream, bytes: &[u8], handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    let sent = send_first(socket, &head_of(Some(bytes)), bytes, handed, flags)?;
    if sent == size_of::<u64>() + bytes.len() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

fn head_of(request: Option<&[u8]>) -> [u8; 8] {
    request.map_or(AHEAD, |bytes| bytes.len() as u64).to_le_bytes()
}

/// Sends as much as there is room for, and returns how many bytes that was.
fn send_first(
    socket: &UnixStream,
    head: &[u8],
    bytes: &[u8],
    handed: &[BorrowedFd<'_>],
    flags: MsgFlags,
) -> io::Result<usize> {
    let fds: Vec<_> = handed.iter().map(AsRawFd::as_raw_fd).collect();
    let (parts, controls) = ([IoSlice::new(head), IoSlice::new(bytes)], [ControlMessage::ScmRights(&fds)]);
    Ok(sendmsg::<()>(socket.as_raw_fd(), &parts, &controls, flags, None)?)
}

/// Receives the next request; `None` if it cannot be decoded. An error means that nothing more can be received.
pub(super) fn receive(socket: &UnixStream) -> io::Result<Option<ReceivedRequest>> {
    let mut from = socket;
    let mut head = [0_u8; 8];
    let (count, handed) = receive_head(socket, &mut head)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from.read_exact(&mut head[count..])?;
    let length = u64::from_le_bytes(head);
    if length == AHEAD {
        return Ok(Some(ReceivedRequest { request: None, handed }));
    }
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
    let mut bytes = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    from.read_exact(&mut bytes)?;
    Ok(GuardRequest::decode(&bytes).map(|request| ReceivedRequest { request: Some(request), handed }))
}

fn receive_head(socket: &UnixStream, head: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; 5]);
    let mut parts = [IoSliceMut::new(head)];
    let message =
        recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(handed) = control {
            fds.extend(syscalls::adopt(handed));
        }
    }
    Ok((message.bytes, fds))
}

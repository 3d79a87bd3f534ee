//! Sockets that pass open files.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The maximum number of files in a message: a vhost-user peer maps at most 8 regions.
const FILES_MAX: usize = 8;

/// Sends all bytes with these files.
pub(crate) fn send(to: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files for one message"));
    }
    let sent = sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent != bytes.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

/// Fills `bytes`, and adds the files that came with them to `files`. Returns false if the peer has closed the
/// connection.
pub(crate) fn receive(
    from: &UnixStream,
    bytes: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> io::Result<bool> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut whole = [IoSliceMut::new(bytes)];
    let received = recvmsg(from, &mut whole, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if received == 0 && !bytes.is_empty() {
        return Ok(false);
    }
    let mut rest = from;
    rest.read_exact(&mut bytes[received..])?;
    Ok(true)
}

/// A set of sockets to wait for, each with a number. Closed sockets leave the set.
#[derive(Debug)]
pub(crate) struct Watch(OwnedFd);

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Adds a socket.
    pub(crate) fn add(&self, socket: &impl AsFd, number: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::add(&self.0, socket, data, epoll::EventFlags::IN)?)
    }

    /// Writes the numbers of the readable sockets into `readable`, the highest first; none after the timeout.
    pub(crate) fn wait(&self, timeout: Duration, readable: &mut Vec<usize>) -> io::Result<()> {
        /// The maximum number of sockets per call; further ones are reported by the next call.
        const EVENTS: usize = 8;
        let limit = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut events = [MaybeUninit::uninit(); EVENTS];
        readable.clear();
        loop {
            match epoll::wait(&self.0, &mut events, Some(&limit)) {
                Ok((events, _)) => {
                    readable.extend(events.iter().map(|event| event.data.u64() as usize));
                    readable.sort_unstable_by(|a, b| b.cmp(a));
                    return Ok(());
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

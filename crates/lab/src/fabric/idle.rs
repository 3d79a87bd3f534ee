//! The sleep of the fabric until a frame comes in or an event is due.

use std::os::fd::BorrowedFd;
use std::time;

use base::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use super::Fabric;
use crate::error::Error;

/// The time before an event at which the thread wakes up and polls the clock: longer than a CPU usually takes to wake.
const AWAKE: time::Duration = time::Duration::from_micros(60);

/// An epoll set of the devices.
#[derive(Debug)]
pub(super) struct Idle(Epoll);

impl Idle {
    /// Creates the set of these devices.
    pub(super) fn new<'a>(devices: impl Iterator<Item = BorrowedFd<'a>>) -> Result<Self, Error> {
        let what = "wait for frames by epoll";
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Error::system(what))?;
        for device in devices {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, 0);
            epoll.add(device, event).map_err(Error::system(what))?;
        }
        Ok(Self(epoll))
    }

    /// Makes the kernel wake this thread on time, not up to 50 us later to save power.
    pub(super) fn prepare_thread() {
        // A refusal shows in the lateness.
        let _ = set_timerslack(1);
    }

    /// Sleeps for at most `timeout`.
    fn sleep(&self, timeout: time::Duration) -> Result<(), Error> {
        // The epoll descriptor is readable once a device is. ppoll on it has a timeout in nanoseconds, which epoll
        // itself does not have on all kernels.
        let mut all = [PollFd::new(std::os::fd::AsFd::as_fd(&self.0.0), PollFlags::POLLIN)];
        match ppoll(&mut all, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::system("sleep until a frame comes")(errno)),
        }
    }
}

impl Fabric {
    /// Sleeps until shortly before the next event, until `until` at the latest. Does not sleep while frames wait for
    /// room in the kernel.
    pub(super) fn sleep_until(&self, until: Instant) -> Result<(), Error> {
        let Some(idle) = &self.idle else { return Ok(()) };
        if self.attachments.iter().any(|attachment| attachment.device.has_unsent()) {
            return Ok(());
        }
        let timeout = self.clock.until(until.min(self.engine.quiet_until()));
        match timeout.checked_sub(AWAKE) {
            Some(timeout) => idle.sleep(timeout),
            None => Ok(()),
        }
    }
}

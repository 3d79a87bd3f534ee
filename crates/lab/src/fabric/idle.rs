//! How the fabric sleeps: until a frame comes in or something is due.

use std::os::fd::BorrowedFd;
use std::time;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use traffic::Instant;

use super::Fabric;
use crate::error::Error;

/// So long before something is due the thread is awake and looks at the clock: longer than a processor
/// usually takes to wake.
const AWAKE: time::Duration = time::Duration::from_micros(60);

/// Waits for any of the devices.
#[derive(Debug)]
pub(super) struct Idle(Epoll);

impl Idle {
    /// One that waits for these devices.
    pub(super) fn new<'a>(devices: impl Iterator<Item = BorrowedFd<'a>>) -> Result<Self, Error> {
        let what = "wait for frames by epoll";
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Error::system(what))?;
        for device in devices {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, 0);
            epoll.add(device, event).map_err(Error::system(what))?;
        }
        Ok(Self(epoll))
    }

    /// Has the kernel wake this thread when it said, not up to 50 us later to save power.
    pub(super) fn prepare_thread() {
        // If refused, that is seen in the lateness.
        let _ = set_timerslack(1);
    }

    /// Sleeps for that time at most.
    fn sleep(&self, patience: time::Duration) -> Result<(), Error> {
        // The set of devices is ready as soon as one of them is; so time is told to the nanosecond, which
        // waiting for the set itself does not offer everywhere.
        let mut all = [PollFd::new(std::os::fd::AsFd::as_fd(&self.0.0), PollFlags::POLLIN)];
        match ppoll(&mut all, Some(TimeSpec::from_duration(patience)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::system("sleep until a frame comes")(errno)),
        }
    }
}

impl Fabric {
    /// Sleeps until shortly before something is due, by `until` at the latest; not while the kernel has no
    /// room for frames.
    pub(super) fn sleep_until(&self, until: Instant) -> Result<(), Error> {
        let Some(idle) = &self.idle else { return Ok(()) };
        if self.attachments.iter().any(|attachment| attachment.device.has_unsent()) {
            return Ok(());
        }
        let patience = self.clock.until(until.min(self.engine.quiet_until()));
        match patience.checked_sub(AWAKE) {
            Some(patience) => idle.sleep(patience),
            None => Ok(()),
        }
    }
}

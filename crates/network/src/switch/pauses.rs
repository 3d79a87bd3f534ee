//! The pauses that a switch has sent to the far ends of its links, refreshed before they expire.

use base::priorities::PRIORITIES;
use base::{Bytes, Instant};
use traffic::{Control, Pause};

use super::PauseBy;
use super::buffer::Buffer;
use crate::context::{Context, Egress};
use crate::observer::Observer;
use crate::port::Port;

/// The longest pause time in a frame; the switch ends the pause earlier.
const LONGEST: u16 = u16::MAX;

/// A paused group, and when its pause is refreshed.
#[derive(Clone, Copy, Debug)]
struct PausedGroup {
    group: u32,
    refresh_at: Instant,
}

/// The pauses in force.
#[derive(Debug)]
pub(super) struct Pauses {
    by: PauseBy,
    paused: Vec<PausedGroup>,
}

impl Pauses {
    /// No pauses yet.
    pub(super) const fn new(by: PauseBy) -> Self {
        Self { by, paused: Vec::new() }
    }

    /// Pauses a group.
    #[cold]
    pub(super) fn begin<E: Egress, O: Observer>(
        &mut self,
        group: u32,
        ports: &mut [Port],
        cx: &mut Context<'_, E, O>,
    ) {
        if let Some(refresh_at) = self.send(group, LONGEST, ports, cx) {
            self.paused.push(PausedGroup { group, refresh_at });
        }
    }

    /// Ends the pause of a group.
    #[cold]
    pub(super) fn end<E: Egress, O: Observer>(
        &mut self,
        group: u32,
        ports: &mut [Port],
        cx: &mut Context<'_, E, O>,
    ) {
        self.paused.retain(|paused| paused.group != group);
        self.send(group, 0, ports, cx);
    }

    /// Refreshes the pauses that would expire.
    pub(super) fn refresh<E: Egress, O: Observer>(
        &mut self,
        ports: &mut [Port],
        cx: &mut Context<'_, E, O>,
    ) {
        for place in 0..self.paused.len() {
            let PausedGroup { group, refresh_at } = self.paused[place];
            if refresh_at <= cx.now
                && let Some(later) = self.send(group, LONGEST, ports, cx)
            {
                self.paused[place].refresh_at = later;
            }
        }
    }

    /// The next time at which [`Self::refresh`] has something to send.
    pub(super) fn next_refresh(&self) -> Instant {
        self.paused.iter().map(|paused| paused.refresh_at).min().unwrap_or(Instant::NEVER)
    }

    /// Sends a pause of `quanta` to the far end; returns when half of that time is over.
    fn send<E: Egress, O: Observer>(
        &self,
        group: u32,
        quanta: u16,
        ports: &mut [Port],
        cx: &mut Context<'_, E, O>,
    ) -> Option<Instant> {
        let (ingress, priority) = Buffer::place(group);
        debug_assert!(usize::from(priority) < PRIORITIES, "a group is of a priority");
        let port = ports.get_mut(ingress as usize)?;
        let pause = match self.by {
            PauseBy::Priority => Pause::priority(priority, quanta),
            PauseBy::Port => Pause::port(quanta),
        };
        port.send_control(Control::Pause(pause), cx);
        Some(cx.now + port.rate().time_for(Bytes(u64::from(quanta / 2) * 64)))
    }
}

//! What a port sends ahead of its discipline's packets, and what stops it: control frames, pauses by the far end, packets
//! that an earlier discipline left.

use base::{Instant, PacketId};
use traffic::{Control, Dequeued};

use super::Port;
use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::observer::{Event, Observer};

impl Port {
    /// Whether any packet waits ahead of the discipline's.
    #[cold]
    pub(super) fn has_other(&self) -> bool {
        !self.left.is_empty()
            || self.flow_control.as_ref().is_some_and(|control| control.has_waiting())
            || self.reaction_points.as_ref().is_some_and(|points| points.waiting().0 > 0)
    }

    /// Updates whether the discipline may be called directly.
    #[cold]
    pub(super) fn divert(&mut self, now: Instant) {
        let mut busy = false;
        if let Some(control) = &mut self.flow_control {
            busy = !control.is_idle(now);
            if let Some(stopped) = control.take_change(now) {
                self.qdisc.hold(stopped);
            }
        }
        let limits = self.reaction_points.as_ref().is_some_and(|points| !points.is_idle());
        self.diverted = busy || limits || !self.left.is_empty();
    }

    /// Handles a control frame from the port at the other end of its link, or from a switch to the sender behind
    /// it.
    pub(crate) fn take_control<E: Egress, O: Observer>(
        &mut self,
        said: &Control,
        cx: &mut Context<'_, E, O>,
    ) {
        let rate = self.rate();
        match said {
            Control::Pause(pause) => {
                let Some(control) = &mut self.flow_control else { return };
                control.pause(pause, rate, cx.now);
            }
            Control::Notification(notification) => return self.notify(notification, cx),
        }
        self.divert(cx.now);
        // A scheduled turn stays even if nothing is queued any more: some disciplines keep accounts while empty.
        if !self.is_empty() {
            self.go_on(cx);
        }
    }

    /// Sends a control frame to the port at the other end of its link, ahead of all queued packets but behind the
    /// frame on the wire. A port without flow control sends nothing.
    pub fn send_control<E: Egress, O: Observer>(
        &mut self,
        frame: Control,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(control) = &mut self.flow_control else { return };
        control.push(cx.packets.insert_control(frame));
        self.diverted = true;
        self.go_on(cx);
    }

    /// The next item to send where the discipline does not decide alone; else when the port continues. A control
    /// frame is sent at once.
    #[inline(never)]
    pub(super) fn dequeue_diverted<E: Egress, O: Observer, W: Owner>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Result<Dequeued, Instant> {
        self.let_go(owner, cx);
        self.divert(cx.now);
        let Some(mut control) = self.flow_control.take() else {
            let next = self.dequeue_left(owner, cx);
            return self.unless_limited(Ok(next), cx);
        };
        let answer = if let Some(frame) = control.pop() {
            self.send_frame(frame, cx);
            Err(self.device.ready_at().max(cx.now))
        } else if let Some(until) = control.all_stopped(cx.now) {
            Err(until)
        } else {
            let next = match control.take_held() {
                Some(packet) => Dequeued::Send(packet),
                None => self.dequeue_left(owner, cx),
            };
            match next {
                Dequeued::Send(packet) => match control.keep(packet, cx.packets, cx.now) {
                    Some(until) => Err(until),
                    None => Ok(next),
                },
                // The queued packets may not go yet.
                Dequeued::Empty if !self.is_empty() => Err(control.next_change(cx.now)),
                _ => Ok(next),
            }
        };
        self.flow_control = Some(control);
        self.divert(cx.now);
        self.unless_limited(answer, cx)
    }

    /// The next item from an earlier discipline's packets, then from the present discipline.
    fn dequeue_left<E: Egress, O: Observer, W: Owner>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Dequeued {
        match self.take_left(cx) {
            Dequeued::Empty => self.dequeue(owner, cx),
            left => {
                self.divert(cx.now);
                left
            }
        }
    }

    /// Puts a control frame onto the wire.
    fn send_frame<E: Egress, O: Observer>(&mut self, frame: PacketId, cx: &mut Context<'_, E, O>) {
        let length = cx.packets[frame].length;
        let start = self.device.occupy(length.into(), 1, cx.now);
        let (port, end) = (self.id, self.device.free_at());
        if let Some(control) = cx.packets.control(frame) {
            cx.observer.on(Event::Control { port, control, start, end });
        }
        if cx.egress.launch(self.id, frame, end, cx.packets).lost.is_some() {
            cx.packets.release(frame);
        }
    }
}

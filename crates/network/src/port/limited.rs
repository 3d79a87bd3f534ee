//! Flows that reaction points limit at a port: their packets wait before they enter the discipline.

use base::{Bytes, DropReason, Instant, PacketId};
use traffic::{Dequeued, Enqueued, Notification};

use super::{Offered, Port};
use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::observer::Observer;
use crate::reaction_point::{Config, Counters, ReactionPoints};

impl Port {
    /// Returns the port with flows limited by congestion notifications (IEEE 802.1Qau).
    #[must_use]
    pub fn with_reaction_points(self, config: Config, overhead: Bytes, seed: u64) -> Self {
        let points = ReactionPoints::new(config, self.rate(), overhead, seed);
        Self { reaction_points: Some(Box::new(points)), ..self }
    }

    /// The counters of its reaction points; `None` if it has none.
    pub fn reaction_points(&self) -> Option<Counters> {
        self.reaction_points.as_ref().map(|points| points.counted())
    }

    /// Handles a notification that a flow's packets from here meet a congested queue.
    #[cold]
    pub fn notify<E: Egress, O: Observer>(
        &mut self,
        said: &Notification,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(points) = &mut self.reaction_points else { return };
        points.notify(said, cx.packets, cx.now);
        self.divert(cx.now);
        if !self.is_empty() {
            self.go_on(cx);
        }
    }

    /// Queues a packet at its flow's limiter if it has one.
    #[inline(never)]
    pub(super) fn limit<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Option<Offered> {
        let points = self.reaction_points.as_mut()?;
        let index = points.of(cx.packets[packet].flow, cx.now)?;
        cx.packets[packet].queued = cx.now;
        if let Err(reason) = points.push(index, packet, cx.packets) {
            return Some(self.refuse(packet, reason, owner, cx));
        }
        cx.packets[packet].holder = self.holder();
        self.go_on(cx);
        Some(Offered::Queued)
    }

    /// Passes the packets that may go now to the discipline.
    #[inline(never)]
    pub(super) fn let_go<E: Egress, O: Observer, W: Owner>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) {
        while let Some(packet) =
            self.reaction_points.as_mut().and_then(|points| points.pop(cx.packets, cx.now))
        {
            cx.packets[packet].queued = cx.now;
            match self.give(packet, cx) {
                Enqueued::Queued => self.report_discarded(owner, cx),
                Enqueued::Dropped(reason) => {
                    self.report_discarded(owner, cx);
                    self.drop(packet, reason, owner, cx);
                }
            }
        }
    }

    /// The next item to send, or when the port continues: at the latest when a limited packet may go.
    pub(super) fn unless_limited<E, O>(
        &mut self,
        next: Result<Dequeued, Instant>,
        cx: &Context<'_, E, O>,
    ) -> Result<Dequeued, Instant> {
        let Some(points) = &self.reaction_points else { return next };
        let limited = points.next();
        if limited == Instant::NEVER {
            return next;
        }
        let limited = limited.max(self.device.ready_at());
        match next {
            Ok(Dequeued::Empty) => Err(limited),
            Ok(Dequeued::NotBefore(at)) => Err(self.timer.goes_off(cx.now, at).min(limited)),
            Err(at) => Err(at.min(limited)),
            next => next,
        }
    }

    /// Drops the packets that wait.
    #[cold]
    pub(super) fn flush_limited<E, O: Observer>(
        &mut self,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) {
        while let Some(packet) =
            self.reaction_points.as_mut().and_then(|points| points.take_any(cx.packets))
        {
            self.drop(packet, DropReason::Flushed, owner, cx);
        }
    }
}

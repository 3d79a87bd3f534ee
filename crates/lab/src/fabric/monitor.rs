//! The fabric's observer of the engine: counts events, and sends those to record to the listener.

use base::{DropReason, FlowId, Instant, Packet, PacketId};
use engine::Tally;
use network::PortId;
use network::observer::{Event, Observer, Place};
use record::capture::KEPT;

use crate::buffers::Buffers;
use crate::event_channel::{EventSender, Message, Watched};
use frames::{ProgramFlows, frame};

/// An observer of the engine that counts events, and sends those to record to the listener.
#[derive(Debug)]
pub(super) struct Monitor {
    pub(super) tally: Tally<()>,
    pub(super) programs: ProgramFlows,
    pub(super) sender: EventSender,
    pub(super) watched: Vec<Watched>,
}

/// Samples of queues go to the listener.
impl Observer for Monitor {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::QueueSample { port, now, statistics } => {
                self.sender.send(Message::Queue { port, now, statistics: *statistics });
            }
            Event::ClassSample { port, class, now, statistics } => {
                let (class, statistics) = (class.into(), Box::new(*statistics));
                self.sender.send(Message::Class { port, now, class, statistics });
            }
            Event::PauseSample { port, now, counted } => {
                self.sender.send(Message::Pauses { port, now, counted: Box::new(*counted) });
            }
            Event::NotificationSample { port, now, sent, received } => {
                self.sender.send(Message::Notifications { port, now, sent, received });
            }
            _ => {}
        }
    }
}

impl Monitor {
    /// Sends a sample of each flow of the plan's programs.
    pub(super) fn sample_programs(&mut self, now: Instant) {
        for (flow, ends) in self.programs.samples(now) {
            self.sender.send(Message::Flow { flow, now, ends: Box::new(ends) });
        }
    }
}

/// A [`Monitor`] that also sends captured frames.
pub(super) struct FrameMonitor<'a> {
    pub(super) monitor: &'a mut Monitor,
    pub(super) buffers: &'a mut Buffers,
    /// The length of each packet's frame, by packet place.
    pub(super) lengths: &'a mut [u32],
}

impl FrameMonitor<'_> {
    /// Sends a frame at a captured port.
    fn frame(
        &mut self,
        port: PortId,
        (id, packet): (Option<PacketId>, &Packet),
        at: Instant,
        dropped: Option<DropReason>,
    ) {
        let Some(id) = id else { return };
        let length = packet.length.saturating_sub(4).min(self.buffers.room());
        if id.place() >= self.buffers.count() {
            return;
        }
        let kept = (length as usize).min(KEPT);
        let mut bytes = [0; KEPT];
        bytes[..kept].copy_from_slice(self.buffers.bytes(id, kept as u32));
        if let Some(bytes) = bytes.get_mut(..kept) {
            frame::set_tos(bytes, packet.tos);
        }
        self.monitor.sender.send(Message::Frame { port, at, length, dropped, bytes });
    }
}

impl Observer for FrameMonitor<'_> {
    #[inline]
    fn on(&mut self, event: Event<'_>) {
        self.monitor.tally.on(event);
        match event {
            Event::Transmitted { port, id, packet, start, end } => {
                let watched = self.monitor.watched[port.0 as usize];
                // A notification has no frame bytes.
                let notification = packet.flow == FlowId::NOTIFICATION;
                if watched.packets || watched.frames && notification {
                    let packet = *packet;
                    self.monitor.sender.send(Message::Transmitted { port, packet, start, end });
                }
                if watched.frames && !notification {
                    self.frame(port, (id, packet), start, None);
                }
            }
            Event::Gap { port, length, start, end, .. } => {
                let watched = self.monitor.watched[port.0 as usize];
                if watched.packets || watched.frames {
                    self.monitor.sender.send(Message::Gap { port, length, start, end });
                }
            }
            Event::Control { port, control, start, end }
                if self.monitor.watched[port.0 as usize].frames =>
            {
                self.monitor.sender.send(Message::Control { port, control, start, end });
            }
            Event::Dropped { place, id, packet, reason, now } => {
                self.monitor.programs.dropped(packet, now);
                self.monitor.sender.send(Message::Dropped { place, packet: *packet, reason, now });
                if let Place::Port(port) = place
                    && self.monitor.watched[port.0 as usize].frames
                    && packet.flow != FlowId::NOTIFICATION
                {
                    self.frame(port, (id, packet), now, Some(reason));
                }
            }
            Event::Copied { id, copy } => {
                self.buffers.copy(id, copy);
                self.lengths[copy.place() as usize] = self.lengths[id.place() as usize];
            }
            Event::Failed { port, name, fault, lost, now } => {
                let (name, fault) = (name.to_owned(), fault.clone());
                self.monitor.sender.send(Message::Failed { port, name, fault, lost, now });
            }
            _ => {}
        }
    }
}

//! The channel for events: threads that must not block send them to the thread that writes them down.
//!
//! Events travel in batches, whose memory is reused. Only watched events are sent.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time;

use base::{Bytes, DropReason, FlowId, Instant, Packet};
use network::flow_control::Counters;
use network::observer::{Captured, Place};
use network::{Breach, Event, Observer, PortId};
use record::capture::KEPT;
use scenario::Plan;
use traffic::{Control, Statistics};
use transport::Info;

/// An [`Event`] that owns its data. Samples of flows, classes and pauses are rare and large, hence boxed.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Transmitted { port: PortId, packet: Packet, start: Instant, end: Instant },
    Gap { port: PortId, length: Bytes, start: Instant, end: Instant },
    Control { port: PortId, control: Control, start: Instant, end: Instant },
    Dropped { place: Place, packet: Packet, reason: DropReason, now: Instant },
    Failed { port: PortId, name: String, fault: Breach, lost: u64, now: Instant },
    Frame { port: PortId, at: Instant, length: u32, dropped: Option<DropReason>, bytes: [u8; KEPT] },
    Queue { port: PortId, now: Instant, statistics: Statistics },
    Class { port: PortId, now: Instant, class: Box<str>, statistics: Box<Statistics> },
    Pauses { port: PortId, now: Instant, counted: Box<Counters> },
    Notifications { port: PortId, now: Instant, sent: u64, received: u64 },
    Flow { flow: FlowId, now: Instant, ends: Box<[Info; 2]> },
}

/// The number of events in a batch.
const BATCH: usize = 512;

/// The sending end of one thread.
#[derive(Debug)]
pub(crate) struct EventSender {
    batch: Vec<Message>,
    full: Sender<Vec<Message>>,
    spare: Receiver<Vec<Message>>,
}

impl EventSender {
    /// Queues `message`; it is sent when the batch is full or [`EventSender::flush`] is called.
    #[inline]
    pub(crate) fn send(&mut self, message: Message) {
        self.batch.push(message);
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }

    /// Sends the queued events.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let empty = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        // This fails only if the run is over and the receiver is gone.
        let _ = self.full.send(std::mem::replace(&mut self.batch, empty));
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The receiving end, of the thread that writes the events down.
#[derive(Debug)]
pub(crate) struct Listener {
    full: Receiver<Vec<Message>>,
    sender: Sender<Vec<Message>>,
    spares: Vec<Sender<Vec<Message>>>,
}

impl Listener {
    pub(crate) fn new() -> Self {
        let (sender, full) = channel();
        Self { full, sender, spares: Vec::new() }
    }

    /// Creates the sending end for another thread.
    pub(crate) fn sender(&mut self) -> EventSender {
        let (back, spare) = channel();
        self.spares.push(back);
        EventSender { batch: Vec::with_capacity(BATCH), full: self.sender.clone(), spare }
    }

    /// Passes one batch of events to `observer`; waits for it for at most `timeout`.
    pub(crate) fn listen(&mut self, observer: &mut impl Observer, timeout: time::Duration) {
        let Ok(mut batch) = self.full.recv_timeout(timeout) else { return };
        batch.drain(..).for_each(|message| replay(message, observer));
        // The fabric sends the most events and has the first sender.
        if let Some(back) = self.spares.first() {
            let _ = back.send(batch);
        }
    }

    /// Passes all batches received so far to `observer`, without waiting.
    pub(crate) fn drain(&mut self, observer: &mut impl Observer) {
        while let Ok(batch) = self.full.try_recv() {
            batch.into_iter().for_each(|message| replay(message, observer));
        }
    }
}

fn replay(message: Message, observer: &mut impl Observer) {
    match message {
        Message::Transmitted { port, packet, start, end } => {
            observer.on(Event::Transmitted { port, id: None, packet: &packet, start, end });
        }
        Message::Gap { port, length, start, end } => {
            observer.on(Event::Gap { port, length, start, end, real: false });
        }
        Message::Control { port, control, start, end } => {
            observer.on(Event::Control { port, control, start, end });
        }
        Message::Dropped { place, packet, reason, now } => {
            observer.on(Event::Dropped { place, id: None, packet: &packet, reason, now });
        }
        Message::Failed { port, name, fault, lost, now } => {
            observer.on(Event::Failed { port, name: &name, fault: &fault, lost, now });
        }
        Message::Frame { port, at, length, dropped, bytes } => {
            let bytes = &bytes[..bytes.len().min(length as usize)];
            observer.on(Event::Frame { port, frame: Captured { at, bytes, length, dropped } });
        }
        Message::Queue { port, now, statistics } => {
            observer.on(Event::QueueSample { port, now, statistics: &statistics });
        }
        Message::Class { port, now, class, statistics } => {
            observer.on(Event::ClassSample { port, class: &class, now, statistics: &statistics });
        }
        Message::Pauses { port, now, counted } => {
            observer.on(Event::PauseSample { port, now, counted: &counted });
        }
        Message::Notifications { port, now, sent, received } => {
            observer.on(Event::NotificationSample { port, now, sent, received });
        }
        Message::Flow { flow, now, ends } => {
            let [sender, receiver] = &*ends;
            observer.on(Event::FlowSample { flow, now, ends: [sender, receiver] });
        }
    }
}

/// The kinds of events that are watched at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    /// Whether the metadata of its packets is watched.
    pub(crate) packets: bool,
    /// Whether its frames are captured.
    pub(crate) frames: bool,
}

/// The events that the plan's probes need from each port.
pub(crate) fn watched(plan: &Plan) -> Vec<Watched> {
    let mut ports = vec![Watched::default(); 2 * plan.links.len()];
    let probes = &plan.probes;
    let bandwidth = probes.bandwidth.iter().map(|probe| probe.port);
    for port in bandwidth.chain(probes.sequences.iter().map(|probe| probe.port)) {
        ports[port.0 as usize].packets = true;
    }
    for capture in &probes.captures {
        ports[capture.port.0 as usize].frames = true;
    }
    ports
}

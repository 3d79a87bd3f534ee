//! CoDel, controlled delay (RFC 8289), with ECN that marks.
//!
//! It measures how long packets wait, not how many there are, so the same settings fit any rate: a
//! queue that drains within an interval is a good one, however long; one that does not loses a packet,
//! and then more often, until packets wait less than the target. Decisions fall at dequeue; a peek
//! makes them too, and the packet that it showed is the one that leaves next.

use crate::discipline::{Dequeued, Discipline, DropReason, Enqueued, Port, Statistics};
use crate::packet::{ETHERNET_HEADER_AND_FCS, Packet, PacketId, Packets};
use crate::qdisc::fifo;
use crate::qdisc::queue::over;
use crate::qdisc::tally::Tally;
use crate::ring::Ring;
use crate::setting::settings;
use crate::units::{Bytes, Duration, Instant};

pub(crate) mod control;
pub(crate) mod held;

use control::{Control, Law, Line};
use held::Held;

settings! {
    /// What a user may set.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// The most bytes (frame lengths) queued; a packet that would pass it is dropped. At least one
        /// full frame; default no limit.
        pub bytes: Option<Bytes>,
        /// The most packets queued. At least 1; default 1000 (Linux).
        pub packets: Option<u64>,
        /// How long packets may wait for long: above zero and below `interval`; 5 to 10 % of it is best
        /// (RFC 8289, section 4.3). Default 5 ms. A link on which a full frame takes longer than that
        /// needs a target of at least that time.
        pub target: Duration,
        /// How long they may wait longer before one is dropped: the longest usual round-trip time of the
        /// flows, at most an hour (RFC 8289, section 4.4). Default 100 ms.
        pub interval: Duration,
        /// Whether a packet of a transport that speaks ECN is marked where another is dropped. Default
        /// false (Linux).
        pub ecn: bool,
        /// Packets of such transports are also marked whenever they waited longer than this, as DCTCP
        /// wants it (Linux's `ce_threshold`). Default none.
        pub mark_above: Option<Duration>,
    }
}

impl Default for Parameters {
    /// RFC 8289's target and interval, and Linux's limit.
    fn default() -> Self {
        Self {
            bytes: None,
            packets: Some(1_000),
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            ecn: false,
            mark_above: None,
        }
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The limits let no full frame in.
    #[error(transparent)]
    Limit(#[from] fifo::Error),
    /// Every packet would be late.
    #[error("a target of zero makes every packet late: give it 5 ms, or 5 % of the interval")]
    NoTarget,
    /// Drops would be decided before packets are late.
    #[error(
        "the target of {target} us is not below the interval of {interval} us: lower it to 5 to 10 \
         % of the interval"
    )]
    Target {
        /// In microseconds, rounded down.
        target: u64,
        /// In microseconds, rounded down.
        interval: u64,
    },
    /// No round trip takes that long.
    #[error("an interval of {0} s is no round-trip time: give at most 3600 s, 100 ms by default")]
    Interval(u64),
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    fn law(&self, port: Port) -> Result<Law, Error> {
        fifo::check(&self.limits(), port)?;
        law(self.target, self.interval, self.ecn, self.mark_above, port)
    }
}

/// The law of these settings on the port, if they make sense.
pub(crate) fn law(
    target: Duration,
    interval: Duration,
    ecn: bool,
    mark_above: Option<Duration>,
    port: Port,
) -> Result<Law, Error> {
    if target == Duration::ZERO {
        return Err(Error::NoTarget);
    }
    if target >= interval {
        return Err(Error::Target { target: target.as_us(), interval: interval.as_us() });
    }
    if interval > Duration::from_secs(3_600) {
        return Err(Error::Interval(interval.as_us() / 1_000_000));
    }
    let frame_max = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    Ok(Law { target, interval, ecn, mark_above, frame_max })
}

/// Controlled delay.
#[derive(Debug)]
pub struct Codel {
    parameters: Parameters,
    port: Port,
    law: Law,
    line: Ring<PacketId>,
    /// Bytes in `line`: what is held or condemned is not.
    line_bytes: u64,
    tally: Tally,
    control: Control,
    held: Held,
}

/// The queue as its control sees it.
struct View<'a> {
    line: &'a mut Ring<PacketId>,
    bytes: &'a mut u64,
    condemned: &'a mut Ring<PacketId>,
    packets: &'a Packets,
}

impl Line for View<'_> {
    #[inline]
    fn take(&mut self) -> Option<(PacketId, u64)> {
        let id = self.line.pop()?;
        *self.bytes -= u64::from(self.packets[id].length);
        Some((id, *self.bytes))
    }

    #[inline]
    fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }

    fn condemn(&mut self, id: PacketId) {
        self.condemned.push(id);
    }
}

impl Codel {
    /// Chooses the packet that leaves next, unless that is done.
    #[inline]
    fn choose(&mut self, packets: &Packets, now: Instant) {
        if self.held.is_empty() {
            let (line, bytes) = (&mut self.line, &mut self.line_bytes);
            let condemned = self.held.condemned();
            let mut view = View { line, bytes, condemned, packets };
            let chosen = self.control.next(&self.law, &mut view, now);
            self.held.hold(chosen);
        }
    }
}

impl Discipline for Codel {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        Ok(Self {
            law: parameters.law(port)?,
            parameters: parameters.clone(),
            port,
            line: Ring::new(),
            line_bytes: 0,
            tally: Tally::default(),
            control: Control::default(),
            held: Held::default(),
        })
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        self.law = parameters.law(self.port)?;
        self.parameters = parameters.clone();
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> Enqueued {
        self.held.settle(packets, &mut self.tally, DropReason::Early);
        let length = u64::from(packets[id].length);
        if let Some(reason) = over(&self.tally, &self.parameters.limits(), length) {
            self.tally.refuse(length);
            return Enqueued::Dropped(reason);
        }
        packets[id].queued = now;
        self.line.push(id);
        self.line_bytes += length;
        self.tally.take(length);
        self.tally.peak();
        Enqueued::Queued
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        self.choose(packets, now);
        self.held.send(packets, &mut self.tally)
    }

    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        self.choose(packets, now);
        self.held.answer()
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        self.held.flush(packets, &mut self.tally);
        while let Some(id) = self.line.pop() {
            self.held.condemned().push(id);
        }
        self.held.settle(packets, &mut self.tally, DropReason::Flushed);
        self.line_bytes = 0;
        self.control = Control::default();
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.tally.packets() == 0
    }

    fn statistics(&self) -> Statistics {
        self.tally.statistics()
    }
}

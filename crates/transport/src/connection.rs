//! One end of a TCP connection: segments in, segments out, time as an argument.

mod metrics;
mod opening;

use alloc::boxed::Box;

use base::packet::{FRAME_MIN, Tcp, ecn, flags};
use base::{Duration, FlowId, HostId, Instant, Packet};

use crate::config::Config;
use crate::handshake::{self, Handshake};
use crate::info::{Info, Phase};
use crate::limit::LimitedTimes;
use crate::option::{Kept, OptionError, SocketOption};
use crate::receiver::{AckContent, Receiver};
use crate::sender::Sender;
use crate::sender::emit::{Next, Outgoing};

/// The processing cost of a segment, for a host with a modelled processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessingCost {
    /// Entries of the retransmission queue that a stack without a SACK cache would have walked.
    pub walked: u32,
    /// Whether the segment was a pure acknowledgement.
    pub pure_ack: bool,
}

/// Between two challenge ACKs: Linux's `tcp_invalid_ratelimit`.
const CHALLENGE_INTERVAL: Duration = Duration::from_ms(500);

/// One end of a connection.
///
/// A driver calls [`receive`](Self::receive) with what arrives, [`wake`](Self::wake) when
/// [`next_wakeup`](Self::next_wakeup) comes, and after either, or after a write or a read, calls
/// [`poll_transmit`](Self::poll_transmit) until it gives nothing more.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// A pure ACK as it was last sent: what every segment has in common.
    template: Packet,
    segments_sent: u64,
    segments_received: u64,
    phase: Phase,
    /// Something happened that the program may want to know of.
    event: bool,
    /// Whether every segment counts as an event.
    watched: bool,
    /// The window scale this end offers.
    scale: u8,
    receiver: Receiver,
    sender: Sender,
    handshake: Handshake,
    /// The peer's SYN, while it is being answered.
    syn: Tcp,
    /// No challenge ACK is sent earlier.
    challenge_after: Instant,
    /// How long the peer was limited, as its segments report.
    peer_limited: LimitedTimes,
    kept: Option<Box<Kept>>,
}

impl Connection {
    /// The end that sends the SYN, at its first transmit opportunity.
    ///
    /// `config` is one that [`Config::check`] accepts; `isn` is the initial sequence number.
    pub fn connect(config: &Config, flow: FlowId, local: HostId, peer: HostId, isn: u32) -> Self {
        let mut connection = Self::new(config, flow, local, peer, isn);
        connection.phase = Phase::SynSent;
        connection.handshake.due = true;
        connection
    }

    /// The end that waits for a SYN.
    pub fn listen(config: &Config, flow: FlowId, local: HostId, peer: HostId, isn: u32) -> Self {
        Self::new(config, flow, local, peer, isn)
    }

    fn new(config: &Config, flow: FlowId, local: HostId, peer: HostId, isn: u32) -> Self {
        let window = Receiver::window_max(config);
        Self {
            phase: Phase::Listen,
            event: false,
            watched: false,
            sender: Sender::new(config, isn),
            receiver: Receiver::new(config),
            handshake: Handshake::default(),
            scale: handshake::scale_for(window, config.segment.window_scale_max),
            syn: Tcp::default(),
            challenge_after: Instant::ZERO,
            peer_limited: LimitedTimes::default(),
            kept: None,
            template: Packet {
                flow,
                source: local,
                destination: peer,
                tos: config.segment.dscp << 2,
                priority: Packet::priority_of(config.segment.dscp << 2),
                ..Packet::default()
            },
            segments_sent: 0,
            segments_received: 0,
        }
    }

    /// Gives its segments this priority from now on, instead of the class selector of their DSCP.
    pub const fn set_priority(&mut self, priority: u8) {
        self.template.priority = priority;
    }

    /// Handles an arriving segment.
    #[inline]
    pub fn receive(&mut self, packet: &Packet, now: Instant) -> ProcessingCost {
        self.segments_received += 1;
        if packet.tcp.payload == 0 {
            self.receive_ack(packet, now)
        } else {
            self.receive_data(packet, now)
        }
    }

    /// Whether no flag, option or mark calls for anything unusual.
    #[inline]
    fn is_plain(&self, packet: &Packet) -> bool {
        #[cfg(test)]
        if self.sender.general {
            return false;
        }
        packet.tcp.flags & !flags::PSH == flags::ACK
            && packet.tcp.sack_len == 0
            && packet.tos & ecn::MASK != ecn::CE
            && self.phase == Phase::Established
    }

    fn receive_ack(&mut self, packet: &Packet, now: Instant) -> ProcessingCost {
        let tcp = &packet.tcp;
        if self.is_plain(packet)
            && let Some(ack) = self.sender.predicts_ack(tcp)
            && self.receiver.on_predicted_ack(tcp)
        {
            self.sender.on_plain_ack(ack, tcp, now);
            return ProcessingCost { walked: 0, pure_ack: true };
        }
        self.receive_any(packet, now)
    }

    fn receive_data(&mut self, packet: &Packet, now: Instant) -> ProcessingCost {
        let tcp = &packet.tcp;
        self.peer_limited.read_note(packet.limited);
        if self.is_plain(packet) && self.sender.on_predicted_data(tcp) {
            self.note_path();
            if self.receiver.on_predicted_data(tcp, now) {
                return ProcessingCost::default();
            }
        }
        self.receive_any(packet, now)
    }

    /// Handles any segment, on the general path.
    #[inline(never)]
    fn receive_any(&mut self, packet: &Packet, now: Instant) -> ProcessingCost {
        let tcp = &packet.tcp;
        if self.phase != Phase::Established || tcp.flags & (flags::SYN | flags::RST) != 0 {
            self.receive_early(packet, now);
            if self.phase != Phase::Established || tcp.flags & flags::SYN != 0 {
                return ProcessingCost::default();
            }
        }
        if tcp.flags & flags::ACK == 0 {
            // RFC 9293, section 3.10.7.4: dropped without an answer.
            return ProcessingCost::default();
        }
        if !self.sender.accepts(tcp) {
            if !self.sender.acks_unsent(tcp) {
                self.challenge(now);
            }
            return ProcessingCost::default();
        }
        let walked = self.sender.on_ack(tcp, now);
        let codepoint = packet.tos & ecn::MASK;
        let marked = codepoint == ecn::CE;
        let reported = self.sender.reports_marks();
        let waited = self.receiver.ack_waits();
        self.note_path();
        let taken = self.receiver.on_segment(tcp, marked && !reported, self.sender.fin_sent, now);
        if reported && taken && tcp.payload != 0 && codepoint != 0 {
            let (next, echoing) = self.receiver.expected();
            let echo = self.sender.on_capable_data(marked, next, echoing, now);
            self.receiver.on_reported_mark(marked, echo, waited);
        }
        self.event |= self.sender.is_finished() || self.receiver.is_finished();
        let pure_ack = tcp.payload == 0 && tcp.flags & flags::FIN == 0;
        ProcessingCost { walked, pure_ack }
    }

    /// Passes the round trip and the timeout that this end's own data measured to the receiver: its ACK delays use
    /// them.
    #[inline]
    fn note_path(&mut self) {
        self.receiver.note_path(self.sender.rtt.srtt(), self.sender.rtt.rto());
    }

    fn fail(&mut self) {
        (self.phase, self.event) = (Phase::Failed, true);
    }

    /// Answers a segment with an acknowledgement number that is too old. Its data is dropped, and a challenge ACK
    /// shows the peer where this end is (RFC 5961, section 5.2), rate-limited (section 7). A segment that
    /// acknowledges what was never sent is dropped without an answer, as in Linux's `tcp_ack`, although RFC 9293,
    /// section 3.10.7.4 wants an ACK.
    #[cold]
    fn challenge(&mut self, now: Instant) {
        if now >= self.challenge_after {
            self.challenge_after = now + CHALLENGE_INTERVAL;
            self.receiver.ack_now();
        }
    }

    /// Disables the fast paths: every segment takes the general path.
    #[cfg(test)]
    pub(crate) fn predict_nothing(&mut self) {
        self.sender.predict_nothing();
    }

    /// Writes the next segment to send at `now` into `packet`, every field of it; false if there is
    /// none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, packet: &mut Packet) -> bool {
        if self.sender.may_send(now) && self.poll_data(now, packet) {
            return true;
        }
        self.receiver.ack_is_due()
            && self.phase == Phase::Established
            && self.write_ack(now, packet)
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) could give anything: false means that it will
    /// not before the next segment received, timer, write or read.
    #[inline]
    pub fn may_transmit(&mut self, now: Instant) -> bool {
        self.sender.may_send(now) || self.receiver.ack_is_due()
    }

    /// Data, a probe, or a handshake segment.
    #[inline(never)]
    fn poll_data(&mut self, now: Instant, packet: &mut Packet) -> bool {
        if self.phase != Phase::Established {
            return self.poll_handshake(now, packet);
        }
        match self.sender.next_plain(now) {
            Next::Segment(out) => self.write_data(&out, now, packet),
            Next::Nothing => self.sender.takes_more() && self.poll_data(now, packet),
            Next::Unclear => self.poll_any(now, packet),
        }
    }

    /// Writes the next segment on the general path.
    #[inline(never)]
    fn poll_any(&mut self, now: Instant, packet: &mut Packet) -> bool {
        let Some(out) = self.sender.next(now) else {
            return self.sender.takes_more() && self.poll_any(now, packet);
        };
        self.write_data(&out, now, packet)
    }

    #[inline]
    fn write_data(&mut self, out: &Outgoing, now: Instant, packet: &mut Packet) -> bool {
        self.receiver.on_data_sent(now);
        self.write_segment(out, now, packet);
        true
    }

    /// Writes a pure ACK, mostly one that only advances.
    #[inline(never)]
    fn write_ack(&mut self, now: Instant, packet: &mut Packet) -> bool {
        if self.receiver.ack_content() != AckContent::Progress || !self.sender.clock.holds(now) {
            return self.write_any_ack(now, packet);
        }
        self.write_pure_ack(now, packet)
    }

    #[inline(never)]
    fn write_any_ack(&mut self, now: Instant, packet: &mut Packet) -> bool {
        self.write_pure_ack(now, packet)
    }

    #[inline]
    fn write_pure_ack(&mut self, now: Instant, packet: &mut Packet) -> bool {
        let at = self.sender.nxt;
        let ack = Outgoing { at, payload: 0, flags: 0, retransmission: false };
        self.write_segment(&ack, now, packet);
        true
    }

    /// Puts a segment into a packet, with the acknowledgement that it carries.
    #[inline(always)]
    fn write_segment(&mut self, out: &Outgoing, now: Instant, packet: &mut Packet) {
        let agreed = &self.sender.agreed;
        let mut blocks = 0;
        match self.receiver.ack_content() {
            AckContent::None => *packet = self.template,
            AckContent::Progress => {
                // Written twice, as a copy of what was just written would wait for that write.
                *packet = self.template;
                (packet.tcp.ack, packet.tcp.window) = self.receiver.acknowledge();
                self.template.tcp.ack = packet.tcp.ack;
                self.template.tcp.window = packet.tcp.window;
            }
            AckContent::Any => {
                blocks = self.receiver.acknowledge_any(&mut self.template.tcp, out.payload);
                *packet = self.template;
            }
        }
        packet.created = now;
        packet.length = (packet.length + blocks + out.payload).max(FRAME_MIN);
        packet.tcp.seq = self.sender.space.wire(out.at);
        packet.tcp.payload = out.payload;
        packet.tcp.flags |= out.flags;
        if agreed.timestamps {
            packet.tcp.ts_val = self.sender.clock.read(now);
            packet.tcp.ts_ecr = self.receiver.ts_recent;
        }
        // RFC 3168, section 6.1.4 and 6.1.5: neither ACKs nor retransmissions are ECN-capable, except those of an
        // algorithm that needs ECN, as in Linux (`tcp_ecn_send`).
        if agreed.ecn && (out.payload != 0 && !out.retransmission || self.sender.needs_ecn()) {
            packet.tos |= ecn::ECT0;
        }
        packet.retransmission = out.retransmission;
        packet.limited = self.sender.limited_note();
        self.segments_sent += 1;
    }

    /// The interface's queue refused the segment that `poll_transmit` just gave.
    ///
    /// A pure ACK or a handshake segment is lost; data is treated as
    /// [`LocalCongestion`](crate::config::LocalCongestion) says.
    pub fn refused(&mut self, packet: &Packet, now: Instant) {
        let tcp = &packet.tcp;
        let data = tcp.payload != 0 || tcp.flags & flags::FIN != 0;
        if self.phase == Phase::Established && data {
            self.sender.refused(tcp.seq, tcp.payload, packet.retransmission, now);
        } else {
            self.sender.stats.local_drops += 1;
        }
    }

    /// The interface's queue took the segment that `poll_transmit` just gave, and made room by dropping one of this
    /// connection's (Linux: `NET_XMIT_CN`). A stack that takes a refusal for congestion takes this for congestion
    /// too; the loss is detected like any other.
    pub fn displaced(&mut self, now: Instant) {
        if self.phase == Phase::Established {
            self.sender.displaced(now);
        }
    }

    /// Returns when [`Connection::wake`] is to be called; `Instant::NEVER` if at no time.
    #[inline]
    pub fn next_wakeup(&self) -> Instant {
        if self.phase == Phase::Established {
            return self.sender.deadline().min(self.receiver.deadline());
        }
        let opening = matches!(self.phase, Phase::SynSent | Phase::SynReceived);
        self.handshake.deadline.filter(|_| opening).unwrap_or(Instant::NEVER)
    }

    /// Handles expired timers: retransmission, delayed ACK, pacing and probes. Harmless if early.
    pub fn wake(&mut self, now: Instant) {
        if self.phase != Phase::Established {
            return self.handshake.wake(now);
        }
        if self.sender.deadline() <= now {
            self.sender.wake(now);
            if self.sender.is_hopeless() {
                self.fail();
            }
        }
        if self.receiver.deadline() <= now {
            self.receiver.wake(now);
        }
    }

    /// Bytes of frames that this connection may have in its interface's queue: at or above it a
    /// host waits with [`poll_transmit`](Self::poll_transmit) until some were sent (TCP small
    /// queues); `u64::MAX` where the stack has none.
    #[inline]
    pub const fn small_queue_limit(&self) -> u64 {
        self.sender.small_queue_limit()
    }

    /// Notes that the driver sends no more for now, as the interface's queue holds as much as
    /// [`Self::small_queue_limit`] allows.
    #[inline]
    pub fn held_back(&mut self, now: Instant) {
        self.sender.held_back(now);
    }

    /// The application writes up to `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, bytes: u64, now: Instant) -> u64 {
        self.sender.write(bytes, now)
    }

    /// The application writes `bytes`, blocking while the send buffer is full: they enter it as
    /// room comes up, without further calls.
    pub fn supply(&mut self, bytes: u64, now: Instant) {
        self.sender.supply(bytes, now);
    }

    /// Bytes that a write would take now.
    pub fn writable(&self) -> u64 {
        self.sender.writable()
    }

    /// The application has written all it will: FIN follows the data.
    pub fn close(&mut self, _now: Instant) {
        self.sender.close();
    }

    /// The application gives up its write: what the send buffer has not taken is never sent, and a FIN follows the
    /// rest.
    pub fn abandon_write(&mut self) {
        self.sender.abandon_write();
    }

    /// Sets an option, at any moment. The driver then calls [`poll_transmit`](Self::poll_transmit), as the option may
    /// let segments go out.
    ///
    /// # Errors
    /// If the connection is over, or the value cannot be; nothing has changed then.
    pub fn set_option(&mut self, option: &SocketOption, now: Instant) -> Result<(), OptionError> {
        let established = self.phase == Phase::Established;
        if self.is_closed() {
            return Err(OptionError::NotOpen);
        }
        match option {
            SocketOption::SaveWindow(_)
            | SocketOption::RestoreWindow(_)
            | SocketOption::Phase(_)
                if !established =>
            {
                Err(OptionError::NotOpen)
            }
            SocketOption::SaveWindow(name) => {
                let kept = self.kept.get_or_insert_default();
                kept.windows.save(name, self.sender.window());
                Ok(())
            }
            SocketOption::RestoreWindow(name) => {
                let kept = self.kept.get_or_insert_default();
                self.sender.restore_window(kept.windows.get(name)?, now);
                Ok(())
            }
            SocketOption::Phase(phase) => {
                let kept = self.kept.get_or_insert_default();
                self.sender.enter_phase(&mut kept.phases, phase, now);
                Ok(())
            }
            option => self.sender.set_option(option, established, now),
        }
    }

    /// Bytes in order that the application may read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// The application reads up to `bytes`; returns how many.
    pub fn read(&mut self, bytes: u64, now: Instant) -> u64 {
        self.receiver.read(bytes, now)
    }

    /// Payload bytes that the application has read, and when it read the last of them.
    pub fn read_progress(&self) -> (u64, Instant) {
        self.receiver.read_progress()
    }

    /// Stops [`Self::read_always`] until that is called again. Returns whether it was on.
    pub fn defer_reading(&mut self) -> bool {
        self.receiver.defer_reading()
    }

    /// Makes the application read whatever arrives, at once, from now on.
    pub fn read_always(&mut self, now: Instant) {
        self.receiver.read_always(now);
    }

    /// Whether something happened since [`clear_event`](Self::clear_event) was last called: it was established,
    /// an end has closed, it failed; and where it is watched, a segment came.
    #[inline]
    pub const fn has_event(&self) -> bool {
        self.event
    }

    /// Clears the event: the program knows what happened so far.
    pub fn clear_event(&mut self) {
        self.event = self.watched;
    }

    /// Makes every segment an event from now on, or no longer.
    pub fn watch(&mut self, watched: bool) {
        (self.event, self.watched) = (self.event || watched, watched);
    }

    /// Whether every segment is an event.
    pub const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether the send buffer took all that was written.
    pub fn is_written(&self) -> bool {
        self.sender.is_written()
    }

    /// Whether it was reset, or given up.
    pub fn has_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// Returns the ACK that a closed connection sends in answer to any further segment (RFC 9293, section 3.10.7.8).
    pub fn last_ack(&mut self, now: Instant) -> Packet {
        let mut ack = self.template;
        ack.length = ack.length.max(FRAME_MIN);
        ack.tcp.seq = self.sender.space.wire(self.sender.nxt);
        if ack.tcp.has_timestamps {
            ack.tcp.ts_val = self.sender.clock.read(now);
            ack.tcp.ts_ecr = self.receiver.ts_recent;
        }
        ack
    }

    /// This host, and the peer's.
    pub const fn ends(&self) -> (HostId, HostId) {
        (self.template.source, self.template.destination)
    }

    /// Payload bytes that arrived in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.receiver.bytes()
    }

    /// Payload bytes of this end that the peer acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.bytes_acked()
    }

    /// Whether the handshake is complete, and the connection neither closed nor failed.
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established && !self.is_closed()
    }

    /// Whether everything we wrote, FIN included, was acknowledged.
    pub fn is_send_finished(&self) -> bool {
        self.sender.is_finished()
    }

    /// Whether the peer's FIN arrived, and all before it.
    pub fn is_receive_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Whether both directions are finished, or the connection failed.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Failed || self.is_send_finished() && self.is_receive_finished()
    }

    /// Starts to count what limits this end.
    pub const fn count_limits(&mut self) {
        self.sender.count_limits();
    }

    /// Returns for how long this end could not send its data so far, by limit.
    pub fn limited_times(&self, now: Instant) -> LimitedTimes {
        self.sender.limited_times(now)
    }

    /// Returns the limited times of the peer at its latest segment.
    pub const fn peer_limited_times(&self) -> &LimitedTimes {
        &self.peer_limited
    }

    /// The minimum round trip time seen; zero before the first sample.
    pub const fn min_rtt(&self) -> Duration {
        self.sender.min_rtt()
    }

    /// A snapshot.
    pub fn info(&self) -> Info {
        let mut info = Info::default();
        self.sender.fill(&mut info);
        self.receiver.fill(&mut info);
        (info.segments_sent, info.segments_received) = (self.segments_sent, self.segments_received);
        info.phase = match self.phase {
            Phase::Established if self.is_closed() => Phase::Closed,
            phase => phase,
        };
        if info.phase == Phase::Established {
            info.stall = self.sender.stall();
        }
        info
    }
}

//! How a connection opens: the SYNs of both ends, what they agree on, and the resets that end it.

use base::packet::{ETHERNET_HEADER_AND_FCS, Tcp, ecn, flags};
use base::{Instant, Packet};

use super::Connection;
use crate::config::TIMESTAMPS_BYTES;
use crate::handshake::{self, Handshake, NO_SCALE};
use crate::info::Phase;
use crate::seq::ORIGIN;

impl Connection {
    /// Handshake segments, and resets.
    #[cold]
    pub(super) fn receive_early(&mut self, packet: &Packet, now: Instant) {
        let tcp = &packet.tcp;
        if tcp.flags & flags::RST != 0 {
            match self.phase {
                Phase::Listen => {}
                Phase::SynReceived => self.give_up_opening(),
                _ => self.fail(),
            }
            return;
        }
        let (syn, ack) = (tcp.flags & flags::SYN != 0, tcp.flags & flags::ACK != 0);
        let acks_syn = ack && tcp.ack == self.sender.space.wire(ORIGIN + 1);
        match self.phase {
            Phase::Listen if syn && !ack => self.answer(packet),
            Phase::SynReceived if syn && !ack => self.handshake.due = true,
            Phase::SynSent if syn && acks_syn => {
                self.agree_with(tcp, now);
                self.receiver.ack_now();
            }
            Phase::SynReceived if !syn && ack && self.acks_our_syn(tcp) => {
                let syn = self.syn;
                self.agree_with(&syn, now);
                self.sender.open_window(tcp);
            }
            // The SYN-ACK again: our ACK of it was lost.
            Phase::Established if syn => self.receiver.ack_now(),
            _ => {}
        }
    }

    fn acks_our_syn(&self, tcp: &Tcp) -> bool {
        self.sender.space.unwrap(tcp.ack, ORIGIN + 1) == ORIGIN + 1
    }

    fn answer(&mut self, packet: &Packet) {
        let capable = packet.tos & ecn::MASK != 0;
        self.syn = handshake::granted(&self.sender.config, &packet.tcp, capable);
        self.receiver.ts_recent = self.syn.ts_val;
        self.phase = Phase::SynReceived;
        self.handshake.due = true;
    }

    /// The handshake came to nothing: an end that connects has failed, and one that listens listens again (RFC 9293,
    /// section 3.10.7.4; Linux drops the request socket and keeps the listener).
    fn give_up_opening(&mut self) {
        if self.phase == Phase::SynReceived {
            (self.phase, self.handshake) = (Phase::Listen, Handshake::default());
        } else {
            self.fail();
        }
    }

    /// Both SYNs are known: the connection is established.
    fn agree_with(&mut self, peer: &Tcp, now: Instant) {
        let (agreed, accepted) = handshake::agree(&self.sender.config, self.scale, peer);
        self.receiver.ts_recent = peer.ts_val;
        self.receiver.establish(accepted, now);
        self.sender.sample_handshake(self.handshake.round_trip(), self.handshake.times, now);
        self.receiver.note_path(self.sender.rtt.srtt(), self.sender.rtt.rto());
        // The window on a SYN is never scaled (RFC 7323, section 2.2).
        self.sender.establish(agreed, u64::from(peer.window), peer.seq, now);
        self.prepare_template();
        self.phase = Phase::Established;
        self.event = true;
        self.handshake.deadline = None;
    }

    /// Prepares the common part of all segments after the handshake. `length` is that of a pure ACK's frame before it
    /// is padded to [`FRAME_MIN`].
    fn prepare_template(&mut self) {
        let headers = self.sender.config.segment.headers();
        let template = &mut self.template;
        template.retransmission = false;
        let timestamps = self.sender.agreed.timestamps;
        template.tcp = Tcp { window_scale: NO_SCALE, has_timestamps: timestamps, ..Tcp::default() };
        let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        template.length = headers + options + ETHERNET_HEADER_AND_FCS;
    }

    /// The SYN or SYN-ACK, when it is time.
    #[cold]
    pub(super) fn poll_handshake(&mut self, now: Instant, packet: &mut Packet) -> bool {
        if !self.handshake.due || !matches!(self.phase, Phase::SynSent | Phase::SynReceived) {
            return false;
        }
        let answer = self.phase == Phase::SynReceived;
        if self.handshake.gives_up(&self.sender.config, answer) {
            self.give_up_opening();
            return false;
        }
        let config = self.sender.config;
        let peer = answer.then_some(self.syn);
        let mut tcp = Tcp { seq: self.sender.space.wire(ORIGIN), ..Tcp::default() };
        let again = self.handshake.times > 0;
        handshake::offer(&config, self.scale, peer.as_ref(), again, &mut tcp);
        tcp.window = self.receiver.syn_window(handshake::segment_expected(&config, peer.as_ref()));
        tcp.ts_val = if tcp.has_timestamps { self.sender.clock.read(now) } else { 0 };
        if let Some(peer) = peer {
            tcp.flags |= flags::ACK;
            tcp.ack = peer.seq.wrapping_add(1);
            tcp.ts_ecr = if tcp.has_timestamps { peer.ts_val } else { 0 };
        }
        let options = handshake::option_bytes(&tcp);
        let length = config.segment.headers() + options + ETHERNET_HEADER_AND_FCS;
        let ect = if self.sender.needs_ecn() { ecn::ECT0 } else { 0 };
        let tos = self.template.tos | ect;
        *packet = Packet { created: now, length, retransmission: again, tcp, tos, ..self.template };
        self.handshake.sent(&config, answer, now);
        self.segments_sent += 1;
        true
    }
}

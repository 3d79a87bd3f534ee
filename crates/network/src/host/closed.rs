//! The remains of a closed connection, in few bytes: a run may have a million of them.

use base::packet::SackBlock;
use base::{FlowId, HostId, Instant, Packet};
use transport::{Info, Packer, Unpacker};

/// The remains of a closed connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    /// The bytes that its application read, and the time of the last read.
    pub(super) progress: (u64, Instant),
    /// Its counters.
    pub(super) info: Info,
    /// The interface through which it sent.
    pub(super) port: u32,
    /// The ACK that answers a retransmitted FIN.
    pub(super) last_ack: Packet,
}

/// [`Closed`] as it is stored.
#[derive(Debug)]
pub(super) struct PackedClosed(Box<[u8]>);

impl PackedClosed {
    /// Packs the remains of a connection.
    pub(super) fn new(closed: &Closed) -> Self {
        let Closed { progress: (read, at), info, port, last_ack } = closed;
        let mut packer = Packer::default();
        packer.push(*read);
        packer.push(at.as_ps());
        info.pack(&mut packer);
        packer.push((*port).into());
        pack_ack(last_ack, &mut packer);
        Self(packer.finish())
    }

    /// The remains of the connection of that flow.
    pub(super) fn unpack(&self, flow: FlowId) -> Closed {
        let mut unpacker = Unpacker(&self.0);
        let progress = progress(&mut unpacker);
        let info = Info::unpack(&mut unpacker);
        let port = unpacker.next_word() as u32;
        Closed { progress, info, port, last_ack: unpack_ack(flow, &mut unpacker) }
    }

    /// [`Closed::progress`].
    pub(super) fn progress(&self) -> (u64, Instant) {
        progress(&mut Unpacker(&self.0))
    }

    /// [`Closed::info`].
    pub(super) fn info(&self) -> Info {
        let mut unpacker = Unpacker(&self.0);
        progress(&mut unpacker);
        Info::unpack(&mut unpacker)
    }
}

fn progress(unpacker: &mut Unpacker<'_>) -> (u64, Instant) {
    (unpacker.next_word(), Instant::from_ps(unpacker.next_word()))
}

/// Packs the fields of an ACK, all but its flow.
fn pack_ack(ack: &Packet, packer: &mut Packer) {
    let tcp = &ack.tcp;
    packer.push_sparse(&[
        ack.source.0.into(),
        ack.destination.0.into(),
        ack.length.into(),
        ack.tos.into(),
        ack.priority.into(),
        tcp.seq.into(),
        tcp.ack.into(),
        tcp.ts_val.into(),
        tcp.ts_ecr.into(),
        tcp.window.into(),
        tcp.flags.into(),
        tcp.has_timestamps.into(),
        tcp.window_scale.into(),
        tcp.sack_len.into(),
    ]);
    for block in &tcp.sack[..tcp.sack_len.into()] {
        packer.push(block.start.into());
        packer.push(block.end.into());
    }
}

fn unpack_ack(flow: FlowId, unpacker: &mut Unpacker<'_>) -> Packet {
    let mut ack = Packet { flow, ..Packet::default() };
    let [
        from,
        to,
        length,
        tos,
        priority,
        seq,
        acked,
        ts_val,
        ts_ecr,
        window,
        flags,
        timed,
        scale,
        blocks,
    ] = unpacker.next_sparse();
    (ack.source, ack.destination) = (HostId(from as u32), HostId(to as u32));
    (ack.length, ack.tos, ack.priority) = (length as u32, tos as u8, priority as u8);
    let tcp = &mut ack.tcp;
    (tcp.seq, tcp.ack, tcp.window) = (seq as u32, acked as u32, window as u16);
    (tcp.ts_val, tcp.ts_ecr, tcp.has_timestamps) = (ts_val as u32, ts_ecr as u32, timed != 0);
    (tcp.flags, tcp.window_scale, tcp.sack_len) = (flags as u8, scale as u8, blocks as u8);
    for block in &mut tcp.sack[..blocks as usize] {
        let [start, end] = [unpacker.next_word(), unpacker.next_word()].map(|edge| edge as u32);
        *block = SackBlock { start, end };
    }
    ack
}

#[cfg(test)]
mod tests {
    use base::Duration;
    use transport::Phase;

    use super::*;

    #[test]
    fn a_closed_connection_takes_few_bytes_and_loses_nothing() {
        let info = Info {
            phase: Phase::Closed,
            cwnd: 17,
            ssthresh: 0x7fff_ffff,
            mss: 1_448,
            srtt: Duration::from_us(41),
            rttvar: Duration::from_us(3),
            min_rtt: Duration::from_us(39),
            latest_rtt: Duration::from_us(40),
            rto: Duration::from_ms(204),
            bytes_acked: 10_000,
            bytes_sent: 10_000,
            bytes_written: 10_000,
            segments_sent: 10,
            segments_received: 8,
            data_segments_sent: 8,
            delivered: 7,
            reports_decisions: true,
            reordering: 3,
            peer_window: 65_536,
            receive_window: 65_536,
            send_buffer: 87_040,
            receive_buffer: 131_072,
            delivery_rate: 125_000_000,
            pacing_rate: 1_250_000_000,
            ..Info::default()
        };
        let mut last_ack = Packet {
            flow: FlowId(8),
            source: HostId(3),
            destination: HostId(70_000),
            length: 70,
            tos: 0x22,
            priority: 5,
            ..Packet::default()
        };
        let tcp = &mut last_ack.tcp;
        (tcp.seq, tcp.ack, tcp.window, tcp.flags) = (u32::MAX, 77, 512, 0x10);
        (tcp.has_timestamps, tcp.ts_val, tcp.ts_ecr, tcp.window_scale) = (true, 5_000, 6_000, 255);
        for blocks in 0..=4 {
            last_ack.tcp.sack_len = blocks;
            for block in &mut last_ack.tcp.sack[..blocks.into()] {
                *block = SackBlock { start: 1 << 30, end: u32::from(blocks) };
            }
            let progress = (10_000, Instant::ZERO + Duration::from_secs(11));
            let closed = Closed { progress, info, port: 1, last_ack };
            let packed = PackedClosed::new(&closed);
            assert_eq!((packed.progress(), packed.info()), (progress, info));
            let [found, expected] =
                [packed.unpack(FlowId(8)), closed].map(|closed| format!("{closed:?}"));
            assert_eq!(found, expected);
            assert!(packed.0.len() <= 144 + 6 * usize::from(blocks), "{}", packed.0.len());
        }
    }
}

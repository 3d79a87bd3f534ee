//! `TCP_INFO`: the kernel's state of a connection, translated to the simulator's.
//!
//! It lacks the latest round-trip time, bytes received twice, fast recoveries, window reductions and their undos,
//! probes, duplicate ACKs and refusals by the interface: these stay zero.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

use base::Duration;
use nix::sys::socket::{getsockopt, sockopt};
use transport::{Info, Phase, Stall};

/// The minimum wait of a stall. Data that waits for less was just written, or the pacer holds it.
const STALLED_US: u64 = 2_000_000;

/// `struct tcp_info` of `linux/tcp.h` up to the timeout counters (Linux 6.7). Fields that an older kernel does not fill
/// stay zero.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct TcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto_us: u32,
    ato_us: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent_ms: u32,
    last_ack_sent_ms: u32,
    last_data_recv_ms: u32,
    last_ack_recv_ms: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt_us: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt_us: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time_us: u64,
    rwnd_limited_us: u64,
    sndbuf_limited_us: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time_ms: u32,
}

// The size of the kernel's structure in Linux 6.7.
const _: () = assert!(size_of::<TcpInfo>() == 248);

/// Reads the state of a connection's end. The caller fills in the bytes that the program itself wrote and read.
///
/// # Errors
/// If it is not a TCP socket.
pub(super) fn read(socket: &impl AsFd) -> io::Result<Info> {
    let info = tcp_info(socket)?;
    let size = |bytes: nix::Result<usize>| bytes.unwrap_or(0) as u64;
    Ok(Info {
        send_buffer: size(getsockopt(socket, sockopt::SndBuf)),
        receive_buffer: size(getsockopt(socket, sockopt::RcvBuf)),
        ..translate(&info)
    })
}

fn tcp_info(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, and any bytes are a valid `TcpInfo`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}

fn translate(info: &TcpInfo) -> Info {
    let us = |us: u32| Duration::from_us(us.into());
    // Without a sample, the minimum has all bits set and the mean is zero.
    let min_rtt = if info.min_rtt_us == u32::MAX { 0 } else { info.min_rtt_us };
    Info {
        phase: phase(info.state),
        ca_state: ca_state(info.ca_state),
        cwnd: info.snd_cwnd,
        ssthresh: info.snd_ssthresh,
        mss: info.snd_mss,
        srtt: us(info.rtt_us),
        rttvar: us(info.rttvar_us),
        min_rtt: us(min_rtt),
        rto: us(info.rto_us),
        // The kernel also counts SYN and FIN, which are not payload.
        bytes_acked: info
            .bytes_acked
            .saturating_sub(1)
            .min(info.bytes_sent.saturating_sub(info.bytes_retrans)),
        bytes_sent: info.bytes_sent,
        bytes_retransmitted: info.bytes_retrans,
        bytes_received: info.bytes_received,
        segments_sent: info.segs_out.into(),
        segments_received: info.segs_in.into(),
        data_segments_sent: info.data_segs_out.into(),
        data_segments_received: info.data_segs_in.into(),
        retransmissions: info.total_retrans.into(),
        timeouts: info.total_rto.into(),
        dsacks_received: info.dsack_dups.into(),
        // The number of packets for which the peer echoed a mark, not of ACKs with an echo.
        ecn_echoes: info.delivered_ce.into(),
        delivered: info.delivered.into(),
        packets_out: info.unacked,
        in_flight: (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost),
        sacked: info.sacked,
        lost: info.lost,
        retransmitted: info.retrans,
        reordering: info.reordering,
        peer_window: info.snd_wnd.into(),
        receive_window: info.rcv_wnd.into(),
        delivery_rate: info.delivery_rate,
        // All bits set: the kernel has not set a rate.
        pacing_rate: if info.pacing_rate == u64::MAX { 0 } else { info.pacing_rate },
        stall: stall(info),
        ..Info::default()
    }
}

/// Detects a stall: data that fits the peer's window waits, with nothing in flight, for longer than any timer without
/// backoff allows.
fn stall(info: &TcpInfo) -> Option<Stall> {
    let waited = u64::from(info.last_data_sent_ms) * 1_000;
    let long = waited > (4 * u64::from(info.rto_us)).max(STALLED_US);
    let fits = info.snd_wnd >= info.snd_mss.min(info.notsent_bytes);
    let idle = info.unacked == 0 && info.probes == 0 && info.backoff == 0;
    let open = phase(info.state) == Phase::Established;
    (open && idle && fits && long && info.notsent_bytes != 0).then_some(Stall::Data)
}

/// Translates Linux's numbers of TCP states (`net/tcp_states.h`). A socket that was never connected is closed too.
fn phase(state: u8) -> Phase {
    match state {
        2 => Phase::SynSent,
        3 | 12 => Phase::SynReceived,
        10 => Phase::Listen,
        6 | 7 => Phase::Closed,
        _ => Phase::Established,
    }
}

fn ca_state(state: u8) -> congestion::State {
    use congestion::State::{Cwr, Disorder, Loss, Open, Recovery};
    match state {
        1 => Disorder,
        2 => Cwr,
        3 => Recovery,
        4 => Loss,
        _ => Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_waits_for_nothing_is_a_stall() {
        let stalled = TcpInfo {
            state: 1,
            rto_us: 204_000,
            snd_mss: 1_448,
            snd_wnd: 65_536,
            notsent_bytes: 1,
            last_data_sent_ms: 2_001,
            ..TcpInfo::default()
        };
        assert_eq!(translate(&stalled).stall, Some(Stall::Data));
        let moves = [
            TcpInfo { notsent_bytes: 0, ..stalled },
            TcpInfo { unacked: 1, ..stalled },
            TcpInfo { snd_wnd: 0, ..stalled },
            TcpInfo { backoff: 1, ..stalled },
            TcpInfo { last_data_sent_ms: 1_000, ..stalled },
            TcpInfo { rto_us: 1_000_000, ..stalled },
            TcpInfo { state: 2, ..stalled },
        ];
        for info in moves {
            assert_eq!(translate(&info).stall, None, "{info:?}");
        }
    }
}

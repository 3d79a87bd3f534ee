//! The capacity of the send buffer, and the packet boundaries of a write. The kernel's numbers are from Linux
//! 6.12.117 with 192 bytes of headroom, on a path of 36 ms.

use super::*;

/// A program that writes without end.
fn writer(headroom: u32) -> Script {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.congestion = congestion::Algorithm::by_name("newreno").unwrap().into();
    config.buffers.send_headroom = headroom;
    let mut script = Script::new(&config, 36, 65_160);
    script.supply(1_000_000);
    script
}

fn pushed(sent: &[Packet]) -> Vec<bool> {
    sent.iter().map(|packet| packet.tcp.flags & flags::PSH != 0).collect()
}

#[test]
fn a_write_fills_packets_and_goes_on_when_a_third_of_the_memory_is_free() {
    let mut script = writer(192);
    assert_eq!(script.sends().len(), 10);
    let written = |script: &Script| script.end.info().bytes_written / MSS;
    // Ten left a packet of 22, half the window, and as many came into it.
    assert_eq!(written(&script), 32);
    script.window = 669;
    for acked in 1..=20 {
        script.ack(72 + 36 * (acked / 11), acked, &[]);
        script.sends();
        assert_eq!(written(&script), if acked < 12 { 32 } else { 92 }, "{acked}");
        let segments = if acked < 12 { 10 } else { 22 };
        assert_eq!(script.end.info().send_buffer, 2 * segments * 2_304);
    }
}

#[test]
fn a_distribution_s_kernel_has_twice_the_buffer() {
    let mut script = writer(320);
    assert_eq!(script.sends().len(), 10);
    assert_eq!(script.end.info().send_buffer, 87_040);
}

#[test]
fn a_buffer_of_a_fixed_size_counts_memory_too() {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.buffers.send = Buffer::Fixed(100_000);
    config.emission.tso = false;
    let mut script = Script::new(&config, 36, 65_160);
    script.supply(1_000);
    // Ten leave at once, and packets of one segment are written up to the size.
    let mut sent = script.sends().len() as u64;
    for round in 1..=10 {
        script.ack(36 * (round + 1), sent, &[]);
        sent += script.sends().len() as u64;
    }
    let info = script.end.info();
    let packet = MSS + 320 + 320 + 256;
    assert_eq!(info.send_buffer, 100_000);
    assert_eq!((info.bytes_written - info.bytes_acked) / MSS, 100_000_u64.div_ceil(packet));
}

#[test]
fn the_first_packet_of_many_is_not_pushed() {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.emission.tso = false;
    let mut script = Script::new(&config, 36, 65_160);
    script.supply(3);
    assert_eq!(pushed(&script.sends()), [false, false, true]);
}

#[test]
fn the_last_segment_of_a_burst_is_pushed() {
    let mut script = writer(320);
    assert_eq!(pushed(&script.sends()), [false, true].repeat(5));
    // Retransmissions have PSH if the original had it.
    script.wait();
    script.wait();
    assert_eq!(pushed(&script.sends()), [false]);
}

#[test]
fn a_message_shorter_than_the_buffer_is_written_at_once_and_its_end_pushed() {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.emission.tso_push = false;
    let mut script = Script::new(&config, 36, 65_160);
    script.end.supply(30_000, script.now);
    assert!(script.end.is_written());
    let sent = script.sends();
    assert_eq!((sent.len(), pushed(&sent).contains(&true)), (10, false));
    script.window = 509;
    script.ack(72, 10, &[]);
    let sent = script.sends();
    assert_eq!(pushed(&sent), [[false].repeat(10), vec![true]].concat());
    assert_eq!(sent[10].tcp.payload, 1_040);
}

/// Writes `bytes` `times` times, each write acknowledged before the next; the buffer must take all of it.
/// Returns whether each left in one segment with PSH.
fn exchanges(config: &Config, bytes: u64, times: u64) -> bool {
    let mut script = Script::new(config, 36, 65_160);
    (1..=times).all(|n| {
        script.now = at(36 + 40 * n);
        assert_eq!(script.end.write(bytes, script.now), bytes, "write {n} of {bytes} B");
        let sent = script.sends();
        let mut ack = script.ack_packet(0, &[]);
        ack.tcp.ack = script.base.wrapping_add((n * bytes) as u32);
        script.end.receive(&ack, script.now + ms(36));
        assert_eq!(script.end.info().stall, None);
        sent.len() == 1 && pushed(&sent) == [true]
    })
}

#[test]
fn messages_that_were_acknowledged_take_no_room() {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.congestion = congestion::Algorithm::by_name("newreno").unwrap().into();
    for tso in [true, false] {
        config.emission.tso = tso;
        for bytes in [1, 14, 15, 700, MSS - 1, MSS] {
            assert!(exchanges(&config, bytes, 300), "{bytes} B");
        }
    }
}

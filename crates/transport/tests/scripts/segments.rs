//! Which segments are taken, and what the handshake agrees on.

use super::*;

fn client() -> Script {
    let mut config = linux6();
    config.ack.tick = Duration::ZERO;
    Script::new(&config, 100, 60_000)
}

/// `payload` bytes from the peer, `at` bytes into its stream.
fn data(script: &Script, at: u32, payload: u32) -> Packet {
    let mut packet = script.ack_packet(0, &[]);
    packet.tcp.seq = script.seq.wrapping_add(at);
    packet.tcp.payload = payload;
    packet
}

#[test]
fn data_without_an_ack_or_with_one_of_what_was_never_sent_is_not_taken() {
    let mut script = client();
    let mut packet = data(&script, 0, 100);
    packet.tcp.flags = 0;
    script.end.receive(&packet, script.now);
    assert_eq!((script.end.readable(), script.sends().len()), (0, 0));

    let mut packet = data(&script, 0, 100);
    packet.tcp.ack = script.base.wrapping_add(1);
    for challenges in [1, 0] {
        script.end.receive(&packet, script.now);
        let answer = script.sends();
        assert_eq!((script.end.readable(), answer.len()), (0, challenges), "one in 500 ms");
        assert!(answer.iter().all(|a| a.tcp.ack == script.seq && a.tcp.payload == 0));
    }
    let packet = data(&script, 0, 100);
    script.end.receive(&packet, script.now);
    assert_eq!(script.end.readable(), 100);
}

#[test]
fn ecn_is_agreed_on_if_the_client_asks_and_the_server_accepts() {
    use Ecn::{Accept, Off, Request};
    for (client, server, agreed) in [
        (Request, Request, true),
        (Request, Accept, true),
        (Request, Off, false),
        (Accept, Accept, false),
        (Accept, Request, false),
        (Off, Request, false),
    ] {
        let configs = [client, server].map(|ecn| {
            let mut config = linux6();
            config.segment.ecn = ecn;
            config
        });
        let mut pipe = Pipe::new([&configs[0], &configs[1]], ms(1), |_, _, _| Fate::Pass);
        pipe.establish();
        pipe.keep = true;
        for side in 0..2 {
            let now = pipe.now;
            pipe.ends[side].supply(10 * MSS, now);
        }
        let all = |e: &[Connection; 2]| e.iter().all(|e| e.acknowledged_bytes() == 10 * MSS);
        assert!(pipe.run(Duration::from_secs(10), all));
        for side in 0..2 {
            let data = pipe.sent.iter().filter(|s| s.side == side && s.packet.tcp.payload > 0);
            let mut data = data.filter(|s| !s.packet.retransmission);
            let capable = data.all(|s| s.packet.tos & ecn::MASK == ecn::ECT0);
            assert_eq!(capable, agreed, "{client:?} {server:?} side {side}");
        }
    }
    assert_eq!(Profile::by_name("linux-6").unwrap().config().segment.ecn, Accept);
}

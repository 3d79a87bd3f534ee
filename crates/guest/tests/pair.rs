//! Two hosts in a real kernel, and a link of ours between them: TCP reaches the link's rate, and two runs send the
//! same frames at the same nanoseconds.

mod built;
mod wire;

use wire::Wire;

/// The guest's init program: a namespace for the second card, and iperf3 between the two.
const PROGRAM: &str = r#"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /tmp; mount -t tmpfs none /run
ip netns add far
ip link set eth1 netns far
ip addr add 10.0.0.1/24 dev eth0; ip link set eth0 up; ip link set lo up
ip netns exec far ip addr add 10.0.0.2/24 dev eth1; ip netns exec far ip link set eth1 up
ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0
ip netns exec far ip neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev eth1
ip netns exec far iperf3 -s -1 -D
sleep 0.2
iperf3 -c 10.0.0.2 -t 5 -f k | tail -4
cat /proc/uptime
poweroff -ff
sleep 1
"#;

#[test]
fn real_tcp_takes_the_wires_rate_and_the_same_nanoseconds_twice() {
    let Some(kernel) = built::kernel("a pair of hosts in a kernel") else { return };
    let [one, other] = [(); 2].map(|()| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut wire = Wire::new(50_000_000, 10_000_000, 100);
        let cards = vec![([2, 0, 0, 0, 0, 1], 1500), ([2, 0, 0, 0, 0, 2], 1500)];
        let (console, now) = built::run(&kernel, cards, PROGRAM, folder.path(), &mut wire);
        (wire.seen(), now, console)
    });
    assert_eq!((one.0, one.1), (other.0, other.1), "{}\n{}", one.2, other.2);
    // 28 MB of data, and their ACKs.
    assert!(one.0.0 > 20_000, "{}", one.2);
}

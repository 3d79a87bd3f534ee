//! Namespaces and cables as the kernel and its own tools show them, and that nothing of them stays.
//!
//! A user namespace needs a process of one thread, which the usual harness does not leave; so this
//! has a `main`, which runs every test with the right that the process has, and as root once more
//! as a user.

mod trial;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io, thread};

use base::{Bytes, Rate};
use lab::clock::Clock;
use lab::default_congestion::DefaultCongestion;
use lab::sysctl::{self, Buffers};
use lab::veth::{self, Line, Routes, Segmentation, Settings};
use lab::{Error, Namespace};
use nix::sys::socket::{
    self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, setsockopt, sockopt,
};
use nix::sys::time::TimeVal;

use trial::Trial;

const TRIALS: &[Trial] = &[
    ("a_namespace_is_empty_but_for_its_loopback", a_namespace_is_empty_but_for_its_loopback),
    ("a_host_is_set_as_asked", a_host_is_set_as_asked),
    ("a_cable_is_as_asked", a_cable_is_as_asked),
    ("cables_transmit_once_they_lie", cables_transmit_once_they_lie),
    ("an_ipv6_host_speaks_at_once", an_ipv6_host_speaks_at_once),
    ("a_host_of_two_cables_sends_by_the_route", a_host_of_two_cables_sends_by_the_route),
    ("super_frames_are_cut_where_asked", super_frames_are_cut_where_asked),
    ("the_kernel_holds_a_host_to_its_line", the_kernel_holds_a_host_to_its_line),
    ("hosts_exchange_bytes_over_the_fabric", hosts_exchange_bytes_over_the_fabric),
    ("receive_processing_is_steered", receive_processing_is_steered),
    ("what_is_unfit_is_reported", what_is_unfit_is_reported),
    ("nothing_stays_when_namespaces_are_dropped", nothing_stays_when_namespaces_are_dropped),
    ("nothing_stays_of_a_killed_process", nothing_stays_of_a_killed_process),
];

fn main() {
    match env::args().nth(1).as_deref() {
        Some(VICTIM) => victim(),
        _ => trial::main(TRIALS),
    }
}

/// A host with its end of a cable to `fabric`. Its namespace lives as long as the returned value.
fn host(fabric: &Namespace, settings: &Settings) -> Namespace {
    let host = Namespace::new().unwrap();
    sysctl::prepare_host(&host, &BUFFERS).unwrap();
    veth::lay(&host, fabric, settings).unwrap();
    host
}

const BUFFERS: Buffers = Buffers { receive: Bytes(6_000_000), send: Bytes(4_000_000) };

fn settings(fabric_interface: &str, number: u8) -> Settings<'_> {
    Settings {
        interface: 0,
        fabric_interface,
        mac: [2, 0, 0, 0, 0, number],
        mtu: 1500,
        address: IpAddr::from([10, 0, 0, number]),
        own_address: None,
        own_ports: &[],
        routes: Routes::Everything,
        line: None,
        qdisc: None,
        segmentation: Segmentation::Tcp,
        receive_cpus: &[],
    }
}

/// The output of a command inside `namespace`.
fn shown(namespace: &Namespace, command: &str) -> String {
    let run = || Command::new("sh").arg("-c").arg(command).output();
    let out = namespace.within(run).unwrap().unwrap();
    assert!(out.status.success(), "{command}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn assert_shown(namespace: &Namespace, command: &str, parts: &[&str]) {
    let text = shown(namespace, command);
    for part in parts {
        assert!(text.contains(part), "{command} shows no {part:?}:\n{text}");
    }
}

/// Names of the interfaces in `namespace`.
fn interfaces(namespace: &Namespace) -> Vec<String> {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let text = namespace.within(read).unwrap();
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// Captures every frame that enters or leaves a namespace, and waits for expected frames.
struct Tap(OwnedFd);

impl Tap {
    fn new(namespace: &Namespace) -> Self {
        let open = || {
            let flags = SockFlag::SOCK_CLOEXEC;
            let all = SockProtocol::EthAll;
            socket::socket(AddressFamily::Packet, SockType::Raw, flags, all)
        };
        Self(namespace.within(open).unwrap().unwrap())
    }

    /// The next frame that `wanted` likes, unless none comes for `patience`.
    fn next(&self, patience: Duration, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let patience = TimeVal::new(0, patience.as_micros() as i64);
        setsockopt(&self.0, sockopt::ReceiveTimeout, &patience).unwrap();
        let mut frame = vec![0; 70_000];
        loop {
            let length = socket::recv(self.0.as_raw_fd(), &mut frame, MsgFlags::empty()).ok()?;
            if wanted(&frame[..length]) {
                frame.truncate(length);
                return Some(frame);
            }
        }
    }
}

fn is_udp4(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&17)
}

const SOON: Duration = Duration::from_millis(900);

/// A socket of `host` that sends to 10.0.0.9, which has a static neighbour entry.
fn towards_nobody(host: &Namespace) -> UdpSocket {
    shown(host, "ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev eth0");
    let open = || {
        let socket = UdpSocket::bind("0.0.0.0:20000")?;
        socket.connect("10.0.0.9:9000").map(|()| socket)
    };
    host.within(open).unwrap().unwrap()
}

fn a_namespace_is_empty_but_for_its_loopback() {
    let namespace = Namespace::new().unwrap();
    assert_eq!(interfaces(&namespace), ["lo"]);
    let served = namespace.within(|| -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        TcpStream::connect(listener.local_addr()?).map(drop)
    });
    served.unwrap().unwrap();
}

fn a_host_is_set_as_asked() {
    let host = Namespace::new().unwrap();
    sysctl::prepare_host(&host, &BUFFERS).unwrap();
    let value = |name: &str| {
        let text = shown(&host, &format!("cat /proc/sys/net/{name}"));
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(value("ipv4/tcp_rmem"), "4096 131072 6000000");
    assert_eq!(value("ipv4/tcp_wmem"), "4096 16384 4000000");
    assert_eq!(value("ipv4/ip_local_port_range"), "61000 65535");
    assert_eq!(value("ipv4/tcp_no_metrics_save"), "1");
    // CUBIC where a namespace may have it, and else what the kernel has for all.
    let set = DefaultCongestion::set(&[&host]).unwrap();
    assert!(["cubic", "reno"].contains(&&*value("ipv4/tcp_congestion_control")));
    drop(set);
    assert_eq!(value("ipv4/conf/all/rp_filter"), "0");
    assert!(value("ipv4/ping_group_range").starts_with("0 "));
    sysctl::set(&host, "net.ipv4.tcp_no_metrics_save", "0").unwrap();
    assert_eq!(value("ipv4/tcp_no_metrics_save"), "0");
    let error = sysctl::set(&host, "net.ipv4.nonsense", "1").unwrap_err().to_string();
    assert!(error.contains("net.ipv4.nonsense"), "{error}");
}

fn a_cable_is_as_asked() {
    let fabric = Namespace::new().unwrap();
    let host = host(&fabric, &Settings { mtu: 9000, ..settings("f0", 7) });
    assert_eq!(interfaces(&fabric), ["lo", "f0"]);
    let link = ["mtu 9000", "state UP", "link/ether 02:00:00:00:00:07", "gso_max_segs 1 "];
    assert_shown(&host, "ip -d link show eth0", &link);
    assert_shown(&host, "ip addr show eth0", &["inet 10.0.0.7/32"]);
    assert_shown(&host, "ip route", &["default dev eth0", "scope link", "src 10.0.0.7"]);
    assert_shown(&fabric, "ip -d link show f0", &["mtu 9000", "state UP", "addrgenmode none"]);
    assert!(!shown(&host, "ip -6 addr show eth0").contains("inet6"));
    assert!(!shown(&fabric, "ip addr show f0").contains("inet"));
}

fn cables_transmit_once_they_lie() {
    let (host, fabric) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    // The kernel notices the carrier of a veth late if its peer has the same index.
    for (interface, name) in (0..).zip(["f0", "f1", "f2", "f3"]) {
        let none = Routes::Only(&[]);
        let settings = Settings { interface, routes: none, ..settings(name, 1) };
        veth::lay(&host, &fabric, &settings).unwrap();
        // All at once: to ask for one would wake it.
        for end in [&host, &fabric] {
            let up = shown(end, "ip -o link").matches("state UP").count();
            assert_eq!(up, usize::from(interface) + 1, "after {name}");
        }
    }
}

fn an_ipv6_host_speaks_at_once() {
    let fabric = Namespace::new().unwrap();
    let tap = Tap::new(&fabric);
    let address: IpAddr = "fd00::1".parse().unwrap();
    let host = host(&fabric, &Settings { address, ..settings("f0", 1) });
    assert!(!shown(&host, "ip -6 addr show to fd00::1").contains("tentative"));
    let send = || UdpSocket::bind("[fd00::1]:20000")?.send_to(b"x", "[fd00::2]:9000");
    host.within(send).unwrap().unwrap();
    // A neighbour solicitation (RFC 4861) for fd00::2, from the host's address rather than from
    // none.
    let source = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let solicits = |frame: &[u8]| frame.get(54) == Some(&135);
    let frame = tap.next(SOON, solicits).expect("no neighbour solicitation came");
    assert_eq!(frame[22..38], source);
    assert_eq!(frame[62..78], [&source[..15], &[2]].concat());
}

fn a_host_of_two_cables_sends_by_the_route() {
    let fabric = Namespace::new().unwrap();
    let [near, far] = [IpAddr::from([10, 0, 0, 8]), IpAddr::from([10, 0, 0, 9])];
    let host = host(&fabric, &Settings { routes: Routes::Only(&[near]), ..settings("f0", 1) });
    let own_address = Some(IpAddr::from([10, 64, 0, 1]));
    let second = Settings { interface: 1, routes: Routes::Only(&[far]), ..settings("f1", 1) };
    let second = Settings { own_address, ..second };
    let cable = veth::lay(&host, &fabric, &second).unwrap();
    assert_shown(&host, "ip -o link", &[&format!("{}: eth1@", cable.host_index)]);
    assert_shown(&fabric, "ip -o link", &[&format!("{}: f1@", cable.fabric_index)]);
    assert_shown(&host, "ip route get 10.0.0.8", &["dev eth0", "src 10.0.0.1"]);
    assert_shown(&host, "ip route get 10.0.0.9", &["dev eth1", "src 10.0.0.1"]);
    // What comes from the interface's own address leaves by it, wherever it goes.
    assert_shown(&host, "ip route get 10.0.0.8 from 10.64.0.1", &["dev eth1"]);
    assert_shown(&host, "ip route get 10.0.0.8 from 10.0.0.1", &["dev eth0"]);
}

fn super_frames_are_cut_where_asked() {
    const SEGMENT: i32 = 1000;
    const HEADERS: usize = 14 + 20 + 8;
    let lengths = |segmentation| {
        let fabric = Namespace::new().unwrap();
        let host = host(&fabric, &Settings { segmentation, ..settings("f0", 1) });
        let (socket, tap) = (towards_nobody(&host), Tap::new(&fabric));
        setsockopt(&socket, sockopt::UdpGsoSegment, &SEGMENT).unwrap();
        socket.send(&[0; 5 * SEGMENT as usize]).unwrap();
        let patience = Duration::from_millis(200);
        let frames: Vec<_> = std::iter::from_fn(|| tap.next(patience, is_udp4)).collect();
        // A whole frame's checksum is right; a super-frame's is left to who cuts it.
        let are_whole = segmentation != Segmentation::Reader;
        assert_eq!(frames.iter().all(|frame| has_right_checksum(frame)), are_whole);
        frames.iter().map(|frame| frame.len() - HEADERS).collect::<Vec<_>>()
    };
    assert_eq!(lengths(Segmentation::Tcp), [1000; 5]);
    assert_eq!(lengths(Segmentation::InQueue), [1000; 5]);
    assert_eq!(lengths(Segmentation::BehindQueue(5)), [1000; 5]);
    assert_eq!(lengths(Segmentation::Reader), [5000]);
}

/// Whether the checksum of UDP over IPv4 is right (RFC 768).
fn has_right_checksum(frame: &[u8]) -> bool {
    let datagram = &frame[34..];
    let pairs = [&frame[26..34], datagram].concat();
    let words = pairs
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low)));
    let sum: u64 = words.sum::<u64>() + 17 + datagram.len() as u64;
    sum != 0 && sum.is_multiple_of(0xffff)
}

fn the_kernel_holds_a_host_to_its_line() {
    // A frame of 1000 bytes lasts 8.192 ms; 20 fit into the queue and 2 into the burst.
    let rate = Rate::from_bits_per_second(1_000_000).unwrap();
    let line =
        Line { rate, overhead: 24, limit: Bytes(20_000), punctual: false, burst: Some(2_048) };
    let fabric = Namespace::new().unwrap();
    let host = Namespace::new().unwrap();
    let settings = Settings { line: Some(line), ..settings("f0", 1) };
    let cable = veth::lay(&host, &fabric, &settings).unwrap();
    assert!(cable.shaped, "this kernel has no TBF");
    let parts = ["tbf 1: root", "rate 1Mbit", "overhead 24", "mpu 84b", "ethernet"];
    assert_shown(&host, "tc -d qdisc show dev eth0", &parts);
    let (socket, tap) = (towards_nobody(&host), Tap::new(&fabric));
    let clock = Clock::starting_in(Duration::ZERO);
    for _ in 0..40 {
        socket.send(&[0; 1000 - 42]).unwrap();
    }
    let sent_in = clock.now().as_us() as u32;
    let arrived = std::iter::from_fn(|| tap.next(SOON, is_udp4)).count() as u32;
    // While the frames were sent, some may have left.
    let spare = 2 + sent_in / 8_192;
    assert!((22..=22 + spare).contains(&arrived), "{arrived} frames of 40 came");
    // The last wait was in vain; of the rest, the burst and a frame at either end took no time.
    let ended = clock.now().as_us() - SOON.as_micros() as u64;
    let least = 8_192 * u64::from(arrived - 3);
    assert!(ended >= least, "{arrived} frames came in {ended} us, which is above the rate");
}

/// The fabric's kernel as a router that answers ARP for the hosts.
fn hosts_exchange_bytes_over_the_fabric() {
    let fabric = Namespace::new().unwrap();
    let near = host(&fabric, &settings("f0", 1));
    let far = host(&fabric, &settings("f1", 2));
    sysctl::set(&fabric, "net.ipv4.ip_forward", "1").unwrap();
    sysctl::set(&fabric, "net.ipv4.conf.all.proxy_arp", "1").unwrap();
    shown(&fabric, "ip route add 10.0.0.1 dev f0 && ip route add 10.0.0.2 dev f1");
    let listener = far.within(|| TcpListener::bind("10.0.0.2:9000")).unwrap().unwrap();
    let sent: Vec<u8> = (0..5_000_000u32).map(|n| (n % 251) as u8).collect();
    let copy = sent.clone();
    let writer = thread::spawn(move || {
        let stream = near.within(|| TcpStream::connect("10.0.0.2:9000")).unwrap();
        stream.unwrap().write_all(&copy).unwrap();
        near
    });
    let (mut stream, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), IpAddr::from([10, 0, 0, 1]));
    assert!(peer.port() >= 61_000, "a flow of the plan may have port {}", peer.port());
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(received == sent, "{} bytes of {} came, or others", received.len(), sent.len());
    writer.join().unwrap();
}

fn receive_processing_is_steered() {
    let fabric = Namespace::new().unwrap();
    let host = Namespace::new().unwrap();
    let steered = Settings { receive_cpus: &[0], ..settings("f0", 1) };
    if !veth::lay(&host, &fabric, &steered).unwrap().steered {
        return println!("  not looked at: this kernel has no net.core.rps_default_mask");
    }
    let none = Routes::Only(&[]);
    let plain = Settings { interface: 1, routes: none, ..settings("f1", 1) };
    assert!(!veth::lay(&host, &fabric, &plain).unwrap().steered);
    let mask = |name| {
        let read =
            format!("mount -t sysfs s /sys && cat /sys/class/net/{name}/queues/rx-0/rps_cpus");
        let text = shown(&host, &format!("unshare -m sh -c '{read}'"));
        u64::from_str_radix(text.trim(), 16).unwrap()
    };
    assert_eq!((mask("eth0"), mask("eth1")), (1, 0));
}

fn what_is_unfit_is_reported() {
    let (host, fabric) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let lay = |settings: Settings| veth::lay(&host, &fabric, &settings).unwrap_err();
    let six = "fd00::1".parse().unwrap();
    for wrong in [
        Settings { mtu: 67, ..settings("f0", 1) },
        Settings { mtu: 65_536, ..settings("f0", 1) },
        Settings { mtu: 1_279, address: six, ..settings("f0", 1) },
    ] {
        let error = lay(wrong);
        assert!(matches!(error, Error::Unfit { .. }), "{error}");
        assert!(error.to_string().contains("MTU"), "{error}");
    }
    veth::lay(&host, &fabric, &settings("f0", 1)).unwrap();
    let error = lay(settings("f1", 1)).to_string();
    assert!(error.starts_with("create a veth pair (eth0 to f1): File exists"), "{error}");
}

/// Waits for the kernel to take an interface away, which it does soon after its namespace is gone.
fn assert_gone(namespace: &Namespace, name: &str) {
    for _ in 0..1_000 {
        if !interfaces(namespace).iter().any(|found| found == name) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{name} is still there");
}

fn nothing_stays_when_namespaces_are_dropped() {
    let start = Namespace::new().unwrap();
    let build = || {
        let fabric = Namespace::new().unwrap();
        (host(&fabric, &settings("f0", 1)), fabric)
    };
    let (host, fabric) = start.within(build).unwrap();
    assert_eq!(interfaces(&start), ["lo"]);
    // A veth goes when its peer's namespace does, so that of a dropped host is gone.
    drop(host);
    assert_gone(&fabric, "f0");
}

/// The argument that makes this program the process to be killed.
const VICTIM: &str = "victim";

/// Builds a lab of two hosts, one with a cable to the namespace where it was started, and waits.
fn victim() {
    let witness = Namespace::current().unwrap();
    let fabric = Namespace::new().unwrap();
    let near = host(&fabric, &settings("f0", 1));
    let far = host(&fabric, &settings("f1", 2));
    let none = Routes::Only(&[]);
    let second = |number| Settings { interface: 1, routes: none, ..settings("w0", number) };
    veth::lay(&near, &witness, &second(3)).unwrap();
    veth::lay(&far, &witness, &Settings { fabric_interface: "w1", ..second(4) }).unwrap();
    println!("ready");
    thread::sleep(Duration::from_secs(600));
}

fn nothing_stays_of_a_killed_process() {
    let witness = Namespace::new().unwrap();
    let start = || Command::new("/proc/self/exe").arg(VICTIM).stdout(Stdio::piped()).spawn();
    let mut child = witness.within(start).unwrap().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(interfaces(&witness), ["lo", "w0", "w1"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&witness, "w0");
    assert_gone(&witness, "w1");
}

//! A program with several connections sets the options of each while they are open.

use std::sync::{Arc, Mutex};

use applications::sink::{Reader, Sink};
use base::{Duration, FlowId, HostId, Instant, Rate};
use network::application::{Application, SocketEvent, SocketId, Sockets};
use network::host::{SocketConfig, SocketKind};
use simulate::{Engine, World};
use transport::{OptionError, Profile, SocketOption};

use crate::driver;

const TEXT: &str = r#"
duration = "4 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
"#;

type Answers = Arc<Mutex<Vec<Result<(), OptionError>>>>;

/// Paces its first connection from its start and its second from the second second on; the third has BBR before it
/// connects.
#[derive(Debug)]
struct Program {
    next: Instant,
    answers: Answers,
}

fn pace(megabits: u64) -> SocketOption {
    SocketOption::PacingRate(Rate::from_bits_per_second(megabits * 1_000_000).expect("not 0"))
}

impl Program {
    fn set(&self, socket: u32, option: &SocketOption, sockets: &mut dyn Sockets) {
        let answer = sockets.set_option(SocketId(socket), option);
        self.answers.lock().expect("nobody panics").push(answer);
    }
}

impl Application for Program {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        match event {
            SocketEvent::Timer if sockets.now() < Instant::ZERO + Duration::from_secs(1) => {
                let bbr = congestion::Algorithm::by_name("bbr").expect("an algorithm");
                self.set(2, &SocketOption::Congestion(bbr.into()), sockets);
                (0..3).for_each(|socket| sockets.connect(SocketId(socket)));
                self.next = Instant::ZERO + Duration::from_secs(1);
            }
            SocketEvent::Timer => {
                self.set(1, &pace(16), sockets);
                self.set(1, &SocketOption::RestoreWindow("none".into()), sockets);
                self.next = Instant::NEVER;
            }
            SocketEvent::Connected(socket) => {
                if socket.0 == 0 {
                    self.set(0, &pace(8), sockets);
                }
                sockets.write(socket, u64::MAX);
            }
            _ => {}
        }
    }

    fn next_wakeup(&self) -> Instant {
        self.next
    }
}

#[test]
fn each_connection_has_its_own_options_from_when_they_are_set() {
    let plan = driver::plan(TEXT);
    let mut world = World::new(&plan).expect("a world");
    let tcp = Arc::new(Profile::by_name("linux-6").expect("a profile").config());
    let socket = |number: u32, connects: bool| {
        let (local, peer) = if connects { (0, 1) } else { (1, 0) };
        let (flow, isn) = (FlowId(number), 1_000 * number);
        let (local, peer) = (HostId(local), HostId(peer));
        let kind = SocketKind::Connection { isn, connects, tcp: tcp.clone() };
        SocketConfig { flow, port: 0, local, peer, priority: None, kind }
    };
    let answers = Answers::default();
    let next = Instant::ZERO + Duration::from_ms(1);
    let program = Program { next, answers: answers.clone() };
    let [a, b] = &mut world.nodes[..] else { panic!("two hosts") };
    let (a, b) = (a.as_host_mut().expect("a host"), b.as_host_mut().expect("a host"));
    a.add(0, Box::new(program), (0..3).map(|number| socket(number, true)));
    b.add(
        0,
        Box::new(Sink::new(Reader { rate: None })),
        (0..3).map(|number| socket(number, false)),
    );
    let mut engine = Engine::new(world);
    let mut read_until = |second: u64| {
        engine.run_until(Instant::ZERO + Duration::from_secs(second), &mut ());
        let host = engine.world().nodes[1].as_host().expect("a host");
        [0, 1, 2].map(|flow| host.progress(FlowId(flow)).expect("it ends here").0)
    };
    let [first, last] = [read_until(1), read_until(4)];
    // Frames carry 1448 bytes of payload; the pace is of that.
    let paced = |bytes: u64, megabits: u64, seconds: u64| {
        let most = megabits * 125_000 * seconds;
        assert!((most * 9 / 10..=most * 21 / 20).contains(&bytes), "{bytes} of {most}");
    };
    paced(last[0], 8, 4);
    paced(last[1] - first[1], 16, 3);
    assert!(first[1] > 2 * first[0], "{first:?}");
    // The third takes what they leave.
    assert!(last[2] - first[2] > 3 * 60 * 125_000, "{first:?} {last:?}");
    let none = OptionError::NotSaved("none".into());
    let answers = answers.lock().expect("nobody panics");
    assert_eq!(*answers, [Ok(()), Ok(()), Ok(()), Err(none)]);
}

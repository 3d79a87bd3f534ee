//! Phases and what else MPI programs take, in the running kernel: what is enabled is what unprivileged programs get, each
//! entry of a phase does as the native text of `phases.h` does, and nothing is left behind.
//!
//! Needs root, BTF and clang; without them the tests say what they lack and pass.
#![cfg(feature = "bpf")]

#[path = "../../../congestion/build/bpf.rs"]
mod bpf;
mod connection;
mod watch;

use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::MutexGuard;
use std::time::Duration;

use congestion::{Algorithm, Config, Phases};
use connection::{Connection, as_user};
use host::mpi::{self, ALGORITHM, Settings};
use host::option::{Adopt, adopt, enter_phase};
use watch::Watch;

const AGE_MAX_MS: u32 = 300_000;
/// The number of phases kept: ages do not matter.
const PHASES: u32 = congestion::PHASES_MAX as u32;
const SWAPS: u32 = 10_000;
/// Two users who are not root.
const USERS: [u32; 2] = [54_321, 54_322];

/// What is enabled for a test; nothing else is meanwhile.
struct Enabled(#[expect(dead_code)] MutexGuard<'static, ()>);

impl Enabled {
    fn new(settings: &Settings) -> Self {
        let alone = testbed::alone();
        mpi::disable().expect("root may");
        mpi::enable(settings).expect("root may");
        Self(alone)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        assert!(mpi::disable().expect("root may"), "it was there until here");
    }
}

fn lacks(test: &str) -> bool {
    if testbed::lacks(test, &["clang"]) {
        return true;
    }
    let has_btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !has_btf {
        testbed::skip(test, "it needs a kernel with BTF (CONFIG_DEBUG_INFO_BTF)");
    }
    !has_btf
}

fn paced_cubic() -> Settings {
    let mut congestion = Config::from(Algorithm::by_name("cubic").expect("it is ours"));
    congestion.set("restart", 1).expect("within its range");
    Settings { congestion, rto_min: Some(Duration::from_millis(12)), cgroup: None }
}

fn phase(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("phases are numbered from 1")
}

/// Numbers without a pattern (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(bound)) as u32
    }
}

#[test]
fn each_of_ten_thousand_swaps_is_as_the_native_text_has_it() {
    if lacks("the swaps of phases") {
        return;
    }
    let enabled = Enabled::new(&paced_cubic());
    let watch = Watch::new();
    let mut connection = Connection::new();
    let (mut phases, mut draw, mut entered) = (Phases::default(), Draw(1), 0);
    adopt(connection.fd(), Adopt::ALL).expect("it is enabled");
    for swap in 0..SWAPS {
        match draw.below(16) {
            0 => connection.exchange(100_000),
            1 => watch.set_threshold(connection.fd(), 20 + draw.below(1_000)),
            _ => {}
        }
        let number = phase(1 + draw.below(PHASES));
        let mut expected = connection.sock();
        entered += u64::from(phases.enter(&mut expected, number, 10, AGE_MAX_MS));
        let state = watch.state(connection.fd());
        enter_phase(connection.fd(), number, AGE_MAX_MS).expect("it is enabled");
        let found = connection.sock();
        assert_eq!(
            (found.cwnd, found.ssthresh),
            (expected.cwnd, expected.ssthresh),
            "swap {swap} to phase {number}"
        );
        assert_eq!(watch.state(connection.fd()), state, "swap {swap}: the algorithm goes on");
    }
    assert_eq!(connection.algorithm(), ALGORITHM);
    let counts = mpi::counts().expect("root may");
    assert_eq!((counts.phases_entered, counts.refused), (entered, 0));
    assert!(entered > u64::from(SWAPS) * 9 / 10, "{entered}");
    drop(enabled);
}

#[test]
fn two_users_have_it_at_once_and_each_its_own() {
    if lacks("the two users") {
        return;
    }
    let enabled = Enabled::new(&paced_cubic());
    let watch = Watch::new();
    // Each connection is its user's; the thresholds are given by root.
    let mut connections = [Connection::new(), Connection::new()];
    for (connection, user) in connections.iter_mut().zip(USERS) {
        as_user(user, || {
            adopt(connection.fd(), Adopt::ALL).expect("anybody may");
            enter_phase(connection.fd(), phase(1), AGE_MAX_MS).expect("anybody may");
        });
        assert_eq!(connection.algorithm(), ALGORITHM);
        // The variance that the timeout began with is left behind by a quarter each round trip.
        (0..30).for_each(|_| connection.exchange(1_000));
        let rto_us = connection.rto_us();
        assert!((12_000..40_000).contains(&rto_us), "{rto_us}: in place of 200 ms and more");
        watch.set_threshold(connection.fd(), user % 1_000);
    }
    let thresholds = |connections: &[Connection]| {
        connections.iter().map(|connection| connection.sock().ssthresh).collect::<Vec<_>>()
    };
    assert_eq!(thresholds(&connections), [321, 322]);
    std::thread::scope(|scope| {
        for (connection, user) in connections.iter().zip(USERS) {
            scope.spawn(move || {
                as_user(user, || {
                    for number in [2, 1, 2, 3, 2, 1].into_iter().cycle().take(6_000) {
                        enter_phase(connection.fd(), phase(number), AGE_MAX_MS)
                            .expect("anybody may");
                    }
                });
            });
        }
    });
    assert_eq!(thresholds(&connections), [321, 322], "phase 1 is the last");
    drop(enabled);
}

#[test]
fn what_cannot_be_is_refused_and_what_is_disabled_is_gone() {
    if lacks("what is left of phases") {
        return;
    }
    let settings = paced_cubic();
    let enabled = Enabled::new(&settings);
    let connection = Connection::new();
    let error = |result: std::io::Result<()>| result.expect_err("refused").raw_os_error();
    assert!(matches!(mpi::enable(&settings), Err(host::Error::Enabled(_))));
    // An unconnected socket, and one that is not TCP, which the kernel answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    assert_eq!(error(enter_phase(listener.as_fd(), phase(1), 1)), Some(libc::ENOTCONN));
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    assert_eq!(error(adopt(datagrams.as_fd(), Adopt::ALL)), Some(libc::ENOPROTOOPT));
    // The kernel's own algorithm has phases, too.
    connection.set_algorithm("reno");
    enter_phase(connection.fd(), phase(1), 1).expect("it is enabled");
    assert_eq!(connection.algorithm(), "reno");
    assert_eq!(mpi::counts().expect("root may").refused, 1);
    // A program that is killed within a phase.
    adopt(connection.fd(), Adopt::ALL).expect("it is enabled");
    drop(enabled);
    assert_eq!(error(enter_phase(connection.fd(), phase(2), 1)), Some(libc::ENOPROTOOPT));
    assert_eq!(connection.algorithm(), ALGORITHM, "a connection keeps what it has");
    drop(connection);
    assert!(!Path::new(mpi::FOLDER).exists());
    testbed::eventually("the algorithms are gone", || {
        let known = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let known = std::fs::read_to_string(known).expect("it is Linux");
        !known.contains("sui_mpi") && !known.contains("sui_phase")
    });
    assert!(matches!(mpi::counts(), Err(host::Error::NotEnabled)));
}

#[test]
fn a_floor_that_the_kernel_does_not_take_is_reported_and_nothing_is_left() {
    if lacks("the floor") {
        return;
    }
    let _alone = testbed::alone();
    mpi::disable().expect("root may");
    let settings = Settings { rto_min: Some(Duration::from_secs(2)), ..paced_cubic() };
    assert!(matches!(mpi::enable(&settings), Err(host::Error::Setting { .. })));
    assert!(!Path::new(mpi::FOLDER).exists());
    // Users without root get an error.
    as_user(USERS[0], || {
        assert!(matches!(mpi::enable(&paced_cubic()), Err(host::Error::Rights { .. })));
    });
}

//! A connection over loopback, and what the kernel reports about it.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use congestion::{INFINITE_SSTHRESH, PRIVATE_BYTES, Sock, State};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

/// Both ends; the tests look at the first.
pub(crate) struct Connection {
    sender: TcpStream,
    receiver: TcpStream,
}

impl Connection {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
        let (receiver, _) = listener.accept().expect("it connected");
        Self { sender, receiver }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.sender.as_fd()
    }

    /// Sends, and waits until all is acknowledged.
    pub(crate) fn exchange(&mut self, bytes: usize) {
        let data = vec![1; bytes];
        let mut received = vec![0; bytes];
        std::thread::scope(|scope| {
            let sender = &mut self.sender;
            scope.spawn(move || sender.write_all(&data).expect("it is open"));
            self.receiver.read_exact(&mut received).expect("it is open");
        });
        testbed::eventually("all is acknowledged", || self.info().tcpi_unacked == 0);
    }

    fn info(&self) -> libc::tcp_info {
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: a structure of numbers may be zero, and the kernel writes no more than `length`.
        unsafe {
            let mut info: libc::tcp_info = std::mem::zeroed();
            let (level, option) = (libc::SOL_TCP, libc::TCP_INFO);
            let to = (&raw mut info).cast();
            let result =
                libc::getsockopt(self.sender.as_raw_fd(), level, option, to, &raw mut length);
            assert_eq!(result, 0, "TCP_INFO");
            info
        }
    }

    pub(crate) fn rto_us(&self) -> u32 {
        self.info().tcpi_rto
    }

    /// The view of it, as far as phases see it; nothing is in flight.
    pub(crate) fn sock(&self) -> Sock {
        let info = self.info();
        assert_eq!((info.tcpi_unacked, u32::from(info.tcpi_ca_state)), (0, State::Open as u32));
        Sock {
            cwnd: info.tcpi_snd_cwnd,
            ssthresh: info.tcpi_snd_ssthresh.min(INFINITE_SSTHRESH),
            cwnd_cnt: 0,
            cwnd_clamp: u32::MAX,
            prior_cwnd: 0,
            mss: info.tcpi_snd_mss,
            in_flight: 0,
            cwnd_limited: 0,
            srtt_us8: 0,
            min_rtt_us: u32::MAX,
            snd_una: 0,
            snd_nxt: 0,
            state: State::Open as u32,
            delivered: 0,
            jiffies: 0,
            last_sent: 0,
            gso_max: 0,
            delivered_ce: 0,
            rcv_nxt: 0,
            ack_prior: 0,
            lost: 0,
            sack: 1,
            hz: 250,
            paced: 0,
            echo_ce: 0,
            ack_now: 0,
            pacing_rate: 0,
            now_us: 0,
            private: [0; PRIVATE_BYTES / 8],
        }
    }

    pub(crate) fn algorithm(&self) -> String {
        let name = getsockopt(&self.sender, sockopt::TcpCongestion).expect("Linux");
        name.to_string_lossy().trim_end_matches('\0').to_owned()
    }

    pub(crate) fn set_algorithm(&self, name: &str) {
        setsockopt(&self.sender, sockopt::TcpCongestion, &OsString::from(name)).expect("root may");
    }
}

/// Does `work` by a thread that is that user's, without rights.
pub(crate) fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> T {
    let of_user = || {
        // SAFETY: the system call itself changes the calling thread alone, which ends with it.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) };
        assert_eq!(result, 0, "root may");
        work()
    };
    std::thread::scope(|scope| scope.spawn(of_user).join()).expect("it said why")
}

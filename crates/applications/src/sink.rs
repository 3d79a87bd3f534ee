//! The program that reads and drops received data: at once, or at a rate.

use base::setting::settings;
use base::units::Serializer;
use base::{Bytes, Instant, Rate};
use network::application::{Application, SocketEvent, SocketId, Sockets};

settings! {
    required: rate;
    /// Reading of the receiving program: as data arrives, or at a limited rate.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Reader {
        /// Rate at which the program reads.
        pub rate: Option<Rate>,
    }
}

/// The bytes that a slow reader takes at a time: a page.
const READ_MAX: u64 = 4096;

/// The program that reads.
#[derive(Debug)]
pub struct Sink {
    /// The rate; `None` reads data as it arrives.
    rate: Option<Serializer>,
    /// Whether there may be something to read.
    ready: bool,
    /// The time until which it processes what it has read.
    busy_until: Instant,
}

impl Sink {
    /// A program without a connection so far.
    pub fn new(reader: Reader) -> Self {
        let rate = reader.rate.map(Serializer::new);
        Self { rate, ready: false, busy_until: Instant::ZERO }
    }

    /// Reads as much as its rate allows until now.
    fn read(&mut self, sockets: &mut dyn Sockets) {
        let (socket, now) = (SocketId::ONLY, sockets.now());
        let Some(rate) = &mut self.rate else { return };
        while self.ready && now >= self.busy_until {
            let got = sockets.read(socket, READ_MAX);
            self.busy_until += rate.advance(Bytes(got));
            self.ready = sockets.is_readable(socket);
        }
    }
}

impl Application for Sink {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        match event {
            SocketEvent::Accepted(socket) if self.rate.is_none() => sockets.read_always(socket),
            SocketEvent::Readable(_) => {
                if !self.ready {
                    self.ready = true;
                    self.busy_until = self.busy_until.max(sockets.now());
                }
                self.read(sockets);
            }
            SocketEvent::Timer => self.read(sockets),
            SocketEvent::PeerClosed(socket) => sockets.close(socket),
            _ => {}
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.ready { self.busy_until } else { Instant::NEVER }
    }
}

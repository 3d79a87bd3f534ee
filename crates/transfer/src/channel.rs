//! One TCP connection of a transfer: plain, or TLS by this process or by the kernel. Blocking, with a deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::error::Error;
use crate::ktls;
use crate::socket;
use crate::tls::{Tls, is_untrusted};

/// How long a peer may take for the handshake.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);

/// The most bytes of TLS records that wait to be written.
const RECORDS: usize = 256 << 10;

/// One connection.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: TcpStream,
    layer: Layer,
    /// The deadline for what is read next, however slowly data arrives.
    deadline: Option<Instant>,
    /// How long the peer may be silent.
    timeout: Duration,
    /// Bytes that the peer had acknowledged at the last check, where acknowledgements count as a sign of life.
    acked: Option<u64>,
}

/// The layer between the socket and the protocol.
#[derive(Debug)]
enum Layer {
    /// No encryption.
    Plain,
    /// TLS by this process.
    Program(Box<Connection>),
    /// TLS by the kernel: the socket takes and gives plain text.
    Kernel,
}

impl Channel {
    /// A connection without encryption.
    pub(crate) const fn plain(socket: TcpStream) -> Self {
        Self { socket, layer: Layer::Plain, deadline: None, timeout: HANDSHAKE, acked: None }
    }

    /// The connecting side of an encrypted one, after its handshake.
    ///
    /// # Errors
    /// If the peer's key is not one that `config` takes, or no TLS comes within ten seconds.
    pub(crate) fn connect(socket: TcpStream, config: &Arc<ClientConfig>) -> Result<Self, Error> {
        // It contains no names: the keys are trusted.
        let name = ServerName::try_from("suimon").map_err(|_| Error::Protocol("no name"))?;
        let tls = ClientConnection::new(Arc::clone(config), name).map_err(Error::Tls)?;
        Self::handshake(socket, Connection::Client(tls))
    }

    /// The accepting side of an encrypted one, after its handshake.
    ///
    /// # Errors
    /// If the peer's key is not one that `config` takes, or no TLS comes within ten seconds.
    pub(crate) fn accept(socket: TcpStream, config: &Arc<ServerConfig>) -> Result<Self, Error> {
        let tls = ServerConnection::new(Arc::clone(config)).map_err(Error::Tls)?;
        Self::handshake(socket, Connection::Server(tls))
    }

    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    fn handshake(mut socket: TcpStream, mut tls: Connection) -> Result<Self, Error> {
        let deadline = Instant::now() + HANDSHAKE;
        tls.set_buffer_limit(Some(RECORDS));
        while tls.is_handshaking() || tls.wants_write() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Lost(io::ErrorKind::TimedOut.into()));
            }
            socket.set_read_timeout(Some(left)).map_err(Error::Lost)?;
            socket.set_write_timeout(Some(left)).map_err(Error::Lost)?;
            if tls.wants_write() {
                tls.write_tls(&mut socket).map_err(Error::Lost)?;
                continue;
            }
            if tls.read_tls(&mut socket).map_err(Error::Lost)? == 0 {
                return Err(Error::Lost(io::ErrorKind::UnexpectedEof.into()));
            }
            if let Err(error) = tls.process_new_packets() {
                // The alert gives the peer the reason. If it does not arrive, nothing changes.
                let _ = tls.write_tls(&mut socket);
                return Err(if is_untrusted(&error) {
                    Error::Untrusted
                } else {
                    Error::Tls(error)
                });
            }
        }
        let layer = Layer::Program(Box::new(tls));
        Ok(Self { socket, layer, deadline: None, timeout: HANDSHAKE, acked: None })
    }

    /// Lets the kernel encrypt and decrypt from here on; no data may be under way.
    ///
    /// # Errors
    /// The inner error, if the kernel has no TLS: then this process continues to encrypt. The outer error, if the
    /// connection is lost by the attempt.
    pub(crate) fn leave_to_kernel(&mut self) -> Result<io::Result<()>, Error> {
        if let Err(error) = ktls::ask(&self.socket) {
            return Ok(Err(error));
        }
        if let Layer::Program(tls) = std::mem::replace(&mut self.layer, Layer::Kernel) {
            let secrets = tls.dangerous_extract_secrets().map_err(Error::Tls)?;
            ktls::hand_over(&self.socket, &secrets).map_err(|source| Error::Setting {
                what: "TLS by the kernel".into(),
                source,
                help: "encrypt in the program: `--tls program`".into(),
            })?;
        }
        Ok(Ok(()))
    }

    /// Limits the time for everything that is read until [`Channel::set_timeout`] to `time`.
    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    pub(crate) fn set_deadline(&mut self, time: Duration) {
        self.deadline = Some(Instant::now() + time);
    }

    /// Sets the socket's timeout so that the next read ends at the deadline.
    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    fn hurry(&self) -> io::Result<()> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))
    }

    /// Makes the connection count as lost when the peer is silent for `timeout`.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.deadline = None;
        self.timeout = timeout;
        self.socket.set_read_timeout(Some(timeout)).map_err(Error::Lost)?;
        self.socket.set_write_timeout(Some(timeout)).map_err(Error::Lost)
    }

    /// Lets the peer be silent from here on while more of the data that was written to it arrives there.
    pub(crate) fn expect_progress(&mut self) {
        self.acked = Some(socket::acked(&self.socket));
    }

    /// Returns whether the peer has acknowledged more since the last check.
    fn has_progressed(&mut self) -> bool {
        let Some(before) = self.acked else { return false };
        let now = socket::acked(&self.socket);
        self.acked = Some(now);
        now > before
    }

    /// How long the peer may be silent.
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The socket.
    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Returns the socket, if data is written to it unchanged: without encryption in this process.
    pub(crate) fn bare_socket(&self) -> Option<BorrowedFd<'_>> {
        (!matches!(self.layer, Layer::Program(_))).then(|| self.socket.as_fd())
    }

    /// Whether it is encrypted, and by whom.
    pub(crate) const fn tls(&self) -> Option<Tls> {
        match self.layer {
            Layer::Plain => None,
            Layer::Program(_) => Some(Tls::Program),
            Layer::Kernel => Some(Tls::Kernel),
        }
    }

    /// Whether something can be read without waiting; true also at the end.
    pub(crate) fn is_readable(&mut self) -> Result<bool, Error> {
        loop {
            if let Layer::Program(tls) = &mut self.layer {
                let state = tls.process_new_packets().map_err(tls_error)?;
                if state.plaintext_bytes_to_read() > 0 || state.peer_has_closed() {
                    return Ok(true);
                }
            }
            let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            poll(&mut polled, PollTimeout::ZERO).map_err(|e| Error::Lost(e.into()))?;
            // Other events are notices of the kernel, of data sent without a copy.
            let readable = PollFlags::POLLIN | PollFlags::POLLHUP;
            let is_ready = polled[0].revents().is_some_and(|events| events.intersects(readable));
            let Layer::Program(tls) = &mut self.layer else { return Ok(is_ready) };
            if !is_ready {
                return Ok(false);
            }
            if tls.read_tls(&mut self.socket).map_err(Error::Lost)? == 0 {
                return Ok(true);
            }
        }
    }

    /// Announces that nothing more will be written.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        match &mut self.layer {
            Layer::Plain => {}
            Layer::Program(tls) => tls.send_close_notify(),
            Layer::Kernel => ktls::close(&self.socket).map_err(Error::Lost)?,
        }
        self.flush().map_err(Error::Lost)?;
        self.socket.shutdown(std::net::Shutdown::Write).map_err(Error::Lost)
    }
}

fn tls_error(error: rustls::Error) -> Error {
    if is_untrusted(&error) { Error::Untrusted } else { Error::Tls(error) }
}

/// Converts a timeout, which the system reports as "again".
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        return io::Error::new(io::ErrorKind::TimedOut, "the peer is silent");
    }
    error
}

impl Channel {
    fn read_once(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Layer::Program(tls) = &mut self.layer {
                match tls.reader().read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return done,
                }
            }
            self.hurry()?;
            let tls = match &mut self.layer {
                Layer::Plain => return self.socket.read(buffer),
                Layer::Kernel => return ktls::read(&self.socket, buffer),
                Layer::Program(tls) => tls,
            };
            if tls.read_tls(&mut self.socket)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            tls.process_new_packets().map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    if is_untrusted(&error) { Error::Untrusted } else { Error::Tls(error) },
                )
            })?;
        }
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_once(buffer) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && self.has_progressed() => {}
                done => return done.map_err(timed_out),
            }
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Layer::Program(tls) = &mut self.layer else {
            return self.socket.write(bytes).map_err(timed_out);
        };
        loop {
            let taken = tls.writer().write(bytes)?;
            if taken > 0 || bytes.is_empty() {
                return Ok(taken);
            }
            tls.write_tls(&mut self.socket).map_err(timed_out)?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Layer::Program(tls) = &mut self.layer {
            while tls.wants_write() {
                tls.write_tls(&mut self.socket).map_err(timed_out)?;
            }
        }
        Ok(())
    }
}

/// Converts an error of reading or writing a channel into a transfer's error.
pub(crate) fn lost(error: io::Error) -> Error {
    let is_ours = error.get_ref().is_some_and(|inner| inner.is::<Error>());
    if !is_ours {
        return Error::Lost(error);
    }
    match error.into_inner().map(|inner| inner.downcast::<Error>()) {
        Some(Ok(ours)) => *ours,
        _ => Error::Lost(io::ErrorKind::InvalidData.into()),
    }
}

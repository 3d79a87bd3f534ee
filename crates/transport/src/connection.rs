//! One end of a TCP connection: segments in, segments out, time as an argument.

use traffic::{FlowId, HostId, Instant, Packet};

use crate::config::Config;
use crate::info::Info;

/// What processing a segment took, for a host whose processor is modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Entries of the retransmission queue that a stack without a SACK cache would have walked.
    pub walked: u32,
    /// Whether the segment was a pure acknowledgement.
    pub pure_ack: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// The end that sends the SYN, at its first transmit opportunity.
    pub fn connect(
        _config: &Config,
        _flow: FlowId,
        _local: HostId,
        _peer: HostId,
        _isn: u32,
    ) -> Self {
        Self {}
    }
    /// The end that waits for a SYN.
    pub fn listen(
        _config: &Config,
        _flow: FlowId,
        _local: HostId,
        _peer: HostId,
        _isn: u32,
    ) -> Self {
        Self {}
    }
    /// A segment arrived.
    pub fn receive(&mut self, _packet: &Packet, _now: Instant) -> Work {
        Work::default()
    }
    /// Writes the next segment to send at `now` into `packet`, every field of it; false if there is none.
    pub fn poll_transmit(&mut self, _now: Instant, _packet: &mut Packet) -> bool {
        false
    }
    /// The interface's queue refused the segment that `poll_transmit` just gave.
    pub fn refused(&mut self, _packet: &Packet, _now: Instant) {}
    /// When [`Connection::wake`] wants to be called; `Instant::NEVER` if at no time.
    pub fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
    /// Its time has come: retransmission, delayed ACK, pacing and probe timers.
    pub fn wake(&mut self, _now: Instant) {}
    /// The application writes up to `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, _bytes: u64, _now: Instant) -> u64 {
        0
    }
    /// The application has written all it will: FIN follows the data.
    pub fn close(&mut self, _now: Instant) {}
    /// Bytes in order that the application may read.
    pub fn readable(&self) -> u64 {
        0
    }
    /// The application reads up to `bytes`; returns how many.
    pub fn read(&mut self, _bytes: u64, _now: Instant) -> u64 {
        0
    }
    /// A snapshot.
    pub fn info(&self) -> Info {
        Info::default()
    }
}

//! The messages of Linux's time-travel protocol (`include/linux/um_timetravel.h`). A guest and its calendar use them to
//! schedule which one runs, and until when.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

/// The operation of a message, by its number in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Acknowledges another message, by its sequence number.
    Acknowledge = 0,
    /// A guest's first message; its `time` is the number that the guest was given.
    Start = 1,
    /// A guest wants to run at `time`.
    Request = 2,
    /// A guest has nothing to do until the time that it requested.
    Wait = 3,
    /// A guest asks for the time.
    Get = 4,
    /// A guest's clock has advanced to `time`.
    Update = 5,
    /// A guest may run.
    Run = 6,
    /// A running guest may continue by itself until `time`.
    FreeUntil = 7,
    /// A guest asks for the time of day.
    TimeOfDay = 8,
}

impl Operation {
    const ALL: [Self; 9] = [
        Self::Acknowledge,
        Self::Start,
        Self::Request,
        Self::Wait,
        Self::Get,
        Self::Update,
        Self::Run,
        Self::FreeUntil,
        Self::TimeOfDay,
    ];
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) operation: Operation,
    pub(crate) sequence: u32,
    /// A time in nanoseconds, for most operations.
    pub(crate) time: u64,
}

/// Bytes of a message.
pub(crate) const LENGTH: usize = 16;

impl Message {
    /// The message's bytes as sent, in the machine's byte order.
    pub(crate) fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&(self.operation as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    /// Parses a message. The error is the number of an unknown operation.
    pub(crate) fn parse(bytes: [u8; LENGTH]) -> Result<Self, u32> {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        let number = u32::from_ne_bytes([a, b, c, d]);
        let operation = Operation::ALL.into_iter().find(|known| *known as u32 == number);
        let sequence = u32::from_ne_bytes([e, f, g, h]);
        Ok(Self { operation: operation.ok_or(number)?, sequence, time: u64::from_ne_bytes(time) })
    }
}

/// Receives the next message; `None` if the guest has closed the connection.
pub(crate) fn receive(mut from: &UnixStream) -> io::Result<Option<Message>> {
    let mut bytes = [0; LENGTH];
    match from.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(error) if is_end(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    let unknown = |number| io::Error::other(format!("operation {number} of time travel"));
    Message::parse(bytes).map(Some).map_err(unknown)
}

/// Sends a message. Returns false if the guest has closed the connection.
pub(crate) fn send(mut to: &UnixStream, message: Message) -> io::Result<bool> {
    match to.write_all(&message.bytes()) {
        Ok(()) => Ok(true),
        Err(error) if is_end(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the other side is gone.
pub(crate) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_kernels_layout() {
        let message = Message { operation: Operation::Run, sequence: 7, time: 1 << 40 };
        let mut bytes = [0_u8; LENGTH];
        bytes[0] = 6;
        bytes[4] = 7;
        bytes[13] = 1;
        assert_eq!(message.bytes(), bytes);
        assert_eq!(Message::parse(bytes), Ok(message));
        bytes[0] = 77;
        assert_eq!(Message::parse(bytes), Err(77));
    }

    #[test]
    fn every_operation_has_its_number() {
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
        }
    }
}

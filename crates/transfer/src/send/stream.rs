//! One connection of a sender: what is written next, and the file that was read last.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use super::TICK;
use crate::channel::{Channel, lost};
use crate::error::Error;
use crate::message::Message;
use crate::path::Mover;
use crate::wire;

/// Messages and small files are collected and written together at this number of bytes.
const WRITE: usize = 256 << 10;

/// One connection of a sender.
pub(super) struct Stream {
    pub(super) channel: Channel,
    pub(super) mover: Mover,
    /// The bytes to be written next.
    pub(super) out: Vec<u8>,
    /// The file that was opened last, with its number.
    last: Option<(u32, Arc<File>)>,
}

impl Stream {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, mover: Mover::default(), out: Vec::new(), last: None }
    }

    pub(super) fn write(&mut self, message: &Message) -> Result<(), Error> {
        message.encode(&mut self.out);
        if self.out.len() >= WRITE { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.channel.write_all(&self.out).and_then(|()| self.channel.flush()).map_err(lost)?;
        self.out.clear();
        Ok(())
    }

    /// Returns why it failed: the receiver's last message, if the connection was closed after that.
    pub(super) fn reason(&mut self, error: Error) -> Error {
        if !matches!(error, Error::Lost(_)) || self.channel.set_timeout(TICK).is_err() {
            return error;
        }
        loop {
            match wire::read(&mut self.channel) {
                Ok(Message::Failed { why }) => return Error::Peer(why),
                Ok(_) => {}
                Err(_) => return error,
            }
        }
    }

    /// The file of this number, opened unless it was the last one.
    pub(super) fn file(
        &mut self,
        number: u32,
        open: impl FnOnce() -> Result<io::Result<File>, Error>,
    ) -> Result<io::Result<Arc<File>>, Error> {
        if let Some((last, file)) = &self.last
            && *last == number
        {
            return Ok(Ok(Arc::clone(file)));
        }
        Ok(open()?.map(|file| {
            let file = Arc::new(file);
            self.last = Some((number, Arc::clone(&file)));
            file
        }))
    }
}

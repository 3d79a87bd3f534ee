//! One connection of a receiver: its messages and its chunks.

use std::fs::File;
use std::io::BufReader;

use super::Received;
use super::session::Shared;
use crate::channel::Channel;
use crate::choice::thread_time;
use crate::error::Error;
use crate::message::{ENTRIES_MAX, Entry, Hash, Message, NAMES_MAX};
use crate::root::LastFolder;
use crate::sink::{Sink, Taker};
use crate::store::Store;
use crate::wire;

/// Bytes that are read at once.
pub(super) const READ: usize = 128 << 10;

/// One connection's chunks.
pub(super) struct Stream {
    pub(super) peer: BufReader<Channel>,
    taker: Taker,
}

impl Stream {
    pub(super) fn new(channel: Channel) -> Self {
        Self { peer: BufReader::with_capacity(READ, channel), taker: Taker::default() }
    }

    /// The files and folders, all of them.
    pub(super) fn read_entries(&mut self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        loop {
            match wire::read(&mut self.peer)? {
                Message::Entries(more) => {
                    bytes += more.iter().map(|entry| entry.name.as_bytes().len()).sum::<usize>();
                    if entries.len() + more.len() > ENTRIES_MAX || bytes > NAMES_MAX {
                        return Err(Error::Limit("too many files"));
                    }
                    entries.extend(more);
                }
                Message::EntriesEnd => return Ok(entries),
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => {
                    return Err(Error::Protocol(
                        "another message before the end of the file names",
                    ));
                }
            }
        }
    }

    /// Receives messages until the peer closes the stream, or commits on the first one.
    pub(super) fn take_all(
        &mut self,
        store: &Store,
        shared: &Shared,
        is_first: bool,
    ) -> Result<Option<Received>, Error> {
        let mut last = LastFolder::default();
        let mut has_finished = false;
        loop {
            let Some(message) = wire::read_or_end(&mut self.peer)? else {
                if has_finished && !is_first {
                    return Ok(None);
                }
                return Err(Error::Lost(std::io::ErrorKind::UnexpectedEof.into()));
            };
            has_finished = message == Message::Finish;
            match message {
                Message::Data { entry, chunk, length, hash } => {
                    if store.chunk_length(entry, chunk)? != length {
                        return Err(Error::Protocol("a chunk with the wrong length"));
                    }
                    if self.take_chunk(store, shared, (entry, chunk, length), &hash, &mut last)? {
                        shared.meter.add(length.into());
                    } else {
                        self.reply(&Message::Resend { entry, chunk })?;
                    }
                }
                Message::Hole { entry, range } => store.take_hole(entry, range, &mut last)?,
                Message::Close { entry, unchanged } => store.close(entry, unchanged, &mut last)?,
                Message::Finish => self.reply(&Message::Finished)?,
                Message::Commit if is_first => {
                    let files = store.commit(&mut || self.reply(&Message::Busy))?;
                    self.send_refusals(store)?;
                    self.reply(&Message::Committed { files })?;
                    return Ok(Some(store.received(shared.choice.outcome())));
                }
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => return Err(Error::Protocol("an unexpected message")),
            }
            self.send_refusals(store)?;
        }
    }

    /// Notifies the sender of the files that cannot be received.
    fn send_refusals(&mut self, store: &Store) -> Result<(), Error> {
        let mut refusals = store.refusals().into_iter();
        refusals.try_for_each(|(entry, why)| self.reply(&Message::Refused { entry, why }))
    }

    /// Receives a chunk by the chosen way. Returns false if its content is wrong.
    fn take_chunk(
        &mut self,
        store: &Store,
        shared: &Shared,
        (entry, chunk, length): (u32, u64, u32),
        hash: &Hash,
        last: &mut LastFolder,
    ) -> Result<bool, Error> {
        let (sink, is_trial) = shared.choice.next();
        let began = if is_trial { thread_time() } else { 0 };
        let size = length as usize;
        let is_right = if sink == Sink::Splice && store.may_pass(entry)? {
            let (peer, taker) = (&mut self.peer, &mut self.taker);
            let pass = |file: &File, at| taker.pass(peer, size, file, at);
            store.take_unseen(entry, chunk, length, pass, last)?;
            true
        } else if let Some(place) = store.place(entry, chunk)? {
            let (peer, taker) = (&mut self.peer, &mut self.taker);
            let read = |each: &mut dyn FnMut(&[u8])| taker.read_pieces(peer, size, each);
            store.take_pieces(&place, hash, read, last)?
        } else {
            let bytes = self.taker.read(&mut self.peer, size, shared.rules.chunk as usize)?;
            store.take(entry, chunk, hash, bytes, last)?
        };
        if is_trial {
            shared.choice.tried(sink, thread_time().saturating_sub(began), size);
        }
        Ok(is_right)
    }

    fn reply(&mut self, message: &Message) -> Result<(), Error> {
        wire::send(self.peer.get_mut(), message)
    }
}

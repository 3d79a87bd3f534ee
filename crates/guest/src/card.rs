//! A guest's network card: virtio-net over vhost-user. Its rings are in shared memory; the calendar moves its frames.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::Ordering;

use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

use crate::vhost_user::{self, Request, request};

/// An Ethernet address.
pub type Address = [u8; 6];

/// The number of the guest's receive ring.
pub(crate) const RECEIVE: usize = 0;
/// The number of the guest's send ring.
pub(crate) const SEND: usize = 1;
/// The number of rings.
pub(crate) const RINGS: usize = 2;
/// The maximum number of slots of a ring, a power of two.
const RING_MAX: u16 = 256;
/// Bytes of the header before each frame (virtio 1.2, section 5.1.6).
const HEADER: usize = 12;
/// The offset of the number of buffers in that header.
const BUFFERS: usize = 10;
/// The maximum bytes of a frame: without offloads, a jumbo frame with tags.
const FRAME_MAX: usize = 1 << 16;
/// The flag in a ring that the guest wants no interrupt (VRING_AVAIL_F_NO_INTERRUPT).
const NO_INTERRUPT: u16 = 1;

/// Descriptors of one packet at most: two for headers, and `MAX_SKB_FRAGS` of Linux.
const PACKET_MAX: u16 = 2 + 17;

/// A network card.
#[derive(Debug)]
pub(crate) struct Card {
    listener: UnixListener,
    /// The connection for the guest's requests, once it has connected.
    pub(crate) requests: Option<UnixStream>,
    address: Address,
    mtu: u16,
    memory: GuestMemoryMmap,
    rings: [Queue; RINGS],
    /// The descriptors of each slot's frame that has not left, by slot, and their sum.
    slots: Vec<u16>,
    held: u16,
    frame: Vec<u8>,
    /// The rings with changes that the guest does not know yet, one bit per ring.
    pub(crate) changed_rings: u8,
    /// Frames for which the guest had no buffer.
    pub(crate) missed: u64,
}

impl Card {
    pub(crate) fn new(listener: UnixListener, address: Address, mtu: u16) -> Self {
        let ring = || Queue::new(RING_MAX).expect("a power of two");
        Self {
            listener,
            requests: None,
            address,
            mtu,
            memory: GuestMemoryMmap::new(),
            rings: [ring(), ring()],
            slots: vec![0; RING_MAX.into()],
            held: 0,
            frame: Vec::with_capacity(FRAME_MAX),
            changed_rings: 0,
            missed: 0,
        }
    }

    /// The socket to which the guest connects.
    pub(crate) const fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Accepts the guest's connection, or handles a request and answers it. Returns the connection if it is new.
    pub(crate) fn serve(&mut self) -> io::Result<Option<&UnixStream>> {
        let Some(requests) = self.requests.take() else {
            return Ok(Some(self.requests.insert(self.listener.accept()?.0)));
        };
        let mut asked = Request::default();
        if !asked.receive(&requests)? {
            return Ok(None);
        }
        match self.configure(&mut asked)? {
            Some(reply) => asked.answer(&requests, &reply),
            None => asked.done(&requests),
        }?;
        self.requests = Some(requests);
        Ok(None)
    }

    /// Carries out a request. Returns the reply, if it has one.
    fn configure(&mut self, asked: &mut Request) -> io::Result<Option<Vec<u8>>> {
        match asked.number {
            request::GET_FEATURES => {
                return Ok(Some(vhost_user::FEATURES.to_ne_bytes().to_vec()));
            }
            request::GET_PROTOCOL_FEATURES => {
                return Ok(Some(vhost_user::PROTOCOL_FEATURES.to_ne_bytes().to_vec()));
            }
            request::GET_CONFIG => return Ok(Some(self.settings(asked))),
            request::SET_MEM_TABLE => self.map(asked)?,
            request::SET_VRING_NUM => self.ring(asked)?.set_size(u16_of(asked.u32(4)?)?),
            request::SET_VRING_BASE => {
                let next = u16_of(asked.u32(4)?)?;
                let ring = self.ring(asked)?;
                ring.set_next_avail(next);
                ring.set_next_used(next);
            }
            request::SET_VRING_ADDR => self.place(asked)?,
            request::SET_VRING_ENABLE => {
                let enabled = asked.u32(4)? != 0;
                self.ring(asked)?.set_ready(enabled);
            }
            request::SET_FEATURES
            | request::SET_PROTOCOL_FEATURES
            | request::SET_OWNER
            | request::SET_VRING_KICK
            | request::SET_VRING_CALL
            | request::SET_CONFIG => {}
            other => return Err(io::Error::other(format!("request {other} of vhost-user"))),
        }
        Ok(None)
    }

    /// The ring whose number is the request's first field.
    fn ring(&mut self, asked: &Request) -> io::Result<&mut Queue> {
        let number = asked.u32(0)?;
        let none = || io::Error::other(format!("a card has no ring {number}"));
        self.rings.get_mut(number as usize).ok_or_else(none)
    }

    /// The answer to a request for `struct virtio_net_config`: the head of the request, then the requested bytes.
    fn settings(&self, asked: &Request) -> Vec<u8> {
        const ASKED_AT: usize = 12;
        let mut config = [0; 12];
        config[..6].copy_from_slice(&self.address);
        // The link is up, and there is one pair of rings.
        config[6] = 1;
        config[8] = 1;
        config[10..].copy_from_slice(&self.mtu.to_le_bytes());
        let mut answer = asked.payload.clone();
        let offset = asked.u32(0).unwrap_or_default() as usize;
        let rest = config.get(offset..).unwrap_or_default();
        for (to, from) in answer.iter_mut().skip(ASKED_AT).zip(rest.iter().chain([0; 64].iter())) {
            *to = *from;
        }
        answer
    }

    /// Maps the guest's memory.
    fn map(&mut self, asked: &mut Request) -> io::Result<()> {
        const FIRST: usize = 8;
        const REGION: usize = 32;
        let count = asked.u32(0)? as usize;
        let mut regions = Vec::new();
        for (number, file) in asked.files.drain(..).take(count).enumerate() {
            let at = FIRST + number * REGION;
            regions.push((at, file));
        }
        let mut ranges = Vec::new();
        for (at, file) in regions {
            let [guest, size, _, offset] = [0, 8, 16, 24].map(|field| asked.u64(at + field));
            let file = FileOffset::new(file.into(), offset?);
            ranges.push((GuestAddress(guest?), usize::try_from(size?).unwrap_or(0), Some(file)));
        }
        self.memory = GuestMemoryMmap::from_ranges_with_files(ranges).map_err(io::Error::other)?;
        Ok(())
    }

    /// Sets the addresses of a ring, within the guest's own memory, as sent by `virtio_uml`.
    fn place(&mut self, asked: &Request) -> io::Result<()> {
        let [table, used, available] = [8, 16, 24].map(|at| asked.u64(at));
        let (table, used, available) = (table?, used?, available?);
        let half = |address: u64| (Some(address as u32), Some((address >> 32) as u32));
        let ring = self.ring(asked)?;
        let (low, high) = half(table);
        ring.set_desc_table_address(low, high);
        let (low, high) = half(available);
        ring.set_avail_ring_address(low, high);
        let (low, high) = half(used);
        ring.set_used_ring_address(low, high);
        // A ring without a kick file descriptor is ready once its addresses are set.
        ring.set_ready(true);
        Ok(())
    }

    /// Takes the frames from the guest's send ring, up to its index `available`, and passes each, with its slot, to
    /// `sent`. If that returns false, the slot stays occupied until [`Card::left`].
    pub(crate) fn send(
        &mut self,
        available: u16,
        mut sent: impl FnMut(u16, &[u8]) -> bool,
    ) -> io::Result<()> {
        while self.rings[SEND].next_avail() != available
            && let Some(chain) = self.rings[SEND].pop_descriptor_chain(&self.memory)
        {
            let head = chain.head_index();
            let descriptors = chain.clone().count() as u16;
            if let Some(slot) = self.slots.get_mut(usize::from(head)) {
                *slot = descriptors;
                self.held += descriptors;
            }
            let mut reader = chain.reader(&self.memory).map_err(io::Error::other)?;
            let length = reader.available_bytes().min(FRAME_MAX);
            self.frame.resize(length, 0);
            reader.read_exact(&mut self.frame)?;
            if self.frame.get(HEADER..).is_none_or(|frame| sent(head, frame)) {
                self.left(head)?;
            }
        }
        Ok(())
    }

    /// Returns the slot of a frame that has left to the guest.
    pub(crate) fn left(&mut self, slot: u16) -> io::Result<()> {
        let descriptors = self.slots.get_mut(usize::from(slot)).map(std::mem::take);
        self.held -= descriptors.unwrap_or_default();
        self.rings[SEND].add_used(&self.memory, slot, 0).map_err(io::Error::other)
    }

    /// Copies a frame into the guest's memory; the guest is notified later. Returns false if it has no buffer for it.
    pub(crate) fn deliver(&mut self, frame: &[u8]) -> io::Result<bool> {
        let chain = self.rings[RECEIVE].pop_descriptor_chain(&self.memory);
        let Some(chain) = chain.filter(|_| self.requests.is_some()) else {
            self.missed += 1;
            return Ok(false);
        };
        let head = chain.head_index();
        let mut header = [0; HEADER];
        header[BUFFERS] = 1;
        let mut writer = chain.writer(&self.memory).map_err(io::Error::other)?;
        writer.write_all(&header)?;
        writer.write_all(frame)?;
        let length = (HEADER + frame.len()) as u32;
        self.rings[RECEIVE].add_used(&self.memory, head, length).map_err(io::Error::other)?;
        Ok(true)
    }

    /// Whether the guest has set it up.
    pub(crate) fn is_ready(&self) -> bool {
        self.rings.iter().all(Queue::ready)
    }

    /// Whether it matters to the guest when a slot of the send ring becomes free: it asked for an interrupt, or the ring
    /// may soon be full.
    pub(crate) fn lacks_slots(&self) -> bool {
        self.held > self.rings[SEND].size() / 4 || self.asks_for_interrupts(SEND)
    }

    /// Whether the guest wants an interrupt when buffers of the ring were used. When its send ring was full, that is once
    /// a whole packet has room again: its driver would send at once, and drop what finds no room.
    pub(crate) fn wants_interrupt(&self, ring: usize) -> bool {
        if ring == SEND && self.held > 0 && self.rings[SEND].size() - self.held < PACKET_MAX {
            return false;
        }
        self.asks_for_interrupts(ring)
    }

    fn asks_for_interrupts(&self, ring: usize) -> bool {
        let flags = GuestAddress(self.rings[ring].avail_ring());
        let flags: u16 = self.memory.load(flags, Ordering::Acquire).unwrap_or_default();
        flags & NO_INTERRUPT == 0
    }
}

fn u16_of(number: u32) -> io::Result<u16> {
    u16::try_from(number).map_err(io::Error::other)
}

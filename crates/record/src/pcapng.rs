//! The pcapng file format: section header, interface description and enhanced packet blocks
//! (draft-ietf-opsawg-pcapng, sections 4.1 to 4.3). Little-endian, nanosecond stamps.

use std::io::{Result, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;
/// `epb_flags`, bits 0 and 1: outbound.
const OUTBOUND: u32 = 2;

mod option {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const EPB_FLAGS: u16 = 2;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const IF_DESCRIPTION: u16 = 3;
    pub(super) const SHB_USERAPPL: u16 = 4;
    pub(super) const IF_SPEED: u16 = 8;
    pub(super) const IF_TSRESOL: u16 = 9;
}

/// A captured interface.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Bits per second.
    pub(crate) speed: u64,
    /// The most bytes kept of a packet.
    pub(crate) snap: u32,
}

/// A packet on an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The interface's number, by the order of the interface blocks in the file.
    pub(crate) interface: u32,
    pub(crate) time_ns: u64,
    /// The bytes that are kept of it.
    pub(crate) bytes: &'a [u8],
    /// Its length on the wire, FCS not counted.
    pub(crate) length: u32,
    pub(crate) comment: Option<&'a str>,
}

/// Writes blocks. The current block is built in a buffer that every block reuses.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    out: W,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a section.
    pub(crate) fn new(out: W, application: &str) -> Result<Self> {
        let mut writer = Self { out, block: Vec::with_capacity(256) };
        writer.begin();
        writer.u32(BYTE_ORDER_MAGIC);
        writer.u16(1);
        writer.u16(0);
        // The section's length is not known yet.
        writer.block.extend(u64::MAX.to_le_bytes());
        writer.option(option::SHB_USERAPPL, application.as_bytes());
        writer.option(option::END, &[]);
        writer.end(SECTION_HEADER)?;
        Ok(writer)
    }

    pub(crate) fn interface(&mut self, interface: &Interface) -> Result<()> {
        self.begin();
        self.u16(LINKTYPE_ETHERNET);
        self.u16(0);
        self.u32(interface.snap);
        self.option(option::IF_NAME, interface.name.as_bytes());
        self.option(option::IF_DESCRIPTION, interface.description.as_bytes());
        self.option(option::IF_SPEED, &interface.speed.to_le_bytes());
        // A stamp counts units of 10^-9 s.
        self.option(option::IF_TSRESOL, &[9]);
        self.option(option::END, &[]);
        self.end(INTERFACE)
    }

    pub(crate) fn frame(&mut self, frame: &Frame<'_>) -> Result<()> {
        self.begin();
        self.u32(frame.interface);
        self.u32((frame.time_ns >> 32) as u32);
        self.u32(frame.time_ns as u32);
        self.u32(frame.bytes.len() as u32);
        self.u32(frame.length);
        self.padded(frame.bytes);
        if let Some(comment) = frame.comment {
            self.option(option::COMMENT, comment.as_bytes());
        }
        self.option(option::EPB_FLAGS, &OUTBOUND.to_le_bytes());
        self.option(option::END, &[]);
        self.end(ENHANCED_PACKET)
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }

    fn begin(&mut self) {
        self.block.clear();
    }

    /// Writes the block out between its type and its two lengths.
    fn end(&mut self, kind: u32) -> Result<()> {
        let length = self.block.len() as u32 + 12;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length.to_le_bytes())
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        // An option's length has 16 bits; our names and comments are shorter.
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    /// Appends bytes and zeros up to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}

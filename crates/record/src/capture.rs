//! Packet captures: the frames that watched ports transmit and drop, in one pcapng file.

use std::io::BufWriter;
use std::path::PathBuf;

use base::header::Header;
use base::{Bytes, DropReason, HostId, Instant, Packet};
use network::PortId;
use network::observer::Captured;
use scenario::plan::{Capture, Plan, Window};
use traffic::{Control, Notification};

use crate::error::Error;
use crate::folder::files::{Files, OutFile};
use crate::pcapng::{Frame, Interface, Writer};
use crate::wire::{self, Hop, SNAP};

/// The capture's name in a run folder.
pub const FILE: &str = "capture.pcapng";
/// The bytes that are kept of a frame: its headers.
pub const KEPT: usize = SNAP as usize;

/// All captures of a run; each is an interface of the file.
#[derive(Debug)]
pub(crate) struct Captures {
    taps: Vec<Tap>,
    /// Each flow's sending host, and the contents of its packets' headers.
    flows: Vec<(HostId, Header)>,
    file: Option<Sink>,
    /// The last frame seen, kept while its link may still lose it.
    held: Option<Held>,
    /// Its bytes.
    bytes: Vec<u8>,
    failed: Option<Error>,
}

/// A frame that left a port, or was dropped there.
#[derive(Clone, Copy, Debug)]
struct Held {
    port: PortId,
    at: Instant,
    /// Without FCS.
    length: u32,
}

#[derive(Debug)]
struct Tap {
    port: PortId,
    window: Window,
    hop: Hop,
    /// The transmitting node's name.
    node: String,
}

#[derive(Debug)]
struct Sink {
    files: Files,
    writer: Writer<BufWriter<OutFile>>,
}

impl Captures {
    pub(crate) fn new(plan: &Plan, files: Option<&Files>) -> Result<Self, Error> {
        let captures = &plan.probes.captures;
        let wanted = files.filter(|_| !captures.is_empty());
        Ok(Self {
            taps: captures.iter().map(|capture| Tap::new(plan, capture)).collect(),
            flows: plan.flows.iter().map(|flow| (flow.source, flow.header)).collect(),
            file: wanted.map(|files| Sink::create(plan, files.clone())).transpose()?,
            held: None,
            bytes: Vec::with_capacity(SNAP as usize),
            failed: None,
        })
    }

    /// Captures a packet that left `port`, or was dropped there.
    pub(crate) fn packet(
        &mut self,
        port: PortId,
        packet: &Packet,
        now: Instant,
        dropped: Option<DropReason>,
    ) {
        if let Some(said) = Notification::of(packet) {
            let between = [packet.source.0, packet.destination.0];
            return self
                .hold(port, now, dropped, |bytes, _| wire::notification(bytes, &said, between));
        }
        let Some(&(sender, header)) = self.flows.get(packet.flow.0 as usize) else { return };
        let header = if sender == packet.source { header } else { header.reversed() };
        self.hold(port, now, dropped, |bytes, hop| wire::packet(bytes, packet, hop, &header));
    }

    /// Captures a real frame that left `port`, or was dropped there.
    pub(crate) fn frame(&mut self, port: PortId, frame: &Captured<'_>) {
        self.hold(port, frame.at, frame.dropped, |bytes, _| {
            bytes.clear();
            bytes.extend(frame.bytes.iter().take(SNAP as usize));
            frame.length
        });
    }

    /// Captures a gap frame that left `port`.
    pub(crate) fn gap(&mut self, port: PortId, length: Bytes, now: Instant) {
        self.hold(port, now, None, |bytes, hop| wire::gap(bytes, length.0, hop));
    }

    /// Captures a control frame that left `port`.
    pub(crate) fn control(&mut self, port: PortId, control: &Control, now: Instant) {
        match control {
            Control::Pause(pause) => {
                self.hold(port, now, None, |bytes, hop| wire::pause(bytes, pause, hop));
            }
            // It passes from port to port like a packet.
            Control::Notification(_) => {}
        }
    }

    /// Holds a frame that left `port`, until it is known whether its link loses it; a dropped frame is written at
    /// once. A frame that its link loses is the one that has just left. It is in the file once, or readers would take
    /// the second for a retransmission.
    fn hold(
        &mut self,
        port: PortId,
        at: Instant,
        dropped: Option<DropReason>,
        write: impl Fn(&mut Vec<u8>, Hop) -> u32,
    ) {
        let has_left = self.held.is_some_and(|held| held.port == port);
        if dropped != Some(DropReason::LinkLoss) || !has_left {
            self.write_held(None);
            let Some(tap) = self.taps.iter().find(|tap| tap.port == port) else { return };
            let length = write(&mut self.bytes, tap.hop);
            self.held = Some(Held { port, at, length });
        }
        if dropped.is_some() {
            self.write_held(dropped);
        }
    }

    /// Writes the held frame, if there is one, to the interface of each capture at its port.
    fn write_held(&mut self, dropped: Option<DropReason>) {
        let Some(Held { port, at, length }) = self.held.take() else { return };
        let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) else { return };
        // The remaining space on a full disk is for the ends of tables.
        if file.files.is_full() {
            return;
        }
        for (interface, tap) in (0..).zip(&self.taps) {
            if tap.port != port || at < tap.window.from || at >= tap.window.until {
                continue;
            }
            let comment = dropped.map(|why| format!("dropped: {} at {}", why.name(), tap.node));
            let frame = Frame {
                interface,
                time_ns: at.as_ns(),
                bytes: &self.bytes,
                length,
                comment: comment.as_deref(),
            };
            if let Err(error) = file.writer.frame(&frame) {
                self.failed = Some(Error::io(&file.path())(error));
                return;
            }
        }
    }

    /// Closes the file. If a full disk left no room for it, the file is removed.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.write_held(None);
        let Some(mut file) = self.file else { return Ok(()) };
        match self.failed.map_or_else(|| file.close(), Err) {
            Err(error) if error.is_full() => {
                file.files.remove(FILE);
                Ok(())
            }
            closed => closed,
        }
    }
}

impl Tap {
    fn new(plan: &Plan, capture: &Capture) -> Self {
        let (from, to) = ends(plan, capture.port);
        Self {
            port: capture.port,
            window: capture.window,
            hop: Hop { from: from as u32, to: to as u32 },
            node: plan.nodes[from].name.clone(),
        }
    }
}

/// The transmitting and the receiving node of a port's wire.
fn ends(plan: &Plan, port: PortId) -> (usize, usize) {
    let (link, end) = (port.0 as usize / 2, port.0 as usize % 2);
    let ends = &plan.links[link].ends;
    (ends[end].node, ends[1 - end].node)
}

impl Sink {
    fn create(plan: &Plan, files: Files) -> Result<Self, Error> {
        let file = files.create(FILE)?;
        let writer = Self::open(plan, file).map_err(Error::io(&files.path().join(FILE)))?;
        Ok(Self { files, writer })
    }

    fn path(&self) -> PathBuf {
        self.files.path().join(FILE)
    }

    fn open(plan: &Plan, file: OutFile) -> std::io::Result<Writer<BufWriter<OutFile>>> {
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, file), APPLICATION)?;
        for capture in &plan.probes.captures {
            writer.interface(&interface(plan, capture))?;
        }
        Ok(writer)
    }

    fn close(&mut self) -> Result<(), Error> {
        self.writer.flush().map_err(Error::io(&self.path()))
    }
}

/// The application that wrote the file.
const APPLICATION: &str = concat!("suimon ", env!("CARGO_PKG_VERSION"));

fn interface(plan: &Plan, capture: &Capture) -> Interface {
    let (from, to) = ends(plan, capture.port);
    let link = &plan.links[capture.port.0 as usize / 2];
    let [from, to] = [from, to].map(|node| &plan.nodes[node].name);
    Interface {
        name: capture.name.clone(),
        description: format!("link {}, from {from} to {to}", link.name),
        speed: link.ends[capture.port.0 as usize % 2].direction.rate.bits_per_second(),
        snap: SNAP,
    }
}

//! The network devices of this machine.

use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::netlink::Socket;
use crate::rtnetlink::link::{
    HEADER, IFLA_GSO_MAX_SEGS, IFLA_IFNAME, IFLA_INFO_KIND, IFLA_LINK, IFLA_LINK_NETNSID,
    IFLA_LINKINFO, IFLA_MTU, LOOPBACK, header,
};
use crate::rtnetlink::message::{RTM_GETLINK, RTM_NEWLINK};
use crate::wire::{Message, attributes, text, word};

/// A network device. It keeps its number when it is renamed, and another device never has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name when it was looked up.
    pub name: String,
    /// Its number.
    pub index: u32,
}

impl Device {
    /// Its name now.
    ///
    /// # Errors
    /// `ENODEV` if it is gone.
    pub(super) fn current_name(&self) -> io::Result<String> {
        let message = ask(&mut Socket::here()?, self.index)?;
        name(&message).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The number of segments that TCP may pass to it as one.
    pub(super) fn segments(&self) -> io::Result<u32> {
        self.number(IFLA_GSO_MAX_SEGS)
    }

    /// Sets the number of [`Self::segments`].
    pub(super) fn set_segments(&self, segments: u32) -> io::Result<()> {
        let mut bytes = header(self.index);
        crate::wire::push(&mut bytes, IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        Socket::here()?.change(Message { kind: RTM_NEWLINK, bytes }, 0)
    }

    /// The number of the device whose frames it gives a VLAN tag; `None` if it is not a VLAN, or one of another namespace's.
    pub(super) fn vlan_of(&self) -> Option<u32> {
        let message = ask(&mut Socket::here().ok()?, self.index).ok()?;
        let found = attributes(message.bytes.get(HEADER..)?);
        let value = |wanted| found.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        let information = attributes(value(IFLA_LINKINFO)?);
        let kind = information.iter().find(|(kind, _)| *kind == IFLA_INFO_KIND)?;
        let here = value(IFLA_LINK_NETNSID).is_none();
        (here && text(&kind.1) == "vlan").then(|| value(IFLA_LINK).map(|link| word(link, 0)))?
    }

    /// The rate of its line, in bits per second; `None` if it has none, or no carrier.
    pub fn line_rate(&self) -> Option<u64> {
        let speed = fs::read_to_string(self.folder().ok()?.join("speed")).ok()?;
        // Mbit/s; -1 if there is no line.
        speed.trim().parse().ok().and_then(|speed: u64| speed.checked_mul(1_000_000))
    }

    /// Bytes of its longest packet.
    pub(super) fn mtu(&self) -> io::Result<u32> {
        self.number(IFLA_MTU)
    }

    /// The number that the kernel reports as that attribute.
    fn number(&self, wanted: u16) -> io::Result<u32> {
        let message = ask(&mut Socket::here()?, self.index)?;
        let found = attributes(&message.bytes[HEADER..]);
        let found = found.into_iter().find(|(kind, _)| *kind == wanted);
        found.map(|(_, value)| word(&value, 0)).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// The folder of its settings in sysfs.
    ///
    /// # Errors
    /// `NotFound` if sysfs is that of another namespace.
    pub(super) fn folder(&self) -> io::Result<std::path::PathBuf> {
        let folder = std::path::Path::new("/sys/class/net").join(self.current_name()?);
        let index = fs::read_to_string(folder.join("ifindex"))?;
        match index.trim().parse() == Ok(self.index) {
            true => Ok(folder),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The devices of this namespace, without the loopback.
///
/// # Errors
/// The kernel's refusal.
pub fn devices() -> io::Result<Vec<Device>> {
    let message = Message { kind: RTM_GETLINK, bytes: header(0) };
    let found = Socket::here()?.dump(message)?;
    let outside = found.iter().filter(|link| word(&link.bytes, 8) & LOOPBACK == 0);
    let device = |link: &Message| Some(Device { name: name(link)?, index: word(&link.bytes, 4) });
    Ok(outside.filter_map(device).collect())
}

fn ask(socket: &mut Socket, index: u32) -> io::Result<Message> {
    let asked = Message { kind: RTM_GETLINK, bytes: header(index) };
    socket.ask(asked, 0)?.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn name(link: &Message) -> Option<String> {
    let found = attributes(link.bytes.get(HEADER..)?);
    found.iter().find(|(kind, _)| *kind == IFLA_IFNAME).map(|(_, value)| text(value))
}

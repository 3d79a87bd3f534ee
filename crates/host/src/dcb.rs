//! Priority-based flow control of a device (IEEE 802.1Q, clause 36), by dcbnl (include/uapi/linux/dcbnl.h).

use std::io;

use crate::netlink::Socket;
use crate::rtnetlink::message::{RTM_GETDCB, RTM_SETDCB};
use crate::wire::{Message, NESTED, attributes, push};

/// The length of `struct dcbmsg`.
const HEADER: usize = 4;
const DCB_CMD_IEEE_SET: u8 = 20;
const DCB_CMD_IEEE_GET: u8 = 21;
const DCB_ATTR_IFNAME: u16 = 1;
const DCB_ATTR_IEEE: u16 = 13;
const DCB_ATTR_IEEE_PFC: u16 = 2;
/// The length of `struct ieee_pfc`, whose end counts frames, and the part that is set.
const PFC: usize = 136;
const SET: usize = 6;

/// The settings of priority-based flow control: `struct ieee_pfc` without its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriorityFlowControl {
    /// What it can do, the priorities that it has, the MACsec bypass, and the delay of the link.
    bytes: [u8; SET],
}

impl PriorityFlowControl {
    /// The settings in `bytes`; `None` if there are too few.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self { bytes: *bytes })
    }

    /// The bytes of [`Self::of`].
    pub(crate) const fn bytes(&self) -> &[u8; SET] {
        &self.bytes
    }

    /// A bit for each priority that is paused by itself, the lowest for priority 0 (`pfc_en`).
    pub(crate) const fn priorities(&self) -> u8 {
        self.bytes[1]
    }

    /// These settings for other priorities.
    pub(crate) const fn with(mut self, priorities: u8) -> Self {
        self.bytes[1] = priorities;
        self
    }
}

/// The settings of the device of that name.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the device has none.
pub(crate) fn read(name: &str) -> io::Result<PriorityFlowControl> {
    let answer = ask(RTM_GETDCB, request(DCB_CMD_IEEE_GET, name))?;
    let unsupported = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let ieee = value(&answer, DCB_ATTR_IEEE).ok_or_else(unsupported)?;
    let list = attributes(&ieee);
    let pfc = list.iter().find(|(kind, _)| *kind == DCB_ATTR_IEEE_PFC);
    pfc.and_then(|(_, pfc)| PriorityFlowControl::of(pfc)).ok_or_else(unsupported)
}

/// Changes the settings of the device of that name.
///
/// # Errors
/// The kernel's refusal, or the driver's.
pub(crate) fn write(name: &str, settings: PriorityFlowControl) -> io::Result<()> {
    let mut pfc = settings.bytes.to_vec();
    pfc.resize(PFC, 0);
    let mut ieee = Vec::new();
    push(&mut ieee, DCB_ATTR_IEEE_PFC, &pfc);
    let mut bytes = request(DCB_CMD_IEEE_SET, name);
    push(&mut bytes, DCB_ATTR_IEEE | NESTED, &ieee);
    let answer = ask(RTM_SETDCB, bytes)?;
    // The driver's error is a byte of the answer, which says otherwise that all is well (`dcbnl_ieee_set`).
    match value(&answer, DCB_ATTR_IEEE).as_deref() {
        Some(&[error, ..]) if error != 0 => {
            Err(io::Error::from_raw_os_error(i32::from(error.wrapping_neg())))
        }
        _ => Ok(()),
    }
}

fn request(command: u8, name: &str) -> Vec<u8> {
    let mut bytes = vec![libc::AF_UNSPEC as u8, command, 0, 0];
    push(&mut bytes, DCB_ATTR_IFNAME, &[name.as_bytes(), &[0]].concat());
    bytes
}

fn ask(kind: u16, bytes: Vec<u8>) -> io::Result<Message> {
    let answer = Socket::here()?.ask(Message { kind, bytes }, 0)?;
    answer.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn value(answer: &Message, wanted: u16) -> Option<Vec<u8>> {
    let list = attributes(answer.bytes.get(HEADER..)?);
    list.into_iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

//! The counters of this machine's queueing disciplines and their classes, as `tc -s` shows them.

mod own;

use std::io;

use crate::netlink::Socket;
use crate::policy::{Device, devices};
use crate::rtnetlink::message::{RTM_GETQDISC, RTM_GETTCLASS};
use crate::rtnetlink::queue::{HEADER, TCA_KIND, TCA_STATS2, header};
use crate::rtnetlink::statistics::{
    TCA_STATS_APP, TCA_STATS_BASIC, TCA_STATS_PKT64, TCA_STATS_QUEUE,
};
use crate::wire::{Message, attributes, long, text, word};

pub use own::OwnStatistics;

/// The counters of a discipline or of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// Its device.
    pub device: String,
    /// Whether it is a class.
    pub class: bool,
    /// The discipline's name.
    pub kind: String,
    /// Its number, as tc(8) writes it.
    pub handle: String,
    /// Number of the part that it belongs to; `root` at the device.
    pub parent: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u32,
    /// Times that a packet had to wait for the rate.
    pub overlimits: u32,
    /// Packets that the device gave back.
    pub requeues: u32,
    /// Packets queued now.
    pub queued_packets: u32,
    /// Bytes queued now.
    pub queued_bytes: u32,
    /// What the discipline counts beyond that.
    pub own: OwnStatistics,
}

/// Disciplines with a class for each of their flows or hash buckets, with numbers that mean nothing to people.
const CLASS_PER_FLOW: [&str; 5] = ["fq_codel", "fq_pie", "sfq", "cake", "sfb"];

/// The counters of all devices in this namespace. Classes of single flows are left out: the delay of their discipline is
/// the longest of theirs.
///
/// # Errors
/// The kernel's refusal.
pub fn queue_statistics() -> io::Result<Vec<QueueStatistics>> {
    let mut socket = Socket::here()?;
    let mut found = Vec::new();
    for device in devices()? {
        for (kind, class) in [(RTM_GETQDISC, false), (RTM_GETTCLASS, true)] {
            let bytes = header(device.index, 0, 0);
            let messages = socket.dump(Message { kind, bytes })?;
            let own = messages.iter().filter(|m| word(&m.bytes, 4) == device.index);
            for queue in own.filter_map(|message| read(message, &device, class)) {
                match class && CLASS_PER_FLOW.contains(&queue.kind.as_str()) {
                    true => add_delay(&mut found, &queue),
                    false => found.push(queue),
                }
            }
        }
    }
    Ok(found)
}

/// Adds the delay of a flow's class to its discipline, whose major number it has.
fn add_delay(found: &mut [QueueStatistics], class: &QueueStatistics) {
    let major = |handle: &str| handle.split(':').next().map(str::to_owned);
    let is_owner = |queue: &&mut QueueStatistics| {
        !queue.class && queue.device == class.device && major(&queue.handle) == major(&class.handle)
    };
    if let Some(owner) = found.iter_mut().find(is_owner) {
        owner.own.delay = owner.own.delay.max(class.own.delay);
    }
}

fn read(message: &Message, device: &Device, class: bool) -> Option<QueueStatistics> {
    let list = attributes(message.bytes.get(HEADER..)?);
    let value = |wanted: u16| list.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let counters = value(TCA_STATS2).map(|value| attributes(value)).unwrap_or_default();
    let counter = |wanted: u16| {
        let found = counters.iter().find(|(kind, _)| *kind == wanted);
        found.map(|(_, value)| value.as_slice()).unwrap_or_default()
    };
    let (basic, queue) = (counter(TCA_STATS_BASIC), counter(TCA_STATS_QUEUE));
    if class && basic.is_empty() && queue.is_empty() {
        // The class of a discipline like TBF, which only contains another discipline.
        return None;
    }
    let packets = match counter(TCA_STATS_PKT64) {
        [] => word(basic, 8).into(),
        packets => long(packets, 0),
    };
    let kind = text(value(TCA_KIND)?);
    let own = own::read(&kind, class, counter(TCA_STATS_APP));
    Some(QueueStatistics {
        device: device.name.clone(),
        class,
        kind,
        handle: number(word(&message.bytes, 8)),
        parent: number(word(&message.bytes, 12)),
        bytes: long(basic, 0),
        packets,
        drops: word(queue, 8),
        overlimits: word(queue, 16),
        requeues: word(queue, 12),
        queued_packets: word(queue, 0),
        queued_bytes: word(queue, 4),
        own,
    })
}

/// A number as tc(8) writes it: `5100:`, `1:10`, `root`.
fn number(number: u32) -> String {
    match (number >> 16, number & 0xffff) {
        (0xffff, 0xffff) => "root".to_owned(),
        (major, 0) => format!("{major:x}:"),
        (major, minor) => format!("{major:x}:{minor:x}"),
    }
}

//! The counters of this machine's queueing disciplines and their classes, as `tc -s` shows them.

mod own;
mod table;

use std::io;

use base::Rate;
use traffic::qdisc::Parameters;

use crate::netlink::Socket;
use crate::policy::{Device, devices};
use crate::rtnetlink::message::{RTM_GETQDISC, RTM_GETTCLASS};
use crate::rtnetlink::queue::{HEADER, TCA_KIND, TCA_OPTIONS, TCA_STATS2, header};
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
    /// The name of a class of Suimon's module.
    pub name: Option<String>,
    /// The settings of a discipline of Suimon's module, and the rate of its line.
    pub settings: Option<(Parameters, Rate)>,
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

/// The disciplines of Suimon's module.
const MODULE: [&str; 2] = ["suimon", "psp"];

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
    let options = value(TCA_OPTIONS).filter(|_| MODULE.contains(&kind.as_str()));
    Some(QueueStatistics {
        device: device.name.clone(),
        class,
        name: options.filter(|_| class).and_then(|options| table::class_name(options)),
        settings: options.filter(|_| !class).and_then(|options| table::settings(options)),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use traffic_kernel::netlink::{RATE, TABLE};

    use super::*;
    use crate::rtnetlink::message::{RTM_NEWQDISC, RTM_NEWTCLASS};
    use crate::wire::push;

    /// A part of the module's with these options, as the kernel reports it. Each counter is its own position.
    fn reported(kind: u16, handle: u32, options: &[(u16, &[u8])]) -> Message {
        let list = |all: &[(u16, &[u8])]| {
            let mut bytes = Vec::new();
            all.iter().for_each(|(kind, value)| push(&mut bytes, *kind, value));
            bytes
        };
        let counters: Vec<u8> = (0..15_u64).flat_map(u64::to_ne_bytes).collect();
        let counters = list(&[(TCA_STATS_BASIC, &[1; 16]), (TCA_STATS_APP, &counters)]);
        let mut bytes = header(1, handle, 0xffff_ffff);
        bytes.extend(list(&[
            (TCA_KIND, b"psp\0"),
            (TCA_OPTIONS, &list(options)),
            (TCA_STATS2, &counters),
        ]));
        Message { kind, bytes }
    }

    #[test]
    fn a_class_of_the_module_has_its_name_and_what_it_counts() {
        let device = Device { name: "eth0".into(), index: 1 };
        let own = b"class bulk\nrate 40000000\nend\n\0";
        let class = reported(RTM_NEWTCLASS, 0x5100_0001, &[(TABLE, own)]);
        let class = read(&class, &device, true).expect("a class");
        assert_eq!((class.name.as_deref(), &class.handle[..]), (Some("bulk"), "5100:1"));
        let own = class.own;
        assert_eq!((own.marks, own.gap_frames, own.gap_bytes), (Some(9), Some(10), Some(11)));
        assert_eq!(own.delay, Some(Duration::from_nanos(12)));
        assert_eq!((own.gaps_lost, own.faulty), (None, None));

        let table = b"psp\nclass bulk\nrate 40000000\nend\nfilter bulk\nend\n\0";
        let line = 100_000_000_u64.to_ne_bytes();
        let root = reported(RTM_NEWQDISC, 0x5100_0000, &[(TABLE, table), (RATE, &line)]);
        let root = read(&root, &device, false).expect("a discipline");
        let (settings, line) = root.settings.expect("they are in the table");
        assert_eq!((settings.name(), line.bits_per_second()), ("psp", 100_000_000));
        assert_eq!((root.own.gaps_lost, root.own.faulty), (Some(13), Some(true)));
    }
}

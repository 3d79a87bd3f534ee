//! The queueing disciplines of a device as the kernel reports them, and in the form in which it takes them back.

mod difference;

use std::io;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use serde::{Deserialize, Serialize};

use crate::netlink::Socket;
use crate::rtnetlink::message::{
    RTM_DELQDISC, RTM_GETQDISC, RTM_GETTCLASS, RTM_GETTFILTER, RTM_NEWQDISC, RTM_NEWTCLASS,
    RTM_NEWTFILTER,
};
use crate::rtnetlink::queue::{
    self as tca, HEADER, INFO, TC_H_INGRESS, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCA_STAB, header,
};
use crate::wire::{Attribute, Message, NESTED, attributes, hex, push, text, unhex, word, written};

pub(in super::super) use difference::differing;

/// Attributes that make a part; the others are counters.
const MAKES: [u16; 3] = [TCA_KIND, TCA_OPTIONS, TCA_STAB];

/// Disciplines that take no options without the mark of attributes within attributes (`nla_parse_nested`).
const NESTING: [&str; 1] = ["ets"];

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Role {
    /// A queueing discipline.
    Discipline,
    /// A class of one.
    Class,
    /// A filter, which leads packets to a class. The number has its priority and its protocol
    /// (`tcm_info` of `struct tcmsg`).
    Filter(u32),
}

/// A discipline, a class or a filter. Parts are equal if the kernel reports the same of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct Part {
    pub(in super::super) role: Role,
    pub(in super::super) parent: u32,
    pub(in super::super) handle: u32,
    /// Its attributes as the kernel reports them, in hexadecimal.
    attributes: String,
    /// The attributes that make it, where the kernel does not take those that it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place() && self.attributes == other.attributes
    }
}

impl Eq for Part {}

/// The disciplines of a device for what it sends. Empty where the kernel chose the discipline itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Tree {
    /// The parts; each after the one that it belongs to, and the filters last.
    pub(in super::super) parts: Vec<Part>,
    /// The disciplines' names, for people.
    pub(in super::super) names: String,
}

impl Tree {
    /// The number of filters.
    pub(in super::super) fn filters(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part.role, Role::Filter(_))).count()
    }

    /// This tree, as the kernel reports it, with the requests that made each part.
    pub(in super::super) fn made_by(mut self, made: &Self) -> Self {
        for part in &mut self.parts {
            let request = made.parts.iter().find(|made| made.place() == part.place());
            part.request = request.map(|made| made.request().to_owned());
        }
        self
    }
}

impl Part {
    /// A discipline.
    pub(in super::super) fn new(parent: u32, handle: u32, kind: &str, options: &[u8]) -> Self {
        Self::of(Role::Discipline, parent, handle, kind, options)
    }

    /// A discipline, a class or a filter.
    pub(in super::super) fn of(
        role: Role,
        parent: u32,
        handle: u32,
        kind: &str,
        options: &[u8],
    ) -> Self {
        let mut name = kind.as_bytes().to_vec();
        name.push(0);
        let list = [(TCA_KIND, name), (TCA_OPTIONS, options.to_vec())];
        Self { role, parent, handle, attributes: hex(&written(&list)), request: None }
    }

    /// What distinguishes it from the device's other parts.
    const fn place(&self) -> (Role, u32, u32) {
        (self.role, self.parent, self.handle)
    }

    /// The attributes that make it, in hexadecimal.
    fn request(&self) -> &str {
        self.request.as_deref().unwrap_or(&self.attributes)
    }

    /// The discipline's name; a filter's kind.
    pub(in super::super) fn kind(&self) -> String {
        let list = attributes(&unhex(&self.attributes).unwrap_or_default());
        let kind = list.iter().find(|(kind, _)| *kind == TCA_KIND);
        kind.map(|(_, value)| text(value)).unwrap_or_default()
    }

    /// The part that a message of the kernel describes.
    fn read(message: &Message) -> Option<Self> {
        let bytes = &message.bytes;
        let list = attributes(bytes.get(HEADER..)?);
        let mut list: Vec<Attribute> =
            list.into_iter().filter(|(kind, _)| MAKES.contains(kind)).collect();
        let role = match message.kind {
            RTM_NEWTCLASS => Role::Class,
            RTM_NEWTFILTER => Role::Filter(word(bytes, INFO)),
            _ => Role::Discipline,
        };
        let is_htb = list.iter().any(|(kind, value)| *kind == TCA_KIND && text(value) == "htb");
        if let Some((_, options)) = list.iter_mut().find(|(kind, _)| *kind == TCA_OPTIONS)
            && is_htb
            && role == Role::Discipline
        {
            *options = settable(options);
        }
        let (handle, parent) = (word(bytes, 8), word(bytes, 12));
        Some(Self { role, parent, handle, attributes: hex(&written(&list)), request: None })
    }

    /// Creates it at the device `index`.
    fn create(&self, socket: &mut Socket, index: u32) -> io::Result<()> {
        let mut bytes = header(index, self.handle, self.parent);
        let kind = match self.role {
            Role::Discipline => RTM_NEWQDISC,
            Role::Class => RTM_NEWTCLASS,
            Role::Filter(info) => {
                bytes[INFO..HEADER].copy_from_slice(&info.to_ne_bytes());
                RTM_NEWTFILTER
            }
        };
        let mut list = attributes(&unhex(self.request()).ok_or(io::ErrorKind::InvalidData)?);
        if let Some((_, options)) = list.iter_mut().find(|(kind, _)| *kind == TCA_OPTIONS) {
            *options = reproducing(&self.kind(), options);
        }
        if NESTING.contains(&self.kind().as_str()) {
            let options = list.iter_mut().filter(|(kind, _)| *kind == TCA_OPTIONS);
            options.for_each(|(kind, _)| *kind |= NESTED);
        }
        bytes.extend(written(&list));
        socket.change(Message { kind, bytes }, NLM_F_CREATE | NLM_F_REPLACE)
    }
}

/// The disciplines with times that the kernel rounds down: their attributes, and the shift of nanoseconds to the kernel's
/// unit.
const ROUNDED: [(&str, &[u16], u32); 3] = [
    ("codel", &[tca::TCA_CODEL_TARGET, tca::TCA_CODEL_INTERVAL, tca::TCA_CODEL_CE_THRESHOLD], 10),
    (
        "fq_codel",
        &[tca::TCA_FQ_CODEL_TARGET, tca::TCA_FQ_CODEL_INTERVAL, tca::TCA_FQ_CODEL_CE_THRESHOLD],
        10,
    ),
    ("pie", &[tca::TCA_PIE_TARGET], 6),
];

/// The options for which the kernel reports `options`: times in microseconds are one higher where it would round them down
/// further.
fn reproducing(kind: &str, options: &[u8]) -> Vec<u8> {
    let Some((_, times, shift)) = ROUNDED.iter().find(|(name, ..)| *name == kind) else {
        return options.to_vec();
    };
    let rounds_to = |time: u32, to: u32| {
        let kept = ((u64::from(time) * 1_000) >> shift) << shift;
        kept / 1_000 == u64::from(to)
    };
    let mut list = attributes(options);
    for (_, value) in list.iter_mut().filter(|(kind, _)| times.contains(kind)) {
        let time = word(value, 0);
        let higher = time.saturating_add(1);
        if !rounds_to(time, time) && rounds_to(higher, time) {
            *value = higher.to_ne_bytes().to_vec();
        }
    }
    written(&list)
}

/// The options of an HTB in the form that the kernel takes: its version without the minor number, and without the counter
/// of packets (`version` and `direct_pkts` of `struct tc_htb_glob`).
fn settable(options: &[u8]) -> Vec<u8> {
    const VERSION: std::ops::Range<usize> = 0..4;
    const COUNTER: std::ops::Range<usize> = 16..20;
    let mut list = attributes(options);
    for (kind, value) in &mut list {
        if *kind == tca::TCA_HTB_INIT && value.len() >= COUNTER.end {
            let version = word(value, 0);
            let major = if version >> 16 == 0 { version } else { version >> 16 };
            value[VERSION].copy_from_slice(&major.to_ne_bytes());
            value[COUNTER].fill(0);
        }
    }
    written(&list)
}

/// Reads the disciplines of the device `index`.
pub(in super::super) fn read(index: u32) -> io::Result<Tree> {
    let mut socket = Socket::here()?;
    let ours = |message: &&Message| word(&message.bytes, 4) == index;
    let list = |socket: &mut Socket, kind, parent| {
        let asked = Message { kind, bytes: header(index, 0, parent) };
        socket.dump(asked)
    };
    let qdiscs = list(&mut socket, RTM_GETQDISC, 0)?;
    let qdiscs: Vec<Part> = qdiscs.iter().filter(ours).filter_map(Part::read).collect();
    let sends = |part: &&Part| part.parent != TC_H_INGRESS && !part.kind().is_empty();
    let qdiscs: Vec<Part> = qdiscs.iter().filter(sends).cloned().collect();
    let names: Vec<String> = qdiscs.iter().map(Part::kind).collect();
    let mut names = names.join(", ");
    let chosen = qdiscs.iter().all(|part| part.handle == 0);
    if chosen {
        names.push_str(if names.is_empty() { "none" } else { " (default)" });
        return Ok(Tree { names, ..Tree::default() });
    }
    let classes = list(&mut socket, RTM_GETTCLASS, 0)?;
    let classes: Vec<Part> = classes.iter().filter(ours).filter_map(Part::read).collect();
    let owners: Vec<u32> = qdiscs.iter().chain(&classes).map(|part| part.handle).collect();
    let made = classes.into_iter().filter(is_made);
    let mut filters = Vec::new();
    for owner in owners.into_iter().filter(|&owner| owner != 0) {
        // Before the filters of a priority, the kernel reports the priority itself, without a handle.
        let found = list(&mut socket, RTM_GETTFILTER, owner).unwrap_or_default();
        let found = found.iter().filter(ours).filter_map(Part::read);
        filters.extend(found.filter(|part| part.handle != 0 && part.parent == owner));
    }
    if !filters.is_empty() {
        names.push_str(&counted(filters.len()));
    }
    let mut parts = ordered(qdiscs.into_iter().chain(made).collect());
    parts.extend(filters);
    Ok(Tree { parts, names })
}

/// Filters, for people, after the names of disciplines.
pub(in super::super) fn counted(filters: usize) -> String {
    format!(", {filters} filter{}", if filters == 1 { "" } else { "s" })
}

/// Whether a class was made by request. Some disciplines have a class for each queue of theirs, which they make
/// themselves, and HFSC one for the whole of it, with the number of the discipline.
fn is_made(class: &Part) -> bool {
    const MINOR: u32 = 0xffff;
    class.handle & MINOR != 0 && ["htb", "hfsc", "drr", "qfq"].contains(&class.kind().as_str())
}

/// The parts, each after its parent, else as the kernel reports them.
fn ordered(mut left: Vec<Part>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    while !left.is_empty() {
        let is_next = |part: &Part| {
            let owner = |other: &&Part| other.handle == part.parent && !std::ptr::eq(*other, part);
            part.parent == TC_H_ROOT || !left.iter().any(|other| owner(&other))
        };
        let next = left.iter().position(is_next).unwrap_or(0);
        parts.push(left.remove(next));
    }
    parts
}

/// Gives the device `index` these disciplines.
pub(in super::super) fn write(index: u32, tree: &Tree) -> io::Result<()> {
    let mut socket = Socket::explaining()?;
    let now = read(index)?;
    if now.parts == tree.parts {
        return Ok(());
    }
    if let Some(root) = now.parts.iter().find(|part| part.parent == TC_H_ROOT) {
        // Its children go with it. Else a discipline with the same number would be changed, and keep what the new
        // one does not mention.
        let bytes = header(index, root.handle, TC_H_ROOT);
        socket.change(Message { kind: RTM_DELQDISC, bytes }, 0)?;
    }
    tree.parts.iter().try_for_each(|part| part.create(&mut socket, index))
}

/// Appends a number as an attribute.
pub(in super::super) fn number(options: &mut Vec<u8>, kind: u16, value: u32) {
    push(options, kind, &value.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_the_kernel_rounds_down_are_reproduced() {
        for (kind, shift) in [("codel", 10), ("pie", 6)] {
            for time in 1..20_000_u32 {
                // As the kernel takes and reports it.
                let reported = |time: u32| ((u64::from(time) * 1_000) >> shift << shift) / 1_000;
                let first = reported(time);
                let mut options = Vec::new();
                number(&mut options, 1, first as u32);
                let again = attributes(&reproducing(kind, &options));
                assert_eq!(reported(word(&again[0].1, 0)), first, "{kind} {time} us");
            }
        }
    }
}

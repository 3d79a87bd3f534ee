//! The settings of `cbq`, and the reasons to refuse them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::Rule;
use crate::discipline::{Discipline, Port};
use crate::qdisc::{self, LEAVES, Qdisc, fifo};
use crate::reservation::Refusal;
use crate::tree::{self, Branch, Holder, Tree};
use base::packet::ETHERNET_HEADER_AND_FCS;
use base::setting::{OutOfRange, choice, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Rate, Share};

use super::reservation::Late;

/// The number of priorities: 0 to 7 (ALTQ's `CBQ_MAXPRI`).
pub(super) const PRIORITIES: usize = 8;
/// The most packets that may be set as a burst.
const BURST_LIMIT: u32 = 1 << 16;
/// Below this rate the automatic `maxburst` is the smaller one (altqd).
const SLOW: u64 = 1_000_000;

settings! {
    /// A class and its limits.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// The parent class; `None` (the default) for a class directly below the link.
        pub parent: Option<String>,
        /// Rate in frame bits per second (header and FCS counted, preamble and gap not). Give this or `share`. No
        /// default. In these units an Ethernet link carries 98.7 % of its rate with the longest frames and 76 % with
        /// the shortest; if the classes together have more, those that borrow lack it first.
        pub rate: Option<Rate>,
        /// Rate as a share of the link's, rounded down to a bit per second. Give this or `rate`. No default.
        #[range(Share(1)..)]
        pub share: Option<Share>,
        /// Priority among the classes that may send; the highest goes first. A class with children does not use it.
        /// Default 1 (altqd).
        #[range(..=PRIORITIES as u32 - 1)]
        pub priority: u32,
        /// Whether the class may exceed its rate while its parent (the link, at the top) does not use its own.
        /// Default false.
        pub borrow: bool,
        /// Packets that may be sent back to back after an idle period, or after a late timer. Default: 16, but 4
        /// below 1 Mbit/s (altqd).
        #[range(1..=BURST_LIMIT)]
        pub maxburst: Option<u32>,
        /// Packets, at most `maxburst`, for which a class over its limit waits, so that it wakes up less often.
        /// Default 2, or `maxburst` if that is 1 (altqd).
        #[range(1..=BURST_LIMIT)]
        pub minburst: Option<u32>,
        /// Typical frame length in bytes, at most the port's longest frame. It converts bursts to credit and does not
        /// affect the rate. Default: the port's longest frame.
        #[range(Bytes(1)..)]
        pub packet_size: Option<Bytes>,
        /// Queue of the class: a work-conserving discipline without classes; unused in a class with
        /// children. Default: `fifo` of 30 packets (altqd's `maxq`).
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    fn default() -> Self {
        let queue = fifo::Parameters::of_packets(30);
        Self {
            name: String::new(),
            parent: None,
            rate: None,
            share: None,
            priority: 1,
            borrow: false,
            maxburst: None,
            minburst: None,
            packet_size: None,
            queue: qdisc::Parameters::Fifo(queue),
        }
    }
}

choice! {
    /// The classes that may borrow: the guidelines of Floyd and Van Jacobson.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LinkSharing {
        /// A class borrows from ancestors up to the level `Top-Level`, which follows arrivals and departures; what
        /// ALTQ does. Cheap in a kernel, and an approximation: a class of high priority may get more than its part of
        /// what another leaves (paper 1, figure 11).
        #[default]
        TopLevel = "top_level",
        /// A class borrows from an ancestor at some level only while no class below that level is unsatisfied.
        Formal = "formal",
    }
}

choice! {
    /// How a class's use is measured.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Estimator {
        /// The idle times' sum, within bounds: the rate is exact in the long run.
        #[default]
        Exact = "exact",
        /// The paper's and ALTQ's exponentially weighted average (gain 2^-5), which forgets: the rate is off
        /// by some per cent, more with bursts and mixed packet sizes.
        Average = "average",
    }
}

impl Class {
    pub(super) fn branch(&self) -> Branch<'_> {
        Branch { name: &self.name, parent: self.parent.as_deref() }
    }
}

settings! {
    classes: Class;
    /// The classes and the filters that assign packets to them.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// At least one class. Packets queue in classes without children.
        pub classes: Vec<Class>,
        /// The filters in matching order; a packet without a match goes to the default class.
        pub filters: Vec<Rule>,
        /// Class for packets that no filter matches, one without children. No default: it must be given.
        pub default: String,
        /// Rule for borrowing. Default: as in ALTQ, from ancestors up to a level that follows arrivals and
        /// departures. `formal`: only while no class below that level is unsatisfied, so that priority gives no class
        /// more than its part of the bandwidth that another leaves.
        pub link_sharing: LinkSharing,
        /// Whether a class over its limit sends when no other may, so that the link never idles while packets wait.
        /// Default false.
        pub efficient: bool,
        /// Estimator of a class's use. Default: exact. `average` is ALTQ's moving average: its rates are off by some
        /// per cent.
        pub estimator: Estimator,
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting is out of its range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The classes' names or filters make no sense.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// No class for packets that no filter matches.
    #[error(
        "no default class, for packets that no filter matches: set `default` to one of {leaves}"
    )]
    NoDefault {
        /// The classes that packets queue in.
        leaves: String,
    },
    /// The default class does not exist, or holds classes.
    #[error("the default class `{class}` {fault}: name one of {leaves}")]
    Default {
        /// The name given.
        class: String,
        /// The reason for the refusal.
        fault: &'static str,
        /// The classes that packets queue in.
        leaves: String,
    },
    /// Neither a rate nor a share, or a share of nothing.
    #[error("class `{0}` has no rate: set `rate`, or `share` of the link above zero")]
    NoRate(String),
    /// A rate and a share.
    #[error("class `{0}` has both `rate` and `share`: remove one of them")]
    TwoRates(String),
    /// A class's rate is above that of its parent or the link.
    #[error("class `{class}` has {rate}, but {within} has only {has}: lower the class's rate")]
    Above {
        /// The class.
        class: String,
        /// Its rate.
        rate: Rate,
        /// Its parent, or the link.
        within: Holder,
        /// The rate of the parent or the link.
        has: Rate,
    },
    /// Siblings are promised more than their parent or the link has.
    #[error(
        "the classes {children} have {sum} together, but {within} has only {has}: lower their rates \
         by {excess} in all"
    )]
    Promise {
        /// The siblings' names.
        children: String,
        /// Their rates and the sum.
        sum: String,
        /// The parent, or the link.
        within: Holder,
        /// The rate of that.
        has: Rate,
        /// The excess.
        excess: String,
    },
    /// A class would wait for more packets than it has credit for.
    #[error("class `{class}` has minburst {packets}: set it to 1 to {limit} packets, or remove it")]
    Burst {
        /// The class.
        class: String,
        /// The value given.
        packets: u32,
        /// Its `maxburst`.
        limit: u32,
    },
    /// A usual packet that the port never sees.
    #[error("class `{class}` has packet_size {size}: set it to 1 to {frame} bytes, or remove it")]
    PacketSize {
        /// The class.
        class: String,
        /// The value given.
        size: Bytes,
        /// The port's longest frame.
        frame: u64,
    },
    /// A queue that has classes of its own or holds packets back.
    #[error(
        "the queue of `{class}` is {discipline}, which {fault}: use a work-conserving one without classes, such \
         as fifo"
    )]
    Leaf {
        /// The class.
        class: String,
        /// The discipline.
        discipline: &'static str,
        /// The reason for the refusal.
        fault: &'static str,
    },
    /// A queue's own parameters make no sense.
    #[error("the queue of `{class}`: {error}")]
    Queue {
        /// The class.
        class: String,
        /// The reason for the refusal.
        error: Box<qdisc::Error>,
    },
    /// The promises exceed the link's capacity for frames of some length.
    #[error(
        "{classes} have {sum} together at the highest priority, and reservations keep their delay only if \
         the link carries that in the shortest frames too: each takes {wire} B on the wire, so that would \
         be {needs} of {has}: lower the rates by {excess} in all"
    )]
    Wire {
        /// The classes of the highest priority.
        classes: String,
        /// Their rates' sum.
        sum: String,
        /// The bytes of a shortest frame on the wire.
        wire: u128,
        /// The rate that such frames need on the wire.
        needs: String,
        /// The link's rate.
        has: Rate,
        /// The excess.
        excess: String,
    },
    /// A delay bound that cannot be kept.
    #[error(transparent)]
    Late(Box<Late>),
    /// An estimator that forgets keeps no promise.
    #[error(
        "the `average` estimator is off by some per cent: set `exact` where classes are reserved"
    )]
    Forgetful,
    /// A new reservation, or one that the new parameters leave no room for, is refused.
    #[error(transparent)]
    Reservation(Box<Refusal>),
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Range(error) => error.subject(),
            Self::Tree(error) => error.subject(),
            Self::NoDefault { .. } | Self::Wire { .. } | Self::Late(_) | Self::Reservation(_) => {
                Subject::WHOLE
            }
            Self::Default { .. } => Subject::settings(&["default"]),
            Self::NoRate(class) => Subject::class(class).at(&["share"]),
            Self::TwoRates(class) | Self::Above { class, .. } => {
                Subject::class(class).at(&["rate", "share"])
            }
            Self::Promise { within, .. } => within.subject(),
            Self::Burst { class, .. } => Subject::class(class).at(&["minburst"]),
            Self::PacketSize { class, .. } => Subject::class(class).at(&["packet_size"]),
            Self::Leaf { class, .. } | Self::Queue { class, .. } => {
                Subject::class(class).at(&["queue"])
            }
            Self::Forgetful => Subject::settings(&["estimator"]),
        }
    }
}

/// The figures of a class, with defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) rate: Rate,
    pub(super) packet: Bytes,
    pub(super) burst_max: u32,
    pub(super) burst_min: u32,
    /// The credit itself, instead of `burst_max`.
    pub(super) credit: Option<Duration>,
}

/// Checked parameters: every name exists and every sum fits.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) tree: Tree,
    /// The figures of each class.
    pub(super) figures: Vec<Figures>,
    /// The empty queue of each class; `None` in a class with children.
    pub(super) queues: Vec<Option<Qdisc>>,
    /// The default class.
    pub(super) default: usize,
}

/// The port's longest frame in bytes.
pub(super) fn frame_max(port: Port) -> u64 {
    port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into())
}

/// Resolves the names, fills in the automatic figures and checks the sums.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<Checked, Error> {
    in_range(parameters)?;
    let classes = &parameters.classes;
    let branches: Vec<_> = classes.iter().map(Class::branch).collect();
    let mut tree = Tree::new(&branches, &parameters.filters)?;
    tree.classifier.target_leaves();
    let default = default(parameters, &tree)?;
    let figures: Vec<_> =
        classes.iter().map(|class| figures_of(class, port)).collect::<Result<_, _>>()?;
    check_rates(classes, &figures, &tree, port.rate)?;
    let leaf = |(index, class): (usize, &Class)| {
        let is_leaf = tree.children[index].is_empty();
        is_leaf.then(|| queue(class, port)).transpose()
    };
    let queues = classes.iter().enumerate().map(leaf).collect::<Result<_, _>>()?;
    Ok(Checked { tree, figures, queues, default })
}

fn default(parameters: &Parameters, tree: &Tree) -> Result<usize, Error> {
    let leaves = || {
        let classes = parameters.classes.iter().zip(&tree.children);
        tree::list(classes.filter(|(_, below)| below.is_empty()).map(|(c, _)| c.name.as_str()))
    };
    let name = &parameters.default;
    let wrong = |fault| Error::Default { class: name.clone(), fault, leaves: leaves() };
    match parameters.classes.iter().position(|class| class.name == *name) {
        Some(index) if tree.children[index].is_empty() => Ok(index),
        Some(_) => Err(wrong("is divided into classes")),
        None if name.is_empty() => Err(Error::NoDefault { leaves: leaves() }),
        None => Err(wrong("does not exist")),
    }
}

fn figures_of(class: &Class, port: Port) -> Result<Figures, Error> {
    let name = || class.name.clone();
    let rate = match (class.rate, class.share) {
        (Some(_), Some(_)) => return Err(Error::TwoRates(name())),
        (Some(rate), None) => Some(rate),
        (None, Some(share)) => share_of(port.rate, share),
        (None, None) => None,
    };
    let rate = rate.ok_or_else(|| Error::NoRate(name()))?;
    let automatic = if rate.bits_per_second() < SLOW { 4 } else { 16 };
    let burst_max = class.maxburst.unwrap_or(automatic);
    let burst_min = class.minburst.unwrap_or(2.min(burst_max));
    if burst_min > burst_max {
        return Err(Error::Burst { class: name(), packets: burst_min, limit: burst_max });
    }
    let frame = frame_max(port);
    let packet = class.packet_size.unwrap_or(Bytes(frame));
    if packet.0 > frame {
        return Err(Error::PacketSize { class: name(), size: packet, frame });
    }
    Ok(Figures { rate, packet, burst_max, burst_min, credit: None })
}

/// `share` in units of 2^-32; `None` if that is less than a bit per second.
fn share_of(link: Rate, Share(share): Share) -> Option<Rate> {
    let bits = (u128::from(link.bits_per_second()) * u128::from(share)) >> 32;
    Rate::from_bits_per_second(bits as u64)
}

fn check_rates(
    classes: &[Class],
    figures: &[Figures],
    tree: &Tree,
    link: Rate,
) -> Result<(), Error> {
    for parent in core::iter::once(None).chain((0..classes.len()).map(Some)) {
        let siblings = parent.map_or(&tree.tops, |index| &tree.children[index]);
        let has = parent.map_or(link, |index| figures[index].rate);
        let within = || Holder::of(parent.map(|index| classes[index].name.as_str()));
        let rate = |&index: &usize| figures[index].rate;
        if let Some(&index) = siblings.iter().find(|&index| rate(index) > has) {
            let (class, rate) = (classes[index].name.clone(), figures[index].rate);
            return Err(Error::Above { class, rate, within: within(), has });
        }
        let rates = siblings.iter().map(rate);
        let promised: u128 = rates.clone().map(|rate| u128::from(rate.bits_per_second())).sum();
        let excess = promised.saturating_sub(has.bits_per_second().into());
        // 0.7 and 0.3 in units of 2^-32 may add up to one unit more than 1, which is not the user's fault.
        let shares = siblings.iter().filter(|&&index| classes[index].share.is_some()).count();
        if excess > (u128::from(link.bits_per_second()) * shares as u128) >> 32 {
            return Err(Error::Promise {
                children: tree::list(siblings.iter().map(|&index| classes[index].name.as_str())),
                sum: format!("{} = {}", terms(rates), tree::sum_text(promised)),
                within: within(),
                has,
                excess: tree::sum_text(excess),
            });
        }
    }
    Ok(())
}

fn terms(rates: impl Iterator<Item = Rate>) -> String {
    let mut text = String::new();
    for rate in rates {
        text.push_str(if text.is_empty() { "" } else { " + " });
        text.push_str(&format!("{rate}"));
    }
    text
}

/// A class's queue, if classes may have such a queue.
fn queue(class: &Class, port: Port) -> Result<Qdisc, Error> {
    let (name, discipline) = (|| class.name.clone(), class.queue.name());
    let refused = |fault| Error::Leaf { class: name(), discipline, fault };
    if discipline == "tbr" {
        return Err(refused("holds packets back"));
    }
    if !LEAVES.contains(&discipline) {
        return Err(refused("has classes of its own"));
    }
    Qdisc::attach(&class.queue, port)
        .map_err(|error| Error::Queue { class: name(), error: Box::new(error) })
}

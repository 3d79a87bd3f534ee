//! The settings of `hfsc`, and the arithmetic that may refuse them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::admission::{self, Excess, Guarantee, guaranteed};
use super::curve::{Curve, SLOPE_MAX};
use super::error::{Error, Kind};
use super::leaf::Leaf;
use super::turns::CLASSES_MAX;
use crate::classify::Rule;
use crate::discipline::{Discipline, Port};
use crate::qdisc::{self, LEAVES, Qdisc, fifo};
use crate::tree::{self, Branch, Tree};
use base::setting::{in_range, settings};
use base::units::{Bytes, Duration, Rate};

/// The steepest curve that the arithmetic supports.
const FASTEST: Rate = match Rate::from_bits_per_second(SLOPE_MAX) {
    Some(rate) => rate,
    None => Rate::MIN,
};

settings! {
    /// A class: its guarantee, its share of the rest, and its upper limit.
    ///
    /// Each of the three is a curve of two pieces, `m1` for the first `d` of a backlog and `m2` after that (ALTQ's
    /// `m1 d m2`); without `m1` and `m2` the class has no such curve. A concave curve (`m1` above `m2`) gives a short
    /// delay at a low rate, a convex one (without `m1`) starts after `d`. Rates count frame bits (header and FCS
    /// counted, preamble and gap not) and [`Parameters::overhead`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// The parent class; `None` (default) at the top.
        pub parent: Option<String>,
        /// Guaranteed rate during the first `real_time_d`; default none. Leaves only.
        #[range(..=FASTEST)]
        pub real_time_m1: Option<Rate>,
        /// Duration of `real_time_m1`; default 0.
        pub real_time_d: Duration,
        /// Guaranteed rate after `real_time_d`; default none, so that nothing is guaranteed.
        #[range(..=FASTEST)]
        pub real_time_m2: Option<Rate>,
        /// Weight among siblings during the first `link_share_d`; default none. Only the ratio to the siblings'
        /// weights matters.
        #[range(..=FASTEST)]
        pub link_share_m1: Option<Rate>,
        /// Duration of `link_share_m1`, in the siblings' virtual time, which advances as real time does when the
        /// siblings' weights add up to their bandwidth; default 0.
        pub link_share_d: Duration,
        /// Weight among siblings after `link_share_d`; default none: the class gets only its guarantee.
        #[range(..=FASTEST)]
        pub link_share_m2: Option<Rate>,
        /// Maximum rate by link-sharing during the first `upper_limit_d`; default none. Service by `real_time`
        /// counts, and is never withheld.
        #[range(..=FASTEST)]
        pub upper_limit_m1: Option<Rate>,
        /// Duration of `upper_limit_m1`; default 0.
        pub upper_limit_d: Duration,
        /// Maximum rate by link-sharing after `upper_limit_d`; default none, so that only the parent limits the
        /// class.
        #[range(..=FASTEST)]
        pub upper_limit_m2: Option<Rate>,
        /// Queue of the class: a work-conserving discipline without classes; default `fifo`. Unused in a
        /// class with children.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// No name, no curve, and a FIFO of ALTQ's 50 packets (`altq_hfsc`'s default `qlimit`).
    fn default() -> Self {
        let queue = fifo::Parameters::of_packets(50);
        Self {
            name: String::new(),
            parent: None,
            real_time_m1: None,
            real_time_d: Duration::ZERO,
            real_time_m2: None,
            link_share_m1: None,
            link_share_d: Duration::ZERO,
            link_share_m2: None,
            upper_limit_m1: None,
            upper_limit_d: Duration::ZERO,
            upper_limit_m2: None,
            queue: qdisc::Parameters::Fifo(queue),
        }
    }
}

impl Class {
    pub(super) fn branch(&self) -> Branch<'_> {
        Branch { name: &self.name, parent: self.parent.as_deref() }
    }
}

settings! {
    classes: Class;
    blank: Self { classes: Vec::new(), ..Self::default() };
    /// The classes and the filters that assign packets to them.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// At least one class. Packets queue in classes without children.
        pub classes: Vec<Class>,
        /// The filters in matching order.
        pub filters: Vec<Rule>,
        /// Class, without children, for packets that no filter matches and for those of a class that is removed;
        /// default `default`.
        pub default_class: String,
        /// Bytes per packet that the curves count beyond the frame length; default 0. With the port's own (20 on
        /// Ethernet), rates are those of the link, and guarantees up to the whole link hold for frames of any length.
        #[range(..=Bytes(u16::MAX as u64))]
        pub overhead: Bytes,
    }
}

impl Default for Parameters {
    /// A single class, `default`, that has the whole link.
    fn default() -> Self {
        let name = String::from("default");
        // The weight of an only child does not matter.
        let weight = Rate::from_bits_per_second(1_000_000);
        let class = Class { name: name.clone(), link_share_m2: weight, ..Class::default() };
        let (classes, filters) = (vec![class], Vec::new());
        Self { classes, filters, default_class: name, overhead: Bytes(0) }
    }
}

/// Checked parameters.
pub(super) struct Checked {
    pub(super) tree: Tree,
    /// The default class.
    pub(super) default: usize,
    pub(super) curves: Vec<Curves>,
    /// A new queue for each class.
    pub(super) leaves: Vec<Leaf>,
}

/// A class's curves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Curves {
    pub(super) real_time: Option<Curve>,
    pub(super) link_share: Option<Curve>,
    pub(super) upper_limit: Option<Curve>,
}

/// Checks parameters against everything that depends on `port`.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<Checked, Error> {
    let classes = &parameters.classes;
    if classes.len() > CLASSES_MAX {
        return Err(Error::TooMany(classes.len()));
    }
    in_range(parameters)?;
    let branches: Vec<_> = classes.iter().map(Class::branch).collect();
    let tree = Tree::new(&branches, &parameters.filters)?;
    let default = default_class(parameters, &tree)?;
    let curves = classes.iter().map(curves).collect::<Result<Vec<_>, _>>()?;
    for index in 0..classes.len() {
        check_place(classes, &tree, &curves, index)?;
    }
    check_limits(classes, &tree, &curves)?;
    check_link(&guaranteed(classes, &curves), port)?;
    let leaves = classes.iter().map(|class| leaf(class, port)).collect::<Result<_, _>>()?;
    Ok(Checked { tree, default, curves, leaves })
}

fn default_class(parameters: &Parameters, tree: &Tree) -> Result<usize, Error> {
    let (classes, class) = (&parameters.classes, &parameters.default_class);
    let Some(index) = classes.iter().position(|c| c.name == *class) else {
        let leaves = (0..classes.len()).filter(|&index| tree.children[index].is_empty());
        return Err(Error::UnknownDefault { class: class.clone(), known: names(classes, leaves) });
    };
    if !tree.children[index].is_empty() {
        let children = names(classes, tree.children[index].iter().copied());
        return Err(Error::DefaultNotALeaf { class: class.clone(), children });
    }
    Ok(index)
}

/// The most names that a text lists.
const NAMES_MAX: usize = 8;

/// Names as a text, `` `a`, `b` ``; of a long list only the first ones.
fn first<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let text = tree::list(names.clone().take(NAMES_MAX));
    match names.count().saturating_sub(NAMES_MAX) {
        0 => text,
        more => alloc::format!("{text} and {more} more"),
    }
}

/// The names of these classes.
fn names(classes: &[Class], of: impl Iterator<Item = usize> + Clone) -> String {
    first(of.map(|index| classes[index].name.as_str()))
}

fn curves(class: &Class) -> Result<Curves, Error> {
    let curve = |kind, m1, d, m2| curve(class, kind, m1, d, m2);
    Ok(Curves {
        real_time: curve(
            Kind::RealTime,
            class.real_time_m1,
            class.real_time_d,
            class.real_time_m2,
        )?,
        link_share: curve(
            Kind::LinkShare,
            class.link_share_m1,
            class.link_share_d,
            class.link_share_m2,
        )?,
        upper_limit: curve(
            Kind::UpperLimit,
            class.upper_limit_m1,
            class.upper_limit_d,
            class.upper_limit_m2,
        )?,
    })
}

fn curve(
    class: &Class,
    kind: Kind,
    m1: Option<Rate>,
    d: Duration,
    m2: Option<Rate>,
) -> Result<Option<Curve>, Error> {
    let name = || class.name.clone();
    let Some(m2) = m2 else {
        if m1.is_some() || d > Duration::ZERO {
            return Err(Error::NoSecondPiece { class: name(), kind });
        }
        return Ok(None);
    };
    if let Some(m1) = m1 {
        if d == Duration::ZERO {
            return Err(Error::NoDuration { class: name(), kind, m1 });
        }
        if m1 < m2 {
            return Err(Error::ConvexSlope { class: name(), kind, m1, m2 });
        }
    }
    let m1 = m1.map_or(0, Rate::bits_per_second);
    Ok(Some(Curve { m1, d: d.as_ps(), m2: m2.bits_per_second() }))
}

/// Whether a class's curves make sense at its place in the tree.
fn check_place(
    classes: &[Class],
    tree: &Tree,
    curves: &[Curves],
    index: usize,
) -> Result<(), Error> {
    let (class, own) = (|| classes[index].name.clone(), &curves[index]);
    let children = &tree.children[index];
    if own.real_time.is_some() && !children.is_empty() {
        let children = names(classes, children.iter().copied());
        return Err(Error::RealTimeInside { class: class(), children });
    }
    if children.is_empty() && own.real_time.is_none() && own.link_share.is_none() {
        return Err(Error::NoService(class()));
    }
    if own.upper_limit.is_some() && own.link_share.is_none() {
        return Err(Error::LimitWithoutShare(class()));
    }
    if let Some(parent) = tree.parents[index]
        && own.link_share.is_some()
        && curves[parent].link_share.is_none()
    {
        let parent = classes[parent].name.clone();
        return Err(Error::ParentWithoutShare { class: class(), parent });
    }
    Ok(())
}

/// Checks that no class's guarantee, its own or that of its leaves together, is above its upper limit.
fn check_limits(classes: &[Class], tree: &Tree, curves: &[Curves]) -> Result<(), Error> {
    for (index, own) in curves.iter().enumerate() {
        let Some(limit) = own.upper_limit else { continue };
        let (mut within, mut next) = (Vec::new(), vec![index]);
        while let Some(class) = next.pop() {
            within.extend(curves[class].real_time.map(|curve| (class, curve)));
            next.extend(&tree.children[class]);
        }
        within.sort_unstable_by_key(|&(class, _)| class);
        let sum: Vec<_> = within.iter().map(|&(_, curve)| curve).collect();
        let Some(excess) = admission::excess(&sum, limit) else { continue };
        let leaves = within.iter().map(|&(class, _)| class).filter(|&class| class != index);
        let including = match leaves.clone().next() {
            Some(_) => alloc::format!(", for {} within it", names(classes, leaves)),
            None => String::new(),
        };
        let class = classes[index].name.clone();
        return Err(match excess {
            Excess::By { by, promised, limit, excess } => {
                Error::LimitBelow { class, including, by, promised, limit, excess }
            }
            Excess::AtLast { promised, limit, excess } => {
                Error::LimitBelowAtLast { class, including, promised, limit, excess }
            }
        });
    }
    Ok(())
}

/// Checks that the link carries all guarantees at every time: the condition for meeting all deadlines (paper,
/// section III).
pub(super) fn check_link(guaranteed: &[Guarantee], port: Port) -> Result<(), Error> {
    let sum: Vec<_> = guaranteed.iter().map(|guarantee| guarantee.curve).collect();
    let m2 = port.rate.bits_per_second().min(SLOPE_MAX);
    let Some(excess) = admission::excess(&sum, Curve { m1: 0, d: 0, m2 }) else { return Ok(()) };
    let classes = first(guaranteed.iter().map(|guarantee| guarantee.name.as_str()));
    Err(match excess {
        Excess::By { by, promised, limit: carries, excess } => {
            Error::Promise { classes, by, promised, carries, excess }
        }
        Excess::AtLast { promised, limit: carries, excess } => {
            Error::PromiseAtLast { classes, promised, carries, excess }
        }
    })
}

fn leaf(class: &Class, port: Port) -> Result<Leaf, Error> {
    let (name, queue) = (|| class.name.clone(), class.queue.name());
    if !LEAVES.contains(&queue) {
        let known = tree::list(LEAVES.iter().copied());
        return Err(Error::Queue { class: name(), queue, known });
    }
    Qdisc::attach(&class.queue, port)
        .map(Leaf::new)
        .map_err(|error| Error::QueueParameters { class: name(), error: error.into() })
}
